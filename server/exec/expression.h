#pragma once

#include <unordered_map>
#include <vector>

#include "server/plan/plan.h"

namespace shardd::exec {

/// The value of one expression for every row of a block; may be a constant or a dictionary.
/// Errors: NOT_FOUND_COLUMN_IN_BLOCK where the block lacks an input; what functions throw.
ColumnPtr evaluate(const plan::ExpressionPtr& expression, const Block& block);

/// Several expressions over one block; shared parts are computed once.
Block evaluate(const std::vector<plan::NamedExpression>& expressions, const Block& block);

/// A condition's rows: 1 where it is neither 0 nor NULL.
Mask evaluateCondition(const plan::ExpressionPtr& condition, const Block& block);

/// The same for a column that is there already (any number, Bool, Nullable, a constant, a dictionary).
Mask maskOf(const Column& column, const Type& type);

/// The mask with a look at it: `kept` is the number of ones.
struct Condition {
    Mask mask;
    size_t kept = 0;
};

Condition conditionOf(const plan::ExpressionPtr& condition, const Block& block);

}  // namespace shardd::exec
