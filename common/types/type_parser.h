#pragma once

#include <string_view>

#include "common/types/type.h"

namespace shardd {

/// "Map(String, UInt8)" to a Type. Aliases and case-insensitive names as ClickHouse has them.
/// Errors: UNKNOWN_TYPE (50) naming the family; the codes of ClickHouse for wrong arguments; SYNTAX_ERROR (62).
/// Nesting deeper than 100 levels is refused (306).
TypePtr parseType(std::string_view text);

}  // namespace shardd
