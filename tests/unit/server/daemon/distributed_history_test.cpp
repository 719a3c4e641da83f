#include "server/daemon/distributed_history.h"

#include <gtest/gtest.h>

namespace shardd::daemon {
namespace {

DistributedQuery makeQuery(const std::string& id, size_t text_bytes = 0) {
    DistributedQuery query;
    query.query_id = id;
    query.text = std::string(text_bytes, 'x');
    return query;
}

std::string idsOf(const DistributedHistory& history) {
    std::string ids;
    for (const DistributedQuery& query : history.all()) ids += query.query_id;
    return ids;
}

TEST(DistributedHistoryTest, theOldestGoFirst) {
    DistributedHistory history({.queries = 2, .bytes = 1 << 20});
    for (const char* id : {"a", "b", "c"}) history.add(makeQuery(id));
    EXPECT_EQ(idsOf(history), "bc");
}

TEST(DistributedHistoryTest, bytesAreBounded) {
    DistributedHistory history({.queries = 100, .bytes = 10000});
    history.add(makeQuery("a", 4000));
    history.add(makeQuery("b", 4000));
    history.add(makeQuery("c", 4000));
    EXPECT_EQ(idsOf(history), "bc");
    history.add(makeQuery("d", 20000));
    EXPECT_EQ(idsOf(history), "bc");
}

TEST(RemoteReportTest, aStateThatIsFinalStays) {
    using State = storage::ShardAnswer::State;
    storage::RemoteReport report(3, "why");
    report.asked(0);
    report.asked(1);
    report.ended(0, State::Answered);
    report.ended(0, State::Failed, "late");
    report.ended(1, State::Failed, "no");
    report.ended(7, State::Failed, "nobody");
    std::string states;
    for (const storage::ShardAnswer& answer : report.answers())
        states += fmt::format("{} {} {};", answer.number, storage::nameOf(answer.state), answer.reason);
    EXPECT_EQ(states, "1 answered ;2 failed no;3 not needed why;");
}

}  // namespace
}  // namespace shardd::daemon
