#include "server/daemon/daemon.h"

#include <atomic>
#include <optional>

#include <unistd.h>

#include "common/base/error.h"
#include "common/base/file_system.h"
#include "common/base/log.h"
#include "common/base/memory_budget.h"
#include "config/users.h"
#include "server/daemon/logging.h"
#include "server/daemon/status_file.h"

namespace shardd::daemon {

namespace {

constexpr Log kLog("daemon");

std::string withoutTrailingSlash(std::string path) {
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    return path;
}

Config readConfig(const DaemonOptions& options) {
    return options.config_file.empty() ? parseConfig("", "", options.overrides)
                                       : loadConfig(options.config_file, options.overrides);
}

std::string hostName() {
    char name[256] = "";
    ::gethostname(name, sizeof(name) - 1);
    return name;
}

}  // namespace

// In the order of building; destruction goes backwards.
struct Daemon::Impl {
    explicit Impl(DaemonOptions given) : options(std::move(given)) {}

    DaemonOptions options;
    Config config;
    Logging logging;
    std::optional<PidFile> pid_file;
    std::optional<StatusFile> status_file;
    std::shared_ptr<MemoryBudget> memory;
    std::shared_ptr<const Users> users;
    std::atomic<bool> hurried = false;
};

Daemon::Daemon(DaemonOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}

Daemon::~Daemon() { setLogSink(nullptr); }

void Daemon::start() {
    Impl& own = *impl_;
    own.config = readConfig(own.options);
    own.config.path = withoutTrailingSlash(own.config.path);
    if (own.config.tmp_path.empty()) own.config.tmp_path = own.config.path + "/tmp";
    if (own.config.display_name.empty()) own.config.display_name = hostName();
    own.logging.apply(own.config.logger);
    setLogSink(&own.logging);
    for (const auto& warning : own.config.warnings) kLog.warning("{}", warning);
    FileSystem& files = localFileSystem();
    files.createDirectories(own.config.path);
    own.status_file.emplace(own.config.path);
    own.pid_file.emplace(own.config.pid_file);
    // What a crash left behind in here was for queries that are gone.
    files.removeRecursively(own.config.tmp_path);
    files.createDirectories(own.config.tmp_path);
    own.memory = MemoryBudget::create("server", own.config.serverMemoryLimit());
    own.users = std::make_shared<const Users>(own.config);
    kLog.info("ready: path {}", own.config.path);
}

void Daemon::reload() {
    Impl& own = *impl_;
    try {
        Config fresh = readConfig(own.options);
        own.logging.apply(fresh.logger);
        own.users = std::make_shared<const Users>(fresh);
        for (const auto& warning : fresh.warnings) kLog.warning("{}", warning);
        kLog.info("configuration read again");
    } catch (const Error& error) {
        kLog.error("the configuration is not taken over: {}", error.message());
    }
}

void Daemon::stop() {
    Impl& own = *impl_;
    kLog.info("stopping");
    if (const uint64_t dropped = own.logging.droppedLines())
        kLog.warning("{} log lines were dropped", dropped);
    own.status_file.reset();
    own.pid_file.reset();
    setLogSink(nullptr);
    own.logging.stop();
}

void Daemon::hurry() { impl_->hurried = true; }

std::chrono::milliseconds Daemon::stopLimit() const {
    constexpr std::chrono::seconds kMargin{10};
    return std::chrono::milliseconds(impl_->config.shutdown_wait_unfinished_us / 1000) + kMargin;
}

uint16_t Daemon::tcpPort() const { return 0; }

}  // namespace shardd::daemon
