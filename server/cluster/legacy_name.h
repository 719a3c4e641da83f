#pragma once

#include <string>
#include <string_view>

namespace shardd::cluster {

/// How a server without the analyzer (18.16) calls a column of stages 1, 3 and 4: "plus(v, 1)" for
/// "plus(__table1.v, 1_UInt8)". Text inside quotes stays.
std::string legacyName(std::string_view name);

}  // namespace shardd::cluster
