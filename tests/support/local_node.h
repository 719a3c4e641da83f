#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/exec/thread_pool.h"
#include "server/plan/planner_context.h"
#include "server/sql/ast.h"
#include "server/storage/catalog.h"

namespace shardd::test {

/// What a statement answered. Without columns: nothing but its end.
struct Answer {
    Block header;
    std::vector<Block> blocks;
    std::optional<Block> totals, extremes;
};

/// What belongs to one connection.
struct Connection {
    Settings settings;
    std::string database = "default";
    std::map<std::string, storage::TablePtr> temporary_tables;
};

/// A node without sockets: parser, planner, operators and storage in memory, put together as the daemon does.
/// Threads: one caller at a time for a connection.
class LocalNode {
public:
    LocalNode();
    ~LocalNode();

    storage::Catalog& catalog() { return catalog_; }

    /// Errors: all of them are thrown.
    Answer run(const std::string& text, Connection& connection);

    /// As a shard: a secondary query up to a stage.
    struct ShardRequest {
        std::string text;
        storage::Stage stage = storage::Stage::Complete;
        std::vector<std::pair<std::string, std::string>> settings;
        std::vector<std::pair<std::string, std::vector<Block>>> external_tables;
        uint32_t shard_num = 0;
        uint32_t shard_count = 0;
        std::string database = "default";
    };

    Answer runAsShard(const ShardRequest& request);

private:
    plan::PlannerContext plannerContext(Connection& connection);
    Answer query(const sql::Query& query, const plan::PlannerContext& context);
    Answer insert(const std::string& text, const sql::Insert& insert, const plan::PlannerContext& context);
    Block runToBlock(const plan::StepPtr& root, const Settings& settings);

    const std::string path_;  // a folder of its own, gone with the node
    storage::Catalog catalog_;
    exec::ThreadPool pool_;
};

/// The default and the zone that tests run under.
std::vector<std::string> cellsOf(const Block& block, size_t row);

}  // namespace shardd::test
