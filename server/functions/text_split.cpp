// Strings cut into arrays and joined again: splitBy*, tokens, alphaTokens, ngrams, arrayStringConcat,
// extractKeyValuePairs.

#include <cctype>

#include "common/columns/create_column.h"
#include "server/functions/array_support.h"
#include "server/functions/map_support.h"
#include "server/functions/utf8.h"

namespace shardd::functions {

namespace {

TypePtr texts() { return types::array(types::string()); }

/// Rows cut into pieces: `cut(text, add)` calls add for each piece until it answers false (the limit is
/// reached).
template <typename Cut>
ColumnPtr cutRows(const Call& call, size_t text_argument, size_t limit_argument, Cut&& cut) {
    const TextArgument input(call.column(text_argument));
    std::optional<IntegerArgument> limits;
    if (limit_argument < call.count()) limits.emplace(call.column(limit_argument));
    TextArrayBuilder out(call.rows);
    for (size_t row = 0; row < call.rows; ++row) {
        const int64_t limit = limits ? (*limits)[row] : 0;
        int64_t count = 0;
        cut(input[row], [&](std::string_view piece) {
            if (limit > 0 && count >= limit) return false;
            out.add(piece);
            return ++count < limit || limit <= 0;
        });
        out.endRow();
    }
    return out.finish();
}

// -- by separators --------------------------------------------------------------------------------

TypePtr typeOfSplitBy(const Signature& call) {
    needCount(call, 2, 3);
    needString(call, 0);
    needText(call, 1);
    if (call.count() == 3) needInteger(call, 2);
    return texts();
}

template <typename Add>
void splitByText(std::string_view text, std::string_view separator, Add&& add) {
    size_t at = 0;
    while (true) {
        const size_t found = text.find(separator, at);
        if (found == std::string_view::npos) break;
        if (!add(text.substr(at, found - at))) return;
        at = found + separator.size();
    }
    add(text.substr(at));
}

ColumnPtr runSplitByChar(const Call& call) {
    const std::string separator(TextArgument(call.column(0))[0]);
    if (separator.size() != 1)
        throw Error(ErrorCode::BAD_ARGUMENTS, "Illegal separator for function {}. Must be exactly one byte",
                    call.name);
    return cutRows(call, 1, 2, [&](std::string_view text, auto&& add) { splitByText(text, separator, add); });
}

ColumnPtr runSplitByString(const Call& call) {
    const std::string separator(TextArgument(call.column(0))[0]);
    return cutRows(call, 1, 2, [&](std::string_view text, auto&& add) {
        if (!separator.empty()) return splitByText(text, separator, add);
        for (size_t at = 0; at < text.size(); ++at)
            if (!add(text.substr(at, 1))) return;
    });
}

/// Runs of characters that belong together.
template <auto kBelongs>
ColumnPtr runRuns(const Call& call) {
    return cutRows(call, 0, 1, [](std::string_view text, auto&& add) {
        for (size_t at = 0; at < text.size();) {
            if (!kBelongs(text[at])) {
                ++at;
                continue;
            }
            size_t end = at;
            while (end < text.size() && kBelongs(text[end])) ++end;
            if (!add(text.substr(at, end - at))) return;
            at = end;
        }
    });
}

constexpr auto kLetter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
constexpr auto kNotBlank = [](char c) { return !(c == ' ' || (c >= '\t' && c <= '\r')); };
constexpr auto kNotPunctuation = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x80 || !(std::ispunct(byte) || std::isspace(byte));
};
constexpr auto kTokenByte = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x80 || std::isalnum(byte);
};

TypePtr typeOfRuns(const Signature& call) {
    needCount(call, 1, 2);
    needText(call, 0);
    if (call.count() == 2) needInteger(call, 1);
    return texts();
}

// -- ngrams ---------------------------------------------------------------------------------------

TypePtr typeOfNgrams(const Signature& call) {
    needCount(call, 2);
    needText(call, 0);
    if (!call.type(1)->isUnsigned() || call.type(1)->width() > 8)
        illegalArgument(call, 1, "const UInt8/16/32/64");
    needConstant(call, 1);
    return texts();
}

ColumnPtr runNgrams(const Call& call) {
    const int64_t length = IntegerArgument(call.column(1))[0];
    if (length <= 0) throw Error(ErrorCode::BAD_ARGUMENTS, "Ngrams argument N must be greater than 0");
    return cutRows(call, 0, SIZE_MAX, [&](std::string_view text, auto&& add) {
        const size_t points = countCodePoints(text);
        size_t start = 0;
        for (size_t i = 0; i + static_cast<size_t>(length) <= points; ++i) {
            const std::string_view rest = text.substr(start);
            add(rest.substr(0, skipCodePoints(rest, static_cast<size_t>(length))));
            start += skipCodePoints(rest, 1);
        }
    });
}

// -- joining --------------------------------------------------------------------------------------

TypePtr typeOfJoin(const Signature& call) {
    needCount(call, 1, 2);
    needArray(call, 0);
    if (call.count() == 2) needString(call, 1);
    return types::string();
}

/// NULLs are left out.
ColumnPtr runJoin(const Call& call) {
    const ArrayArgument arrays(call.column(0));
    const std::string separator(call.count() == 2 ? TextArgument(call.column(1))[0] : std::string_view());
    NamedColumn elements{"", call.argumentType(0)->child(), arrays.elements()};
    if (elements.type->kind() == TypeKind::Nothing ||
        removeNullable(elements.type)->kind() == TypeKind::Nothing)
        return constantText("", call.rows);
    if (!removeNullable(elements.type)->isString()) {
        const auto convert =
            resolveFunction("toString", {&elements, 1}, std::make_shared<FunctionContext>(call.context));
        elements = {"", convert->resultType(),
                    full(convert->execute({&elements, 1}, elements.column->size()))};
    }
    const Mask* nulls = nullptr;
    ColumnPtr values = elements.column;
    if (values->kind() == ColumnKind::Nullable) {
        nulls = &as<NullableColumn>(*elements.column).nulls();
        values = as<NullableColumn>(*elements.column).values();
    }
    const TextArgument input(values);
    return eachText(call.rows, input.totalBytes() + arrays.elements()->size() * separator.size(),
                    [&](size_t row, TextBuilder& out) {
                        bool first = true;
                        for (size_t at = arrays.start(row); at < arrays.end(row); ++at) {
                            if (nulls && (*nulls)[at]) continue;
                            if (!std::exchange(first, false)) out.append(separator);
                            out.append(input[at]);
                        }
                    });
}

TypePtr typeOfReverseBy(const Signature& call) {
    needCount(call, 1, 2);
    needString(call, 0);
    if (call.count() == 2) needString(call, 1);
    return types::string();
}

ColumnPtr runReverseBy(const Call& call) {
    const TextArgument input(call.column(0));
    const std::string separator(call.count() == 2 ? TextArgument(call.column(1))[0] : std::string_view("."));
    return eachText(call.rows, input.totalBytes(), [&](size_t row, TextBuilder& out) {
        std::vector<std::string_view> pieces;
        if (separator.empty()) return out.append(std::string(input[row].rbegin(), input[row].rend()));
        splitByText(input[row], separator, [&](std::string_view piece) {
            pieces.push_back(piece);
            return true;
        });
        for (size_t i = pieces.size(); i > 0; --i) {
            out.append(pieces[i - 1]);
            if (i > 1) out.append(separator);
        }
    });
}

// -- key-value pairs ------------------------------------------------------------------------------

TypePtr typeOfPairs(const Signature& call) {
    needCount(call, 1, 5);
    for (size_t i = 0; i < call.count(); ++i) needString(call, i);
    return types::map(types::string(), types::string());
}

/// The delimiters of a call to extractKeyValuePairs: "key:value, …" with quotes by default.
struct PairSyntax {
    char key_value = ':';
    std::string separators = " ,;";
    char quote = '"';

    explicit PairSyntax(const Call& call) {
        auto text = [&](size_t i) {
            return i < call.count() ? TextArgument(call.column(i))[0] : std::string_view();
        };
        if (call.count() > 1 && text(1).size() == 1) key_value = text(1)[0];
        if (call.count() > 2) separators = text(2);
        if (call.count() > 3 && text(3).size() == 1) quote = text(3)[0];
    }

    bool separates(char c) const { return separators.find(c) != std::string::npos; }
};

/// A word up to a delimiter, or what stands in quotes; false when there is none.
bool readWord(std::string_view text, size_t& at, const PairSyntax& syntax, bool key, std::string& out) {
    out.clear();
    if (at < text.size() && text[at] == syntax.quote) {
        const size_t end = text.find(syntax.quote, at + 1);
        if (end == std::string_view::npos) return false;
        out = text.substr(at + 1, end - at - 1);
        at = end + 1;
        return !key || !out.empty();
    }
    while (at < text.size() && !syntax.separates(text[at]) && text[at] != syntax.key_value)
        out.push_back(text[at++]);
    return !key || !out.empty();
}

ColumnPtr runPairs(const Call& call) {
    const TextArgument input(call.column(0));
    const PairSyntax syntax(call);
    TextBuilder keys(call.rows);
    TextBuilder values(call.rows);
    PodVector<uint64_t> ends(call.rows);
    std::string key;
    std::string value;
    for (size_t row = 0; row < call.rows; ++row) {
        const std::string_view text = input[row];
        for (size_t at = 0; at < text.size();) {
            if (syntax.separates(text[at]) || text[at] == syntax.key_value) {
                ++at;
                continue;
            }
            if (!readWord(text, at, syntax, true, key)) {
                ++at;
                continue;
            }
            if (at >= text.size() || text[at] != syntax.key_value) continue;  // a key without a value
            ++at;
            if (!readWord(text, at, syntax, false, value)) continue;
            keys.add(key);
            values.add(value);
        }
        ends[row] = keys.rows();
    }
    return makeMap(keys.finish(), values.finish(), std::move(ends));
}

}  // namespace

std::span<const FunctionInfo> textSplitFunctions() {
    static const FunctionInfo kList[] = {
        define<"splitByChar", typeOfSplitBy, runSplitByChar, kPlainManner, 1>(
            "splitByChar(separator, text[, limit])", "The text cut at a byte.", "splitByChar(',', 'a,b')",
            "['a','b']"),
        define<"splitByString", typeOfSplitBy, runSplitByString, kPlainManner, 1>(
            "splitByString(separator, text[, limit])", "The text cut at a string.",
            "splitByString(', ', 'a, b')", "['a','b']"),
        define<"splitByWhitespace", typeOfRuns, runRuns<kNotBlank>>(
            "splitByWhitespace(text[, limit])", "The words between blanks.", "splitByWhitespace(' a  b ')",
            "['a','b']"),
        define<"splitByNonAlpha", typeOfRuns, runRuns<kNotPunctuation>>(
            "splitByNonAlpha(text[, limit])", "The words between blanks and punctuation.",
            "splitByNonAlpha('a-b')", "['a','b']"),
        define<"alphaTokens", typeOfRuns, runRuns<kLetter>>("alphaTokens(text[, limit])", "Runs of letters.",
                                                            "alphaTokens('abc1def')", "['abc','def']"),
        define<"tokens", typeOfRuns, runRuns<kTokenByte>>("tokens(text)", "Runs of letters and digits.",
                                                          "tokens('a, b1')", "['a','b1']"),
        define<"ngrams", typeOfNgrams, runNgrams, kMayThrow, 2>(
            "ngrams(text, n)", "All runs of n code points.", "ngrams('abcd', 3)", "['abc','bcd']"),
        define<"arrayStringConcat", typeOfJoin, runJoin, kPlainManner, 2>(
            "arrayStringConcat(array[, separator])", "The elements as one text.",
            "arrayStringConcat(['a', 'b'], ',')", "a,b"),
        define<"reverseBySeparator", typeOfReverseBy, runReverseBy, kPlainManner, 2>(
            "reverseBySeparator(text[, separator])", "The pieces between separators in the opposite order.",
            "reverseBySeparator('a.b.c', '.')", "c.b.a"),
        define<"extractKeyValuePairs", typeOfPairs, runPairs, kPlainManner, 30>(
            "extractKeyValuePairs(text[, key-value delimiter[, separators[, quote]]])",
            "A map of the pairs in a text.", "extractKeyValuePairs('a:1, b:2')", "{'a':'1','b':'2'}"),
    };
    return kList;
}

}  // namespace shardd::functions
