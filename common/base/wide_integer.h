#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <type_traits>

namespace shardd {

using Int128 = __int128;
using UInt128 = unsigned __int128;

/// 256-bit integers, two's complement, little-endian words (word 0 lowest), as on the wire. Arithmetic wraps.
/// Signed ones differ from unsigned ones in comparison, division, right shift, widening and text only.
template <bool kSigned>
struct Wide256 {
    uint64_t words[4] = {0, 0, 0, 0};

    constexpr Wide256() = default;

    template <typename Integer>
        requires(std::is_integral_v<Integer>)
    constexpr Wide256(Integer value)  // NOLINT(google-explicit-constructor): integers widen
        : words{static_cast<uint64_t>(value), sign(value), sign(value), sign(value)} {}

    constexpr Wide256(Int128 value)  // NOLINT(google-explicit-constructor)
        : words{static_cast<uint64_t>(value), static_cast<uint64_t>(value >> 64), fill(value < 0), fill(value < 0)} {}

    constexpr Wide256(UInt128 value)  // NOLINT(google-explicit-constructor)
        : words{static_cast<uint64_t>(value), static_cast<uint64_t>(value >> 64), 0, 0} {}

    constexpr explicit Wide256(const Wide256<!kSigned>& other)
        : words{other.words[0], other.words[1], other.words[2], other.words[3]} {}

    /// Truncates towards zero; values outside the range wrap.
    static Wide256 fromDouble(double value);
    double toDouble() const;

    constexpr UInt128 low() const { return (UInt128(words[1]) << 64) | words[0]; }

    constexpr UInt128 high() const { return (UInt128(words[3]) << 64) | words[2]; }

    constexpr bool negative() const { return kSigned && (words[3] >> 63); }

    template <typename Integer>
    constexpr Integer to() const {
        return static_cast<Integer>(low());
    }

    explicit constexpr operator bool() const { return (words[0] | words[1] | words[2] | words[3]) != 0; }

    friend constexpr bool operator==(const Wide256&, const Wide256&) = default;

    friend constexpr std::strong_ordering operator<=>(const Wide256& a, const Wide256& b) {
        if (a.negative() != b.negative()) return a.negative() ? std::strong_ordering::less : std::strong_ordering::greater;
        for (int i = 3; i >= 0; --i)
            if (a.words[i] != b.words[i]) return a.words[i] <=> b.words[i];
        return std::strong_ordering::equal;
    }

    Wide256& operator+=(const Wide256& other);
    Wide256& operator-=(const Wide256& other);
    Wide256& operator*=(const Wide256& other);
    /// Truncating, as C++; the divisor must not be zero.
    Wide256& operator/=(const Wide256& other);
    Wide256& operator%=(const Wide256& other);
    Wide256& operator<<=(unsigned bits);
    Wide256& operator>>=(unsigned bits);

    friend Wide256 operator+(Wide256 a, const Wide256& b) { return a += b; }

    friend Wide256 operator-(Wide256 a, const Wide256& b) { return a -= b; }

    friend Wide256 operator*(Wide256 a, const Wide256& b) { return a *= b; }

    friend Wide256 operator/(Wide256 a, const Wide256& b) { return a /= b; }

    friend Wide256 operator%(Wide256 a, const Wide256& b) { return a %= b; }

    friend Wide256 operator<<(Wide256 a, unsigned bits) { return a <<= bits; }

    friend Wide256 operator>>(Wide256 a, unsigned bits) { return a >>= bits; }

    friend constexpr Wide256 operator&(const Wide256& a, const Wide256& b) { return each(a, b, [](auto x, auto y) { return x & y; }); }

    friend constexpr Wide256 operator|(const Wide256& a, const Wide256& b) { return each(a, b, [](auto x, auto y) { return x | y; }); }

    friend constexpr Wide256 operator^(const Wide256& a, const Wide256& b) { return each(a, b, [](auto x, auto y) { return x ^ y; }); }

    friend constexpr Wide256 operator~(const Wide256& a) { return each(a, a, [](auto x, auto) { return ~x; }); }

    friend Wide256 operator-(const Wide256& a) { return Wide256{} - a; }

private:
    template <typename Integer>
    static constexpr uint64_t sign(Integer value) {
        if constexpr (std::is_signed_v<Integer>)
            return fill(value < 0);
        else
            return 0;
    }

    static constexpr uint64_t fill(bool negative) { return negative ? ~uint64_t{0} : 0; }

    template <typename Operation>
    static constexpr Wide256 each(const Wide256& a, const Wide256& b, Operation operation) {
        Wide256 result;
        for (int i = 0; i < 4; ++i) result.words[i] = operation(a.words[i], b.words[i]);
        return result;
    }
};

using Int256 = Wide256<true>;
using UInt256 = Wide256<false>;

extern template struct Wide256<true>;
extern template struct Wide256<false>;

/// Decimal digits, with a minus sign where it is negative.
std::string toText(UInt128 value);
std::string toText(Int128 value);
std::string toText(const UInt256& value);
std::string toText(const Int256& value);

}  // namespace shardd
