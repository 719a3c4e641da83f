#include "server/daemon/query_host.h"

#include "common/base/error.h"
#include "common/base/log.h"
#include "server/daemon/client_session.h"
#include "server/daemon/query_run.h"

namespace shardd::daemon {

namespace {

constexpr Log kLog("session");

// "192.0.2.1:40000" and "[::1]:40000" without the port.
std::string_view hostOf(std::string_view address) {
    std::string_view host = address.substr(0, address.rfind(':'));
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    return host;
}

}  // namespace

std::shared_ptr<session::ClientSession> QueryHost::login(const session::LoginRequest& request) {
    const auto users = services_.users();
    const std::string name = request.user.empty() ? "default" : request.user;
    const std::string_view host = hostOf(request.peer_address);
    auto account = request.trusted ? users->trusted(name, host) : users->check(name, request.password, host);
    std::string database = request.database;
    if (database.empty()) database = account->config.default_database;
    if (database.empty()) database = services_.config()->default_database;
    services_.catalog->database(database);  // or UNKNOWN_DATABASE
    auto session = std::make_shared<DaemonSession>(std::move(account), std::move(database));
    session->is_trusted = request.trusted;
    kLog.debug("{} came in from {}", name, request.peer_address);
    return session;
}

std::optional<std::string> QueryHost::clusterSecret(std::string_view cluster) {
    const auto config = services_.config();
    const BootstrapConfig& bootstrap = config->shardd.bootstrap;
    if (bootstrap.enabled && bootstrap.cluster == cluster && !bootstrap.secret.empty()) return bootstrap.secret;
    const auto found = config->clusters.find(std::string(cluster));
    if (found == config->clusters.end() || found->second.secret.empty()) return std::nullopt;
    return found->second.secret;
}

protocol::TablesStatusResponse QueryHost::tablesStatus(session::ClientSession&,
                                                       const protocol::TablesStatusRequest& request) {
    protocol::TablesStatusResponse response;
    for (const auto& name : request.tables)
        if (services_.catalog->find(name.database, name.table)) response.tables.push_back({.name = name});
    return response;
}

void QueryHost::start(session::QueryRequest request, std::shared_ptr<session::QueryChannel> channel) {
    if (refuses_) {
        channel->output.fail(std::make_exception_ptr(Error(ErrorCode::ABORTED, "Server is shutting down")));
        return;
    }
    auto job = [this, request = std::make_shared<session::QueryRequest>(std::move(request)), channel] {
        runQuery(services_, *request, channel);
    };
    services_.pool->submit(std::move(job));
}

}  // namespace shardd::daemon
