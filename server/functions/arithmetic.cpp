#include "server/functions/arithmetic.h"

#include "common/columns/array_column.h"
#include "common/columns/const_column.h"
#include "common/columns/create_column.h"
#include "common/columns/fixed_column.h"
#include "common/columns/nullable_column.h"
#include "common/columns/tuple_column.h"
#include "server/functions/function_list.h"
#include "server/functions/numbers.h"
#include "server/functions/simple_function.h"

/// plus, minus, multiply, divide and their kin, over all that they are defined for.
namespace shardd::functions {

namespace {

struct OpInfo {
    std::string_view name;
    ArithmeticOp op;
    OnBadDivision on_bad = OnBadDivision::Throw;
};

constexpr OpInfo kOps[] = {
    {"plus", ArithmeticOp::Plus},
    {"minus", ArithmeticOp::Minus},
    {"multiply", ArithmeticOp::Multiply},
    {"divide", ArithmeticOp::Divide},
    {"divideOrNull", ArithmeticOp::Divide, OnBadDivision::Null},
    {"intDiv", ArithmeticOp::IntDiv},
    {"intDivOrZero", ArithmeticOp::IntDiv, OnBadDivision::Zero},
    {"intDivOrNull", ArithmeticOp::IntDiv, OnBadDivision::Null},
    {"modulo", ArithmeticOp::Modulo},
    {"moduloOrZero", ArithmeticOp::Modulo, OnBadDivision::Zero},
    {"moduloOrNull", ArithmeticOp::Modulo, OnBadDivision::Null},
    {"positiveModulo", ArithmeticOp::PositiveModulo},
    {"positiveModuloOrNull", ArithmeticOp::PositiveModulo, OnBadDivision::Null},
    {"gcd", ArithmeticOp::Gcd},
    {"lcm", ArithmeticOp::Lcm},
};

bool mayThrow(const OpInfo& info) {
    return info.on_bad == OnBadDivision::Throw && info.op != ArithmeticOp::Plus &&
           info.op != ArithmeticOp::Minus && info.op != ArithmeticOp::Multiply &&
           info.op != ArithmeticOp::Divide;
}

bool isTimeKind(const Type& type) {
    return type.isDateOrTime() || type.kind() == TypeKind::Time || type.kind() == TypeKind::Time64;
}

bool isPlainNumber(const Type& type) { return shapeOf(type).valid() && type.kind() != TypeKind::IPv4; }

bool isTupleOfIntervals(const Type& type) {
    if (type.kind() != TypeKind::Tuple || type.children().empty()) return false;
    for (const TypePtr& child : type.children())
        if (child->kind() != TypeKind::Interval) return false;
    return true;
}

class BinaryArithmetic final : public SimpleFunction {
public:
    BinaryArithmetic(const OpInfo& info, std::shared_ptr<const FunctionContext> context)
        : SimpleFunction(std::string(info.name), Traits{.may_throw = mayThrow(info), .sees_constants = true}),
          info_(info),
          context_(std::move(context)) {}

    TypePtr resultType(Arguments arguments) const override {
        checkArgumentCount(name_, arguments, 2, 2);
        TypePtr type = typeOf(arguments);
        if (!type)
            throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                        "Illegal types {} and {} of arguments of function {}", arguments[0].type->name(),
                        arguments[1].type->name(), name_);
        return info_.on_bad == OnBadDivision::Null ? makeNullable(type) : type;
    }

    ColumnPtr execute(Arguments arguments, const TypePtr& result_type, size_t rows) const override {
        const Type& left = *arguments[0].type;
        const Type& right = *arguments[1].type;
        if (const auto moved = movedBy(arguments)) return moved->function->execute(moved->arguments, rows);
        if (isTimeKind(left) || isTimeKind(right)) return computeTimes(arguments, result_type, rows);
        if (left.kind() == TypeKind::Tuple || right.kind() == TypeKind::Tuple)
            return computeTuples(arguments, result_type, rows);
        if (left.kind() == TypeKind::Array || right.kind() == TypeKind::Array)
            return computeArrays(arguments, result_type, rows);
        return computeNumbers(arguments, result_type, rows);
    }

    bool injective(Arguments arguments) const override {
        // x + constant of integers: another x gives another sum.
        if (info_.op != ArithmeticOp::Plus && info_.op != ArithmeticOp::Minus) return false;
        if (arguments.size() != 2 || !arguments[0].type->isInteger() || !arguments[1].type->isInteger())
            return false;
        return constantValue(arguments[0]).has_value() != constantValue(arguments[1]).has_value();
    }

private:
    /// A function that moves a date or an interval, with the arguments for it.
    struct Moved {
        ResolvedFunctionPtr function;
        std::vector<NamedColumn> arguments;
    };

    std::optional<Moved> movedBy(Arguments arguments) const {
        if (info_.op != ArithmeticOp::Plus && info_.op != ArithmeticOp::Minus) return std::nullopt;
        const bool plus = info_.op == ArithmeticOp::Plus;
        std::vector<NamedColumn> ordered(arguments.begin(), arguments.end());
        const auto movable = [](const Type& type) {
            return type.isDateOrTime() || type.kind() == TypeKind::String;
        };
        const auto mover = [](const Type& type) {
            return type.kind() == TypeKind::Interval || isTupleOfIntervals(type);
        };
        if (plus && mover(*ordered[0].type) && movable(*ordered[1].type)) std::swap(ordered[0], ordered[1]);
        const Type& left = *ordered[0].type;
        const Type& right = *ordered[1].type;
        std::string name;
        if (movable(left) && right.kind() == TypeKind::Interval)
            name = plus ? "addDate" : "subDate";
        else if (movable(left) && isTupleOfIntervals(right))
            name = plus ? "addTupleOfIntervals" : "subtractTupleOfIntervals";
        else if (mover(left) && right.kind() == TypeKind::Interval)
            name = plus ? "addInterval" : "subtractInterval";
        else if (plus && left.kind() == TypeKind::Interval && isTupleOfIntervals(right)) {
            std::swap(ordered[0], ordered[1]);
            name = "addInterval";
        } else
            return std::nullopt;
        ResolvedFunctionPtr function = resolveFunction(name, ordered, context_);
        return Moved{std::move(function), std::move(ordered)};
    }

    TypePtr typeOf(Arguments arguments) const {
        const Type& left = *arguments[0].type;
        const Type& right = *arguments[1].type;
        if (const auto moved = movedBy(arguments)) return moved->function->resultType();
        if (isTimeKind(left) || isTimeKind(right)) return timesType(arguments);
        if (left.kind() == TypeKind::Tuple || right.kind() == TypeKind::Tuple) return tuplesType(arguments);
        if (left.kind() == TypeKind::Array || right.kind() == TypeKind::Array) return arraysType(arguments);
        if (left.isDecimal() || right.isDecimal()) return decimalResult(info_.op, left, right);
        return numberResult(info_.op, left, right);
    }

    /// Date or time with a number; two dates or two times.
    TypePtr timesType(Arguments arguments) const {
        const TypePtr& left = arguments[0].type;
        const TypePtr& right = arguments[1].type;
        if (info_.op == ArithmeticOp::Plus) {
            if (isTimeKind(*left) && isPlainNumber(*right)) return left;
            if (isTimeKind(*right) && isPlainNumber(*left)) return right;
            return nullptr;
        }
        if (info_.op != ArithmeticOp::Minus) return nullptr;
        if (isTimeKind(*left) && isPlainNumber(*right)) return left;
        const auto moment = [](const Type& type) {
            return type.kind() == TypeKind::DateTime || type.kind() == TypeKind::DateTime64;
        };
        if (left->kind() == right->kind() &&
            (left->kind() == TypeKind::Date || left->kind() == TypeKind::DateTime))
            return types::simple(TypeKind::Int32);
        if (moment(*left) && moment(*right))
            return types::decimal(18, std::max(left->scale(), right->scale()));
        return nullptr;
    }

    ColumnPtr computeTimes(Arguments arguments, const TypePtr& result_type, size_t rows) const {
        const bool minus = info_.op == ArithmeticOp::Minus;
        // Seconds on the scale of what they are added to; two moments on the finer of their scales.
        const auto factor = [&](const Type& type) {
            const unsigned scale =
                isTimeKind(*result_type) || result_type->isDecimal() ? result_type->scale() : 0;
            int64_t result = 1;
            for (unsigned i = type.scale(); i < scale; ++i) result *= 10;
            return result;
        };
        auto a = std::make_unique<Operand<int64_t>>(*arguments[0].column, arguments[0].type->physical());
        auto b = std::make_unique<Operand<int64_t>>(*arguments[1].column, arguments[1].type->physical());
        const auto left_factor = static_cast<uint64_t>(factor(*arguments[0].type));
        const auto right_factor =
            static_cast<uint64_t>(factor(*arguments[1].type)) * (minus ? ~uint64_t{0} : 1);
        ColumnPtr result;
        dispatchNumber(result_type->physical(), [&](auto tag) {
            using R = typename decltype(tag)::Type;
            PodVector<R> out(rows);
            if constexpr (std::is_integral_v<R>)
                runBinary(*a, *b, out.data(), rows, [=](int64_t x, int64_t y) {
                    return static_cast<R>(static_cast<uint64_t>(x) * left_factor +
                                          static_cast<uint64_t>(y) * right_factor);
                });
            result = std::make_shared<FixedColumn<R>>(std::move(out));
        });
        return result;
    }

    // --- tuples: element by element ------------------------------------------------------------

    ResolvedFunctionPtr elementFunction(const TypePtr& left, const TypePtr& right) const {
        const NamedColumn elements[] = {{"", left, nullptr}, {"", right, nullptr}};
        return resolveFunction(name_, elements, context_);
    }

    TypePtr tuplesType(Arguments arguments) const {
        const TypePtr& left = arguments[0].type;
        const TypePtr& right = arguments[1].type;
        const bool left_tuple = left->kind() == TypeKind::Tuple;
        const bool right_tuple = right->kind() == TypeKind::Tuple;
        const bool sum = info_.op == ArithmeticOp::Plus || info_.op == ArithmeticOp::Minus;
        std::vector<TypePtr> elements;
        if (left_tuple && right_tuple) {
            if (left->children().size() != right->children().size() || left->children().empty())
                return nullptr;
            if (info_.op == ArithmeticOp::Multiply) return dotProduct(arguments).type;
            if (!sum) return nullptr;
            for (size_t i = 0; i < left->children().size(); ++i)
                elements.push_back(elementFunction(left->child(i), right->child(i))->resultType());
            return types::tuple(std::move(elements));
        }
        if (sum || (right_tuple && info_.op != ArithmeticOp::Multiply)) return nullptr;
        const TypePtr& number = left_tuple ? right : left;
        if (!isPlainNumber(*number) && !number->isDecimal()) return nullptr;
        const TypePtr& tuple = left_tuple ? left : right;
        for (const TypePtr& child : tuple->children())
            elements.push_back(
                (left_tuple ? elementFunction(child, number) : elementFunction(number, child))->resultType());
        return types::tuple(std::move(elements));
    }

    static ColumnPtr elementOf(const NamedColumn& tuple, size_t i, size_t rows) {
        if (tuple.column->kind() != ColumnKind::Const) return as<TupleColumn>(*tuple.column).element(i);
        return std::make_shared<ConstColumn>(
            as<TupleColumn>(*as<ConstColumn>(*tuple.column).one()).element(i), rows);
    }

    ColumnPtr computeTuples(Arguments arguments, const TypePtr& result_type, size_t rows) const {
        const bool left_tuple = arguments[0].type->kind() == TypeKind::Tuple;
        const bool right_tuple = arguments[1].type->kind() == TypeKind::Tuple;
        if (left_tuple && right_tuple && info_.op == ArithmeticOp::Multiply)
            return dotProduct(arguments, rows).column;
        std::vector<ColumnPtr> elements;
        for (size_t i = 0; i < result_type->children().size(); ++i) {
            const NamedColumn pair[] = {
                left_tuple ? NamedColumn{"", arguments[0].type->child(i), elementOf(arguments[0], i, rows)}
                           : arguments[0],
                right_tuple ? NamedColumn{"", arguments[1].type->child(i), elementOf(arguments[1], i, rows)}
                            : arguments[1]};
            elements.push_back(full(resolveFunction(name_, pair, context_)->execute(pair, rows)));
        }
        return std::make_shared<TupleColumn>(std::move(elements), rows);
    }

    /// The sum of the products; only its type where there are no columns.
    NamedColumn dotProduct(Arguments arguments, size_t rows = 0) const {
        NamedColumn sum;
        for (size_t i = 0; i < arguments[0].type->children().size(); ++i) {
            const bool columns = arguments[0].column && arguments[1].column && rows != 0;
            const NamedColumn pair[] = {
                {"", arguments[0].type->child(i), columns ? elementOf(arguments[0], i, rows) : nullptr},
                {"", arguments[1].type->child(i), columns ? elementOf(arguments[1], i, rows) : nullptr}};
            const ResolvedFunctionPtr multiply = resolveFunction("multiply", pair, context_);
            NamedColumn product{"", multiply->resultType(),
                                columns ? multiply->execute(pair, rows) : nullptr};
            if (i == 0) {
                sum = std::move(product);
                continue;
            }
            const NamedColumn terms[] = {sum, product};
            const ResolvedFunctionPtr plus = resolveFunction("plus", terms, context_);
            sum = {"", plus->resultType(), columns ? plus->execute(terms, rows) : nullptr};
        }
        if (!sum.column) sum.column = createColumn(*sum.type);
        return sum;
    }

    // --- arrays: element by element, or by a number --------------------------------------------

    TypePtr arraysType(Arguments arguments) const {
        const TypePtr& left = arguments[0].type;
        const TypePtr& right = arguments[1].type;
        const bool both = left->kind() == TypeKind::Array && right->kind() == TypeKind::Array;
        const bool sum = info_.op == ArithmeticOp::Plus || info_.op == ArithmeticOp::Minus;
        if (both != sum) return nullptr;
        if (!both && info_.op != ArithmeticOp::Multiply && info_.op != ArithmeticOp::Divide) return nullptr;
        const bool left_array = left->kind() == TypeKind::Array;
        return types::array(elementFunction(left_array ? left->child() : left,
                                            right->kind() == TypeKind::Array ? right->child() : right)
                                ->resultType());
    }

    ColumnPtr computeArrays(Arguments arguments, const TypePtr&, size_t rows) const {
        const ColumnPtr left = full(arguments[0].column);
        const ColumnPtr right = full(arguments[1].column);
        const bool left_array = arguments[0].type->kind() == TypeKind::Array;
        const bool right_array = arguments[1].type->kind() == TypeKind::Array;
        const PodVector<uint64_t>& ends = as<ArrayColumn>(left_array ? *left : *right).ends();
        if (left_array && right_array && !(as<ArrayColumn>(*right).ends() == ends))
            throw Error(ErrorCode::SIZES_OF_ARRAYS_DONT_MATCH,
                        "Arrays passed to function {} have different sizes", name_);
        const auto elements = [&](const NamedColumn& argument, const ColumnPtr& column, bool array) {
            return array ? NamedColumn{"", argument.type->child(), as<ArrayColumn>(*column).elements()}
                         : NamedColumn{"", argument.type, column->replicate(ends.span())};
        };
        const NamedColumn pair[] = {elements(arguments[0], left, left_array),
                                    elements(arguments[1], right, right_array)};
        const size_t count = rows == 0 ? 0 : ends.back();
        return std::make_shared<ArrayColumn>(
            full(resolveFunction(name_, pair, context_)->execute(pair, count)), ends);
    }

    // --- numbers -----------------------------------------------------------------------------

    ColumnPtr computeNumbers(Arguments arguments, const TypePtr& result_type, size_t rows) const {
        NamedColumn left = arguments[0];
        NamedColumn right = arguments[1];
        TypePtr bare = removeNullable(result_type);
        Mask nulls;
        if (info_.on_bad == OnBadDivision::Null) nulls.assign(rows, 0);
        const bool decimals = left.type->isDecimal() || right.type->isDecimal();
        // Both constant in a function that is not folded: one column at least must be full.
        if (left.column->kind() == ColumnKind::Const && right.column->kind() == ColumnKind::Const)
            left.column = full(left.column);
        const bool with_float = shapeOf(*left.type).is_float || shapeOf(*right.type).is_float;
        if (decimals && with_float) {
            for (NamedColumn* side : {&left, &right})
                if (side->type->isDecimal())
                    *side = {side->name, types::float64(), decimalToFloat(side->column, *side->type)};
        }
        const ArithmeticCall call{.op = info_.op,
                                  .on_bad = info_.on_bad,
                                  .left = left,
                                  .right = right,
                                  .result = bare,
                                  .rows = rows,
                                  .nulls = nulls.empty() ? nullptr : &nulls};
        const bool sum = info_.op == ArithmeticOp::Plus || info_.op == ArithmeticOp::Minus ||
                         info_.op == ArithmeticOp::Multiply;
        ColumnPtr values = decimals && !with_float ? computeDecimals(call)
                           : sum                   ? addNumbers(call)
                                                   : divideNumbers(call);
        if (info_.on_bad != OnBadDivision::Null) return values;
        return std::make_shared<NullableColumn>(std::move(values), std::move(nulls));
    }

    OpInfo info_;
    std::shared_ptr<const FunctionContext> context_;
};

template <size_t kIndex>
FunctionPtr createOp(const std::shared_ptr<const FunctionContext>& context) {
    return std::make_shared<BinaryArithmetic>(kOps[kIndex], context);
}

template <size_t... kIndexes>
std::vector<FunctionInfo> listOps(std::index_sequence<kIndexes...>) {
    return {FunctionInfo{.name = kOps[kIndexes].name, .create = createOp<kIndexes>}...};
}

/// The documentation of each, in the order of kOps.
constexpr struct {
    std::string_view syntax;
    std::string_view description;
    std::string_view example;
    std::string_view result;
} kWords[] = {
    {"plus(a, b)", "The sum; a date or time moved by days, seconds or an interval.", "plus(1, 2)", "3"},
    {"minus(a, b)", "The difference.", "minus(5, 7)", "-2"},
    {"multiply(a, b)", "The product.", "multiply(6, 7)", "42"},
    {"divide(a, b)", "The quotient as a float.", "divide(7, 2)", "3.5"},
    {"divideOrNull(a, b)", "The quotient as a float, NULL for a zero divisor.", "divideOrNull(7, 0)", "NULL"},
    {"intDiv(a, b)", "The quotient, cut off to an integer.", "intDiv(7, 2)", "3"},
    {"intDivOrZero(a, b)", "As intDiv, 0 for a zero divisor.", "intDivOrZero(7, 0)", "0"},
    {"intDivOrNull(a, b)", "As intDiv, NULL for a zero divisor.", "intDivOrNull(7, 0)", "NULL"},
    {"modulo(a, b)", "The remainder, with the sign of the first.", "modulo(7, 4)", "3"},
    {"moduloOrZero(a, b)", "As modulo, 0 for a zero divisor.", "moduloOrZero(7, 0)", "0"},
    {"moduloOrNull(a, b)", "As modulo, NULL for a zero divisor.", "moduloOrNull(7, 0)", "NULL"},
    {"positiveModulo(a, b)", "The remainder that is not negative.", "positiveModulo(-1, 4)", "3"},
    {"positiveModuloOrNull(a, b)", "As positiveModulo, NULL for a zero divisor.",
     "positiveModuloOrNull(7, 0)", "NULL"},
    {"gcd(a, b)", "The greatest common divisor.", "gcd(12, 18)", "6"},
    {"lcm(a, b)", "The least common multiple.", "lcm(4, 6)", "12"},
};

}  // namespace

std::span<const FunctionInfo> arithmeticFunctions() {
    static const std::vector<FunctionInfo> list = [] {
        std::vector<FunctionInfo> made = listOps(std::make_index_sequence<std::size(kOps)>());
        for (size_t i = 0; i < made.size(); ++i) {
            made[i].syntax = kWords[i].syntax;
            made[i].description = kWords[i].description;
            made[i].example = kWords[i].example;
            made[i].example_result = kWords[i].result;
        }
        return made;
    }();
    return list;
}

}  // namespace shardd::functions
