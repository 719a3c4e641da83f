#include "tests/support/local_cluster.h"

#include "common/columns/create_column.h"
#include "server/plan/key_function.h"
#include "server/plan/sharding.h"
#include "server/storage/distributed.h"
#include "server/storage/memory_table.h"

namespace shardd::test {

namespace {

using Nodes = std::vector<std::unique_ptr<LocalNode>>;

/// Columns by name under the types that were asked for.
Block convert(const Block& block, const Block& header) {
    Block result;
    result.rows = block.rows;
    for (const NamedColumn& wanted : header.columns) {
        const NamedColumn& given = block.get(wanted.name);
        ColumnPtr column = full(given.column);
        if (!sameType(given.type, wanted.type)) {
            std::vector<NamedColumn> arguments = {
                {"", given.type, column},
                {"", types::string(),
                 createConstColumn(*types::string(), Value(wanted.type->name()), block.rows)}};
            const auto cast = functions::resolveFunction("_CAST", arguments,
                                                         std::make_shared<functions::FunctionContext>());
            column = full(cast->execute(arguments, block.rows));
        }
        result.columns.push_back({wanted.name, wanted.type, column});
    }
    return result;
}

class LocalStream final : public storage::RemoteStream {
public:
    LocalStream(Answer answer, const Block& header, size_t shard) : header_(header), shard_(shard) {
        for (const Block& block : answer.blocks)
            if (block.rows) blocks_.push_back(convert(block, header));
        if (answer.totals) totals_ = convert(*answer.totals, header);
        if (answer.extremes) extremes_ = convert(*answer.extremes, header);
    }

    const Block& header() const override { return header_; }

    std::optional<Block> next() override {
        if (at_ == blocks_.size()) return std::nullopt;
        return blocks_[at_++];
    }

    const std::optional<Block>& totals() const override { return totals_; }

    const std::optional<Block>& extremes() const override { return extremes_; }

    std::optional<uint64_t> rowsBeforeLimit() const override { return std::nullopt; }

    size_t shard() const override { return shard_; }

private:
    Block header_;
    std::vector<Block> blocks_;
    std::optional<Block> totals_, extremes_;
    size_t shard_;
    size_t at_ = 0;
};

struct Target {
    std::string database, table, function, key;
};

class LocalDistributed final : public storage::NamedTable, public storage::DistributedSource {
public:
    LocalDistributed(storage::TableSchema schema, Nodes& shards, Target target)
        : NamedTable(std::move(schema)), shards_(shards), target_(std::move(target)) {}

    std::vector<BlockSourcePtr> scan(const storage::ScanRequest&) const override { return {}; }

    const storage::DistributedSource* distributed() const override { return this; }

    const std::string& clusterName() const override { return cluster_; }

    size_t shardCount() const override { return shards_.size(); }

    std::vector<uint32_t> shardWeights() const override { return std::vector<uint32_t>(shards_.size(), 1); }

    const std::string& remoteDatabase() const override { return target_.database; }

    const std::string& remoteTable() const override { return target_.table; }

    const std::string& remoteTableFunction() const override { return target_.function; }

    const std::string& shardingKey() const override { return target_.key; }

    std::vector<storage::RemoteStreamPtr> query(const storage::RemoteQuery& query) const override {
        std::vector<storage::RemoteStreamPtr> streams;
        for (size_t shard : query.shards) {
            Answer answer = shards_[shard]->runAsShard(
                {query.text, query.stage, query.settings, query.external_tables,
                 static_cast<uint32_t>(shard + 1), static_cast<uint32_t>(shards_.size()), target_.database});
            streams.push_back(std::make_unique<LocalStream>(std::move(answer), query.header, shard));
        }
        return streams;
    }

    BlockSinkPtr write(const storage::WriteRequest& request) override;

private:
    Nodes& shards_;
    Target target_;
    std::string cluster_ = "accept";
};

class LocalSink final : public BlockSink {
public:
    LocalSink(std::vector<BlockSinkPtr> sinks, std::optional<storage::KeyElement> key)
        : sinks_(std::move(sinks)), key_(std::move(key)) {}

    void write(Block block) override {
        std::vector<PodVector<RowIndex>> rows(sinks_.size());
        const ColumnPtr keys = key_ ? fullPlain(key_->compute(block)) : nullptr;
        const std::vector<uint32_t> weights(sinks_.size(), 1);
        for (size_t row = 0; row < block.rows; ++row)
            rows[keys ? plan::shardOfKey(*key_->type, keys->value(row), weights) : 0].push_back(
                static_cast<RowIndex>(row));
        for (size_t shard = 0; shard < rows.size(); ++shard)
            if (!rows[shard].empty()) sinks_[shard]->write(block.gather(rows[shard].span()));
    }

    void finish() override {
        for (auto& sink : sinks_) sink->finish();
    }

private:
    std::vector<BlockSinkPtr> sinks_;
    std::optional<storage::KeyElement> key_;
};

BlockSinkPtr LocalDistributed::write(const storage::WriteRequest& request) {
    std::vector<BlockSinkPtr> sinks;
    for (auto& shard : shards_)
        sinks.push_back(shard->catalog().get(target_.database, target_.table)->write(request));
    std::optional<storage::KeyElement> key;
    if (!target_.key.empty()) {
        plan::PlannerContext context;
        context.functions = std::make_shared<functions::FunctionContext>();
        std::vector<std::pair<std::string, TypePtr>> columns;
        for (const auto& column : schema()->columns) columns.emplace_back(column.name, column.type);
        key = plan::makeKeyElement(target_.key, columns, context, true);
    }
    return std::make_unique<LocalSink>(std::move(sinks), std::move(key));
}

/// remote('…', db, t), remote('…', db.t), remote('…', f(…)); cluster() alike.
storage::TablePtr makeFunctionTable(const storage::TableFunctionRequest& request, Nodes& shards) {
    Target target;
    const auto& arguments = request.arguments;
    if (arguments.size() < 2)
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Table function '{}' requires from 2 to 6 parameters", request.name);
    if (arguments[1].identifier.size() == 2) {
        target.database = arguments[1].identifier[0];
        target.table = arguments[1].identifier[1];
    } else if (arguments.size() > 2) {
        target.database = arguments[1].word("database");
        target.table = arguments[2].word("table");
        if (arguments.size() > 3 && !arguments[3].value) target.key = arguments[3].text;
    } else if (arguments[1].identifier.size() == 1) {
        target.database = request.current_database;
        target.table = arguments[1].identifier[0];
    } else {
        target.function = arguments[1].text;
    }
    storage::TableSchema schema;
    schema.engine = "Distributed";
    Connection connection;
    connection.database = request.current_database;
    const std::string what = target.function.empty() ? target.database + "." + target.table : target.function;
    const Answer described = shards[0]->run("DESCRIBE TABLE " + what, connection);
    for (const Block& block : described.blocks)
        for (size_t row = 0; row < block.rows; ++row) {
            const auto cells = cellsOf(block, row);
            schema.columns.push_back({cells[0], request.parse_structure("c " + cells[1])[0].type});
        }
    return std::make_shared<LocalDistributed>(std::move(schema), shards, std::move(target));
}

}  // namespace

LocalCluster::LocalCluster(size_t shards) {
    for (size_t i = 0; i < shards; ++i) shards_.push_back(std::make_unique<LocalNode>());
    storage::EngineInfo engine;
    engine.name = "Distributed";
    engine.takes_arguments = true;
    engine.takes_settings = true;
    engine.create = [this](const storage::TableDefinition& definition,
                           const storage::EngineContext&) -> storage::TablePtr {
        Target target;
        target.database = definition.arguments.at(1).word("database");
        target.table = definition.arguments.at(2).word("table");
        if (definition.arguments.size() > 3) target.key = definition.arguments[3].text;
        return std::make_shared<LocalDistributed>(definition.schema, shards_, std::move(target));
    };
    initiator_.catalog().addEngine(std::move(engine));
    for (const char* name : {"remote", "remoteSecure", "cluster", "clusterAllReplicas"}) {
        storage::TableFunctionInfo function;
        function.name = name;
        function.create = [this](const storage::TableFunctionRequest& request) {
            return makeFunctionTable(request, shards_);
        };
        initiator_.catalog().addTableFunction(std::move(function));
    }
}

}  // namespace shardd::test
