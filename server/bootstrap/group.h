#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "server/bootstrap/board.h"

namespace shardd::bootstrap {

/// What one node knows of the group it belongs to, and what follows from it: when it is ready, when the group
/// is formed, why it is not. No sockets, no clock of its own. Threads: one. The barrier: a node is ready when
/// it sees all others alive and has reached each of them; the group is formed when all are ready. Formed
/// once, it stays so for this process. A node that comes later (restarted, or after the deadline) is in as
/// soon as it has reached every living member of the formed group.
class Group {
public:
    enum class Phase : uint8_t {
        Forming,
        Formed,
        Expired,  ///< the deadline has passed; still formed when the missing come after all
        Refused,  ///< there is a reason that waiting does not mend
    };

    struct Options {
        std::string cluster;
        uint32_t world_size = 1;
        Member own;
        Clock::time_point deadline;
        double timeout_seconds = 0;  ///< for the message
    };

    explicit Group(Options options);

    /// What the board says.
    void see(const View& view);

    /// The board does not want us.
    void refuse(const Refusal& refusal);

    /// The board cannot be asked; `why` stands in messages until it can.
    void lose(const std::string& why) { trouble_ = why; }

    /// Whether the process `id` of that rank could be reached just now; `problem` is empty when it could.
    void reached(uint32_t rank, const std::string& id, const std::string& problem);

    void tick(Clock::time_point now);

    Phase phase() const { return phase_; }

    const Member& own() const { return options_.own; }

    /// Where the others find us, once that is known.
    void setHost(const std::string& host) { options_.own.host = host; }

    void leave() { options_.own.state = MemberState::Left; }

    /// Everyone known, by rank; with all ranks once it is formed.
    const std::map<uint32_t, Record>& members() const { return members_; }

    std::vector<Member> roster() const;

    /// Whether the member answers as far as we know.
    bool isActive(uint32_t rank) const;

    /// What queries on the cluster are told; nothing when it is formed.
    std::optional<Error> whyNot() const;

private:
    struct Link {
        std::string id;
        std::string problem;
    };

    void update();
    bool reachedAllAlive() const;
    std::string missing() const;

    Options options_;
    Phase phase_ = Phase::Forming;
    std::map<uint32_t, Record> members_;
    std::map<uint32_t, Link> links_;
    std::optional<Refusal> refusal_;
    std::string trouble_;
    bool expired_ = false;
};

}  // namespace shardd::bootstrap
