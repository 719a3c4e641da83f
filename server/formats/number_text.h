#pragma once

#include <charconv>
#include <cstdint>
#include <type_traits>

#include "common/base/wide_integer.h"
#include "common/base/writer.h"
#include "server/formats/text_input.h"

/// Numbers as text and back, as ClickHouse writes and reads them.
namespace shardd::formats {

/// The shortest digits that read back as the same value; 1e21 and up, and below 1e-6, with an exponent; nan,
/// inf, -0.
void writeFloat(double value, Writer& out);
void writeFloat(float value, Writer& out);

template <typename T>
void writeInteger(const T& value, Writer& out) {
    if constexpr (std::is_integral_v<T>) {
        char* const begin = out.extend(24);
        const auto result = std::to_chars(begin, begin + 24, value);
        out.shrink(out.size() - static_cast<size_t>(begin + 24 - result.ptr));
    } else {
        out.writeBytes(toText(value));
    }
}

/// `value` is unscaled. Zeros at the end are left out unless `all_digits`.
void writeDecimal(const Int256& value, unsigned scale, Writer& out, bool all_digits = false);

/// An integer, signs and leading zeros allowed. Reads no digit at all as 0 (the caller then finds the rest
/// unread). Values beyond T wrap, unless `checked`: then CANNOT_PARSE_NUMBER. Codes:
/// ATTEMPT_TO_READ_AFTER_EOF for nothing, CANNOT_PARSE_NUMBER for signs alone, double, or a minus of an
/// unsigned.
template <typename T>
TextResult readInteger(TextInput& in, T& value, bool checked = false);

/// CANNOT_PARSE_NUMBER where there is none. inf, infinity, nan in any case.
TextResult readFloat(TextInput& in, double& value);
TextResult readFloat(TextInput& in, float& value);

/// Digits with a point and an exponent to an unscaled value; surplus digits after the point are cut off.
/// Codes: ATTEMPT_TO_READ_AFTER_EOF, CANNOT_PARSE_NUMBER, ARGUMENT_OUT_OF_BOUND where the value has more than
/// `precision` digits.
TextResult readDecimal(TextInput& in, unsigned precision, unsigned scale, Int256& value);

/// 10 to the power; exponent up to 76.
const Int256& powerOfTen(unsigned exponent);

// --- details -----------------------------------------------------------------------------------

template <typename T>
TextResult readInteger(TextInput& in, T& value, bool checked) {
    constexpr bool kSigned = std::is_same_v<T, Int256> || std::is_same_v<T, Int128> || std::is_signed_v<T>;
    using Magnitude =
        std::conditional_t<sizeof(T) <= 8, uint64_t, std::conditional_t<sizeof(T) == 16, UInt128, UInt256>>;
    if (in.atEnd()) return ErrorCode::ATTEMPT_TO_READ_AFTER_EOF;
    bool negative = false;
    if (in.peek() == '-' || in.peek() == '+') {
        negative = in.peek() == '-';
        if (negative && !kSigned) return ErrorCode::CANNOT_PARSE_NUMBER;
        ++in.position;
        if (!isDigit(in.peek())) return ErrorCode::CANNOT_PARSE_NUMBER;
    }
    static const Magnitude kMost = ~Magnitude(0);
    static const Magnitude kTenth = kMost / Magnitude(10);
    Magnitude number(0);
    bool overflow = false;
    while (isDigit(in.peek())) {
        overflow |= number > kTenth;
        const Magnitude tens = number * Magnitude(10);
        number = tens + Magnitude(static_cast<unsigned>(*in.position++ - '0'));
        overflow |= number < tens;
    }
    if constexpr (sizeof(T) == 32)
        value = static_cast<T>(negative ? UInt256{} - number : number);
    else
        value = static_cast<T>(negative ? Magnitude(0) - number : number);
    if (!checked) return ErrorCode::OK;
    Magnitude limit = kMost >> (8 * (sizeof(Magnitude) - sizeof(T)) + kSigned);
    if (negative) limit = limit + Magnitude(1);
    return overflow || number > limit ? ErrorCode::CANNOT_PARSE_NUMBER : ErrorCode::OK;
}

}  // namespace shardd::formats
