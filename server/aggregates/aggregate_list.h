#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "server/aggregates/aggregate.h"

namespace shardd::aggregates {

/// How a function is called. The argument types are bare: LowCardinality and (but for Nulls::Own) Nullable
/// were taken off.
struct Signature {
    std::string name;
    std::vector<Value> parameters;
    std::vector<TypePtr> arguments;
};

/// What becomes of rows with a NULL argument, and of the state's first byte; see docs/aggregates.md.
enum class Nulls : uint8_t {
    /// Skipped; a flag tells whether a row came, without one the result is NULL. When the result cannot be
    /// NULL: no flag.
    Flagged,
    /// Skipped; the result is never NULL, yet the flag is there and always one.
    FlagAlwaysOne,
    /// Skipped; no flag.
    NoFlag,
    /// The function sees Nullable arguments itself.
    Own,
};

/// One aggregate function, as system.functions and the documentation show it.
struct AggregateInfo {
    std::string_view name;
    AggregateFunctionPtr (*create)(Signature signature);
    bool case_insensitive = false;
    Nulls nulls = Nulls::Flagged;
    /// "sum(x)".
    std::string_view syntax = {};
    /// One sentence.
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

/// By name, alias, or either in another case where that is allowed; nullptr when there is none. No
/// combinators.
const AggregateInfo* findAggregateInfo(std::string_view name);

/// Makes states known to types and columns (setAggregateResolver); main calls it once at the start.
void registerStates();

}  // namespace shardd::aggregates
