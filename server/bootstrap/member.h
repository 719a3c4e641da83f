#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/bootstrap_config.h"

namespace shardd::bootstrap {

/// How far a node has come. Travels between nodes: never renumber.
enum class MemberState : uint8_t {
    Joined = 0,  ///< it is there
    Ready = 1,   ///< it has seen all others, and reached each of them
    Formed = 2,  ///< it answers queries on the cluster
    Left = 3,    ///< it has said good-bye
};

/// What a node says of itself.
struct Member {
    uint32_t rank = 0;
    std::string id;  ///< of this process, unlike all others: 32 hexadecimal digits
    BootstrapConfig::Role role = BootstrapConfig::Role::Both;
    std::string host;  ///< where its native protocol is
    uint16_t port = 0;
    bool secure = false;
    std::string version;  ///< of the program
    MemberState state = MemberState::Joined;
    std::string problem;  ///< why it is not ready; empty when nothing is wrong

    bool operator==(const Member&) const = default;

    bool holdsShard() const { return role != BootstrapConfig::Role::Initiator; }
};

/// A member as others see it.
struct Record {
    Member member;
    bool alive = false;  ///< it has been heard of lately

    bool operator==(const Record&) const = default;
};

/// By rank; at most one a rank.
using View = std::vector<Record>;

/// "rank 1 (127.0.0.1:9001, node 0af1…)": how a node is named in what an operator reads.
std::string describe(const Member& member);

/// 32 hexadecimal digits that nobody else has.
std::string makeMemberId();

}  // namespace shardd::bootstrap
