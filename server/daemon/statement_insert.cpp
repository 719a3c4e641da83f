#include <algorithm>

#include "common/base/error.h"
#include "common/types/type_parser.h"
#include "server/daemon/insert_bytes.h"
#include "server/daemon/parallel_insert.h"
#include "server/daemon/query_planning.h"
#include "server/daemon/result_channel.h"
#include "server/daemon/row_completer.h"
#include "server/daemon/statements.h"
#include "server/exec/pipeline.h"
#include "server/exec/table_definition.h"
#include "server/plan/binder.h"
#include "server/plan/planner.h"
#include "server/sql/parser.h"
#include "server/sql/printer.h"

namespace shardd::daemon {

namespace {

// Rows of INSERT … SELECT on their way into the table, gathered to blocks worth writing.
class InsertSink final : public exec::ResultSink {
public:
    InsertSink(BlockSink& table,
               const RowCompleter& completer,
               session::ProgressCounters& progress,
               Settings settings,
               ColumnMatch match)
        : table_(table),
          completer_(completer),
          progress_(progress),
          settings_(std::move(settings)),
          match_(match) {}

    void header(const Block&) override {}

    bool data(Block block) override {
        waiting_rows_ += block.rows;
        waiting_bytes_ += block.dataBytes();
        waiting_.push_back(std::move(block));
        const uint64_t rows = settings_->min_insert_block_size_rows;
        const uint64_t bytes = settings_->min_insert_block_size_bytes;
        if ((rows && waiting_rows_ >= rows) || (bytes && waiting_bytes_ >= bytes)) flush();
        return true;
    }

    void totals(Block) override {}

    void extremes(Block) override {}

    void flush() {
        if (waiting_.empty()) return;
        Block block = completer_.complete(concatenate(std::exchange(waiting_, {})), match_);
        waiting_rows_ = waiting_bytes_ = 0;
        progress_.written_rows += block.rows;
        progress_.written_bytes += block.dataBytes();
        table_.write(std::move(block));
    }

private:
    BlockSink& table_;
    const RowCompleter& completer_;
    session::ProgressCounters& progress_;
    Settings settings_;
    ColumnMatch match_;
    std::vector<Block> waiting_;
    uint64_t waiting_rows_ = 0;
    uint64_t waiting_bytes_ = 0;
};

storage::TablePtr targetTable(const sql::Insert& statement,
                              const StatementContext& query,
                              const plan::PlannerContext& context);

std::vector<std::string> columnsOf(const sql::Insert& statement, const storage::TableSchema& schema) {
    if (!statement.has_columns) return insertableColumns(schema);
    std::vector<std::string> names;
    for (const auto& expression : statement.columns) {
        if (const auto* identifier = sql::as<sql::Identifier>(expression)) {
            names.push_back(identifier->parts.back());
        } else if (const auto* asterisk = sql::as<sql::Asterisk>(expression)) {
            for (const auto& name : insertableColumns(schema)) {
                const auto excepts = [&](const auto& transformer) {
                    return std::find(transformer.names.begin(), transformer.names.end(), name) !=
                           transformer.names.end();
                };
                if (std::none_of(asterisk->transformers.begin(), asterisk->transformers.end(), excepts))
                    names.push_back(name);
            }
        } else {
            throw Error(ErrorCode::NOT_IMPLEMENTED, "Columns of an INSERT are names or *, found {}",
                        sql::toText(*expression));
        }
    }
    for (size_t i = 0; i < names.size(); ++i)
        if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
            names.begin() + static_cast<std::ptrdiff_t>(i))
            throw Error(ErrorCode::DUPLICATE_COLUMN, "Column {} specified more than once", names[i]);
    return names;
}

// Requested when the query is cancelled, however that comes; not when it only shall stop reading.
class CancelToken {
public:
    explicit CancelToken(const exec::QueryContext& context)
        : on_stop_(context.readingToken(), Forward{context, source_}) {}

    std::stop_token get() const { return source_.get_token(); }

private:
    struct Forward {
        const exec::QueryContext& context;
        std::stop_source source;

        void operator()() {
            if (context.cancelled()) source.request_stop();
        }
    };

    std::stop_source source_;
    std::stop_callback<Forward> on_stop_;
};

storage::WriteRequest writeRequest(const RowCompleter& completer,
                                   std::stop_token stop,
                                   const plan::PlannerContext& context,
                                   const Settings& settings) {
    storage::WriteRequest request;
    request.columns = completer.stored();
    request.stop = std::move(stop);
    request.setting = [settings](std::string_view name) { return settings.find(name); };
    for (const SettingChange& change : settings.changed())
        request.changed_settings.emplace_back(change.name, change.value);
    request.origin = {.initial_user = context.initial_user,
                      .initial_query_id = context.initial_query_id,
                      .initial_address = context.initial_address,
                      .initial_start_microseconds = context.initial_start_microseconds,
                      .distributed_depth = context.distributed_depth};
    return request;
}

void sendSample(const RowCompleter& completer, const StatementContext& query) {
    session::QueryOutput output;
    output.kind = session::QueryOutput::Kind::InsertSample;
    output.block = completer.sample();
    const size_t weight = output.weight();
    query.channel.output.push(std::move(output), weight);
}

// Blocks from the client, until it says that there are no more.
void insertFromClient(const RowCompleter& completer,
                      BlockSink& sink,
                      const StatementContext& query,
                      const Settings& settings) {
    sendSample(completer, query);
    InsertSink rows(sink, completer, query.channel.progress, settings, ColumnMatch::ByName);
    while (std::optional<Block> block = query.channel.input.pop()) {
        query.context.check();
        if (block->rows > 0) rows.data(std::move(*block));
    }
    query.context.check();  // a client that went away has ended the input too
    if (query.channel.stop.stop_requested())
        throw Error(ErrorCode::QUERY_WAS_CANCELLED, "Query was cancelled");
    rows.flush();
}

}  // namespace

namespace {

void insertRows(const sql::Insert& statement,
                const StatementContext& query,
                const plan::PlannerContext& context,
                const Settings& settings) {
    const storage::TablePtr table = targetTable(statement, query, context);
    const auto schema = table->schema();
    const std::vector<std::string> columns = columnsOf(statement, *schema);
    const RowCompleter completer(schema, columns, context);
    const CancelToken cancel(query.context);
    const storage::WriteRequest request = writeRequest(completer, cancel.get(), context, settings);
    if (statement.query && insertOnShards(statement, table, columns, request, query)) return;
    const BlockSinkPtr sink = table->write(request);
    if (!statement.query && query.request.body) {
        insertFromBytes({statement, schema, columns, *sink}, query, settings, context);
    } else if (!statement.query) {
        insertFromClient(completer, *sink, query, settings);
    } else {
        const plan::QueryPlan planned =
            plan::planTopLevel(plan::bindQuery(*statement.query, context), context);
        InsertSink rows(*sink, completer, query.channel.progress, settings, ColumnMatch::ByPosition);
        exec::execute(planned.root, query.context, rows);
        rows.flush();
    }
    sink->finish();
}

}  // namespace

void run(const sql::Insert& statement, const StatementContext& query) {
    const Settings settings = query.running->currentSettings();
    const plan::PlannerContext context = makePlannerContext(query, settings);
    try {
        insertRows(statement, query, context, settings);
    } catch (const Error&) {
        query.context.check();  // why it was cancelled says more than that it was
        throw;
    }
}

namespace {

storage::TablePtr targetTable(const sql::Insert& statement,
                              const StatementContext& query,
                              const plan::PlannerContext& context) {
    if (!statement.function) return findTable(statement.table, query);
    storage::TableFunctionRequest request;
    request.name = statement.function->name;
    for (const auto& argument : statement.function->arguments)
        request.arguments.push_back(exec::makeArgument(argument, context));
    request.current_database = query.session.database;
    request.current_user = query.session.user();
    request.parse_structure = [](const std::string& text) {
        std::vector<storage::ColumnDefinition> columns;
        for (const auto& declaration : sql::parseColumns(text))
            columns.push_back({.name = declaration.name, .type = parseType(declaration.type)});
        return columns;
    };
    return query.services.catalog->createTableFunction(statement.function->name, std::move(request));
}

}  // namespace

}  // namespace shardd::daemon
