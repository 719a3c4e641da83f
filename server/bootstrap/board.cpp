#include "server/bootstrap/board.h"

#include <fmt/core.h>

namespace shardd::bootstrap {

namespace {

Refusal refuse(ErrorCode code, std::string text) {
    return {.kind = Refusal::Kind::Other, .code = static_cast<int>(code), .text = std::move(text)};
}

}  // namespace

Refusal duplicateRank(const Member& newcomer, const Member& holder) {
    return {
        .kind = Refusal::Kind::Duplicate,
        .code = static_cast<int>(ErrorCode::INVALID_CONFIG_PARAMETER),
        .text = fmt::format("{} cannot join: the rank is taken by {}", describe(newcomer), describe(holder))};
}

std::optional<Refusal> Board::check(const std::string& cluster,
                                    uint32_t world_size,
                                    const Member& member) const {
    if (cluster != group_.cluster)
        return refuse(ErrorCode::UNEXPECTED_CLUSTER,
                      fmt::format("{} looks for cluster '{}', {} forms cluster '{}'", describe(member),
                                  cluster, describe(host_), group_.cluster));
    if (world_size != group_.world_size)
        return refuse(ErrorCode::INVALID_CONFIG_PARAMETER,
                      fmt::format("{} has world size {}, {} has world size {}", describe(member), world_size,
                                  describe(host_), group_.world_size));
    if (member.rank >= group_.world_size)
        return refuse(ErrorCode::INVALID_CONFIG_PARAMETER,
                      fmt::format("{} is beyond the world size {}", describe(member), group_.world_size));
    if (member.version != group_.version)
        return refuse(ErrorCode::INVALID_CONFIG_PARAMETER,
                      fmt::format("{} runs version {}, {} runs version {}", describe(member), member.version,
                                  describe(host_), group_.version));
    if (member.secure != host_.secure)
        return refuse(
            ErrorCode::INVALID_CONFIG_PARAMETER,
            fmt::format("{} has backend {}, {} has backend {}", describe(member),
                        member.secure ? "tls" : "tcp", describe(host_), host_.secure ? "tls" : "tcp"));
    return std::nullopt;
}

bool Board::isAlive(const Slot& slot, Clock::time_point now) {
    return slot.present && slot.member.state != MemberState::Left && now - slot.heard_at < kDeadAfter;
}

Answer Board::beat(const Member& member, Clock::time_point now) {
    const auto found = slots_.find(member.rank);
    if (found != slots_.end() && found->second.member.id != member.id && isAlive(found->second, now))
        return {.view = {}, .refusal = duplicateRank(member, found->second.member)};
    slots_[member.rank] = {member, now, true};
    return {.view = view(now), .refusal = std::nullopt};
}

void Board::learn(const std::vector<Member>& roster) {
    for (const Member& member : roster)
        if (member.rank < group_.world_size) slots_.try_emplace(member.rank, Slot{member, {}, false});
}

void Board::lose(uint32_t rank, const std::string& id) {
    const auto found = slots_.find(rank);
    if (found != slots_.end() && found->second.member.id == id) found->second.present = false;
}

View Board::view(Clock::time_point now) const {
    View view;
    for (const auto& [rank, slot] : slots_) view.push_back({slot.member, isAlive(slot, now)});
    return view;
}

}  // namespace shardd::bootstrap
