#include "server/functions/conditional.h"

#include <algorithm>

#include "common/columns/const_column.h"
#include "common/columns/create_column.h"
#include "common/columns/fixed_column.h"
#include "common/columns/nullable_column.h"
#include "server/functions/column_tools.h"
#include "server/functions/convert.h"
#include "server/functions/function_list.h"
#include "server/functions/selection.h"
#include "server/functions/simple_function.h"
#include "server/functions/supertype.h"

/// if, multiIf, CASE, and what chooses by NULL: ifNull, nullIf, coalesce ….
namespace shardd::functions {

bool isNullOnly(const TypePtr& type) {
    return type->isNullable() && type->child()->kind() == TypeKind::Nothing;
}

Traits choosingByKey() { return {.default_nulls = false, .sees_constants = true}; }

void conditionOf(const NamedColumn& argument, PodVector<uint8_t>& out) {
    const Column* column = argument.column.get();
    if (column->kind() == ColumnKind::Const) {
        const Column& one = *as<ConstColumn>(*column).one();
        const bool holds = !one.isNullAt(0) && !(one.kind() == ColumnKind::Nullable
                                                     ? as<NullableColumn>(one).values()->isDefaultAt(0)
                                                     : one.isDefaultAt(0));
        std::fill(out.begin(), out.end(), static_cast<uint8_t>(holds));
        return;
    }
    const Mask* nulls = nullptr;
    if (column->kind() == ColumnKind::Nullable) {
        nulls = &as<NullableColumn>(*column).nulls();
        column = as<NullableColumn>(*column).values().get();
    }
    const uint8_t* values = as<FixedColumn<uint8_t>>(*column).data();
    for (size_t i = 0; i < out.size(); ++i) out[i] = values[i] != 0;
    if (nulls)
        for (size_t i = 0; i < out.size(); ++i) out[i] &= static_cast<uint8_t>(!(*nulls)[i]);
}

NamedColumn call(std::string_view name,
                 const std::vector<NamedColumn>& arguments,
                 size_t rows,
                 const std::shared_ptr<const FunctionContext>& context) {
    const ResolvedFunctionPtr function = resolveFunction(name, arguments, context);
    return {"", function->resultType(), function->execute(arguments, rows)};
}

namespace {

using Context = const std::shared_ptr<const FunctionContext>&;

Traits choosing() {
    return {.default_nulls = false, .default_low_cardinality = false, .sees_constants = true};
}

/// The type of one of several branches.
TypePtr commonBranchType(std::span<const NamedColumn> branches) {
    std::vector<TypePtr> types;
    for (const NamedColumn& branch : branches) types.push_back(removeLowCardinalityRecursively(branch.type));
    return leastSupertype(types);
}

NamedColumn withoutDictionary(const NamedColumn& argument) {
    const TypePtr type = removeLowCardinalityRecursively(argument.type);
    if (sameType(type, argument.type)) return argument;
    return {argument.name, type,
            argument.column ? writeOutDictionaries(argument.column, argument.type) : nullptr};
}

bool isCondition(const TypePtr& type) {
    const TypePtr bare = removeNullable(removeLowCardinality(type));
    return bare->kind() == TypeKind::UInt8 || bare->kind() == TypeKind::Bool ||
           bare->kind() == TypeKind::Nothing;
}

/// multiIf, and `if`, which has one condition.
class MultiIf final : public SimpleFunction {
public:
    MultiIf(std::string name, Context context)
        : SimpleFunction(std::move(name), choosing()),
          context_(context ? context : std::make_shared<const FunctionContext>()) {}

    TypePtr resultType(Arguments arguments) const override {
        const bool plain = name_ == "if";
        if (plain ? arguments.size() != 3 : arguments.size() < 3 || arguments.size() % 2 == 0)
            throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                        "Invalid number of arguments for function {}: {}", name_, arguments.size());
        std::vector<NamedColumn> branches;
        for (size_t i = 0; i < arguments.size(); ++i) {
            const bool is_condition = i % 2 == 0 && i + 1 < arguments.size();
            if (!is_condition)
                branches.push_back(arguments[i]);
            else if (!isCondition(arguments[i].type))
                throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                            "Illegal type {} of argument (condition) of function {}. Must be UInt8 or "
                            "Nullable(UInt8)",
                            arguments[i].type->name(), name_);
        }
        if (plain) refuseMixedDecimals(arguments);
        return commonBranchType(branches);
    }

    ColumnPtr execute(Arguments arguments, const TypePtr& result_type, size_t rows) const override {
        std::vector<ColumnPtr> branches;
        PodVector<uint8_t> which(rows, 0);
        PodVector<uint8_t> open(rows, 1);
        PodVector<uint8_t> holds(rows);
        bool decided = false;
        for (size_t i = 0; i < arguments.size() && !decided; i += 2) {
            const bool last = i + 1 == arguments.size();
            const NamedColumn condition = withoutDictionary(arguments[i]);
            bool always = last;
            if (!last && condition.column->kind() == ColumnKind::Const) {
                holds.resize(1);
                conditionOf(condition, holds);
                always = holds[0] != 0;
                holds.resize(rows);
                if (!always) continue;
            }
            if (branches.size() > 255)
                throw Error(ErrorCode::TOO_MANY_ARGUMENTS_FOR_FUNCTION,
                            "Function {} takes at most 256 branches", name_);
            const auto index = static_cast<uint8_t>(branches.size());
            const NamedColumn& branch = arguments[last ? i : i + 1];
            branches.push_back(castColumn(withoutDictionary(branch), result_type, *context_));
            decided = always;
            if (always) {
                for (size_t row = 0; row < rows; ++row) which[row] = open[row] ? index : which[row];
                break;
            }
            conditionOf(condition, holds);
            for (size_t row = 0; row < rows; ++row) {
                const uint8_t takes = open[row] & holds[row];
                which[row] = takes ? index : which[row];
                open[row] &= static_cast<uint8_t>(!takes);
            }
        }
        return branches.size() == 1 ? branches[0] : selectRows(branches, which.span());
    }

private:
    /// Two kinds of Decimal under a condition that varies: ClickHouse has no such `if`.
    static void refuseMixedDecimals(Arguments arguments) {
        const TypePtr a = removeNullable(arguments[1].type);
        const TypePtr b = removeNullable(arguments[2].type);
        if (a->isDecimal() && b->isDecimal() && a->kind() != b->kind() && !constantValue(arguments[0]))
            throw Error(ErrorCode::NOT_IMPLEMENTED,
                        "Conditional function with Decimals of different types is not supported");
    }

    std::shared_ptr<const FunctionContext> context_;
};

/// CASE value WHEN … THEN …: equals() and multiIf.
class CaseWithExpression final : public SimpleFunction {
public:
    explicit CaseWithExpression(Context context)
        : SimpleFunction("caseWithExpression", choosingByKey()), context_(context) {}

    TypePtr resultType(Arguments arguments) const override {
        if (arguments.size() < 4 || arguments.size() % 2 != 0)
            throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                        "Invalid number of arguments for function {}: {}", name_, arguments.size());
        std::vector<NamedColumn> branches;
        for (size_t i = 1; i < arguments.size(); ++i)
            if (i % 2 == 0 || i + 1 == arguments.size()) branches.push_back(arguments[i]);
        return commonBranchType(branches);
    }

    ColumnPtr execute(Arguments arguments, const TypePtr&, size_t rows) const override {
        std::vector<NamedColumn> flat;
        for (size_t i = 1; i + 1 < arguments.size(); i += 2) {
            flat.push_back(call("equals", {arguments[0], arguments[i]}, rows, context_));
            flat.push_back(arguments[i + 1]);
        }
        flat.push_back(arguments.back());
        return call("multiIf", flat, rows, context_).column;
    }

private:
    std::shared_ptr<const FunctionContext> context_;
};

ColumnPtr nullMap(const NamedColumn& argument, size_t rows) {
    PodVector<uint8_t> out(rows, 0);
    const ColumnPtr column = full(argument.column);
    if (column->kind() == ColumnKind::Nullable)
        out = as<NullableColumn>(*column).nulls();
    else
        for (size_t i = 0; i < rows; ++i) out[i] = column->isNullAt(i);
    return std::make_shared<FixedColumn<uint8_t>>(std::move(out));
}

/// isNull, isNotNull, isZeroOrNull.
class NullTest final : public SimpleFunction {
public:
    enum class Kind : uint8_t { Null, NotNull, ZeroOrNull };

    NullTest(std::string name, Kind kind) : SimpleFunction(std::move(name), choosing()), kind_(kind) {}

    TypePtr resultType(Arguments arguments) const override {
        checkArgumentCount(name_, arguments, 1, 1);
        const TypePtr bare = removeNullable(removeLowCardinality(arguments[0].type));
        if (kind_ == Kind::ZeroOrNull && !bare->isNumber() && bare->kind() != TypeKind::Nothing)
            failArgumentType(name_, arguments, 0);
        return types::uint8();
    }

    ColumnPtr execute(Arguments arguments, const TypePtr& result_type, size_t rows) const override {
        const bool nullable = isNullableOrLowCardinalityNullable(arguments[0].type);
        if (!nullable && kind_ != Kind::ZeroOrNull)
            return createConstColumn(*result_type, Value(uint64_t{kind_ == Kind::NotNull}), rows);
        const ColumnPtr map = nullMap(arguments[0], rows);
        PodVector<uint8_t> out(as<FixedColumn<uint8_t>>(*map).values());
        if (kind_ == Kind::NotNull)
            for (uint8_t& value : out) value ^= 1;
        if (kind_ == Kind::ZeroOrNull) {
            const ColumnPtr plain = fullPlain(arguments[0].column);
            const ColumnPtr values = plain->kind() == ColumnKind::Nullable ? valuesOfNullable(plain) : plain;
            for (size_t i = 0; i < rows; ++i) out[i] |= static_cast<uint8_t>(values->isDefaultAt(i));
        }
        return std::make_shared<FixedColumn<uint8_t>>(std::move(out));
    }

private:
    Kind kind_;
};

class AssumeNotNull final : public SimpleFunction {
public:
    AssumeNotNull() : SimpleFunction("assumeNotNull", choosing()) {}

    TypePtr resultType(Arguments arguments) const override {
        checkArgumentCount(name_, arguments, 1, 1);
        const TypePtr& type = arguments[0].type;
        return type->isLowCardinality() ? types::lowCardinality(removeNullable(type->child()))
                                        : removeNullable(type);
    }

    ColumnPtr execute(Arguments arguments, const TypePtr& result_type, size_t) const override {
        const NamedColumn& argument = arguments[0];
        if (argument.type->isNullable()) {
            if (argument.column->kind() == ColumnKind::Const && argument.column->isNullAt(0))
                return createConstColumn(*result_type, defaultValue(*result_type), argument.column->size());
            return valuesOfNullable(argument.column);
        }
        if (!isNullableOrLowCardinalityNullable(argument.type)) return argument.column;
        const TypePtr& plain = argument.type->child();
        return makeDictionary(valuesOfNullable(writeOutDictionaries(argument.column, argument.type)),
                              plain->child());
    }
};

class IsNullable final : public SimpleFunction {
public:
    IsNullable() : SimpleFunction("isNullable", choosing()) {}

    TypePtr resultType(Arguments arguments) const override {
        checkArgumentCount(name_, arguments, 1, 1);
        return types::uint8();
    }

    ColumnPtr execute(Arguments arguments, const TypePtr& result_type, size_t rows) const override {
        return createConstColumn(
            *result_type, Value(uint64_t{isNullableOrLowCardinalityNullable(arguments[0].type)}), rows);
    }
};

class ToNullable final : public SimpleFunction {
public:
    ToNullable() : SimpleFunction("toNullable", choosing()) {}

    TypePtr resultType(Arguments arguments) const override {
        checkArgumentCount(name_, arguments, 1, 1);
        const TypePtr& type = arguments[0].type;
        if (isNullableOrLowCardinalityNullable(type)) return type;
        return type->isLowCardinality() ? types::lowCardinality(types::nullable(type->child()))
                                        : types::nullable(type);
    }

    ColumnPtr execute(Arguments arguments, const TypePtr& result_type, size_t) const override {
        return castColumn(arguments[0], result_type);
    }
};

/// The first value that is not NULL. Arguments behind one that is never NULL do not count.
class Coalesce final : public SimpleFunction {
public:
    explicit Coalesce(Context context) : SimpleFunction("coalesce", choosingByKey()), context_(context) {}

    TypePtr resultType(Arguments arguments) const override {
        const std::vector<NamedColumn> used = usedOf(arguments);
        if (used.empty()) return types::nullable(types::simple(TypeKind::Nothing));
        std::vector<NamedColumn> bare = used;
        for (size_t i = 0; i + 1 < bare.size(); ++i) bare[i].type = removeNullable(bare[i].type);
        return commonBranchType(bare);
    }

    ColumnPtr execute(Arguments arguments, const TypePtr& result_type, size_t rows) const override {
        const std::vector<NamedColumn> used = usedOf(arguments);
        if (used.empty()) return createConstColumn(*result_type, Value(), rows);
        std::vector<ColumnPtr> branches;
        PodVector<uint8_t> which(rows, static_cast<uint8_t>(used.size() - 1));
        for (size_t i = used.size(); i-- > 0;) {
            if (i + 1 == used.size()) continue;
            const ColumnPtr nulls = nullMap(used[i], rows);
            const uint8_t* map = as<FixedColumn<uint8_t>>(*nulls).data();
            for (size_t row = 0; row < rows; ++row)
                which[row] = map[row] ? which[row] : static_cast<uint8_t>(i);
        }
        for (size_t i = 0; i < used.size(); ++i) {
            const bool last = i + 1 == used.size();
            const NamedColumn branch = last || !used[i].type->isNullable() ? used[i] : withoutNulls(used[i]);
            branches.push_back(castColumn(branch, result_type, *contextOrDefault()));
        }
        return branches.size() == 1 ? branches[0] : selectRows(branches, which.span());
    }

private:
    static NamedColumn withoutNulls(const NamedColumn& argument) {
        return {argument.name, argument.type->child(), valuesOfNullable(argument.column)};
    }

    std::shared_ptr<const FunctionContext> contextOrDefault() const {
        return context_ ? context_ : std::make_shared<const FunctionContext>();
    }

    static std::vector<NamedColumn> usedOf(Arguments arguments) {
        std::vector<NamedColumn> used;
        for (const NamedColumn& argument : arguments) {
            if (isNullOnly(argument.type)) continue;
            used.push_back(argument);
            if (!argument.type->isNullable()) break;
        }
        return used;
    }

    std::shared_ptr<const FunctionContext> context_;
};

class IfNull final : public SimpleFunction {
public:
    explicit IfNull(Context context) : SimpleFunction("ifNull", choosing()), context_(context) {}

    TypePtr resultType(Arguments arguments) const override {
        checkArgumentCount(name_, arguments, 2, 2);
        if (isNullOnly(arguments[0].type)) return arguments[1].type;
        if (!isNullableOrLowCardinalityNullable(arguments[0].type)) return arguments[0].type;
        const NamedColumn bare[] = {{"", removeNullable(removeLowCardinality(arguments[0].type)), nullptr},
                                    arguments[1]};
        return commonBranchType(bare);
    }

    ColumnPtr execute(Arguments arguments, const TypePtr&, size_t rows) const override {
        if (isNullOnly(arguments[0].type)) return arguments[1].column;
        if (!isNullableOrLowCardinalityNullable(arguments[0].type)) return arguments[0].column;
        return call("coalesce", {withoutDictionary(arguments[0]), withoutDictionary(arguments[1])}, rows,
                    context_)
            .column;
    }

private:
    std::shared_ptr<const FunctionContext> context_;
};

class NullIf final : public SimpleFunction {
public:
    explicit NullIf(Context context) : SimpleFunction("nullIf", choosingByKey()), context_(context) {}

    TypePtr resultType(Arguments arguments) const override {
        checkArgumentCount(name_, arguments, 2, 2);
        if (!isNullOnly(arguments[0].type) && !isNullOnly(arguments[1].type))
            resolveFunction("equals", arguments, context_);
        return makeNullable(arguments[0].type);
    }

    ColumnPtr execute(Arguments arguments, const TypePtr& result_type, size_t rows) const override {
        const ColumnPtr values = castColumn(arguments[0], result_type);
        if (isNullOnly(arguments[0].type) || isNullOnly(arguments[1].type) || !result_type->isNullable())
            return values;
        const NamedColumn equal = call("equals", {arguments[0], arguments[1]}, rows, context_);
        PodVector<uint8_t> holds(rows);
        conditionOf(equal, holds);
        const ColumnPtr plain = full(values);
        const auto& nullable = as<NullableColumn>(*plain);
        Mask nulls(nullable.nulls());
        for (size_t i = 0; i < rows; ++i) nulls[i] |= holds[i];
        return std::make_shared<NullableColumn>(nullable.values(), std::move(nulls));
    }

private:
    std::shared_ptr<const FunctionContext> context_;
};

class FirstNonDefault final : public SimpleFunction {
public:
    explicit FirstNonDefault(Context context)
        : SimpleFunction("firstNonDefault", choosing()), context_(context) {}

    TypePtr resultType(Arguments arguments) const override {
        if (arguments.empty())
            throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                        "Function {} needs at least one argument", name_);
        return commonBranchType(arguments);
    }

    ColumnPtr execute(Arguments arguments, const TypePtr& result_type, size_t rows) const override {
        std::vector<ColumnPtr> branches;
        PodVector<uint8_t> which(rows, static_cast<uint8_t>(arguments.size() - 1));
        PodVector<uint8_t> open(rows, 1);
        for (size_t i = 0; i < arguments.size(); ++i) {
            const NamedColumn plain = withoutDictionary(arguments[i]);
            branches.push_back(full(castColumn(plain, result_type)));
            // The default of a Nullable is NULL.
            const ColumnPtr own = full(plain.column);
            for (size_t row = 0; row < rows; ++row) {
                if (!open[row] || own->isDefaultAt(row)) continue;
                which[row] = static_cast<uint8_t>(i);
                open[row] = 0;
            }
        }
        return selectRows(branches, which.span());
    }

private:
    std::shared_ptr<const FunctionContext> context_;
};

template <typename F>
FunctionPtr make(Context context) {
    return std::make_shared<F>(context);
}

constexpr FunctionInfo kFunctions[] = {
    {.name = "if",
     .create = [](Context c) -> FunctionPtr { return std::make_shared<MultiIf>("if", c); },
     .syntax = "if(condition, then, else)",
     .description = "One of two values.",
     .example = "if(1, 'yes', 'no')",
     .example_result = "yes"},
    {.name = "multiIf",
     .create = [](Context c) -> FunctionPtr { return std::make_shared<MultiIf>("multiIf", c); },
     .syntax = "multiIf(condition, then, …, else)",
     .description = "The value behind the first condition that holds.",
     .example = "multiIf(0, 'a', 1, 'b', 'c')",
     .example_result = "b"},
    {.name = "caseWithExpression",
     .create = make<CaseWithExpression>,
     .syntax = "caseWithExpression(value, when, then, …, else)",
     .description = "The value behind the first that equals: CASE value WHEN … THEN … END.",
     .example = "caseWithExpression(3, 1, 'one', 3, 'three', 'many')",
     .example_result = "three"},
    {.name = "isNull",
     .create = [](Context) -> FunctionPtr {
         return std::make_shared<NullTest>("isNull", NullTest::Kind::Null);
     },
     .syntax = "isNull(value)",
     .description = "1 for NULL.",
     .example = "isNull(NULL)",
     .example_result = "1"},
    {.name = "isNotNull",
     .create = [](Context) -> FunctionPtr {
         return std::make_shared<NullTest>("isNotNull", NullTest::Kind::NotNull);
     },
     .syntax = "isNotNull(value)",
     .description = "1 for all but NULL.",
     .example = "isNotNull(NULL)",
     .example_result = "0"},
    {.name = "isZeroOrNull",
     .create = [](Context) -> FunctionPtr {
         return std::make_shared<NullTest>("isZeroOrNull", NullTest::Kind::ZeroOrNull);
     },
     .syntax = "isZeroOrNull(number)",
     .description = "1 for zero and NULL.",
     .example = "isZeroOrNull(0)",
     .example_result = "1"},
    {.name = "isNullable",
     .create = [](Context) -> FunctionPtr { return std::make_shared<IsNullable>(); },
     .syntax = "isNullable(value)",
     .description = "1 when the type may hold NULL.",
     .example = "isNullable(NULL)",
     .example_result = "1"},
    {.name = "toNullable",
     .create = [](Context) -> FunctionPtr { return std::make_shared<ToNullable>(); },
     .syntax = "toNullable(value)",
     .description = "The value in a type that may hold NULL.",
     .example = "toTypeName(toNullable(1))",
     .example_result = "Nullable(UInt8)"},
    {.name = "assumeNotNull",
     .create = [](Context) -> FunctionPtr { return std::make_shared<AssumeNotNull>(); },
     .syntax = "assumeNotNull(value)",
     .description = "The value in a type without NULL; any value for NULL.",
     .example = "toTypeName(assumeNotNull(toNullable(1)))",
     .example_result = "UInt8"},
    {.name = "ifNull",
     .create = make<IfNull>,
     .syntax = "ifNull(value, alternative)",
     .description = "The alternative for NULL.",
     .example = "ifNull(NULL, 5)",
     .example_result = "5"},
    {.name = "nullIf",
     .create = make<NullIf>,
     .syntax = "nullIf(value, other)",
     .description = "NULL when both are equal, else the value.",
     .example = "nullIf(1, 1)",
     .example_result = "NULL"},
    {.name = "coalesce",
     .create = make<Coalesce>,
     .syntax = "coalesce(value, …)",
     .description = "The first value that is not NULL.",
     .example = "coalesce(NULL, 2, 3)",
     .example_result = "2"},
    {.name = "firstNonDefault",
     .create = make<FirstNonDefault>,
     .syntax = "firstNonDefault(value, …)",
     .description = "The first value that is neither NULL nor its type's default.",
     .example = "firstNonDefault(0, 3, 5)",
     .example_result = "3"},
};

}  // namespace

std::span<const FunctionInfo> conditionalFunctions() { return kFunctions; }

}  // namespace shardd::functions
