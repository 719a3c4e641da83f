#include "server/daemon/logging.h"

#include <filesystem>
#include <map>
#include <mutex>
#include <vector>

#include <spdlog/async.h>
#include <spdlog/async_logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "common/base/error.h"

namespace shardd::daemon {

namespace {

constexpr size_t kQueuedLines = 8192;

// ClickHouse's lines: "2026.07.01 12:00:00.000000 [ 4711 ] <Information> storage: text".
constexpr const char* kPattern = "%Y.%m.%d %H:%M:%S.%f [ %t ] <%*> %n: %v";

class SeverityFlag : public spdlog::custom_flag_formatter {
public:
    void format(const spdlog::details::log_msg& message,
                const std::tm&,
                spdlog::memory_buf_t& target) override {
        const std::string_view name = nameOf(message.level);
        target.append(name.data(), name.data() + name.size());
    }

    std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<SeverityFlag>(); }

private:
    static std::string_view nameOf(spdlog::level::level_enum level) {
        switch (level) {
            case spdlog::level::critical:
                return "Fatal";
            case spdlog::level::err:
                return "Error";
            case spdlog::level::warn:
                return "Warning";
            case spdlog::level::info:
                return "Information";
            case spdlog::level::debug:
                return "Debug";
            default:
                return "Trace";
        }
    }
};

spdlog::level::level_enum toSpdlog(LogSeverity severity) {
    switch (severity) {
        case LogSeverity::Fatal:
            return spdlog::level::critical;
        case LogSeverity::Error:
            return spdlog::level::err;
        case LogSeverity::Warning:
            return spdlog::level::warn;
        case LogSeverity::Information:
            return spdlog::level::info;
        case LogSeverity::Debug:
            return spdlog::level::debug;
        case LogSeverity::Trace:
            return spdlog::level::trace;
    }
    return spdlog::level::info;
}

// The least severe line that a level lets through, as a number that grows with detail; -1 for none.
int detailOf(LogLevel level) {
    switch (level) {
        case LogLevel::None:
            return -1;
        case LogLevel::Fatal:
        case LogLevel::Critical:
            return static_cast<int>(LogSeverity::Fatal);
        case LogLevel::Error:
            return static_cast<int>(LogSeverity::Error);
        case LogLevel::Warning:
            return static_cast<int>(LogSeverity::Warning);
        case LogLevel::Notice:
        case LogLevel::Information:
            return static_cast<int>(LogSeverity::Information);
        case LogLevel::Debug:
            return static_cast<int>(LogSeverity::Debug);
        case LogLevel::Trace:
            return static_cast<int>(LogSeverity::Trace);
    }
    return -1;
}

spdlog::sink_ptr openFile(const std::string& path, const LoggerConfig& config) {
    try {
        return std::make_shared<spdlog::sinks::rotating_file_sink_mt>(
            path, std::max<uint64_t>(config.size_bytes, 1), config.count);
    } catch (const spdlog::spdlog_ex& exception) {
        throw Error(ErrorCode::CANNOT_OPEN_FILE, "Cannot open the log file {}: {}", path, exception.what());
    }
}

}  // namespace

struct Logging::State {
    std::vector<spdlog::sink_ptr> sinks;
    int detail = -1;
    std::map<std::string, int, std::less<>> details;

    std::shared_ptr<spdlog::async_logger> make(
        std::string_view name, const std::shared_ptr<spdlog::details::thread_pool>& pool) const {
        auto logger =
            std::make_shared<spdlog::async_logger>(std::string(name), sinks.begin(), sinks.end(), pool,
                                                   spdlog::async_overflow_policy::overrun_oldest);
        logger->set_level(spdlog::level::trace);
        logger->flush_on(spdlog::level::info);
        return logger;
    }

    // One for each name, made when it is first needed.
    mutable std::mutex mutex;  // guards loggers
    mutable std::map<std::string, std::shared_ptr<spdlog::async_logger>, std::less<>> loggers;
};

struct Logging::Impl {
    std::shared_ptr<spdlog::details::thread_pool> pool =
        std::make_shared<spdlog::details::thread_pool>(kQueuedLines, 1);
    mutable std::mutex mutex;  // guards state
    std::shared_ptr<State> state = std::make_shared<State>();
};

Logging::Logging() : impl_(std::make_unique<Impl>()) {}

Logging::~Logging() { stop(); }

std::shared_ptr<Logging::State> Logging::state() const {
    const std::lock_guard lock(impl_->mutex);
    return impl_->state;
}

void Logging::apply(const LoggerConfig& config) {
    auto next = std::make_shared<State>();
    next->detail = detailOf(config.level);
    for (const auto& [name, level] : config.levels) next->details[name] = detailOf(level);
    if (!config.log.empty()) next->sinks.push_back(openFile(config.log, config));
    if (!config.errorlog.empty()) {
        next->sinks.push_back(openFile(config.errorlog, config));
        next->sinks.back()->set_level(spdlog::level::warn);
    }
    if (config.console) next->sinks.push_back(std::make_shared<spdlog::sinks::stderr_sink_mt>());
    for (const auto& sink : next->sinks) {
        auto formatter = std::make_unique<spdlog::pattern_formatter>();
        formatter->add_flag<SeverityFlag>('*').set_pattern(kPattern);
        sink->set_formatter(std::move(formatter));
    }
    if (next->sinks.empty()) next->detail = -1, next->details.clear();
    const std::lock_guard lock(impl_->mutex);
    impl_->state = std::move(next);
}

void Logging::stop() {
    {
        const std::lock_guard lock(impl_->mutex);
        impl_->state = std::make_shared<State>();
    }
    impl_->pool.reset();  // its thread ends when all lines are written
}

uint64_t Logging::droppedLines() const { return impl_->pool ? impl_->pool->overrun_counter() : 0; }

bool Logging::wants(LogSeverity severity, std::string_view logger) const {
    const auto current = state();
    const auto own = current->details.find(logger);
    return static_cast<int>(severity) <= (own == current->details.end() ? current->detail : own->second);
}

void Logging::write(LogSeverity severity, std::string_view logger, std::string_view text) {
    const auto current = state();
    const auto pool = impl_->pool;
    if (!pool || current->sinks.empty()) return;
    std::shared_ptr<spdlog::async_logger> target;
    {
        const std::lock_guard lock(current->mutex);
        auto& slot = current->loggers[std::string(logger)];
        if (!slot) slot = current->make(logger, pool);
        target = slot;
    }
    target->log(toSpdlog(severity), spdlog::string_view_t(text.data(), text.size()));
}

}  // namespace shardd::daemon
