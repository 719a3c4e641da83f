#pragma once

#include "server/storage/engine.h"
#include "server/storage/memory_table.h"

namespace shardd::storage {

/// Numbers in a row, made when asked: numbers(), zeros(), generate_series(), system.numbers, system.one …
struct NumberSequence {
    std::string column = "number";
    TypePtr type = nullptr;  // UInt64, or UInt8 for zeros and one; nullptr means UInt64
    uint64_t start = 0;
    uint64_t step = 1;
    /// How many there are; nothing for no end.
    std::optional<uint64_t> count = std::nullopt;
    /// Every row is `start`.
    bool constant = false;
    /// Several sources share the numbers, so that their order is lost.
    bool parallel = false;
};

class GeneratedTable final : public NamedTable {
public:
    GeneratedTable(TableSchema schema, NumberSequence sequence)
        : NamedTable(std::move(schema)), sequence_(std::move(sequence)) {}

    std::vector<BlockSourcePtr> scan(const ScanRequest& request) const override;

    std::optional<uint64_t> totalRows() const override { return sequence_.count; }

private:
    NumberSequence sequence_;
};

/// system.numbers, numbers_mt, zeros, zeros_mt, one.
std::vector<TablePtr> generatedSystemTables();

}  // namespace shardd::storage
