#include "server/bootstrap/shared_board.h"

#include <cstdio>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

namespace shardd::bootstrap {
namespace {

using namespace std::chrono_literals;

Member member(uint32_t rank, char id = 'a') {
    Member made;
    made.rank = rank;
    made.id = std::string(31, id) + static_cast<char>('0' + rank);
    made.host = "h";
    made.port = 9000;
    made.version = "1";
    return made;
}

/// "0+ 1-": who stands in the view, alive or not; or the code of the refusal, or of the Error.
std::string beat(SharedBoard& board, BoardFile& file, const Member& own, Clock::time_point now) {
    try {
        const Answer answer = board.beat(file, own, now);
        if (answer.refusal) return fmt::format("refused {}", answer.refusal->code);
        std::string text;
        for (const Record& record : answer.view)
            text +=
                fmt::format("{}{}{}", text.empty() ? "" : " ", record.member.rank, record.alive ? "+" : "-");
        return text;
    } catch (const Error& error) {
        return fmt::format("error {}", error.code());
    }
}

const Board::Group kGroup{"c", 2, "1"};

BoardFile fresh() { return {"c", 2, {}}; }

TEST(SharedBoardTest, twoMeet) {
    BoardFile file = fresh();
    SharedBoard zero(kGroup);
    SharedBoard one(kGroup);
    const Clock::time_point now = Clock::now();
    EXPECT_EQ(beat(zero, file, member(0), now), "0+");
    EXPECT_EQ(beat(one, file, member(1), now), "error 667");  // does rank 0 live?
    EXPECT_EQ(beat(zero, file, member(0), now + 200ms), "0+");
    EXPECT_EQ(beat(one, file, member(1), now + 200ms), "0+ 1+");
    EXPECT_EQ(beat(zero, file, member(0), now + 400ms), "0+ 1-");  // seen once only
    EXPECT_EQ(beat(one, file, member(1), now + 400ms), "0+ 1+");
    EXPECT_EQ(beat(zero, file, member(0), now + 600ms), "0+ 1+");
    // Rank 1 falls silent.
    EXPECT_EQ(beat(zero, file, member(0), now + 4s), "0+ 1+");
    EXPECT_EQ(beat(zero, file, member(0), now + 6s), "0+ 1-");
    EXPECT_FALSE(zero.isDeserted(file, now + 6s));
}

TEST(SharedBoardTest, whatAnEarlierGroupLeftBehind) {
    const Clock::time_point now = Clock::now();
    for (const uint32_t world_size : {2U, 3U}) {
        BoardFile file{
            world_size == 2 ? "c" : "other", world_size, {{77, member(0, 'x')}, {9, member(1, 'x')}}};
        SharedBoard zero(kGroup);
        EXPECT_EQ(beat(zero, file, member(0), now), "error 667");
        EXPECT_EQ(beat(zero, file, member(0), now + 4s), "error 667");
        EXPECT_EQ(beat(zero, file, member(0), now + 5s), world_size == 2 ? "0+ 1-" : "0+");
        EXPECT_EQ(file.cluster, "c");
        EXPECT_EQ(file.world_size, 2U);
    }
    Member left = member(1, 'x');
    left.state = MemberState::Left;
    BoardFile file{"c", 2, {{9, left}}};
    SharedBoard one(kGroup);
    EXPECT_EQ(beat(one, file, member(1), now), "1+");
}

TEST(SharedBoardTest, whoIsRefused) {
    const Clock::time_point now = Clock::now();
    const auto answerTo = [&](const Board::Group& group, const Member& own) {
        BoardFile file = fresh();
        SharedBoard zero(kGroup);
        SharedBoard newcomer(group);
        beat(zero, file, member(0), now);
        EXPECT_EQ(beat(newcomer, file, own, now), "error 667");
        beat(zero, file, member(0), now + 200ms);
        return beat(newcomer, file, own, now + 200ms);
    };
    EXPECT_EQ(answerTo(kGroup, member(1)), "0+ 1+");
    EXPECT_EQ(answerTo(kGroup, member(0, 'b')), "refused 318");
    EXPECT_EQ(answerTo({"other", 2, "1"}, member(1)), "refused 714");
    EXPECT_EQ(answerTo({"c", 3, "1"}, member(1)), "refused 318");
    Member newer = member(1);
    newer.version = "2";
    EXPECT_EQ(answerTo({"c", 2, "2"}, newer), "refused 318");
}

TEST(SharedBoardTest, onlyTheLatestKeepsAPlace) {
    BoardFile file = fresh();
    SharedBoard first(kGroup);
    SharedBoard second(kGroup);
    const Clock::time_point now = Clock::now();
    EXPECT_EQ(beat(first, file, member(0), now), "0+");
    EXPECT_EQ(beat(second, file, member(0, 'b'), now), "error 667");
    EXPECT_EQ(beat(second, file, member(0, 'b'), now + 6s), "0+");  // the first stood still
    EXPECT_EQ(beat(first, file, member(0), now + 6s), "refused 318");
    EXPECT_EQ(beat(second, file, member(0, 'b'), now + 7s), "0+");
    EXPECT_EQ(beat(first, file, member(0), now + 7s), "refused 318");
}

TEST(SharedBoardTest, aRemovedFileIsWrittenAgain) {
    BoardFile file = fresh();
    SharedBoard zero(kGroup);
    const Clock::time_point now = Clock::now();
    beat(zero, file, member(0), now);
    file = fresh();
    EXPECT_EQ(beat(zero, file, member(0), now + 1s), "0+");
}

TEST(BoardFileTest, bytes) {
    BoardFile file{"c", 4, {{7, member(0)}, {8, member(3)}}};
    for (const std::string secret : {"", "s"}) {
        const std::string good = encodeBoardFile(file, secret);
        const BoardFile back = decodeBoardFile(good, secret);
        EXPECT_EQ(back.cluster, "c");
        EXPECT_EQ(back.world_size, 4U);
        ASSERT_EQ(back.entries.size(), 2U);
        EXPECT_EQ(back.entries[1].beat, 8U);
        EXPECT_EQ(back.entries[1].member, member(3));
        for (size_t size = 0; size < good.size(); ++size)
            EXPECT_THROW(decodeBoardFile(std::string_view(good).substr(0, size), secret), Error) << size;
        for (size_t at = 0; at < good.size(); ++at) {
            std::string changed = good;
            changed[at] = static_cast<char>(changed[at] ^ 0x20);
            EXPECT_THROW(decodeBoardFile(changed, secret), Error) << at;
        }
    }
    try {
        decodeBoardFile(encodeBoardFile(file, "one"), "another");
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), 516);
    }
}

TEST(LockedFileTest, oneAtATime) {
    const std::string path =
        (std::filesystem::temp_directory_path() / fmt::format("shardd_board_{}", ::getpid())).string();
    std::remove(path.c_str());
    {
        auto one = LockedFile::tryOpen(path);
        ASSERT_TRUE(one);
        EXPECT_EQ(one->read(), "");
        EXPECT_FALSE(LockedFile::tryOpen(path));
        one->write("longer text");
        one->write("short");
        EXPECT_EQ(one->read(), "short");
    }
    {
        auto two = LockedFile::tryOpen(path);
        ASSERT_TRUE(two);
        EXPECT_EQ(two->read(), "short");
        two->remove();
        auto three = LockedFile::tryOpen(path);  // another file of the same name
        ASSERT_TRUE(three);
        EXPECT_EQ(three->read(), "");
    }
    std::filesystem::resize_file(path, LockedFile::kMaxBytes + 1);
    EXPECT_THROW(LockedFile::tryOpen(path)->read(), Error);
    std::remove(path.c_str());
    EXPECT_THROW(LockedFile::tryOpen("/nowhere/at/all"), Error);
}

}  // namespace
}  // namespace shardd::bootstrap
