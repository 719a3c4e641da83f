#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "config/config.h"

namespace shardd {

/// A user who has been let in, with what their profile says.
struct User {
    UserConfig config;
    Settings settings;  ///< of the profile, inheritance applied
    SettingConstraints constraints;
};

/// The accounts. Immutable: a reload makes a new one, and who holds a User keeps it.
/// Threads: any number may call check() at once.
class Users {
public:
    explicit Users(const Config& config);

    /// `address` is the client's IP as text ("127.0.0.1", "::1", "::ffff:10.0.0.1").
    /// Errors: AUTHENTICATION_FAILED (516) for an unknown name, a wrong password, and an address not allowed,
    ///         with one and the same text, so that a stranger cannot learn which names exist.
    std::shared_ptr<const User> check(std::string_view name,
                                      std::string_view password,
                                      std::string_view address) const;

    /// Without a password: for queries that come through a cluster with a secret. Errors: as check().
    std::shared_ptr<const User> trusted(std::string_view name, std::string_view address) const;

    /// Null when there is none of that name.
    std::shared_ptr<const User> find(std::string_view name) const;

    const std::map<std::string, std::shared_ptr<const User>, std::less<>>& all() const { return users_; }

private:
    std::map<std::string, std::shared_ptr<const User>, std::less<>> users_;
};

/// Whether `address` lies in `network` ("10.0.0.0/8", "::/0", "192.168.0.1", "10.0.0.0/255.0.0.0").
bool addressInNetwork(std::string_view address, std::string_view network);

/// Whether `network` has one of those forms.
bool isNetwork(std::string_view network);

}  // namespace shardd
