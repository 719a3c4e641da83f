#pragma once

#include <memory>
#include <string>

#include "common/base/log.h"
#include "config/config.h"

namespace shardd::daemon {

/// Sends log lines to the files and the console of a LoggerConfig, from a thread of its own: who logs never
/// waits for a disk. When lines come faster than they are written, the oldest are dropped, and counted.
/// Threads: all members from any thread; apply() and stop() by one at a time.
class Logging : public LogSink {
public:
    Logging();
    ~Logging() override;

    /// Opens the files anew and takes over the levels. Errors: CANNOT_OPEN_FILE names the file; the old state
    /// stays.
    void apply(const LoggerConfig& config);

    /// Writes what waits and closes the files.
    void stop();

    /// Lines dropped so far.
    uint64_t droppedLines() const;

    bool wants(LogSeverity severity, std::string_view logger) const override;
    void write(LogSeverity severity, std::string_view logger, std::string_view text) override;

private:
    struct State;
    std::shared_ptr<State> state() const;

    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace shardd::daemon
