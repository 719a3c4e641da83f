#include "server/daemon/daemon.h"

#include <atomic>
#include <mutex>
#include <optional>
#include <thread>

#include <sys/resource.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/file_system.h"
#include "common/base/host.h"
#include "common/base/log.h"
#include "common/base/memory_budget.h"
#include "config/users.h"
#include "server/aggregates/aggregate_list.h"
#include "server/bootstrap/bootstrap.h"
#include "server/daemon/cluster_setup.h"
#include "server/daemon/local_insert.h"
#include "server/daemon/local_select.h"
#include "server/daemon/logging.h"
#include "server/daemon/process_list.h"
#include "server/daemon/query_host.h"
#include "server/daemon/query_planning.h"
#include "server/daemon/status_file.h"
#include "server/daemon/system_tables.h"
#include "server/daemon/tls_setup.h"
#include "server/exec/statements.h"
#include "server/exec/thread_pool.h"
#include "server/http/http_server.h"
#include "server/net/network.h"
#include "server/session/session_server.h"
#include "server/storage/catalog.h"
#include "server/storage/decoded_cache.h"
#include "server/storage/merge_scheduler.h"

namespace shardd::daemon {

namespace {

constexpr Log kLog("daemon");
constexpr const char* kAnsweredVersion = "26.7.1.1";

std::string withoutTrailingSlash(std::string path) {
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    return path;
}

Config readConfig(const DaemonOptions& options) {
    Config config = options.config_file.empty() ? parseConfig("", "", options.overrides)
                                                : loadConfig(options.config_file, options.overrides);
    config.path = withoutTrailingSlash(config.path);
    if (config.tmp_path.empty()) config.tmp_path = config.path + "/tmp";
    return config;
}

// The zone of the machine: TZ, else what /etc/localtime points at.
std::string machineTimeZone() {
    if (const char* name = std::getenv("TZ"); name && *name && *name != ':') return name;
    char target[512];
    const ssize_t size = ::readlink("/etc/localtime", target, sizeof(target));
    const std::string_view path(target, size > 0 ? static_cast<size_t>(size) : 0);
    constexpr std::string_view kFolder = "zoneinfo/";
    const size_t found = path.find(kFolder);
    return found == std::string_view::npos ? "UTC" : std::string(path.substr(found + kFolder.size()));
}

// As many sockets and files as the system lets this user have.
void raiseFileLimit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
    limit.rlim_cur = limit.rlim_max;
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) kLog.warning("the limit of open files stays low");
}

std::chrono::milliseconds toMilliseconds(int64_t microseconds) {
    return std::chrono::milliseconds(microseconds / 1000);
}

}  // namespace

// In the order of building; destruction goes backwards.
struct Daemon::Impl {
    explicit Impl(DaemonOptions given) : options(std::move(given)) {}

    std::shared_ptr<const Config> currentConfig() const {
        const std::lock_guard lock(mutex);
        return config;
    }

    std::shared_ptr<const Users> currentUsers() const {
        const std::lock_guard lock(mutex);
        return users;
    }

    void replace(Config fresh) {
        auto next_users = std::make_shared<const Users>(fresh);
        auto next = std::make_shared<const Config>(std::move(fresh));
        const std::lock_guard lock(mutex);
        config = std::move(next);
        users = std::move(next_users);
    }

    void prepareFolders();
    void buildCatalog();
    void buildHost();
    void loadTables(const QueryServices& services);
    void withholdBootstrap();
    void prepareTls();
    bool listenOnAll(uint16_t& port, std::string_view what, const std::function<uint16_t(const std::string&)>& open);
    uint16_t listenOn(uint16_t port, std::shared_ptr<const net::Tls> tls);
    void listen();
    void listenHttp();
    void reload();
    SystemSources systemSources();

    DaemonOptions options;
    std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
    Logging logging;
    mutable std::mutex mutex;  // guards config, users
    std::shared_ptr<const Config> config;
    std::shared_ptr<const Users> users;
    std::mutex reload_mutex;  // one reload at a time
    std::optional<PidFile> pid_file;
    std::optional<StatusFile> status_file;
    std::shared_ptr<MemoryBudget> memory;
    std::optional<ProcessList> processes;
    DistributedHistory distributed;
    std::optional<DeadlineTimer> timer;
    std::shared_ptr<storage::MergeScheduler> merges;
    std::optional<storage::Catalog> catalog;
    std::optional<exec::ThreadPool> pool;
    std::optional<net::Network> network;
    std::shared_ptr<net::Tls> tls_server;  // nullptr without tcp_port_secure
    uint16_t tcp_port_secure = 0;
    std::shared_ptr<net::Tls> tls_client;
    cluster::ClusterServicePtr cluster;
    std::shared_ptr<QueryHost> host;
    std::vector<std::unique_ptr<session::SessionServer>> servers;
    std::vector<std::unique_ptr<http::HttpServer>> http_servers;
    std::optional<bootstrap::Bootstrap> bootstrap;
    std::atomic<uint16_t> tcp_port = 0;
    std::atomic<bool> hurried = false;
};

void Daemon::Impl::prepareFolders() {
    FileSystem& files = localFileSystem();
    files.createDirectories(config->path);
    status_file.emplace(config->path);
    pid_file.emplace(config->pid_file);
    files.createDirectories(config->tmp_path);
    // What a crash left behind in here was for queries that are gone. The folder may not be ours alone.
    for (const auto& entry : files.list(config->tmp_path))
        if (entry.name.starts_with("tmp_") && !entry.is_directory)
            files.removeFile(config->tmp_path + "/" + entry.name);
}

SystemSources Daemon::Impl::systemSources() {
    return {.catalog = &*catalog,
            .processes = &*processes,
            .memory = memory,
            .distributed = &distributed,
            .config = [this] { return currentConfig(); },
            .clusters = [this] { return cluster->topology->all(); },
            .tcp_port = [this] { return tcp_port.load(); },
            .version = kAnsweredVersion,
            .path = config->path,
            .started = started};
}

void Daemon::Impl::buildCatalog() {
    const ShardDaemonConfig& own = config->shardd;
    uint64_t cache_bytes = own.decoded_cache_size_bytes;
    if (cache_bytes == 0)
        cache_bytes = static_cast<uint64_t>(static_cast<double>(config->serverMemoryLimit()) *
                                            own.decoded_cache_size_to_ram_ratio);
    merges = std::make_shared<storage::MergeScheduler>(memory);
    catalog.emplace(
        localFileSystem(),
        storage::CatalogOptions{.path = config->path,
                                .decoded_cache = std::make_shared<storage::DecodedCache>(cache_bytes, memory),
                                .merges = merges,
                                .durable_inserts = own.fsync_after_insert});
    cluster = makeClusterService(
        network->context(), [this] { return currentConfig(); }, *catalog, memory);
    cluster->login.tls = tls_client;
    addClusterEngines(cluster, *catalog);
    for (auto& table : makeSystemTables(systemSources())) catalog->addTable("system", std::move(table));
}

// Before anybody can ask: queries on the cluster get an error until it is formed.
void Daemon::Impl::withholdBootstrap() {
    const ShardDaemonConfig& own = config->shardd;
    if (!own.bootstrap.enabled) return;
    if (own.bootstrap.secure ? !config->tcp_port_secure : !config->tcp_port)
        throw Error(ErrorCode::INVALID_CONFIG_PARAMETER,
                    "shardd.bootstrap needs {}: the other nodes ask this one there",
                    own.bootstrap.secure ? "tcp_port_secure" : "tcp_port");
    bootstrap.emplace(bootstrap::BootstrapOptions{.config = own.bootstrap,
                                                  .plan = own.bootstrap_plan,
                                                  .listen_hosts = config->listen_host,
                                                  .version = options.version,
                                                  .tls = tls_client},
                      cluster->topology);
}

void Daemon::Impl::buildHost() {
    const std::string name = hostName();
    QueryServices services{
        .catalog = &*catalog,
        .processes = &*processes,
        .distributed = &distributed,
        .pool = &*pool,
        .timer = &*timer,
        .config = [this] { return currentConfig(); },
        .users = [this] { return currentUsers(); },
        .reload = [this] { reload(); },
        .get_cluster = [this](const std::string& wanted) { cluster->topology->get(wanted); },
        .display_name = config->display_name.empty() ? name : config->display_name,
        .host_name = name,
        .time_zone = config->timezone.empty() ? machineTimeZone() : config->timezone,
        .tcp_port = [this] { return tcp_port.load(); },
        .started = started,
    };
    cluster->hooks.insert_here = [services](const cluster::LocalInsert& insert) {
        return insertHere(services, insert);
    };
    loadTables(services);
    lendOwnQueries(*cluster, services);
    host = std::make_shared<QueryHost>(std::move(services));
}

void Daemon::Impl::loadTables(const QueryServices& services) {
    exec::loadStoredTables(*catalog, makeLoaderContext(services),
                           [](const std::string& table, const Error& error) {
                               kLog.error("table {} is left out: {}", table, error.message());
                           });
    catalog->createDatabase({.name = config->default_database}, true);
}

void Daemon::Impl::reload() {
    const std::lock_guard lock(reload_mutex);
    try {
        Config fresh = readConfig(options);
        // Read once before either is in force: a certificate that cannot be read leaves both as they were.
        const net::Tls readable(net::Tls::Side::Client, tlsOptions(fresh.tls_client));
        if (tls_server) tls_server->replace(tlsOptions(fresh.tls_server));
        tls_client->replace(tlsOptions(fresh.tls_client));
        logging.apply(fresh.logger);
        for (const auto& warning : fresh.warnings) kLog.warning("{}", warning);
        cluster->topology->reload(fresh.clusters);
        replace(std::move(fresh));
        kLog.info("configuration read again");
    } catch (const Error& error) {
        kLog.error("the configuration is not taken over: {}", error.message());
    }
}

/// Opens one port on all addresses of listen_host: `open` listens on one and tells the number in use, which the
/// others take when `port` was 0. False when none could be had, which only listen_try allows.
bool Daemon::Impl::listenOnAll(uint16_t& port,
                               std::string_view what,
                               const std::function<uint16_t(const std::string&)>& open) {
    bool listens = false;
    for (const std::string& address : config->listen_host) {
        try {
            port = open(address);
        } catch (const Error& error) {
            if (!config->listen_try) throw;
            kLog.warning("{}", error.message());
            continue;
        }
        listens = true;
        kLog.info("{} {} port {}", what, address, port);
    }
    return listens;
}

/// The native protocol; the number in use.
uint16_t Daemon::Impl::listenOn(uint16_t port, std::shared_ptr<const net::Tls> tls) {
    session::SessionOptions session_options;
    session_options.display_name = config->display_name.empty() ? hostName() : config->display_name;
    session_options.time_zone = config->timezone.empty() ? machineTimeZone() : config->timezone;
    if (config->http_port) session_options.http_port = *config->http_port;
    const auto open = [&](const std::string& address) {
        servers.push_back(std::make_unique<session::SessionServer>(
            network->context(),
            net::ListenerOptions{.host = address,
                                 .port = port,
                                 .backlog = static_cast<int>(config->listen_backlog),
                                 .max_connections = config->max_connections,
                                 .tls = tls},
            host, session_options));
        return servers.back()->port();
    };
    if (!listenOnAll(port, tls ? "listening with TLS on" : "listening on", open))
        throw Error(ErrorCode::NETWORK_ERROR, "None of the addresses in listen_host can be listened on");
    return port;
}

void Daemon::Impl::listen() {
    if (config->tcp_port) tcp_port = listenOn(*config->tcp_port, nullptr);
    if (config->tcp_port_secure) tcp_port_secure = listenOn(*config->tcp_port_secure, tls_server);
    for (auto& server : servers) server->start();
}

void Daemon::Impl::listenHttp() {
    if (!config->http_port) return;
    http::HttpOptions wanted;
    wanted.port = *config->http_port;
    wanted.backlog = static_cast<int>(config->listen_backlog);
    wanted.max_connections = config->max_connections;
    wanted.keep_alive_timeout = std::chrono::seconds(config->keep_alive_timeout_us / 1'000'000);
    wanted.display_name = config->display_name.empty() ? hostName() : config->display_name;
    wanted.version = kAnsweredVersion;
    wanted.time_zone = config->timezone.empty() ? machineTimeZone() : config->timezone;
    listenOnAll(wanted.port, "listening for HTTP on", [&](const std::string& address) {
        wanted.host = address;
        http_servers.push_back(std::make_unique<http::HttpServer>(wanted, host));
        return http_servers.back()->port();
    });
    for (auto& server : http_servers) server->start();
}

/// Before anything listens or asks a shard: what is wrong with a certificate is told at the start.
void Daemon::Impl::prepareTls() {
    if (config->tcp_port_secure)
        tls_server = std::make_shared<net::Tls>(net::Tls::Side::Server, tlsOptions(config->tls_server));
    tls_client = std::make_shared<net::Tls>(net::Tls::Side::Client, tlsOptions(config->tls_client));
}

Daemon::Daemon(DaemonOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}

Daemon::~Daemon() { setLogSink(nullptr); }

void Daemon::start() {
    Impl& own = *impl_;
    own.replace(readConfig(own.options));
    own.logging.apply(own.config->logger);
    setLogSink(&own.logging);
    for (const auto& warning : own.config->warnings) kLog.warning("{}", warning);
    raiseFileLimit();
    own.prepareFolders();
    aggregates::registerStates();
    own.memory = MemoryBudget::create("server", own.config->serverMemoryLimit());
    own.processes.emplace(own.memory,
                          ProcessList::Limits{.max_queries = own.config->max_concurrent_queries,
                                              .max_selects = own.config->max_concurrent_select_queries});
    own.timer.emplace();
    own.network.emplace(static_cast<unsigned>(own.config->shardd.network_threads));
    own.prepareTls();
    own.buildCatalog();
    own.pool.emplace(own.config->max_thread_pool_size);
    own.withholdBootstrap();
    own.buildHost();
    own.network->start();
    own.listen();
    own.listenHttp();
    if (own.bootstrap)
        own.bootstrap->start(own.config->shardd.bootstrap.secure ? own.tcp_port_secure : own.tcp_port.load());
    kLog.info("ready after {} ms", std::chrono::duration_cast<std::chrono::milliseconds>(
                                       std::chrono::steady_clock::now() - own.started)
                                       .count());
}

void Daemon::reload() { impl_->reload(); }

void Daemon::stop() {
    Impl& own = *impl_;
    kLog.info("stopping: {} queries run", own.processes->size());
    if (own.bootstrap) own.bootstrap->leave();
    for (auto& server : own.servers) server->stopAccepting();
    for (auto& server : own.http_servers) server->stopAccepting();
    const auto patience = toMilliseconds(own.config->shutdown_wait_unfinished_us);
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (own.processes->size() > 0 && !own.hurried && std::chrono::steady_clock::now() < deadline)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    own.host->refuseQueries();
    own.processes->cancelAll(
        Error(ErrorCode::QUERY_WAS_CANCELLED, "Query was cancelled: the server is stopping"));
    for (auto& server : own.servers) server->finish(std::chrono::milliseconds(100));
    for (auto& server : own.http_servers) server->finish(std::chrono::milliseconds(100));
    own.servers.clear();
    own.http_servers.clear();
    own.catalog->shutdown();  // Distributed tables still send, so before the network ends
    own.cluster->senders.stop();
    own.cluster->pool.clear();
    own.network->stop();
    own.pool.reset();
    own.merges->stop();
    if (const uint64_t dropped = own.logging.droppedLines())
        kLog.warning("{} log lines were dropped", dropped);
    kLog.info("stopped");
    own.status_file.reset();
    own.pid_file.reset();
    setLogSink(nullptr);
    own.logging.stop();
}

void Daemon::hurry() { impl_->hurried = true; }

std::chrono::milliseconds Daemon::stopLimit() const {
    constexpr std::chrono::seconds kMargin{10};
    return toMilliseconds(impl_->currentConfig()->shutdown_wait_unfinished_us) + kMargin;
}

uint16_t Daemon::tcpPort() const { return impl_->tcp_port; }

}  // namespace shardd::daemon
