#pragma once

#include <vector>

#include "common/columns/block.h"
#include "server/storage/key.h"

namespace shardd::storage {

/// The rows of `block` in the order of the key, equal ones as they come; empty when they are in order
/// already.
PodVector<RowIndex> sortedRows(const Block& block, const KeyDescription& key);

/// ReplacingMergeTree: of rows with the same sorting key only the last one with the greatest version stays.
/// `block` is sorted. An empty `version` means that the last one counts.
Block keepLatest(const Block& block, const KeyDescription& key, const std::string& version);

/// The rows of a block by partition, each group in the order of the block.
struct PartitionRows {
    std::vector<ColumnPtr> values;  // one row for each element of the partition key
    PodVector<RowIndex> rows;       // empty: all of them
};

/// Errors: TOO_MANY_PARTS (252) beyond `max_partitions` (0: any number).
std::vector<PartitionRows> splitByPartition(const Block& block,
                                            const KeyDescription& partition_key,
                                            size_t max_partitions);

}  // namespace shardd::storage
