#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/types/type_parser.h"
#include "server/plan/planner_context.h"
#include "server/sql/parser.h"
#include "server/storage/distributed.h"
#include "server/storage/table.h"

namespace shardd::plan {

/// A table without rows, local or sharded, for what the planner decides before anything runs.
class FakeTable final : public storage::Table, public storage::DistributedSource {
public:
    FakeTable(const std::string& name, const std::string& columns)
        : schema_(std::make_shared<storage::TableSchema>()), remote_table_(name) {
        schema_->database = "db";
        schema_->name = name;
        schema_->engine = "Fake";
        for (const auto& declaration : sql::parseColumns(columns)) {
            storage::ColumnDefinition column;
            column.name = declaration.name;
            column.type = parseType(declaration.type);
            schema_->columns.push_back(std::move(column));
        }
    }

    std::shared_ptr<FakeTable> sharded(std::vector<uint32_t> weights, std::string key = "") {
        auto table = std::make_shared<FakeTable>(*this);
        table->weights_ = std::move(weights);
        table->key_ = std::move(key);
        return table;
    }

    /// What the table is called on the shards, if not as here.
    FakeTable remoteName(std::string name) && {
        remote_table_ = std::move(name);
        return std::move(*this);
    }

    std::shared_ptr<const storage::TableSchema> schema() const override { return schema_; }

    std::vector<BlockSourcePtr> scan(const storage::ScanRequest&) const override { return {}; }

    bool supportsPrewhere() const override { return true; }

    const storage::DistributedSource* distributed() const override {
        return weights_.empty() ? nullptr : this;
    }

    const std::string& clusterName() const override { return cluster_; }

    size_t shardCount() const override { return weights_.size(); }

    std::vector<uint32_t> shardWeights() const override { return weights_; }

    const std::string& remoteDatabase() const override { return schema_->database; }

    const std::string& remoteTable() const override { return remote_table_; }

    const std::string& remoteTableFunction() const override { return function_; }

    const std::string& shardingKey() const override { return key_; }

    std::vector<storage::RemoteStreamPtr> query(const storage::RemoteQuery&) const override { return {}; }

private:
    std::shared_ptr<storage::TableSchema> schema_;
    std::string cluster_ = "cluster";
    std::string remote_table_;
    std::string function_;
    std::string key_;
    std::vector<uint32_t> weights_;
};

/// Knows the tables it was given, under their names without database.
inline PlannerContext fakeContext(std::vector<std::pair<std::string, storage::TablePtr>> tables) {
    PlannerContext context;
    auto functions = std::make_shared<functions::FunctionContext>();
    functions->now_microseconds = 1796089613960000;  // 2026-12-01 01:46:53.960
    context.functions = functions;
    for (auto& [name, table] : tables) context.temporary_tables[name] = std::move(table);
    return context;
}

}  // namespace shardd::plan
