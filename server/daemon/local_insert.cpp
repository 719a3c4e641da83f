#include "server/daemon/local_insert.h"

#include "server/cluster/shard_query.h"
#include "server/daemon/query_planning.h"
#include "server/daemon/row_completer.h"

namespace shardd::daemon {

namespace {

class LocalInsertSink final : public BlockSink {
public:
    LocalInsertSink(storage::TablePtr table, RowCompleter completer, BlockSinkPtr sink)
        : table_(std::move(table)), completer_(std::move(completer)), sink_(std::move(sink)) {}

    void write(Block block) override { sink_->write(completer_.complete(std::move(block))); }

    void finish() override { sink_->finish(); }

private:
    const storage::TablePtr table_;  // lives as long as its sink
    const RowCompleter completer_;
    const BlockSinkPtr sink_;
};

plan::PlannerContext makeContext(const QueryServices& services, const cluster::LocalInsert& insert) {
    plan::PlannerContext context = makeLoaderContext(services);
    context.settings = cluster::settingsOf(insert.settings);
    auto functions = std::make_shared<functions::FunctionContext>(*context.functions);
    functions->current_user = insert.origin.initial_user;
    functions->initial_user = insert.origin.initial_user;
    functions->initial_query_id = insert.origin.initial_query_id;
    functions->current_database = insert.database;
    if (!context.settings->session_timezone.empty())
        functions->time_zone = context.settings->session_timezone;
    context.functions = std::move(functions);
    context.current_database = insert.database;
    context.initial_user = insert.origin.initial_user;
    context.stop = insert.stop;
    return context;
}

}  // namespace

BlockSinkPtr insertHere(const QueryServices& services, const cluster::LocalInsert& asked) {
    cluster::LocalInsert insert = asked;
    if (insert.database.empty()) insert.database = services.config()->default_database;
    storage::TablePtr table = services.catalog->get(insert.database, insert.table);
    const plan::PlannerContext context = makeContext(services, insert);
    RowCompleter completer(table->schema(), insert.columns, context);
    storage::WriteRequest request;
    request.columns = completer.stored();
    request.stop = insert.stop;
    request.setting = [settings = context.settings](std::string_view name) { return settings.find(name); };
    request.changed_settings = insert.settings;
    request.origin = insert.origin;
    BlockSinkPtr sink = table->write(request);
    return std::make_unique<LocalInsertSink>(std::move(table), std::move(completer), std::move(sink));
}

}  // namespace shardd::daemon
