// Lengths, ASCII case, joining, repeating, reversing, and comparing the ends of strings.

#include <array>
#include <cctype>

#include "common/columns/create_column.h"
#include "server/functions/definition.h"
#include "server/functions/utf8.h"

namespace shardd::functions {

namespace {

// -- length, empty --------------------------------------------------------------------------------

bool isSizedKind(const Type& type) {
    return type.isString() || type.kind() == TypeKind::Array || type.kind() == TypeKind::Map;
}

TypePtr typeOfLength(const Signature& call) {
    needCount(call, 1);
    if (!isSizedKind(*call.type(0))) illegalArgument(call, 0);
    return types::uint64();
}

ColumnPtr runLength(const Call& call) {
    const ColumnPtr column = full(call.column(0));
    if (column->kind() == ColumnKind::FixedString)
        return fixedColumn(PodVector<uint64_t>(call.rows, as<FixedStringColumn>(*column).width()));
    const PodVector<uint64_t>& ends = column->kind() == ColumnKind::String ? as<StringColumn>(*column).ends()
                                                                           : as<ArrayColumn>(*column).ends();
    PodVector<uint64_t> lengths(call.rows);
    if (call.rows > 0) lengths[0] = ends[0];
    for (size_t i = 1; i < call.rows; ++i) lengths[i] = ends[i] - ends[i - 1];
    return fixedColumn(std::move(lengths));
}

TypePtr typeOfEmpty(const Signature& call) {
    needCount(call, 1);
    const TypeKind kind = call.type(0)->kind();
    if (!isSizedKind(*call.type(0)) && kind != TypeKind::UUID && kind != TypeKind::IPv4 &&
        kind != TypeKind::IPv6)
        illegalArgument(call, 0);
    return types::uint8();
}

template <uint8_t kWhenEmpty>
ColumnPtr runEmpty(const Call& call) {
    const ColumnPtr column = full(call.column(0));
    PodVector<uint8_t> result(call.rows);
    const PodVector<uint64_t>* ends = nullptr;
    if (column->kind() == ColumnKind::String) ends = &as<StringColumn>(*column).ends();
    if (column->kind() == ColumnKind::Array) ends = &as<ArrayColumn>(*column).ends();
    if (ends) {
        uint64_t before = 0;
        for (size_t i = 0; i < call.rows; ++i) {
            result[i] = ((*ends)[i] == before) == (kWhenEmpty == 1);
            before = (*ends)[i];
        }
        return fixedColumn(std::move(result));
    }
    for (size_t i = 0; i < call.rows; ++i) {
        const std::string_view bytes = column->bytesAt(i);
        const bool empty = bytes.find_first_not_of('\0') == std::string_view::npos;
        result[i] = empty == (kWhenEmpty == 1);
    }
    return fixedColumn(std::move(result));
}

ColumnPtr runLengthUtf8(const Call& call) {
    const TextArgument texts(call.column(0));
    return eachRow<uint64_t>(call.rows, [&](size_t row) { return countCodePoints(texts[row]); });
}

// -- byte for byte --------------------------------------------------------------------------------

TypePtr typeOfSameText(const Signature& call) {
    needCount(call, 1);
    needText(call, 0);
    return call.type(0);
}

/// The characters of a String or FixedString column through `change(begin, end, out)`, the same number.
template <typename Change>
ColumnPtr changeChars(const Call& call, Change&& change) {
    const ColumnPtr column = full(call.column(0));
    if (column->kind() == ColumnKind::FixedString) {
        const auto& source = as<FixedStringColumn>(*column);
        PodVector<char> chars(source.chars().size());
        change(source.chars().data(), source.chars().size(), chars.data());
        return std::make_shared<FixedStringColumn>(source.width(), std::move(chars));
    }
    const auto& source = as<StringColumn>(*column);
    PodVector<char> chars(source.chars().size());
    change(source.chars().data(), source.chars().size(), chars.data());
    return std::make_shared<StringColumn>(std::move(chars), source.ends());
}

template <char kFrom, char kTo>
ColumnPtr runCase(const Call& call) {
    return changeChars(call, [](const char* in, size_t size, char* out) {
        for (size_t i = 0; i < size; ++i)
            out[i] = static_cast<char>(in[i] ^ ((in[i] >= kFrom && in[i] <= kTo) ? 0x20 : 0));
    });
}

/// Runs `change(text, out)` on every row; the output has the size of the text.
template <typename Change>
ColumnPtr changeRows(const Call& call, Change&& change) {
    const TextArgument texts(call.column(0));
    return changeChars(call, [&](const char*, size_t, char* out) {
        for (size_t row = 0; row < call.rows; ++row) {
            const std::string_view text = texts[row];
            change(text, out);
            out += text.size();
        }
    });
}

void initcap(std::string_view text, char* out) {
    bool inside = false;
    for (size_t i = 0; i < text.size(); ++i) {
        const auto c = static_cast<unsigned char>(text[i]);
        const bool alnum = c < 0x80 && std::isalnum(c);
        out[i] = static_cast<char>(!alnum ? c : inside ? std::tolower(c) : std::toupper(c));
        inside = alnum;
    }
}

ColumnPtr runInitcap(const Call& call) { return changeRows(call, initcap); }

TypePtr typeOfReverse(const Signature& call) {
    needCount(call, 1);
    if (call.type(0)->kind() != TypeKind::Array) needText(call, 0);
    return call.type(0);
}

ColumnPtr runReverse(const Call& call) {
    if (call.argumentType(0)->kind() != TypeKind::Array)
        return changeRows(
            call, [](std::string_view text, char* out) { std::reverse_copy(text.begin(), text.end(), out); });
    const ColumnPtr column = full(call.column(0));
    const auto& arrays = as<ArrayColumn>(*column);
    PodVector<RowIndex> order(arrays.elements()->size());
    size_t start = 0;
    for (const uint64_t end : arrays.ends()) {
        for (size_t i = start; i < end; ++i) order[i] = static_cast<RowIndex>(start + end - 1 - i);
        start = end;
    }
    return std::make_shared<ArrayColumn>(arrays.elements()->gather(order.span()), arrays.ends());
}

TypePtr typeOfReverseUtf8(const Signature& call) {
    needCount(call, 1);
    needString(call, 0);
    return types::string();
}

ColumnPtr runReverseUtf8(const Call& call) {
    return changeRows(call, [](std::string_view text, char* out) {
        char* to = out + text.size();
        for (size_t at = 0; at < text.size();) {
            const size_t size = std::min(utf8Length(static_cast<uint8_t>(text[at])), text.size() - at);
            to -= size;
            std::copy_n(text.data() + at, size, to);
            at += size;
        }
    });
}

// -- joining --------------------------------------------------------------------------------------

/// Text of any argument: itself, or toString().
ColumnPtr textOf(const Call& call, size_t i) {
    if (call.argumentType(i)->isString()) return call.column(i);
    const NamedColumn argument = call.arguments[i];
    const auto resolved =
        resolveFunction("toString", {&argument, 1}, std::make_shared<FunctionContext>(call.context));
    return resolved->execute({&argument, 1}, call.rows);
}

TypePtr typeOfConcat(const Signature& /*call*/) { return types::string(); }

TypePtr typeOfConcatWithSeparator(const Signature& call) {
    needCount(call, 1, SIZE_MAX);
    if (!call.type(0)->isString())
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, "Illegal type {} of first argument of function {}",
                    call.type(0)->name(), call.name);
    return types::string();
}

ColumnPtr joinTexts(const Call& call, size_t first, std::string_view separator) {
    std::vector<TextArgument> texts;
    size_t bytes = 0;
    for (size_t i = first; i < call.count(); ++i) {
        texts.emplace_back(textOf(call, i));
        bytes += texts.back().totalBytes() + separator.size() * call.rows;
    }
    return eachText(call.rows, bytes, [&](size_t row, TextBuilder& out) {
        for (size_t i = 0; i < texts.size(); ++i) {
            if (i > 0) out.append(separator);
            out.append(texts[i][row]);
        }
    });
}

ColumnPtr runConcat(const Call& call) {
    if (call.count() == 0) return constantText("", call.rows);
    return joinTexts(call, 0, {});
}

ColumnPtr runConcatWithSeparator(const Call& call) {
    return joinTexts(call, 1, TextArgument(call.column(0))[0]);
}

// -- repeating ------------------------------------------------------------------------------------

constexpr int64_t kMaxRepeats = 1'000'000;

void checkRepeats(int64_t times) {
    if (times > kMaxRepeats)
        throw Error(ErrorCode::TOO_LARGE_STRING_SIZE, "Too many times to repeat ({}), maximum is: {}", times,
                    kMaxRepeats);
}

TypePtr typeOfRepeat(const Signature& call) {
    needCount(call, 2);
    needString(call, 0);
    needInteger(call, 1);
    return types::string();
}

ColumnPtr runRepeat(const Call& call) {
    const TextArgument texts(call.column(0));
    const IntegerArgument times(call.column(1));
    return eachText(call.rows, 0, [&](size_t row, TextBuilder& out) {
        checkRepeats(times[row]);
        for (int64_t i = 0; i < times[row]; ++i) out.append(texts[row]);
    });
}

ColumnPtr runSpace(const Call& call) {
    const IntegerArgument times(call.column(0));
    return eachText(call.rows, 0, [&](size_t row, TextBuilder& out) {
        checkRepeats(times[row]);
        if (times[row] > 0) out.chars().appendRepeated(' ', static_cast<size_t>(times[row]));
    });
}

// -- codes ----------------------------------------------------------------------------------------

ColumnPtr runAscii(const Call& call) {
    const TextArgument texts(call.column(0));
    return eachRow<int32_t>(call.rows, [&](size_t row) {
        return texts[row].empty() ? 0 : static_cast<int32_t>(static_cast<uint8_t>(texts[row][0]));
    });
}

TypePtr typeOfChar(const Signature& call) {
    if (call.count() == 0)
        throw Error(ErrorCode::TOO_FEW_ARGUMENTS_FOR_FUNCTION,
                    "Number of arguments for function {} can't be 0, should be at least 1", call.name);
    for (size_t i = 0; i < call.count(); ++i) needNumber(call, i);
    return types::string();
}

ColumnPtr runChar(const Call& call) {
    std::vector<IntegerArgument> codes;
    for (size_t i = 0; i < call.count(); ++i) codes.emplace_back(call.column(i));
    return eachText(call.rows, call.rows * codes.size(), [&](size_t row, TextBuilder& out) {
        for (const IntegerArgument& code : codes) out.append(static_cast<char>(code[row]));
    });
}

// -- ends -----------------------------------------------------------------------------------------

TypePtr typeOfEnds(const Signature& call) {
    needCount(call, 2);
    if (call.type(0)->kind() == TypeKind::Array && call.type(1)->kind() == TypeKind::Array) {
        commonType({call.type(0)->child(), call.type(1)->child()});
        return types::uint8();
    }
    if (!call.type(0)->isString() || !call.type(1)->isString())
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    "Illegal types {} {} of arguments of function {}. Both must be String or Array",
                    call.type(0)->name(), call.type(1)->name(), call.name);
    return types::uint8();
}

/// Whether one array begins or ends with another, by the elements as they compare in one column.
template <bool kStarts>
ColumnPtr arrayEnds(const Call& call) {
    const TypePtr common =
        types::array(commonType({call.argumentType(0)->child(), call.argumentType(1)->child()}));
    const ColumnPtr left = full(castArgument(call.arguments[0], common, call.rows));
    const ColumnPtr right = full(castArgument(call.arguments[1], common, call.rows));
    const auto& whole = as<ArrayColumn>(*left);
    const auto& part = as<ArrayColumn>(*right);
    return eachRow<uint8_t>(call.rows, [&](size_t row) -> uint8_t {
        const size_t length = part.lengthAt(row);
        if (length > whole.lengthAt(row)) return 0;
        const size_t from = kStarts ? whole.startAt(row) : whole.ends()[row] - length;
        for (size_t i = 0; i < length; ++i)
            if (whole.elements()->compareAt(from + i, *part.elements(), part.startAt(row) + i, 1) != 0)
                return 0;
        return 1;
    });
}

template <bool kStarts, bool kFoldCase>
ColumnPtr runEnds(const Call& call) {
    if (call.argumentType(0)->kind() == TypeKind::Array) return arrayEnds<kStarts>(call);
    const TextArgument texts(call.column(0));
    const TextArgument parts(call.column(1));
    auto same = [](char a, char b) {
        return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
    };
    return eachRow<uint8_t>(call.rows, [&](size_t row) -> uint8_t {
        const std::string_view text = texts[row];
        const std::string_view part = parts[row];
        if (part.size() > text.size()) return 0;
        const std::string_view end =
            kStarts ? text.substr(0, part.size()) : text.substr(text.size() - part.size());
        if (kFoldCase) return std::equal(end.begin(), end.end(), part.begin(), same);
        return end == part;
    });
}

}  // namespace

std::span<const FunctionInfo> textBasicFunctions() {
    static const FunctionInfo kList[] = {
        define<"length", typeOfLength, runLength>(
            "length(text)", "Bytes of a string, elements of an array or a map.", "length('abc')", "3"),
        define<"lengthUTF8", textsTo<TypeKind::UInt64, 1>, runLengthUtf8>(
            "lengthUTF8(text)", "Code points of a string.", "lengthUTF8('hé')", "2"),
        define<"empty", typeOfEmpty, runEmpty<1>>(
            "empty(x)", "Whether a string, array, map, UUID or address is empty.", "empty('')", "1"),
        define<"notEmpty", typeOfEmpty, runEmpty<0>>("notEmpty(x)", "Whether it is not empty.",
                                                     "notEmpty('a')", "1"),
        define<"lower", typeOfSameText, runCase<'A', 'Z'>>("lower(text)", "ASCII letters made small.",
                                                           "lower('AbC')", "abc"),
        define<"upper", typeOfSameText, runCase<'a', 'z'>>("upper(text)", "ASCII letters made large.",
                                                           "upper('AbC')", "ABC"),
        define<"initcap", typeOfSameText, runInitcap>(
            "initcap(text)", "The first letter of each word large, the others small.",
            "initcap('hello wORLD')", "Hello World"),
        define<"reverse", typeOfReverse, runReverse, kInjective>(
            "reverse(x)", "Bytes or elements in the opposite order.", "reverse('abc')", "cba"),
        define<"reverseUTF8", typeOfReverseUtf8, runReverseUtf8>(
            "reverseUTF8(text)", "Code points in the opposite order.", "reverseUTF8('hé')", "éh"),
        define<"concat", typeOfConcat, runConcat>("concat(a, …)", "Texts one after another.",
                                                  "concat('a', 1)", "a1"),
        define<"concatAssumeInjective", typeOfConcat, runConcat, kInjective>(
            "concatAssumeInjective(a, …)",
            "concat of which the caller promises that different arguments differ.",
            "concatAssumeInjective('a', 'b')", "ab"),
        define<"concatWithSeparator", typeOfConcatWithSeparator, runConcatWithSeparator, kPlainManner, 1>(
            "concatWithSeparator(separator, a, …)", "Texts with a separator between them.",
            "concatWithSeparator(',', 'a', 'b')", "a,b"),
        define<"concatWithSeparatorAssumeInjective", typeOfConcatWithSeparator, runConcatWithSeparator,
               kInjective, 1>("concatWithSeparatorAssumeInjective(separator, a, …)",
                              "The same, promised to be injective.",
                              "concatWithSeparatorAssumeInjective(',', 'a', 'b')", "a,b"),
        define<"repeat", typeOfRepeat, runRepeat, kMayThrow>("repeat(text, n)", "The text n times.",
                                                             "repeat('ab', 2)", "abab"),
        define<"space", integerTo<TypeKind::String>, runSpace, kMayThrow>("space(n)", "n blanks.",
                                                                          "length(space(3))", "3"),
        define<"ascii", textsTo<TypeKind::Int32, 1>, runAscii>("ascii(text)", "The first byte as a number.",
                                                               "ascii('A')", "65"),
        define<"char", typeOfChar, runChar>("char(code, …)", "A string of these bytes.", "char(72, 105)",
                                            "Hi"),
        define<"startsWith", typeOfEnds, runEnds<true, false>>("startsWith(x, prefix)",
                                                               "Whether a string or array begins so.",
                                                               "startsWith('Hello', 'He')", "1"),
        define<"endsWith", typeOfEnds, runEnds<false, false>>(
            "endsWith(x, suffix)", "Whether a string or array ends so.", "endsWith('Hello', 'lo')", "1"),
        define<"startsWithUTF8", textsTo<TypeKind::UInt8, 2>, runEnds<true, false>>(
            "startsWithUTF8(text, prefix)", "startsWith for UTF-8.", "startsWithUTF8('été', 'é')", "1"),
        define<"endsWithUTF8", textsTo<TypeKind::UInt8, 2>, runEnds<false, false>>(
            "endsWithUTF8(text, suffix)", "endsWith for UTF-8.", "endsWithUTF8('été', 'é')", "1"),
        define<"startsWithCaseInsensitive", textsTo<TypeKind::UInt8, 2>, runEnds<true, true>>(
            "startsWithCaseInsensitive(text, prefix)", "startsWith, ASCII case ignored.",
            "startsWithCaseInsensitive('Hello', 'hE')", "1"),
        define<"endsWithCaseInsensitive", textsTo<TypeKind::UInt8, 2>, runEnds<false, true>>(
            "endsWithCaseInsensitive(text, suffix)", "endsWith, ASCII case ignored.",
            "endsWithCaseInsensitive('Hello', 'LO')", "1"),
    };
    return kList;
}

}  // namespace shardd::functions
