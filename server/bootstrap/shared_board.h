#pragma once

#include <map>
#include <optional>
#include <string>

#include "server/bootstrap/board.h"
#include "server/bootstrap/board_file.h"

namespace shardd::bootstrap {

/// One node's judgement of the shared file: who in it lives, whether the node may enter, and what it writes.
/// Clocks of machines differ, so life is seen by a record's beat growing between two looks; until it grows or
/// has stood still for kDeadAfter nothing is known of it, and a newcomer waits. No files, no clock of its
/// own. Threads: one.
class SharedBoard {
public:
    explicit SharedBoard(Board::Group group) : group_(std::move(group)) {}

    /// `file` is what stands there now, under the lock; it is changed to what shall stand there. Nothing in
    /// the answer but a refusal when the node may not enter. Errors: NOT_INITIALIZED (667) while that cannot
    /// be told yet.
    Answer beat(BoardFile& file, const Member& own, Clock::time_point now);

    /// Nobody but those who left or died is in the file.
    bool isDeserted(const BoardFile& file, Clock::time_point now) const;

private:
    enum class Life : uint8_t { Unknown, Alive, Dead };

    struct Seen {
        std::string id;
        uint64_t beat = 0;
        bool has_grown = false;
        Clock::time_point changed_at;
    };

    void look(const BoardFile& file, Clock::time_point now);
    Life lifeOf(const Member& member, Clock::time_point now) const;
    std::optional<Refusal> enter(BoardFile& file, const Member& own, Clock::time_point now);

    const Board::Group group_;
    std::map<uint32_t, Seen> seen_;
    uint64_t beats_ = 0;
    bool is_inside_ = false;
};

}  // namespace shardd::bootstrap
