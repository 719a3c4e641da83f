#include <algorithm>
#include <bit>

#include "common/base/error.h"
#include "server/formats/number_text.h"
#include "server/functions/arithmetic.h"
#include "server/functions/numbers.h"

/// Arithmetic of Decimals: exact on their unscaled integers, with overflow noticed.
namespace shardd::functions {

namespace {

/// The greatest precision of a Decimal of that kind.
unsigned greatestPrecision(TypeKind kind) {
    switch (kind) {
        case TypeKind::Decimal32:
            return 9;
        case TypeKind::Decimal64:
            return 18;
        case TypeKind::Decimal128:
            return 38;
        default:
            return 76;
    }
}

}  // namespace

TypePtr decimalResult(ArithmeticOp op, const Type& left, const Type& right) {
    const NumberShape a = shapeOf(left);
    const NumberShape b = shapeOf(right);
    if ((!left.isDecimal() && !a.valid()) || (!right.isDecimal() && !b.valid())) return nullptr;
    if (op == ArithmeticOp::Gcd || op == ArithmeticOp::Lcm) return nullptr;
    if (a.is_float || b.is_float) return op == ArithmeticOp::IntDiv ? nullptr : types::float64();
    if (op == ArithmeticOp::IntDiv)
        return typeOfShape(false, true, left.isDecimal() ? left.width() : a.bytes);
    const TypeKind kind = !left.isDecimal()    ? right.kind()
                          : !right.isDecimal() ? left.kind()
                                               : std::max(left.kind(), right.kind());
    unsigned scale = std::max(left.scale(), right.scale());
    if (left.isDecimal() && right.isDecimal()) {
        if (op == ArithmeticOp::Multiply) scale = left.scale() + right.scale();
        if (op == ArithmeticOp::Divide) {
            if (left.scale() < right.scale())
                throw Error(ErrorCode::ARGUMENT_OUT_OF_BOUND,
                            "Decimal result's scale is less than argument's one");
            scale = left.scale();
        }
    }
    const unsigned precision = greatestPrecision(kind);
    if (scale > precision)
        throw Error(ErrorCode::ARGUMENT_OUT_OF_BOUND, "Scale {} is out of bounds (max scale: {})", scale,
                    precision);
    return types::decimal(precision, scale);
}

namespace {

unsigned bitLength(const Int256& value) {
    const UInt256 magnitude(value.negative() ? -value : value);
    for (int word = 3; word >= 0; --word)
        if (magnitude.words[word])
            return static_cast<unsigned>(word) * 64 +
                   static_cast<unsigned>(std::bit_width(magnitude.words[word]));
    return 0;
}

// By value: the result may be one of the operands, and the builtins of GCC 12 then look at it too late.
template <typename N>
bool addOverflow(const N a, const N b, N& result) {
    if constexpr (sizeof(N) == 32) {
        result = a + b;
        return a.negative() == b.negative() && result.negative() != a.negative();
    } else {
        return __builtin_add_overflow(a, b, &result);
    }
}

template <typename N>
bool subtractOverflow(const N a, const N b, N& result) {
    if constexpr (sizeof(N) == 32) {
        result = a - b;
        return a.negative() != b.negative() && result.negative() != a.negative();
    } else {
        return __builtin_sub_overflow(a, b, &result);
    }
}

template <typename N>
bool multiplyOverflow(const N a, const N b, N& result) {
    if constexpr (sizeof(N) == 32) {
        result = a * b;
        return bitLength(a) + bitLength(b) > 256 ||
               (bitLength(a) + bitLength(b) >= 255 && a && result / a != b);
    } else {
        return __builtin_mul_overflow(a, b, &result);
    }
}

template <typename N>
N power(unsigned exponent) {
    if constexpr (sizeof(N) == 32)
        return formats::powerOfTen(std::min(exponent, 76U));
    else
        return static_cast<N>(formats::powerOfTen(std::min(exponent, 38U)).low());
}

[[noreturn]] void failOverflow() { throw Error(ErrorCode::DECIMAL_OVERFLOW, "Decimal math overflow"); }

template <typename N>
class DecimalKernel {
public:
    explicit DecimalKernel(const ArithmeticCall& call)
        : call_(call),
          a_(std::make_unique<Operand<N>>(*call.left.column, call.left.type->physical())),
          b_(std::make_unique<Operand<N>>(*call.right.column, call.right.type->physical())) {}

    ColumnPtr run() {
        const unsigned left_scale = call_.left.type->scale();
        const unsigned right_scale = call_.right.type->scale();
        const unsigned scale = call_.result->scale();
        switch (call_.op) {
            case ArithmeticOp::Plus:
            case ArithmeticOp::Minus:
                return sum(power<N>(scale - left_scale), power<N>(scale - right_scale),
                           call_.op == ArithmeticOp::Minus);
            case ArithmeticOp::Multiply:
                return product();
            case ArithmeticOp::Divide:
                // A left side that is no Decimal has scale 0 and is brought to the result's.
                return quotient(power<N>(right_scale + (call_.left.type->isDecimal() ? 0 : scale)));
            default:
                return remainder(call_.op == ArithmeticOp::PositiveModulo);
        }
    }

private:
    ColumnPtr sum(const N& left_factor, const N& right_factor, bool minus) {
        bool overflow = false;
        PodVector<N> out(call_.rows);
        const bool plain = left_factor == N(1) && right_factor == N(1);
        runBinary(*a_, *b_, out.data(), call_.rows, [&](N x, N y) {
            N result{};
            if (!plain) {
                overflow |= multiplyOverflow(x, left_factor, x);
                overflow |= multiplyOverflow(y, right_factor, y);
            }
            overflow |= minus ? subtractOverflow(x, y, result) : addOverflow(x, y, result);
            return result;
        });
        if (overflow) failOverflow();
        return std::make_shared<FixedColumn<N>>(std::move(out));
    }

    ColumnPtr product() {
        bool overflow = false;
        PodVector<N> out(call_.rows);
        runBinary(*a_, *b_, out.data(), call_.rows, [&](N x, N y) {
            N result{};
            overflow |= multiplyOverflow(x, y, result);
            return result;
        });
        // ClickHouse does not notice it beyond 64 bits: the product wraps.
        if (overflow && sizeof(N) <= 8) failOverflow();
        return std::make_shared<FixedColumn<N>>(std::move(out));
    }

    template <typename Action>
    ColumnPtr byDivisor(Action action) {
        PodVector<N> out(call_.rows);
        size_t row = 0;
        runBinary(*a_, *b_, out.data(), call_.rows, [&](N x, N y) {
            const size_t here = row++;
            if (y != N(0)) return action(x, y);
            if (call_.on_bad == OnBadDivision::Throw)
                throw Error(ErrorCode::ILLEGAL_DIVISION, "Division by zero");
            if (call_.nulls) (*call_.nulls)[here] = 1;
            return N(0);
        });
        return std::make_shared<FixedColumn<N>>(std::move(out));
    }

    ColumnPtr quotient(const N& factor) {
        return byDivisor([&](N x, N y) {
            if (multiplyOverflow(x, factor, x)) failOverflow();
            return y == N(-1) ? N(N(0) - x) : N(x / y);
        });
    }

    ColumnPtr remainder(bool positive) {
        return byDivisor([&](N x, N y) {
            if (y == N(-1)) return N(0);
            const N rest = x % y;
            if (!positive || !(rest < N(0))) return rest;
            return N(rest + (y < N(0) ? N(N(0) - y) : y));
        });
    }

    const ArithmeticCall& call_;
    std::unique_ptr<Operand<N>> a_;
    std::unique_ptr<Operand<N>> b_;
};

/// a/10^sa divided by b/10^sb, cut off to an integer.
ColumnPtr intDivDecimals(const ArithmeticCall& call) {
    Operand<Int256> a(*call.left.column, call.left.type->physical());
    Operand<Int256> b(*call.right.column, call.right.type->physical());
    const Int256& left_factor = formats::powerOfTen(call.right.type->scale());
    const Int256& right_factor = formats::powerOfTen(call.left.type->scale());
    PodVector<Int256> wide(call.rows);
    size_t row = 0;
    runBinary(a, b, wide.data(), call.rows, [&](const Int256& x, const Int256& y) {
        const size_t here = row++;
        const Int256 divisor = y * right_factor;  // may wrap around to 0
        if (divisor) return x * left_factor / divisor;
        if (call.on_bad == OnBadDivision::Throw) throw Error(ErrorCode::ILLEGAL_DIVISION, "Division by zero");
        if (call.nulls) (*call.nulls)[here] = 1;
        return Int256(0);
    });
    ColumnPtr result;
    dispatchNumber(call.result->physical(), [&](auto tag) {
        using R = typename decltype(tag)::Type;
        PodVector<R> out(call.rows);
        convertKernel(Physical::Int256, call.result->physical())(wide.data(), out.data(), call.rows);
        result = std::make_shared<FixedColumn<R>>(std::move(out));
    });
    return result;
}

}  // namespace

ColumnPtr computeDecimals(const ArithmeticCall& call) {
    if (call.op == ArithmeticOp::IntDiv) return intDivDecimals(call);
    switch (call.result->kind()) {
        case TypeKind::Decimal32:
            return DecimalKernel<int32_t>(call).run();
        case TypeKind::Decimal64:
            return DecimalKernel<int64_t>(call).run();
        case TypeKind::Decimal128:
            return DecimalKernel<Int128>(call).run();
        default:
            return DecimalKernel<Int256>(call).run();
    }
}

ColumnPtr decimalToFloat(const ColumnPtr& column, const Type& type) {
    if (column->kind() == ColumnKind::Const) {
        const auto& constant = as<ConstColumn>(*column);
        return std::make_shared<ConstColumn>(decimalToFloat(constant.one(), type), constant.size());
    }
    const size_t rows = column->size();
    PodVector<double> out(rows);
    if (rows != 0)
        convertKernel(type.physical(), Physical::Float64)(column->bytesAt(0).data(), out.data(), rows);
    const double divisor = formats::powerOfTen(type.scale()).toDouble();
    for (double& value : out) value /= divisor;
    return std::make_shared<FixedColumn<double>>(std::move(out));
}

}  // namespace shardd::functions
