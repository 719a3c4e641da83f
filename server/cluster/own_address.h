#pragma once

#include <cstdint>
#include <string>

namespace shardd::cluster {

/// The name of this machine, with its domain when the resolver knows it.
const std::string& ownHostName();

/// Whether `host` leads to this machine. Looks names up. As in ClickHouse, of 127.0.0.0/8 only addresses made
/// of zeros and ones count: 127.0.0.2 stands for another machine in tests.
bool isOwnHost(const std::string& host);

}  // namespace shardd::cluster
