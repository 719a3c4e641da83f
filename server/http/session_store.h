#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "server/session/query.h"

namespace shardd::http {

/// Sessions that live on between requests, by user and session_id: their settings and temporary tables.
/// Threads: any.
class SessionStore {
public:
    using Clock = std::chrono::steady_clock;
    using SessionPtr = std::shared_ptr<session::ClientSession>;

    /// More than so many at a time are refused, so that names cost no memory without bounds.
    static constexpr size_t kMaxSessions = 10000;

    /// The session of that name, or `fresh` under it. Errors: SESSION_IS_LOCKED (373) while another request
    /// uses it, SESSION_NOT_FOUND (372) when it must exist.
    SessionPtr take(const std::string& user, const std::string& id, SessionPtr fresh, bool must_exist);

    /// It is kept for `timeout` from now.
    void giveBack(const std::string& user, const std::string& id, std::chrono::seconds timeout);

private:
    struct Named {
        SessionPtr session;
        bool in_use = false;
        Clock::time_point expires_at;
    };

    void forgetExpired(Clock::time_point now);

    std::mutex mutex_;  // guards sessions_
    std::map<std::pair<std::string, std::string>, Named> sessions_;
};

}  // namespace shardd::http
