#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/storage/part.h"

namespace shardd::storage {

/// One column of one part, granules in any order; cheapest when they follow each other.
/// Threads: one at a time.
class PartColumnReader {
public:
    /// `type` is the table's; a part without the column gives defaults, one with another type is converted.
    PartColumnReader(std::shared_ptr<const Part> part, std::string column, TypePtr type);
    ~PartColumnReader();

    /// Appends the rows of granules first … last - 1.
    void read(size_t first, size_t last);

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

/// Several columns of one part. Shapes: all columns have the same rows.
class PartReader {
public:
    PartReader(std::shared_ptr<const Part> part, const std::vector<PartColumn>& columns);

    /// The rows of the granules in `ranges` (first, last), in order.
    std::vector<ColumnPtr> read(const std::vector<std::pair<size_t, size_t>>& ranges);

    const std::shared_ptr<const Part>& part() const { return part_; }

private:
    std::shared_ptr<const Part> part_;
    std::vector<std::unique_ptr<PartColumnReader>> columns_;
};

}  // namespace shardd::storage
