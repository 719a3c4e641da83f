#include <algorithm>

#include "server/plan/remote_settings.h"

#include <gtest/gtest.h>

namespace shardd::plan {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

struct Row {
    Pairs settings;
    RemoteSettingsPlace place;
    /// Besides skip_unavailable_shards and its mode, which are always there.
    Pairs expected;
};

TEST(RemoteSettings, WhatShardsAreSent) {
    const Row rows[] = {
        {{}, {}, {}},
        {{{"max_threads", "3"}, {"limit", "2"}, {"offset", "1"}}, {}, {{"max_threads", "3"}}},
        // Levels of sharded tables over sharded tables are counted down; the last one is the last.
        {{{"optimize_skip_unused_shards", "1"}}, {}, {{"optimize_skip_unused_shards", "1"}}},
        {{{"optimize_skip_unused_shards", "1"}, {"optimize_skip_unused_shards_nesting", "1"}},
         {},
         {{"optimize_skip_unused_shards_nesting", "1"}}},
        {{{"optimize_skip_unused_shards", "1"}, {"optimize_skip_unused_shards_nesting", "3"}},
         {},
         {{"optimize_skip_unused_shards", "1"}, {"optimize_skip_unused_shards_nesting", "2"}}},
        {{{"optimize_skip_unused_shards_nesting", "3"}}, {}, {{"optimize_skip_unused_shards_nesting", "3"}}},
        {{{"force_optimize_skip_unused_shards", "1"}, {"force_optimize_skip_unused_shards_nesting", "1"}},
         {},
         {{"force_optimize_skip_unused_shards_nesting", "1"}}},
        {{{"force_optimize_skip_unused_shards", "2"}, {"force_optimize_skip_unused_shards_nesting", "2"}},
         {},
         {{"force_optimize_skip_unused_shards", "2"}, {"force_optimize_skip_unused_shards_nesting", "1"}}},
        {{{"max_execution_time", "7"}, {"max_execution_time_leaf", "3"}, {"timeout_overflow_mode_leaf", "break"}},
         {},
         {{"max_execution_time", "3"},
          {"max_execution_time_leaf", "3"},
          {"timeout_overflow_mode", "break"},
          {"timeout_overflow_mode_leaf", "break"}}},
        {{{"max_memory_usage_for_user", "5"}, {"max_concurrent_queries_for_user", "6"}}, {}, {}},
        {{{"max_memory_usage_for_user", "5"}, {"max_concurrent_queries_for_user", "6"}},
         {.same_user = true},
         {{"max_concurrent_queries_for_user", "6"}, {"max_memory_usage_for_user", "5"}}},
        {{{"extremes", "1"}, {"max_result_rows", "5"}}, {}, {{"extremes", "1"}, {"max_result_rows", "5"}}},
        {{{"extremes", "1"}, {"max_result_rows", "5"}},
         {.outermost = false},
         {{"extremes", "0"}, {"max_result_bytes", "0"}, {"max_result_rows", "0"}}},
    };
    for (const Row& row : rows) {
        Settings settings;
        std::string text;
        for (const auto& [name, value] : row.settings) {
            settings.set(name, value);
            text += name + "=" + value + " ";
        }
        Pairs expected = row.expected;
        expected.emplace_back("skip_unavailable_shards", "0");
        expected.emplace_back("skip_unavailable_shards_mode", "unavailable_or_table_missing");
        std::ranges::sort(expected);
        Pairs sent = remoteSettings(settings, row.place);
        std::ranges::sort(sent);
        EXPECT_EQ(sent, expected) << text;
    }
}

}  // namespace
}  // namespace shardd::plan
