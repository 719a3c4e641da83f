#include "server/http/session_store.h"

#include "common/base/error.h"

namespace shardd::http {

void SessionStore::forgetExpired(Clock::time_point now) {
    std::erase_if(sessions_, [now](const auto& entry) {
        return !entry.second.in_use && entry.second.expires_at <= now;
    });
}

SessionStore::SessionPtr SessionStore::take(const std::string& user,
                                            const std::string& id,
                                            SessionPtr fresh,
                                            bool must_exist) {
    const std::lock_guard lock(mutex_);
    forgetExpired(Clock::now());
    const auto found = sessions_.find({user, id});
    if (found != sessions_.end()) {
        if (found->second.in_use)
            throw Error(ErrorCode::SESSION_IS_LOCKED, "Session {} is locked by a concurrent client", id);
        found->second.in_use = true;
        return found->second.session;
    }
    if (must_exist) throw Error(ErrorCode::SESSION_NOT_FOUND, "Session {} not found", id);
    if (sessions_.size() >= kMaxSessions)
        throw Error(ErrorCode::TOO_MANY_SIMULTANEOUS_QUERIES, "Too many sessions: {}", sessions_.size());
    sessions_[{user, id}] = {fresh, true, {}};
    return fresh;
}

void SessionStore::giveBack(const std::string& user, const std::string& id, std::chrono::seconds timeout) {
    const std::lock_guard lock(mutex_);
    const auto found = sessions_.find({user, id});
    if (found == sessions_.end()) return;
    found->second.in_use = false;
    found->second.expires_at = Clock::now() + timeout;
}

}  // namespace shardd::http
