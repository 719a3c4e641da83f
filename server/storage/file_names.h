#pragma once

#include <string>
#include <string_view>

namespace shardd::storage {

/// Letters, digits and '_' stay, any other byte becomes %XX: "a b" -> "a%20b". For databases, tables and
/// streams.
std::string escapeFileName(std::string_view name);

/// Back; bytes that are no escape stay as they are.
std::string unescapeFileName(std::string_view name);

}  // namespace shardd::storage
