// Where and how often one text lies in another: position*, countSubstrings*, hasToken*, hasSubsequence*,
// multiSearch*.

#include <cctype>

#include "common/columns/nullable_column.h"
#include "server/functions/text_search.h"
#include "server/functions/utf8.h"

namespace shardd::functions {

namespace {

/// How characters are counted and compared.
template <bool kFold, bool kUtf8>
struct Alphabet {
    /// The text in which to search; `buffer` keeps it when it had to be folded.
    static std::string_view folded(std::string_view text, std::string& buffer) {
        if constexpr (!kFold) return text;
        buffer = kUtf8 ? foldUtf8(text) : foldAscii(text);
        return buffer;
    }

    static size_t count(std::string_view text) { return kUtf8 ? countCodePoints(text) : text.size(); }

    static size_t skip(std::string_view text, size_t n) {
        return kUtf8 ? skipCodePoints(text, n) : std::min(n, text.size());
    }
};

void needHaystack(const Signature& call, size_t i) {
    if (!call.type(i)->isString() && !call.type(i)->isEnum()) illegalArgument(call, i);
    if (call.type(i)->kind() == TypeKind::FixedString)
        throw Error(ErrorCode::ILLEGAL_COLUMN, "Function '{}' doesn't support FixedString haystack argument",
                    call.name);
}

TypePtr typeOfPosition(const Signature& call) {
    needCount(call, 2, 3);
    needHaystack(call, 0);
    needString(call, 1);
    if (call.count() == 3 && !call.type(2)->isUnsigned()) illegalArgument(call, 2);
    return types::uint64();
}

TypePtr typeOfLocate(const Signature& call) {
    needCount(call, 2, 3);
    needString(call, 0);
    needHaystack(call, 1);
    if (call.count() == 3 && !call.type(2)->isUnsigned()) illegalArgument(call, 2);
    return types::uint64();
}

/// Every row of a constant needle in a column without start positions: one search over the whole buffer.
ColumnPtr positionsInColumn(const StringColumn& texts, std::string_view needle, size_t rows) {
    PodVector<uint64_t> result(rows, 0);
    const NeedleSearch search(needle);
    const char* const begin = texts.chars().data();
    const char* const end = begin + texts.chars().size();
    const PodVector<uint64_t>& ends = texts.ends();
    size_t row = 0;
    for (const char* at = begin; at < end;) {
        const char* found = search.find(at, end);
        if (!found) break;
        const auto offset = static_cast<uint64_t>(found - begin);
        while (ends[row] <= offset) ++row;
        if (offset + needle.size() > ends[row]) {
            at = found + 1;
            continue;
        }
        result[row] = offset - texts.startAt(row) + 1;
        at = begin + ends[row];
        ++row;
    }
    return fixedColumn(std::move(result));
}

template <typename Letters>
uint64_t positionFrom(std::string_view text, std::string_view needle, uint64_t start) {
    if (start == 0) start = 1;
    const size_t size = Letters::count(text);
    if (start > size + 1) return 0;
    const size_t from = Letters::skip(text, start - 1);
    const size_t found = text.find(needle, from);
    if (found == std::string_view::npos) return 0;
    return Letters::count(text.substr(0, found)) + 1;
}

template <bool kFold, bool kUtf8, size_t kHaystack>
ColumnPtr runPosition(const Call& call) {
    using Letters = Alphabet<kFold, kUtf8>;
    const TextArgument texts(call.column(kHaystack));
    const TextArgument needles(call.column(1 - kHaystack));
    if (!kFold && !kUtf8 && call.count() == 2 && needles.constant() && !needles[0].empty() &&
        call.column(kHaystack)->kind() == ColumnKind::String)
        return positionsInColumn(as<StringColumn>(*call.column(kHaystack)), needles[0], call.rows);
    std::optional<IntegerArgument> starts;
    if (call.count() == 3) starts.emplace(call.column(2));
    std::string text_buffer;
    std::string needle_buffer;
    std::string_view needle;
    return eachRow<uint64_t>(call.rows, [&](size_t row) {
        const std::string_view text = Letters::folded(texts[row], text_buffer);
        if (row == 0 || !needles.constant()) needle = Letters::folded(needles[row], needle_buffer);
        const uint64_t start = starts ? static_cast<uint64_t>((*starts)[row]) : 1;
        return positionFrom<Letters>(text, needle, start);
    });
}

template <bool kFold, bool kUtf8>
ColumnPtr runCountSubstrings(const Call& call) {
    using Letters = Alphabet<kFold, kUtf8>;
    const TextArgument texts(call.column(0));
    const TextArgument needles(call.column(1));
    std::optional<IntegerArgument> starts;
    if (call.count() == 3) starts.emplace(call.column(2));
    std::string text_buffer;
    std::string needle_buffer;
    return eachRow<uint64_t>(call.rows, [&](size_t row) -> uint64_t {
        const std::string_view text = Letters::folded(texts[row], text_buffer);
        const std::string_view needle = Letters::folded(needles[row], needle_buffer);
        if (needle.empty()) return 0;
        const auto start = starts ? std::max<uint64_t>(static_cast<uint64_t>((*starts)[row]), 1) : 1;
        if (start > Letters::count(text) + 1) return 0;
        uint64_t count = 0;
        for (size_t at = Letters::skip(text, start - 1);
             (at = text.find(needle, at)) != std::string_view::npos; at += needle.size())
            ++count;
        return count;
    });
}

// -- tokens ---------------------------------------------------------------------------------------

bool isTokenByte(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x80 || std::isalnum(byte);
}

bool isToken(std::string_view needle) { return std::all_of(needle.begin(), needle.end(), isTokenByte); }

bool containsToken(std::string_view text, std::string_view token) {
    if (token.empty()) return false;
    for (size_t at = 0; (at = text.find(token, at)) != std::string_view::npos; ++at) {
        const size_t end = at + token.size();
        if ((at == 0 || !isTokenByte(text[at - 1])) && (end == text.size() || !isTokenByte(text[end])))
            return true;
    }
    return false;
}

TypePtr typeOfHasToken(const Signature& call) {
    needCount(call, 2);
    needHaystack(call, 0);
    needString(call, 1);
    return types::uint8();
}

TypePtr typeOfHasTokenOrNull(const Signature& call) { return types::nullable(typeOfHasToken(call)); }

template <bool kFold, bool kOrNull>
ColumnPtr runHasToken(const Call& call) {
    const TextArgument texts(call.column(0));
    const std::string token =
        kFold ? foldAscii(TextArgument(call.column(1))[0]) : std::string(TextArgument(call.column(1))[0]);
    if (!isToken(token)) {
        if (kOrNull) {
            return std::make_shared<NullableColumn>(fixedColumn(PodVector<uint8_t>(call.rows, 0)),
                                                    Mask(call.rows, 1));
        }
        throw Error(ErrorCode::BAD_ARGUMENTS, "Needle must not contain whitespace or separator characters");
    }
    std::string buffer;
    ColumnPtr found = eachRow<uint8_t>(call.rows, [&](size_t row) {
        return containsToken(Alphabet<kFold, false>::folded(texts[row], buffer), token);
    });
    if (!kOrNull) return found;
    return std::make_shared<NullableColumn>(std::move(found), Mask(call.rows, 0));
}

// -- subsequences ---------------------------------------------------------------------------------

TypePtr typeOfHasSubsequence(const Signature& call) {
    needCount(call, 2);
    needText(call, 0);
    needText(call, 1);
    return types::uint8();
}

template <bool kFold, bool kUtf8>
ColumnPtr runHasSubsequence(const Call& call) {
    const TextArgument texts(call.column(0));
    const TextArgument needles(call.column(1));
    std::string text_buffer;
    std::string needle_buffer;
    return eachRow<uint8_t>(call.rows, [&](size_t row) {
        const std::string_view text = Alphabet<kFold, kUtf8>::folded(texts[row], text_buffer);
        const std::string_view needle = Alphabet<kFold, kUtf8>::folded(needles[row], needle_buffer);
        size_t at = 0;
        size_t done = 0;
        while (done < needle.size() && at < text.size()) {
            const size_t step =
                kUtf8 ? std::min(utf8Length(static_cast<uint8_t>(text[at])), text.size() - at) : 1;
            const std::string_view letter = text.substr(at, step);
            if (needle.substr(done, step) == letter) done += step;
            at += step;
        }
        return done >= needle.size();
    });
}

// -- many needles ---------------------------------------------------------------------------------

template <TypeKind kResult, bool kArray>
TypePtr typeOfMultiSearch(const Signature& call) {
    needCount(call, 2);
    needString(call, 0);
    if (call.type(1)->kind() != TypeKind::Array || call.type(1)->child()->kind() != TypeKind::String)
        illegalArgument(call, 1);
    const TypePtr& type = types::simple(kResult);
    return kArray ? types::array(type) : type;
}

enum class Wanted { Any, FirstIndex, FirstPosition };

/// Position of every needle of a row, 0 where it is not, given to `take(position, index)`; stops when that
/// says so.
template <typename Letters, typename Take>
void searchNeedles(const Call& call, Take&& take) {
    const TextArgument texts(call.column(0));
    size_t mask = ~size_t{0};
    ColumnPtr needles_column = call.column(1);
    if (needles_column->kind() == ColumnKind::Const) {
        needles_column = as<ConstColumn>(*needles_column).one();
        mask = 0;
    }
    const auto& arrays = as<ArrayColumn>(*needles_column);
    const TextArgument needles(arrays.elements());
    std::string text_buffer;
    std::string needle_buffer;
    for (size_t row = 0; row < call.rows; ++row) {
        const std::string_view text = Letters::folded(texts[row], text_buffer);
        const size_t start = arrays.startAt(row & mask);
        for (size_t i = start; i < arrays.ends()[row & mask]; ++i) {
            const std::string_view needle = Letters::folded(needles[i], needle_buffer);
            const size_t found = text.find(needle);
            take(row, i - start,
                 found == std::string_view::npos ? 0 : Letters::count(text.substr(0, found)) + 1);
        }
    }
}

template <bool kFold, bool kUtf8, Wanted kWanted>
ColumnPtr runMultiSearch(const Call& call) {
    PodVector<uint64_t> result(call.rows, 0);
    searchNeedles<Alphabet<kFold, kUtf8>>(call, [&](size_t row, size_t index, uint64_t position) {
        if (position == 0) return;
        if (kWanted == Wanted::FirstPosition)
            result[row] = result[row] == 0 ? position : std::min(result[row], position);
        else if (result[row] == 0)
            result[row] = kWanted == Wanted::Any ? 1 : index + 1;
    });
    if (kWanted != Wanted::Any) return fixedColumn(std::move(result));
    return eachRow<uint8_t>(call.rows, [&](size_t row) { return static_cast<uint8_t>(result[row]); });
}

template <bool kFold, bool kUtf8>
ColumnPtr runMultiSearchAllPositions(const Call& call) {
    PodVector<uint64_t> positions;
    PodVector<uint64_t> ends(call.rows, 0);
    searchNeedles<Alphabet<kFold, kUtf8>>(call, [&](size_t row, size_t, uint64_t position) {
        positions.push_back(position);
        ends[row] = positions.size();
    });
    for (size_t row = 1; row < call.rows; ++row) ends[row] = std::max(ends[row], ends[row - 1]);
    return std::make_shared<ArrayColumn>(fixedColumn(std::move(positions)), std::move(ends));
}

#define MULTI_SEARCH(suffix, fold, utf8)                                                      \
    define<"multiSearchAny" suffix, typeOfMultiSearch<TypeKind::UInt8, false>,                \
           runMultiSearch<fold, utf8, Wanted::Any>>(),                                        \
        define<"multiSearchFirstIndex" suffix, typeOfMultiSearch<TypeKind::UInt64, false>,    \
               runMultiSearch<fold, utf8, Wanted::FirstIndex>>(),                             \
        define<"multiSearchFirstPosition" suffix, typeOfMultiSearch<TypeKind::UInt64, false>, \
               runMultiSearch<fold, utf8, Wanted::FirstPosition>>(),                          \
        define<"multiSearchAllPositions" suffix, typeOfMultiSearch<TypeKind::UInt64, true>,   \
               runMultiSearchAllPositions<fold, utf8>>()

}  // namespace

std::span<const FunctionInfo> searchPositionFunctions() {
    static const FunctionInfo kList[] = {
        define<"position", typeOfPosition, runPosition<false, false, 0>>(
            "position(text, part[, start])",
            "Where the part first lies in the text, in bytes from 1; 0 when it does not.",
            "position('Hello', 'l')", "3"),
        define<"positionCaseInsensitive", typeOfPosition, runPosition<true, false, 0>>(
            "positionCaseInsensitive(text, part[, start])", "position, ASCII case ignored.",
            "positionCaseInsensitive('Hello', 'L')", "3"),
        define<"positionUTF8", typeOfPosition, runPosition<false, true, 0>>(
            "positionUTF8(text, part[, start])", "position in code points.", "positionUTF8('été', 't')", "2"),
        define<"positionCaseInsensitiveUTF8", typeOfPosition, runPosition<true, true, 0>>(
            "positionCaseInsensitiveUTF8(text, part[, start])", "positionUTF8, case ignored.",
            "positionCaseInsensitiveUTF8('ÉTÉ', 'té')", "2"),
        define<"locate", typeOfLocate, runPosition<false, false, 1>>(
            "locate(part, text[, start])", "position with the part first, as MySQL has it.",
            "locate('l', 'Hello')", "3"),
        define<"countSubstrings", typeOfPosition, runCountSubstrings<false, false>>(
            "countSubstrings(text, part[, start])", "How often the part lies in the text, without overlaps.",
            "countSubstrings('aaaa', 'aa')", "2"),
        define<"countSubstringsCaseInsensitive", typeOfPosition, runCountSubstrings<true, false>>(
            "countSubstringsCaseInsensitive(text, part[, start])", "countSubstrings, ASCII case ignored.",
            "countSubstringsCaseInsensitive('aAa', 'A')", "3"),
        define<"countSubstringsCaseInsensitiveUTF8", typeOfPosition, runCountSubstrings<true, true>>(
            "countSubstringsCaseInsensitiveUTF8(text, part[, start])", "countSubstrings, case ignored.",
            "countSubstringsCaseInsensitiveUTF8('éÉ', 'é')", "2"),
        define<"hasToken", typeOfHasToken, runHasToken<false, false>, kMayThrow, 2>(
            "hasToken(text, token)", "Whether the token stands in the text between separators.",
            "hasToken('a bc', 'bc')", "1"),
        define<"hasTokenOrNull", typeOfHasTokenOrNull, runHasToken<false, true>, kPlainManner, 2>(
            "hasTokenOrNull(text, token)", "hasToken, NULL when the token has separators in it.",
            "hasTokenOrNull('a bc', 'b c')", "NULL"),
        define<"hasTokenCaseInsensitive", typeOfHasToken, runHasToken<true, false>, kMayThrow, 2>(
            "hasTokenCaseInsensitive(text, token)", "hasToken, ASCII case ignored.",
            "hasTokenCaseInsensitive('a BC', 'bc')", "1"),
        define<"hasTokenCaseInsensitiveOrNull", typeOfHasTokenOrNull, runHasToken<true, true>, kPlainManner,
               2>("hasTokenCaseInsensitiveOrNull(text, token)", "Both together.",
                  "hasTokenCaseInsensitiveOrNull('a BC', 'bc')", "1"),
        define<"hasSubsequence", typeOfHasSubsequence, runHasSubsequence<false, false>>(
            "hasSubsequence(text, letters)", "Whether the letters stand in the text in this order.",
            "hasSubsequence('garbage', 'gag')", "1"),
        define<"hasSubsequenceUTF8", typeOfHasSubsequence, runHasSubsequence<false, true>>(
            "hasSubsequenceUTF8(text, letters)", "hasSubsequence in code points.",
            "hasSubsequenceUTF8('été', 'éé')", "1"),
        define<"hasSubsequenceCaseInsensitive", typeOfHasSubsequence, runHasSubsequence<true, false>>(
            "hasSubsequenceCaseInsensitive(text, letters)", "hasSubsequence, ASCII case ignored.",
            "hasSubsequenceCaseInsensitive('Garbage', 'gag')", "1"),
        define<"hasSubsequenceCaseInsensitiveUTF8", typeOfHasSubsequence, runHasSubsequence<true, true>>(
            "hasSubsequenceCaseInsensitiveUTF8(text, letters)", "Both together.",
            "hasSubsequenceCaseInsensitiveUTF8('Été', 'éé')", "1"),
        MULTI_SEARCH("", false, false),
        MULTI_SEARCH("CaseInsensitive", true, false),
        MULTI_SEARCH("UTF8", false, true),
        MULTI_SEARCH("CaseInsensitiveUTF8", true, true),
    };
    return kList;
}

}  // namespace shardd::functions
