#include "server/daemon/parallel_insert.h"

#include "common/base/error.h"
#include "server/cluster/distributed_table.h"
#include "server/cluster/shard_query.h"
#include "server/daemon/statements.h"
#include "server/plan/shard_text.h"
#include "server/sql/lexer.h"

namespace shardd::daemon {

namespace {

const cluster::DistributedTable* asDistributed(const storage::TablePtr& table) {
    return dynamic_cast<const cluster::DistributedTable*>(table.get());
}

/// The one table that a plain SELECT reads; nullptr for joins, unions and anything else.
const sql::Select* plainSelect(const sql::Insert& statement) {
    const sql::Query* query = statement.query.get();
    while (query && !query->select && query->operands.size() == 1) query = query->operands[0].get();
    if (!query || !query->select) return nullptr;
    const sql::Select& select = *query->select;
    for (const sql::WithElement& element : select.with)
        if (element.query) return nullptr;  // its name may be the one in FROM
    if (select.from.empty() || select.from[0].table.table.table.empty()) return nullptr;
    for (size_t i = 1; i < select.from.size(); ++i)
        if (!select.from[i].is_array_join) return nullptr;
    return &select;
}

/// Subqueries mean the tables of this server, and _shard_num is known here only.
bool needsThisServer(const std::string& text) {
    size_t selects = 0;
    sql::Lexer lexer(text);
    for (sql::Token token = lexer.next(); token.kind != sql::TokenKind::EndOfQuery; token = lexer.next()) {
        if (token.kind == sql::TokenKind::Error) return true;
        const std::string_view word = std::string_view(text).substr(token.begin, token.end - token.begin);
        if (token.kind == sql::TokenKind::Word && word == "SELECT" && ++selects > 1) return true;
        if (token.kind == sql::TokenKind::QuotedIdentifier && word == "`_shard_num`") return true;
    }
    return false;
}

/// INSERT INTO target (columns) SELECT … FROM source, as the shards shall run it.
std::string shardStatement(const sql::Select& original,
                           const std::string& target,
                           const std::vector<std::string>& columns,
                           const cluster::DistributedTable& source) {
    sql::Select select = original;
    sql::TableExpression& from = select.from[0].table;
    if (from.alias.empty()) from.alias = from.table.table;  // columns may be called by it
    from.table = {.database = source.remoteDatabase(), .table = source.remoteTable()};
    std::string list;
    for (const std::string& column : columns)
        list += (list.empty() ? "" : ", ") + sql::quoteIdentifier(column);
    return "INSERT INTO " + target + " (" + list + ") " + sql::toText(select, plan::kForShards);
}

std::string quotedName(const std::string& database, const std::string& table) {
    return (database.empty() ? "" : sql::quoteIdentifier(database) + ".") + sql::quoteIdentifier(table);
}

}  // namespace

bool insertOnShards(const sql::Insert& statement,
                    const storage::TablePtr& target_table,
                    const std::vector<std::string>& columns,
                    const storage::WriteRequest& request,
                    const StatementContext& query) {
    const Settings settings = cluster::settingsOf(request.changed_settings);
    const uint64_t mode = settings->parallel_distributed_insert_select;
    const cluster::DistributedTable* target = asDistributed(target_table);
    if (mode == 0 || !target || !target->remoteTableFunction().empty()) return false;
    const sql::Select* select = plainSelect(statement);
    if (!select) return false;
    const storage::TablePtr source_table = findTable(select->from[0].table.table, query);
    const cluster::DistributedTable* source = asDistributed(source_table);
    if (!source || !source->remoteTableFunction().empty()) return false;
    if (!target->hasShardsOf(*source) || (mode == 2 && !target->shardsPassRowsOn())) return false;
    storage::checkDistributedDepth(request.origin.distributed_depth, settings->max_distributed_depth);
    const auto schema = target->schema();
    if (mode != 2 && statement.function) return false;  // no shard knows it by a name
    const std::string into = mode == 2 ? quotedName(target->remoteDatabase(), target->remoteTable())
                                       : quotedName(schema->database, schema->name);
    const std::string text = shardStatement(*select, into, columns, *source);
    if (needsThisServer(text)) return false;
    target->insertOnShards(text, request);
    return true;
}

}  // namespace shardd::daemon
