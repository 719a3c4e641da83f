#include <algorithm>

#include "server/aggregates/aggregate_list.h"
#include "server/aggregates/combinators.h"
#include "server/aggregates/wrapper.h"

namespace shardd::aggregates {

namespace {

/// Combinators stacked deeper than this are refused before the stack of calls is.
constexpr size_t kMaxNameLength = 200;

bool isOnlyNull(const TypePtr& type) {
    return type->isNullable() && type->child()->kind() == TypeKind::Nothing;
}

/// The name without combinators, whose properties decide how NULLs are treated.
const AggregateInfo* baseInfo(std::string_view name) {
    for (;;) {
        if (const AggregateInfo* info = findAggregateInfo(name)) return info;
        const Combinator* combinator = findCombinator(name);
        if (!combinator) return nullptr;
        name.remove_suffix(combinator->name.size());
    }
}

std::vector<TypePtr> withoutNullable(const std::vector<TypePtr>& types) {
    std::vector<TypePtr> result;
    for (const TypePtr& type : types) result.push_back(removeNullable(type));
    return result;
}

[[noreturn]] void failUnknown(std::string_view name) {
    std::vector<std::string> hints;
    for (const AggregateInfo& info : allAggregates())
        if (info.name.starts_with(name.substr(0, 3)) && hints.size() < 2)
            hints.push_back("'" + std::string(info.name) + "'");
    std::string text;
    for (const std::string& hint : hints) text += (text.empty() ? ". Maybe you meant: [" : ", ") + hint;
    if (!text.empty()) text += "]";
    throw Error(ErrorCode::UNKNOWN_AGGREGATE_FUNCTION, "Unknown aggregate function {}{}", name, text);
}

AggregateFunctionPtr resolve(const std::string& name,
                             const std::vector<Value>& parameters,
                             const std::vector<TypePtr>& arguments);

AggregateFunctionPtr createNothing(const Signature& signature, const AggregateInfo& base) {
    const bool counts = base.nulls == Nulls::NoFlag || base.nulls == Nulls::FlagAlwaysOne;
    const AggregateInfo* nothing = findAggregateInfo(counts ? "nothingUInt64" : "nothingNull");
    return nothing->create({std::string(nothing->name), signature.parameters, signature.arguments});
}

/// A function by its own name.
AggregateFunctionPtr createPlain(const AggregateInfo& info, Signature signature) {
    const bool nullable =
        std::ranges::any_of(signature.arguments, [](const TypePtr& type) { return type->isNullable(); });
    signature.name = std::string(info.name);
    if (info.nulls == Nulls::Own || !nullable) return info.create(std::move(signature));
    if (std::ranges::any_of(signature.arguments, isOnlyNull)) return createNothing(signature, info);
    AggregateFunctionPtr nested =
        info.create({signature.name, signature.parameters, withoutNullable(signature.arguments)});
    signature.name = nested->name();
    return wrapNullable(std::move(signature), std::move(nested), info.nulls);
}

AggregateFunctionPtr createCombined(const Combinator& combinator, Signature signature) {
    const std::string nested_name =
        canonicalAggregateName(signature.name.substr(0, signature.name.size() - combinator.name.size()));
    signature.name = nested_name + std::string(combinator.name);
    if (!combinator.nests && nested_name.ends_with(combinator.name) && !findAggregateInfo(nested_name))
        throw Error(ErrorCode::ILLEGAL_AGGREGATION, "Nested identical combinator '{}' is not supported",
                    combinator.name);
    const AggregateInfo* base = baseInfo(nested_name);
    if (!base) failUnknown(signature.name);
    const bool nullable =
        std::ranges::any_of(signature.arguments, [](const TypePtr& type) { return type->isNullable(); });
    if (!combinator.strips_nullable || !nullable || base->nulls == Nulls::Own)
        return combinator.create(std::move(signature), nested_name, resolve);
    if (std::ranges::any_of(signature.arguments, isOnlyNull)) return createNothing(signature, *base);
    AggregateFunctionPtr nested = combinator.create(
        {signature.name, signature.parameters, withoutNullable(signature.arguments)}, nested_name, resolve);
    signature.name = nested->name();
    const Nulls nulls = base->name == "count" ? Nulls::FlagAlwaysOne : base->nulls;
    return wrapNullable(std::move(signature), std::move(nested), nulls);
}

AggregateFunctionPtr resolve(const std::string& name,
                             const std::vector<Value>& parameters,
                             const std::vector<TypePtr>& arguments) {
    std::vector<TypePtr> plain;
    for (const TypePtr& type : arguments) plain.push_back(removeLowCardinalityRecursively(type));
    Signature signature{name, parameters, std::move(plain)};
    if (const AggregateInfo* info = findAggregateInfo(name)) return createPlain(*info, std::move(signature));
    const Combinator* combinator = findCombinator(name);
    if (!combinator) failUnknown(name);
    return createCombined(*combinator, std::move(signature));
}

/// array_concat_agg stands for a function with a combinator; so do initiators' names for functions over Map.
std::string expandAlias(std::string_view name) {
    for (const AggregateAlias& alias : allAggregateAliases())
        if (alias.alias == name && !findAggregateInfo(name)) return std::string(alias.name);
    return std::string(name);
}

/// Called as it is, sumIfOrNull means sumOrNullIf (no row that passes gives NULL); a state keeps the order
/// that is written. count has its own way.
std::string swappedIfOrNull(std::string name) {
    constexpr std::string_view kWritten = "IfOrNull";
    if (!name.ends_with(kWritten)) return name;
    const std::string base = name.substr(0, name.size() - kWritten.size());
    return canonicalAggregateName(base) == "count" ? name : base + "OrNullIf";
}

void checkNameLength(std::string_view name) {
    if (name.size() > kMaxNameLength)
        throw Error(ErrorCode::UNKNOWN_AGGREGATE_FUNCTION,
                    "Name of an aggregate function is too long: {} bytes", name.size());
}

/// For types of states, whose names are kept as they are written.
AggregateOpsPtr resolveOps(std::string_view name,
                           const std::vector<Value>& parameters,
                           const std::vector<TypePtr>& arguments,
                           size_t /*version*/) {
    checkNameLength(name);
    return resolve(expandAlias(name), parameters, arguments);
}

}  // namespace

AggregateFunctionPtr resolveAggregateFunction(std::string_view name,
                                              const std::vector<Value>& parameters,
                                              const std::vector<TypePtr>& arguments) {
    checkNameLength(name);
    return resolve(swappedIfOrNull(expandAlias(name)), parameters, arguments);
}

bool isAggregateFunction(std::string_view name) {
    return name.size() <= kMaxNameLength && baseInfo(expandAlias(name));
}

std::string canonicalAggregateName(std::string_view name) {
    const std::string expanded = expandAlias(name);
    if (const AggregateInfo* info = findAggregateInfo(expanded)) return std::string(info->name);
    const Combinator* combinator = findCombinator(expanded);
    if (!combinator) return expanded;
    return canonicalAggregateName(expanded.substr(0, expanded.size() - combinator->name.size())) +
           std::string(combinator->name);
}

void registerStates() { setAggregateResolver(resolveOps); }

TypePtr AggregateFunction::stateType() const {
    return types::aggregateFunction(std::static_pointer_cast<const AggregateOps>(shared_from_this()));
}

}  // namespace shardd::aggregates
