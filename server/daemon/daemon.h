#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "config/config.h"

namespace shardd::daemon {

struct DaemonOptions {
    std::string config_file;  ///< empty: built-in defaults
    std::vector<ConfigOverride> overrides;
    std::string version;  ///< of the program
};

/// A node: builds its parts in order, starts them, stops them in reverse. The only place that knows everyone.
/// Threads: start, reload and stop by one thread, which owns the daemon.
class Daemon {
public:
    explicit Daemon(DaemonOptions options);
    ~Daemon();
    Daemon(const Daemon&) = delete;
    Daemon& operator=(const Daemon&) = delete;

    /// Reads the configuration, loads the tables and listens. Errors: what the configuration or the folder
    /// has wrong; nothing listens then.
    void start();

    /// Reads the configuration again: logger, users, profiles and clusters change, the rest needs a restart.
    /// Mistakes are logged and the old configuration stays.
    void reload();

    /// No new connections and queries; running ones get `shutdown_wait_unfinished`, then they are cancelled.
    void stop();

    /// From any thread while stop() waits: cancels what still runs at once.
    void hurry();

    /// The longest that stop() may take, with a margin; afterwards the process may end by force.
    std::chrono::milliseconds stopLimit() const;

    /// 0 when nothing listens.
    uint16_t tcpPort() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace shardd::daemon
