#include "server/bootstrap/shared_board.h"

#include <algorithm>

namespace shardd::bootstrap {

void SharedBoard::look(const BoardFile& file, Clock::time_point now) {
    for (const BoardFile::Entry& entry : file.entries) {
        const auto [found, is_new] = seen_.try_emplace(entry.member.rank);
        Seen& seen = found->second;
        if (is_new || seen.id != entry.member.id)
            seen = {entry.member.id, entry.beat, false, now};
        else if (seen.beat != entry.beat)
            seen = {entry.member.id, entry.beat, true, now};
    }
}

SharedBoard::Life SharedBoard::lifeOf(const Member& member, Clock::time_point now) const {
    if (member.state == MemberState::Left) return Life::Dead;
    const auto found = seen_.find(member.rank);
    if (found == seen_.end()) return Life::Unknown;
    if (now - found->second.changed_at >= kDeadAfter) return Life::Dead;
    return found->second.has_grown ? Life::Alive : Life::Unknown;
}

/// Nothing when the node may write itself into the file.
std::optional<Refusal> SharedBoard::enter(BoardFile& file, const Member& own, Clock::time_point now) {
    bool anyone_lives = false;
    for (const BoardFile::Entry& entry : file.entries) {
        if (entry.member.id == own.id) continue;
        const Life life = lifeOf(entry.member, now);
        if (life == Life::Unknown)
            throw Error(ErrorCode::NOT_INITIALIZED, "waiting to see whether {} in the file is alive",
                        describe(entry.member));
        if (life == Life::Dead) continue;
        anyone_lives = true;
        const Board there({file.cluster, file.world_size, entry.member.version}, entry.member);
        if (auto refusal = there.check(group_.cluster, group_.world_size, own)) return refusal;
        if (entry.member.rank == own.rank) return duplicateRank(own, entry.member);
    }
    // Nobody of the group that wrote the file is left: it is ours, unless a living member keeps it.
    if (!anyone_lives && (file.cluster != group_.cluster || file.world_size != group_.world_size))
        file = {group_.cluster, group_.world_size, {}};
    return std::nullopt;
}

Answer SharedBoard::beat(BoardFile& file, const Member& own, Clock::time_point now) {
    look(file, now);
    Answer answer;
    const auto place = [&] {
        return std::lower_bound(file.entries.begin(), file.entries.end(), own.rank,
                                [](const auto& entry, uint32_t rank) { return entry.member.rank < rank; });
    };
    if (is_inside_) {
        const auto mine = place();
        const bool is_taken =
            mine != file.entries.end() && mine->member.rank == own.rank && mine->member.id != own.id;
        const bool is_other = file.cluster != group_.cluster || file.world_size != group_.world_size;
        // Taken while this process stood still; or the file was removed and another group has it now.
        if (is_taken || (is_other && !file.entries.empty())) {
            is_inside_ = false;
            if (is_taken) answer.refusal = duplicateRank(own, mine->member);
        } else if (is_other) {
            file = {group_.cluster, group_.world_size, {}};
        }
    }
    if (!is_inside_ && !answer.refusal) answer.refusal = enter(file, own, now);
    if (answer.refusal) return answer;
    is_inside_ = true;
    auto mine = place();
    if (mine == file.entries.end() || mine->member.rank != own.rank)
        mine = file.entries.insert(mine, {0, own});
    *mine = {++beats_, own};
    for (const BoardFile::Entry& entry : file.entries) {
        const bool alive = entry.member.id == own.id || lifeOf(entry.member, now) == Life::Alive;
        answer.view.push_back({entry.member, alive});
    }
    return answer;
}

bool SharedBoard::isDeserted(const BoardFile& file, Clock::time_point now) const {
    return std::all_of(file.entries.begin(), file.entries.end(), [&](const BoardFile::Entry& entry) {
        return lifeOf(entry.member, now) == Life::Dead;
    });
}

}  // namespace shardd::bootstrap
