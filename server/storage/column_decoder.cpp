#include "server/storage/column_decoder.h"

#include <algorithm>

#include "common/base/error.h"
#include "common/columns/array_column.h"
#include "common/columns/create_column.h"
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

using DecoderPtr = std::unique_ptr<ColumnDecoder>;

/// What one read may take at most before bytes have come for it: a false size costs no more than this.
constexpr size_t kStepBytes = size_t{1} << 20;

[[noreturn]] void corrupted(const char* what) {
    throw Error(ErrorCode::CORRUPTED_DATA, "A column file is wrong: {}", what);
}

template <typename T>
void readArray(ColumnStream& stream, PodVector<T>& out, size_t count) {
    while (count > 0) {
        const size_t step =
            std::min(count, std::max<size_t>(kStepBytes / sizeof(T), out.capacity() - out.size()));
        const size_t before = out.size();
        out.resize(before + step);
        stream.readInto(reinterpret_cast<char*>(out.data() + before), step * sizeof(T));
        count -= step;
    }
}

template <typename T>
class FixedDecoder final : public ColumnDecoder {
public:
    explicit FixedDecoder(ColumnStream& stream) : stream_(stream) {}

    void restart() override {}

    void reserve(size_t rows) override { values_.reserve(rows); }

    void read(size_t rows) override { readArray(stream_, values_, rows); }

    ColumnPtr take() override { return std::make_shared<FixedColumn<T>>(std::exchange(values_, {})); }

private:
    ColumnStream& stream_;
    PodVector<T> values_;
};

class FixedStringDecoder final : public ColumnDecoder {
public:
    FixedStringDecoder(ColumnStream& stream, size_t width) : stream_(stream), width_(width) {}

    void restart() override {}

    void reserve(size_t rows) override { chars_.reserve(rows * width_); }

    void read(size_t rows) override { readArray(stream_, chars_, rows * width_); }

    ColumnPtr take() override {
        return std::make_shared<FixedStringColumn>(width_, std::exchange(chars_, {}));
    }

private:
    ColumnStream& stream_;
    size_t width_;
    PodVector<char> chars_;
};

/// Whoever keeps the column does not keep the room in which it grew.
ColumnPtr takeTexts(PodVector<char>& chars, PodVector<uint64_t>& ends) {
    if (chars.capacity() - chars.size() > chars.size() / 8) chars.shrinkToFit();
    return std::make_shared<StringColumn>(std::exchange(chars, {}), std::exchange(ends, {}));
}

/// Length and bytes alternate in one stream.
class StringDecoder final : public ColumnDecoder {
public:
    explicit StringDecoder(ColumnStream& stream) : stream_(stream) {}

    void restart() override {}

    void reserve(size_t rows) override { ends_.reserve(rows); }

    void read(size_t rows) override {
        for (size_t i = 0; i < rows; ++i) {
            const uint64_t length = stream_.readVarUInt();
            if (length > ColumnStream::kDefaultStringLimit) corrupted("a string claims more than 1 GiB");
            readArray(stream_, chars_, length);
            ends_.push_back(chars_.size());
        }
    }

    ColumnPtr take() override { return takeTexts(chars_, ends_); }

private:
    ColumnStream& stream_;
    PodVector<char> chars_;
    PodVector<uint64_t> ends_;
};

/// Turns the sizes behind the first `before` entries into end offsets, and answers the last end.
uint64_t sizesToEnds(PodVector<uint64_t>& sizes, size_t before, uint64_t start) {
    uint64_t end = start;
    for (size_t i = before; i < sizes.size(); ++i) {
        if (sizes[i] > (uint64_t{1} << 40)) corrupted("a size is impossible");
        end += sizes[i];
        sizes[i] = end;
    }
    return end;
}

/// Lengths in a stream of their own.
class SizedStringDecoder final : public ColumnDecoder {
public:
    SizedStringDecoder(ColumnStream& sizes, ColumnStream& chars) : sizes_(sizes), stream_(chars) {}

    void restart() override {}

    void reserve(size_t rows) override { ends_.reserve(rows); }

    void read(size_t rows) override {
        const size_t before = ends_.size();
        readArray(sizes_, ends_, rows);
        const uint64_t end = sizesToEnds(ends_, before, chars_.size());
        readArray(stream_, chars_, end - chars_.size());
    }

    ColumnPtr take() override { return takeTexts(chars_, ends_); }

private:
    ColumnStream& sizes_;
    ColumnStream& stream_;
    PodVector<char> chars_;
    PodVector<uint64_t> ends_;
};

class NullableDecoder final : public ColumnDecoder {
public:
    NullableDecoder(ColumnStream& nulls, DecoderPtr values) : stream_(nulls), values_(std::move(values)) {}

    void restart() override { values_->restart(); }

    void readPrefix() override { values_->readPrefix(); }

    void reserve(size_t rows) override {
        nulls_.reserve(rows);
        values_->reserve(rows);
    }

    void read(size_t rows) override {
        readArray(stream_, nulls_, rows);
        values_->read(rows);
    }

    ColumnPtr take() override {
        return std::make_shared<NullableColumn>(values_->take(), std::exchange(nulls_, {}));
    }

private:
    ColumnStream& stream_;
    DecoderPtr values_;
    Mask nulls_;
};

class TupleDecoder final : public ColumnDecoder {
public:
    explicit TupleDecoder(std::vector<DecoderPtr> elements) : elements_(std::move(elements)) {}

    void restart() override {
        for (const DecoderPtr& element : elements_) element->restart();
    }

    void readPrefix() override {
        for (const DecoderPtr& element : elements_) element->readPrefix();
    }

    void reserve(size_t rows) override {
        for (const DecoderPtr& element : elements_) element->reserve(rows);
    }

    void read(size_t rows) override {
        for (const DecoderPtr& element : elements_) element->read(rows);
        rows_ += rows;
    }

    ColumnPtr take() override {
        std::vector<ColumnPtr> columns;
        for (const DecoderPtr& element : elements_) columns.push_back(element->take());
        return std::make_shared<TupleColumn>(std::move(columns), std::exchange(rows_, 0));
    }

private:
    std::vector<DecoderPtr> elements_;
    size_t rows_ = 0;
};

class ArrayDecoder final : public ColumnDecoder {
public:
    ArrayDecoder(ColumnStream& sizes, DecoderPtr elements) : stream_(sizes), elements_(std::move(elements)) {}

    void restart() override { elements_->restart(); }

    void readPrefix() override { elements_->readPrefix(); }

    void reserve(size_t rows) override { ends_.reserve(rows); }

    void read(size_t rows) override {
        const size_t before = ends_.size();
        const uint64_t start = before == 0 ? 0 : ends_[before - 1];
        readArray(stream_, ends_, rows);
        elements_->read(sizesToEnds(ends_, before, start) - start);
    }

    ColumnPtr take() override {
        return std::make_shared<ArrayColumn>(elements_->take(), std::exchange(ends_, {}));
    }

private:
    ColumnStream& stream_;
    DecoderPtr elements_;
    PodVector<uint64_t> ends_;
};

class StateDecoder final : public ColumnDecoder {
public:
    StateDecoder(ColumnStream& stream, AggregateOpsPtr ops)
        : stream_(stream), ops_(std::move(ops)), column_(std::make_unique<StateColumn>(ops_)) {}

    void restart() override {}

    void read(size_t rows) override { column_->readStates(rows, stream_); }

    ColumnPtr take() override { return std::exchange(column_, std::make_unique<StateColumn>(ops_)); }

private:
    ColumnStream& stream_;
    AggregateOpsPtr ops_;
    std::unique_ptr<StateColumn> column_;
};

/// Rows of runs of defaults with single values between them.
class SparseDecoder final : public ColumnDecoder {
public:
    SparseDecoder(ColumnStream& offsets, TypePtr type, TypePtr stored_type, DecoderPtr values)
        : stream_(offsets),
          type_(std::move(type)),
          stored_type_(std::move(stored_type)),
          values_(std::move(values)) {}

    void restart() override { values_->restart(); }

    void readPrefix() override { values_->readPrefix(); }

    void read(size_t rows) override {
        const size_t end = rows_ + rows;
        size_t values = 0;
        bool granule_ended = false;
        while (!granule_ended || rows_ < end) {
            const uint64_t entry = stream_.readVarUInt();
            const uint64_t defaults = entry & ~kEndOfGranule;
            granule_ended = (entry & kEndOfGranule) != 0;
            if (defaults > end - rows_) corrupted("a sparse run is longer than its granule");
            rows_ += defaults;
            if (granule_ended) continue;
            if (rows_ == end) corrupted("a sparse value lies behind its granule");
            places_.push_back(static_cast<RowIndex>(rows_++));
            ++values;
        }
        values_->read(values);
    }

    ColumnPtr take() override {
        const ColumnPtr values = values_->take();
        MutableColumnPtr pool = createColumn(*type_);
        insertDefaults(*type_, *pool, 1);
        pool->insertRange(*values, 0, values->size());
        PodVector<RowIndex> from(rows_, 0);
        for (size_t i = 0; i < places_.size(); ++i) from[places_[i]] = static_cast<RowIndex>(i + 1);
        rows_ = 0;
        places_.clear();
        return pool->gather(from.span());
    }

private:
    static constexpr uint64_t kEndOfGranule = uint64_t{1} << 62;

    ColumnStream& stream_;
    TypePtr type_;
    TypePtr stored_type_;
    DecoderPtr values_;
    size_t rows_ = 0;
    PodVector<RowIndex> places_;
};

/// LowCardinality: dictionaries in one stream, chunks of codes in another; see docs/storage-format.md.
class DictionaryDecoder final : public ColumnDecoder {
public:
    struct Parts {
        ColumnStream* dictionary = nullptr;
        ColumnStream* codes = nullptr;
        std::string dictionary_name;
        DecodeOptions options;
    };

    DictionaryDecoder(const TypePtr& type, Parts parts)
        : parts_(std::move(parts)), nullable_(type->child()->isNullable()) {
        key_type_ = removeNullable(type->child());
    }

    void restart() override {
        dictionary_.reset();
        chunk_rows_ = 0;
    }

    void readPrefix() override { readVersion(*parts_.codes); }

    void reserve(size_t rows) override {
        if (runs_.empty()) codes_.reserve(rows);
    }

    void read(size_t rows) override {
        while (rows > 0) {
            if (chunk_rows_ == 0) readChunkHeader();
            const size_t taken = std::min<uint64_t>(rows, chunk_rows_);
            readCodes(taken);
            chunk_rows_ -= taken;
            rows -= taken;
        }
    }

    ColumnPtr take() override {
        PodVector<uint32_t> codes = std::exchange(codes_, {});
        std::vector<Run> runs = std::exchange(runs_, {});
        if (runs.size() == 1)
            return std::make_shared<DictionaryColumn>(runs[0].keys, std::move(codes), nullable_);
        auto column = DictionaryColumn::create(*createColumn(*key_type_), nullable_);
        size_t from = 0;
        for (const Run& run : runs) {
            PodVector<uint32_t> piece;
            piece.append(codes.data() + from, run.rows);
            from += run.rows;
            const DictionaryColumn one(run.keys, std::move(piece), nullable_);
            column->insertRange(one, 0, run.rows);
        }
        return column;
    }

private:
    struct Run {
        ColumnPtr keys;
        size_t rows = 0;
    };

    static constexpr uint64_t kSharedDictionary = 0x100;
    static constexpr uint64_t kAdditionalKeys = 0x200;
    static constexpr uint64_t kNewDictionary = 0x400;
    static constexpr uint64_t kMaxKeys = uint64_t{1} << 31;

    void readVersion(ColumnStream& stream) {
        if (stream.readFixed<uint64_t>() != 1) corrupted("a LowCardinality column is of an unknown version");
    }

    ColumnPtr readKeys(ColumnStream& stream) {
        const auto count = stream.readFixed<uint64_t>();
        if (count > kMaxKeys) corrupted("a dictionary claims too many keys");
        // Strings of a dictionary never have a stream of sizes.
        const DecoderPtr decoder = makeKeyDecoder(stream);
        for (uint64_t left = count; left > 0;) {
            const uint64_t step = std::min<uint64_t>(left, 65536);
            decoder->read(step);
            left -= step;
        }
        return decoder->take();
    }

    DecoderPtr makeKeyDecoder(ColumnStream& stream) const {
        DecoderPtr decoder;
        if (dispatchPhysical(key_type_->physical(), [&](auto tag) {
                decoder = std::make_unique<FixedDecoder<typename decltype(tag)::Type>>(stream);
            }))
            return decoder;
        if (key_type_->kind() == TypeKind::FixedString)
            return std::make_unique<FixedStringDecoder>(stream, key_type_->fixedSize());
        return std::make_unique<StringDecoder>(stream);
    }

    void nextDictionary() {
        ColumnStream& stream = *parts_.dictionary;
        if (stream.place() == Mark{0, 0}) readVersion(stream);
        const Mark begin = stream.place();
        if (auto cached = parts_.options.dictionaries->find(parts_.dictionary_name, begin)) {
            dictionary_ = cached;
            stream.seek(cached->end);
            return;
        }
        ColumnPtr keys = readKeys(stream);
        dictionary_ = parts_.options.dictionaries->insert(parts_.dictionary_name, begin,
                                                          {.keys = std::move(keys), .end = stream.place()});
    }

    void readChunkHeader() {
        ColumnStream& stream = *parts_.codes;
        const auto flags = stream.readFixed<uint64_t>();
        code_width_ = flags & 0xFF;
        if (code_width_ > 3) corrupted("the codes of a LowCardinality column have an unknown width");
        ColumnPtr keys;
        if ((flags & kSharedDictionary) != 0) {
            if (parts_.options.compact) corrupted("a Compact granule has a shared dictionary");
            if (!dictionary_ || (flags & kNewDictionary) != 0) nextDictionary();
            keys = dictionary_->keys;
        }
        if ((flags & kAdditionalKeys) != 0) {
            ColumnPtr additional = readKeys(stream);
            if (keys) {
                MutableColumnPtr both = keys->cloneEmpty();
                both->insertRange(*keys, 0, keys->size());
                both->insertRange(*additional, 0, additional->size());
                keys = std::move(both);
            } else {
                keys = std::move(additional);
            }
        }
        if (!keys) corrupted("a LowCardinality chunk has no keys");
        chunk_rows_ = stream.readFixed<uint64_t>();
        if (chunk_rows_ == 0) corrupted("a LowCardinality chunk has no rows");
        chunk_keys_ = std::move(keys);
    }

    void readCodes(size_t rows) {
        const size_t before = codes_.size();
        switch (code_width_) {
            case 0:
                widen<uint8_t>(rows);
                break;
            case 1:
                widen<uint16_t>(rows);
                break;
            case 2:
                readArray(*parts_.codes, codes_, rows);
                break;
            default:
                widen<uint64_t>(rows);
                break;
        }
        uint32_t largest = 0;
        for (size_t i = before; i < codes_.size(); ++i) largest = std::max(largest, codes_[i]);
        if (largest >= chunk_keys_->size()) corrupted("a LowCardinality code is behind the keys");
        if (runs_.empty() || runs_.back().keys != chunk_keys_) runs_.push_back({chunk_keys_, 0});
        runs_.back().rows += rows;
    }

    template <typename T>
    void widen(size_t rows) {
        PodVector<T> narrow;
        readArray(*parts_.codes, narrow, rows);
        const size_t before = codes_.size();
        codes_.resize(before + rows);
        for (size_t i = 0; i < rows; ++i)
            codes_[before + i] =
                sizeof(T) > 4 && narrow[i] > UINT32_MAX ? UINT32_MAX : static_cast<uint32_t>(narrow[i]);
    }

    Parts parts_;
    bool nullable_;
    TypePtr key_type_;
    std::shared_ptr<const DictionaryCache::Entry> dictionary_;
    ColumnPtr chunk_keys_;
    uint64_t chunk_rows_ = 0;
    size_t code_width_ = 0;
    PodVector<uint32_t> codes_;
    std::vector<Run> runs_;
};

/// Makes the decoders of a column and its inside, opening streams in the order in which they are read.
class DecoderMaker {
public:
    DecoderMaker(StreamSource& streams, const DecodeOptions& options)
        : streams_(streams), options_(options) {}

    DecoderPtr make(const TypePtr& type, const StreamPath& path, const SerializationKind& kind) {
        if (kind.sparse && type->kind() != TypeKind::Tuple) {
            ColumnStream& offsets = streams_.open(path.sparseOffsets());
            const bool bare = type->isNullable() && options_.sparse_nullable;
            const TypePtr stored = bare ? type->child() : type;
            return std::make_unique<SparseDecoder>(offsets, type, stored, make(stored, path, {}));
        }
        DecoderPtr decoder;
        const auto makeFixed = [&](auto tag) {
            decoder =
                std::make_unique<FixedDecoder<typename decltype(tag)::Type>>(streams_.open(path.values()));
        };
        if (dispatchPhysical(type->physical(), makeFixed)) return decoder;
        switch (type->kind()) {
            case TypeKind::String: {
                if (!options_.string_sizes)
                    return std::make_unique<StringDecoder>(streams_.open(path.values()));
                ColumnStream& sizes = streams_.open(path.stringSizes());
                return std::make_unique<SizedStringDecoder>(sizes, streams_.open(path.values()));
            }
            case TypeKind::FixedString:
                return std::make_unique<FixedStringDecoder>(streams_.open(path.values()), type->fixedSize());
            case TypeKind::Nullable: {
                ColumnStream& nulls = streams_.open(path.nulls());
                return std::make_unique<NullableDecoder>(nulls, make(type->child(), path, {}));
            }
            case TypeKind::LowCardinality:
                return makeDictionary(type, path);
            case TypeKind::Array: {
                ColumnStream& sizes = streams_.open(path.arraySizes());
                return std::make_unique<ArrayDecoder>(sizes, make(type->child(), path.insideArray(), {}));
            }
            case TypeKind::Map:
                return makeMap(type, path);
            case TypeKind::Tuple:
                return makeTuple(type, path, kind);
            case TypeKind::AggregateFunction:
                return std::make_unique<StateDecoder>(streams_.open(path.values()), type->aggregate());
            default:
                throw Error(ErrorCode::NOT_IMPLEMENTED, "Columns of type {} cannot be read from parts",
                            type->name());
        }
    }

private:
    DecoderPtr makeDictionary(const TypePtr& type, const StreamPath& path) {
        DictionaryDecoder::Parts parts;
        parts.options = options_;
        parts.dictionary_name = path.dictionary();
        if (!options_.compact) parts.dictionary = &streams_.open(parts.dictionary_name);
        parts.codes = &streams_.open(path.values());
        return std::make_unique<DictionaryDecoder>(type, std::move(parts));
    }

    DecoderPtr makeMap(const TypePtr& type, const StreamPath& path) {
        ColumnStream& sizes = streams_.open(path.arraySizes());
        std::vector<DecoderPtr> pair;
        pair.push_back(make(type->child(0), path.insideArray().element("keys"), {}));
        pair.push_back(make(type->child(1), path.insideArray().element("values"), {}));
        return std::make_unique<ArrayDecoder>(sizes, std::make_unique<TupleDecoder>(std::move(pair)));
    }

    DecoderPtr makeTuple(const TypePtr& type, const StreamPath& path, const SerializationKind& kind) {
        std::vector<DecoderPtr> elements;
        for (size_t i = 0; i < type->children().size(); ++i) {
            const SerializationKind element =
                i < kind.elements.size() ? kind.elements[i] : SerializationKind{};
            elements.push_back(make(type->child(i), path.element(tupleElementName(*type, i)), element));
        }
        return std::make_unique<TupleDecoder>(std::move(elements));
    }

    StreamSource& streams_;
    DecodeOptions options_;
};

}  // namespace

std::shared_ptr<const DictionaryCache::Entry> DictionaryCache::find(const std::string& stream,
                                                                    Mark begin) const {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find({stream, {begin.block_offset, begin.offset_in_block}});
    return found == entries_.end() ? nullptr : found->second;
}

std::shared_ptr<const DictionaryCache::Entry> DictionaryCache::insert(const std::string& stream,
                                                                      Mark begin,
                                                                      Entry entry) {
    auto made = std::make_shared<const Entry>(std::move(entry));
    const std::lock_guard lock(mutex_);
    return entries_.try_emplace({stream, {begin.block_offset, begin.offset_in_block}}, std::move(made))
        .first->second;
}

std::unique_ptr<ColumnDecoder> makeColumnDecoder(const std::string& column,
                                                 const TypePtr& type,
                                                 StreamSource& streams,
                                                 const DecodeOptions& options) {
    return DecoderMaker(streams, options).make(type, StreamPath::ofColumn(column, *type), options.kind);
}

}  // namespace shardd::storage
