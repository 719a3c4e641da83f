#include "server/daemon/query_run.h"

#include <optional>
#include <stop_token>

#include "common/base/error.h"
#include "common/base/log.h"
#include "server/daemon/client_session.h"
#include "server/daemon/query_settings.h"
#include "server/daemon/statement_run.h"

namespace shardd::daemon {

namespace {

constexpr Log kLog("query");

// Stands in system.processes while it lives.
class Registration {
public:
    Registration(ProcessList& processes, RunningQueryPtr query)
        : processes_(processes), query_(std::move(query)) {
        processes_.add(query_);
    }

    ~Registration() {
        processes_.remove(query_);
        const std::lock_guard lock(query_->mutex);
        query_->cancel = nullptr;  // somebody may still hold the query
    }

    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;

private:
    ProcessList& processes_;
    RunningQueryPtr query_;
};

protocol::ClientInfo completeClientInfo(const session::QueryRequest& request, const std::string& user) {
    protocol::ClientInfo info = request.client_info;
    if (info.kind == protocol::QueryKind::Secondary) return info;
    info.initial_user = user;
    info.initial_query_id = request.query_id;
    info.initial_address = request.peer_address;
    return info;
}

RunningQueryPtr makeRunning(const QueryServices& services,
                            const session::QueryRequest& request,
                            const DaemonSession& session,
                            Settings settings,
                            const std::shared_ptr<session::QueryChannel>& channel) {
    auto running = std::make_shared<RunningQuery>();
    running->query_id = request.query_id;
    running->user = session.user();
    running->text = request.text;
    running->database = session.database;
    running->peer_address = request.peer_address;
    running->client_info = completeClientInfo(request, session.user());
    running->started_at = std::chrono::system_clock::now();
    running->started = std::chrono::steady_clock::now();
    running->memory = services.processes->makeBudget(session.user(), request.query_id, settings);
    running->settings = std::move(settings);
    running->account = session.account;
    running->channel = channel;
    return running;
}

/// Queries that read sharded tables stay in system.distributed_queries for a while.
void keepHistory(const QueryServices& services, const RunningQuery& running, std::string exception) {
    if (!running.activity->reads().empty()) services.distributed->add(describe(running, false, std::move(exception)));
}

void runInside(const QueryServices& services,
               const session::QueryRequest& request,
               const std::shared_ptr<session::QueryChannel>& channel) {
    auto& session = static_cast<DaemonSession&>(*request.session);
    Settings settings = session.settings;
    applyQuerySettings(request, session.account->constraints, *services.config(), settings);
    const RunningQueryPtr running = makeRunning(services, request, session, std::move(settings), channel);
    channel->budget = running->memory;
    const MemoryScope memory(running->memory.get());
    exec::QueryContext context(*services.pool, running->memory, execSettings(running->settings));
    running->cancel = [&context, &channel](Error reason) {
        context.cancel(reason);
        // A worker may wait for room in the answer, which a client that does not read never makes.
        channel->output.fail(std::make_exception_ptr(std::move(reason)));
    };
    context.on_progress = [&channel](uint64_t rows, uint64_t bytes) {
        channel->progress.rows += rows;
        channel->progress.bytes += bytes;
    };
    const Registration registration(*services.processes, running);
    // The client's Cancel, and its going away.
    const std::stop_callback on_stop(channel->stop.get_token(), [&running] {
        ProcessList::cancel(*running, Error(ErrorCode::QUERY_WAS_CANCELLED, "Query was cancelled"));
    });
    try {
        runStatement({services, request, session, running, *channel, context});
    } catch (const std::exception& exception) {
        keepHistory(services, *running, exception.what());
        throw;
    }
    keepHistory(services, *running, "");
}

void fail(session::QueryChannel& channel, const session::QueryRequest& request, const Error& error) {
    kLog.error("{}: Code: {}. {} (query: {})", request.query_id, error.code(), error.message(), request.text);
    channel.output.fail(std::make_exception_ptr(error));
}

}  // namespace

void runQuery(const QueryServices& services,
              const session::QueryRequest& request,
              const std::shared_ptr<session::QueryChannel>& channel) {
    kLog.debug("{}: {}", request.query_id, request.text);
    try {
        runInside(services, request, channel);
        channel->output.close();
    } catch (const Error& error) {
        fail(*channel, request, error);
    } catch (const std::bad_alloc&) {
        fail(*channel, request, Error(ErrorCode::CANNOT_ALLOCATE_MEMORY, "Cannot allocate memory"));
    } catch (const std::exception& exception) {
        fail(*channel, request, Error(ErrorCode::STD_EXCEPTION, "std::exception. {}", exception.what()));
    }
}

}  // namespace shardd::daemon
