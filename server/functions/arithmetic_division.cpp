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

/// Rows one by one in `W`: `action(a, b, bad)` gives a value or sets `bad`.
template <typename W, typename R, typename Action>
ColumnPtr runChecked(const ArithmeticCall& call, Action action) {
    Operand<W> a(*call.left.column, call.left.type->physical());
    Operand<W> b(*call.right.column, call.right.type->physical());
    PodVector<R> out(call.rows);
    PodVector<uint8_t> bad_rows;
    bool any_bad = false;
    // A chunk at a time, the flags beside it, so that the division itself stays a plain loop.
    for (size_t from = 0; from < call.rows; from += kChunkRows) {
        const size_t count = std::min(kChunkRows, call.rows - from);
        const W* left = a.constant() ? nullptr : a.chunk(from, count);
        const W* right = b.constant() ? nullptr : b.chunk(from, count);
        for (size_t i = 0; i < count; ++i) {
            bool bad = false;
            out[from + i] = action(left ? left[i] : a.value(), right ? right[i] : b.value(), bad);
            if (bad) [[unlikely]] {
                any_bad = true;
                out[from + i] = R(0);
                if (call.nulls) (*call.nulls)[from + i] = 1;
            }
        }
        if (any_bad && call.on_bad == OnBadDivision::Throw) failDivision("Division by zero");
    }
    return std::make_shared<FixedColumn<R>>(std::move(out));
}

template <typename Action>
ColumnPtr forResult(const ArithmeticCall& call, Action action) {
    ColumnPtr result;
    dispatchNumber(call.result->physical(), [&](auto tag) { result = action(tag); });
    SHARDD_CHECK(result != nullptr);
    return result;
}

template <typename R, typename W>
R narrow(const W& value) {
    if constexpr (sizeof(W) == 32 && sizeof(R) == 32)
        return R(value);
    else if constexpr (sizeof(W) == 32 && std::is_floating_point_v<R>)
        return static_cast<R>(value.toDouble());
    else if constexpr (sizeof(W) == 32)
        return static_cast<R>(value.low());
    else
        return static_cast<R>(value);
}

/// A constant divisor that is neither 0 nor -1 needs no checks, and what fits 32 bits is divided by a
/// product.
template <typename W, typename R, bool kRemainder>
ColumnPtr runByConstant(const ArithmeticCall& call, W divisor) {
    Operand<W> a(*call.left.column, call.left.type->physical());
    PodVector<R> out(call.rows);
    for (size_t from = 0; from < call.rows; from += kChunkRows) {
        const size_t count = std::min(kChunkRows, call.rows - from);
        const W* left = a.chunk(from, count);
        R* const to = out.data() + from;
        if constexpr (sizeof(W) == 8) {
            W all = 0;
            for (size_t i = 0; i < count; ++i) all |= left[i];
            if (static_cast<uint64_t>(all) >> 32 == 0 && divisor > 0 &&
                static_cast<uint64_t>(divisor) >> 32 == 0) {
                // 2^64 / divisor, rounded up: its product with 32 bits has the quotient in its upper half.
                const uint64_t inverse = UINT64_MAX / static_cast<uint64_t>(divisor) + 1;
                const auto small = static_cast<uint64_t>(divisor);
                for (size_t i = 0; i < count; ++i) {
                    const auto value = static_cast<uint64_t>(left[i]);
                    const uint64_t quotient =
                        small == 1 ? value : static_cast<uint64_t>(UInt128(inverse) * value >> 64);
                    to[i] = static_cast<R>(kRemainder ? value - quotient * small : quotient);
                }
                continue;
            }
        }
        for (size_t i = 0; i < count; ++i)
            to[i] = narrow<R>(kRemainder ? left[i] % divisor : left[i] / divisor);
    }
    return std::make_shared<FixedColumn<R>>(std::move(out));
}

template <typename W, typename R, bool kRemainder>
ColumnPtr divideIntegers(const ArithmeticCall& call) {
    if (call.right.column->kind() == ColumnKind::Const && call.left.column->kind() != ColumnKind::Const) {
        Operand<W> b(*call.right.column, call.right.type->physical());
        const W divisor = b.value();
        const bool minus_one = kIsSigned<W> && divisor == W(-1);
        if (divisor != W(0) && !minus_one) return runByConstant<W, R, kRemainder>(call, divisor);
    }
    return runChecked<W, R>(call, [](W a, W b, bool& bad) -> R {
        if (b == W(0)) {
            bad = true;
            return R(0);
        }
        if constexpr (kIsSigned<W>) {
            if (b == W(-1)) {
                if (kRemainder) return R(0);
                bad = a == least<W>();
                return bad ? R(0) : narrow<R>(W(-a));
            }
        }
        return narrow<R>(kRemainder ? W(a % b) : W(a / b));
    });
}

/// Wide numbers are computed as they are and narrowed afterwards: they are rare, and each pair of types costs
/// code.
template <typename W, bool kRemainder>
ColumnPtr divideWide(const ArithmeticCall& call) {
    const ColumnPtr wide = divideIntegers<W, W, kRemainder>(call);
    const Physical physical = call.result->physical();
    if (physical == physicalOf<W>()) return wide;
    ColumnPtr result;
    dispatchNumber(physical, [&](auto tag) {
        using R = typename decltype(tag)::Type;
        PodVector<R> out(call.rows);
        convertKernel(physicalOf<W>(), physical)(as<FixedColumn<W>>(*wide).data(), out.data(), call.rows);
        result = std::make_shared<FixedColumn<R>>(std::move(out));
    });
    return result;
}

/// As the pair of C++ types of that width would divide: a signed and an unsigned side are both taken as
/// signed.
template <typename R>
ColumnPtr intDivIntegers(const ArithmeticCall& call) {
    const NumberShape a = shapeOf(*call.left.type);
    const NumberShape b = shapeOf(*call.right.type);
    if (a.bytes > 16 || b.bytes > 16) {
        return a.is_signed || b.is_signed ? divideWide<Int256, false>(call)
                                          : divideWide<UInt256, false>(call);
    }
    if (a.bytes > 8 || b.bytes > 8) {
        return a.is_signed || b.is_signed ? divideWide<Int128, false>(call)
                                          : divideWide<UInt128, false>(call);
    }
    if (!a.is_signed && !b.is_signed) return divideIntegers<uint64_t, R, false>(call);
    if (a.is_signed && b.is_signed) {
        // The least value of the left type divided by -1 is refused even where a wider type could hold it.
        const Int128 lowest = -(Int128(1) << (a.bytes * 8 - 1));
        const auto refused = static_cast<int64_t>(lowest);
        const bool constant_divisor =
            call.right.column->kind() == ColumnKind::Const && call.right.column->value(0).to<int64_t>() != -1;
        if (constant_divisor) return divideIntegers<int64_t, R, false>(call);
        return runChecked<int64_t, R>(call, [refused](int64_t x, int64_t y, bool& bad) -> R {
            bad = y == 0 || (y == -1 && x == refused);
            return bad ? R(0) : narrow<R>(x / y);
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
    return runChecked<int64_t, R>(call, [&](int64_t x, int64_t y, bool& bad) -> R {
        x = asSigned(a, x);
        if (a.bytes <= b.bytes) y = asSigned(b, y);
        bad = y == 0 || (y == -1 && x == INT64_MIN);
        return bad ? R(0) : narrow<R>(x / y);
    });
}

template <typename R>
ColumnPtr intDivFloats(const ArithmeticCall& call) {
    const double highest = std::ldexp(1.0, static_cast<int>(sizeof(R) * 8 - (kIsSigned<R> ? 1 : 0)));
    const double lowest = kIsSigned<R> ? -highest : 0;
    return runChecked<double, R>(call, [=](double x, double y, bool& bad) -> R {
        const double quotient = std::trunc(x / y);
        bad = y == 0 || !(quotient >= lowest && quotient < highest);
        if (bad) return R(0);
        if constexpr (sizeof(R) == 32)
            return R::fromDouble(quotient);
        else
            return static_cast<R>(quotient);
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

template <typename R>
ColumnPtr moduloIntegers(const ArithmeticCall& call) {
    switch (commonType(shapeOf(*call.left.type), shapeOf(*call.right.type))) {
        case CommonType::Int64:
            return divideIntegers<int64_t, R, true>(call);
        case CommonType::UInt32:
            return divideIntegers<uint32_t, R, true>(call);
        case CommonType::UInt64:
            return divideIntegers<uint64_t, R, true>(call);
        case CommonType::Int128:
            return divideWide<Int128, true>(call);
        case CommonType::UInt128:
            return divideWide<UInt128, true>(call);
        case CommonType::Int256:
            return divideWide<Int256, true>(call);
        case CommonType::UInt256:
            return divideWide<UInt256, true>(call);
    }
    return nullptr;
}

template <typename R>
ColumnPtr positiveModuloIntegers(const ArithmeticCall& call) {
    const NumberShape a = shapeOf(*call.left.type);
    const NumberShape b = shapeOf(*call.right.type);
    if (a.bytes <= 8 && b.bytes <= 8 && !(b.bytes == 8 && !b.is_signed) && !(a.bytes == 8 && !a.is_signed))
        return runChecked<int64_t, R>(call, [](int64_t x, int64_t y, bool& bad) -> R {
            bad = y == 0;
            if (bad || y == -1) return R(0);
            const int64_t rest = x % y;
            return narrow<R>(rest < 0 ? rest + (y < 0 ? -y : y) : rest);
        });
    return runChecked<Int256, R>(call, [](const Int256& x, const Int256& y, bool& bad) -> R {
        bad = !y;
        if (bad) return R(0);
        Int256 rest = x % y;
        if (rest.negative()) rest += y.negative() ? -y : y;
        return narrow<R>(rest);
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

template <typename R>
ColumnPtr gcdOrLcm(const ArithmeticCall& call) {
    const bool lcm = call.op == ArithmeticOp::Lcm;
    const bool is_signed = shapeOf(*call.left.type).is_signed || shapeOf(*call.right.type).is_signed;
    return runChecked<int64_t, R>(call, [=](int64_t x, int64_t y, bool& bad) -> R {
        const uint64_t a = is_signed ? magnitude(x) : static_cast<uint64_t>(x);
        const uint64_t b = is_signed ? magnitude(y) : static_cast<uint64_t>(y);
        bad = a == 0 || b == 0;
        if (bad) return R(0);
        const uint64_t divisor = gcd(a, b);
        return narrow<R>(lcm ? a / divisor * b : divisor);
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
    return runChecked<double, double>(call, [=](double x, double y, bool& bad) {
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
            return forResult(call, [&](auto tag) -> ColumnPtr {
                using R = typename decltype(tag)::Type;
                if constexpr (std::is_floating_point_v<R>)
                    return nullptr;
                else
                    return has_float ? intDivFloats<R>(call) : intDivIntegers<R>(call);
            });
        case ArithmeticOp::Modulo:
        case ArithmeticOp::PositiveModulo:
            if (has_float) return divideFloats(call);
            return forResult(call, [&](auto tag) -> ColumnPtr {
                using R = typename decltype(tag)::Type;
                if constexpr (std::is_floating_point_v<R>)
                    return nullptr;
                else
                    return call.op == ArithmeticOp::Modulo ? moduloIntegers<R>(call)
                                                           : positiveModuloIntegers<R>(call);
            });
        case ArithmeticOp::Gcd:
        case ArithmeticOp::Lcm:
            return forResult(call, [&](auto tag) -> ColumnPtr {
                using R = typename decltype(tag)::Type;
                if constexpr (std::is_floating_point_v<R>)
                    return nullptr;
                else
                    return gcdOrLcm<R>(call);
            });
        default:
            return divideFloats(call);
    }
}

}  // namespace shardd::functions
