#include "server/bootstrap/group.h"

#include <set>

#include <gtest/gtest.h>

namespace shardd::bootstrap {
namespace {

using namespace std::chrono_literals;

Member member(uint32_t rank, char id = 'a') {
    Member made;
    made.rank = rank;
    made.id = std::string(31, id) + static_cast<char>('0' + rank);
    made.host = "127.0.0.1";
    made.port = static_cast<uint16_t>(9000 + rank);
    made.version = "1";
    return made;
}

/// Nodes over one board, with a clock that is moved by hand.
class Nodes {
public:
    explicit Nodes(uint32_t world_size) : world_size_(world_size) { forget(); }

    Group& add(const Member& own) {
        groups_.erase(own.rank);
        const auto [at, _] = groups_.emplace(own.rank, Group({.cluster = "c",
                                                              .world_size = world_size_,
                                                              .own = own,
                                                              .deadline = now_ + 10s,
                                                              .timeout_seconds = 10}));
        return at->second;
    }

    Group& at(uint32_t rank) { return groups_.at(rank); }

    /// The process has gone, and the board has seen that.
    void kill(uint32_t rank) {
        board_->lose(rank, at(rank).own().id);
        groups_.erase(rank);
    }

    /// One beat of each, then what they reach of each other.
    void beat() {
        now_ += 1s;
        for (auto& [rank, group] : groups_) {
            if (group.phase() == Group::Phase::Formed) board_->learn(group.roster());
            const Answer answer = board_->beat(group.own(), now_);
            if (answer.refusal)
                group.refuse(*answer.refusal);
            else
                group.see(answer.view);
            group.tick(now_);
        }
        for (auto& [rank, group] : groups_) {
            for (const auto& [other, record] : std::map(group.members())) {
                if (other == rank) continue;
                const auto there = groups_.find(other);
                const bool is_there = there != groups_.end() && there->second.own().id == record.member.id;
                const bool blocked = blocked_.contains({rank, other});
                group.reached(other, record.member.id, is_there && !blocked ? "" : "Connection refused");
            }
        }
    }

    void beats(int count) {
        for (int i = 0; i < count; ++i) beat();
    }

    void block(uint32_t from, uint32_t to) { blocked_.insert({from, to}); }

    void unblock() { blocked_.clear(); }

    /// Rank 0 came back: it has forgotten everything.
    void forget() { board_.emplace(Board::Group{"c", world_size_, "1"}, member(0)); }

    std::string why(uint32_t rank) {
        const std::optional<Error> error = at(rank).whyNot();
        return error ? fmt::format("{} {}", error->code(), error->message()) : "";
    }

private:
    uint32_t world_size_;
    std::optional<Board> board_;
    Clock::time_point now_ = Clock::now();
    std::map<uint32_t, Group> groups_;
    std::set<std::pair<uint32_t, uint32_t>> blocked_;
};

TEST(GroupTest, oneNodeIsFormedAtOnce) {
    const Group group({.cluster = "c", .world_size = 1, .own = member(0), .deadline = Clock::now()});
    EXPECT_EQ(group.phase(), Group::Phase::Formed);
    EXPECT_TRUE(group.isActive(0));
    EXPECT_FALSE(group.whyNot());
}

TEST(GroupTest, formsWhenAllAreThereAndReachEachOther) {
    Nodes nodes(3);
    nodes.add(member(0));
    nodes.add(member(2));
    nodes.beats(3);
    EXPECT_EQ(nodes.why(0), "667 Cluster 'c' is not formed yet: 2 of 3 nodes are there, missing ranks: 1");
    EXPECT_EQ(nodes.why(2), nodes.why(0));
    nodes.add(member(1));
    nodes.block(2, 1);
    nodes.beats(3);
    EXPECT_EQ(nodes.why(0),
              "667 Cluster 'c' is not formed yet: 3 of 3 nodes are there; rank 2 (127.0.0.1:9002, node "
              "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa2): cannot reach rank 1 (127.0.0.1:9001, node "
              "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1): Connection refused");
    nodes.unblock();
    nodes.beats(3);
    for (const uint32_t rank : {0U, 1U, 2U}) {
        EXPECT_EQ(nodes.why(rank), "");
        EXPECT_EQ(nodes.at(rank).members().size(), 3U);
    }
}

TEST(GroupTest, theDeadlineNamesTheMissingAndTheyMayStillCome) {
    Nodes nodes(3);
    nodes.add(member(0));
    nodes.beats(11);
    EXPECT_EQ(nodes.at(0).phase(), Group::Phase::Expired);
    EXPECT_EQ(nodes.why(0),
              "159 Cluster 'c' was not formed within 10 s: 1 of 3 nodes are there, missing ranks: 1, 2");
    nodes.add(member(1));
    nodes.add(member(2));
    nodes.beats(4);
    for (const uint32_t rank : {0U, 1U, 2U}) EXPECT_EQ(nodes.why(rank), "");
}

TEST(GroupTest, aDuplicateRankIsRefusedByName) {
    Nodes nodes(2);
    nodes.add(member(0));
    nodes.beat();
    Group second({.cluster = "c", .world_size = 2, .own = member(0, 'b'), .deadline = Clock::now() + 10s});
    second.refuse(duplicateRank(second.own(), nodes.at(0).own()));
    EXPECT_EQ(second.phase(), Group::Phase::Refused);
    EXPECT_EQ(second.whyNot()->message(),
              "This node is not in cluster 'c': rank 0 (127.0.0.1:9000, node "
              "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb0) cannot "
              "join: the rank is taken by rank 0 (127.0.0.1:9000, node aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa0)");
    second.see({{second.own(), true}});
    EXPECT_EQ(second.phase(), Group::Phase::Forming);
}

TEST(GroupTest, aRestartedNodeIsInAgain) {
    Nodes nodes(3);
    for (const uint32_t rank : {0U, 1U, 2U}) nodes.add(member(rank));
    nodes.beats(3);
    nodes.kill(1);
    nodes.beats(2);
    EXPECT_EQ(nodes.why(0), "");
    EXPECT_FALSE(nodes.at(0).isActive(1));
    EXPECT_TRUE(nodes.at(0).isActive(2));
    Member again = member(1, 'b');
    again.port = 9555;
    nodes.add(again);
    nodes.beats(3);
    for (const uint32_t rank : {0U, 1U, 2U}) {
        EXPECT_EQ(nodes.why(rank), "");
        EXPECT_EQ(nodes.at(rank).members().at(1).member.port, 9555);
        EXPECT_TRUE(nodes.at(rank).isActive(1));
    }
}

TEST(GroupTest, aFormedGroupOutlivesItsBoard) {
    Nodes nodes(3);
    for (const uint32_t rank : {0U, 1U, 2U}) nodes.add(member(rank));
    nodes.beats(3);
    nodes.kill(2);
    nodes.kill(0);
    nodes.at(1).lose("rank 0 does not answer");
    EXPECT_EQ(nodes.why(1), "");
    // Rank 0 is back with an empty board; rank 2 is still dead, and the survivor knows where it was.
    nodes.forget();
    nodes.add(member(0, 'b'));
    nodes.beats(3);
    EXPECT_EQ(nodes.why(0), "");
    EXPECT_EQ(nodes.at(0).members().size(), 3U);
    EXPECT_FALSE(nodes.at(0).isActive(2));
    EXPECT_TRUE(nodes.at(0).isActive(1));
}

TEST(GroupTest, aFormedNodeStaysWhenTheNewRankZeroIsOfAnotherWorld) {
    Nodes nodes(2);
    nodes.add(member(0));
    nodes.add(member(1));
    nodes.beats(3);
    nodes.at(1).refuse({.kind = Refusal::Kind::Other, .code = 318, .text = "world size"});
    EXPECT_EQ(nodes.at(1).phase(), Group::Phase::Formed);
    nodes.at(1).refuse({.kind = Refusal::Kind::Duplicate, .code = 318, .text = "taken"});
    EXPECT_EQ(nodes.at(1).phase(), Group::Phase::Refused);
}

TEST(BoardTest, whoIsRefused) {
    Board board({"c", 2, "1"}, member(0));
    const Clock::time_point now = Clock::now();

    struct Row {
        std::string cluster;
        uint32_t world_size;
        Member who;
        int code;
    };

    Member newer = member(1);
    newer.version = "2";
    Member secure = member(1);
    secure.secure = true;
    const Row rows[] = {{"c", 2, member(1), 0},   {"d", 2, member(1), 714}, {"c", 3, member(1), 318},
                        {"c", 2, member(2), 318}, {"c", 2, newer, 318},     {"c", 2, secure, 318}};
    for (const Row& row : rows) {
        const auto refusal = board.check(row.cluster, row.world_size, row.who);
        EXPECT_EQ(refusal ? refusal->code : 0, row.code);
        if (refusal) {
            EXPECT_NE(refusal->text.find(describe(row.who)), std::string::npos) << refusal->text;
        }
    }
    EXPECT_FALSE(board.beat(member(1), now).refusal);
    EXPECT_EQ(board.beat(member(1, 'b'), now + 4s).refusal->kind, Refusal::Kind::Duplicate);
    EXPECT_FALSE(board.beat(member(1), now + 4s).refusal);
    // Silent for as long as a dead one; then the first one is the newcomer.
    EXPECT_FALSE(board.beat(member(1, 'b'), now + 10s).refusal);
    EXPECT_EQ(board.beat(member(1), now + 10s).refusal->kind, Refusal::Kind::Duplicate);
    board.lose(1, member(1, 'b').id);
    EXPECT_FALSE(board.view(now + 10s)[0].alive);
    EXPECT_FALSE(board.beat(member(1), now + 10s).refusal);
    Member leaving = member(1);
    leaving.state = MemberState::Left;
    EXPECT_FALSE(board.beat(leaving, now + 10s).view[0].alive);
    EXPECT_FALSE(board.beat(member(1, 'c'), now + 10s).refusal);
}

}  // namespace
}  // namespace shardd::bootstrap
