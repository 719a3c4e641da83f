#include <bit>
#include <cmath>

#include "common/base/error.h"
#include "server/functions/arithmetic.h"
#include "server/functions/numbers.h"

/// Quotients and remainders.
namespace shardd::functions {

namespace {

[[noreturn]] void failDivision(const char* what) { throw Error(ErrorCode::ILLEGAL_DIVISION, "{}", what); }

template <typename T>
T least() {
    if constexpr (sizeof(T) == 32)
        return T(1) << 255;
    else if constexpr (sizeof(T) == 16)
        return static_cast<T>(UInt128(1) << 127);
    else
        return std::numeric_limits<T>::min();
}

/// A column of results in the making: values come a chunk at a time as `T`, and are narrowed to the result's
/// type by a kernel, so that no pair of types has loops of its own.
template <typename T>
class Results {
public:
    Results(Physical physical, size_t rows) : column_(numberColumn(physical, rows, data_, width_)) {
        if (physical != physicalOf<T>()) kernel_ = convertKernel(physicalOf<T>(), physical);
    }

    /// Where the values from row `from` on, at most kChunkRows, are to be put.
    T* chunk(size_t from) { return kernel_ ? buffer_.data() : reinterpret_cast<T*>(data_ + from * width_); }

    /// They have been put there.
    void endChunk(size_t from, size_t count) {
        if (kernel_) kernel_(buffer_.data(), data_ + from * width_, count);
    }

    ColumnPtr finish() { return std::move(column_); }

private:
    char* data_ = nullptr;
    size_t width_ = 0;
    MutableColumnPtr column_;
    ConvertKernel kernel_ = nullptr;
    std::array<T, kChunkRows> buffer_;
};

/// Rows one by one in `W`: `action(a, b, bad)` gives a value or sets `bad`.
template <typename W, typename Action>
ColumnPtr runChecked(const ArithmeticCall& call, Physical result, Action action) {
    using R = std::invoke_result_t<Action, W, W, bool&>;
    Operand<W> a(*call.left.column, call.left.type->physical());
    Operand<W> b(*call.right.column, call.right.type->physical());
    Results<R> results(result, call.rows);
    bool any_bad = false;
    // A chunk at a time, the flags beside it, so that the division itself stays a plain loop.
    for (size_t from = 0; from < call.rows; from += kChunkRows) {
        const size_t count = std::min(kChunkRows, call.rows - from);
        const W* left = a.constant() ? nullptr : a.chunk(from, count);
        const W* right = b.constant() ? nullptr : b.chunk(from, count);
        R* const out = results.chunk(from);
        for (size_t i = 0; i < count; ++i) {
            bool bad = false;
            out[i] = action(left ? left[i] : a.value(), right ? right[i] : b.value(), bad);
            if (bad) [[unlikely]] {
                any_bad = true;
                out[i] = R(0);
                if (call.nulls) (*call.nulls)[from + i] = 1;
            }
        }
        results.endChunk(from, count);
        if (any_bad && call.on_bad == OnBadDivision::Throw) failDivision("Division by zero");
    }
    return results.finish();
}

/// Divides by a constant with a product, a difference and two shifts. Source: Granlund and Montgomery, "Division by
/// invariant integers using multiplication", figure 4.1.
class ConstantDivisor {
public:
    explicit ConstantDivisor(uint64_t divisor) {
        const auto bits = static_cast<unsigned>(std::bit_width(divisor - 1));  // 2^bits >= divisor
        const UInt128 above = (UInt128(1) << bits) - divisor;
        multiplier_ = static_cast<uint64_t>((above << 64) / divisor + 1);
        first_shift_ = bits > 0 ? 1 : 0;
        second_shift_ = bits > 0 ? bits - 1 : 0;
    }

    uint64_t quotient(uint64_t value) const {
        const auto high = static_cast<uint64_t>(UInt128(multiplier_) * value >> 64);
        return (high + ((value - high) >> first_shift_)) >> second_shift_;
    }

private:
    uint64_t multiplier_;
    unsigned first_shift_;
    unsigned second_shift_;
};

/// `out` of the result's width gets the quotients or remainders of a chunk by a constant.
template <typename W, typename Out, bool kRemainder>
void divideChunk(const W* left, W divisor, Out* out, size_t count) {
    if constexpr (sizeof(W) == 8) {
        W all = 0;
        if constexpr (kIsSigned<W>)
            for (size_t i = 0; i < count; ++i) all |= left[i];
        if (all >= 0 && divisor > 0) {
            const auto positive = static_cast<uint64_t>(divisor);
            const ConstantDivisor by(positive);
            for (size_t i = 0; i < count; ++i) {
                const auto value = static_cast<uint64_t>(left[i]);
                const uint64_t quotient = by.quotient(value);
                out[i] = static_cast<Out>(kRemainder ? value - quotient * positive : quotient);
            }
            return;
        }
    }
    for (size_t i = 0; i < count; ++i)
        out[i] = static_cast<Out>(kRemainder ? left[i] % divisor : left[i] / divisor);
}

/// A constant divisor that is neither 0 nor -1 needs no checks. Words are cut to the result's width as they
/// are stored, whatever its sign.
template <typename W, bool kRemainder>
ColumnPtr runByConstant(const ArithmeticCall& call, W divisor) {
    Operand<W> a(*call.left.column, call.left.type->physical());
    const Physical physical = call.result->physical();
    if (sizeof(W) > 8 || call.result->width() > 8) {
        Results<W> results(physical, call.rows);
        for (size_t from = 0; from < call.rows; from += kChunkRows) {
            const size_t count = std::min(kChunkRows, call.rows - from);
            divideChunk<W, W, kRemainder>(a.chunk(from, count), divisor, results.chunk(from), count);
            results.endChunk(from, count);
        }
        return results.finish();
    }
    if constexpr (sizeof(W) <= 8) {
        char* data = nullptr;
        size_t width = 0;
        MutableColumnPtr column = numberColumn(physical, call.rows, data, width);
        for (size_t from = 0; from < call.rows; from += kChunkRows) {
            const size_t count = std::min(kChunkRows, call.rows - from);
            const W* left = a.chunk(from, count);
            char* const out = data + from * width;
            if (width == 1)
                divideChunk<W, uint8_t, kRemainder>(left, divisor, reinterpret_cast<uint8_t*>(out), count);
            else if (width == 2)
                divideChunk<W, uint16_t, kRemainder>(left, divisor, reinterpret_cast<uint16_t*>(out), count);
            else if (width == 4)
                divideChunk<W, uint32_t, kRemainder>(left, divisor, reinterpret_cast<uint32_t*>(out), count);
            else
                divideChunk<W, uint64_t, kRemainder>(left, divisor, reinterpret_cast<uint64_t*>(out), count);
        }
        return column;
    }
    return nullptr;
}

template <typename W, bool kRemainder>
ColumnPtr divideIntegers(const ArithmeticCall& call) {
    if (call.right.column->kind() == ColumnKind::Const && call.left.column->kind() != ColumnKind::Const) {
        Operand<W> b(*call.right.column, call.right.type->physical());
        const W divisor = b.value();
        const bool minus_one = kIsSigned<W> && divisor == W(-1);
        if (divisor != W(0) && !minus_one) return runByConstant<W, kRemainder>(call, divisor);
    }
    return runChecked<W>(call, call.result->physical(), [](W a, W b, bool& bad) -> W {
        if (b == W(0)) {
            bad = true;
            return W(0);
        }
        if constexpr (kIsSigned<W>) {
            if (b == W(-1)) {
                if (kRemainder) return W(0);
                bad = a == least<W>();
                return bad ? W(0) : W(-a);
            }
        }
        return kRemainder ? W(a % b) : W(a / b);
    });
}

/// As the pair of C++ types of that width would divide: a signed and an unsigned side are both taken as
/// signed.
ColumnPtr intDivIntegers(const ArithmeticCall& call) {
    const NumberShape a = shapeOf(*call.left.type);
    const NumberShape b = shapeOf(*call.right.type);
    if (a.bytes > 16 || b.bytes > 16) {
        return a.is_signed || b.is_signed ? divideIntegers<Int256, false>(call)
                                          : divideIntegers<UInt256, false>(call);
    }
    if (a.bytes > 8 || b.bytes > 8) {
        return a.is_signed || b.is_signed ? divideIntegers<Int128, false>(call)
                                          : divideIntegers<UInt128, false>(call);
    }
    if (!a.is_signed && !b.is_signed) return divideIntegers<uint64_t, false>(call);
    if (a.is_signed && b.is_signed) {
        // The least value of the left type divided by -1 is refused even where a wider type could hold it.
        const Int128 lowest = -(Int128(1) << (a.bytes * 8 - 1));
        const auto refused = static_cast<int64_t>(lowest);
        const bool constant_divisor =
            call.right.column->kind() == ColumnKind::Const && call.right.column->value(0).to<int64_t>() != -1;
        if (constant_divisor) return divideIntegers<int64_t, false>(call);
        return runChecked<int64_t>(call, call.result->physical(),
                                   [refused](int64_t x, int64_t y, bool& bad) -> int64_t {
                                       bad = y == 0 || (y == -1 && x == refused);
                                       return bad ? 0 : x / y;
                                   });
    }
    // One of each: the first as signed of its width, the second too unless it is narrower than the first.
    const auto asSigned = [](const NumberShape& shape, int64_t value) {
        switch (shape.bytes) {
            case 1:
                return static_cast<int64_t>(static_cast<int8_t>(value));
            case 2:
                return static_cast<int64_t>(static_cast<int16_t>(value));
            case 4:
                return static_cast<int64_t>(static_cast<int32_t>(value));
            default:
                return value;
        }
    };
    return runChecked<int64_t>(call, call.result->physical(),
                               [&](int64_t x, int64_t y, bool& bad) -> int64_t {
                                   x = asSigned(a, x);
                                   if (a.bytes <= b.bytes) y = asSigned(b, y);
                                   bad = y == 0 || (y == -1 && x == INT64_MIN);
                                   return bad ? 0 : x / y;
                               });
}

ColumnPtr intDivFloats(const ArithmeticCall& call) {
    const NumberShape shape = shapeOf(*call.result);
    const double highest = std::ldexp(1.0, static_cast<int>(shape.bytes * 8 - (shape.is_signed ? 1 : 0)));
    const double lowest = shape.is_signed ? -highest : 0;
    return runChecked<double>(call, call.result->physical(), [=](double x, double y, bool& bad) {
        const double quotient = std::trunc(x / y);
        bad = y == 0 || !(quotient >= lowest && quotient < highest);
        return bad ? 0 : quotient;
    });
}

/// The type in which C++ divides two integers.
enum class CommonType : uint8_t { Int64, UInt32, UInt64, Int128, UInt128, Int256, UInt256 };

CommonType commonType(const NumberShape& a, const NumberShape& b) {
    const size_t bytes = std::max(a.bytes, b.bytes);
    const bool is_unsigned = (a.bytes == bytes && !a.is_signed) || (b.bytes == bytes && !b.is_signed);
    if (bytes < 4) return CommonType::Int64;
    if (bytes == 4) return is_unsigned ? CommonType::UInt32 : CommonType::Int64;
    if (bytes == 8) return is_unsigned ? CommonType::UInt64 : CommonType::Int64;
    if (bytes == 16) return is_unsigned ? CommonType::UInt128 : CommonType::Int128;
    return is_unsigned ? CommonType::UInt256 : CommonType::Int256;
}

ColumnPtr moduloIntegers(const ArithmeticCall& call) {
    switch (commonType(shapeOf(*call.left.type), shapeOf(*call.right.type))) {
        case CommonType::Int64:
            return divideIntegers<int64_t, true>(call);
        case CommonType::UInt32:
            return divideIntegers<uint32_t, true>(call);
        case CommonType::UInt64:
            return divideIntegers<uint64_t, true>(call);
        case CommonType::Int128:
            return divideIntegers<Int128, true>(call);
        case CommonType::UInt128:
            return divideIntegers<UInt128, true>(call);
        case CommonType::Int256:
            return divideIntegers<Int256, true>(call);
        case CommonType::UInt256:
            return divideIntegers<UInt256, true>(call);
    }
    return nullptr;
}

ColumnPtr positiveModuloIntegers(const ArithmeticCall& call) {
    const NumberShape a = shapeOf(*call.left.type);
    const NumberShape b = shapeOf(*call.right.type);
    if (a.bytes <= 8 && b.bytes <= 8 && !(b.bytes == 8 && !b.is_signed) && !(a.bytes == 8 && !a.is_signed))
        return runChecked<int64_t>(call, call.result->physical(),
                                   [](int64_t x, int64_t y, bool& bad) -> int64_t {
                                       bad = y == 0;
                                       if (bad || y == -1) return 0;
                                       const int64_t rest = x % y;
                                       return rest < 0 ? rest + (y < 0 ? -y : y) : rest;
                                   });
    return runChecked<Int256>(call, call.result->physical(),
                              [](const Int256& x, const Int256& y, bool& bad) -> Int256 {
                                  bad = !y;
                                  if (bad) return Int256(0);
                                  Int256 rest = x % y;
                                  if (rest.negative()) rest += y.negative() ? -y : y;
                                  return rest;
                              });
}

uint64_t magnitude(int64_t value) {
    return value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
}

uint64_t gcd(uint64_t a, uint64_t b) {
    while (b != 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

ColumnPtr gcdOrLcm(const ArithmeticCall& call) {
    const bool lcm = call.op == ArithmeticOp::Lcm;
    const bool is_signed = shapeOf(*call.left.type).is_signed || shapeOf(*call.right.type).is_signed;
    return runChecked<int64_t>(call, call.result->physical(),
                               [=](int64_t x, int64_t y, bool& bad) -> uint64_t {
                                   const uint64_t a = is_signed ? magnitude(x) : static_cast<uint64_t>(x);
                                   const uint64_t b = is_signed ? magnitude(y) : static_cast<uint64_t>(y);
                                   bad = a == 0 || b == 0;
                                   if (bad) return 0;
                                   const uint64_t divisor = gcd(a, b);
                                   return lcm ? a / divisor * b : divisor;
                               });
}

ColumnPtr divideFloats(const ArithmeticCall& call) {
    if (call.op == ArithmeticOp::Divide && call.on_bad != OnBadDivision::Null) {
        Operand<double> a(*call.left.column, call.left.type->physical());
        Operand<double> b(*call.right.column, call.right.type->physical());
        PodVector<double> out(call.rows);
        runBinary(a, b, out.data(), call.rows, [](double x, double y) { return x / y; });
        return std::make_shared<FixedColumn<double>>(std::move(out));
    }
    const ArithmeticOp op = call.op;
    const bool null_on_zero = call.on_bad == OnBadDivision::Null;
    return runChecked<double>(call, Physical::Float64, [=](double x, double y, bool& bad) {
        bad = null_on_zero && y == 0;
        if (op == ArithmeticOp::Divide) return x / y;
        const double rest = std::fmod(x, y);
        return op == ArithmeticOp::PositiveModulo && rest < 0 ? rest + std::abs(y) : rest;
    });
}

}  // namespace

ColumnPtr divideNumbers(const ArithmeticCall& call) {
    const bool has_float = shapeOf(*call.left.type).is_float || shapeOf(*call.right.type).is_float;
    switch (call.op) {
        case ArithmeticOp::IntDiv:
            return has_float ? intDivFloats(call) : intDivIntegers(call);
        case ArithmeticOp::Modulo:
            return has_float ? divideFloats(call) : moduloIntegers(call);
        case ArithmeticOp::PositiveModulo:
            return has_float ? divideFloats(call) : positiveModuloIntegers(call);
        case ArithmeticOp::Gcd:
        case ArithmeticOp::Lcm:
            return gcdOrLcm(call);
        default:
            return divideFloats(call);
    }
}

}  // namespace shardd::functions
