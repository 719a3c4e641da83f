#include "config/users.h"

#include <gtest/gtest.h>

#include "common/base/error.h"
#include "config/password.h"

namespace shardd {
namespace {

std::string outcome(const Users& users, const char* name, const char* password, const char* address) {
    try {
        return "in as " + users.check(name, password, address)->config.name;
    } catch (const Error& error) {
        return fmt::format("{}: {}", error.code(), error.message());
    }
}

constexpr const char* kUsers = R"(
profiles:
  default: {max_threads: 3}
  web: {profile: default, max_memory_usage: 1000, readonly: 2}
users:
  default: {password: ''}
  plain: {password: secret, profile: web, default_database: sales}
  sha: {password_sha256_hex: 2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b}
  mysql: {password_double_sha1_hex: 14e65567abdb5135d0cfd9a70b3032c179a49ee7}
  open: {no_password: 1, networks: {ip: [10.0.0.0/8, '::1', 192.168.1.7]}}
)";

std::string refused(const char* name) {
    return fmt::format(
        "516: {}: Authentication failed: password is incorrect, or there is no user with such name.", name);
}

TEST(UsersTest, check) {
    const Users users(parseConfig(kUsers, "t.yaml"));
    EXPECT_EQ(outcome(users, "default", "", "127.0.0.1"), "in as default");
    EXPECT_EQ(outcome(users, "default", "x", "127.0.0.1"), refused("default"));
    EXPECT_EQ(outcome(users, "plain", "secret", "8.8.8.8"), "in as plain");
    EXPECT_EQ(outcome(users, "plain", "Secret", "8.8.8.8"), refused("plain"));
    EXPECT_EQ(outcome(users, "sha", "secret", "::1"), "in as sha");
    EXPECT_EQ(outcome(users, "mysql", "secret", "::1"), "in as mysql");
    EXPECT_EQ(outcome(users, "mysql", "", "::1"), refused("mysql"));
    EXPECT_EQ(outcome(users, "open", "whatever", "10.200.3.4"), "in as open");
    EXPECT_EQ(outcome(users, "open", "", "::ffff:10.0.0.1"), "in as open");
    EXPECT_EQ(outcome(users, "open", "", "192.168.1.7"), "in as open");
    EXPECT_EQ(outcome(users, "open", "", "192.168.1.8"), refused("open"));
    EXPECT_EQ(outcome(users, "open", "", "not an address"), refused("open"));
    EXPECT_EQ(outcome(users, "nobody", "", "::1"), refused("nobody"));
}

TEST(UsersTest, profilesAreApplied) {
    const Users users(parseConfig(kUsers, "t.yaml"));
    const auto user = users.find("plain");
    ASSERT_TRUE(user);
    const std::vector<SettingChange> expected{
        {"max_memory_usage", "1000"}, {"max_threads", "3"}, {"readonly", "2"}};
    EXPECT_EQ(user->settings.changed(), expected);
    EXPECT_EQ(user->config.default_database, "sales");
}

TEST(UsersTest, nobodyConfiguredMeansLoopbackOnly) {
    const Users users(parseConfig("tcp_port: 9000\n", "t.yaml"));
    EXPECT_EQ(outcome(users, "default", "", "127.0.0.1"), "in as default");
    EXPECT_EQ(outcome(users, "default", "", "::1"), "in as default");
    EXPECT_EQ(outcome(users, "default", "", "10.0.0.1"), refused("default"));
    EXPECT_EQ(outcome(users, "default", "x", "127.0.0.1"), refused("default"));
}

TEST(UsersTest, networks) {
    EXPECT_TRUE(addressInNetwork("10.1.2.3", "10.0.0.0/255.0.0.0"));
    EXPECT_TRUE(addressInNetwork("8.8.8.8", "::/0"));
    EXPECT_TRUE(addressInNetwork("fe80::1", "fe80::/10"));
    EXPECT_FALSE(addressInNetwork("fec0::1", "fe80::/10"));
    EXPECT_FALSE(addressInNetwork("11.1.2.3", "10.0.0.0/8"));
    EXPECT_FALSE(isNetwork("10.0.0.0/33"));
    EXPECT_FALSE(isNetwork("::/129"));
    EXPECT_FALSE(isNetwork("10.0.0"));
    EXPECT_FALSE(isNetwork("/8"));
}

TEST(PasswordTest, hashes) {
    EXPECT_EQ(sha256("abc"), fromHex("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", 32));
    EXPECT_EQ(sha1("abc"), fromHex("A9993E364706816ABA3E25717850C26C9CD0D89D", 20));
    EXPECT_EQ(fromHex("zz", 1), "");
    EXPECT_EQ(fromHex("aabb", 1), "");
    EXPECT_TRUE(equalInConstantTime("ab", "ab"));
    EXPECT_FALSE(equalInConstantTime("ab", "ac"));
    EXPECT_FALSE(equalInConstantTime("ab", "abc"));
}

}  // namespace
}  // namespace shardd
