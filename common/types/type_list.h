#pragma once

#include <span>
#include <string_view>

#include "common/types/type.h"

namespace shardd {

/// One row of system.data_type_families: a name that may stand in a type, and what it means.
struct TypeFamily {
    std::string_view name;
    bool case_insensitive;
    /// The canonical family for an alias ("BIGINT" -> "Int64"), empty otherwise.
    std::string_view alias_of;
    /// The kind for families without arguments; Nothing where the parser decides.
    TypeKind kind;
};

/// Every family, the canonical ones first.
std::span<const TypeFamily> typeFamilies();

/// The family of a name as written (aliases and case folded); nullptr when unknown.
const TypeFamily* findTypeFamily(std::string_view name);

}  // namespace shardd
