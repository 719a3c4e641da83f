#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace shardd {

/// What this machine calls itself.
const std::string& hostName();

/// "host:port", "[::1]:port".
std::string addressText(std::string_view host, uint16_t port);

}  // namespace shardd
