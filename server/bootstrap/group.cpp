#include "server/bootstrap/group.h"

#include <algorithm>

namespace shardd::bootstrap {

Group::Group(Options options) : options_(std::move(options)) {
    members_[options_.own.rank] = {options_.own, true};
    update();
}

void Group::see(const View& view) {
    trouble_.clear();
    refusal_.reset();
    // A board that has begun anew does not know all yet: what a formed group knows stays.
    if (phase_ != Phase::Formed) members_.clear();
    for (const Record& record : view)
        if (record.member.rank < options_.world_size) members_[record.member.rank] = record;
    members_[options_.own.rank] = {options_.own, true};
    update();
}

void Group::refuse(const Refusal& refusal) {
    trouble_.clear();
    refusal_ = refusal;
    // Somebody else is at our place: we are not of this group any more. Other reasons do not concern those
    // inside.
    if (phase_ != Phase::Formed || refusal.kind == Refusal::Kind::Duplicate) {
        options_.own.state = MemberState::Joined;
        phase_ = Phase::Refused;
    }
}

void Group::reached(uint32_t rank, const std::string& id, const std::string& problem) {
    links_[rank] = {id, problem};
    update();
}

void Group::tick(Clock::time_point now) {
    if (now >= options_.deadline) expired_ = true;
    if (phase_ == Phase::Forming && expired_) phase_ = Phase::Expired;
}

bool Group::isActive(uint32_t rank) const {
    if (rank == options_.own.rank) return true;
    const auto link = links_.find(rank);
    const auto member = members_.find(rank);
    return link != links_.end() && member != members_.end() && link->second.id == member->second.member.id &&
           member->second.member.state != MemberState::Left && link->second.problem.empty();
}

bool Group::reachedAllAlive() const {
    return std::all_of(members_.begin(), members_.end(),
                       [this](const auto& entry) { return !entry.second.alive || isActive(entry.first); });
}

void Group::update() {
    Member& own = options_.own;
    if (own.state == MemberState::Left || refusal_) return;
    if (phase_ == Phase::Refused) phase_ = expired_ ? Phase::Expired : Phase::Forming;
    own.problem.clear();
    for (const auto& [rank, link] : links_) {
        const auto member = members_.find(rank);
        if (member == members_.end() || member->second.member.id != link.id || link.problem.empty()) continue;
        if (own.problem.empty())
            own.problem = fmt::format("cannot reach {}: {}", describe(member->second.member), link.problem);
    }
    if (phase_ != Phase::Formed) {
        const bool complete = members_.size() == options_.world_size;
        const auto others = [&](const auto& holds) {
            return std::all_of(members_.begin(), members_.end(), [&](const auto& entry) {
                return entry.first == own.rank || holds(entry.second);
            });
        };
        const bool all_alive = others([](const Record& record) { return record.alive; });
        const bool ready = complete && all_alive && reachedAllAlive();
        const bool all_ready = others([](const Record& record) {
            return record.member.state == MemberState::Ready || record.member.state == MemberState::Formed;
        });
        const bool is_formed_already = !others(
            [](const Record& record) { return !record.alive || record.member.state != MemberState::Formed; });
        own.state = ready ? MemberState::Ready : MemberState::Joined;
        if ((ready && all_ready) || (complete && is_formed_already && reachedAllAlive())) {
            phase_ = Phase::Formed;
            own.state = MemberState::Formed;
        }
    }
    members_[own.rank] = {own, true};
}

std::vector<Member> Group::roster() const {
    std::vector<Member> roster;
    for (const auto& [rank, record] : members_) roster.push_back(record.member);
    return roster;
}

std::string Group::missing() const {
    std::string absent;
    std::string problems;
    size_t present = 0;
    for (uint32_t rank = 0; rank < options_.world_size; ++rank) {
        const auto found = members_.find(rank);
        if (found == members_.end() || !found->second.alive) {
            absent += fmt::format("{}{}", absent.empty() ? "" : ", ", rank);
            continue;
        }
        ++present;
        const Member& member = found->second.member;
        if (!member.problem.empty()) problems += fmt::format("; {}: {}", describe(member), member.problem);
    }
    std::string text = fmt::format("{} of {} nodes are there", present, options_.world_size);
    if (!absent.empty()) text += fmt::format(", missing ranks: {}", absent);
    if (!trouble_.empty()) text += "; " + trouble_;
    return text + problems;
}

std::optional<Error> Group::whyNot() const {
    const std::string& cluster = options_.cluster;
    switch (phase_) {
        case Phase::Formed:
            return std::nullopt;
        case Phase::Refused:
            return Error::foreign(
                refusal_->code, fmt::format("This node is not in cluster '{}': {}", cluster, refusal_->text));
        case Phase::Expired:
            return Error(ErrorCode::TIMEOUT_EXCEEDED, "Cluster '{}' was not formed within {} s: {}", cluster,
                         options_.timeout_seconds, missing());
        case Phase::Forming:
            break;
    }
    return Error(ErrorCode::NOT_INITIALIZED, "Cluster '{}' is not formed yet: {}", cluster, missing());
}

}  // namespace shardd::bootstrap
