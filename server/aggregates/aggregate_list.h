#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "server/aggregates/aggregate.h"

namespace shardd::aggregates {

/// One aggregate function, as system.functions and the documentation show it.
struct AggregateInfo {
    std::string_view name;
    /// For arguments that are not Nullable (the frame removed that), not LowCardinality.
    AggregateFunctionPtr (*create)(const std::string& name,
                                   const std::vector<Value>& parameters,
                                   const std::vector<TypePtr>& arguments);
    bool case_insensitive = false;
    /// How NULLs are treated, see docs/aggregates.md: the state has a flag and the result is Nullable; the flag is always
    /// one and the result is not; there is no flag; the function sees NULLs itself.
    enum class Nulls : uint8_t { Flagged, FlagAlwaysOne, NoFlag, Own } nulls = Nulls::Flagged;
    std::string_view syntax = {};
    std::string_view description = {};
    std::string_view example = {};
    std::string_view example_result = {};
};

struct AggregateAlias {
    std::string_view alias;
    std::string_view name;
    bool case_insensitive = false;
};

const std::vector<AggregateInfo>& allAggregates();
const std::vector<AggregateAlias>& allAggregateAliases();
/// "If", "State", …: the rows of system.aggregate_function_combinators.
std::span<const std::string_view> allCombinators();

}  // namespace shardd::aggregates
