#include "server/formats/number_text.h"

#include <array>
#include <cmath>
#include <limits>
#include <string>

namespace shardd::formats {

namespace {

/// JavaScript's layout: the point inside or next to the digits where the exponent is from -7 to 20.
template <typename T>
void writeShortest(T value, Writer& out) {
    if (std::isnan(value)) return out.writeBytes("nan");
    if (std::isinf(value)) return out.writeBytes(value < 0 ? "-inf" : "inf");
    if (value == 0) return out.writeBytes(std::signbit(value) ? "-0" : "0");
    if (value < 0) {
        out.writeByte('-');
        value = -value;
    }
    char text[32];
    const auto result = std::to_chars(text, text + sizeof(text), value, std::chars_format::scientific);
    // "d.ddde+xx" to digits and exponent.
    char digits[24];
    int count = 0;
    const char* at = text;
    for (; *at != 'e'; ++at)
        if (*at != '.') digits[count++] = *at;
    int exponent = 0;
    const char* exponent_begin = at[1] == '+' ? at + 2 : at + 1;
    std::from_chars(exponent_begin, result.ptr, exponent);
    const std::string_view all(digits, static_cast<size_t>(count));
    if (exponent >= 21 || exponent < -6) {
        out.writeByte(static_cast<uint8_t>(digits[0]));
        if (count > 1) {
            out.writeByte('.');
            out.writeBytes(all.substr(1));
        }
        out.writeByte('e');
        writeInteger(exponent, out);
    } else if (exponent < 0) {
        out.writeBytes("0.");
        for (int i = -1; i > exponent; --i) out.writeByte('0');
        out.writeBytes(all);
    } else if (count <= exponent + 1) {
        out.writeBytes(all);
        for (int i = count; i <= exponent; ++i) out.writeByte('0');
    } else {
        out.writeBytes(all.substr(0, static_cast<size_t>(exponent) + 1));
        out.writeByte('.');
        out.writeBytes(all.substr(static_cast<size_t>(exponent) + 1));
    }
}

bool skipWord(TextInput& in, std::string_view lower_word) {
    if (in.left() < lower_word.size()) return false;
    for (size_t i = 0; i < lower_word.size(); ++i)
        if (toLower(in.position[i]) != lower_word[i]) return false;
    in.position += lower_word.size();
    return true;
}

template <typename T>
TextResult readFloating(TextInput& in, T& value) {
    const char* const begin = in.position;
    bool negative = false;
    if (in.peek() == '-' || in.peek() == '+') negative = *in.position++ == '-';
    if (!isDigit(in.peek()) && in.peek() != '.') {
        if (skipWord(in, "infinity") || skipWord(in, "inf"))
            value = std::numeric_limits<T>::infinity();
        else if (skipWord(in, "nan"))
            value = std::numeric_limits<T>::quiet_NaN();
        else {
            in.position = begin;
            return ErrorCode::CANNOT_PARSE_NUMBER;
        }
        if (negative) value = -value;
        return ErrorCode::OK;
    }
    const auto result = std::from_chars(in.position, in.end, value);
    if (result.ec == std::errc::invalid_argument) {
        in.position = begin;
        return ErrorCode::CANNOT_PARSE_NUMBER;
    }
    if (result.ec == std::errc::result_out_of_range) {
        // Too great or too small: the sign of the exponent, or the place of the point, tells which.
        const std::string_view text(in.position, static_cast<size_t>(result.ptr - in.position));
        const size_t mark = text.find_first_of("eE");
        const bool tiny = mark != std::string_view::npos ? text[mark + 1] == '-'
                                                         : text.front() == '0' || text.front() == '.';
        value = tiny ? T(0) : std::numeric_limits<T>::infinity();
    }
    in.position = result.ptr;
    if (negative) value = -value;
    return ErrorCode::OK;
}

}  // namespace

void writeFloat(double value, Writer& out) { writeShortest(value, out); }

void writeFloat(float value, Writer& out) { writeShortest(value, out); }

TextResult readFloat(TextInput& in, double& value) { return readFloating(in, value); }

TextResult readFloat(TextInput& in, float& value) { return readFloating(in, value); }

const Int256& powerOfTen(unsigned exponent) {
    static const std::array<Int256, 77> powers = [] {
        std::array<Int256, 77> made;
        made[0] = Int256(1);
        for (size_t i = 1; i < made.size(); ++i) made[i] = made[i - 1] * Int256(10);
        return made;
    }();
    return powers[exponent];
}

void writeDecimal(const Int256& value, unsigned scale, Writer& out, bool all_digits) {
    const bool negative = value.negative();
    const UInt256 magnitude(negative ? -value : value);
    std::string digits = magnitude.high() == 0 && (magnitude.low() >> 64) == 0
                             ? std::to_string(static_cast<uint64_t>(magnitude.low()))
                             : toText(magnitude);
    if (negative) out.writeByte('-');
    if (digits.size() <= scale) digits.insert(0, scale + 1 - digits.size(), '0');
    const size_t whole = digits.size() - scale;
    size_t size = digits.size();
    if (!all_digits)
        while (size > whole && digits[size - 1] == '0') --size;
    out.writeBytes(std::string_view(digits).substr(0, whole));
    if (size == whole) return;
    out.writeByte('.');
    out.writeBytes(std::string_view(digits).substr(whole, size - whole));
}

namespace {

/// Digits of a decimal: `digits` is the value without its point and without leading zeros, times 10 to
/// `exponent`.
struct DecimalDigits {
    UInt256 digits;
    unsigned count = 0;
    int exponent = 0;
};

TextResult readDecimalDigits(TextInput& in, unsigned precision, DecimalDigits& result, bool& negative) {
    if (in.atEnd()) return ErrorCode::ATTEMPT_TO_READ_AFTER_EOF;
    if (in.peek() == '-' || in.peek() == '+') negative = *in.position++ == '-';
    bool after_point = false;
    bool any = false;
    int dropped_exponent = 0;
    while (!in.atEnd()) {
        const char c = in.peek();
        if (c == '.' && !after_point) {
            after_point = true;
        } else if (isDigit(c)) {
            any = true;
            if (result.count == 0 && c == '0') {
                if (after_point) --result.exponent;
            } else if (result.count >= precision) {
                // Beyond what can be kept: cut off after the point, too big before it.
                if (!after_point) {
                    ++result.count;
                    ++dropped_exponent;
                }
            } else {
                result.digits = result.digits * UInt256(10) + UInt256(c - '0');
                ++result.count;
                if (after_point) --result.exponent;
            }
        } else if ((c == 'e' || c == 'E') && any) {
            ++in.position;
            int32_t exponent = 0;
            if (!isDigit(in.peek()) && !((in.peek() == '-' || in.peek() == '+') && isDigit(in.peek(1))))
                return ErrorCode::CANNOT_PARSE_NUMBER;
            if (readInteger(in, exponent, true) != ErrorCode::OK) return ErrorCode::CANNOT_PARSE_NUMBER;
            if (exponent > 1000 || exponent < -1000) exponent = exponent > 0 ? 1000 : -1000;
            result.exponent += exponent;
            break;
        } else {
            break;
        }
        ++in.position;
    }
    result.exponent += dropped_exponent;
    return ErrorCode::OK;
}

}  // namespace

TextResult readDecimal(TextInput& in, unsigned precision, unsigned scale, Int256& value) {
    DecimalDigits read;
    bool negative = false;
    if (const TextResult result = readDecimalDigits(in, precision, read, negative); result != ErrorCode::OK)
        return result;
    const int whole_digits = static_cast<int>(read.count) + read.exponent;
    if (read.digits && whole_digits > static_cast<int>(precision - scale))
        return ErrorCode::ARGUMENT_OUT_OF_BOUND;
    const int shift = static_cast<int>(scale) + read.exponent;
    if (!read.digits || shift < -76)
        value = Int256(0);
    else if (shift >= 0)
        value = static_cast<Int256>(read.digits) * powerOfTen(static_cast<unsigned>(shift));
    else
        value = static_cast<Int256>(read.digits) / powerOfTen(static_cast<unsigned>(-shift));
    if (negative) value = -value;
    return ErrorCode::OK;
}

}  // namespace shardd::formats
