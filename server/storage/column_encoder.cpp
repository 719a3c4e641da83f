#include "server/storage/column_encoder.h"

#include "common/base/error.h"
#include "common/base/writer.h"
#include "common/columns/array_column.h"
#include "common/columns/dictionary_column.h"
#include "common/columns/fixed_column.h"
#include "common/columns/fixed_string_column.h"
#include "common/columns/nullable_column.h"
#include "common/columns/state_column.h"
#include "common/columns/string_column.h"
#include "common/columns/tuple_column.h"
#include "server/storage/stream_path.h"

namespace shardd::storage {

namespace {

using EncoderPtr = std::unique_ptr<ColumnEncoder>;

/// Rows of one width, already one after another in memory.
class RawEncoder final : public ColumnEncoder {
public:
    RawEncoder(ColumnPtr values, const char* data, size_t width, StreamOutput& out)
        : values_(std::move(values)), data_(data), width_(width), out_(out) {}

    void write(size_t from, size_t count) override {
        out_.data().writeBytes(data_ + from * width_, count * width_);
    }

private:
    ColumnPtr values_;
    const char* data_;
    size_t width_;
    StreamOutput& out_;
};

/// Differences of end offsets: what String and Array sizes are on the disk.
void writeSizes(const PodVector<uint64_t>& ends, size_t from, size_t count, Writer& out) {
    if (count == 0) return;
    char* place = out.extend(count * sizeof(uint64_t));
    uint64_t previous = from == 0 ? 0 : ends[from - 1];
    for (size_t i = 0; i < count; ++i) {
        const uint64_t size = ends[from + i] - previous;
        previous = ends[from + i];
        std::memcpy(place + i * sizeof(uint64_t), &size, sizeof(uint64_t));
    }
}

class StringEncoder final : public ColumnEncoder {
public:
    StringEncoder(const ColumnPtr& values, StreamOutput* sizes, StreamOutput& chars)
        : holder_(values), values_(as<StringColumn>(*values)), sizes_(sizes), chars_(chars) {}

    void write(size_t from, size_t count) override {
        if (count == 0) return;
        if (sizes_) {
            writeSizes(values_.ends(), from, count, sizes_->data());
            const size_t start = values_.startAt(from);
            chars_.data().writeBytes(values_.chars().data() + start,
                                     values_.ends()[from + count - 1] - start);
        } else {
            for (size_t row = from; row < from + count; ++row)
                chars_.data().writeString(values_.bytesAt(row));
        }
    }

private:
    ColumnPtr holder_;
    const StringColumn& values_;
    StreamOutput* sizes_;
    StreamOutput& chars_;
};

class NullableEncoder final : public ColumnEncoder {
public:
    NullableEncoder(const ColumnPtr& values, StreamOutput& nulls, EncoderPtr inner)
        : holder_(values), values_(as<NullableColumn>(*values)), nulls_(nulls), inner_(std::move(inner)) {}

    void begin() override { inner_->begin(); }

    void writePrefix() override { inner_->writePrefix(); }

    void write(size_t from, size_t count) override {
        nulls_.data().writeBytes(values_.nulls().data() + from, count);
        inner_->write(from, count);
    }

private:
    ColumnPtr holder_;
    const NullableColumn& values_;
    StreamOutput& nulls_;
    EncoderPtr inner_;
};

class TupleEncoder final : public ColumnEncoder {
public:
    explicit TupleEncoder(std::vector<EncoderPtr> elements) : elements_(std::move(elements)) {}

    void begin() override {
        for (const EncoderPtr& element : elements_) element->begin();
    }

    void writePrefix() override {
        for (const EncoderPtr& element : elements_) element->writePrefix();
    }

    void write(size_t from, size_t count) override {
        for (const EncoderPtr& element : elements_) element->write(from, count);
    }

private:
    std::vector<EncoderPtr> elements_;
};

class ArrayEncoder final : public ColumnEncoder {
public:
    ArrayEncoder(const ColumnPtr& values, StreamOutput& sizes, EncoderPtr elements)
        : holder_(values), values_(as<ArrayColumn>(*values)), sizes_(sizes), elements_(std::move(elements)) {}

    void begin() override { elements_->begin(); }

    void writePrefix() override { elements_->writePrefix(); }

    void write(size_t from, size_t count) override {
        writeSizes(values_.ends(), from, count, sizes_.data());
        if (count == 0) return;
        const size_t start = values_.startAt(from);
        elements_->write(start, values_.ends()[from + count - 1] - start);
    }

private:
    ColumnPtr holder_;
    const ArrayColumn& values_;
    StreamOutput& sizes_;
    EncoderPtr elements_;
};

class StateEncoder final : public ColumnEncoder {
public:
    StateEncoder(const ColumnPtr& values, StreamOutput& out)
        : holder_(values), values_(as<StateColumn>(*values)), out_(out) {}

    void write(size_t from, size_t count) override {
        values_.ops()->serializeBatch(values_.states().data() + from, count, out_.data());
    }

private:
    ColumnPtr holder_;
    const StateColumn& values_;
    StreamOutput& out_;
};

constexpr uint64_t kDictionaryVersion = 1;
constexpr uint64_t kSharedDictionary = 0x100;
constexpr uint64_t kAdditionalKeys = 0x200;
constexpr uint64_t kNewDictionary = 0x400;

/// 0, 1, 2 for codes of 1, 2, 4 bytes.
uint64_t codeWidth(size_t keys) { return keys <= 0x100 ? 0 : keys <= 0x10000 ? 1 : 2; }

/// Strings of a dictionary never have a stream of sizes.
void writeKeys(const Column& keys, Writer& out) {
    out.writeFixed(uint64_t{keys.size()});
    for (size_t i = 0; i < keys.size(); ++i) {
        if (keys.kind() == ColumnKind::String)
            out.writeString(keys.bytesAt(i));
        else
            out.writeBytes(keys.bytesAt(i));
    }
}

template <typename T>
void writeNarrow(const PodVector<uint32_t>& codes, size_t from, size_t count, Writer& out) {
    char* place = out.extend(count * sizeof(T));
    for (size_t i = 0; i < count; ++i) {
        const T code = static_cast<T>(codes[from + i]);
        std::memcpy(place + i * sizeof(T), &code, sizeof(T));
    }
}

void writeCodes(const PodVector<uint32_t>& codes, uint64_t width, size_t from, size_t count, Writer& out) {
    out.writeFixed(uint64_t{count});
    switch (width) {
        case 0:
            return writeNarrow<uint8_t>(codes, from, count, out);
        case 1:
            return writeNarrow<uint16_t>(codes, from, count, out);
        default:
            return writeNarrow<uint32_t>(codes, from, count, out);
    }
}

/// One dictionary for the whole part, so that readers share it: all granules hold codes only.
class DictionaryEncoder final : public ColumnEncoder {
public:
    DictionaryEncoder(const ColumnPtr& values, StreamOutput& dictionary, StreamOutput& codes)
        : holder_(as<DictionaryColumn>(*values).compacted()),
          values_(as<DictionaryColumn>(*holder_)),
          dictionary_(dictionary),
          codes_(codes),
          width_(codeWidth(values_.keys()->size())) {}

    void begin() override {
        dictionary_.data().writeFixed(kDictionaryVersion);
        dictionary_.pinMark();
        writeKeys(*values_.keys(), dictionary_.data());
    }

    void write(size_t from, size_t count) override {
        if (count == 0) return;  // an Array's granule without elements has no chunk
        Writer& out = codes_.data();
        out.writeFixed(width_ | kSharedDictionary | (first_ ? kNewDictionary : 0));
        first_ = false;
        writeCodes(values_.codes(), width_, from, count, out);
    }

private:
    ColumnPtr holder_;
    const DictionaryColumn& values_;
    StreamOutput& dictionary_;
    StreamOutput& codes_;
    uint64_t width_;
    bool first_ = true;
};

/// Compact: the keys of a granule are in its chunk.
class CompactDictionaryEncoder final : public ColumnEncoder {
public:
    CompactDictionaryEncoder(const ColumnPtr& values, StreamOutput& out) : values_(values), out_(out) {}

    void writePrefix() override { out_.data().writeFixed(kDictionaryVersion); }

    void write(size_t from, size_t count) override {
        if (count == 0) return;
        const ColumnPtr slice = values_->slice(from, count);
        const ColumnPtr holder = as<DictionaryColumn>(*slice).compacted();
        const auto& granule = as<DictionaryColumn>(*holder);
        const uint64_t width = codeWidth(granule.keys()->size());
        out_.data().writeFixed(width | kAdditionalKeys);
        writeKeys(*granule.keys(), out_.data());
        writeCodes(granule.codes(), width, 0, count, out_.data());
    }

private:
    ColumnPtr values_;
    StreamOutput& out_;
};

/// Makes the encoders of a column and its inside; streams are opened in the order of the format.
class EncoderMaker {
public:
    EncoderMaker(StreamTarget& streams, const EncodeOptions& options)
        : streams_(streams), options_(options) {}

    EncoderPtr make(const Type& type, const ColumnPtr& values, const StreamPath& path) {
        EncoderPtr encoder;
        const auto makeFixed = [&](auto tag) {
            using T = typename decltype(tag)::Type;
            const char* data = reinterpret_cast<const char*>(as<FixedColumn<T>>(*values).data());
            encoder = std::make_unique<RawEncoder>(values, data, sizeof(T), streams_.open(path.values()));
        };
        if (dispatchPhysical(type.physical(), makeFixed)) return encoder;
        switch (type.kind()) {
            case TypeKind::String: {
                StreamOutput* sizes = options_.string_sizes ? &streams_.open(path.stringSizes()) : nullptr;
                return std::make_unique<StringEncoder>(values, sizes, streams_.open(path.values()));
            }
            case TypeKind::FixedString: {
                const char* data = as<FixedStringColumn>(*values).chars().data();
                return std::make_unique<RawEncoder>(values, data, type.fixedSize(),
                                                    streams_.open(path.values()));
            }
            case TypeKind::Nullable: {
                StreamOutput& nulls = streams_.open(path.nulls());
                return std::make_unique<NullableEncoder>(
                    values, nulls, make(*type.child(), as<NullableColumn>(*values).values(), path));
            }
            case TypeKind::LowCardinality: {
                if (options_.compact)
                    return std::make_unique<CompactDictionaryEncoder>(values, streams_.open(path.values()));
                StreamOutput& dictionary = streams_.open(path.dictionary());
                return std::make_unique<DictionaryEncoder>(values, dictionary, streams_.open(path.values()));
            }
            case TypeKind::Array: {
                StreamOutput& sizes = streams_.open(path.arraySizes());
                const ColumnPtr& elements = as<ArrayColumn>(*values).elements();
                return std::make_unique<ArrayEncoder>(values, sizes,
                                                      make(*type.child(), elements, path.insideArray()));
            }
            case TypeKind::Map:
                return makeMap(type, values, path);
            case TypeKind::Tuple: {
                std::vector<EncoderPtr> elements;
                for (size_t i = 0; i < type.children().size(); ++i)
                    elements.push_back(make(*type.child(i), as<TupleColumn>(*values).element(i),
                                            path.element(tupleElementName(type, i))));
                return std::make_unique<TupleEncoder>(std::move(elements));
            }
            case TypeKind::AggregateFunction:
                return std::make_unique<StateEncoder>(values, streams_.open(path.values()));
            default:
                throw Error(ErrorCode::NOT_IMPLEMENTED, "Columns of type {} cannot be written to parts",
                            type.name());
        }
    }

private:
    EncoderPtr makeMap(const Type& type, const ColumnPtr& values, const StreamPath& path) {
        StreamOutput& sizes = streams_.open(path.arraySizes());
        const auto& pair = as<TupleColumn>(*as<ArrayColumn>(*values).elements());
        std::vector<EncoderPtr> elements;
        elements.push_back(make(*type.child(0), pair.element(0), path.insideArray().element("keys")));
        elements.push_back(make(*type.child(1), pair.element(1), path.insideArray().element("values")));
        return std::make_unique<ArrayEncoder>(values, sizes,
                                              std::make_unique<TupleEncoder>(std::move(elements)));
    }

    StreamTarget& streams_;
    EncodeOptions options_;
};

}  // namespace

std::unique_ptr<ColumnEncoder> makeColumnEncoder(const std::string& column,
                                                 const TypePtr& type,
                                                 const ColumnPtr& values,
                                                 StreamTarget& streams,
                                                 const EncodeOptions& options) {
    return EncoderMaker(streams, options).make(*type, values, StreamPath::ofColumn(column, *type));
}

}  // namespace shardd::storage
