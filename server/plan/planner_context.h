#pragma once

#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "config/settings.h"
#include "server/plan/plan.h"

namespace shardd::storage {
class Catalog;
}

namespace shardd::plan {

/// What planning one query may ask of its surroundings. Filled by the session; lives as long as the planning.
struct PlannerContext {
    const storage::Catalog* catalog = nullptr;
    Settings settings;
    std::shared_ptr<const functions::FunctionContext> functions;
    std::string current_database = "default";

    /// Tables sent with the query or made by CREATE TEMPORARY TABLE: no database.
    std::map<std::string, storage::TablePtr> temporary_tables;
    /// Values of {name:Type}, as text.
    std::map<std::string, std::string> parameters;

    /// Asked by an initiator: integers in GROUP BY and ORDER BY are constants, and `stage` says how far to go.
    bool secondary = false;
    /// The query itself, not a part of it: what an initiator says to a shard is meant for this one.
    bool outermost = true;
    storage::Stage stage = storage::Stage::Complete;

    // For queries to shards.
    std::string initial_user;
    std::string initial_query_id;
    std::string initial_address;
    int64_t initial_start_microseconds = 0;
    uint64_t distributed_depth = 0;
    /// The revision of the protocol that the client of the query reads; 0 when there is none.
    uint64_t client_revision = 0;
    std::stop_token stop;
    /// Where reads of sharded tables, and what is found out about groups, are noted; missing where nothing runs.
    storage::DistributedActivityPtr activity;

    /// Runs steps to the end and gives all rows: scalar subqueries, IN (SELECT …), GLOBAL IN. Missing where a
    /// subquery must not run (EXPLAIN, DESCRIBE); the planner then takes one row of defaults.
    std::function<Block(const StepPtr&)> run;
};

}  // namespace shardd::plan
