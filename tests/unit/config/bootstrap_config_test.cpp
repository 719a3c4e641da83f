#include "config/bootstrap_config.h"

#include <map>

#include <gtest/gtest.h>

#include "common/base/error.h"
#include "config/config.h"

namespace shardd {
namespace {

using Variables = std::map<std::string, std::string>;
using Method = BootstrapPlan::Method;

Environment environmentOf(const Variables& variables) {
    return [variables](std::string_view name) -> std::optional<std::string> {
        const auto found = variables.find(std::string(name));
        return found == variables.end() ? std::nullopt : std::optional(found->second);
    };
}

std::string shown(const BootstrapPlan& plan) {
    const std::string place = plan.method == Method::Tcp    ? fmt::format("tcp {}:{}", plan.host, plan.port)
                              : plan.method == Method::File ? "file " + plan.path
                                                            : "alone";
    return fmt::format("{} {}/{} local {}/{} by '{}'", place, plan.rank, plan.world_size, plan.local_rank,
                       plan.local_world_size, plan.source);
}

std::string resolved(const BootstrapConfig& config, const Variables& variables) {
    try {
        return shown(resolveBootstrap(config, environmentOf(variables)));
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), 318);
        return error.message();
    }
}

BootstrapConfig method(const std::string& init_method) {
    BootstrapConfig config;
    config.init_method = init_method;
    return config;
}

BootstrapConfig ranked(const std::string& init_method, uint64_t rank, uint64_t world_size) {
    BootstrapConfig config = method(init_method);
    config.rank = rank;
    config.world_size = world_size;
    return config;
}

struct Row {
    BootstrapConfig config;
    Variables variables;
    const char* expected;
};

const Variables kMaster{{"MASTER_ADDR", "node1"}, {"MASTER_PORT", "1234"}};

Variables with(Variables base, const Variables& more) {
    base.insert(more.begin(), more.end());
    return base;
}

TEST(BootstrapConfigTest, rankAndMeetingPlace) {
    const Row rows[] = {
        {method("env://"), {}, "alone 0/1 local 0/1 by ''"},
        {method("env://"), kMaster, "alone 0/1 local 0/1 by ''"},
        {method("env://"), with(kMaster, {{"RANK", "2"}, {"WORLD_SIZE", "4"}}),
         "tcp node1:1234 2/4 local 0/1 by 'the variables of torch'"},
        {method("env://"),
         {{"MASTER_ADDR", "n"},
          {"RANK", "2"},
          {"WORLD_SIZE", "4"},
          {"LOCAL_RANK", "1"},
          {"LOCAL_WORLD_SIZE", "2"}},
         "tcp n:29500 2/4 local 1/2 by 'the variables of torch'"},
        {method("env://"), with(kMaster, {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "1"}}),
         "tcp node1:1234 1/2 local 1/2 by 'the variables of torch'"},
        {method("env://"),
         {{"RANK", "0"}, {"WORLD_SIZE", "1"}},
         "alone 0/1 local 0/1 by 'the variables of torch'"},
        // mpirun inside a job of SLURM: the job's own variables say rank 0 to all.
        {method("env://"),
         with(kMaster, {{"SLURM_PROCID", "0"},
                        {"SLURM_NTASKS", "3"},
                        {"OMPI_COMM_WORLD_RANK", "2"},
                        {"OMPI_COMM_WORLD_SIZE", "3"},
                        {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                        {"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}}),
         "tcp node1:1234 2/3 local 0/1 by 'the variables of Open MPI'"},
        {method("env://"),
         {{"SLURM_PROCID", "3"},
          {"SLURM_NTASKS", "5"},
          {"SLURM_LOCALID", "1"},
          {"SLURM_STEP_TASKS_PER_NODE", "2(x2),1"},
          {"SLURM_JOB_NODELIST", "gpu[07-09],x"}},
         "tcp gpu07:29500 3/5 local 1/2 by 'the variables of SLURM'"},
        {method("env://"),
         {{"SLURM_PROCID", "0"}, {"SLURM_NPROCS", "2"}, {"SLURM_NODELIST", "a,b"}},
         "tcp a:29500 0/2 local 0/1 by 'the variables of SLURM'"},
        {method("env://"), with(kMaster, {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}),
         "tcp node1:1234 1/2 local 0/1 by 'the variables of PMI'"},
        // What the file says comes first, in whole or in part.
        {ranked("env://", 1, 3), with(kMaster, {{"RANK", "2"}, {"WORLD_SIZE", "4"}}),
         "tcp node1:1234 1/3 local 0/1 by 'the configuration'"},
        {ranked("tcp://10.0.0.1:5000", 1, 3), {}, "tcp 10.0.0.1:5000 1/3 local 0/1 by 'the configuration'"},
        {method("tcp://[::1]:5000?rank=1&world_size=3"),
         {},
         "tcp ::1:5000 1/3 local 0/1 by 'the configuration'"},
        {method("tcp://h:5000"),
         {{"RANK", "2"}, {"WORLD_SIZE", "4"}},
         "tcp h:5000 2/4 local 0/1 by 'the variables of torch'"},
        {ranked("file:///shared/board", 1, 3), {}, "file /shared/board 1/3 local 0/1 by 'the configuration'"},
        {ranked("file:///shared/board", 0, 1), {}, "alone 0/1 local 0/1 by 'the configuration'"},
    };
    for (const Row& row : rows) EXPECT_EQ(resolved(row.config, row.variables), row.expected);
}

TEST(BootstrapConfigTest, whatIsThereInPartIsAMistake) {
    const Row rows[] = {
        {method("env://"),
         {{"RANK", "1"}},
         "shardd.bootstrap: there is a rank and no world_size (WORLD_SIZE in the environment)"},
        {method("env://"),
         {{"WORLD_SIZE", "2"}},
         "shardd.bootstrap: there is a world_size and no rank (RANK in the environment)"},
        {method("env://"),
         {{"RANK", "x"}, {"WORLD_SIZE", "2"}},
         "shardd.bootstrap: RANK in the environment is no whole number: 'x'"},
        {method("env://"),
         {{"RANK", "2"}, {"WORLD_SIZE", "2"}},
         "shardd.bootstrap: rank 2 is not below world_size 2"},
        {method("env://"),
         {{"RANK", "2"}, {"WORLD_SIZE", "5000"}},
         "shardd.bootstrap: world_size 5000 is not from 1 to 1024"},
        {method("env://"),
         {{"RANK", "1"}, {"WORLD_SIZE", "2"}},
         "shardd.bootstrap: env:// needs MASTER_ADDR, the address of rank 0, and it is not in the "
         "environment"},
        {method("env://"),
         {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "70000"}},
         "shardd.bootstrap: MASTER_PORT 70000 is no port"},
        {method("tcp://h:1"),
         {},
         "shardd.bootstrap: init_method tcp://h:1 needs rank and world_size: in the configuration, in the "
         "URL "
         "(?rank=N&world_size=N) or in the environment"},
        {method("tcp://h:1?rank=1&size=2"),
         {},
         "shardd.bootstrap: init_method: wanted ?rank=N&world_size=N, found 'size=2'"},
    };
    for (const Row& row : rows) EXPECT_EQ(resolved(row.config, row.variables), row.expected);
}

TEST(BootstrapConfigTest, hostsOfSlurm) {
    const std::pair<const char*, const char*> rows[] = {
        {"a", "a"},       {"a,b", "a"},
        {"n[1-4]", "n1"}, {"n[07,09-12]", "n07"},
        {"n[3]", "n3"},   {"n[1-2]-ib,x", "n1-ib"},
        {"", ""},
    };
    for (const auto& [list, host] : rows) EXPECT_EQ(firstHost(list), host) << list;
}

TEST(BootstrapConfigTest, addresses) {
    const std::pair<const char*, const char*> rows[] = {
        {"h", "h 0"},  {"h:1", "h 1"},  {"[::1]", "::1 0"}, {"[::1]:9", "::1 9"}, {"", "-"},
        {":1", "-"},   {"h:", "-"},     {"h:0", "-"},       {"h:70000", "-"},     {"::1", "-"},
        {"[::1", "-"}, {"[::1]9", "-"}, {"a b:1", "-"},     {"u@h:1", "-"},
    };
    for (const auto& [text, expected] : rows) {
        const auto parsed = parseHostAndPort(text);
        EXPECT_EQ(parsed ? fmt::format("{} {}", parsed->host, parsed->port) : "-", expected) << text;
    }
}

std::string mistakeOf(const std::string& section) {
    try {
        parseConfig("shardd:\n  bootstrap: " + section + "\nremote_servers: {taken: {node: {host: a}}}\n",
                    "f.yaml");
        return "";
    } catch (const Error& error) {
        return error.message().substr(error.message().find('\n') + 1);
    }
}

TEST(BootstrapConfigTest, mistakesInTheSection) {
    const std::pair<const char*, const char*> rows[] = {
        {"{init_method: 'udp://h:1'}",
         "f.yaml:2:28: shardd.bootstrap.init_method: wanted env://, tcp://HOST:PORT or file:///PATH, found "
         "'udp://h:1'"},
        {"{init_method: 'tcp://h'}",
         "f.yaml:2:28: shardd.bootstrap.init_method: wanted tcp://HOST:PORT, found 'tcp://h'"},
        {"{init_method: 'file://h'}",
         "f.yaml:2:28: shardd.bootstrap.init_method: wanted file:///PATH with an absolute path, found "
         "'file://h'"},
        {"{advertise: 'a:b:c'}",
         "f.yaml:2:26: shardd.bootstrap.advertise: wanted HOST or HOST:PORT, found 'a:b:c'"},
        {"{rank: 3, world_size: 2}", "f.yaml:2:14: shardd.bootstrap: rank 3 is not below world_size 2"},
        {"{role: master}",
         "f.yaml:2:21: shardd.bootstrap.role: wanted one of shard, initiator, both, found 'master'"},
        {"{backend: nccl}", "f.yaml:2:24: shardd.bootstrap.backend: wanted one of tcp, tls, found 'nccl'"},
        {"{url: x}", "f.yaml:2:20: shardd.bootstrap.url: unknown key"},
        {"{cluster: taken, rank: 0, world_size: 1}",
         "f.yaml:2:14: shardd.bootstrap.cluster: taken stands under remote_servers: give the one that is "
         "formed another "
         "name"},
    };
    for (const auto& [section, expected] : rows) EXPECT_EQ(mistakeOf(section), expected);
}

TEST(BootstrapConfigTest, theWholeSection) {
    const Config config = parseConfig(
        "shardd: {bootstrap: {cluster: c, init_method: 'tcp://h:5', rank: 1, world_size: 2, advertise: "
        "'a:9', "
        "backend: tls, role: initiator, timeout: 1.5, secret: s, user: u, password: p}}\n",
        "f.yaml");
    const BootstrapConfig& own = config.shardd.bootstrap;
    EXPECT_TRUE(own.enabled);
    EXPECT_EQ(own.cluster, "c");
    EXPECT_EQ(own.advertise, "a:9");
    EXPECT_TRUE(own.secure);
    EXPECT_EQ(own.role, BootstrapConfig::Role::Initiator);
    EXPECT_EQ(own.timeout_us, 1'500'000);
    EXPECT_EQ(own.secret, "s");
    EXPECT_EQ(own.user, "u");
    EXPECT_EQ(own.password, "p");
    EXPECT_EQ(shown(config.shardd.bootstrap_plan), "tcp h:5 1/2 local 0/1 by 'the configuration'");
    EXPECT_FALSE(parseConfig("", "f.yaml").shardd.bootstrap.enabled);
}

}  // namespace
}  // namespace shardd
