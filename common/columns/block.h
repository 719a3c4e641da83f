#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/columns/column.h"
#include "common/types/type.h"

namespace shardd {

struct NamedColumn {
    std::string name;
    TypePtr type;
    ColumnPtr column;
};

/// Named columns of one length: how data moves everywhere. Constants may be among them; see full().
struct Block {
    /// Of a two-level aggregation; -1 is single-level.
    static constexpr int32_t kNoBucket = -1;

    std::vector<NamedColumn> columns;
    size_t rows = 0;
    int32_t bucket = kNoBucket;
    /// States of rows beyond max_rows_to_group_by.
    bool is_overflows = false;

    bool empty() const { return rows == 0; }

    std::optional<size_t> find(std::string_view name) const;
    /// NOT_FOUND_COLUMN_IN_BLOCK (10), naming the columns that there are.
    const NamedColumn& get(std::string_view name) const;

    /// The same columns without rows.
    Block header() const;
    size_t dataBytes() const;
    size_t allocatedBytes() const;
    /// Adds a column; its length must be the block's (the first one sets it).
    void add(NamedColumn column);
    /// Constants written out.
    void makeFull();
    Block slice(size_t from, size_t count) const;
    Block filter(std::span<const uint8_t> mask, size_t kept) const;
    Block gather(std::span<const RowIndex> indexes) const;
};

/// Rows of `blocks` one after another; all have the same columns. An empty list gives an empty block.
Block concatenate(std::vector<Block> blocks);

/// An empty block of the given names and types, with empty columns.
Block makeHeader(const std::vector<std::pair<std::string, TypePtr>>& columns);

}  // namespace shardd
