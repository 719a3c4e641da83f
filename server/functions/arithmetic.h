#pragma once

#include <string_view>

#include "server/functions/function.h"

/// Arithmetic of two columns: its operations, the types they give, and the kernels, one file a kind of
/// numbers.
namespace shardd::functions {

enum class ArithmeticOp : uint8_t { Plus, Minus, Multiply, Divide, IntDiv, Modulo, PositiveModulo, Gcd, Lcm };

/// What happens where a divisor is zero (or the quotient does not fit).
enum class OnBadDivision : uint8_t { Throw, Zero, Null };

struct ArithmeticCall {
    ArithmeticOp op;
    OnBadDivision on_bad = OnBadDivision::Throw;
    const NamedColumn& left;
    const NamedColumn& right;
    TypePtr result;
    size_t rows;
    /// With OnBadDivision::Null: gets 1 where the result is NULL; has `rows` zeros.
    Mask* nulls = nullptr;
};

/// Result type for two numbers that are no Decimals; nullptr where there is none.
TypePtr numberResult(ArithmeticOp op, const Type& left, const Type& right);
/// Result type where at least one is a Decimal; nullptr where there is none. A float beside it gives Float64.
/// Errors: ARGUMENT_OUT_OF_BOUND for a scale that has no place.
TypePtr decimalResult(ArithmeticOp op, const Type& left, const Type& right);

/// Plus, Minus, Multiply.
ColumnPtr addNumbers(const ArithmeticCall& call);
/// Divide, IntDiv, the modulos, Gcd, Lcm. Errors: ILLEGAL_DIVISION.
ColumnPtr divideNumbers(const ArithmeticCall& call);
/// Everything with a Decimal and no float. Errors: DECIMAL_OVERFLOW, ILLEGAL_DIVISION.
ColumnPtr computeDecimals(const ArithmeticCall& call);

/// `column` of a Decimal type as Float64.
ColumnPtr decimalToFloat(const ColumnPtr& column, const Type& type);

}  // namespace shardd::functions
