#pragma once

#include <algorithm>

#include <gtest/gtest.h>

#include "common/columns/create_column.h"
#include "common/types/type_parser.h"
#include "server/exec/pipeline.h"
#include "server/exec/thread_pool.h"

/// Plans built by hand over rows written by hand.
namespace shardd::exec {

using Rows = std::vector<std::vector<Value>>;

inline Value operator""_v(unsigned long long number) { return Value(static_cast<uint64_t>(number)); }

inline Value text(const char* value) { return Value(std::string(value)); }

inline std::string printed(const Value& value) {
    switch (value.kind()) {
        case Value::Kind::Null:
            return "NULL";
        case Value::Kind::String:
            return "'" + value.get<std::string>() + "'";
        case Value::Kind::Float64:
            return std::to_string(value.get<double>());
        case Value::Kind::Int64:
            return std::to_string(value.get<int64_t>());
        default:
            return std::to_string(value.to<uint64_t>());
    }
}

/// One line a row; integers look alike, signed or not.
inline std::string printed(const Rows& rows) {
    std::string result;
    for (const auto& row : rows) {
        for (const Value& value : row) result += printed(value) + " ";
        result += "\n";
    }
    return result;
}

inline Block makeBlock(const std::vector<std::pair<std::string, std::string>>& columns, const Rows& rows) {
    Block block;
    for (size_t c = 0; c < columns.size(); ++c) {
        const TypePtr type = parseType(columns[c].second);
        MutableColumnPtr column = createColumn(*type);
        for (const auto& row : rows) column->insert(row[c]);
        block.add({columns[c].first, type, ColumnPtr(std::move(column))});
    }
    block.rows = rows.size();
    return block;
}

inline Rows rowsOf(const Block& block) {
    Rows rows(block.rows);
    for (size_t i = 0; i < block.rows; ++i)
        for (const NamedColumn& column : block.columns) rows[i].push_back(column.column->value(i));
    return rows;
}

inline Rows rowsOf(const std::vector<Block>& blocks) {
    Rows rows;
    for (const Block& block : blocks)
        for (auto& row : rowsOf(block)) rows.push_back(std::move(row));
    return rows;
}

/// A table whose blocks are shared out among the streams.
class BlocksTable final : public storage::Table {
public:
    explicit BlocksTable(std::vector<Block> blocks) : blocks_(std::move(blocks)) {}

    std::shared_ptr<const storage::TableSchema> schema() const override { return nullptr; }

    std::vector<BlockSourcePtr> scan(const storage::ScanRequest& request) const override {
        struct Source final : BlockSource {
            Source(const BlocksTable& from, size_t first, size_t step, const storage::ScanRequest& asked)
                : table(from), at(first), every(step), request(asked), empty(from.blocks_[0].header()) {}

            const Block& header() const override { return empty; }

            std::optional<Block> next() override {
                if (at >= table.blocks_.size()) return std::nullopt;
                Block block;
                block.rows = table.blocks_[at].rows;
                for (const std::string& name : request.columns)
                    block.columns.push_back(table.blocks_[at].get(name));
                at += every;
                request.progress(block.rows, block.dataBytes());
                return block;
            }

            const BlocksTable& table;
            size_t at;
            size_t every;
            storage::ScanRequest request;
            Block empty;
        };

        std::vector<BlockSourcePtr> sources;
        for (size_t i = 0; i < request.max_streams; ++i)
            sources.push_back(std::make_unique<Source>(*this, i, request.max_streams, request));
        return sources;
    }

private:
    std::vector<Block> blocks_;
};

inline plan::StepPtr scanOf(std::vector<Block> blocks) {
    Block header = blocks[0].header();
    plan::ScanStep step;
    for (const NamedColumn& column : header.columns) step.columns.push_back(column.name);
    step.table = std::make_shared<BlocksTable>(std::move(blocks));
    return plan::makeStep(std::move(step), std::move(header));
}

inline plan::ExpressionPtr inputOf(const Block& header, const std::string& name) {
    auto expression = std::make_shared<plan::Expression>();
    expression->name = name;
    expression->type = header.get(name).type;
    return expression;
}

/// One column under 0 rows, for headers.
inline NamedColumn emptyColumn(const std::string& name, const TypePtr& type) {
    return {name, type, createColumn(*type)};
}

struct Answer : ResultSink {
    void header(const Block& block) override { columns = block; }

    bool data(Block block) override {
        blocks.push_back(std::move(block));
        return true;
    }

    void totals(Block block) override { totals_block = std::move(block); }

    void extremes(Block block) override { extremes_block = std::move(block); }

    Rows rows() const { return rowsOf(blocks); }

    Block columns;
    std::vector<Block> blocks;
    Block totals_block;
    Block extremes_block;
};

class ExecTest : public testing::Test {
protected:
    QueryContext& context(size_t threads = 1, size_t max_block_rows = 65409) {
        ExecSettings settings;
        settings.max_threads = threads;
        settings.max_block_rows = max_block_rows;
        return context(settings);
    }

    QueryContext& context(const ExecSettings& settings) {
        context_ = std::make_unique<QueryContext>(pool_, MemoryBudget::create("test", 0), settings);
        return *context_;
    }

    Answer run(const plan::StepPtr& step, size_t threads = 1, size_t max_block_rows = 65409) {
        Answer answer;
        execute(step, context(threads, max_block_rows), answer);
        return answer;
    }

    ThreadPool pool_{8};
    std::unique_ptr<QueryContext> context_;
};

}  // namespace shardd::exec
