#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/aggregates/aggregate_list.h"

namespace shardd::aggregates {

/// Finds the function that a combinator wraps: resolveAggregateFunction without the changes of the outermost
/// call.
using NestedResolver = AggregateFunctionPtr (*)(const std::string& name,
                                                const std::vector<Value>& parameters,
                                                const std::vector<TypePtr>& arguments);

/// A suffix that changes how any aggregate function takes its arguments or gives its result.
struct Combinator {
    std::string_view name;
    /// `signature.name` is the whole name, `nested_name` the one without the suffix. Nullable arguments are
    /// still there unless `strips_nullable`.
    AggregateFunctionPtr (*create)(Signature signature,
                                   const std::string& nested_name,
                                   NestedResolver resolve);
    /// Nullable arguments are wrapped outside of the combinator (docs/aggregates.md, "NULLs"), not inside.
    bool strips_nullable;
    /// May stand twice in a row: sumArrayArray, sumForEachForEach.
    bool nests;
};

/// The combinator that `name` ends with; nullptr when there is none (or nothing would be left of the name).
const Combinator* findCombinator(std::string_view name);

// One function for each combinator, in combinators.cpp, state_combinators.cpp, array_combinators.cpp,
// distinct_combinator.cpp.
AggregateFunctionPtr createIf(Signature signature, const std::string& nested_name, NestedResolver resolve);
AggregateFunctionPtr createOrNull(Signature signature,
                                  const std::string& nested_name,
                                  NestedResolver resolve);
AggregateFunctionPtr createOrDefault(Signature signature,
                                     const std::string& nested_name,
                                     NestedResolver resolve);
AggregateFunctionPtr createArgMinCombinator(Signature signature,
                                            const std::string& nested_name,
                                            NestedResolver resolve);
AggregateFunctionPtr createArgMaxCombinator(Signature signature,
                                            const std::string& nested_name,
                                            NestedResolver resolve);
AggregateFunctionPtr createResample(Signature signature,
                                    const std::string& nested_name,
                                    NestedResolver resolve);
AggregateFunctionPtr createState(Signature signature, const std::string& nested_name, NestedResolver resolve);
AggregateFunctionPtr createSimpleState(Signature signature,
                                       const std::string& nested_name,
                                       NestedResolver resolve);
AggregateFunctionPtr createMerge(Signature signature, const std::string& nested_name, NestedResolver resolve);
AggregateFunctionPtr createArray(Signature signature, const std::string& nested_name, NestedResolver resolve);
AggregateFunctionPtr createForEach(Signature signature,
                                   const std::string& nested_name,
                                   NestedResolver resolve);
AggregateFunctionPtr createMap(Signature signature, const std::string& nested_name, NestedResolver resolve);
AggregateFunctionPtr createTuple(Signature signature, const std::string& nested_name, NestedResolver resolve);
AggregateFunctionPtr createDistinct(Signature signature,
                                    const std::string& nested_name,
                                    NestedResolver resolve);

}  // namespace shardd::aggregates
