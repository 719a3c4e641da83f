#include <bit>

#include "common/columns/fixed_string_column.h"
#include "server/functions/convert.h"
#include "server/functions/definition.h"
#include "server/functions/numbers.h"

/// Bits of integers and of strings.
namespace shardd::functions {

namespace {

enum class BitOp : uint8_t { And, Or, Xor };

TypePtr failTypes(const Signature& call) {
    throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, "Illegal types {} and {} of arguments of function {}",
                call.type(0)->name(), call.type(1)->name(), call.name);
}

bool isBits(const Type& type) {
    return type.isInteger() || type.kind() == TypeKind::Bool || type.kind() == TypeKind::IPv4;
}

TypePtr typeOfBits(const Signature& call) {
    needCount(call, 2);
    const TypePtr& left = call.type(0);
    const TypePtr& right = call.type(1);
    if (left->kind() == TypeKind::FixedString && sameType(left, right)) return left;
    if (!isBits(*left) || !isBits(*right)) return failTypes(call);
    const NumberShape a = shapeOf(*left);
    const NumberShape b = shapeOf(*right);
    return typeOfShape(false, a.is_signed || b.is_signed, std::max(a.bytes, b.bytes));
}

/// A column of the call's type for integers that are computed as unsigned ones of its width, to be written to
/// `out`.
template <typename T>
ColumnPtr bitsColumn(const Call& call, T*& out) {
    char* data = nullptr;
    size_t width = 0;
    ColumnPtr column = numberColumn(call.type->physical(), call.rows, data, width);
    out = reinterpret_cast<T*>(data);
    return column;
}

/// Such a column whose row i is of(value i), the values being as wide.
template <typename T, typename Of>
ColumnPtr eachBits(const Call& call, const Column& values, Of&& of) {
    T* out = nullptr;
    ColumnPtr column = bitsColumn(call, out);
    const T* from = call.rows == 0 ? nullptr : reinterpret_cast<const T*>(values.bytesAt(0).data());
    for (size_t i = 0; i < call.rows; ++i) out[i] = of(from[i], i);
    return column;
}

template <BitOp kOp, typename T>
T combine(const T& a, const T& b) {
    if constexpr (kOp == BitOp::And)
        return static_cast<T>(a & b);
    else if constexpr (kOp == BitOp::Or)
        return static_cast<T>(a | b);
    else
        return static_cast<T>(a ^ b);
}

template <BitOp kOp>
ColumnPtr runBits(const Call& call) {
    if (call.type->kind() == TypeKind::FixedString) {
        const TextArgument a(call.column(0));
        const TextArgument b(call.column(1));
        auto out = std::make_shared<FixedStringColumn>(call.type->fixedSize());
        for (size_t i = 0; i < call.rows; ++i) {
            std::string bytes(a[i]);
            for (size_t at = 0; at < bytes.size(); ++at) bytes[at] = combine<kOp>(bytes[at], b[i][at]);
            out->insertText(bytes);
        }
        return out;
    }
    const ColumnPtr left =
        call.column(0)->kind() == ColumnKind::Const && call.column(1)->kind() == ColumnKind::Const
            ? full(call.column(0))
            : call.column(0);
    ColumnPtr result;
    dispatchUnsigned(call.type->physical(), [&](auto tag) {
        using T = typename decltype(tag)::Type;
        Operand<T> a(*left, call.argumentType(0)->physical());
        Operand<T> b(*call.column(1), call.argumentType(1)->physical());
        T* out = nullptr;
        result = bitsColumn(call, out);
        runBinary(a, b, out, call.rows, [](const T& x, const T& y) { return combine<kOp, T>(x, y); });
    });
    return result;
}

TypePtr typeOfNot(const Signature& call) {
    needCount(call, 1);
    const TypePtr& type = call.type(0);
    if (type->isString()) return type;
    if (type->isFloat()) return typeOfShape(false, true, type->width());
    if (!isBits(*type)) illegalArgument(call, 0, "an integer");
    const NumberShape shape = shapeOf(*type);
    return typeOfShape(false, shape.is_signed, shape.bytes);
}

ColumnPtr runNot(const Call& call) {
    const ColumnPtr column = full(call.column(0));
    if (call.type->isString()) {
        const TextArgument texts(column);
        const ColumnPtr flipped = eachText(call.rows, texts.totalBytes(), [&](size_t i, TextBuilder& out) {
            for (const char c : texts[i]) out.append(static_cast<char>(~c));
        });
        return castColumn({"", types::string(), flipped}, call.type);
    }
    const ColumnPtr integers = castColumn({"", call.argumentType(0), column}, call.type);
    ColumnPtr result;
    dispatchUnsigned(call.type->physical(), [&](auto tag) {
        using T = typename decltype(tag)::Type;
        result = eachBits<T>(call, *integers, [](const T& value, size_t) { return static_cast<T>(~value); });
    });
    return result;
}

// --- counting --------------------------------------------------------------------------------------

unsigned countBits(std::string_view bytes) {
    unsigned count = 0;
    for (const char c : bytes) count += static_cast<unsigned>(std::popcount(static_cast<uint8_t>(c)));
    return count;
}

TypePtr countType(const Type& type) {
    if (type.kind() == TypeKind::String) return types::uint64();
    if (type.kind() == TypeKind::FixedString) return types::simple(TypeKind::UInt16);
    return types::uint8();
}

TypePtr typeOfCount(const Signature& call) {
    needCount(call, 1);
    if (!call.type(0)->isString() && call.type(0)->width() == 0)
        illegalArgument(call, 0, "a number or a string");
    return countType(*call.type(0));
}

ColumnPtr countColumn(const Call& call, const ColumnPtr& column) {
    const ColumnPtr plain = full(column);
    const ColumnPtr wide =
        eachRow<uint64_t>(call.rows, [&](size_t i) { return uint64_t{countBits(plain->bytesAt(i))}; });
    return castColumn({"", types::uint64(), wide}, call.type);
}

ColumnPtr runCount(const Call& call) { return countColumn(call, call.column(0)); }

TypePtr typeOfDistance(const Signature& call) {
    needCount(call, 2);
    const Type& left = *call.type(0);
    const Type& right = *call.type(1);
    const bool texts = left.isString() && right.isString();
    const bool numbers = shapeOf(left).valid() && shapeOf(right).valid();
    if (!texts && !numbers) return failTypes(call);
    return texts ? types::uint64() : types::uint8();
}

ColumnPtr runDistance(const Call& call) {
    if (call.argumentType(0)->isString()) {
        const TextArgument a(call.column(0));
        const TextArgument b(call.column(1));
        return eachRow<uint64_t>(call.rows, [&](size_t i) {
            const std::string_view x = a[i];
            const std::string_view y = b[i];
            if (x.size() != y.size())
                throw Error(ErrorCode::BAD_ARGUMENTS,
                            "Function bitHammingDistance requires strings of the same length");
            uint64_t count = 0;
            for (size_t at = 0; at < x.size(); ++at)
                count += static_cast<uint64_t>(std::popcount(static_cast<uint8_t>(x[at] ^ y[at])));
            return count;
        });
    }
    const ColumnPtr left = full(call.column(0));
    const ColumnPtr right = full(call.column(1));
    const NumberShape a = shapeOf(*call.argumentType(0));
    const NumberShape b = shapeOf(*call.argumentType(1));
    if (a.is_float || b.is_float || std::max(a.bytes, b.bytes) > 8) {
        return eachRow<uint8_t>(call.rows, [&](size_t i) {
            std::string x(left->bytesAt(i));
            std::string y(right->bytesAt(i));
            x.resize(32);
            y.resize(32);
            for (size_t at = 0; at < 32; ++at) x[at] = static_cast<char>(x[at] ^ y[at]);
            return static_cast<uint8_t>(countBits(x));
        });
    }
    const IntegerArgument x(left);
    const IntegerArgument y(right);
    const size_t bytes = std::max(a.bytes, b.bytes);
    const uint64_t mask = bytes == 8 ? ~uint64_t{0} : (uint64_t{1} << (bytes * 8)) - 1;
    return eachRow<uint8_t>(call.rows, [&](size_t i) {
        return static_cast<uint8_t>(std::popcount(static_cast<uint64_t>(x[i] ^ y[i]) & mask));
    });
}

// --- shifting --------------------------------------------------------------------------------------

TypePtr typeOfShift(const Signature& call) {
    needCount(call, 2);
    const TypePtr& type = call.type(0);
    if (!call.type(1)->isInteger() && call.type(1)->kind() != TypeKind::Bool) return failTypes(call);
    if (type->isString()) return type;
    if (!isBits(*type)) return failTypes(call);
    const NumberShape shape = shapeOf(*type);
    return typeOfShape(false, shape.is_signed, shape.bytes);
}

/// The bits of a string, most significant first; a String grows and shrinks by whole bytes, a FixedString
/// stays.
std::string shiftText(std::string_view text, uint64_t bits, bool left, bool fixed) {
    const uint64_t all = text.size() * 8;
    if (bits >= all) return fixed ? std::string(text.size(), '\0') : std::string();
    const size_t bytes = bits / 8;
    const unsigned part = bits % 8;
    std::string result;
    if (left) {
        std::string wide = std::string(1, '\0') + std::string(text);
        for (size_t i = 0; i + 1 < wide.size(); ++i)
            result += static_cast<char>((static_cast<uint8_t>(wide[i]) << part) |
                                        (part == 0 ? 0 : static_cast<uint8_t>(wide[i + 1]) >> (8 - part)));
        result += static_cast<char>(static_cast<uint8_t>(wide.back()) << part);
        if (part == 0 || fixed) result.erase(0, 1);
        result.append(bytes, '\0');
        if (fixed) result.erase(0, result.size() - text.size());
        return result;
    }
    uint8_t carry = 0;
    for (const char c : text.substr(0, text.size() - bytes)) {
        const auto byte = static_cast<uint8_t>(c);
        result += static_cast<char>(carry | (byte >> part));
        carry = part == 0 ? uint8_t{0} : static_cast<uint8_t>(byte << (8 - part));
    }
    return fixed ? std::string(bytes, '\0') + result : result;
}

[[noreturn]] void failShift() {
    throw Error(ErrorCode::ARGUMENT_OUT_OF_BOUND,
                "The number of shift positions needs to be a non-negative value");
}

template <bool kLeft>
ColumnPtr shiftTexts(const Call& call, const IntegerArgument& positions) {
    const TextArgument texts(call.column(0));
    const bool fixed = call.type->kind() == TypeKind::FixedString;
    const ColumnPtr shifted =
        eachText(call.rows, texts.totalBytes() + call.rows, [&](size_t i, TextBuilder& out) {
            if (positions[i] < 0) failShift();
            out.append(shiftText(texts[i], static_cast<uint64_t>(positions[i]), kLeft, fixed));
        });
    return castColumn({"", types::string(), shifted}, call.type);
}

template <bool kLeft>
ColumnPtr runShift(const Call& call) {
    const IntegerArgument positions(call.column(1));
    if (call.type->isString()) return shiftTexts<kLeft>(call, positions);
    const ColumnPtr column = full(call.column(0));
    const bool fill = !kLeft && shapeOf(*call.type).is_signed;
    ColumnPtr result;
    dispatchUnsigned(call.type->physical(), [&](auto tag) {
        using T = typename decltype(tag)::Type;
        const T top = static_cast<T>(T(1) << (sizeof(T) * 8 - 1));
        result = eachBits<T>(call, *column, [&](const T& value, size_t i) {
            const int64_t position = positions[i];
            if (position < 0) failShift();
            if (position >= static_cast<int64_t>(sizeof(T) * 8)) return T(0);
            const auto bits = static_cast<unsigned>(position);
            if (kLeft) return static_cast<T>(value << bits);
            // Negative ones are filled up with ones from above.
            if (fill && (value & top) != T(0))
                return static_cast<T>(~static_cast<T>(static_cast<T>(~value) >> bits));
            return static_cast<T>(value >> bits);
        });
    });
    return result;
}

TypePtr typeOfRotate(const Signature& call) {
    needCount(call, 2);
    if (!isBits(*call.type(0)) || call.type(0)->width() > 8 || !call.type(1)->isInteger())
        return failTypes(call);
    const NumberShape shape = shapeOf(*call.type(0));
    return typeOfShape(false, shape.is_signed, shape.bytes);
}

template <bool kLeft>
ColumnPtr runRotate(const Call& call) {
    const IntegerArgument positions(call.column(1));
    const ColumnPtr column = full(call.column(0));
    ColumnPtr result;
    dispatchUnsigned(call.type->physical(), [&](auto tag) {
        using T = typename decltype(tag)::Type;
        if constexpr (sizeof(T) <= 8)
            result = eachBits<T>(call, *column, [&](const T& value, size_t i) {
                const auto bits = static_cast<int>(positions[i] % static_cast<int64_t>(sizeof(T) * 8));
                return kLeft ? std::rotl(value, bits) : std::rotr(value, bits);
            });
    });
    return result;
}

// --- testing ---------------------------------------------------------------------------------------

TypePtr typeOfTest(const Signature& call) {
    needCount(call, 2, SIZE_MAX);
    if (call.name == "bitTest") needCount(call, 2);
    for (size_t i = 0; i < call.count(); ++i)
        if (!isBits(*call.type(i))) illegalArgument(call, i, "an integer");
    return types::uint8();
}

enum class Test : uint8_t { One, All, Any };

template <Test kTest>
ColumnPtr runTest(const Call& call) {
    const ColumnPtr column = full(call.column(0));
    const auto bits = static_cast<int64_t>(call.argumentType(0)->width() * 8);
    std::vector<IntegerArgument> positions;
    for (size_t i = 1; i < call.count(); ++i) positions.emplace_back(call.column(i));
    return eachRow<uint8_t>(call.rows, [&](size_t i) {
        const std::string_view bytes = column->bytesAt(i);
        bool all = true;
        bool any = false;
        for (const IntegerArgument& argument : positions) {
            const int64_t position = argument[i];
            if (position < 0 || position >= bits)
                throw Error(ErrorCode::PARAMETER_OUT_OF_BOUND,
                            "The bit position argument {} is out of bounds for a number of {} bits", position,
                            bits);
            const bool set =
                (static_cast<uint8_t>(bytes[static_cast<size_t>(position / 8)]) >> (position % 8)) & 1;
            all = all && set;
            any = any || set;
        }
        return static_cast<uint8_t>(kTest == Test::Any ? any : all);
    });
}

// --- slices ----------------------------------------------------------------------------------------

TypePtr typeOfSlice(const Signature& call) {
    needCount(call, 2, 3);
    needText(call, 0);
    for (size_t i = 1; i < call.count(); ++i) needInteger(call, i);
    return types::string();
}

/// Bits from `offset` (from 1, or from the end where negative), `length` of them, filled up with zeros at the
/// end.
std::string sliceBits(std::string_view text, int64_t offset, int64_t length, bool has_length) {
    const auto all = static_cast<int64_t>(text.size() * 8);
    if (offset == 0) return {};
    int64_t begin = offset > 0 ? offset - 1 : all + offset;
    int64_t end = !has_length ? all : length >= 0 ? begin + std::min(length, all) : all + length;
    begin = std::max<int64_t>(begin, 0);
    end = std::min(end, all);
    std::string result;
    for (int64_t bit = begin; bit < end; ++bit) {
        const auto at = static_cast<size_t>(bit - begin);
        if (at % 8 == 0) result += '\0';
        const unsigned value =
            (static_cast<uint8_t>(text[static_cast<size_t>(bit / 8)]) >> (7 - bit % 8)) & 1;
        result.back() = static_cast<char>(static_cast<uint8_t>(result.back()) | (value << (7 - at % 8)));
    }
    return result;
}

ColumnPtr runSlice(const Call& call) {
    const TextArgument texts(call.column(0));
    const IntegerArgument offsets(call.column(1));
    const bool has_length = call.count() == 3;
    const IntegerArgument lengths(call.column(has_length ? 2 : 1));
    return eachText(call.rows, texts.totalBytes(), [&](size_t i, TextBuilder& out) {
        out.append(sliceBits(texts[i], offsets[i], lengths[i], has_length));
    });
}

}  // namespace

std::span<const FunctionInfo> bitFunctions() {
    static const FunctionInfo list[] = {
        define<"bitAnd", typeOfBits, runBits<BitOp::And>>("bitAnd(a, b)", "Bits set in both.",
                                                          "bitAnd(12, 10)", "8"),
        define<"bitOr", typeOfBits, runBits<BitOp::Or>>("bitOr(a, b)", "Bits set in either.", "bitOr(12, 10)",
                                                        "14"),
        define<"bitXor", typeOfBits, runBits<BitOp::Xor>>("bitXor(a, b)", "Bits set in one of both.",
                                                          "bitXor(12, 10)", "6"),
        define<"bitNot", typeOfNot, runNot>("bitNot(a)", "All bits flipped.", "bitNot(0)", "255"),
        define<"bitCount", typeOfCount, runCount>("bitCount(a)", "How many bits are set.", "bitCount(255)",
                                                  "8"),
        define<"bitHammingDistance", typeOfDistance, runDistance>(
            "bitHammingDistance(a, b)", "How many bits differ.", "bitHammingDistance(1, 2)", "2"),
        define<"bitShiftLeft", typeOfShift, runShift<true>, kMayThrow>(
            "bitShiftLeft(a, positions)", "Bits moved to higher places.", "bitShiftLeft(1, 3)", "8"),
        define<"bitShiftRight", typeOfShift, runShift<false>, kMayThrow>(
            "bitShiftRight(a, positions)", "Bits moved to lower places.", "bitShiftRight(8, 3)", "1"),
        define<"bitRotateLeft", typeOfRotate, runRotate<true>>("bitRotateLeft(a, positions)",
                                                               "Bits moved to higher places, around the end.",
                                                               "bitRotateLeft(129, 1)", "3"),
        define<"bitRotateRight", typeOfRotate, runRotate<false>>(
            "bitRotateRight(a, positions)", "Bits moved to lower places, around the end.",
            "bitRotateRight(3, 1)", "129"),
        define<"bitTest", typeOfTest, runTest<Test::One>, kMayThrow>(
            "bitTest(a, position)", "The bit at a place, the lowest is 0.", "bitTest(5, 2)", "1"),
        define<"bitTestAll", typeOfTest, runTest<Test::All>, kMayThrow>(
            "bitTestAll(a, position, …)", "1 when all those bits are set.", "bitTestAll(5, 0, 2)", "1"),
        define<"bitTestAny", typeOfTest, runTest<Test::Any>, kMayThrow>(
            "bitTestAny(a, position, …)", "1 when one of those bits is set.", "bitTestAny(5, 1, 2)", "1"),
        define<"bitSlice", typeOfSlice, runSlice>("bitSlice(text, offset[, length])",
                                                  "Some bits of a string.", "bitSlice('Hello', 1, 8)", "H"),
    };
    return list;
}

}  // namespace shardd::functions
