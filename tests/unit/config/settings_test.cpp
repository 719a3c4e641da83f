#include "config/settings.h"

#include <set>

#include <gtest/gtest.h>

#include "common/base/error.h"
#include "config/constraints.h"

namespace shardd {
namespace {

// Expected texts, codes and messages are the answers of ClickHouse 26.7 to SET.
struct Case {
    const char* name;
    SettingLiteral value;
    const char* expected;  ///< the text, or "code: message"
};

std::string outcome(const Case& test) {
    try {
        Settings settings;
        if (const auto* text = std::get_if<std::string>(&test.value))
            settings.set(test.name, *text);
        else
            settings.setLiteral(test.name, test.value);
        EXPECT_TRUE(settings.isChanged(test.name));
        return settings.get(test.name);
    } catch (const Error& error) {
        return fmt::format("{}: {}", error.code(), error.message());
    }
}

std::string text(const char* value) { return value; }

TEST(SettingsTest, readsAndPrintsAsClickHouse) {
    const Case cases[] = {
        {"extremes", text("True"), "1"},
        {"extremes", text("t"), "467: Cannot parse bool from string 't'"},
        {"extremes", text(" 1"), "467: Cannot parse bool from string ' 1'"},
        {"extremes", text(""), "467: Cannot parse bool from string ''"},
        {"extremes", uint64_t{2}, "70: Field value 2 is out of range of bool type"},
        {"extremes", int64_t{-1}, "70: Field value -1 is out of range of bool type"},
        {"extremes", 0.5, "1"},
        {"extremes", true, "1"},
        {"extremes", std::monostate{}, "70: Invalid value NULL of the setting, which needs bool"},
        {"query_plan_join_swap_table", text("auto"), "auto"},
        {"query_plan_join_swap_table", true, "1"},
        {"query_plan_join_swap_table", text("Auto"), "467: Cannot parse bool from string 'Auto'"},
        {"evaluation_time", 1.5, "1.5"},
        {"evaluation_time", text("auto"), "auto"},
        {"insert_quorum", text("auto"), "auto"},
        {"insert_quorum", uint64_t{3}, "3"},
        {"max_threads", uint64_t{5}, "5"},
        {"max_threads", 1.5, "1"},
        {"max_threads", text("abc"), "27: Cannot parse input: expected 'eof' before: 'abc'"},
        {"max_threads", int64_t{-1}, "70: Field value -1 is out of range of unsigned long type"},
        {"max_memory_usage", text("-1"), "72: Unsigned type must not contain '-' symbol"},
        {"max_memory_usage", text("+1"), "1"},
        {"max_memory_usage", text("99999999999999999999"), "7766279631452241919"},
        {"max_memory_usage", 1e30, "70: Cannot convert out of range floating point value to integer type"},
        {"max_memory_usage", -1.5, "70: Cannot convert out of range floating point value to integer type"},
        {"max_memory_usage", text("1k"), "1000"},
        {"max_memory_usage", text("1Ki"), "1024"},
        {"max_memory_usage", text("10G"), "10000000000"},
        {"max_memory_usage", text("10Gi"), "10737418240"},
        {"max_memory_usage", text("1TB"), "27: Cannot parse input: expected 'eof' before: 'B'"},
        {"max_memory_usage", text("1 "), "27: Cannot parse input: expected 'eof' before: ' '"},
        {"max_memory_usage", text("010"), "10"},
        {"max_memory_usage", text("0x10"), "27: Cannot parse input: expected 'eof' before: 'x10'"},
        {"max_memory_usage", text(""), "32: Attempt to read after eof"},
        {"distributed_group_by_no_merge", int64_t{-1},
         "70: Field value -1 is out of range of unsigned long type"},
        {"distributed_group_by_no_merge", text("true"),
         "27: Cannot parse input: expected 'eof' before: 'true'"},
        {"distributed_group_by_no_merge", true, "1"},
        {"max_execution_time", text("1.5"), "1.5"},
        {"max_execution_time", text("-1"), "-1"},
        {"max_execution_time", 1e10, "10000000000"},
        {"max_execution_time", 1.123456789, "1.123456"},
        {"max_execution_time", 0.0000001, "0"},
        {"max_execution_time", text("inf"), "72: Float setting value must be finite, got inf"},
        {"max_execution_time", text("abc"), "72: Cannot read floating point value here: abc"},
        {"max_execution_time", text("5s"), "27: Cannot parse input: expected 'eof' before: 's'"},
        {"hedged_connection_timeout_ms", text("1K"), "1000"},
        {"hedged_connection_timeout_ms", text("1.5"), "27: Cannot parse input: expected 'eof' before: '.5'"},
        {"hedged_connection_timeout_ms", 1e3, "1000"},
        {"totals_auto_threshold", 0.30000000000000004, "0.3"},
        {"totals_auto_threshold", 1e100, "72: Float setting value must be finite, got inf"},
        {"totals_auto_threshold", text(""), "72: Cannot read floating point value here: "},
        {"group_by_overflow_mode", text("any"), "any"},
        {"group_by_overflow_mode", text("ANY"),
         "145: Unexpected value of OverflowModeGroupBy: 'ANY'. Must be one of ['any', 'break', 'throw']"},
        {"group_by_overflow_mode", uint64_t{1}, "170: Bad get: has UInt64, requested String"},
        {"join_algorithm", text("hash, direct"), "hash,direct"},
        {"join_algorithm", text(""), ""},
        {"os_thread_priority", text("99999999999"), "1215752191"},
        {"os_thread_priority", uint64_t{99999999999},
         "70: Field value 99999999999 is out of range of int type"},
        {"annoy_index_search_k_nodes", uint64_t{9223372036854775808ULL},
         "70: Field value 9223372036854775808 is out of range of long type"},
        {"max_block_size", text("0"), "36: A setting's value has to be greater than 0"},
        {"format_csv_delimiter", text(";"), ";"},
        {"format_csv_delimiter", text("ab"),
         "19: A setting's value string has to be an exactly one character long"},
        {"http_response_headers", text(""), "{}"},
        {"http_response_headers", uint64_t{1}, "170: Bad get: has UInt64, requested Map"},
        {"session_timezone", text("Europe/Berlin"), "Europe/Berlin"},
        {"session_timezone", text("../../etc"), "36: Invalid time zone: ../../etc"},
        {"union_default_mode", text(""), ""},
        {"insert_distributed_sync", uint64_t{1}, "1"},
        {"nosuch", uint64_t{1}, "115: Unknown setting 'nosuch'"},
        {"max_thread", uint64_t{1}, "115: Unknown setting 'max_thread': Maybe you meant ['max_threads']"},
        {"Max_threads", uint64_t{1}, "115: Unknown setting 'Max_threads': Maybe you meant ['max_threads']"},
    };
    for (const Case& test : cases) EXPECT_EQ(outcome(test), test.expected) << test.name;
}

TEST(SettingsTest, everyNameIsListedOnceAndItsDefaultPrintsAsWritten) {
    ASSERT_EQ(settingList().size(), 1728U);
    std::set<std::string_view> names;
    for (const auto& info : settingList()) {
        EXPECT_TRUE(names.insert(info.name).second) << info.name;
        EXPECT_FALSE(Settings().isChanged(info.name)) << info.name;
        const std::string shown = info.defaultText();
        const bool is_char = info.type == "Char" && info.default_text.empty();
        if (is_char || shown.starts_with("auto")) continue;
        EXPECT_EQ(shown, info.default_text) << info.name;
    }
}

TEST(SettingsTest, typedMembersFollow) {
    Settings settings;
    EXPECT_EQ(settings->distributed_group_by_no_merge, 0U);
    EXPECT_EQ(settings->max_block_size, 65409U);
    EXPECT_EQ(settings->totals_mode, setting_types::TotalsMode::AfterHavingExclusive);
    EXPECT_GE(settings->max_threads, 1U);
    EXPECT_TRUE(settings->max_threads.is_auto);
    settings.set("totals_mode", "before_having");
    settings.set("max_execution_time", "0.25");
    settings.set("insert_distributed_sync", "1");
    EXPECT_EQ(settings->totals_mode, setting_types::TotalsMode::BeforeHaving);
    EXPECT_EQ(settings->max_execution_time.count(), 250000);
    EXPECT_TRUE(settings->distributed_foreground_insert);
}

TEST(SettingsTest, changedMergeAndReset) {
    Settings base, other;
    base.set("max_threads", "3");
    other.set("extremes", "0");
    other.set("log_comment", "it's");
    base.merge(other);
    const std::vector<SettingChange> expected{
        {"extremes", "0"}, {"log_comment", "it's"}, {"max_threads", "3"}};
    EXPECT_EQ(base.changed(), expected);
    base.reset("log_comment");
    base.reset("nosuch");
    EXPECT_EQ(base.get("log_comment"), "");
    EXPECT_EQ(base.changed().size(), 2U);
}

TEST(SettingsTest, aBadValueLeavesTheOldOne) {
    Settings settings;
    settings.set("max_threads", "3");
    EXPECT_THROW(settings.set("max_threads", "x"), Error);
    EXPECT_EQ(settings.get("max_threads"), "3");
}

std::string applied(const SettingConstraints& constraints,
                    Settings settings,
                    const char* name,
                    uint64_t value) {
    try {
        constraints.apply(settings, name, value);
        return settings.get(name);
    } catch (const Error& error) {
        return fmt::format("{}: {}", error.code(), error.message());
    }
}

TEST(ConstraintsTest, saysWhatClickHouseSays) {
    SettingConstraints constraints;
    constraints.add("max_memory_usage", {.min = "100", .max = "2000"});
    constraints.add("extremes", {.min = {}, .max = {}, .is_const = true});
    constraints.add("max_threads", {.min = {}, .max = {}, .changeable_in_readonly = true});
    const Settings free;
    EXPECT_EQ(applied(constraints, free, "max_memory_usage", 150), "150");
    EXPECT_EQ(applied(constraints, free, "max_memory_usage", 99),
              "452: Setting max_memory_usage shouldn't be less than 100");
    EXPECT_EQ(applied(constraints, free, "max_memory_usage", 10000),
              "452: Setting max_memory_usage shouldn't be greater than 2000");
    EXPECT_EQ(applied(constraints, free, "extremes", 1), "452: Setting extremes should not be changed");
    EXPECT_EQ(applied(constraints, free, "extremes", 0), "0");
    Settings readonly;
    readonly.set("readonly", "1");
    EXPECT_EQ(applied(constraints, readonly, "max_block_size", 1),
              "164: Cannot modify 'max_block_size' setting in readonly mode");
    EXPECT_EQ(applied(constraints, readonly, "max_threads", 7), "7");
    EXPECT_EQ(applied(constraints, readonly, "readonly", 0),
              "164: Cannot modify 'readonly' setting in readonly mode");
    Settings half;
    half.set("readonly", "2");
    EXPECT_EQ(applied(constraints, half, "max_block_size", 9), "9");
    EXPECT_EQ(applied(constraints, half, "readonly", 0),
              "164: Cannot modify 'readonly' setting in readonly mode");
}

}  // namespace
}  // namespace shardd
