#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "server/storage/part.h"

namespace shardd::storage {

/// Makes values of one type values of another, as CAST does: for columns whose type was altered after the
/// part was written. Set once at the start by a layer that has conversions; without it only numbers are
/// converted.
using ColumnConverter = ColumnPtr (*)(const ColumnPtr& column, const TypePtr& from, const TypePtr& to);
void setColumnConverter(ColumnConverter converter);

/// One column of one part, granules in any order; cheapest when they follow each other.
/// Threads: one at a time.
class PartColumnReader {
public:
    /// `type` is the table's; a part without the column gives defaults, one with another type is converted.
    PartColumnReader(std::shared_ptr<const Part> part, std::string column, TypePtr type);
    ~PartColumnReader();

    /// Appends the rows of granules first … last - 1.
    void read(size_t first, size_t last);

    /// Room for this many rows.
    void reserve(size_t rows);

    /// All rows read since the last take().
    ColumnPtr take();

private:
    class WideStreams;
    class CompactStream;

    void readWide(size_t first, size_t last);
    void readCompact(size_t first, size_t last);

    std::shared_ptr<const Part> part_;
    std::string name_;
    TypePtr type_;
    TypePtr stored_type_;  // nullptr: the part has no such column
    std::unique_ptr<WideStreams> wide_;
    std::unique_ptr<CompactStream> compact_;
    std::unique_ptr<ColumnDecoder> decoder_;
    size_t next_granule_ = SIZE_MAX;
    size_t default_rows_ = 0;
};

/// "text.size" is a column of lengths that scans offer beside a String column `text`; nothing for other names.
std::optional<std::string> sizedColumn(const std::string& name);

using GranuleRanges = std::vector<std::pair<size_t, size_t>>;  // first, last (not included); ascending

/// Several columns of one part, through the cache of decoded columns when there is one.
/// Shapes:  all columns have the same rows.
/// Threads: one at a time.
class PartReader {
public:
    /// Columns whose names are in `sizes` are the lengths of the String column that sizedColumn() tells.
    PartReader(std::shared_ptr<const Part> part,
               std::vector<PartColumn> columns,
               const std::vector<std::string>& sizes = {});

    /// A chunk of which only a part is read goes into the cache too: somebody will soon read the rest.
    void cacheWholeChunks() { caches_whole_ = true; }

    /// The rows of the granules in `ranges`, in order. Only ranges within one chunk
    /// (PartIndex::chunk_granules) are cached.
    std::vector<ColumnPtr> read(const GranuleRanges& ranges);

    /// The rows of granules first … last - 1, all within one chunk, that a mask over these rows keeps, `kept` of
    /// them and at least one. Granules without such a row are not read. Adds the bytes of those that are to
    /// `read_bytes`.
    std::vector<ColumnPtr> readKept(
        size_t first, size_t last, std::span<const uint8_t> mask, size_t kept, size_t& read_bytes);

private:
    /// What readKept() works out once for all columns.
    struct Selection;

    ColumnPtr readKeptColumn(size_t position, const Selection& selection, size_t& read_bytes);
    /// The column's whole chunk from the cache; nullptr when it is not there and not put there.
    ColumnPtr cachedChunk(size_t position, size_t chunk, bool wanted);
    ColumnPtr readColumn(size_t position, const GranuleRanges& ranges);
    ColumnPtr readSource(size_t position, const GranuleRanges& ranges);
    ColumnPtr decode(size_t position, const GranuleRanges& ranges);
    /// Decoded on the cache's account; nullptr when it has no memory for it.
    ColumnPtr decodeForCache(size_t position, const GranuleRanges& ranges);

    std::shared_ptr<const Part> part_;
    std::vector<PartColumn> columns_;  // as they are stored
    std::vector<bool> gives_sizes_;
    std::vector<std::unique_ptr<PartColumnReader>> readers_;  // made when a column is first decoded
    std::vector<bool> cacheable_;
    bool caches_whole_ = false;
};

}  // namespace shardd::storage
