#include "server/plan/explain.h"

#include <algorithm>

#include "common/columns/create_column.h"
#include "server/plan/binder.h"
#include "server/sql/printer.h"

namespace shardd::plan {

namespace {

Block linesBlock(const std::vector<std::string>& lines) {
    MutableColumnPtr column = createColumn(*types::string());
    for (const std::string& line : lines) column->insert(Value(line));
    Block block;
    block.add({"explain", types::string(), ColumnPtr(std::move(column))});
    return block;
}

std::vector<std::string> splitLines(const std::string& text) {
    std::vector<std::string> lines;
    size_t begin = 0;
    while (true) {
        const size_t end = text.find('\n', begin);
        lines.push_back(text.substr(begin, end - begin));
        if (end == std::string::npos) return lines;
        begin = end + 1;
    }
}

const sql::Query& queryOf(const sql::Explain& statement, const char* what) {
    if (const auto* query = sql::as<sql::QueryStatement>(statement.statement.get())) return *query->query;
    if (const auto* insert = sql::as<sql::Insert>(statement.statement.get()); insert && insert->query)
        return *insert->query;
    throw Error(ErrorCode::INCORRECT_QUERY, "Only SELECT is supported for EXPLAIN {} query", what);
}

/// Planning without running: subqueries stand for one row of defaults.
PlannerContext withoutRunning(const PlannerContext& context) {
    PlannerContext dry = context;
    dry.run = nullptr;
    dry.activity = nullptr;
    return dry;
}

void collectScans(const StepPtr& step, std::vector<const ScanStep*>& scans);

struct Inputs {
    std::vector<const ScanStep*>& scans;

    template <typename Node>
    void operator()(const Node& node) const {
        if constexpr (requires { node.input; })
            collectScans(node.input, scans);
        else if constexpr (requires { node.inputs; })
            for (const StepPtr& input : node.inputs) collectScans(input, scans);
        else if constexpr (requires { node.left; }) {
            collectScans(node.left, scans);
            collectScans(node.right, scans);
        }
    }
};

void collectScans(const StepPtr& step, std::vector<const ScanStep*>& scans) {
    if (const auto* scan = std::get_if<ScanStep>(&step->node)) scans.push_back(scan);
    std::visit(Inputs{scans}, step->node);
}

Block estimate(const StepPtr& root) {
    Block block = makeHeader({{"database", types::string()},
                              {"table", types::string()},
                              {"parts", types::uint64()},
                              {"rows", types::uint64()},
                              {"marks", types::uint64()}});
    std::vector<MutableColumnPtr> columns;
    for (const NamedColumn& column : block.columns) columns.push_back(column.column->cloneEmpty());
    std::vector<const ScanStep*> scans;
    collectScans(root, scans);
    for (const ScanStep* scan : scans) {
        const auto rows = scan->table->totalRows();
        if (!rows) continue;
        const auto schema = scan->table->schema();
        columns[0]->insert(Value(schema->database));
        columns[1]->insert(Value(schema->name));
        columns[2]->insert(Value(uint64_t{*rows > 0}));
        columns[3]->insert(Value(uint64_t{*rows}));
        columns[4]->insert(Value(uint64_t{(*rows + 8191) / 8192}));
        ++block.rows;
    }
    for (size_t i = 0; i < columns.size(); ++i) block.columns[i].column = std::move(columns[i]);
    return block;
}

/// What one shard is sent.
void addShardLines(const DistributedRead& read, size_t shard, std::vector<std::string>& lines) {
    const auto& asked = read.query.shards;
    const std::string address = shard < read.addresses.size() && !read.addresses[shard].empty() ? " (" + read.addresses[shard] + ")" : "";
    const std::string title = fmt::format("  Shard {}{}", shard + 1, address);
    if (std::find(asked.begin(), asked.end(), shard) == asked.end()) {
        lines.push_back(title + ": not asked, " + read.skipped);
        return;
    }
    lines.push_back(title + ":");
    lines.push_back("    Stage: " + stageText(read.query.stage));
    lines.push_back("    Query: " + read.query.textFor(shard));
    for (const auto& [name, value] : read.query.settings) lines.push_back("    Setting: " + name + " = " + value);
    for (const auto& [name, value] : read.query.own_settings)
        lines.push_back("    Setting, if it is shardd: " + name + " = " + value);
    if (!read.query.group_buckets.empty())
        lines.push_back(fmt::format("    Setting, if it is shardd: distributed_group_buckets = {}", read.query.group_buckets));
    if (read.query.block_revision)
        lines.push_back(fmt::format("    Setting, if it is shardd: distributed_block_revision = {}", read.query.block_revision));
}

void addReadLines(const DistributedRead& read, std::vector<std::string>& lines) {
    lines.push_back("Cluster: " + read.cluster);
    lines.push_back(fmt::format("  Asked: {} of {} shards", read.query.shards.size(), read.shard_count));
    lines.push_back("  Stage: " + stageText(read.query.stage));
    lines.push_back("  Reason: " + read.reason);
    if (!read.proof.empty()) lines.push_back("  Proof: " + read.proof);
    if (!read.query.needs_own_for.empty()) lines.push_back("  Needs: shardd on every shard, for " + read.query.needs_own_for);
    lines.push_back("  Columns:");
    for (const NamedColumn& column : read.query.header.columns) lines.push_back("    " + column.name + " " + column.type->name());
    for (const auto& [name, blocks] : read.query.external_tables) lines.push_back("  External table: " + name);
    for (size_t shard = 0; shard < read.shard_count; ++shard) addShardLines(read, shard, lines);
}

}  // namespace

Block explain(const sql::Explain& statement, const PlannerContext& context) {
    using What = sql::Explain::What;
    switch (statement.what) {
        case What::Ast:
            return linesBlock(syntaxTreeLines(*statement.statement));
        case What::Syntax:
            return linesBlock(splitLines(sql::toText(*statement.statement, {.multi_line = true})));
        case What::QueryTree:
            return linesBlock(
                queryTreeLines(*bindQuery(queryOf(statement, "QUERY TREE"), withoutRunning(context))));
        case What::CurrentTransaction:
            throw Error(ErrorCode::NOT_IMPLEMENTED, "Transactions are not supported");
        default:
            break;
    }
    const PlannerContext dry = withoutRunning(context);
    const sql::Query& query = queryOf(statement, statement.what == What::Estimate ? "ESTIMATE" : "PLAN");
    const QueryPlan plan = planTopLevel(bindQuery(query, dry), dry);
    if (statement.what == What::Estimate) return estimate(plan.root);
    if (statement.what == What::Distributed) return linesBlock(distributedLines(plan));
    return linesBlock(stepLines(plan.root));
}

std::string stageText(storage::Stage stage) {
    static constexpr const char* kNames[] = {"FetchColumns", "WithMergeableState", "Complete",
                                             "WithMergeableStateAfterAggregation",
                                             "WithMergeableStateAfterAggregationAndLimit"};
    return fmt::format("{} ({})", static_cast<int>(stage), kNames[static_cast<size_t>(stage)]);
}

std::vector<std::string> distributedLines(const QueryPlan& plan) {
    std::vector<std::string> lines;
    for (const DistributedRead& read : plan.distributed) addReadLines(read, lines);
    if (lines.empty()) lines.emplace_back("No sharded table is read");
    return lines;
}

}  // namespace shardd::plan
