#include "server/storage/part_reader.h"

#include <algorithm>

#include "common/base/error.h"
#include "common/columns/create_column.h"
#include "common/columns/fixed_column.h"
#include "common/columns/selection.h"
#include "common/columns/string_column.h"
#include "server/storage/decoded_cache.h"
#include "server/storage/stream_path.h"

namespace shardd::storage {

namespace {

ColumnConverter column_converter = nullptr;

/// Another type in the part than in the table.
ColumnPtr convertColumn(const ColumnPtr& column, const TypePtr& from, const TypePtr& to) {
    if (column_converter) return column_converter(column, from, to);
    MutableColumnPtr converted = createColumn(*to);
    converted->reserve(column->size());
    for (size_t row = 0; row < column->size(); ++row) converted->insert(column->value(row));
    return converted;
}

/// States are not kept: they may be large and are seldom read twice.
bool hasState(const Type& type) {
    if (type.kind() == TypeKind::AggregateFunction) return true;
    return std::any_of(type.children().begin(), type.children().end(),
                       [](const TypePtr& child) { return hasState(*child); });
}

ColumnPtr sizesOf(const Column& texts) {
    const PodVector<uint64_t>& ends = as<StringColumn>(texts).ends();
    PodVector<uint64_t> sizes(ends.size());
    uint64_t start = 0;
    for (size_t row = 0; row < ends.size(); ++row) {
        sizes[row] = ends[row] - start;
        start = ends[row];
    }
    return std::make_shared<FixedColumn<uint64_t>>(std::move(sizes));
}

}  // namespace

std::optional<std::string> sizedColumn(const std::string& name) {
    constexpr std::string_view kSuffix = ".size";
    if (!name.ends_with(kSuffix)) return std::nullopt;
    return name.substr(0, name.size() - kSuffix.size());
}

void setColumnConverter(ColumnConverter converter) { column_converter = converter; }

/// Wide: every stream is a file with marks of its own.
class PartColumnReader::WideStreams final : public StreamSource {
public:
    explicit WideStreams(const Part& part) : part_(part) {}

    ColumnStream& open(const std::string& stream) override {
        const std::string file = streamFileName(stream) + ".bin";
        if (!part_.checksums().has(file))
            throw Error(ErrorCode::NO_FILE_IN_DATA_PART, "Part {} has no file {}", part_.path(), file);
        streams_.push_back({std::make_unique<ColumnStream>(part_.openFile(file), part_.name() + "/" + file),
                            part_.marks(stream)});
        return *streams_.back().stream;
    }

    void seek(size_t granule) {
        for (const Stream& stream : streams_) {
            if (granule >= stream.marks->granules())
                throw Error(ErrorCode::CORRUPTED_DATA, "A stream of part {} has no mark {}", part_.path(),
                            granule);
            stream.stream->seek(stream.marks->marks[granule]);
        }
    }

    void setEnd(size_t granule) {
        for (const Stream& stream : streams_) {
            // The granule before may end inside the block that the mark points into.
            constexpr uint64_t kLastBlock = 65536;
            const bool known = granule < stream.marks->granules();
            const Mark mark = known ? stream.marks->marks[granule] : Mark{};
            stream.stream->setReadEnd(known ? mark.block_offset + (mark.offset_in_block > 0 ? kLastBlock : 0)
                                            : UINT64_MAX);
        }
    }

private:
    struct Stream {
        std::unique_ptr<ColumnStream> stream;
        std::shared_ptr<const Marks> marks;
    };

    const Part& part_;
    std::vector<Stream> streams_;
};

/// Compact: all streams of all columns are one file; a granule's bytes of one column follow each other.
class PartColumnReader::CompactStream final : public StreamSource {
public:
    CompactStream(const Part& part, const std::string& column)
        : marks_(part.marks("data")),
          first_mark_(part.firstMark(column)),
          stream_(part.openFile("data.bin"), part.name() + "/data.bin") {}

    ColumnStream& open(const std::string& /*stream*/) override { return stream_; }

    void seek(size_t granule) {
        const size_t at = granule * marks_->stride + first_mark_;
        if (at >= marks_->marks.size())
            throw Error(ErrorCode::CORRUPTED_DATA, "A Compact part has no mark {}", granule);
        stream_.setReadEnd(at + 1 < marks_->marks.size() ? marks_->marks[at + 1].block_offset : UINT64_MAX);
        stream_.seek(marks_->marks[at]);
    }

private:
    std::shared_ptr<const Marks> marks_;
    size_t first_mark_;
    ColumnStream stream_;
};

PartColumnReader::PartColumnReader(std::shared_ptr<const Part> part, std::string column, TypePtr type)
    : part_(std::move(part)), name_(std::move(column)), type_(std::move(type)) {
    const PartColumn* stored = part_->find(name_);
    if (!stored) return;
    stored_type_ = stored->type;
    DecodeOptions options{.string_sizes = part_->serialization().string_sizes,
                          .sparse_nullable = part_->serialization().sparse_nullable,
                          .compact = part_->compact(),
                          .dictionaries = &part_->dictionaries()};
    const auto& kinds = part_->serialization().columns;
    if (const auto kind = kinds.find(name_); kind != kinds.end()) options.kind = kind->second;
    if (part_->compact()) {
        compact_ = std::make_unique<CompactStream>(*part_, name_);
        decoder_ = makeColumnDecoder(name_, stored_type_, *compact_, options);
    } else {
        wide_ = std::make_unique<WideStreams>(*part_);
        decoder_ = makeColumnDecoder(name_, stored_type_, *wide_, options);
    }
}

PartColumnReader::~PartColumnReader() = default;

void PartColumnReader::read(size_t first, size_t last) {
    try {
        if (!stored_type_)
            default_rows_ += part_->index().row_starts[last] - part_->index().row_starts[first];
        else if (compact_)
            readCompact(first, last);
        else
            readWide(first, last);
    } catch (Error& error) {
        error.append(fmt::format(" (while reading column {} of part {})", name_, part_->name()));
        throw;
    }
}

void PartColumnReader::readWide(size_t first, size_t last) {
    const auto& starts = part_->index().row_starts;
    wide_->setEnd(last);
    if (first != next_granule_) {
        wide_->seek(first);
        decoder_->restart();
    }
    next_granule_ = SIZE_MAX;  // until it is read whole
    decoder_->read(starts[last] - starts[first]);
    next_granule_ = last;
}

void PartColumnReader::readCompact(size_t first, size_t last) {
    const auto& starts = part_->index().row_starts;
    for (size_t granule = first; granule < last; ++granule) {
        compact_->seek(granule);
        decoder_->restart();
        decoder_->readPrefix();
        decoder_->read(starts[granule + 1] - starts[granule]);
    }
}

ColumnPtr PartColumnReader::take() {
    if (!stored_type_) {
        MutableColumnPtr defaults = createColumn(*type_);
        insertDefaults(*type_, *defaults, std::exchange(default_rows_, 0));
        return defaults;
    }
    ColumnPtr column = decoder_->take();
    return sameType(stored_type_, type_) ? column : convertColumn(column, stored_type_, type_);
}

void PartColumnReader::reserve(size_t rows) {
    if (decoder_) decoder_->reserve(rows);
}

PartReader::PartReader(std::shared_ptr<const Part> part,
                       std::vector<PartColumn> columns,
                       const std::vector<std::string>& sizes)
    : part_(std::move(part)),
      columns_(std::move(columns)),
      gives_sizes_(columns_.size()),
      readers_(columns_.size()),
      cacheable_(columns_.size()) {
    for (size_t i = 0; i < columns_.size(); ++i) {
        if (std::find(sizes.begin(), sizes.end(), columns_[i].name) == sizes.end()) continue;
        gives_sizes_[i] = true;
        columns_[i] = {*sizedColumn(columns_[i].name), types::string()};
    }
    const bool use_cache = part_->cache() && part_->cache()->enabled();
    for (size_t i = 0; i < columns_.size(); ++i)
        cacheable_[i] = use_cache && part_->find(columns_[i].name) && !hasState(*columns_[i].type);
}

std::vector<ColumnPtr> PartReader::read(const GranuleRanges& ranges) {
    std::vector<ColumnPtr> read;
    for (size_t i = 0; i < columns_.size(); ++i) read.push_back(readColumn(i, ranges));
    return read;
}

ColumnPtr PartReader::decode(size_t position, const GranuleRanges& ranges) {
    auto& reader = readers_[position];
    if (!reader)
        reader = std::make_unique<PartColumnReader>(part_, columns_[position].name, columns_[position].type);
    try {
        size_t rows = 0;
        for (const auto& [first, last] : ranges) rows += part_->index().rowsBetween(first, last);
        reader->reserve(rows);
        for (const auto& [first, last] : ranges) reader->read(first, last);
        return reader->take();
    } catch (...) {
        reader.reset();  // it holds half a read
        throw;
    }
}

ColumnPtr PartReader::decodeForCache(size_t position, const GranuleRanges& ranges) {
    const MemoryScope scope(part_->cache()->budget());
    try {
        return decode(position, ranges);
    } catch (const Error& error) {
        if (!error.is(ErrorCode::MEMORY_LIMIT_EXCEEDED)) throw;
        part_->cache()->shrinkTo(0.5);
        return nullptr;
    }
}

ColumnPtr PartReader::cachedChunk(size_t position, size_t chunk, bool wanted) {
    const PartIndex& index = part_->index();
    DecodedCache& cache = *part_->cache();
    // The type is in the key, because ALTER changes it.
    const std::string key = columns_[position].name + " " + columns_[position].type->name();
    ColumnPtr whole = cache.find(part_->id(), key, chunk);
    if (whole || !wanted) return whole;
    const size_t begin = chunk * index.chunk_granules;
    whole = decodeForCache(position, {{begin, std::min(begin + index.chunk_granules, index.granules())}});
    if (whole) cache.insert(part_->id(), key, chunk, whole);
    return whole;
}

ColumnPtr PartReader::readColumn(size_t position, const GranuleRanges& ranges) {
    const ColumnPtr values = readSource(position, ranges);
    return gives_sizes_[position] ? sizesOf(*values) : values;
}

ColumnPtr PartReader::readSource(size_t position, const GranuleRanges& ranges) {
    const PartIndex& index = part_->index();
    if (!cacheable_[position] || ranges.empty()) return decode(position, ranges);
    const size_t chunk = ranges.front().first / index.chunk_granules;
    const size_t begin = chunk * index.chunk_granules;
    const size_t end = std::min(begin + index.chunk_granules, index.granules());
    if (ranges.back().second > end) return decode(position, ranges);
    const bool wants_whole = ranges.size() == 1 && ranges[0].first == begin && ranges[0].second == end;
    const ColumnPtr whole = cachedChunk(position, chunk, wants_whole || caches_whole_);
    if (!whole) return decode(position, ranges);
    if (wants_whole) return whole;
    if (ranges.size() == 1)
        return whole->slice(index.rowsBetween(begin, ranges[0].first),
                            index.rowsBetween(ranges[0].first, ranges[0].second));
    MutableColumnPtr pieces = whole->cloneEmpty();
    for (const auto& [first, last] : ranges)
        pieces->insertRange(*whole, index.rowsBetween(begin, first), index.rowsBetween(first, last));
    return pieces;
}

struct PartReader::Selection {
    size_t kept = 0;
    GranuleRanges ranges = {};  // with a row that is kept
    Mask range_mask = {};       // over the rows of these
    size_t chunk = 0;
    std::span<const uint8_t> chunk_mask = {};  // over the rows of the whole chunk
    Mask own_chunk_mask = {};
    bool most_granules = false;
};

std::vector<ColumnPtr> PartReader::readKept(
    size_t first, size_t last, std::span<const uint8_t> mask, size_t kept, size_t& read_bytes) {
    const PartIndex& index = part_->index();
    Selection selection{.kept = kept, .chunk = first / index.chunk_granules};
    size_t granules = 0;
    for (size_t granule = first; granule < last; ++granule) {
        const std::span<const uint8_t> rows =
            mask.subspan(index.rowsBetween(first, granule), index.rowsBetween(granule, granule + 1));
        if (countKept(rows) == 0) continue;
        ++granules;
        selection.range_mask.append(rows);
        if (!selection.ranges.empty() && selection.ranges.back().second == granule)
            ++selection.ranges.back().second;
        else
            selection.ranges.emplace_back(granule, granule + 1);
    }
    const size_t begin = selection.chunk * index.chunk_granules;
    const size_t end = std::min(begin + index.chunk_granules, index.granules());
    selection.most_granules = 2 * granules >= end - begin;
    selection.chunk_mask = mask;
    if (first != begin || last != end) {
        selection.own_chunk_mask.resizeZeroed(index.rowsBetween(begin, end));
        std::copy(mask.begin(), mask.end(), selection.own_chunk_mask.begin() + index.rowsBetween(begin, first));
        selection.chunk_mask = selection.own_chunk_mask.span();
    }
    std::vector<ColumnPtr> read;
    for (size_t i = 0; i < columns_.size(); ++i) read.push_back(readKeptColumn(i, selection, read_bytes));
    return read;
}

ColumnPtr PartReader::readKeptColumn(size_t position, const Selection& selection, size_t& read_bytes) {
    const size_t rows = selection.range_mask.size();
    // A chunk in the cache is filtered as it is; its granules are copied by nobody.
    if (cacheable_[position]) {
        if (ColumnPtr whole = cachedChunk(position, selection.chunk, selection.most_granules)) {
            if (gives_sizes_[position]) whole = sizesOf(*whole);
            read_bytes += whole->dataBytes() * rows / std::max<size_t>(1, whole->size());
            if (selection.kept == whole->size()) return whole;
            return whole->filter(selection.chunk_mask, selection.kept);
        }
    }
    ColumnPtr values = decode(position, selection.ranges);
    if (gives_sizes_[position]) values = sizesOf(*values);
    read_bytes += values->dataBytes();
    return selection.kept == rows ? values : values->filter(selection.range_mask.span(), selection.kept);
}

}  // namespace shardd::storage
