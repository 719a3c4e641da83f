#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "server/bootstrap/messages.h"

namespace shardd::bootstrap {

using Clock = std::chrono::steady_clock;

/// A member not heard of for this long is taken for dead, and its rank may be taken by another process.
constexpr std::chrono::milliseconds kDeadAfter{5000};

/// Where members meet: a slot for each rank, held by the process that was there first for as long as it
/// lives. No sockets, no clock of its own. Threads: one.
class Board {
public:
    struct Group {
        std::string cluster;
        uint32_t world_size = 0;
        std::string version;  ///< of the program
    };

    /// `host` is who keeps the board; refusals name it.
    Board(Group group, Member host) : group_(std::move(group)), host_(std::move(host)) {}

    /// Whether somebody who asks for `cluster` in a world of `world_size` is right here.
    std::optional<Refusal> check(const std::string& cluster, uint32_t world_size, const Member& member) const;

    /// A member says what it is; its slot is its own from now on. A rank that another living process has is
    /// refused.
    Answer beat(const Member& member, Clock::time_point now);

    /// What a formed group knows of members that have not come to this board: they are not alive until they
    /// do.
    void learn(const std::vector<Member>& roster);

    /// The connection of that process has ended: its rank is free for whoever comes.
    void lose(uint32_t rank, const std::string& id);

    View view(Clock::time_point now) const;

private:
    struct Slot {
        Member member;
        Clock::time_point heard_at;
        bool present = false;  ///< it has come here, and its connection has not ended
    };

    static bool isAlive(const Slot& slot, Clock::time_point now);

    const Group group_;
    const Member host_;
    std::map<uint32_t, Slot> slots_;
};

/// Why `newcomer` may not have the rank of `holder`.
Refusal duplicateRank(const Member& newcomer, const Member& holder);

}  // namespace shardd::bootstrap
