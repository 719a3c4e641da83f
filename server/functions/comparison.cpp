#include "server/functions/comparison.h"

#include "common/columns/array_column.h"
#include "common/columns/const_column.h"
#include "common/columns/create_column.h"
#include "common/columns/fixed_column.h"
#include "common/columns/nullable_column.h"
#include "common/columns/tuple_column.h"
#include "server/functions/column_tools.h"
#include "server/functions/convert.h"
#include "server/functions/function_list.h"
#include "server/functions/simple_function.h"
#include "server/functions/supertype.h"

/// equals, less and their kin, and IS DISTINCT FROM.
namespace shardd::functions {

namespace {

bool hasState(const TypePtr& type) {
    if (type->kind() == TypeKind::AggregateFunction) return true;
    return std::any_of(type->children().begin(), type->children().end(), hasState);
}

bool isNullOnly(const TypePtr& type) {
    return type->isNullable() && type->child()->kind() == TypeKind::Nothing;
}

/// (1, NULL): a comparison with it says nothing at all.
bool hasNullLiteral(const TypePtr& tuple) {
    return std::any_of(tuple->children().begin(), tuple->children().end(), isNullOnly);
}

bool isAddress(const Type& type) { return type.kind() == TypeKind::IPv4 || type.kind() == TypeKind::IPv6; }

class Comparison final : public SimpleFunction {
public:
    Comparison(std::string name, CompareOp op, std::shared_ptr<const FunctionContext> context)
        : SimpleFunction(std::move(name), Traits{.sees_constants = true}),
          op_(op),
          context_(context ? std::move(context) : std::make_shared<FunctionContext>()) {}

    TypePtr resultType(Arguments arguments) const override {
        checkArgumentCount(name_, arguments, 2, 2);
        const TypePtr& left = arguments[0].type;
        const TypePtr& right = arguments[1].type;
        if (!comparable(left, right) || hasState(left) || hasState(right)) failTypes(arguments);
        if (left->kind() == TypeKind::Tuple && right->kind() == TypeKind::Tuple)
            return tupleType(left, right);
        return types::uint8();
    }

    ColumnPtr execute(Arguments arguments, const TypePtr& result_type, size_t rows) const override {
        NamedColumn left = arguments[0];
        NamedColumn right = arguments[1];
        if (left.type->kind() == TypeKind::Tuple && right.type->kind() == TypeKind::Tuple)
            return compareTuples(left, right, result_type, rows);
        if (left.type->isString() != right.type->isString()) {
            if (ColumnPtr known = readLiteral(left, right, rows)) return known;
            if (ColumnPtr known = readLiteral(right, left, rows)) return known;
        }
        if (left.column->kind() == ColumnKind::Const && right.column->kind() == ColumnKind::Const)
            left.column = full(left.column);
        return compare(left, right, rows);
    }

private:
    [[noreturn]] void failTypes(Arguments arguments) const {
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, "Illegal types of arguments ({}, {}) of function {}",
                    arguments[0].type->name(), arguments[1].type->name(), name_);
    }

    static bool comparable(const TypePtr& left, const TypePtr& right) {
        const auto number = [](const Type& t) { return isComparedAsNumber(t) || t.isDecimal(); };
        const bool has_day = left->isDate() || right->isDate();
        if (number(*left) && number(*right) && !has_day) return true;
        if (left->isString() || right->isString()) return true;
        if (left->isDateOrTime() && right->isDateOrTime()) return true;
        if (isAddress(*left) && isAddress(*right)) return true;
        if (left->kind() == TypeKind::Tuple && right->kind() == TypeKind::Tuple)
            return left->children().size() == right->children().size();
        if (sameType(left, right)) return true;
        const TypePtr both[] = {left, right};
        return tryLeastSupertype(both) != nullptr;
    }

    /// A constant text compared with something else is read as that; gives the result where the text is no
    /// value at all.
    ColumnPtr readLiteral(NamedColumn& text, const NamedColumn& other, size_t rows) const {
        if (!text.type->isString() || other.type->isString()) return nullptr;
        const auto literal = constantValue(text);
        if (!literal) return nullptr;
        std::string written = literal->get<std::string>();
        if (text.type->kind() == TypeKind::FixedString)
            written.resize(std::string_view(written).find_last_not_of('\0') + 1);
        if (other.type->isEnum() && !other.type->enumNumber(written) && op_ != CompareOp::NotEquals)
            return createConstColumn(*types::uint8(), Value(uint64_t{0}), rows);
        if (other.type->isInteger()) {
            // What the type cannot hold still has its place in the order.
            const Value wide = literalAs(written, types::simple(TypeKind::Int256), *context_);
            text = {text.name, types::simple(TypeKind::Int256),
                    createConstColumn(*types::simple(TypeKind::Int256), wide, rows)};
            const ColumnPtr narrow = castColumn(text, other.type);
            const ColumnPtr back = castColumn({"", other.type, narrow}, text.type);
            if (back->compareAt(0, *text.column, 0, 1) == 0) text = {text.name, other.type, narrow};
            return nullptr;
        }
        text = {text.name, other.type,
                createConstColumn(*other.type, literalAs(written, other.type, *context_), rows)};
        return nullptr;
    }

    ColumnPtr compare(const NamedColumn& left, const NamedColumn& right, size_t rows) const {
        const Type& a = *left.type;
        const Type& b = *right.type;
        if (a.isString() && b.isString()) return compareTexts(op_, left, right, rows);
        const bool moments = a.isDateOrTime() && b.isDateOrTime();
        if (moments && (a.kind() != b.kind() || a.scale() != b.scale()))
            return compareMoments(op_, left, right, rows, context_->time_zone);
        if (!moments && (a.kind() == TypeKind::DateTime64 || a.kind() == TypeKind::Time64) !=
                            (b.kind() == TypeKind::DateTime64 || b.kind() == TypeKind::Time64))
            return compareTicks(left, right, rows);
        if (a.kind() == TypeKind::Interval && b.kind() == TypeKind::Interval &&
            a.intervalUnit() != b.intervalUnit())
            return compareInSupertype(left, right, rows);
        if (isAddress(a) && isAddress(b) && a.kind() != b.kind())
            return compareAs(types::simple(TypeKind::IPv6), left, right, rows);
        if ((a.isDecimal() || b.isDecimal()) && (a.isDecimal() || isComparedAsNumber(a)) &&
            (b.isDecimal() || isComparedAsNumber(b)))
            return compareDecimals(op_, left, right, rows);
        if (isComparedAsNumber(a) && isComparedAsNumber(b)) return compareNumbers(op_, left, right, rows);
        if (sameType(left.type, right.type)) return compareAny(op_, left.column, right.column, rows);
        return compareInSupertype(left, right, rows);
    }

    ColumnPtr compareAs(const TypePtr& type,
                        const NamedColumn& left,
                        const NamedColumn& right,
                        size_t rows) const {
        return compareAny(op_, castColumn(left, type, *context_), castColumn(right, type, *context_), rows);
    }

    ColumnPtr compareInSupertype(const NamedColumn& left, const NamedColumn& right, size_t rows) const {
        const TypePtr super = leastSupertype(left.type, right.type);
        const NamedColumn a{"", super, castColumn(left, super, *context_)};
        const NamedColumn b{"", super, castColumn(right, super, *context_)};
        if (isComparedAsNumber(*super)) return compareNumbers(op_, a, b, rows);
        return compareAny(op_, a.column, b.column, rows);
    }

    /// A DateTime64 with a number of seconds: ticks are a Decimal of its scale.
    ColumnPtr compareTicks(const NamedColumn& left, const NamedColumn& right, size_t rows) const {
        const auto asDecimal = [](const NamedColumn& side) {
            const bool ticks =
                side.type->kind() == TypeKind::DateTime64 || side.type->kind() == TypeKind::Time64;
            return ticks ? NamedColumn{"", types::decimal(18, side.type->scale()), side.column} : side;
        };
        return compareDecimals(op_, asDecimal(left), asDecimal(right), rows);
    }

    // --- tuples: element by element, with three-valued logic -----------------------------------

    TypePtr tupleType(const TypePtr& left, const TypePtr& right) const {
        if (left->children().empty())
            throw Error(ErrorCode::NOT_IMPLEMENTED, "Comparison of zero-sized tuples is not implemented");
        bool nullable = hasNullLiteral(left) || hasNullLiteral(right);
        for (size_t i = 0; i < left->children().size(); ++i) {
            const NamedColumn pair[] = {{"", left->child(i), nullptr}, {"", right->child(i), nullptr}};
            nullable |=
                isNullableOrLowCardinalityNullable(resolveFunction(name_, pair, context_)->resultType());
        }
        return nullable ? types::nullable(types::uint8()) : types::uint8();
    }

    static ColumnPtr elementOf(const NamedColumn& tuple, size_t i, size_t rows) {
        if (tuple.column->kind() != ColumnKind::Const) return as<TupleColumn>(*tuple.column).element(i);
        return std::make_shared<ConstColumn>(
            as<TupleColumn>(*as<ConstColumn>(*tuple.column).one()).element(i), rows);
    }

    NamedColumn call(std::string_view function,
                     const NamedColumn& a,
                     const NamedColumn& b,
                     size_t rows) const {
        const NamedColumn pair[] = {a, b};
        const ResolvedFunctionPtr resolved = resolveFunction(function, pair, context_);
        NamedColumn result{"", resolved->resultType(), resolved->execute(pair, rows)};
        if (result.type->isLowCardinality()) {
            result.column = writeOutDictionaries(result.column, result.type);
            result.type = result.type->child();
        }
        return result;
    }

    ColumnPtr compareTuples(const NamedColumn& left,
                            const NamedColumn& right,
                            const TypePtr& result_type,
                            size_t rows) const {
        if (hasNullLiteral(left.type) || hasNullLiteral(right.type))
            return createConstColumn(*result_type, Value(), rows);
        const size_t size = left.type->children().size();
        const auto element = [&](const NamedColumn& tuple, size_t i) {
            return NamedColumn{"", tuple.type->child(i), elementOf(tuple, i, rows)};
        };
        NamedColumn result;
        if (op_ == CompareOp::Equals || op_ == CompareOp::NotEquals) {
            for (size_t i = 0; i < size; ++i) {
                NamedColumn one = call(name_, element(left, i), element(right, i), rows);
                result = i == 0 ? std::move(one)
                                : call(op_ == CompareOp::Equals ? "and" : "or", result, one, rows);
            }
        } else {
            // From the last element to the first: less, or equal and the rest holds.
            const bool less = op_ == CompareOp::Less || op_ == CompareOp::LessOrEquals;
            for (size_t i = size; i-- > 0;) {
                const NamedColumn a = element(left, i);
                const NamedColumn b = element(right, i);
                if (i + 1 == size) {
                    result = call(name_, a, b, rows);
                    continue;
                }
                const NamedColumn same = call("and", call("equals", a, b, rows), result, rows);
                result = call("or", call(less ? "less" : "greater", a, b, rows), same, rows);
            }
        }
        return castColumn(result, result_type, *context_);
    }

    CompareOp op_;
    std::shared_ptr<const FunctionContext> context_;
};

/// NULL is a value like others: equal to itself, different from all else.
class DistinctFrom final : public SimpleFunction {
public:
    DistinctFrom(std::string name, bool distinct, std::shared_ptr<const FunctionContext> context)
        : SimpleFunction(
              std::move(name),
              Traits{.default_nulls = false, .default_low_cardinality = true, .sees_constants = true}),
          distinct_(distinct),
          context_(std::move(context)) {}

    TypePtr resultType(Arguments arguments) const override {
        checkArgumentCount(name_, arguments, 2, 2);
        std::vector<NamedColumn> bare;
        for (const NamedColumn& argument : arguments)
            bare.push_back({"", removeNullable(argument.type), nullptr});
        if (bare[0].type->kind() != TypeKind::Nothing && bare[1].type->kind() != TypeKind::Nothing)
            resolveFunction("equals", bare, context_);
        return types::uint8();
    }

    ColumnPtr execute(Arguments arguments, const TypePtr&, size_t rows) const override {
        PodVector<uint8_t> out(rows);
        const ColumnPtr left = full(arguments[0].column);
        const ColumnPtr right = full(arguments[1].column);
        std::vector<NamedColumn> bare;
        for (const ColumnPtr& side : {left, right}) {
            const TypePtr& type = arguments[side == left && bare.empty() ? 0 : 1].type;
            bare.push_back({"", removeNullable(type),
                            side->kind() == ColumnKind::Nullable ? valuesOfNullable(side) : side});
        }
        ColumnPtr equal;
        if (bare[0].type->kind() != TypeKind::Nothing && bare[1].type->kind() != TypeKind::Nothing)
            equal = equality(bare, rows);
        for (size_t i = 0; i < rows; ++i) {
            const bool a = left->isNullAt(i);
            const bool b = right->isNullAt(i);
            const bool same = a || b ? a && b : equal && !equal->isNullAt(i) && !equal->isDefaultAt(i);
            out[i] = same != distinct_;
        }
        return std::make_shared<FixedColumn<uint8_t>>(std::move(out));
    }

private:
    /// Values that have no NULL at the top; NULLs inside tuples are equal.
    ColumnPtr equality(const std::vector<NamedColumn>& sides, size_t rows) const {
        if (sides[0].type->kind() == TypeKind::Tuple && sameType(sides[0].type, sides[1].type))
            return compareAny(CompareOp::Equals, sides[0].column, sides[1].column, rows);
        const ResolvedFunctionPtr equals = resolveFunction("equals", sides, context_);
        const ColumnPtr result = fullPlain(equals->execute(sides, rows));
        if (result->kind() != ColumnKind::Nullable) return result;
        // NULL (1) and false (0) are both no.
        const auto& nullable = as<NullableColumn>(*result);
        PodVector<uint8_t> plain(as<FixedColumn<uint8_t>>(*nullable.values()).values());
        for (size_t i = 0; i < rows; ++i) plain[i] &= static_cast<uint8_t>(!nullable.nulls()[i]);
        return std::make_shared<FixedColumn<uint8_t>>(std::move(plain));
    }

    bool distinct_;
    std::shared_ptr<const FunctionContext> context_;
};

using Context = const std::shared_ptr<const FunctionContext>&;

constexpr FunctionInfo kFunctions[] = {
    {.name = "equals",
     .create = [](Context c) -> FunctionPtr {
         return std::make_shared<Comparison>("equals", CompareOp::Equals, c);
     },
     .syntax = "equals(a, b)",
     .description = "1 when both are equal.",
     .example = "equals(1, 1)",
     .example_result = "1"},
    {.name = "notEquals",
     .create = [](Context c) -> FunctionPtr {
         return std::make_shared<Comparison>("notEquals", CompareOp::NotEquals, c);
     },
     .syntax = "notEquals(a, b)",
     .description = "1 when they differ.",
     .example = "notEquals(1, 2)",
     .example_result = "1"},
    {.name = "less",
     .create = [](Context c) -> FunctionPtr {
         return std::make_shared<Comparison>("less", CompareOp::Less, c);
     },
     .syntax = "less(a, b)",
     .description = "1 when the first is less.",
     .example = "less(1, 2)",
     .example_result = "1"},
    {.name = "greater",
     .create = [](Context c) -> FunctionPtr {
         return std::make_shared<Comparison>("greater", CompareOp::Greater, c);
     },
     .syntax = "greater(a, b)",
     .description = "1 when the first is greater.",
     .example = "greater(1, 2)",
     .example_result = "0"},
    {.name = "lessOrEquals",
     .create = [](Context c) -> FunctionPtr {
         return std::make_shared<Comparison>("lessOrEquals", CompareOp::LessOrEquals, c);
     },
     .syntax = "lessOrEquals(a, b)",
     .description = "1 when the first is not greater.",
     .example = "lessOrEquals(2, 2)",
     .example_result = "1"},
    {.name = "greaterOrEquals",
     .create = [](Context c) -> FunctionPtr {
         return std::make_shared<Comparison>("greaterOrEquals", CompareOp::GreaterOrEquals, c);
     },
     .syntax = "greaterOrEquals(a, b)",
     .description = "1 when the first is not less.",
     .example = "greaterOrEquals(2, 2)",
     .example_result = "1"},
    {.name = "isDistinctFrom",
     .create = [](Context c) -> FunctionPtr {
         return std::make_shared<DistinctFrom>("isDistinctFrom", true, c);
     },
     .syntax = "isDistinctFrom(a, b)",
     .description = "1 when they differ; NULL equals NULL.",
     .example = "isDistinctFrom(NULL, 1)",
     .example_result = "1"},
    {.name = "isNotDistinctFrom",
     .create = [](Context c) -> FunctionPtr {
         return std::make_shared<DistinctFrom>("isNotDistinctFrom", false, c);
     },
     .syntax = "isNotDistinctFrom(a, b)",
     .description = "1 when both are equal; NULL equals NULL.",
     .example = "isNotDistinctFrom(NULL, NULL)",
     .example_result = "1"},
};

}  // namespace

std::span<const FunctionInfo> comparisonFunctions() { return kFunctions; }

}  // namespace shardd::functions
