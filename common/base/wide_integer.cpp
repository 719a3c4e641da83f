#include "common/base/wide_integer.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace shardd {

namespace {

/// Long division of magnitudes, bit by bit above the words that matter.
void divide(const UInt256& dividend, const UInt256& divisor, UInt256& quotient, UInt256& remainder) {
    quotient = UInt256{};
    remainder = UInt256{};
    if (dividend < divisor) {
        remainder = dividend;
        return;
    }
    if ((divisor.words[1] | divisor.words[2] | divisor.words[3]) == 0) {
        UInt128 rest = 0;
        for (int i = 3; i >= 0; --i) {
            const UInt128 part = (rest << 64) | dividend.words[i];
            quotient.words[i] = static_cast<uint64_t>(part / divisor.words[0]);
            rest = part % divisor.words[0];
        }
        remainder = UInt256(rest);
        return;
    }
    for (int bit = 255; bit >= 0; --bit) {
        remainder <<= 1;
        remainder.words[0] |= (dividend.words[bit / 64] >> (bit % 64)) & 1;
        if (remainder >= divisor) {
            remainder -= divisor;
            quotient.words[bit / 64] |= uint64_t{1} << (bit % 64);
        }
    }
}

template <bool kSigned>
UInt256 magnitude(const Wide256<kSigned>& value) {
    return value.negative() ? UInt256(-value) : static_cast<UInt256>(value);
}

}  // namespace

template <bool kSigned>
Wide256<kSigned>& Wide256<kSigned>::operator+=(const Wide256& other) {
    UInt128 carry = 0;
    for (int i = 0; i < 4; ++i) {
        carry += UInt128(words[i]) + other.words[i];
        words[i] = static_cast<uint64_t>(carry);
        carry >>= 64;
    }
    return *this;
}

template <bool kSigned>
Wide256<kSigned>& Wide256<kSigned>::operator-=(const Wide256& other) {
    uint64_t borrow = 0;
    for (int i = 0; i < 4; ++i) {
        const UInt128 taken = UInt128(other.words[i]) + borrow;
        borrow = words[i] < taken;
        words[i] = static_cast<uint64_t>(words[i] - taken);
    }
    return *this;
}

template <bool kSigned>
Wide256<kSigned>& Wide256<kSigned>::operator*=(const Wide256& other) {
    uint64_t result[4] = {0, 0, 0, 0};
    for (int i = 0; i < 4; ++i) {
        UInt128 carry = 0;
        for (int j = 0; i + j < 4; ++j) {
            carry += UInt128(words[i]) * other.words[j] + result[i + j];
            result[i + j] = static_cast<uint64_t>(carry);
            carry >>= 64;
        }
    }
    std::copy(result, result + 4, words);
    return *this;
}

template <bool kSigned>
Wide256<kSigned>& Wide256<kSigned>::operator/=(const Wide256& other) {
    UInt256 quotient;
    UInt256 remainder;
    divide(magnitude(*this), magnitude(other), quotient, remainder);
    const bool minus = negative() != other.negative();
    *this = Wide256();
    std::copy(quotient.words, quotient.words + 4, words);
    if (minus) *this = -*this;
    return *this;
}

template <bool kSigned>
Wide256<kSigned>& Wide256<kSigned>::operator%=(const Wide256& other) {
    UInt256 quotient;
    UInt256 remainder;
    divide(magnitude(*this), magnitude(other), quotient, remainder);
    const bool minus = negative();
    std::copy(remainder.words, remainder.words + 4, words);
    if (minus) *this = -*this;
    return *this;
}

template <bool kSigned>
Wide256<kSigned>& Wide256<kSigned>::operator<<=(unsigned bits) {
    if (bits >= 256) return *this = Wide256();
    const int whole = static_cast<int>(bits / 64);
    const unsigned part = bits % 64;
    for (int i = 3; i >= 0; --i) {
        uint64_t word = i >= whole ? words[i - whole] << part : 0;
        if (part != 0 && i > whole) word |= words[i - whole - 1] >> (64 - part);
        words[i] = word;
    }
    return *this;
}

template <bool kSigned>
Wide256<kSigned>& Wide256<kSigned>::operator>>=(unsigned bits) {
    const uint64_t sign = fill(negative());
    if (bits >= 256) {
        std::fill(words, words + 4, sign);
        return *this;
    }
    const unsigned whole = bits / 64;
    const unsigned part = bits % 64;
    for (unsigned i = 0; i < 4; ++i) {
        const uint64_t here = i + whole < 4 ? words[i + whole] : sign;
        const uint64_t next = i + whole + 1 < 4 ? words[i + whole + 1] : sign;
        words[i] = part == 0 ? here : (here >> part) | (next << (64 - part));
    }
    return *this;
}

template <bool kSigned>
Wide256<kSigned> Wide256<kSigned>::fromDouble(double value) {
    Wide256 result;
    double rest = std::trunc(std::abs(value));
    for (int i = 3; i >= 0; --i) {
        const double unit = std::ldexp(1.0, 64 * i);
        const double part = std::floor(rest / unit);
        result.words[i] = part >= 18446744073709551616.0 ? ~uint64_t{0} : static_cast<uint64_t>(part);
        rest -= part * unit;
    }
    return value < 0 ? -result : result;
}

template <bool kSigned>
double Wide256<kSigned>::toDouble() const {
    const UInt256 absolute = magnitude(*this);
    double result = 0;
    for (int i = 3; i >= 0; --i) result += std::ldexp(static_cast<double>(absolute.words[i]), 64 * i);
    return negative() ? -result : result;
}

template struct Wide256<true>;
template struct Wide256<false>;

std::string toText(const UInt256& value) {
    if (!value) return "0";
    std::string digits;
    UInt256 rest = value;
    constexpr uint64_t kChunk = 1000000000000000000ULL;
    while (rest) {
        UInt256 quotient;
        UInt256 remainder;
        divide(rest, UInt256(kChunk), quotient, remainder);
        uint64_t part = remainder.words[0];
        for (int i = 0; i < 18 && (part != 0 || quotient); ++i, part /= 10)
            digits.push_back(static_cast<char>('0' + part % 10));
        rest = quotient;
    }
    std::reverse(digits.begin(), digits.end());
    return digits;
}

std::string toText(const Int256& value) {
    return value.negative() ? "-" + toText(magnitude(value)) : toText(static_cast<UInt256>(value));
}

std::string toText(UInt128 value) { return toText(UInt256(value)); }

std::string toText(Int128 value) { return toText(Int256(value)); }

}  // namespace shardd
