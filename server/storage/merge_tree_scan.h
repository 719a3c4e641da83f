#pragma once

#include <memory>
#include <vector>

#include "server/storage/key_ranges.h"
#include "server/storage/part.h"
#include "server/storage/table.h"

namespace shardd::storage {

/// The parts of a table at the moment of a scan.
struct PartSnapshot {
    std::shared_ptr<const TableSchema> schema;
    std::vector<PartPtr> parts;
    std::vector<PartColumn> minmax_columns;
    KeyDescription primary_key;
};

/// Sources that share the granules of the snapshot among them: parts chosen by partition, granules by the
/// primary key.
std::vector<BlockSourcePtr> scanParts(const PartSnapshot& snapshot, const ScanRequest& request);

struct ScanColumns;

/// A scan whose rows are asked for range by range of the key: rows of different ranges differ in the key's
/// first elements, so that a group of them lies in one range. Threads: any; sources of different ranges, and
/// those of one, may be read at the same time.
class KeyRangeScan {
public:
    /// nullptr when the parts cannot be cut (no primary key). `target_rows` as KeyRanges has it; 0 leaves it
    /// to the scan.
    static std::unique_ptr<KeyRangeScan> make(const PartSnapshot& snapshot,
                                              const ScanRequest& request,
                                              size_t elements,
                                              uint64_t target_rows);

    size_t count() const { return ranges_.count(); }

    /// About how many rows there are to read.
    uint64_t rowsAbout(size_t range) const { return ranges_.rowsAbout(range); }

    /// What a range should have; more where one key has more.
    uint64_t targetRows() const { return target_rows_; }

    /// The first element's value where the range begins, but for the first range: one row.
    ColumnPtr boundary(size_t range) const { return ranges_.boundary(range); }

    /// At most `max_streams` sources that share the rows of the range among them, perhaps none.
    std::vector<BlockSourcePtr> open(size_t range, size_t max_streams) const;

private:
    KeyRangeScan(std::shared_ptr<const ScanColumns> columns, KeyRanges ranges, uint64_t target_rows)
        : columns_(std::move(columns)), ranges_(std::move(ranges)), target_rows_(target_rows) {}

    std::shared_ptr<const ScanColumns> columns_;
    KeyRanges ranges_;
    uint64_t target_rows_;
};

/// All rows of a part that are to be seen, in one block.
Block readWholePart(const PartPtr& part, const std::vector<PartColumn>& columns);

}  // namespace shardd::storage
