#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include <Poco/Util/HelpFormatter.h>
#include <Poco/Util/Option.h>
#include <Poco/Util/OptionSet.h>
#include <Poco/Util/ServerApplication.h>
#include <fmt/core.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "common/base/error.h"
#include "config/config.h"
#include "server/daemon/daemon.h"

#ifndef SHARDD_SANITIZED
/// jemalloc reads this at the start. Groups and columns take memory by hundreds of MiB: with huge pages, and with large
/// pieces kept for a while like small ones, the kernel clears and maps far fewer pages (GROUP BY of ten million rows by
/// user: 254 instead of 390 ms of CPU). What is not taken again within five seconds goes back to the system.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "thp:always,oversize_threshold:0,dirty_decay_ms:5000,muzzy_decay_ms:0";
int mallctl(const char* name, void* old, size_t* old_bytes, void* fresh, size_t fresh_bytes) __attribute__((weak));
}
#endif

namespace {

/// Memory goes back to the system also while nobody asks for any. Only once the process has forked for the
/// last time: a child has no such thread.
void startReturningMemory() {
#ifndef SHARDD_SANITIZED
    bool on = true;
    if (mallctl) mallctl("background_thread", nullptr, nullptr, &on, sizeof(on));
#endif
}

using shardd::ConfigOverride;
using shardd::Error;

constexpr const char* kVersion = "shardd version " SHARDD_VERSION " (answers as ClickHouse 26.7).";
constexpr const char* kUsage =
    "Usage:\n"
    "  shardd server [--config FILE] [options] [-- --key.sub=value ...]   runs a node\n"
    "  shardd check-config FILE [-- --key.sub=value ...]                  tells every mistake of a "
    "configuration\n"
    "  shardd --version | --help\n";

/// The exit code of an error: ClickHouse's number, as a shell can hold it; never 0.
int exitCode(const Error& error) {
    const int code = error.code() % 256;
    return code == 0 ? 1 : code;
}

int tell(const Error& error) {
    fmt::print(stderr, "Code: {}. DB::Exception: {}. ({})\n", error.code(), error.message(),
               shardd::errorName(error.code()));
    return exitCode(error);
}

sigset_t endingSignals() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int number : {SIGTERM, SIGINT, SIGQUIT, SIGHUP}) sigaddset(&signals, number);
    return signals;
}

/// Options and the background process are Poco's; the signals are taken here, one at a time, by this thread
/// alone.
class ServerProgram : public Poco::Util::ServerApplication {
public:
    explicit ServerProgram(std::vector<ConfigOverride> overrides) {
        options_.overrides = std::move(overrides);
        options_.version = SHARDD_VERSION;
    }

protected:
    void defineOptions(Poco::Util::OptionSet& set) override {
        ServerApplication::defineOptions(set);
        set.addOption(withValue("config-file", "C", "the configuration, YAML", "FILE"));
        set.addOption(withValue("config", "", "the same", "FILE"));
        set.addOption(withValue("log-file", "L", "overrides logger.log", "FILE"));
        set.addOption(withValue("errorlog-file", "E", "overrides logger.errorlog", "FILE"));
        set.addOption(withValue("pid-file", "P", "overrides pid-file", "FILE"));
        set.addOption(Poco::Util::Option("help", "h", "this text"));
        set.addOption(Poco::Util::Option("version", "V", "the version"));
    }

    void handleOption(const std::string& name, const std::string& value) override {
        ServerApplication::handleOption(name, value);
        // A background process works in `/`, so that it holds no other folder.
        const auto absolute = [&] { return std::filesystem::absolute(value).string(); };
        if (name == "config-file" || name == "config") options_.config_file = absolute();
        if (name == "log-file") options_.overrides.push_back({"logger.log", absolute()});
        if (name == "errorlog-file") options_.overrides.push_back({"logger.errorlog", absolute()});
        if (name == "pid-file") options_.overrides.push_back({"pid-file", absolute()});
        if (name == "help" || name == "version") {
            says_only_ = true;
            stopOptionsProcessing();
            if (name == "version") return fmt::print("{}\n", kVersion);
            Poco::Util::HelpFormatter formatter(options());
            formatter.setCommand("shardd server");
            formatter.setUsage("[options] [-- --key.sub=value ...]");
            formatter.setAutoIndent();
            formatter.format(std::cout);
        }
    }

    int main(const std::vector<std::string>& arguments) override {
        if (says_only_) return 0;
        if (!arguments.empty()) {
            fmt::print(stderr, "shardd server: unexpected argument {}\n{}", arguments[0], kUsage);
            return EXIT_USAGE;
        }
        const sigset_t signals = endingSignals();
        pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // before any thread is made: all of them inherit it
        ::signal(SIGPIPE, SIG_IGN);
        ::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of who writes it
        startReturningMemory();
        shardd::daemon::Daemon daemon(options_);
        try {
            daemon.start();
        } catch (const Error& error) {
            return tell(error);
        }
        serve(daemon, signals);
        return 0;
    }

private:
    static Poco::Util::Option withValue(const char* name,
                                        const char* letter,
                                        const char* text,
                                        const char* value) {
        return Poco::Util::Option(name, letter, text).argument(value);
    }

    static void serve(shardd::daemon::Daemon& daemon, const sigset_t& signals) {
        int number = 0;
        while (sigwait(&signals, &number) == 0 && number == SIGHUP) daemon.reload();
        // Whatever hangs, the process ends; a second signal ends it sooner.
        std::thread([&daemon, signals, limit = daemon.stopLimit()] {
            const auto whole = std::chrono::duration_cast<std::chrono::seconds>(limit);
            const timespec wait{whole.count(), 0};
            if (sigtimedwait(&signals, nullptr, &wait) > 0) {
                daemon.hurry();
                std::this_thread::sleep_for(std::chrono::seconds(5));
            }
            ::_exit(0);
        }).detach();
        daemon.stop();
        std::fflush(nullptr);
        ::_exit(0);  // the thread above still looks at the daemon: nothing may be destroyed under it
    }

    shardd::daemon::DaemonOptions options_;
    bool says_only_ = false;
};

/// Splits what follows `--` off the arguments. Errors: BAD_ARGUMENTS for anything that is not --key=value.
std::vector<ConfigOverride> takeOverrides(std::vector<std::string>& arguments) {
    std::vector<ConfigOverride> overrides;
    for (size_t i = 0; i < arguments.size(); ++i) {
        if (arguments[i] != "--") continue;
        for (size_t j = i + 1; j < arguments.size(); ++j) {
            auto parsed = shardd::parseOverride(arguments[j]);
            if (!parsed)
                throw Error(shardd::ErrorCode::BAD_ARGUMENTS, "Wanted --key.sub=value after --, found {}",
                            arguments[j]);
            overrides.push_back(std::move(*parsed));
        }
        arguments.resize(i);
    }
    return overrides;
}

int checkConfig(const std::vector<std::string>& arguments, const std::vector<ConfigOverride>& overrides) {
    if (arguments.size() != 1) {
        fmt::print(stderr, "{}", kUsage);
        return 64;
    }
    const shardd::ConfigReport report = shardd::checkConfig(arguments[0], overrides);
    for (const auto& warning : report.warnings) fmt::print("warning: {}\n", warning);
    for (const auto& mistake : report.errors) fmt::print("{}\n", mistake);
    if (report.errors.empty()) fmt::print("{}: no mistakes\n", arguments[0]);
    return report.errors.empty() ? 0 : 1;
}

/// The words that a background process could tell nobody: a wrong configuration is found before it begins.
void checkBeforeLeaving(const std::vector<std::string>& arguments,
                        const std::vector<ConfigOverride>& overrides) {
    bool is_daemon = false;
    std::string file;
    for (size_t i = 0; i < arguments.size(); ++i) {
        const std::string& word = arguments[i];
        is_daemon |= word == "--daemon";
        for (const std::string prefix : {"--config-file=", "--config="})
            if (word.starts_with(prefix)) file = word.substr(prefix.size());
        const bool stands_apart = word == "-C" || word == "--config" || word == "--config-file";
        if (stands_apart && i + 1 < arguments.size()) file = arguments[i + 1];
    }
    if (is_daemon && !file.empty()) shardd::loadConfig(file, overrides);
}

int runServer(const char* program,
              const std::vector<std::string>& arguments,
              std::vector<ConfigOverride> overrides) {
    checkBeforeLeaving(arguments, overrides);
    std::vector<std::string> words{program};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    for (auto& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    Poco::AutoPtr<ServerProgram> server(new ServerProgram(std::move(overrides)));
    return server->run(static_cast<int>(words.size()), pointers.data());
}

}  // namespace

int main(int argc, char** argv) {
    try {
        std::vector<std::string> arguments(argv + 1, argv + argc);
        auto overrides = takeOverrides(arguments);
        const std::string verb = arguments.empty() ? "--help" : arguments[0];
        if (!arguments.empty()) arguments.erase(arguments.begin());
        if (verb == "server") return runServer(argv[0], arguments, std::move(overrides));
        if (verb == "check-config") return checkConfig(arguments, overrides);
        if (verb == "--version" || verb == "-V") return fmt::print("{}\n", kVersion), 0;
        fmt::print(verb == "--help" || verb == "-h" ? stdout : stderr, "{}", kUsage);
        return verb == "--help" || verb == "-h" ? 0 : 64;
    } catch (const Error& error) {
        return tell(error);
    } catch (const std::exception& exception) {
        fmt::print(stderr, "{}\n", exception.what());
        return 1;
    }
}
