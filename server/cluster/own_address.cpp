#include "server/cluster/own_address.h"

#include <cstring>
#include <memory>
#include <string_view>

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "common/base/host.h"

namespace shardd::cluster {

namespace {

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

AddressList lookUp(const std::string& host, int flags) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags;
    addrinfo* found = nullptr;
    if (::getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) found = nullptr;
    return {found, &::freeaddrinfo};
}

/// The bytes of an IPv4 or IPv6 address; empty for others.
std::string_view bytesOf(const sockaddr* address) {
    if (!address) return {};
    if (address->sa_family == AF_INET) {
        const auto& v4 = *reinterpret_cast<const sockaddr_in*>(address);
        return {reinterpret_cast<const char*>(&v4.sin_addr), sizeof(v4.sin_addr)};
    }
    if (address->sa_family == AF_INET6) {
        const auto& v6 = *reinterpret_cast<const sockaddr_in6*>(address);
        return {reinterpret_cast<const char*>(&v6.sin6_addr), sizeof(v6.sin6_addr)};
    }
    return {};
}

bool isLoopback(std::string_view bytes) {
    if (bytes.size() == sizeof(in6_addr))
        return bytes.substr(0, 15) == std::string(15, '\0') && bytes[15] == 1;
    return bytes.size() == sizeof(in_addr) && bytes[0] == 127 && static_cast<uint8_t>(bytes[1]) <= 1 &&
           static_cast<uint8_t>(bytes[2]) <= 1 && static_cast<uint8_t>(bytes[3]) <= 1;
}

bool isOnInterface(std::string_view bytes) {
    ifaddrs* first = nullptr;
    if (::getifaddrs(&first) != 0) return false;
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> all(first, &::freeifaddrs);
    for (const ifaddrs* each = first; each; each = each->ifa_next)
        if (bytesOf(each->ifa_addr) == bytes) return true;
    return false;
}

std::string findOwnHostName() {
    const AddressList found = lookUp(hostName(), AI_CANONNAME);
    return found && found->ai_canonname ? found->ai_canonname : hostName();
}

}  // namespace

const std::string& ownHostName() {
    static const std::string name = findOwnHostName();
    return name;
}

bool isOwnHost(const std::string& host) {
    const AddressList found = lookUp(host, 0);
    for (const addrinfo* each = found.get(); each; each = each->ai_next) {
        const std::string_view bytes = bytesOf(each->ai_addr);
        if (!bytes.empty() && (isLoopback(bytes) || isOnInterface(bytes))) return true;
    }
    return false;
}

}  // namespace shardd::cluster
