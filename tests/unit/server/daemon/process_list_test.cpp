#include "server/daemon/process_list.h"

#include <gtest/gtest.h>

namespace shardd::daemon {
namespace {

RunningQueryPtr makeQuery(ProcessList& processes, const std::string& id, const std::string& user = "u") {
    auto query = std::make_shared<RunningQuery>();
    query->query_id = id;
    query->user = user;
    query->memory = processes.makeBudget(user, id, query->settings);
    return query;
}

std::string outcome(ProcessList& processes, const RunningQueryPtr& query) {
    try {
        processes.add(query);
        return "added";
    } catch (const Error& error) {
        return fmt::format("{}: {}", error.code(), error.message());
    }
}

class ProcessListTest : public testing::Test {
protected:
    std::shared_ptr<MemoryBudget> memory_ = MemoryBudget::create("server", 0);
    ProcessList processes_{memory_, {.max_queries = 3}};
};

TEST_F(ProcessListTest, limits) {
    EXPECT_EQ(outcome(processes_, makeQuery(processes_, "1")), "added");
    EXPECT_EQ(outcome(processes_, makeQuery(processes_, "1")), "216: Query with id = 1 is already running.");
    EXPECT_EQ(outcome(processes_, makeQuery(processes_, "1", "other")), "added");
    auto limited = makeQuery(processes_, "2");
    limited->settings.set("max_concurrent_queries_for_user", "1");
    EXPECT_EQ(outcome(processes_, limited),
              "202: Too many simultaneous queries for user u. Current: 1, maximum: 1");
    EXPECT_EQ(outcome(processes_, makeQuery(processes_, "3")), "added");
    EXPECT_EQ(outcome(processes_, makeQuery(processes_, "4")),
              "202: Too many simultaneous queries. Maximum: 3");
}

TEST_F(ProcessListTest, aQueryIsCancelledOnce) {
    auto query = makeQuery(processes_, "1");
    std::vector<int> codes;
    query->cancel = [&](const Error& reason) { codes.push_back(reason.code()); };
    processes_.add(query);
    EXPECT_FALSE(processes_.kill("2"));
    EXPECT_TRUE(processes_.kill("1"));
    processes_.cancelAll(Error(ErrorCode::TIMEOUT_EXCEEDED, "late"));
    EXPECT_EQ(codes, std::vector<int>{394});
    processes_.remove(query);
    EXPECT_EQ(processes_.size(), 0U);
}

TEST_F(ProcessListTest, replaceRunningQuery) {
    auto first = makeQuery(processes_, "1");
    bool was_cancelled = false;
    first->cancel = [&](const Error&) { was_cancelled = true; };
    processes_.add(first);
    auto second = makeQuery(processes_, "1");
    second->settings.set("replace_running_query", "1");
    EXPECT_EQ(outcome(processes_, second), "added");
    EXPECT_TRUE(was_cancelled);
}

TEST_F(ProcessListTest, theQueryThatPaysIsTheCurrentOne) {
    auto query = makeQuery(processes_, "1");
    processes_.add(query);
    EXPECT_EQ(processes_.current(), nullptr);
    const MemoryScope scope(query->memory.get());
    EXPECT_EQ(processes_.current(), query);
}

}  // namespace
}  // namespace shardd::daemon
