#include "config/config.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "common/base/error.h"
#include "config/nearest.h"
#include "config/yaml_tree.h"

namespace shardd {
namespace {

namespace fs = std::filesystem;

std::string mistakesOf(const std::string& text) {
    try {
        parseConfig(text, "f.yaml");
        return "";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), 318);
        return error.message().substr(error.message().find('\n') + 1);
    }
}

struct Bad {
    const char* yaml;
    const char* expected;
};

TEST(ConfigTest, tellsMistakesWithTheirPlace) {
    const Bad cases[] = {
        {"tcp_port: nine\n", "f.yaml:1:11: tcp_port: wanted a whole number from 0 to 65535, found 'nine'"},
        {"tcp_port: 70000\n", "f.yaml:1:11: tcp_port: wanted a whole number from 0 to 65535, found '70000'"},
        {"max_connections: 010\n",
         "f.yaml:1:18: max_connections: 010 is octal in YAML and decimal elsewhere: write it without the "
         "leading zero"},
        {"max_conections: 10\n",
         "f.yaml:1:17: max_conections: unknown key; the nearest known key is max_connections"},
        {"\nzzzzzzzz: 1\n", "f.yaml:2:11: zzzzzzzz: unknown key"},
        {"path: a\npath: b\n", "f.yaml:2:1: path: the key stands here a second time; the first is in line 1"},
        {"logger:\n  level: loud\n",
         "f.yaml:2:10: logger.level: wanted one of none, fatal, critical, error, warning, notice, "
         "information, debug, "
         "trace, test, found 'loud'"},
        {"logger: {console: maybe}\n",
         "f.yaml:1:19: logger.console: wanted 0, 1, true, false, yes or no, found 'maybe'"},
        {"logger: {size: 12X}\n",
         "f.yaml:1:16: logger.size: wanted a size such as 1000M, 10G or 1Gi, found '12X'"},
        {"logger: [1, 2]\n", "f.yaml:1:9: logger: wanted a map of keys, found a list"},
        {"max_threads: 8\n",
         "f.yaml:1:14: max_threads: a setting of users stands among those of the server: write it below "
         "profiles.default, or set skip_check_for_incorrect_settings: 1"},
        {"- a\n- b\n", "f.yaml:1:1: wanted a map of keys at the top of the file"},
        {"a: [1\n", "f.yaml:2:1: not YAML: end of sequence flow not found\nf.yaml:1:4: a: unknown key"},
        {"a: *b\n", "f.yaml:1:4: not YAML: the referenced anchor is not defined"},
        {"timezone: Mars/Olympus\n", "f.yaml:1:11: timezone: Invalid time zone: Mars/Olympus"},
        {"remote_servers: {c: {shard: {replica: {port: 1}}}}\n",
         "f.yaml:1:39: remote_servers.c.shard.replica: wanted a host"},
        {"remote_servers: {c: {shard: {weight: 1}}}\n",
         "f.yaml:1:29: remote_servers.c.shard: wanted at least one replica"},
        {"remote_servers: {c: {secret: x}}\n",
         "f.yaml:1:21: remote_servers.c: wanted at least one shard or node"},
        {"remote_servers: {c: {node: [{host: a}, {host: b, port: 0}]}}\n",
         "f.yaml:1:56: remote_servers.c.node[1].port: wanted a port from 1 to 65535, found 0"},
        {"remote_servers: {c: {node: {host: a, prot: 1}}}\n",
         "f.yaml:1:44: remote_servers.c.node.prot: unknown key; the nearest known key is port"},
        {"profiles: {default: {max_treads: 8}}\n",
         "f.yaml:1:34: profiles.default.max_treads: Unknown setting 'max_treads': Maybe you meant "
         "['max_threads']"},
        {"profiles: {default: {max_threads: many}}\n",
         "f.yaml:1:35: profiles.default.max_threads: Cannot parse input: expected 'eof' before: 'many'"},
        {"profiles: {a: {profile: b}, b: {profile: a}}\n",
         "f.yaml:1:15: profiles.a: the profile inherits from itself"},
        {"profiles: {a: {profile: defualt}, default: {}}\n",
         "f.yaml:1:25: profiles.a.profile: there is no profile defualt; the nearest known key is default"},
        {"profiles: {default: {constraints: {max_threads: {min: x}}}}\n",
         "f.yaml:1:55: profiles.default.constraints.max_threads.min: Cannot parse input: expected 'eof' "
         "before: 'x'"},
        {"users: {u: {}}\n",
         "f.yaml:1:12: users.u: wanted one of password, password_sha256_hex, password_double_sha1_hex, "
         "no_password"},
        {"users: {u: {password: a, no_password: 1}}\n",
         "f.yaml:1:12: users.u: wanted only one of password, password_sha256_hex, password_double_sha1_hex, "
         "no_password"},
        {"users: {u: {password_sha256_hex: abc}}\n",
         "f.yaml:1:34: users.u.password_sha256_hex: wanted 64 hexadecimal digits"},
        {"users: {u: {password: a, networks: {ip: 10.0.0.0/40}}}\n",
         "f.yaml:1:41: users.u.networks.ip: wanted an address or a CIDR such as 10.0.0.0/8, found "
         "'10.0.0.0/40'"},
        {"path: {'@from_env': SHARDD_TEST_UNSET}\n",
         "f.yaml:1:21: path: the environment variable SHARDD_TEST_UNSET is not set"},
        {"macros: {'@incl': m}\n",
         "f.yaml:1:19: macros: the attribute @incl is not read here: write the value itself"},
        {"tcp_port: x\nhttp_port: y\n",
         "f.yaml:1:11: tcp_port: wanted a whole number from 0 to 65535, found 'x'\n"
         "f.yaml:2:12: http_port: wanted a whole number from 0 to 65535, found 'y'"},
    };
    for (const Bad& bad : cases) EXPECT_EQ(mistakesOf(bad.yaml), bad.expected) << bad.yaml;
}

TEST(ConfigTest, depthAndSizeAreBounded) {
    std::string deep = "macros: ";
    for (int i = 0; i < 200; ++i) deep += "{a: ";
    EXPECT_NE(mistakesOf(deep).find("too deep: at most 64 levels"), std::string::npos);
    std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
    for (int i = 1; i < 9; ++i) {
        bomb += fmt::format("a{}: &a{} [", i, i);
        for (int j = 0; j < 10; ++j) bomb += fmt::format("*a{}, ", i - 1);
        bomb += "]\n";
    }
    EXPECT_NE(mistakesOf(bomb).find("too large: at most 200000 values"), std::string::npos);
}

TEST(ConfigTest, readsEverything) {
    const Config config = parseConfig(R"(
clickhouse:
  logger: {level: debug, log: /l, errorlog: /e, size: 100M, count: 3, console: yes, levels: {exec: trace}}
  display_name: one
  listen_host: ['0.0.0.0', '::']
  tcp_port: 9001
  http_port: 8124
  path: /data/
  timezone: Europe/Berlin
  max_server_memory_usage: 10Gi
  shutdown_wait_unfinished: 2.5
  custom_settings_prefixes: 'my_, SQL_'
  macros: {shard: '01', replica: r1}
  shardd: {decoded_cache_size: 1G, worker_threads: 7}
  profiles:
    default: {max_threads: 4, my_own: 5}
  remote_servers:
    two:
      secret: s
      shard:
        - weight: 2
          internal_replication: true
          replica:
            - {host: a, port: 9001, user: u, password: p, secure: 1, compression: 0, priority: 2, default_database: d}
            - {host: b}
        - replica: {host: c}
    nodes: {node: [{host: x}, {host: y}]}
)",
                                      "f.yaml", {{"tcp_port", "9999"}, {"logger.count", "5"}});
    EXPECT_EQ(config.logger.level, LogLevel::Debug);
    EXPECT_EQ(config.logger.size_bytes, 100'000'000U);
    EXPECT_EQ(config.logger.count, 5U);
    EXPECT_TRUE(config.logger.console);
    EXPECT_EQ(config.logger.levels.at("exec"), LogLevel::Trace);
    EXPECT_EQ(config.listen_host, (std::vector<std::string>{"0.0.0.0", "::"}));
    EXPECT_EQ(config.tcp_port, 9999);
    EXPECT_EQ(config.max_server_memory_usage, 10ULL << 30);
    EXPECT_EQ(config.shutdown_wait_unfinished_us, 2'500'000);
    EXPECT_EQ(config.custom_settings_prefixes, (std::vector<std::string>{"my_", "SQL_"}));
    EXPECT_EQ(config.macros.at("shard"), "01");
    EXPECT_EQ(config.shardd.decoded_cache_size_bytes, 1'000'000'000U);
    EXPECT_EQ(config.profiles.at("default").settings.get("my_own"), "5");
    const ClusterConfig& two = config.clusters.at("two");
    ASSERT_EQ(two.shards.size(), 2U);
    EXPECT_EQ(two.shards[0].weight, 2U);
    EXPECT_TRUE(two.shards[0].internal_replication);
    EXPECT_EQ(two.shards[0].replicas[0], (ReplicaConfig{.host = "a",
                                                        .port = 9001,
                                                        .secure = true,
                                                        .user = "u",
                                                        .password = "p",
                                                        .default_database = "d",
                                                        .priority = 2,
                                                        .compression = false,
                                                        .bind_host = {}}));
    EXPECT_EQ(two.shards[1].replicas[0].host, "c");
    EXPECT_EQ(config.clusters.at("nodes").shards.size(), 2U);
    EXPECT_TRUE(config.warnings.empty());
}

TEST(ConfigTest, clickHouseKeysAreWarningsOneEach) {
    const Config config = parseConfig(
        "mysql_port: 9004\nzookeeper: {node: {host: a}}\nbackground_pool_size: 3\nquery_log: {database: "
        "system}\n",
        "f.yaml");
    const std::vector<std::string> expected{
        "f.yaml:1:13: mysql_port: known to ClickHouse, of no effect here",
        "f.yaml:2:12: zookeeper: known to ClickHouse, of no effect here",
        "f.yaml:3:23: background_pool_size: known to ClickHouse, of no effect here",
        "f.yaml:4:12: query_log: known to ClickHouse, of no effect here",
    };
    EXPECT_EQ(config.warnings, expected);
}

TEST(ConfigTest, userSettingMayStandWhenTheCheckIsSkipped) {
    EXPECT_EQ(mistakesOf("max_threads: 8\nskip_check_for_incorrect_settings: 1\n"), "");
}

class ConfigFilesTest : public testing::Test {
protected:
    void SetUp() override {
        std::string pattern = (fs::temp_directory_path() / "shardd_config_XXXXXX").string();
        folder_ = mkdtemp(pattern.data());
    }

    void TearDown() override { fs::remove_all(folder_); }

    void write(const std::string& name, const std::string& text) {
        fs::create_directories((folder_ / name).parent_path());
        std::ofstream(folder_ / name) << text;
    }

    std::string path(const std::string& name) const { return (folder_ / name).string(); }

    fs::path folder_;
};

TEST_F(ConfigFilesTest, mergesFoldersAndUsers) {
    write("main.yaml", "tcp_port: 1\nhttp_port: 2\nmacros: {a: x, b: y}\nusers_config: users.yaml\n");
    write("config.d/a.yaml", "tcp_port: 3\nmacros: {a: {'@remove': 1}, c: z}\n");
    write("config.d/b.yml", "clickhouse: {tcp_port: 4}\n");
    write("config.d/c.xml", "<clickhouse/>");
    write("config.d/note.txt", "not read");
    write("users.yaml", "users: {u: {password: p}}\nprofiles: {default: {max_threads: 2}}\n");
    write("users.d/more.yaml", "users: {v: {no_password: 1}, u: {'@replace': 1, no_password: 1}}\n");
    const Config config = loadConfig(path("main.yaml"));
    EXPECT_EQ(config.tcp_port, 4);
    EXPECT_EQ(config.http_port, 2);
    EXPECT_EQ(config.macros, (std::map<std::string, std::string>{{"b", "y"}, {"c", "z"}}));
    EXPECT_EQ(config.users.size(), 2U);
    EXPECT_EQ(config.users.at("u").credential.kind, Credential::Kind::NoPassword);
    EXPECT_EQ(config.profiles.at("default").settings->max_threads, 2U);
    EXPECT_EQ(config.warnings,
              std::vector<std::string>{path("config.d/c.xml") + ": left out: only YAML is read"});
}

TEST_F(ConfigFilesTest, environment) {
    setenv("SHARDD_TEST_PATH", "/from/env", 1);
    write("main.yaml",
          "path: {'@from_env': SHARDD_TEST_PATH}\ntmp_path: {'@replace': 1, '@from_env': SHARDD_TEST_UNSET, "
          "'#text': /t}\n");
    const Config config = loadConfig(path("main.yaml"));
    EXPECT_EQ(config.path, "/from/env");
    EXPECT_EQ(config.tmp_path, "/t");
}

TEST_F(ConfigFilesTest, missingFileIsAMistake) {
    const ConfigReport report = checkConfig(path("none.yaml"));
    EXPECT_EQ(report.errors, std::vector<std::string>{path("none.yaml") + ": cannot be read"});
}

TEST(ConfigExamplesTest, theFilesOfThisRepositoryAreRight) {
    for (const char* name : {"config/shardd.yaml", "config/cluster.yaml"}) {
        const ConfigReport report = checkConfig(std::string(SHARDD_SOURCE_DIR "/") + name);
        EXPECT_TRUE(report.errors.empty()) << report.errors[0];
        EXPECT_TRUE(report.warnings.empty()) << report.warnings[0];
    }
}

TEST(ConfigTest, readsTls) {
    const Config config = parseConfig(
        "tcp_port_secure: 9440\n"
        "openSSL:\n"
        "  server:\n"
        "    {certificateFile: c.pem, privateKeyFile: k.pem, dhParamsFile: d.pem, verificationMode: strict, "
        "cacheSessions: 1,\n"
        "     disableProtocols: 'sslv2,sslv3', requireTLSv1_2: 1, preferServerCiphers: true, cipherList: "
        "ALL,\n"
        "     privateKeyPassphraseHandler: {name: KeyFileHandler, options: {password: p}}}\n"
        "  client: {caConfig: ca.pem, loadDefaultCAFile: false, verificationDepth: 3, extendedVerification: "
        "1,\n"
        "     invalidCertificateHandler: {name: AcceptCertificateHandler}}\n",
        "f");
    EXPECT_EQ(config.tcp_port_secure, 9440);
    const TlsConfig& server = config.tls_server;
    EXPECT_EQ(server.certificate_file, "c.pem");
    EXPECT_EQ(server.private_key_file, "k.pem");
    EXPECT_EQ(server.private_key_password, "p");
    EXPECT_EQ(server.dh_params_file, "d.pem");
    EXPECT_EQ(server.verification_mode, TlsConfig::Verification::Strict);
    EXPECT_EQ(server.cipher_list, "ALL");
    EXPECT_TRUE(server.prefer_server_ciphers);
    EXPECT_TRUE(server.load_default_ca_file);
    EXPECT_EQ(server.disable_protocols, (std::vector<std::string>{"sslv2", "sslv3", "tlsv1", "tlsv1_1"}));
    const TlsConfig& client = config.tls_client;
    EXPECT_EQ(client.ca_config, "ca.pem");
    EXPECT_FALSE(client.load_default_ca_file);
    EXPECT_EQ(client.verification_mode, TlsConfig::Verification::Relaxed);
    EXPECT_EQ(client.verification_depth, 3U);
    EXPECT_TRUE(client.extended_verification);
    EXPECT_TRUE(client.accepts_invalid_certificate);
    EXPECT_EQ(config.warnings.size(), 1U);
}

TEST(ConfigTest, mistakesOfTls) {
    const Bad cases[] = {
        {"tcp_port_secure: 9440\n",
         "f.yaml:1:18: tcp_port_secure: needs openSSL.server.certificateFile and "
         "openSSL.server.privateKeyFile"},
        {"openSSL: {server: {certificateFile: c.pem}}\n",
         "f.yaml:1:19: openSSL.server: certificateFile and privateKeyFile belong together"},
        {"openSSL: {client: {verificationMode: maybe}}\n",
         "f.yaml:1:38: openSSL.client.verificationMode: wanted one of none, relaxed, strict, once, found "
         "'maybe'"},
        {"openSSL: {server: {disableProtocols: 'tls1'}}\n",
         "f.yaml:1:38: openSSL.server.disableProtocols: wanted a list of sslv2, sslv3, tlsv1, tlsv1_1, "
         "tlsv1_2, "
         "tlsv1_3, found 'tls1'"},
    };
    for (const Bad& bad : cases) EXPECT_EQ(mistakesOf(bad.yaml), bad.expected);
}

TEST(ConfigTest, overrides) {
    EXPECT_EQ(parseOverride("--a.b=c=d")->path, "a.b");
    EXPECT_EQ(parseOverride("--a.b=c=d")->value, "c=d");
    EXPECT_FALSE(parseOverride("--=x"));
    EXPECT_FALSE(parseOverride("-a=x"));
    EXPECT_FALSE(parseOverride("--ab"));
}

TEST(NearestTest, distance) {
    EXPECT_EQ(editDistance("", "abc"), 3U);
    EXPECT_EQ(editDistance("kitten", "sitting"), 3U);
    EXPECT_EQ(editDistance("prot", "port"), 1U);
    EXPECT_EQ(editDistance("PORT", "port"), 0U);
    EXPECT_EQ(nearestNames("max_thread", {"max_threads", "min_threads", "x"}),
              (std::vector<std::string>{"max_threads", "min_threads"}));
    EXPECT_TRUE(nearestNames(std::string(1000, 'a'), {"aaa"}).empty());
}

}  // namespace
}  // namespace shardd
