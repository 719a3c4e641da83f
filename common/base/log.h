#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

namespace shardd {

enum class LogSeverity : uint8_t { Fatal, Error, Warning, Information, Debug, Trace };

/// Where log lines go. The daemon installs one; without it lines are dropped.
class LogSink {
public:
    virtual ~LogSink() = default;

    /// Whether lines of this logger and severity are written; cheap, asked before the text is made.
    virtual bool wants(LogSeverity severity, std::string_view logger) const = 0;

    /// Takes one line. Must not throw, must not wait for a disk.
    virtual void write(LogSeverity severity, std::string_view logger, std::string_view text) = 0;
};

/// `sink` must outlive every thread that logs; null drops lines again.
void setLogSink(LogSink* sink);
LogSink* logSink();

/// The logger of one layer: `constexpr Log kLog("storage");` at the top of a source.
/// Threads: any.
class Log {
public:
    explicit constexpr Log(const char* name) : name_(name) {}

    template <typename... Args>
    void error(fmt::format_string<Args...> format, Args&&... args) const {
        write(LogSeverity::Error, format, std::forward<Args>(args)...);
    }

    template <typename... Args>
    void warning(fmt::format_string<Args...> format, Args&&... args) const {
        write(LogSeverity::Warning, format, std::forward<Args>(args)...);
    }

    template <typename... Args>
    void info(fmt::format_string<Args...> format, Args&&... args) const {
        write(LogSeverity::Information, format, std::forward<Args>(args)...);
    }

    template <typename... Args>
    void debug(fmt::format_string<Args...> format, Args&&... args) const {
        write(LogSeverity::Debug, format, std::forward<Args>(args)...);
    }

    template <typename... Args>
    void trace(fmt::format_string<Args...> format, Args&&... args) const {
        write(LogSeverity::Trace, format, std::forward<Args>(args)...);
    }

private:
    template <typename... Args>
    void write(LogSeverity severity, fmt::format_string<Args...> format, Args&&... args) const {
        LogSink* sink = logSink();
        if (sink && sink->wants(severity, name_))
            sink->write(severity, name_, fmt::format(format, std::forward<Args>(args)...));
    }

    const char* name_;
};

}  // namespace shardd
