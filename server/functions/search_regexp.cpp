// Regular expressions: extract*, countMatches*, replaceRegexp*, splitByRegexp, multiMatch*.

#include "server/functions/regexp.h"
#include "server/functions/text_search.h"
#include "server/functions/utf8.h"

namespace shardd::functions {

namespace {

using Groups = std::vector<std::string_view>;

/// Every match that is not empty, one after another, each behind the one before.
template <typename Take>
void eachMatch(const Regexp& regexp, std::string_view text, Groups& groups, Take&& take) {
    for (size_t at = 0; at <= text.size() && regexp.match(text, at, groups);) {
        if (groups[0].empty()) return;
        take();
        at = static_cast<size_t>(groups[0].data() - text.data()) + groups[0].size();
    }
}

/// The constant pattern of argument `i`.
Regexp patternOf(const Call& call, size_t i, bool fold_case = false) {
    return Regexp(TextArgument(call.column(i))[0], fold_case);
}

TypePtr needTextAndPattern(const Signature& call, TypePtr result) {
    needCount(call, 2);
    needString(call, 0);
    needString(call, 1);
    return result;
}

TypePtr typeOfExtract(const Signature& call) { return needTextAndPattern(call, types::string()); }

TypePtr typeOfCountMatches(const Signature& call) {
    needCount(call, 2);
    needText(call, 0);
    needString(call, 1);
    return types::uint64();
}

TypePtr typeOfExtractAll(const Signature& call) {
    return needTextAndPattern(call, types::array(types::string()));
}

TypePtr typeOfExtractAllGroups(const Signature& call) {
    return needTextAndPattern(call, types::array(types::array(types::string())));
}

/// The first group where there is one, else the whole match.
std::string_view firstGroup(const Groups& groups) { return groups.back(); }

/// The whole match and the first `most` groups at most.
Groups groupsFor(const Regexp& regexp, size_t most) {
    return Groups(std::min(regexp.groupCount(), most) + 1);
}

ColumnPtr runExtract(const Call& call) {
    const TextArgument texts(call.column(0));
    const Regexp regexp = patternOf(call, 1);
    auto groups = groupsFor(regexp, 1);
    return eachText(call.rows, texts.totalBytes() / 2, [&](size_t row, TextBuilder& out) {
        if (regexp.match(texts[row], 0, groups)) out.append(firstGroup(groups));
    });
}

ColumnPtr runExtractAll(const Call& call) {
    const TextArgument texts(call.column(0));
    const Regexp regexp = patternOf(call, 1);
    auto groups = groupsFor(regexp, 1);
    TextArrayBuilder out(call.rows);
    for (size_t row = 0; row < call.rows; ++row) {
        eachMatch(regexp, texts[row], groups, [&] { out.add(firstGroup(groups)); });
        out.endRow();
    }
    return out.finish();
}

template <bool kFold>
ColumnPtr runCountMatches(const Call& call) {
    const TextArgument texts(call.column(0));
    const Regexp regexp = patternOf(call, 1, kFold);
    auto groups = groupsFor(regexp, 0);
    return eachRow<uint64_t>(call.rows, [&](size_t row) {
        uint64_t count = 0;
        eachMatch(regexp, texts[row], groups, [&] { ++count; });
        return count;
    });
}

size_t needGroups(const Regexp& regexp) {
    if (regexp.groupCount() == 0)
        throw Error(ErrorCode::BAD_ARGUMENTS, "There are no groups in regexp: {}", regexp.pattern());
    return regexp.groupCount();
}

ColumnPtr runExtractGroups(const Call& call) {
    const TextArgument texts(call.column(0));
    const Regexp regexp = patternOf(call, 1);
    auto groups = groupsFor(regexp, needGroups(regexp));
    TextArrayBuilder out(call.rows);
    for (size_t row = 0; row < call.rows; ++row) {
        if (regexp.match(texts[row], 0, groups))
            for (size_t i = 1; i < groups.size(); ++i) out.add(groups[i]);
        out.endRow();
    }
    return out.finish();
}

/// One array a match (vertical) or one a group (horizontal).
template <bool kVertical>
ColumnPtr runExtractAllGroups(const Call& call) {
    const TextArgument texts(call.column(0));
    const Regexp regexp = patternOf(call, 1);
    auto groups = groupsFor(regexp, needGroups(regexp));
    TextArrayBuilder inner(call.rows);
    PodVector<uint64_t> ends;
    uint64_t arrays = 0;
    std::vector<std::vector<std::string_view>> found(groups.size() - 1);
    for (size_t row = 0; row < call.rows; ++row) {
        for (auto& group : found) group.clear();
        eachMatch(regexp, texts[row], groups, [&] {
            for (size_t i = 1; i < groups.size(); ++i) {
                if (kVertical)
                    inner.add(groups[i]);
                else
                    found[i - 1].push_back(groups[i]);
            }
            if (!kVertical) return;
            inner.endRow();
            ++arrays;
        });
        for (size_t i = 0; !kVertical && i < found.size(); ++i, ++arrays) {
            for (const std::string_view text : found[i]) inner.add(text);
            inner.endRow();
        }
        ends.push_back(arrays);
    }
    return std::make_shared<ArrayColumn>(inner.finish(), std::move(ends));
}

TypePtr typeOfRegexpExtract(const Signature& call) {
    needCount(call, 2, 3);
    needString(call, 0);
    needString(call, 1);
    if (call.count() == 3) needInteger(call, 2);
    return types::string();
}

ColumnPtr runRegexpExtract(const Call& call) {
    const TextArgument texts(call.column(0));
    const Regexp regexp = patternOf(call, 1);
    auto groups = groupsFor(regexp, SIZE_MAX);
    std::optional<IntegerArgument> indexes;
    if (call.count() == 3) indexes.emplace(call.column(2));
    const int64_t usual = groups.size() == 1 ? 0 : 1;
    return eachText(call.rows, 0, [&](size_t row, TextBuilder& out) {
        const int64_t index = indexes ? (*indexes)[row] : usual;
        if (index < 0 || index >= static_cast<int64_t>(groups.size()))
            throw Error(
                ErrorCode::INDEX_OF_POSITIONAL_ARGUMENT_IS_OUT_OF_RANGE,
                "Index value {} for regexp pattern `{}` in function {} is out-of-range, should be in [0, {})",
                index, regexp.pattern(), call.name, groups.size());
        if (regexp.match(texts[row], 0, groups)) out.append(groups[static_cast<size_t>(index)]);
    });
}

ColumnPtr runRegexpPosition(const Call& call) {
    const TextArgument texts(call.column(0));
    const Regexp regexp = patternOf(call, 1);
    auto groups = groupsFor(regexp, 0);
    return eachRow<uint64_t>(call.rows, [&](size_t row) -> uint64_t {
        const std::string_view text = texts[row];
        if (!regexp.match(text, 0, groups)) return 0;
        return static_cast<uint64_t>(groups[0].data() - text.data()) + 1;
    });
}

// -- replacing ------------------------------------------------------------------------------------

/// A replacement taken apart: literal texts and the groups between them.
struct Replacement {
    struct Part {
        std::string literal;
        int group = -1;
    };

    std::vector<Part> parts;
    size_t most_group = 0;

    explicit Replacement(std::string_view text) {
        std::string literal;
        auto flush = [&] {
            if (!literal.empty()) parts.push_back({std::exchange(literal, {}), -1});
        };
        for (size_t i = 0; i < text.size(); ++i) {
            if (text[i] != '\\' || i + 1 == text.size()) {
                literal.push_back(text[i]);
            } else if (const char next = text[++i]; next >= '0' && next <= '9') {
                flush();
                parts.push_back({{}, next - '0'});
                most_group = std::max(most_group, static_cast<size_t>(next - '0'));
            } else if (next == '\\') {
                literal.push_back('\\');
            } else {
                literal.push_back('\\');
                --i;
            }
        }
        flush();
    }
};

TypePtr typeOfReplace(const Signature& call) {
    needCount(call, 3);
    needText(call, 0);
    needString(call, 1);
    needString(call, 2);
    return types::string();
}

void replaceMatches(const Regexp& regexp,
                    const Replacement& replacement,
                    std::string_view text,
                    bool all,
                    TextBuilder& out,
                    Groups& groups) {
    size_t at = 0;
    size_t copied = 0;
    bool found_any = false;
    while (at <= text.size() && regexp.match(text, at, groups)) {
        const auto start = static_cast<size_t>(groups[0].data() - text.data());
        if (groups[0].empty() && start == text.size() && found_any && copied == text.size() && text.empty())
            break;
        out.append(text.substr(copied, start - copied));
        for (const Replacement::Part& part : replacement.parts) {
            if (part.group < 0)
                out.append(part.literal);
            else if (static_cast<size_t>(part.group) < groups.size())
                out.append(groups[static_cast<size_t>(part.group)]);
        }
        found_any = true;
        copied = start + groups[0].size();
        at = copied;
        if (!all) break;
        if (groups[0].empty()) {  // step over one character, so that the search goes on
            if (at >= text.size()) break;
            const size_t step = std::min(utf8Length(static_cast<uint8_t>(text[at])), text.size() - at);
            out.append(text.substr(at, step));
            at += step;
            copied = at;
        }
    }
    if (copied < text.size()) out.append(text.substr(copied));
}

template <bool kAll>
ColumnPtr runReplaceRegexp(const Call& call) {
    const TextArgument texts(call.column(0));
    const TextArgument patterns(call.column(1));
    const TextArgument replacements(call.column(2));
    std::optional<Regexp> regexp;
    std::optional<Replacement> replacement;
    Groups groups;
    std::string known_pattern;
    std::string known_replacement;
    const bool one_for_all = patterns.constant() && replacements.constant();
    const auto known = [&](size_t row) {
        return regexp &&
               (one_for_all || (patterns[row] == known_pattern && replacements[row] == known_replacement));
    };
    return eachText(call.rows, texts.totalBytes(), [&](size_t row, TextBuilder& out) {
        const std::string_view pattern = patterns[row];
        if (pattern.empty()) return out.append(texts[row]);
        if (!known(row)) {
            known_pattern = pattern;
            known_replacement = replacements[row];
            regexp.emplace(pattern, false, ErrorCode::BAD_ARGUMENTS);
            replacement.emplace(known_replacement);
            if (replacement->most_group > regexp->groupCount())
                throw Error(ErrorCode::BAD_ARGUMENTS,
                            "Substitution '\\{}' in replacement argument is invalid, regexp has only {} "
                            "capturing groups",
                            replacement->most_group, regexp->groupCount());
            groups = groupsFor(*regexp, replacement->most_group);
        }
        replaceMatches(*regexp, *replacement, texts[row], kAll, out, groups);
    });
}

ColumnPtr runRegexpQuoteMeta(const Call& call) {
    const TextArgument texts(call.column(0));
    constexpr std::string_view kSpecial = "\\()^$|[]?*+{:.-";
    return eachText(call.rows, texts.totalBytes(), [&](size_t row, TextBuilder& out) {
        for (const char c : texts[row]) {
            if (c == '\0') {
                out.append(std::string_view("\\\0", 2));
                continue;
            }
            if (kSpecial.find(c) != std::string_view::npos) out.append('\\');
            out.append(c);
        }
    });
}

// -- splitting ------------------------------------------------------------------------------------

TypePtr typeOfSplitByRegexp(const Signature& call) {
    needCount(call, 2, 3);
    needString(call, 0);
    needString(call, 1);
    if (call.count() == 3) needInteger(call, 2);
    return types::array(types::string());
}

ColumnPtr runSplitByRegexp(const Call& call) {
    const std::string_view pattern = TextArgument(call.column(0))[0];
    const TextArgument texts(call.column(1));
    std::optional<IntegerArgument> limits;
    if (call.count() == 3) limits.emplace(call.column(2));
    const Regexp regexp(pattern);
    auto groups = groupsFor(regexp, 0);
    TextArrayBuilder out(call.rows);
    for (size_t row = 0; row < call.rows; ++row) {
        const std::string_view text = texts[row];
        const int64_t limit = limits ? (*limits)[row] : 0;
        int64_t count = 0;
        auto room = [&] { return limit <= 0 || count < limit; };
        if (pattern.empty()) {
            for (size_t at = 0; at < text.size() && room(); ++at, ++count) out.add(text.substr(at, 1));
        } else {
            size_t at = 0;
            while (room() && regexp.match(text, at, groups) && !groups[0].empty()) {
                const auto start = static_cast<size_t>(groups[0].data() - text.data());
                out.add(text.substr(at, start - at));
                at = start + groups[0].size();
                ++count;
            }
            if (room()) out.add(text.substr(at));
        }
        out.endRow();
    }
    return out.finish();
}

// -- many expressions -----------------------------------------------------------------------------

template <TypeKind kResult, bool kArray>
TypePtr typeOfMultiMatch(const Signature& call) {
    needCount(call, 2);
    needString(call, 0);
    if (call.type(1)->kind() != TypeKind::Array || call.type(1)->child()->kind() != TypeKind::String)
        illegalArgument(call, 1);
    const TypePtr& type = types::simple(kResult);
    return kArray ? types::array(type) : type;
}

std::vector<std::unique_ptr<Regexp>> patternsOf(const Call& call) {
    const Value value = call.column(1)->value(0);
    std::vector<std::unique_ptr<Regexp>> result;
    for (const Value& pattern : value.elements())
        result.push_back(
            std::make_unique<Regexp>(pattern.get<std::string>(), false, ErrorCode::BAD_ARGUMENTS));
    return result;
}

template <bool kIndex>
ColumnPtr runMultiMatch(const Call& call) {
    const TextArgument texts(call.column(0));
    const auto patterns = patternsOf(call);
    PodVector<uint64_t> found(call.rows, 0);
    for (size_t row = 0; row < call.rows; ++row)
        for (size_t i = 0; i < patterns.size() && found[row] == 0; ++i)
            if (patterns[i]->matches(texts[row])) found[row] = i + 1;
    if (kIndex) return fixedColumn(std::move(found));
    return eachRow<uint8_t>(call.rows, [&](size_t row) { return found[row] != 0; });
}

ColumnPtr runMultiMatchAll(const Call& call) {
    const TextArgument texts(call.column(0));
    const auto patterns = patternsOf(call);
    PodVector<uint64_t> indices;
    PodVector<uint64_t> ends(call.rows);
    for (size_t row = 0; row < call.rows; ++row) {
        for (size_t i = 0; i < patterns.size(); ++i)
            if (patterns[i]->matches(texts[row])) indices.push_back(i + 1);
        ends[row] = indices.size();
    }
    return std::make_shared<ArrayColumn>(fixedColumn(std::move(indices)), std::move(ends));
}

TypePtr typeOfRegexpPosition(const Signature& call) { return needTextAndPattern(call, types::uint64()); }

}  // namespace

std::span<const FunctionInfo> searchRegexpFunctions() {
    static const FunctionInfo kList[] = {
        define<"extract", typeOfExtract, runExtract, kPlainManner, 2>(
            "extract(text, regexp)", "The first group of the first match, or the match itself.",
            "extract('key=42', '=([0-9]+)')", "42"),
        define<"extractAll", typeOfExtractAll, runExtractAll, kPlainManner, 2>(
            "extractAll(text, regexp)", "The same of every match.", "extractAll('a1b22', '[0-9]+')",
            "['1','22']"),
        define<"extractGroups", typeOfExtractAll, runExtractGroups, kPlainManner, 2>(
            "extractGroups(text, regexp)", "All groups of the first match.",
            "extractGroups('a=1', '(\\\\w)=(\\\\d)')", "['a','1']"),
        define<"extractAllGroupsVertical", typeOfExtractAllGroups, runExtractAllGroups<true>, kPlainManner,
               2>("extractAllGroupsVertical(text, regexp)", "The groups of every match, an array a match.",
                  "extractAllGroupsVertical('a=1,b=2', '(\\\\w)=(\\\\d)')", "[['a','1'],['b','2']]"),
        define<"extractAllGroupsHorizontal", typeOfExtractAllGroups, runExtractAllGroups<false>, kPlainManner,
               2>("extractAllGroupsHorizontal(text, regexp)", "The groups of every match, an array a group.",
                  "extractAllGroupsHorizontal('a=1,b=2', '(\\\\w)=(\\\\d)')", "[['a','b'],['1','2']]"),
        define<"countMatches", typeOfCountMatches, runCountMatches<false>, kPlainManner, 2>(
            "countMatches(text, regexp)", "How many matches there are.", "countMatches('a1b22', '[0-9]+')",
            "2"),
        define<"countMatchesCaseInsensitive", typeOfCountMatches, runCountMatches<true>, kPlainManner, 2>(
            "countMatchesCaseInsensitive(text, regexp)", "countMatches, case ignored.",
            "countMatchesCaseInsensitive('aA', 'a')", "2"),
        define<"regexpExtract", typeOfRegexpExtract, runRegexpExtract, kMayThrow, 2>(
            "regexpExtract(text, regexp[, group])", "One group of the first match.",
            "regexpExtract('a-1', '(\\\\w)-(\\\\d)', 2)", "1"),
        define<"regexpPosition", typeOfRegexpPosition, runRegexpPosition, kPlainManner, 2>(
            "regexpPosition(text, regexp)", "Where the first match begins, from 1.",
            "regexpPosition('abc123', '[0-9]+')", "4"),
        define<"replaceRegexpOne", typeOfReplace, runReplaceRegexp<false>>(
            "replaceRegexpOne(text, regexp, replacement)", "The first match replaced; \\0 to \\9 are groups.",
            "replaceRegexpOne('a1b2', '[0-9]', '<\\\\0>')", "a<1>b2"),
        define<"replaceRegexpAll", typeOfReplace, runReplaceRegexp<true>>(
            "replaceRegexpAll(text, regexp, replacement)", "Every match replaced.",
            "replaceRegexpAll('a1b2', '[0-9]', '#')", "a#b#"),
        define<"regexpQuoteMeta", textsTo<TypeKind::String, 1>, runRegexpQuoteMeta>(
            "regexpQuoteMeta(text)", "The text with the special characters of expressions escaped.",
            "regexpQuoteMeta('a.b')", "a\\.b"),
        define<"splitByRegexp", typeOfSplitByRegexp, runSplitByRegexp, kPlainManner, 1>(
            "splitByRegexp(regexp, text[, limit])", "What lies between the matches.",
            "splitByRegexp('[,;]+', 'a,b;;c')", "['a','b','c']"),
        define<"multiMatchAny", typeOfMultiMatch<TypeKind::UInt8, false>, runMultiMatch<false>, kPlainManner,
               2>("multiMatchAny(text, [regexp, …])", "Whether any of them matches.",
                  "multiMatchAny('abc', ['x', '^a'])", "1"),
        define<"multiMatchAnyIndex", typeOfMultiMatch<TypeKind::UInt64, false>, runMultiMatch<true>,
               kPlainManner, 2>("multiMatchAnyIndex(text, [regexp, …])", "The number of one that matches.",
                                "multiMatchAnyIndex('abc', ['x', '^a'])", "2"),
        define<"multiMatchAllIndices", typeOfMultiMatch<TypeKind::UInt64, true>, runMultiMatchAll,
               kPlainManner, 2>("multiMatchAllIndices(text, [regexp, …])", "The numbers of all that match.",
                                "multiMatchAllIndices('abc', ['c', '^a'])", "[1,2]"),
    };
    return kList;
}

}  // namespace shardd::functions
