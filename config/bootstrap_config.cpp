#include "config/bootstrap_config.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <vector>

#include "common/base/error.h"
#include "config/config_sections.h"

namespace shardd {

namespace {

constexpr uint16_t kDefaultMasterPort = 29500;  // torchrun's

std::optional<uint64_t> numberOf(std::string_view text) {
    uint64_t number = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || status != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

Error wrong(std::string_view text) {
    return Error(ErrorCode::INVALID_CONFIG_PARAMETER, "shardd.bootstrap: {}", text);
}

/// The variables that one kind of launcher sets, in the order in which kinds are tried. Open MPI stands
/// before SLURM: a job's script runs under SLURM with rank 0, and its mpirun hands those variables on to all.
struct Launcher {
    std::string_view name;
    std::string_view rank;
    std::array<std::string_view, 2> world_size;
    std::string_view local_rank;
    std::array<std::string_view, 2> local_world_size;
};

constexpr Launcher kLaunchers[] = {
    {"torch", "RANK", {"WORLD_SIZE", ""}, "LOCAL_RANK", {"LOCAL_WORLD_SIZE", ""}},
    {"Open MPI",
     "OMPI_COMM_WORLD_RANK",
     {"OMPI_COMM_WORLD_SIZE", ""},
     "OMPI_COMM_WORLD_LOCAL_RANK",
     {"OMPI_COMM_WORLD_LOCAL_SIZE", ""}},
    {"SLURM",
     "SLURM_PROCID",
     {"SLURM_NTASKS", "SLURM_NPROCS"},
     "SLURM_LOCALID",
     {"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"}},
    {"PMI", "PMI_RANK", {"PMI_SIZE", ""}, "MPI_LOCALRANKID", {"MPI_LOCALNRANKS", ""}},
};

std::optional<uint64_t> readNumber(const Environment& environment, std::string_view name) {
    if (name.empty()) return std::nullopt;
    const auto text = environment(name);
    if (!text) return std::nullopt;
    const auto number = numberOf(*text);
    if (!number) throw wrong(fmt::format("{} in the environment is no whole number: '{}'", name, *text));
    return number;
}

/// SLURM writes "2(x3),1" for three machines with two and one with one: the most.
std::optional<uint64_t> largestCount(std::string_view text) {
    std::optional<uint64_t> largest;
    while (!text.empty()) {
        const size_t comma = std::min(text.find(','), text.size());
        const std::string_view part = text.substr(0, comma);
        const auto number = numberOf(part.substr(0, part.find('(')));
        if (number && (!largest || *number > *largest)) largest = number;
        text.remove_prefix(std::min(comma + 1, text.size()));
    }
    return largest;
}

/// What the query of a URL says: "rank=1&world_size=4".
void readQuery(std::string_view query, BootstrapConfig& config) {
    while (!query.empty()) {
        const size_t end = std::min(query.find('&'), query.size());
        const std::string_view pair = query.substr(0, end);
        const size_t equals = std::min(pair.find('='), pair.size());
        const std::string_view key = pair.substr(0, equals);
        const auto number = numberOf(pair.substr(std::min(equals + 1, pair.size())));
        std::optional<uint64_t>* target = key == "rank"         ? &config.rank
                                          : key == "world_size" ? &config.world_size
                                                                : nullptr;
        if (!target || !number)
            throw wrong(fmt::format("init_method: wanted ?rank=N&world_size=N, found '{}'", pair));
        if (!*target) *target = number;
        query.remove_prefix(std::min(end + 1, query.size()));
    }
}

/// Scheme and rest of the URL; its query is taken off and read.
std::pair<std::string, std::string> splitUrl(BootstrapConfig& config) {
    std::string_view url = config.init_method;
    if (const size_t mark = url.find('?'); mark != std::string_view::npos) {
        readQuery(url.substr(mark + 1), config);
        url = url.substr(0, mark);
    }
    for (const std::string_view scheme : {"env://", "tcp://", "file://"})
        if (url.starts_with(scheme)) return {std::string(scheme), std::string(url.substr(scheme.size()))};
    throw wrong(fmt::format("init_method: wanted env://, tcp://HOST:PORT or file:///PATH, found '{}'",
                            config.init_method));
}

/// What the launcher said of itself; nothing where it said nothing.
struct Launched {
    const Launcher* launcher = nullptr;
    std::optional<uint64_t> rank;
    std::optional<uint64_t> world_size;
};

Launched findLauncher(const Environment& environment) {
    Launched half;
    for (const Launcher& launcher : kLaunchers) {
        Launched found{&launcher, readNumber(environment, launcher.rank), std::nullopt};
        for (const std::string_view name : launcher.world_size)
            if (!found.world_size) found.world_size = readNumber(environment, name);
        if (found.rank && found.world_size) return found;
        // The other launchers' variables have other purposes too; these are set for whom they are meant.
        if (launcher.name == "torch" && (found.rank || found.world_size)) half = found;
    }
    return half;
}

void readLocalRank(const Environment& environment, const Launcher& launcher, BootstrapPlan& plan) {
    plan.local_rank = readNumber(environment, launcher.local_rank).value_or(0);
    for (const std::string_view name : launcher.local_world_size) {
        const auto text = name.empty() ? std::nullopt : environment(name);
        if (const auto count = text ? largestCount(*text) : std::nullopt) {
            plan.local_world_size = *count;
            break;
        }
    }
    plan.local_world_size = std::max(plan.local_world_size, plan.local_rank + 1);
}

/// Whether there is a rank at all.
bool readRank(const Environment& environment, const BootstrapConfig& config, BootstrapPlan& plan) {
    const Launched launched = findLauncher(environment);
    const std::optional<uint64_t> rank = config.rank ? config.rank : launched.rank;
    const std::optional<uint64_t> world_size = config.world_size ? config.world_size : launched.world_size;
    if (!rank && !world_size) return false;
    if (!world_size) throw wrong("there is a rank and no world_size (WORLD_SIZE in the environment)");
    if (!rank) throw wrong("there is a world_size and no rank (RANK in the environment)");
    if (*world_size == 0 || *world_size > kMaxWorldSize)
        throw wrong(fmt::format("world_size {} is not from 1 to {}", *world_size, kMaxWorldSize));
    if (*rank >= *world_size)
        throw wrong(fmt::format("rank {} is not below world_size {}", *rank, *world_size));
    plan.rank = *rank;
    plan.world_size = *world_size;
    const bool is_launched = launched.launcher && (!config.rank || !config.world_size);
    plan.source =
        is_launched ? fmt::format("the variables of {}", launched.launcher->name) : "the configuration";
    if (launched.launcher) readLocalRank(environment, *launched.launcher, plan);
    return true;
}

void readMaster(const Environment& environment, BootstrapPlan& plan) {
    const auto address = environment("MASTER_ADDR");
    if (address) {
        plan.host = *address;
    } else {
        for (const std::string_view name : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"}) {
            if (const auto list = environment(name); list && plan.host.empty()) plan.host = firstHost(*list);
        }
    }
    if (plan.host.empty())
        throw wrong("env:// needs MASTER_ADDR, the address of rank 0, and it is not in the environment");
    const uint64_t port = readNumber(environment, "MASTER_PORT").value_or(kDefaultMasterPort);
    if (port == 0 || port > 65535) throw wrong(fmt::format("MASTER_PORT {} is no port", port));
    plan.port = static_cast<uint16_t>(port);
}

void checkForm(ConfigReader& reader, const BootstrapConfig& bootstrap) {
    const auto check = [&](std::string_view key, const auto& parse) {
        try {
            parse();
        } catch (const Error& error) {
            const ConfigNode* node = reader.take(key);
            const std::string_view text = error.message();
            const size_t start = std::min(text.find(": ", text.find(": ") + 2) + 2, text.size());
            if (node) reader.error(*node, key, text.substr(start));
        }
    };
    check("init_method", [&] {
        BootstrapConfig copy = bootstrap;
        copy.rank.reset();
        copy.world_size.reset();
        const auto [scheme, rest] = splitUrl(copy);
        if (scheme == "env://" && !rest.empty())
            throw wrong(fmt::format("init_method: nothing may follow env://, found '{}'", rest));
        const auto target = parseHostAndPort(rest);
        if (scheme == "tcp://" && (!target || target->port == 0))
            throw wrong(
                fmt::format("init_method: wanted tcp://HOST:PORT, found '{}'", bootstrap.init_method));
        if (scheme == "file://" && !rest.starts_with('/'))
            throw wrong(fmt::format("init_method: wanted file:///PATH with an absolute path, found '{}'",
                                    bootstrap.init_method));
    });
    check("advertise", [&] {
        if (!bootstrap.advertise.empty() && !parseHostAndPort(bootstrap.advertise))
            throw wrong(fmt::format("advertise: wanted HOST or HOST:PORT, found '{}'", bootstrap.advertise));
    });
}

}  // namespace

std::optional<std::string> processEnvironment(std::string_view name) {
    const char* value = std::getenv(std::string(name).c_str());
    if (!value || !*value) return std::nullopt;
    return value;
}

std::optional<HostAndPort> parseHostAndPort(std::string_view text) {
    HostAndPort result;
    std::string_view port;
    if (text.starts_with('[')) {
        const size_t end = text.find(']');
        if (end == std::string_view::npos) return std::nullopt;
        result.host = text.substr(1, end - 1);
        if (end + 1 < text.size()) {
            if (text[end + 1] != ':') return std::nullopt;
            port = text.substr(end + 2);
            if (port.empty()) return std::nullopt;
        }
    } else {
        const size_t colon = text.find(':');
        if (colon != text.rfind(':')) return std::nullopt;  // an IPv6 address needs its brackets
        result.host = text.substr(0, colon);
        if (colon != std::string_view::npos) {
            port = text.substr(colon + 1);
            if (port.empty()) return std::nullopt;
        }
    }
    constexpr size_t kLongestName = 253;
    if (result.host.empty() || result.host.size() > kLongestName ||
        result.host.find_first_of(" /@\\") != std::string::npos)
        return std::nullopt;
    if (!port.empty()) {
        const auto number = numberOf(port);
        if (!number || *number == 0 || *number > 65535) return std::nullopt;
        result.port = static_cast<uint16_t>(*number);
    }
    return result;
}

std::string firstHost(std::string_view node_list) {
    std::string host;
    bool inside = false;
    for (const char c : node_list) {
        if (c == '[') {
            inside = true;
        } else if (inside && (c == '-' || c == ',')) {
            break;  // the first number is the first host's
        } else if (c == ',' || c == ']') {
            break;
        } else {
            host += c;
        }
    }
    // What follows the brackets belongs to the name.
    if (const size_t end = node_list.find(']'); inside && end != std::string_view::npos) {
        const std::string_view rest = node_list.substr(end + 1);
        host += rest.substr(0, rest.find(','));
    }
    return host;
}

void readBootstrap(ConfigReader reader, BootstrapConfig& bootstrap) {
    bootstrap.enabled = reader.node() != nullptr;
    if (!bootstrap.enabled) return;
    reader.read("cluster", bootstrap.cluster);
    reader.read("init_method", bootstrap.init_method);
    uint64_t number = 0;
    if (reader.readInteger("rank", number, 0, kMaxWorldSize - 1)) bootstrap.rank = number;
    if (reader.readInteger("world_size", number, 1, kMaxWorldSize)) bootstrap.world_size = number;
    reader.read("advertise", bootstrap.advertise);
    size_t word = 0;
    if (reader.readWord("backend", {"tcp", "tls"}, word)) bootstrap.secure = word == 1;
    if (reader.readWord("role", {"shard", "initiator", "both"}, word))
        bootstrap.role = static_cast<BootstrapConfig::Role>(word);
    reader.readSeconds("timeout", bootstrap.timeout_us);
    reader.read("secret", bootstrap.secret);
    reader.read("user", bootstrap.user);
    reader.read("password", bootstrap.password);
    reader.finish();
    if (bootstrap.cluster.empty()) reader.error("wanted a name under cluster");
    checkForm(reader, bootstrap);
}

BootstrapPlan resolveBootstrap(const BootstrapConfig& config, const Environment& environment) {
    BootstrapConfig own = config;
    const auto [scheme, rest] = splitUrl(own);
    BootstrapPlan plan;
    if (!readRank(environment, own, plan)) {
        if (scheme == "env://") return plan;
        throw wrong(
            fmt::format("init_method {} needs rank and world_size: in the configuration, in the URL "
                        "(?rank=N&world_size=N) or in the environment",
                        config.init_method));
    }
    if (plan.world_size == 1) return plan;  // one node needs no meeting place
    if (scheme == "file://") {
        plan.method = BootstrapPlan::Method::File;
        plan.path = rest;
        return plan;
    }
    plan.method = BootstrapPlan::Method::Tcp;
    if (scheme == "env://") {
        readMaster(environment, plan);
    } else {
        const auto target = parseHostAndPort(rest);
        if (!target || target->port == 0)
            throw wrong(fmt::format("init_method: wanted tcp://HOST:PORT, found '{}'", config.init_method));
        plan.host = target->host;
        plan.port = target->port;
    }
    return plan;
}

}  // namespace shardd
