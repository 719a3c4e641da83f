#include "server/aggregates/aggregate_list.h"

#include <algorithm>
#include <unordered_map>

#include "server/aggregates/combinators.h"

// A new family of aggregate functions is its own .cpp and one name here.
#define SHARDD_AGGREGATES(X) \
    X(approximateDistinct)   \
    X(argExtremes)           \
    X(average)               \
    X(bitOperations)         \
    X(bitmap)                \
    X(count)                 \
    X(distinct)              \
    X(distributions)         \
    X(events)                \
    X(extremes)              \
    X(groupArray)            \
    X(groupArrayExtra)       \
    X(groupConcat)           \
    X(groupUniqArray)        \
    X(hypothesis)            \
    X(mapSum)                \
    X(nothing)               \
    X(quantile)              \
    X(quantileDD)            \
    X(quantileExact)         \
    X(quantileGK)            \
    X(quantileSketches)      \
    X(sequences)             \
    X(singleValues)          \
    X(statistics)            \
    X(sum)                   \
    X(topK)

namespace shardd::aggregates {

#define DECLARE(family) std::span<const AggregateInfo> family##Aggregates();
SHARDD_AGGREGATES(DECLARE)
#undef DECLARE

const std::vector<AggregateInfo>& allAggregates() {
    static const std::vector<AggregateInfo> kAll = [] {
        std::vector<AggregateInfo> all;
#define APPEND(family) \
    for (const AggregateInfo& info : family##Aggregates()) all.push_back(info);
        SHARDD_AGGREGATES(APPEND)
#undef APPEND
        return all;
    }();
    return kAll;
}

const std::vector<AggregateAlias>& allAggregateAliases() {
    static const std::vector<AggregateAlias> kAliases = {
        {"BIT_AND", "groupBitAnd", true},
        {"BIT_OR", "groupBitOr", true},
        {"BIT_XOR", "groupBitXor", true},
        {"COVAR_POP", "covarPop", true},
        {"COVAR_SAMP", "covarSamp", true},
        {"STD", "stddevPop", true},
        {"STDDEV", "stddevSamp", true},
        {"STDDEV_POP", "stddevPop", true},
        {"STDDEV_SAMP", "stddevSamp", true},
        {"VAR_POP", "varPop", true},
        {"VAR_SAMP", "varSamp", true},
        {"anyLastRespectNulls", "anyLast_respect_nulls"},
        {"anyRespectNulls", "any_respect_nulls"},
        {"anyValueRespectNulls", "any_respect_nulls"},
        {"any_value", "any", true},
        {"any_value_respect_nulls", "any_respect_nulls", true},
        {"approx_top_count", "approx_top_k", true},
        {"array_agg", "groupArray", true},
        {"array_concat_agg", "groupArrayArray", true},
        {"firstValueRespectNulls", "any_respect_nulls"},
        {"first_value", "any", true},
        {"first_value_respect_nulls", "any_respect_nulls", true},
        {"group_concat", "groupConcat", true},
        {"lastValueRespectNulls", "anyLast_respect_nulls"},
        {"last_value", "anyLast", true},
        {"last_value_respect_nulls", "anyLast_respect_nulls", true},
        {"maxMappedArrays", "maxMap"},
        {"max_by", "argMax", true},
        {"median", "quantile"},
        {"medianBFloat16", "quantileBFloat16"},
        {"medianBFloat16Weighted", "quantileBFloat16Weighted"},
        {"medianDD", "quantileDD"},
        {"medianDeterministic", "quantileDeterministic"},
        {"medianExact", "quantileExact"},
        {"medianExactHigh", "quantileExactHigh"},
        {"medianExactLow", "quantileExactLow"},
        {"medianExactWeighted", "quantileExactWeighted"},
        {"medianExactWeightedInterpolated", "quantileExactWeightedInterpolated"},
        {"medianGK", "quantileGK"},
        {"medianInterpolatedWeighted", "quantileInterpolatedWeighted"},
        {"medianTDigest", "quantileTDigest"},
        {"medianTDigestWeighted", "quantileTDigestWeighted"},
        {"medianTiming", "quantileTiming"},
        {"medianTimingWeighted", "quantileTimingWeighted"},
        {"minMappedArrays", "minMap"},
        {"min_by", "argMin", true},
        {"string_agg", "groupConcat", true},
        {"sumMappedArrays", "sumMap"},
    };
    return kAliases;
}

namespace {

std::string lowerCase(std::string_view text) {
    std::string lower(text);
    for (char& c : lower)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return lower;
}

struct NameIndex {
    std::unordered_map<std::string, const AggregateInfo*> exact;
    std::unordered_map<std::string, const AggregateInfo*> folded;

    NameIndex() {
        for (const AggregateInfo& info : allAggregates()) {
            exact.emplace(info.name, &info);
            if (info.case_insensitive) folded.emplace(lowerCase(info.name), &info);
        }
        for (const AggregateAlias& alias : allAggregateAliases()) {
            const auto found = exact.find(std::string(alias.name));
            if (found == exact.end()) continue;
            exact.emplace(alias.alias, found->second);
            if (alias.case_insensitive) folded.emplace(lowerCase(alias.alias), found->second);
        }
    }
};

}  // namespace

const AggregateInfo* findAggregateInfo(std::string_view name) {
    static const NameIndex kIndex;
    if (const auto found = kIndex.exact.find(std::string(name)); found != kIndex.exact.end())
        return found->second;
    if (const auto found = kIndex.folded.find(lowerCase(name)); found != kIndex.folded.end())
        return found->second;
    return nullptr;
}

namespace {

/// Longer suffixes first where one ends another ("MergeState" is State over Merge and needs no row).
constexpr Combinator kCombinators[] = {
    {"SimpleState", createSimpleState, false, false},
    {"OrDefault", createOrDefault, true, false},
    {"Distinct", createDistinct, true, false},
    {"Resample", createResample, true, true},
    {"ForEach", createForEach, true, true},
    {"ArgMax", createArgMaxCombinator, true, false},
    {"ArgMin", createArgMinCombinator, true, false},
    {"OrNull", createOrNull, true, false},
    {"Tuple", createTuple, true, true},
    {"Merge", createMerge, false, false},
    {"State", createState, false, false},
    {"Array", createArray, true, true},
    {"Map", createMap, true, true},
    {"If", createIf, false, false},
};

}  // namespace

const Combinator* findCombinator(std::string_view name) {
    for (const Combinator& combinator : kCombinators)
        if (name.size() > combinator.name.size() && name.ends_with(combinator.name)) return &combinator;
    return nullptr;
}

std::span<const std::string_view> allCombinators() {
    static const std::vector<std::string_view> kNames = [] {
        std::vector<std::string_view> names;
        for (const Combinator& combinator : kCombinators) {
            names.push_back(combinator.name);
            if (combinator.name == "Array")
                names.push_back("Null");  // internal: the wrapper for Nullable arguments
        }
        return names;
    }();
    return kNames;
}

}  // namespace shardd::aggregates
