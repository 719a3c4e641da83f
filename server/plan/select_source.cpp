#include <algorithm>
#include <unordered_set>

#include "common/base/city_hash.h"
#include "common/columns/create_column.h"
#include "server/plan/group_proof.h"
#include "server/plan/query_tree_walk.h"
#include "server/plan/ranges.h"
#include "server/plan/remote_settings.h"
#include "server/plan/select_planner.h"
#include "server/plan/sent_tables.h"
#include "server/plan/shard_text.h"
#include "server/storage/group_buckets.h"
#include "server/storage/merge_tree.h"

namespace shardd::plan {

using storage::Stage;

namespace {

/// Names of own_settings_list.inc: other servers would wonder, so they go to our own kind alone.
bool isOwnSetting(std::string_view name) {
    static constexpr std::string_view kNames[] = {
#define SETTING(type, name, default_text, tier) #name,
#include "config/own_settings_list.inc"
#undef SETTING
    };
    return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

/// Blocks that are there already.
class BlocksSource final : public BlockSource {
public:
    BlocksSource(Block header, std::vector<Block> blocks) : header_(std::move(header)), blocks_(std::move(blocks)) {}

    const Block& header() const override { return header_; }

    std::optional<Block> next() override {
        while (at_ < blocks_.size()) {
            Block block = std::move(blocks_[at_++]);
            if (block.rows > 0) return block;
        }
        return std::nullopt;
    }

private:
    Block header_;
    std::vector<Block> blocks_;
    size_t at_ = 0;
};

StepPtr blocksStep(Block header, std::vector<Block> blocks, std::string description) {
    SourceStep source;
    source.description = std::move(description);
    source.open = [header, blocks] { return std::make_unique<BlocksSource>(header, blocks); };
    return makeStep(std::move(source), header);
}

/// Names of the source's columns that the query uses anywhere, in the source's order.
std::vector<std::string> usedColumns(const QueryNode& query, const TableSource& source, const NodePtr& except) {
    std::unordered_set<std::string> used;
    forEachRoot(query, [&](const NodePtr& root) {
        if (root == except) return;
        walk(root, [&](const NodePtr& node) {
            if (node->kind == Node::Kind::Column && node->source->id == source.id) used.insert(node->column);
            return true;
        });
    });
    std::vector<std::string> result;
    for (const auto& [name, type] : source.columns)
        if (used.contains(name)) result.push_back(name);
    // Rows of a join must be there even when none of their values is looked at.
    if (result.empty() && !query.joins.empty() && !source.columns.empty()) result.push_back(source.columns[0].first);
    return result;
}

std::vector<std::string> columnsOf(const NodePtr& root) {
    std::vector<std::string> result;
    walk(root, [&](const NodePtr& node) {
        if (node->kind == Node::Kind::Column && std::find(result.begin(), result.end(), node->column) == result.end()) result.push_back(node->column);
        return true;
    });
    return result;
}

/// Calls length(column) of String columns of which the query wants nothing else outside `except`.
std::vector<NodePtr> lengthsInstead(const QueryNode& query, const TableSource& source, const NodePtr& except) {
    std::vector<NodePtr> lengths;
    std::unordered_set<std::string> whole;
    forEachRoot(query, [&](const NodePtr& root) {
        if (root == except) return;
        walk(root, [&](const NodePtr& node) {
            const auto ours = [&](const Node& column) { return column.kind == Node::Kind::Column && column.source->id == source.id; };
            if (ours(*node)) whole.insert(node->column);
            const bool length = node->kind == Node::Kind::Function && node->function_name == "length" && ours(*node->arguments[0]) &&
                                node->arguments[0]->type->kind() == TypeKind::String;
            if (length) addDistinct(lengths, node);
            return !length;
        });
    });
    std::erase_if(lengths, [&](const NodePtr& length) {
        const std::string& column = length->arguments[0]->column;
        return whole.contains(column) || source.storage->schema()->find(column + ".size");
    });
    return lengths;
}

/// The condition may run inside a scan: it only looks at columns of the row.
bool scanCanEvaluate(const NodePtr& condition) {
    bool can = true;
    walk(condition, [&](const NodePtr& node) {
        if (node->kind == Node::Kind::ArrayJoinColumn || node->kind == Node::Kind::Aggregate || node->kind == Node::Kind::Window) can = false;
        if (node->kind == Node::Kind::Function && !node->function->traits().deterministic_in_query) can = false;
        return can;
    });
    return can;
}

/// The tree with only the needed columns in its SELECT list, where leaving one out changes nothing else.
QueryTreePtr pruneProjection(const QueryTreePtr& tree, const std::vector<std::string>& needed) {
    if (tree->operation != SetOperation::Select || tree->select->distinct || tree->select->totals) return tree;
    auto query = std::make_shared<QueryNode>(*tree->select);
    auto pruned = std::make_shared<QueryTree>();
    query->projection.clear();
    for (const Projection& projection : tree->select->projection)
        if (projection.node->has_array_join || std::find(needed.begin(), needed.end(), projection.alias) != needed.end()) query->projection.push_back(projection);
    const auto keepOne = [&] {
        if (query->projection.empty()) query->projection.push_back(tree->select->projection[0]);
    };
    keepOne();
    collectAggregates(*query);
    if (tree->select->aggregated() && !query->aggregated()) {
        for (const Projection& projection : tree->select->projection)
            if (projection.node->has_aggregate) {
                query->projection.push_back(projection);
                break;
            }
        collectAggregates(*query);
        if (!query->aggregated()) return tree;
    }
    for (const Projection& projection : query->projection) pruned->columns.emplace_back(projection.alias, projection.node->type);
    pruned->select = std::move(query);
    return pruned;
}

}  // namespace

void SelectPlanner::planSource() {
    planSide(*query_.sources[0]);
    // Shards have joined already.
    if (query_.isDistributed()) return;
    for (size_t i = 0; i < query_.joins.size(); ++i) planJoin(query_.joins[i], *query_.sources[i + 1]);
}

void SelectPlanner::planSide(const TableSource& source) {
    switch (source.kind) {
        case TableSource::Kind::None: {
            Block one;
            one.rows = 1;
            setStep(blocksStep(Block(), {std::move(one)}, "one row"));
            break;
        }
        case TableSource::Kind::Subquery:
            planSubquery(source);
            break;
        case TableSource::Kind::Table:
        case TableSource::Kind::TableFunction:
            if (source.storage->distributed() && &source == query_.sources[0].get())
                planRemote(source);
            else if (source.storage->distributed())
                planShardedSide(source, usedColumns(query_, source, nullptr));
            else
                planScan(source);
            break;
    }
}

void SelectPlanner::planScan(const TableSource& source) {
    ScanStep scan;
    scan.table = source.final ? storage::finalTable(source.storage) : source.storage;
    const bool can_prewhere = source.storage->supportsPrewhere();
    if (query_.prewhere && !can_prewhere)
        throw Error(ErrorCode::ILLEGAL_PREWHERE, "Storage {} does not support PREWHERE", source.storage->schema()->engine);
    const bool first = &source == query_.sources[0].get();
    NodePtr taken = first ? query_.prewhere : nullptr;
    if (taken) {
        prewhere_taken_ = true;
    } else if (can_prewhere && !source.final && query_.where && query_.joins.empty() && query_.array_join.empty() && scanCanEvaluate(query_.where) &&
               columnsOf(query_.where).size() < usedColumns(query_, source, nullptr).size()) {
        // Reading the condition's columns first pays when others can be left out for the rows that fail.
        taken = query_.where;
        where_taken_ = true;
    }
    scan.columns = usedColumns(query_, source, taken);
    std::vector<NodePtr> lengths;
    if (dynamic_cast<const storage::MergeTree*>(scan.table.get()) && query_.joins.empty()) lengths = lengthsInstead(query_, source, taken);
    // Under ARRAY JOIN a name in WHERE may be the element, which has no range of its own: ranges only know columns.
    // A row that WHERE refuses may still keep another one from being without partner: no ranges beside an outer join.
    if (query_.joins.empty()) {
        scan.ranges = rangesOf(query_.prewhere, source, context_);
        std::ranges::move(rangesOf(query_.where, source, context_), std::back_inserter(scan.ranges));
    }
    if (taken) {
        scan.prewhere = Compiler(Block(), context_, true).compile(taken);
        scan.prewhere_columns = columnsOf(taken);
    }
    const bool rows_pass = query_.joins.empty() && !query_.where && !query_.prewhere && query_.array_join.empty() && !query_.aggregated() && !query_.distinct &&
                           query_.order_by.empty() && !query_.limit_by_limit && query_.windows.empty() && !query_.having && !query_.qualify;
    if (rows_pass && !source.final) scan.limit_rows = query_.limit ? keptRows() : limit_rows_;

    Block raw;
    Block header;
    ProjectStep rename;
    for (const auto& [name, type] : source.columns) {
        if (std::find(scan.columns.begin(), scan.columns.end(), name) == scan.columns.end()) continue;
        // As it is stored: a join may have made the source's column Nullable for those above it.
        const storage::ColumnDefinition* stored = source.storage->schema()->find(name);
        const TypePtr& stored_type = stored ? stored->type : type;
        raw.columns.push_back({name, stored_type, ColumnPtr(createColumn(*stored_type))});
        header.columns.push_back({source.id + "." + name, stored_type, raw.columns.back().column});
        rename.columns.push_back({source.id + "." + name, inputExpression(name, stored_type)});
    }
    for (const NodePtr& length : lengths) {
        // The texts themselves stay in the storage.
        const std::string& text = length->arguments[0]->column;
        const std::string name = text + ".size";
        std::replace(scan.columns.begin(), scan.columns.end(), text, name);
        for (NamedColumn& column : raw.columns)
            if (column.name == text) column = {name, length->type, ColumnPtr(createColumn(*length->type))};
        for (NamedColumn& column : header.columns)
            if (column.name == source.id + "." + text) column = {length->name, length->type, ColumnPtr(createColumn(*length->type))};
        for (NamedExpression& column : rename.columns)
            if (column.name == source.id + "." + text) column = {length->name, inputExpression(name, length->type)};
    }
    rename.input = makeStep(std::move(scan), std::move(raw));
    setStep(makeStep(std::move(rename), std::move(header)));
}

void SelectPlanner::planSubquery(const TableSource& source) {
    const std::vector<std::string> needed = usedColumns(query_, source, nullptr);
    PlannerContext inner = context_;
    inner.stage = Stage::Complete;
    inner.outermost = false;
    QueryTreePtr tree = source.subquery;
    // Column aliases of the table expression rename by place, so then all columns stay.
    bool same_names = true;
    for (size_t i = 0; i < tree->columns.size(); ++i) same_names = same_names && tree->columns[i].first == source.columns[i].first;
    if (same_names) tree = pruneProjection(tree, needed);
    const StepPtr step = planTree(tree, inner, plan_, 0);
    ProjectStep rename;
    Block header;
    for (const std::string& name : needed) {
        size_t place = 0;
        if (same_names) {
            place = *step->header.find(name);
        } else {
            while (source.columns[place].first != name) ++place;
        }
        const NamedColumn& column = step->header.columns[place];
        header.columns.push_back({source.id + "." + name, column.type, ColumnPtr(createColumn(*column.type))});
        rename.columns.push_back({source.id + "." + name, inputExpression(column.name, column.type)});
    }
    rename.input = step;
    setStep(makeStep(std::move(rename), std::move(header)));
}

Block SelectPlanner::remoteHeader(Stage stage) const {
    Block header;
    const auto add = [&](const std::string& name, const TypePtr& type) {
        if (!header.find(name)) header.columns.push_back({name, type, ColumnPtr(createColumn(*type))});
    };
    if (stage == Stage::Complete) {
        for (const Projection& projection : query_.projection)
            header.columns.push_back({projection.alias, projection.node->type, ColumnPtr(createColumn(*projection.node->type))});
        return header;
    }
    if (stage == Stage::WithMergeableState && query_.aggregated()) {
        if (!query_.grouping_sets.empty()) add("__grouping_set", types::uint64());
        const bool nullable_keys = query_.settings->group_by_use_nulls && !query_.grouping_sets.empty();
        for (const NodePtr& key : query_.group_by) add(key->name, nullable_keys ? makeNullable(key->type) : key->type);
        for (const NodePtr& node : query_.aggregates) add(node->name, node->aggregate->stateType());
        return header;
    }
    if (stage == Stage::WithMergeableState && !query_.windows.empty()) {
        forEachRoot(query_, [&](const NodePtr& root) {
            if (root == query_.where || root == query_.prewhere) return;
            walk(root, [&](const NodePtr& node) {
                const bool leaf = node->kind == Node::Kind::Column || node->kind == Node::Kind::ArrayJoinColumn;
                if (leaf) add(node->name, node->type);
                return !leaf;
            });
        });
        return header;
    }
    for (const NodePtr& node : outputNodes())
        if (!isRowless(node)) add(node->name, node->type);
    return header;
}

/// The texts for shards; that for an old server is written when there is one, perhaps after the planning.
void SelectPlanner::writeTexts(storage::RemoteQuery& query,
                               std::shared_ptr<const QueryNode> asked,
                               std::map<std::string, std::string> sent_sets,
                               ShardLists lists) {
    ShardTextParts parts{.sent_sets = std::move(sent_sets), .lists = {}};
    query.text = shardText(*asked, parts);
    for (const auto& [shard, own] : lists) {
        parts.lists = own;
        query.own_texts[shard] = shardText(*asked, parts);
    }
    parts.lists.clear();
    query.legacy = [asked = std::move(asked), stage = query.stage, wanted = query.header, parts, lists = std::move(lists)](size_t shard) {
        ShardTextParts own = parts;
        if (const auto found = lists.find(shard); found != lists.end()) own.lists = found->second;
        return legacyShardText(*asked, stage, wanted, own);
    };
}

void SelectPlanner::sendSets(storage::RemoteQuery& query, std::map<std::string, std::string>& names) {
    forEachRoot(query_, [&](const NodePtr& root) {
        walk(root, [&](const NodePtr& node) {
            if (node->kind != Node::Kind::Function || node->arguments.size() != 2) return true;
            const NodePtr& set = node->arguments[1];
            if (set->kind != Node::Kind::Set || !set->subquery || names.contains(set->name)) return true;
            if (!node->function_name.starts_with("global") && !isSent(query_.settings, readsSharded(*set->subquery))) return true;
            Block rows = makeHeader(set->subquery->columns);
            if (context_.run) {
                PlannerContext inner = context_;
                inner.stage = Stage::Complete;
                Block answer = context_.run(planQuery(set->subquery, inner).root);
                if (answer.rows > 0) rows = std::move(answer);
                limitTransfer(query_.settings, rows);
            }
            const std::string table = fmt::format("_data_{}_{}", cityHash64(set->name + context_.initial_query_id), query.external_tables.size() + 1);
            names[set->name] = table;
            query.external_tables.emplace_back(table, std::vector<Block>{std::move(rows)});
            return true;
        });
    });
}

std::vector<std::pair<std::string, std::string>> SelectPlanner::remoteSettings(const storage::DistributedSource& distributed) const {
    std::vector<std::pair<std::string, std::string>> result;
    for (auto& setting : plan::remoteSettings(query_.settings, {.outermost = context_.outermost, .same_user = distributed.knowsUser()}))
        if (!isOwnSetting(setting.first)) result.push_back(std::move(setting));
    return result;
}

std::vector<std::pair<std::string, std::string>> SelectPlanner::ownSettings() const {
    std::vector<std::pair<std::string, std::string>> result;
    for (const char* name : {"verify_disjoint_groups", "distributed_totals"})
        if (query_.settings.isChanged(name)) result.emplace_back(name, query_.settings.get(name));
    return result;
}

/// For the trailer and system.distributed_queries, and for EXPLAIN DISTRIBUTED.
void SelectPlanner::noteRead(const storage::DistributedSource& distributed, const StageChoice& choice, RemoteScanStep& remote) {
    const std::string proof = remote.comparison ? proofText(*remote.comparison) : std::string();
    if (context_.activity) {
        storage::ReadActivity read;
        read.cluster = distributed.clusterName();
        read.table = distributed.remoteTableFunction().empty() ? distributed.remoteDatabase() + "." + distributed.remoteTable()
                                                               : distributed.remoteTableFunction();
        read.mode = query_.settings->distributed_group_by_no_merge;
        read.stage = static_cast<uint8_t>(choice.stage);
        read.reason = choice.reason;
        read.proof = proof;
        read.report = std::make_shared<storage::RemoteReport>(distributed.shardCount(), choice.skipped);
        for (const size_t shard : choice.shards) read.report->asked(shard);
        remote.query.report = read.report;
        context_.activity->add(std::move(read));
    }
    if (context_.run) return;  // nobody wants to be told of the plan
    DistributedRead read{distributed.clusterName(), distributed.shardCount(), {}, remote.query, choice.reason, choice.skipped, proof};
    for (size_t shard = 0; shard < read.shard_count; ++shard) read.addresses.push_back(distributed.shardAddress(shard));
    plan_.distributed.push_back(std::move(read));
}

void SelectPlanner::planRemote(const TableSource& source) {
    const storage::DistributedSource& distributed = *source.storage->distributed();
    storage::checkDistributedDepth(context_.distributed_depth, query_.settings->max_distributed_depth);
    StageChoice choice = chooseStage(query_, distributed, to_, context_);
    const bool whole_answer = query_.settings->distributed_group_by_no_merge != 0;
    if (choice.shards.empty()) {
        RemoteScanStep nobody;
        nobody.query.stage = choice.stage;
        noteRead(distributed, choice, nobody);
        // Nobody to ask: in mode 0 the query runs here over no rows, otherwise there is no answer at all.
        Block header;
        if (whole_answer) {
            header = remoteHeader(choice.stage);
            from_ = choice.stage;
        } else {
            for (const TableSourcePtr& each : query_.sources)
                for (const std::string& name : usedColumns(query_, *each, nullptr))
                    for (const auto& [column, type] : each->columns)
                        if (column == name) header.columns.push_back({each->id + "." + name, type, ColumnPtr(createColumn(*type))});
        }
        setStep(blocksStep(std::move(header), {}, "no shard"));
        return;
    }
    RemoteScanStep remote;
    remote.table = source.storage;
    remote.query.stage = choice.stage;
    remote.query.shards = choice.shards;
    std::map<std::string, std::string> sent_sets;
    sendSets(remote.query, sent_sets);
    sendJoinedTables(remote.query, sent_sets);
    remote.query.settings = remoteSettings(distributed);
    remote.query.own_settings = ownSettings();
    remote.comparison = planComparison(distributed, choice);
    std::shared_ptr<const QueryNode> asked = owned_;
    if (remote.comparison) {
        asked = withHiddenKeys(choice, *remote.comparison, remote.query.header);
        remote.hidden_columns = asked->projection.size() - query_.projection.size();
        remote.query.group_check = remote.comparison->slots ? storage::GroupCheck::Shards : storage::GroupCheck::Initiator;
        if (const auto& slots = remote.comparison->slots) {
            remote.query.own_settings.emplace_back("distributed_group_key", slots->key.text);
            remote.query.own_settings.emplace_back("distributed_shard_weights", weightsText(slots->weights));
        }
    } else {
        remote.query.header = remoteHeader(choice.stage);
    }
    writeTexts(remote.query, std::move(asked), std::move(sent_sets), std::move(choice.lists));
    // Finished rows are passed on as they come when they have the form that the client reads.
    const bool old_clients_read_it_otherwise = std::any_of(query_.projection.begin(), query_.projection.end(), [](const Projection& each) {
        return each.node->type->name().find("LowCardinality") != std::string::npos;
    });
    const Settings& settings = query_.settings;
    const bool is_changed = settings->extremes || settings->limit > 0 || settings->offset > 0 || remote.hidden_columns > 0;
    if (choice.stage == Stage::Complete && to_ == Stage::Complete && context_.outermost && context_.client_revision > 0 && !is_changed &&
        !old_clients_read_it_otherwise) {
        // A shard that is asked by a shard hands through what the first initiator's client reads.
        const uint64_t wanted = context_.secondary ? uint64_t{settings->distributed_block_revision} : 0;
        remote.query.block_revision = wanted ? wanted : context_.client_revision;
    }
    const bool exact = query_.settings->distributed_totals == setting_types::DistributedTotals::Exact;
    if (exact && query_.limit && !query_.settings.isChanged("exact_rows_before_limit"))
        remote.query.settings.emplace_back("exact_rows_before_limit", "1");
    remote.exact_totals = planExactTotals(choice);
    if (remote.exact_totals) {
        remote.query.own_settings.emplace_back("distributed_totals_as_states", "1");
        remote.query.needs_own_for = "distributed_totals = 'exact'";
        Block states;
        for (const AggregateCall& call : remote.exact_totals->calls)
            states.columns.push_back({call.arguments[0], call.function->stateType(), ColumnPtr(createColumn(*call.function->stateType()))});
        remote.query.totals_header = std::move(states);
    }
    if (wantsBuckets(choice.stage) && settings->distributed_aggregation_memory_efficient) {
        remote.by_buckets = true;
        remote.query.group_buckets = storage::kGroupBucketHash;
    }
    remote.query.stop = context_.stop;
    remote.query.initial_user = context_.initial_user;
    remote.query.initial_query_id = context_.initial_query_id;
    remote.query.initial_address = context_.initial_address;
    remote.query.initial_start_microseconds = context_.initial_start_microseconds;
    remote.query.distributed_depth = context_.distributed_depth;
    remote.take_totals = query_.totals && choice.stage != Stage::WithMergeableState;
    remote.to_the_end = remote.take_totals || exact || query_.settings->exact_rows_before_limit;
    noteRead(distributed, choice, remote);
    from_ = choice.stage;
    Block header = remote.query.header;
    header.columns.resize(header.columns.size() - remote.hidden_columns);
    setStep(makeStep(std::move(remote), std::move(header)));
}

}  // namespace shardd::plan
