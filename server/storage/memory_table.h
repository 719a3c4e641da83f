#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "server/storage/engine.h"
#include "server/storage/table.h"

namespace shardd::storage {

/// A table whose schema is one object, replaced when it gets another name.
class NamedTable : public Table {
public:
    explicit NamedTable(TableSchema schema)
        : schema_(std::make_shared<const TableSchema>(std::move(schema))) {}

    std::shared_ptr<const TableSchema> schema() const override;
    void rename(const std::string& database, const std::string& name) override;

protected:
    void setSchema(const TableSchema& schema);

    /// What a scan of these columns gives, without rows. NOT_FOUND_COLUMN_IN_BLOCK (10).
    Block headerFor(const std::vector<std::string>& columns) const;

private:
    mutable std::mutex schema_mutex_;
    std::shared_ptr<const TableSchema> schema_;  // guarded by schema_mutex_
};

/// ENGINE = Memory: the blocks as they were written. The plainest table: read this one first.
/// A scan sees the blocks of the moment it was made; an INSERT becomes visible at its end, all of it.
class MemoryTable final : public NamedTable {
public:
    using NamedTable::NamedTable;

    std::vector<BlockSourcePtr> scan(const ScanRequest& request) const override;
    BlockSinkPtr write(const WriteRequest& request) override;
    std::optional<uint64_t> totalRows() const override;
    std::optional<uint64_t> totalBytes() const override;
    void truncate() override;

    void drop() override { truncate(); }

    void alter(const TableSchema& schema) override;

    /// Whole blocks with all columns of the table, in any order.
    void append(std::vector<Block> blocks);

private:
    using Blocks = std::vector<Block>;

    std::shared_ptr<const Blocks> blocks() const;

    mutable std::mutex blocks_mutex_;
    std::shared_ptr<const Blocks> blocks_ = std::make_shared<const Blocks>();  // guarded by blocks_mutex_
};

/// ENGINE = Null and null('structure'): takes every row, gives none.
class NullTable final : public NamedTable {
public:
    using NamedTable::NamedTable;

    std::vector<BlockSourcePtr> scan(const ScanRequest& request) const override;
    BlockSinkPtr write(const WriteRequest& request) override;

    std::optional<uint64_t> totalRows() const override { return 0; }

    void truncate() override {}
};

/// ENGINE = View: a query under a name. It is never scanned: the planner reads its view_query instead.
class ViewTable final : public NamedTable {
public:
    using NamedTable::NamedTable;

    std::vector<BlockSourcePtr> scan(const ScanRequest& request) const override;
};

/// Blocks with the columns of `header`, one after another.
class BlocksSource final : public BlockSource {
public:
    BlocksSource(Block header, std::vector<Block> blocks)
        : header_(std::move(header)), blocks_(std::move(blocks)) {}

    const Block& header() const override { return header_; }

    std::optional<Block> next() override;

private:
    Block header_;
    std::vector<Block> blocks_;
    size_t position_ = 0;
};

/// The table's columns of `block` in the table's order; missing ones hold their type's default.
Block completeBlock(const Block& block, const TableSchema& schema);

}  // namespace shardd::storage
