#include "server/storage/memory_table.h"

#include <algorithm>
#include <atomic>

#include "common/base/error.h"
#include "common/columns/create_column.h"

namespace shardd::storage {

namespace {

/// Takes blocks in turn from a list that several sources share.
class SharedBlocksSource final : public BlockSource {
public:
    struct Work {
        std::shared_ptr<const std::vector<Block>> blocks;
        std::atomic<size_t> next = 0;
        std::stop_token stop;
        std::function<void(uint64_t, uint64_t)> progress;
    };

    SharedBlocksSource(Block header, std::shared_ptr<Work> work)
        : header_(std::move(header)), work_(std::move(work)) {}

    const Block& header() const override { return header_; }

    std::optional<Block> next() override {
        while (!work_->stop.stop_requested()) {
            const size_t at = work_->next.fetch_add(1, std::memory_order_relaxed);
            if (at >= work_->blocks->size()) break;
            const Block& whole = (*work_->blocks)[at];
            Block block;
            block.rows = whole.rows;
            for (const NamedColumn& wanted : header_.columns) block.columns.push_back(whole.get(wanted.name));
            if (work_->progress) work_->progress(block.rows, block.dataBytes());
            return block;
        }
        return std::nullopt;
    }

private:
    Block header_;
    std::shared_ptr<Work> work_;
};

class MemorySink final : public BlockSink {
public:
    explicit MemorySink(MemoryTable& table) : table_(table), schema_(table.schema()) {}

    void write(Block block) override {
        if (!block.empty()) blocks_.push_back(completeBlock(block, *schema_));
    }

    void finish() override { table_.append(std::move(blocks_)); }

private:
    MemoryTable& table_;
    std::shared_ptr<const TableSchema> schema_;
    std::vector<Block> blocks_;
};

class NullSink final : public BlockSink {
public:
    void write(Block /*block*/) override {}

    void finish() override {}
};

}  // namespace

// -- NamedTable -----------------------------------------------------------------------------------

std::shared_ptr<const TableSchema> NamedTable::schema() const {
    const std::lock_guard lock(schema_mutex_);
    return schema_;
}

void NamedTable::rename(const std::string& database, const std::string& name) {
    const std::lock_guard lock(schema_mutex_);
    TableSchema renamed = *schema_;
    const auto head = [](const TableSchema& schema) {
        return quoteIdentifierIfNeeded(schema.database) + "." + quoteIdentifierIfNeeded(schema.name) + " ";
    };
    const std::string before = head(renamed);
    renamed.database = database;
    renamed.name = name;
    // "CREATE TABLE db.name (…": the name stands early, and nothing like it before.
    if (const size_t at = renamed.create_query.find(before); at != std::string::npos && at < 32)
        renamed.create_query.replace(at, before.size(), head(renamed));
    schema_ = std::make_shared<const TableSchema>(std::move(renamed));
}

void NamedTable::setSchema(const TableSchema& schema) {
    const std::lock_guard lock(schema_mutex_);
    schema_ = std::make_shared<const TableSchema>(schema);
}

Block NamedTable::headerFor(const std::vector<std::string>& columns) const {
    const auto current = schema();
    Block header;
    for (const std::string& name : columns) {
        const ColumnDefinition* column = current->find(name);
        if (!column)
            throw Error(ErrorCode::NOT_FOUND_COLUMN_IN_BLOCK, "There is no column {} in table {}.{}", name,
                        current->database, current->name);
        header.columns.push_back({name, column->type, createColumn(*column->type)});
    }
    return header;
}

Block completeBlock(const Block& block, const TableSchema& schema) {
    Block complete;
    complete.rows = block.rows;
    for (const ColumnDefinition& column : schema.columns) {
        if (column.default_kind == DefaultKind::Alias || column.default_kind == DefaultKind::Ephemeral)
            continue;
        if (const auto at = block.find(column.name)) {
            complete.columns.push_back({column.name, column.type, full(block.columns[*at].column)});
        } else {
            MutableColumnPtr defaults = createColumn(*column.type);
            insertDefaults(*column.type, *defaults, block.rows);
            complete.columns.push_back({column.name, column.type, std::move(defaults)});
        }
    }
    return complete;
}

std::optional<Block> BlocksSource::next() {
    if (position_ == blocks_.size()) return std::nullopt;
    return std::move(blocks_[position_++]);
}

// -- MemoryTable ----------------------------------------------------------------------------------

std::shared_ptr<const MemoryTable::Blocks> MemoryTable::blocks() const {
    const std::lock_guard lock(blocks_mutex_);
    return blocks_;
}

std::vector<BlockSourcePtr> MemoryTable::scan(const ScanRequest& request) const {
    const auto work = std::make_shared<SharedBlocksSource::Work>();
    work->blocks = blocks();
    work->stop = request.stop;
    work->progress = request.progress;
    std::vector<BlockSourcePtr> sources;
    const size_t streams = std::min(request.max_streams, work->blocks->size());
    for (size_t i = 0; i < streams; ++i)
        sources.push_back(std::make_unique<SharedBlocksSource>(headerFor(request.columns), work));
    return sources;
}

BlockSinkPtr MemoryTable::write(const WriteRequest& /*request*/) {
    return std::make_unique<MemorySink>(*this);
}

void MemoryTable::append(std::vector<Block> blocks) {
    if (blocks.empty()) return;
    const std::lock_guard lock(blocks_mutex_);
    auto longer = std::make_shared<Blocks>(*blocks_);
    for (Block& block : blocks) longer->push_back(std::move(block));
    blocks_ = std::move(longer);
}

std::optional<uint64_t> MemoryTable::totalRows() const {
    uint64_t rows = 0;
    for (const Block& block : *blocks()) rows += block.rows;
    return rows;
}

std::optional<uint64_t> MemoryTable::totalBytes() const {
    uint64_t bytes = 0;
    for (const Block& block : *blocks()) bytes += block.dataBytes();
    return bytes;
}

void MemoryTable::truncate() {
    const std::lock_guard lock(blocks_mutex_);
    blocks_ = std::make_shared<const Blocks>();
}

void MemoryTable::alter(const TableSchema& schema) {
    const std::lock_guard lock(blocks_mutex_);
    auto changed = std::make_shared<Blocks>();
    for (const Block& block : *blocks_) {
        Block kept;
        kept.rows = block.rows;
        for (const NamedColumn& column : block.columns) {
            const ColumnDefinition* definition = schema.find(column.name);
            if (!definition) continue;
            if (sameType(definition->type, column.type)) {
                kept.columns.push_back(column);
                continue;
            }
            MutableColumnPtr converted = createColumn(*definition->type);
            for (size_t row = 0; row < block.rows; ++row) converted->insert(column.column->value(row));
            kept.columns.push_back({column.name, definition->type, std::move(converted)});
        }
        changed->push_back(completeBlock(kept, schema));
    }
    blocks_ = std::move(changed);
    setSchema(schema);
}

// -- ViewTable ------------------------------------------------------------------------------------

std::vector<BlockSourcePtr> ViewTable::scan(const ScanRequest& /*request*/) const {
    throw Error(ErrorCode::NOT_IMPLEMENTED, "View {}.{} cannot be read here", schema()->database,
                schema()->name);
}

// -- NullTable ------------------------------------------------------------------------------------

std::vector<BlockSourcePtr> NullTable::scan(const ScanRequest& request) const {
    headerFor(request.columns);  // unknown columns are an error here too
    return {};
}

BlockSinkPtr NullTable::write(const WriteRequest& /*request*/) { return std::make_unique<NullSink>(); }

}  // namespace shardd::storage
