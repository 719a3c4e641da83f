#include "config/users.h"

#include <array>
#include <charconv>
#include <cstring>
#include <optional>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include "common/base/error.h"
#include "config/password.h"

namespace shardd {

namespace {

using Address = std::array<uint8_t, 16>;  // IPv4 as ::ffff:a.b.c.d

struct ParsedAddress {
    Address bytes;
    bool is_v4;
};

std::optional<ParsedAddress> parseAddress(std::string_view text) {
    const std::string copy(text.substr(0, text.find('%')));  // fe80::1%eth0
    ParsedAddress parsed{};
    if (inet_pton(AF_INET, copy.c_str(), parsed.bytes.data() + 12) == 1) {
        parsed.bytes[10] = parsed.bytes[11] = 0xff;
        parsed.is_v4 = true;
        return parsed;
    }
    parsed.bytes = {};
    if (inet_pton(AF_INET6, copy.c_str(), parsed.bytes.data()) == 1) return parsed;
    return std::nullopt;
}

std::optional<Address> parseMask(std::string_view text, bool is_v4) {
    Address mask{};
    if (const auto address = parseAddress(text); address && address->is_v4 == is_v4) {
        mask = address->bytes;
        if (is_v4) std::memset(mask.data(), 0xff, 12);
        return mask;
    }
    unsigned bits = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), bits);
    if (status != std::errc() || end != text.data() + text.size() || bits > (is_v4 ? 32 : 128))
        return std::nullopt;
    if (is_v4) bits += 96;
    for (unsigned i = 0; i < bits; ++i) mask[i / 8] = static_cast<uint8_t>(mask[i / 8] | (0x80U >> (i % 8)));
    return mask;
}

struct Network {
    Address address;
    Address mask;
};

std::optional<Network> parseNetwork(std::string_view text) {
    const size_t slash = text.find('/');
    const auto address = parseAddress(text.substr(0, slash));
    if (!address) return std::nullopt;
    Network network{address->bytes, {}};
    network.mask.fill(0xff);
    if (slash != std::string_view::npos) {
        const auto mask = parseMask(text.substr(slash + 1), address->is_v4);
        if (!mask) return std::nullopt;
        network.mask = *mask;
    }
    return network;
}

// "::/0" is how ClickHouse's files say "everyone", IPv4 clients among them; the mapped form makes that true.
bool contains(const Network& network, const Address& address) {
    for (size_t i = 0; i < address.size(); ++i)
        if ((address[i] & network.mask[i]) != (network.address[i] & network.mask[i])) return false;
    return true;
}

bool hostHasAddress(const std::string& host, const Address& wanted) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return false;
    bool matches = false;
    for (const addrinfo* info = found; info && !matches; info = info->ai_next) {
        char text[INET6_ADDRSTRLEN] = "";
        const void* raw =
            info->ai_family == AF_INET6
                ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in6*>(info->ai_addr)->sin6_addr)
                : static_cast<const void*>(&reinterpret_cast<const sockaddr_in*>(info->ai_addr)->sin_addr);
        if (!inet_ntop(info->ai_family, raw, text, sizeof(text))) continue;
        const auto address = parseAddress(text);
        matches = address && address->bytes == wanted;
    }
    freeaddrinfo(found);
    return matches;
}

bool isAllowedFrom(const UserConfig& user, std::string_view address_text) {
    if (user.any_network) return true;
    const auto address = parseAddress(address_text);
    if (!address) return false;
    for (const auto& text : user.networks) {
        const auto network = parseNetwork(text);
        if (network && contains(*network, address->bytes)) return true;
    }
    for (const auto& host : user.hosts)
        if (hostHasAddress(host, address->bytes)) return true;
    return false;
}

bool passwordMatches(const Credential& credential, std::string_view password) {
    switch (credential.kind) {
        case Credential::Kind::NoPassword:
            return true;
        case Credential::Kind::Sha256:
            return equalInConstantTime(sha256(password), credential.hash);
        case Credential::Kind::DoubleSha1:
            return equalInConstantTime(sha1(sha1(password)), credential.hash);
    }
    return false;
}

[[noreturn]] void refuse(std::string_view name) {
    throw Error(ErrorCode::AUTHENTICATION_FAILED,
                "{}: Authentication failed: password is incorrect, or there is no user with such name.",
                name);
}

}  // namespace

bool isNetwork(std::string_view network) { return parseNetwork(network).has_value(); }

bool addressInNetwork(std::string_view address, std::string_view network) {
    const auto parsed = parseNetwork(network);
    const auto bytes = parseAddress(address);
    return parsed && bytes && contains(*parsed, bytes->bytes);
}

Users::Users(const Config& config) {
    for (const auto& [name, user_config] : config.users) {
        auto user = std::make_shared<User>();
        user->config = user_config;
        if (const auto profile = config.profiles.find(config.default_profile);
            profile != config.profiles.end()) {
            user->settings = profile->second.settings;
            user->constraints = profile->second.constraints;
        }
        if (const auto profile = config.profiles.find(user_config.profile);
            profile != config.profiles.end()) {
            user->settings.merge(profile->second.settings);
            user->constraints.merge(profile->second.constraints);
        }
        users_.emplace(name, std::move(user));
    }
}

std::shared_ptr<const User> Users::find(std::string_view name) const {
    const auto found = users_.find(name);
    return found == users_.end() ? nullptr : found->second;
}

std::shared_ptr<const User> Users::check(std::string_view name,
                                         std::string_view password,
                                         std::string_view address) const {
    // An unknown name costs a hash too: the time must not tell which names exist.
    static const Credential kNobody{Credential::Kind::Sha256, std::string(32, '\0')};
    const auto user = find(name);
    const bool matches = passwordMatches(user ? user->config.credential : kNobody, password);
    if (!user || !matches || !isAllowedFrom(user->config, address)) refuse(name);
    return user;
}

std::shared_ptr<const User> Users::trusted(std::string_view name, std::string_view address) const {
    const auto user = find(name);
    if (!user || !isAllowedFrom(user->config, address)) refuse(name);
    return user;
}

}  // namespace shardd
