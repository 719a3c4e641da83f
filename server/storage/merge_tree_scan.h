#pragma once

#include <memory>
#include <vector>

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

/// All rows of a part that are to be seen, in one block.
Block readWholePart(const PartPtr& part, const std::vector<PartColumn>& columns);

}  // namespace shardd::storage
