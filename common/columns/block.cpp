#include "common/columns/block.h"

#include "common/base/error.h"
#include "common/columns/create_column.h"
#include "common/columns/selection.h"
#include "common/columns/string_column.h"

namespace shardd {

std::optional<size_t> Block::find(std::string_view name) const {
    for (size_t i = 0; i < columns.size(); ++i)
        if (columns[i].name == name) return i;
    return std::nullopt;
}

const NamedColumn& Block::get(std::string_view name) const {
    if (const auto position = find(name)) return columns[*position];
    std::string names;
    for (const NamedColumn& column : columns) names += (names.empty() ? "" : ", ") + column.name;
    throw Error(ErrorCode::NOT_FOUND_COLUMN_IN_BLOCK, "Not found column {} in block. There are only columns: {}", name, names);
}

Block Block::header() const {
    Block result;
    result.columns.reserve(columns.size());
    for (const NamedColumn& column : columns)
        result.columns.push_back({column.name, column.type, column.column ? column.column->slice(0, 0) : ColumnPtr(createColumn(*column.type))});
    return result;
}

size_t Block::dataBytes() const {
    size_t bytes = 0;
    for (const NamedColumn& column : columns) bytes += column.column->dataBytes();
    return bytes;
}

size_t Block::allocatedBytes() const {
    size_t bytes = 0;
    for (const NamedColumn& column : columns) bytes += column.column->allocatedBytes();
    return bytes;
}

void Block::add(NamedColumn column) {
    if (columns.empty()) rows = column.column->size();
    SHARDD_CHECK(column.column->size() == rows);
    columns.push_back(std::move(column));
}

void Block::makeFull() {
    for (NamedColumn& column : columns) column.column = full(column.column);
}

namespace {

template <typename Make>
Block mapColumns(const Block& block, size_t rows, Make&& make) {
    Block result;
    result.rows = rows;
    result.bucket = block.bucket;
    result.is_overflows = block.is_overflows;
    result.columns.reserve(block.columns.size());
    for (const NamedColumn& column : block.columns) result.columns.push_back({column.name, column.type, make(*column.column)});
    return result;
}

}  // namespace

Block Block::slice(size_t from, size_t count) const {
    return mapColumns(*this, count, [&](const Column& column) { return column.slice(from, count); });
}

Block Block::filter(std::span<const uint8_t> mask, size_t kept) const {
    if (kept == SIZE_MAX) kept = countKept(mask);
    return mapColumns(*this, kept, [&](const Column& column) { return column.filter(mask, kept); });
}

Block Block::gather(std::span<const RowIndex> indexes) const {
    return mapColumns(*this, indexes.size(), [&](const Column& column) { return column.gather(indexes); });
}

namespace {

/// Room for the texts of column `i` of all blocks: growing by halves would take twice as much.
void reserveBytes(Column& column, const std::vector<Block>& blocks, size_t i) {
    if (column.kind() != ColumnKind::String) return;
    size_t bytes = 0;
    for (const Block& block : blocks)
        if (const auto* texts = dynamic_cast<const StringColumn*>(block.columns[i].column.get()))
            bytes += texts->chars().size();
    static_cast<StringColumn&>(column).chars().reserve(bytes);
}

}  // namespace

Block concatenate(std::vector<Block> blocks) {
    if (blocks.empty()) return {};
    if (blocks.size() == 1) return std::move(blocks[0]);
    Block result;
    for (const Block& block : blocks) result.rows += block.rows;
    for (size_t i = 0; i < blocks[0].columns.size(); ++i) {
        MutableColumnPtr column = blocks[0].columns[i].column->cloneEmpty();
        column->reserve(result.rows);
        reserveBytes(*column, blocks, i);
        for (Block& block : blocks) {
            const ColumnPtr part = full(block.columns[i].column);
            column->insertRange(*part, 0, part->size());
            block.columns[i].column.reset();
        }
        result.columns.push_back({blocks[0].columns[i].name, blocks[0].columns[i].type, ColumnPtr(std::move(column))});
    }
    return result;
}

Block makeHeader(const std::vector<std::pair<std::string, TypePtr>>& columns) {
    Block result;
    for (const auto& [name, type] : columns) result.columns.push_back({name, type, ColumnPtr(createColumn(*type))});
    return result;
}

}  // namespace shardd
