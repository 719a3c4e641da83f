#pragma once

#include "server/plan/planner_context.h"
#include "server/plan/query_tree.h"

namespace shardd::plan {

/// A constant as a value of a column's type, when it is exactly one of its values.
struct ExactCast {
    enum class Outcome : uint8_t {
        Exact,
        Impossible,  // no value of the type equals it: 300 for a UInt8, 1.5 for an integer
        Unknown,  // the comparison would not be one of equal values (texts with a time, decimals, …): do not
                  // conclude
    };

    Outcome outcome = Outcome::Unknown;
    Value value;  // physical
};

/// `value` is of type `from`, not NULL.
ExactCast castExactly(const TypePtr& from,
                      const Value& value,
                      const TypePtr& to,
                      const PlannerContext& context);

}  // namespace shardd::plan
