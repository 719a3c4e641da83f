#pragma once

#include <map>
#include <memory>
#include <string>

#include "config/settings.h"
#include "config/users.h"
#include "server/session/query.h"
#include "server/storage/table.h"

namespace shardd::daemon {

/// What a client's connection keeps between its queries.
/// Threads: one query at a time.
class DaemonSession final : public session::ClientSession {
public:
    DaemonSession(std::shared_ptr<const User> who, std::string current_database)
        : account(std::move(who)), settings(account->settings), database(std::move(current_database)) {}

    const std::string& user() const override { return account->config.name; }

    std::optional<std::string> setting(std::string_view name) const override { return settings.find(name); }

    std::shared_ptr<const User> account;
    /// The profile's, then what SET changed.
    Settings settings;
    std::string database;
    /// CREATE TEMPORARY TABLE.
    std::map<std::string, storage::TablePtr> temporary_tables;
    /// SET param_x = …, as text.
    std::map<std::string, std::string> parameters;
    /// Came with the secret of a cluster: rights were checked by the initiator.
    bool is_trusted = false;
};

}  // namespace shardd::daemon
