#include "config/config.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <unistd.h>

#include "common/base/error.h"
#include "config/config_sections.h"
#include "config/known_keys.h"

namespace shardd {

namespace {

namespace fs = std::filesystem;

// Sections that users and their rights are made of: in the main file or in one of their own.
constexpr std::string_view kUserSections[] = {"users", "profiles", "quotas"};

std::optional<std::string> readFile(const fs::path& path) {
    constexpr std::streamsize kMaxFile = (16 << 20) + 1;
    std::ifstream stream(path, std::ios::binary);
    std::error_code status;
    if (!stream || fs::is_directory(path, status)) return std::nullopt;
    std::string text(static_cast<size_t>(kMaxFile), '\0');
    stream.read(text.data(), kMaxFile);
    text.resize(static_cast<size_t>(stream.gcount()));
    return text;
}

// One file serves all the processes that a launcher starts on a machine: each has its own ports and folder.
void shareMachine(Config& config) {
    const BootstrapPlan& plan = config.shardd.bootstrap_plan;
    if (plan.local_world_size <= 1) return;
    const auto shift = [&](std::optional<uint16_t>& port) {
        if (!port || *port == 0) return;
        const uint64_t own = *port + plan.local_rank;
        if (own > 65535)
            throw Error(ErrorCode::INVALID_CONFIG_PARAMETER, "port {} plus local rank {} is beyond 65535",
                        *port, plan.local_rank);
        port = static_cast<uint16_t>(own);
    };
    shift(config.tcp_port);
    shift(config.tcp_port_secure);
    shift(config.http_port);
    const std::string own = fmt::format("rank_{}", plan.rank);
    const auto below = [&](std::string& path) {
        if (!path.empty()) path = (fs::path(path) / own).string() + "/";
    };
    const auto beside = [&](std::string& path) {
        if (!path.empty()) path += "." + own;
    };
    below(config.path);
    below(config.tmp_path);
    beside(config.logger.log);
    beside(config.logger.errorlog);
    beside(config.pid_file);
}

// Reads one configuration with all that belongs to it. Lives for one load.
class Loader {
public:
    Config config;
    ConfigMistakes mistakes;

    void loadFile(const std::string& file, const std::vector<ConfigOverride>& overrides) {
        config.file = file;
        if (isForeignFormat(file, true)) return;
        const auto text = readFile(file);
        if (!text) return mistakes.error({file, 0, 0}, "", "cannot be read");
        ConfigNode root = withoutRootKey(parseYaml(*text, file, mistakes));
        const fs::path folder = fs::path(file).parent_path();
        for (const auto& name : mergeFolders(file, "config.d", "conf.d")) mergeFile(folder / name, root);
        load(std::move(root), overrides, true);
    }

    void loadText(const std::string& text,
                  const std::string& file,
                  const std::vector<ConfigOverride>& overrides) {
        config.file = file;
        load(withoutRootKey(parseYaml(text, file, mistakes)), overrides, false);
    }

private:
    void load(ConfigNode root, const std::vector<ConfigOverride>& overrides, bool reads_files) {
        for (const auto& [path, value] : overrides) overrideConfig(root, path, value, mistakes);
        resolveAttributes(root, "", mistakes);
        ConfigReader reader(&root, "", mistakes);
        ConfigNode users = usersTree(reader, root, reads_files);
        readTop(reader);
        readRest(reader);
        readProfiles(users.find("profiles"), config, mistakes);
        readUsers(users.find("users"), config, mistakes);
        readQuotas(users.find("quotas"), mistakes);
        if (!config.profiles.contains(config.default_profile))
            mistakes.error(root.place, "default_profile",
                           fmt::format("there is no profile {}", config.default_profile));
        planBootstrap(reader);
        config.warnings = mistakes.warnings;
    }

    // Who this process is among those that a launcher started.
    void planBootstrap(ConfigReader& reader) {
        const BootstrapConfig& bootstrap = config.shardd.bootstrap;
        if (!bootstrap.enabled || !mistakes.errors.empty()) return;
        const ConfigNode* node = reader.take("shardd")->find("bootstrap");
        if (config.clusters.contains(bootstrap.cluster))
            mistakes.error(
                node->place, "shardd.bootstrap.cluster",
                fmt::format("{} stands under remote_servers: give the one that is formed another name",
                            bootstrap.cluster));
        try {
            config.shardd.bootstrap_plan = resolveBootstrap(bootstrap, processEnvironment);
            shareMachine(config);
        } catch (const Error& error) {
            mistakes.error(node->place, "", error.message());
        }
    }

    bool isForeignFormat(const fs::path& path, bool is_main) {
        const std::string extension = path.extension().string();
        if (extension != ".xml" && extension != ".conf") return false;
        if (is_main)
            mistakes.error({path.string(), 0, 0}, "",
                           "only YAML is read: write the same keys into a .yaml file");
        else
            mistakes.warn({path.string(), 0, 0}, "", "left out: only YAML is read");
        return true;
    }

    // "config.d", "conf.d" and "<name of the file>.d": the folders whose files are merged into `file`.
    static std::vector<std::string> mergeFolders(const fs::path& file,
                                                 const std::string& first,
                                                 const std::string& second) {
        std::vector<std::string> folders{first, second};
        const std::string own = file.stem().string() + ".d";
        if (own != first && own != second) folders.push_back(own);
        return folders;
    }

    void mergeFile(const fs::path& folder, ConfigNode& root) {
        std::error_code status;
        std::vector<fs::path> files;
        for (fs::directory_iterator it(folder, status), end; !status && it != end; it.increment(status))
            files.push_back(it->path());
        std::sort(files.begin(), files.end());
        for (const auto& path : files) {
            const std::string extension = path.extension().string();
            if (isForeignFormat(path, false) || (extension != ".yaml" && extension != ".yml")) continue;
            const auto text = readFile(path);
            if (!text) {
                mistakes.error({path.string(), 0, 0}, "", "cannot be read");
                continue;
            }
            mergeConfig(root, withoutRootKey(parseYaml(*text, path.string(), mistakes)));
        }
    }

    // The sections of users from the file that the main one names, or from the main one itself.
    ConfigNode usersTree(ConfigReader& reader, const ConfigNode& root, bool reads_files) {
        std::string path;
        reader.read("users_config", path);
        ConfigReader directories = reader.section("user_directories");
        directories.section("users_xml").read("path", path);
        if (directories.node())
            for (const auto& [key, node] : directories.unread())
                mistakes.warn(node->place, directories.pathOf(key), "known to ClickHouse, of no effect here");
        for (const std::string_view section : kUserSections) {
            const ConfigNode* node = reader.take(section);
            if (node && !path.empty())
                mistakes.warn(node->place, section, fmt::format("left out: users are read from {}", path));
        }
        if (path.empty() || !reads_files) return root;
        fs::path file = path;
        if (file.is_relative()) file = fs::path(config.file).parent_path() / file;
        if (isForeignFormat(file, true)) return {};
        const auto text = readFile(file);
        if (!text) {
            mistakes.error({file.string(), 0, 0}, "", "cannot be read (named by users_config)");
            return {};
        }
        ConfigNode users = withoutRootKey(parseYaml(*text, file.string(), mistakes));
        for (const auto& name : mergeFolders(file, "users.d", "users.d"))
            mergeFile(file.parent_path() / name, users);
        resolveAttributes(users, "", mistakes);
        checkUsersTop(users);
        return users;
    }

    void checkUsersTop(const ConfigNode& users) {
        ConfigReader reader(&users, "", mistakes);
        for (const std::string_view section : kUserSections) reader.take(section);
        for (const std::string_view section : {"roles", "settings_profiles", "include_from"})
            reader.ignore(section);
        reader.finish();
    }

    void readTop(ConfigReader& reader) {
        readLogger(reader.section("logger"), config.logger);
        readShardd(reader.section("shardd"), config.shardd);
        readMacros(reader.take("macros"), config, mistakes);
        readClusters(reader.take("remote_servers"), config, mistakes);
        reader.read("display_name", config.display_name);
        // Nobody asked for both loopback addresses: a machine without IPv6 must start all the same.
        if (auto hosts = reader.readStrings("listen_host"); !hosts.empty())
            config.listen_host = std::move(hosts);
        else
            config.listen_try = true;
        reader.read("listen_try", config.listen_try);
        reader.read("listen_reuse_port", config.listen_reuse_port);
        reader.readInteger("listen_backlog", config.listen_backlog, 1, 65535);
        readPort(reader, "tcp_port", config.tcp_port);
        readPort(reader, "tcp_port_secure", config.tcp_port_secure);
        readTls(reader.section("openSSL"), config);
        if (config.tcp_port_secure && config.tls_server.certificate_file.empty())
            reader.error(*reader.take("tcp_port_secure"), "tcp_port_secure",
                         "needs openSSL.server.certificateFile and openSSL.server.privateKeyFile");
        readPort(reader, "http_port", config.http_port);
        reader.read("path", config.path);
        reader.read("tmp_path", config.tmp_path);
        reader.read("pid-file", config.pid_file);
        readTimezone(reader);
        reader.read("default_profile", config.default_profile);
        reader.read("default_database", config.default_database);
        readPrefixes(reader);
        reader.readInteger("max_connections", config.max_connections, 1, 1000000);
        reader.readInteger("max_concurrent_queries", config.max_concurrent_queries);
        reader.readInteger("max_concurrent_select_queries", config.max_concurrent_select_queries);
        reader.readSize("max_server_memory_usage", config.max_server_memory_usage);
        reader.read("max_server_memory_usage_to_ram_ratio", config.max_server_memory_usage_to_ram_ratio, 0,
                    1000);
        reader.readInteger("max_thread_pool_size", config.max_thread_pool_size, 1, 1000000);
        reader.readSize("mark_cache_size", config.mark_cache_size);
        reader.readSize("uncompressed_cache_size", config.uncompressed_cache_size);
        reader.readSize("max_table_size_to_drop", config.max_table_size_to_drop);
        reader.readSeconds("shutdown_wait_unfinished", config.shutdown_wait_unfinished_us);
        reader.read("shutdown_wait_unfinished_queries", config.shutdown_wait_unfinished_queries);
        reader.readSeconds("keep_alive_timeout", config.keep_alive_timeout_us);
    }

    static void readPort(ConfigReader& reader, std::string_view key, std::optional<uint16_t>& port) {
        uint16_t number = 0;
        const ConfigNode* node = reader.take(key);
        if (node && node->isNull())
            port.reset();
        else if (reader.readPort(key, number))
            port = number;
    }

    void readTimezone(ConfigReader& reader) {
        if (!reader.read("timezone", config.timezone)) return;
        try {
            Settings scratch;
            scratch.set("session_timezone", config.timezone);
        } catch (const Error& error) {
            reader.error(*reader.take("timezone"), "timezone", error.message());
        }
    }

    void readPrefixes(ConfigReader& reader) {
        std::string text;
        if (!reader.read("custom_settings_prefixes", text)) return;
        std::istringstream stream(text);
        for (std::string prefix; std::getline(stream, prefix, ',');) {
            prefix.erase(0, prefix.find_first_not_of(' '));
            prefix.erase(prefix.find_last_not_of(' ') + 1);
            if (!prefix.empty()) config.custom_settings_prefixes.push_back(prefix);
        }
    }

    // What ClickHouse knows and we do not is a warning each; a setting of queries stops the start.
    void readRest(ConfigReader& reader) {
        bool skip_check = false;
        reader.read("skip_check_for_incorrect_settings", skip_check);
        for (const auto& [key, node] : reader.unread()) {
            const bool is_foreign =
                isKnownServerKey(key) || key.starts_with("graphite_rollup") || key.ends_with("_log");
            if (is_foreign) {
                reader.ignore(key);
            } else if (Settings::knows(key)) {
                if (!skip_check)
                    reader.error(*node, key,
                                 "a setting of users stands among those of the server: write it below "
                                 "profiles.default, or set skip_check_for_incorrect_settings: 1");
                reader.take(key);
            }
        }
        reader.finish(knownServerKeys());
    }
};

Config finished(Loader& loader) {
    if (loader.mistakes.errors.empty()) return std::move(loader.config);
    std::string all;
    for (const auto& mistake : loader.mistakes.errors) all += "\n" + mistake;
    throw Error(ErrorCode::INVALID_CONFIG_PARAMETER, "The configuration has {} mistake{}:{}",
                loader.mistakes.errors.size(), loader.mistakes.errors.size() == 1 ? "" : "s", all);
}

uint64_t machineMemory() {
    uint64_t bytes =
        static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE));
    // A container may be given less than the machine has.
    for (const char* file : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
        std::ifstream stream(file);
        uint64_t limit = 0;
        if (stream >> limit && limit > 0) bytes = std::min(bytes, limit);
    }
    return bytes;
}

}  // namespace

uint64_t Config::serverMemoryLimit() const {
    const double ratio = max_server_memory_usage_to_ram_ratio;
    const auto by_ratio = static_cast<uint64_t>(static_cast<double>(machineMemory()) * ratio);
    if (max_server_memory_usage == 0) return by_ratio;
    return ratio > 0 ? std::min(max_server_memory_usage, by_ratio) : max_server_memory_usage;
}

Config loadConfig(const std::string& file, const std::vector<ConfigOverride>& overrides) {
    Loader loader;
    loader.loadFile(file, overrides);
    return finished(loader);
}

Config parseConfig(const std::string& text,
                   const std::string& file,
                   const std::vector<ConfigOverride>& overrides) {
    Loader loader;
    loader.loadText(text, file, overrides);
    return finished(loader);
}

ConfigReport checkConfig(const std::string& file, const std::vector<ConfigOverride>& overrides) {
    Loader loader;
    loader.loadFile(file, overrides);
    return {loader.mistakes.errors, loader.mistakes.warnings};
}

std::optional<ConfigOverride> parseOverride(std::string_view argument) {
    const size_t equals = argument.find('=');
    if (!argument.starts_with("--") || equals == std::string_view::npos || equals == 2) return std::nullopt;
    return ConfigOverride{std::string(argument.substr(2, equals - 2)),
                          std::string(argument.substr(equals + 1))};
}

}  // namespace shardd
