#include "server/functions/function_list.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace shardd::functions {

// A new function is a row in its family's file; a new family is its own .cpp and one name here.
#define SHARDD_FUNCTIONS(X) \
    X(aggregateStates)      \
    X(arithmetic)           \
    X(arithmeticExtra)      \
    X(bit)                  \
    X(bitmap)               \
    X(comparison)           \
    X(conditional)          \
    X(convert)              \
    X(extreme)              \
    X(in)                   \
    X(literal)              \
    X(logic)                \
    X(mathematics)          \
    X(parseMoment)          \
    X(reinterpret)          \
    X(rounding)             \
    X(textConvert)          \
    X(transform)            \
    X(dateAdd)              \
    X(dateParts)            \
    X(dateRound)            \
    X(searchLike)           \
    X(searchPosition)       \
    X(searchRegexp)         \
    X(textBasic)            \
    X(textSlice)            \
    X(arrayAggregate)       \
    X(arrayBuild)           \
    X(arrayDistinct)        \
    X(arrayMap)             \
    X(arrayOrder)           \
    X(arraySearch)          \
    X(arraySort)            \
    X(hashAny)              \
    X(hashDigest)           \
    X(hashText)             \
    X(encode)               \
    X(map)                  \
    X(mapLambda)            \
    X(tuple)                \
    X(dateFormat)           \
    X(dateParse)            \
    X(serverInfo)           \
    X(dateMake)             \
    X(textDistance)         \
    X(textReplace)          \
    X(textSplit)            \
    X(textUnicode)          \
    X(url)                  \
    X(address)              \
    X(json)                 \
    X(random)               \
    X(readable)             \
    X(jsonSimple)           \
    X(vectorDistance)       \
    X(geometry)             \
    X(jsonPath)             \
    X(textNgrams)

#define DECLARE(family) std::span<const FunctionInfo> family##Functions();
SHARDD_FUNCTIONS(DECLARE)
#undef DECLARE

namespace {

constexpr FunctionAlias kAliases[] = {
#define ALIAS(alias, name, any_case) {alias, name, any_case},
#define ANY_CASE(name)
#include "server/functions/function_names.inc"
#undef ALIAS
#undef ANY_CASE
};

constexpr std::string_view kAnyCase[] = {
#define ALIAS(alias, name, any_case)
#define ANY_CASE(name) name,
#include "server/functions/function_names.inc"
#undef ALIAS
#undef ANY_CASE
};

std::string lowerCase(std::string_view text) {
    std::string result(text);
    for (char& c : result)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return result;
}

std::vector<FunctionInfo> collect() {
    const std::unordered_set<std::string_view> any_case(std::begin(kAnyCase), std::end(kAnyCase));
    std::vector<FunctionInfo> all;
#define APPEND(family)                                         \
    for (FunctionInfo info : family##Functions()) {            \
        info.case_insensitive |= any_case.contains(info.name); \
        all.push_back(info);                                   \
    }
    SHARDD_FUNCTIONS(APPEND)
#undef APPEND
    return all;
}

/// Every name that finds a function; the lower-case ones apart.
struct Index {
    std::unordered_map<std::string, const FunctionInfo*> exact;
    std::unordered_map<std::string, const FunctionInfo*> folded;

    Index() {
        for (const FunctionInfo& info : allFunctions()) {
            exact.emplace(info.name, &info);
            if (info.case_insensitive) folded.emplace(lowerCase(info.name), &info);
        }
        for (const FunctionAlias& alias : allFunctionAliases()) {
            const auto found = exact.find(std::string(alias.name));
            if (found == exact.end()) continue;
            const FunctionInfo* info = found->second;
            exact.emplace(alias.alias, info);
            if (alias.case_insensitive) folded.emplace(lowerCase(alias.alias), info);
        }
    }
};

const Index& index() {
    static const Index names;
    return names;
}

/// Levenshtein's distance, at most `limit` + 1.
size_t distance(std::string_view a, std::string_view b, size_t limit) {
    if (a.size() > b.size() + limit || b.size() > a.size() + limit) return limit + 1;
    std::vector<size_t> row(b.size() + 1);
    for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (size_t i = 1; i <= a.size(); ++i) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.size(); ++j) {
            const size_t above = row[j];
            row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
            diagonal = above;
        }
    }
    return row[b.size()];
}

}  // namespace

const std::vector<FunctionInfo>& allFunctions() {
    static const std::vector<FunctionInfo> all = collect();
    return all;
}

const std::vector<FunctionAlias>& allFunctionAliases() {
    static const std::vector<FunctionAlias> all(std::begin(kAliases), std::end(kAliases));
    return all;
}

const FunctionInfo* findFunctionInfo(std::string_view name) {
    const Index& names = index();
    if (const auto found = names.exact.find(std::string(name)); found != names.exact.end())
        return found->second;
    const auto found = names.folded.find(lowerCase(name));
    return found == names.folded.end() ? nullptr : found->second;
}

std::vector<std::string> similarFunctionNames(std::string_view name) {
    constexpr size_t kLimit = 2;
    constexpr size_t kMost = 3;
    std::vector<std::pair<size_t, std::string>> near;
    const std::string folded = lowerCase(name);
    for (const auto& [known, info] : index().exact) {
        const size_t away = distance(folded, lowerCase(known), kLimit);
        if (away <= kLimit) near.emplace_back(away, known);
    }
    std::sort(near.begin(), near.end());
    std::vector<std::string> result;
    for (size_t i = 0; i < near.size() && i < kMost; ++i) result.push_back(near[i].second);
    return result;
}

}  // namespace shardd::functions
