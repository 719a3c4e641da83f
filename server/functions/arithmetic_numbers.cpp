#include <algorithm>

#include "common/base/error.h"
#include "server/functions/arithmetic.h"
#include "server/functions/numbers.h"

/// Sums, differences and products: both sides as the result's type, wrapping.
namespace shardd::functions {

TypePtr numberResult(ArithmeticOp op, const Type& left, const Type& right) {
    const NumberShape a = shapeOf(left);
    const NumberShape b = shapeOf(right);
    if (!a.valid() || !b.valid()) return nullptr;
    const bool is_float = a.is_float || b.is_float;
    const bool is_signed = a.is_signed || b.is_signed;
    const bool big = a.bytes > 8 || b.bytes > 8;
    switch (op) {
        case ArithmeticOp::Plus:
        case ArithmeticOp::Multiply:
            if (is_float && big) return nullptr;
            return typeOfShape(is_float, is_signed, nextSize(std::max(a.bytes, b.bytes)));
        case ArithmeticOp::Minus:
            if (is_float && big) return nullptr;
            return typeOfShape(is_float, true, nextSize(std::max(a.bytes, b.bytes)));
        case ArithmeticOp::Divide:
            return types::float64();
        case ArithmeticOp::IntDiv:
            return typeOfShape(false, is_signed, a.bytes);
        case ArithmeticOp::Modulo:
            if (is_float) return types::float64();
            return typeOfShape(false, a.is_signed, a.is_signed ? nextSize(b.bytes) : b.bytes);
        case ArithmeticOp::PositiveModulo:
            if (is_float) return types::float64();
            return typeOfShape(false, false, b.bytes);
        case ArithmeticOp::Gcd:
        case ArithmeticOp::Lcm:
            if (is_float) return nullptr;
            return typeOfShape(false, is_signed, nextSize(std::max(a.bytes, b.bytes)));
    }
    return nullptr;
}

namespace {

/// The type in which overflow is no undefined behaviour.
template <typename T>
struct Wrapping {
    using Type = T;
};

template <std::signed_integral T>
struct Wrapping<T> {
    using Type = std::make_unsigned_t<T>;
};

template <>
struct Wrapping<Int128> {
    using Type = UInt128;
};

template <typename T>
ColumnPtr compute(const ArithmeticCall& call) {
    using W = typename Wrapping<T>::Type;
    Operand<T> a(*call.left.column, call.left.type->physical());
    Operand<T> b(*call.right.column, call.right.type->physical());
    PodVector<T> out(call.rows);
    switch (call.op) {
        case ArithmeticOp::Plus:
            runBinary(a, b, out.data(), call.rows,
                      [](T x, T y) { return static_cast<T>(static_cast<W>(x) + static_cast<W>(y)); });
            break;
        case ArithmeticOp::Minus:
            runBinary(a, b, out.data(), call.rows,
                      [](T x, T y) { return static_cast<T>(static_cast<W>(x) - static_cast<W>(y)); });
            break;
        default:
            // 16-bit factors promote to int, whose product may overflow.
            runBinary(a, b, out.data(), call.rows, [](T x, T y) {
                if constexpr (sizeof(T) < 4)
                    return static_cast<T>(static_cast<uint32_t>(x) * static_cast<uint32_t>(y));
                else
                    return static_cast<T>(static_cast<W>(x) * static_cast<W>(y));
            });
    }
    return std::make_shared<FixedColumn<T>>(std::move(out));
}

}  // namespace

ColumnPtr addNumbers(const ArithmeticCall& call) {
    ColumnPtr result;
    const bool known = dispatchNumber(
        call.result->physical(), [&](auto tag) { result = compute<typename decltype(tag)::Type>(call); });
    SHARDD_CHECK(known);
    return result;
}

}  // namespace shardd::functions
