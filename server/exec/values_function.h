#pragma once

#include "server/storage/engine.h"

namespace shardd::exec {

/// The table function values(['structure',] row, …), whose rows are tuples or single values. Not storage's,
/// because types must meet and values be converted. Without a structure the columns are c1, c2 … Errors:
/// TOO_FEW_ARGUMENTS_FOR_FUNCTION (35), BAD_ARGUMENTS (36), TYPE_MISMATCH (53), NO_COMMON_TYPE (386).
storage::TableFunctionInfo valuesFunction();

/// view(SELECT …) is the planner's; it stands in the list so that people find it.
storage::TableFunctionInfo viewFunction();

}  // namespace shardd::exec
