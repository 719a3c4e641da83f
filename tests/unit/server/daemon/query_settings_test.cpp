#include "server/daemon/query_settings.h"

#include <gtest/gtest.h>

#include "common/base/error.h"

namespace shardd::daemon {
namespace {

using protocol::setting_flag::kCustom;
using protocol::setting_flag::kImportant;

TEST(QuerySettingsTest, textOfDump) {
    EXPECT_EQ(textOfDump("'it\\'s'"), "it's");
    EXPECT_EQ(textOfDump("'a\\nb\\\\'"), "a\nb\\");
    EXPECT_EQ(textOfDump("UInt64_7"), "7");
    EXPECT_EQ(textOfDump("Bool_1"), "1");
    EXPECT_EQ(textOfDump("plain_text"), "plain_text");
    EXPECT_EQ(textOfDump("'"), "'");
    EXPECT_EQ(textOfDump(""), "");
}

struct Case {
    const char* name;
    uint64_t flags;
    const char* value;
    const char* expected;  ///< the setting afterwards, "left out", or "code: message"
};

std::string outcome(const Case& test, protocol::QueryKind kind) {
    Config config;
    config.custom_settings_prefixes = {"my_"};
    SettingConstraints constraints;
    constraints.add("max_threads", {.min = {}, .max = "8", .is_const = false});
    session::QueryRequest request;
    request.client_info.kind = kind;
    request.settings = {{test.name, test.flags, test.value}};
    Settings settings;
    try {
        applyQuerySettings(request, constraints, config, settings);
        return settings.isChanged(test.name) ? settings.get(test.name) : "left out";
    } catch (const Error& error) {
        return fmt::format("{}: {}", error.code(), error.message());
    }
}

TEST(QuerySettingsTest, applyQuerySettings) {
    const Case cases[] = {
        {"max_threads", 0, "4", "4"},
        {"max_threads", kImportant, "4", "4"},
        {"max_threads", kCustom, "UInt64_4", "4"},
        {"log_comment", kCustom, "'x\\'y'", "x'y"},
        {"max_threads", 0, "9", "452: Setting max_threads shouldn't be greater than 8"},
        {"max_threads", 0, "x", "27: Cannot parse input: expected 'eof' before: 'x'"},
        {"of_a_newer_client", 0, "1", "left out"},
        {"of_a_newer_client", kImportant, "1", "115: Unknown setting 'of_a_newer_client'"},
        {"zzz_custom", kCustom, "'1'", "115: Unknown setting 'zzz_custom'"},
        {"my_own", kCustom, "'1'", "'1'"},
    };
    for (const Case& test : cases)
        EXPECT_EQ(outcome(test, protocol::QueryKind::Initial), test.expected)
            << test.name << " " << test.value;
}

TEST(QuerySettingsTest, anInitiatorsQueryKeepsWithinTheConstraintsInSilence) {
    EXPECT_EQ(outcome({"max_threads", 0, "9", ""}, protocol::QueryKind::Secondary), "left out");
    EXPECT_EQ(outcome({"max_threads", 0, "3", ""}, protocol::QueryKind::Secondary), "3");
}

TEST(QuerySettingsTest, parameters) {
    session::QueryRequest request;
    request.parameters = {{"a", kCustom, "'it\\'s'"}, {"b", kCustom, "'2'"}};
    EXPECT_EQ(queryParameters(request), (std::map<std::string, std::string>{{"a", "it's"}, {"b", "2"}}));
}

}  // namespace
}  // namespace shardd::daemon
