// Parts of strings: substring, left, right, padding, trimming.

#include <array>

#include "server/functions/definition.h"
#include "server/functions/utf8.h"

namespace shardd::functions {

namespace {

struct Piece {
    size_t start = 0;
    size_t count = 0;
};

/// Which of `size` elements substring(…, offset, length) means: from 1, negative offsets from the end, a
/// negative length leaves that many out at the end.
Piece pieceOf(size_t size, int64_t offset, bool has_length, int64_t length) {
    const auto total = static_cast<int64_t>(size);
    if (offset == 0) return {};
    if (offset > 0) {
        const int64_t start = offset - 1;
        if (start >= total) return {};
        const int64_t rest = total - start;
        if (!has_length) return {static_cast<size_t>(start), static_cast<size_t>(rest)};
        if (length < 0) length = rest + std::max(length, -rest);
        return {static_cast<size_t>(start), static_cast<size_t>(std::min(length, rest))};
    }
    if (offset <= -total) {  // before the first one: what lies before is cut off the length too
        if (!has_length) return {0, size};
        if (offset < INT64_MIN / 2) offset = INT64_MIN / 2;
        if (length < 0) length = std::max<int64_t>(length - offset, 0);
        const int64_t missing = -offset - total;
        if (length <= missing) return {0, 0};
        return {0, static_cast<size_t>(std::min(length - missing, total))};
    }
    const int64_t rest = -offset;
    if (!has_length) return {static_cast<size_t>(total - rest), static_cast<size_t>(rest)};
    if (length < 0) length = rest + std::max(length, -rest);
    return {static_cast<size_t>(total - rest), static_cast<size_t>(std::min(length, rest))};
}

TypePtr typeOfSubstring(const Signature& call) {
    needCount(call, 2, 3);
    if (!call.type(0)->isString()) illegalArgument(call, 0, "String, FixedString or Enum");
    needNumber(call, 1);
    if (call.count() == 3) needNumber(call, 2);
    return types::string();
}

TypePtr typeOfSubstringUtf8(const Signature& call) {
    needCount(call, 2, 3);
    needString(call, 0);
    needNumber(call, 1);
    if (call.count() == 3) needNumber(call, 2);
    return types::string();
}

TypePtr typeOfSide(const Signature& call) {
    needCount(call, 2);
    needText(call, 0);
    needNumber(call, 1);
    return types::string();
}

/// The bytes of points [start, start + count) of a text.
std::string_view pointsOf(std::string_view text, Piece piece) {
    const size_t from = skipCodePoints(text, piece.start);
    const std::string_view rest = text.substr(from);
    return rest.substr(0, skipCodePoints(rest, piece.count));
}

template <bool kUtf8, typename Choose>
ColumnPtr cutEach(const Call& call, Choose&& choose) {
    const TextArgument texts(call.column(0));
    return eachText(call.rows, texts.totalBytes() / 2, [&](size_t row, TextBuilder& out) {
        const std::string_view text = texts[row];
        const Piece piece = choose(kUtf8 ? countCodePoints(text) : text.size(), row);
        out.append(kUtf8 ? pointsOf(text, piece) : text.substr(piece.start, piece.count));
    });
}

template <bool kUtf8>
ColumnPtr runSubstring(const Call& call) {
    const IntegerArgument offsets(call.column(1));
    if (call.count() == 2)
        return cutEach<kUtf8>(call,
                              [&](size_t size, size_t row) { return pieceOf(size, offsets[row], false, 0); });
    const IntegerArgument lengths(call.column(2));
    return cutEach<kUtf8>(
        call, [&](size_t size, size_t row) { return pieceOf(size, offsets[row], true, lengths[row]); });
}

template <bool kUtf8>
ColumnPtr runLeft(const Call& call) {
    const IntegerArgument lengths(call.column(1));
    return cutEach<kUtf8>(call,
                          [&](size_t size, size_t row) { return pieceOf(size, 1, true, lengths[row]); });
}

template <bool kUtf8>
ColumnPtr runRight(const Call& call) {
    const IntegerArgument lengths(call.column(1));
    return cutEach<kUtf8>(call, [&](size_t size, size_t row) -> Piece {
        const int64_t length = lengths[row];
        const auto total = static_cast<int64_t>(size);
        const int64_t kept =
            length >= 0 ? std::min(length, total) : std::max<int64_t>(total + std::max(length, -total), 0);
        return {static_cast<size_t>(total - kept), static_cast<size_t>(kept)};
    });
}

// -- padding --------------------------------------------------------------------------------------

constexpr int64_t kMaxPadded = 1'000'000;

TypePtr typeOfPad(const Signature& call) {
    needCount(call, 2, 3);
    needText(call, 0);
    needInteger(call, 1);
    if (call.count() == 3) needString(call, 2);
    return types::string();
}

template <bool kLeft, bool kUtf8>
ColumnPtr runPad(const Call& call) {
    const TextArgument texts(call.column(0));
    const IntegerArgument lengths(call.column(1));
    std::string fill = call.count() == 3 ? std::string(TextArgument(call.column(2))[0]) : " ";
    if (fill.empty()) fill = " ";
    const size_t fill_points = kUtf8 ? countCodePoints(fill) : fill.size();
    return eachText(call.rows, texts.totalBytes(), [&](size_t row, TextBuilder& out) {
        const int64_t length = lengths[row];
        if (length < 0)
            throw Error(ErrorCode::INDEX_OF_POSITIONAL_ARGUMENT_IS_OUT_OF_RANGE,
                        "The length argument of function {} cannot be negative", call.name);
        if (length > kMaxPadded)
            throw Error(ErrorCode::TOO_LARGE_STRING_SIZE, "New padded length ({}) is too big, maximum is: {}",
                        length, kMaxPadded);
        const std::string_view text = texts[row];
        const auto wanted = static_cast<size_t>(length);
        const size_t size = kUtf8 ? countCodePoints(text) : text.size();
        if (size >= wanted) return out.append(kUtf8 ? pointsOf(text, {0, wanted}) : text.substr(0, wanted));
        if (!kLeft) out.append(text);
        size_t missing = wanted - size;
        for (; missing >= fill_points && fill_points > 0; missing -= fill_points) out.append(fill);
        out.append(kUtf8 ? pointsOf(fill, {0, missing}) : std::string_view(fill).substr(0, missing));
        if (kLeft) out.append(text);
    });
}

// -- trimming -------------------------------------------------------------------------------------

TypePtr typeOfTrim(const Signature& call) {
    needCount(call, 1, 2);
    needText(call, 0);
    if (call.count() == 2) needString(call, 1);
    return types::string();
}

template <bool kLeft, bool kRight>
ColumnPtr runTrim(const Call& call) {
    const TextArgument texts(call.column(0));
    std::array<bool, 256> dropped{};
    if (call.count() == 2) {
        const TextArgument characters(call.column(1));
        for (const char c : characters[0]) dropped[static_cast<uint8_t>(c)] = true;
    } else {
        dropped[static_cast<uint8_t>(' ')] = true;
    }
    return eachText(call.rows, texts.totalBytes(), [&](size_t row, TextBuilder& out) {
        const std::string_view text = texts[row];
        size_t from = 0;
        size_t to = text.size();
        if (kLeft)
            while (from < to && dropped[static_cast<uint8_t>(text[from])]) ++from;
        if (kRight)
            while (to > from && dropped[static_cast<uint8_t>(text[to - 1])]) --to;
        out.append(text.substr(from, to - from));
    });
}

// -- by separators and lines ----------------------------------------------------------------------

TypePtr typeOfSubstringIndex(const Signature& call) {
    needCount(call, 3);
    needString(call, 0);
    needString(call, 1);
    needInteger(call, 2);
    return types::string();
}

/// All before the count-th delimiter, or all behind it counted from the end.
std::string_view cutAtDelimiter(std::string_view text, std::string_view delimiter, int64_t count) {
    if (count == 0) return {};
    size_t at = count > 0 ? 0 : text.size();
    if (count > 0) {
        for (; count > 0; --count) {
            const size_t found = text.find(delimiter, at);
            if (found == std::string_view::npos) return text;
            if (count == 1) return text.substr(0, found);
            at = found + delimiter.size();
        }
        return text;
    }
    for (; count < 0; ++count) {
        const size_t found = at == 0 ? std::string_view::npos : text.rfind(delimiter, at - delimiter.size());
        if (found == std::string_view::npos || at < delimiter.size()) return text;
        if (count == -1) return text.substr(found + delimiter.size());
        at = found;
    }
    return text;
}

template <bool kUtf8>
ColumnPtr runSubstringIndex(const Call& call) {
    const TextArgument texts(call.column(0));
    const TextArgument delimiters(call.column(1));
    const IntegerArgument counts(call.column(2));
    const std::string_view delimiter = delimiters[0];
    if ((kUtf8 ? countCodePoints(delimiter) : delimiter.size()) != 1)
        throw Error(ErrorCode::BAD_ARGUMENTS, "Argument delim for function {} must be a single character",
                    call.name);
    return eachText(call.rows, texts.totalBytes() / 2, [&](size_t row, TextBuilder& out) {
        out.append(cutAtDelimiter(texts[row], delimiter, counts[row]));
    });
}

ColumnPtr runFirstLine(const Call& call) {
    const TextArgument texts(call.column(0));
    return eachText(call.rows, texts.totalBytes(), [&](size_t row, TextBuilder& out) {
        out.append(texts[row].substr(0, texts[row].find_first_of("\r\n")));
    });
}

ColumnPtr runBasename(const Call& call) {
    const TextArgument texts(call.column(0));
    return eachText(call.rows, texts.totalBytes(), [&](size_t row, TextBuilder& out) {
        const std::string_view text = texts[row];
        const size_t slash = text.find_last_of("/\\");
        out.append(slash == std::string_view::npos ? text : text.substr(slash + 1));
    });
}

TypePtr typeOfAppendTrailing(const Signature& call) {
    needCount(call, 2);
    needString(call, 0);
    needString(call, 1);
    return types::string();
}

ColumnPtr runAppendTrailing(const Call& call) {
    const TextArgument texts(call.column(0));
    const TextArgument endings(call.column(1));
    const std::string_view ending = endings[0];
    if (ending.size() != 1)
        throw Error(ErrorCode::BAD_ARGUMENTS, "Second argument of function {} must be a one-character string",
                    call.name);
    return eachText(call.rows, texts.totalBytes() + call.rows, [&](size_t row, TextBuilder& out) {
        const std::string_view text = texts[row];
        out.append(text);
        if (!text.empty() && text.back() != ending[0]) out.append(ending);
    });
}

}  // namespace

std::span<const FunctionInfo> textSliceFunctions() {
    static const FunctionInfo kList[] = {
        define<"substring", typeOfSubstring, runSubstring<false>>(
            "substring(text, offset[, length])",
            "Bytes of a string from a place on, counted from 1; negative from the end.",
            "substring('Hello', 2, 3)", "ell"),
        define<"substringUTF8", typeOfSubstringUtf8, runSubstring<true>>(
            "substringUTF8(text, offset[, length])", "Code points of a string from a place on.",
            "substringUTF8('héllo', 2, 2)", "él"),
        define<"left", typeOfSide, runLeft<false>>(
            "left(text, n)", "The first n bytes; all but the last -n when n is negative.", "left('Hello', 2)",
            "He"),
        define<"leftUTF8", typeOfSide, runLeft<true>>("leftUTF8(text, n)", "The first n code points.",
                                                      "leftUTF8('héllo', 2)", "hé"),
        define<"right", typeOfSide, runRight<false>>(
            "right(text, n)", "The last n bytes; all but the first -n when n is negative.",
            "right('Hello', 2)", "lo"),
        define<"rightUTF8", typeOfSide, runRight<true>>("rightUTF8(text, n)", "The last n code points.",
                                                        "rightUTF8('hellö', 2)", "lö"),
        define<"leftPad", typeOfPad, runPad<true, false>, kMayThrow, 4>(
            "leftPad(text, length[, pad])", "Fills up on the left, or cuts, to a length.",
            "leftPad('7', 3, '0')", "007"),
        define<"leftPadUTF8", typeOfPad, runPad<true, true>, kMayThrow, 4>("leftPadUTF8(text, length[, pad])",
                                                                           "leftPad counted in code points.",
                                                                           "leftPadUTF8('é', 3, '…')", "……é"),
        define<"rightPad", typeOfPad, runPad<false, false>, kMayThrow, 4>(
            "rightPad(text, length[, pad])", "Fills up on the right, or cuts, to a length.",
            "rightPad('7', 3, '0')", "700"),
        define<"rightPadUTF8", typeOfPad, runPad<false, true>, kMayThrow, 4>(
            "rightPadUTF8(text, length[, pad])", "rightPad counted in code points.",
            "rightPadUTF8('é', 3, '…')", "é……"),
        define<"trimLeft", typeOfTrim, runTrim<true, false>, kPlainManner, 2>(
            "trimLeft(text[, characters])", "Without blanks, or the given characters, on the left.",
            "trimLeft('  a ')", "a "),
        define<"trimRight", typeOfTrim, runTrim<false, true>, kPlainManner, 2>(
            "trimRight(text[, characters])", "Without blanks, or the given characters, on the right.",
            "trimRight(' a  ')", " a"),
        define<"trimBoth", typeOfTrim, runTrim<true, true>, kPlainManner, 2>(
            "trimBoth(text[, characters])", "Without blanks, or the given characters, at both ends.",
            "trimBoth('xxabcxx', 'x')", "abc"),
        define<"substringIndex", typeOfSubstringIndex, runSubstringIndex<false>, kMayThrow, 2>(
            "substringIndex(text, delimiter, count)", "All before the count-th delimiter.",
            "substringIndex('a.b.c', '.', 2)", "a.b"),
        define<"substringIndexUTF8", typeOfSubstringIndex, runSubstringIndex<true>, kMayThrow, 2>(
            "substringIndexUTF8(text, delimiter, count)",
            "substringIndex with a delimiter of one code point.", "substringIndexUTF8('a→b', '→', 1)", "a"),
        define<"firstLine", textsTo<TypeKind::String, 1>, runFirstLine>(
            "firstLine(text)", "The text before its first line break.", "firstLine('a\\nb')", "a"),
        define<"basename", textsTo<TypeKind::String, 1>, runBasename>(
            "basename(path)", "What follows the last slash or backslash.", "basename('/a/b.txt')", "b.txt"),
        define<"appendTrailingCharIfAbsent", typeOfAppendTrailing, runAppendTrailing, kMayThrow, 2>(
            "appendTrailingCharIfAbsent(text, c)", "The text with c at its end, unless it is empty.",
            "appendTrailingCharIfAbsent('a', '/')", "a/"),
    };
    return kList;
}

}  // namespace shardd::functions
