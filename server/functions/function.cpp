#include "server/functions/function.h"

#include <algorithm>

#include "common/base/error.h"
#include "common/columns/array_column.h"
#include "common/columns/const_column.h"
#include "common/columns/create_column.h"
#include "common/columns/dictionary_column.h"
#include "common/columns/nullable_column.h"
#include "common/columns/tuple_column.h"
#include "server/functions/column_tools.h"
#include "server/functions/function_list.h"
#include "server/functions/set.h"
#include "server/functions/simple_function.h"

namespace shardd::functions {

namespace {

bool isConstant(const NamedColumn& argument) {
    if (argument.type->kind() == TypeKind::Set) return true;
    return argument.column && argument.column->kind() == ColumnKind::Const;
}

bool isOnlyNull(const TypePtr& type) {
    return type->isNullable() && type->child()->kind() == TypeKind::Nothing;
}

bool hasDictionaryInside(const TypePtr& type) {
    if (type->isLowCardinality()) return true;
    return std::any_of(type->children().begin(), type->children().end(), hasDictionaryInside);
}

std::vector<NamedColumn> withoutDictionaries(Arguments arguments) {
    std::vector<NamedColumn> result(arguments.begin(), arguments.end());
    for (NamedColumn& argument : result) {
        if (!hasDictionaryInside(argument.type)) continue;
        if (argument.column) argument.column = writeOutDictionaries(argument.column, argument.type);
        argument.type = removeLowCardinalityRecursively(argument.type);
    }
    return result;
}

/// Whether the result is a dictionary: one argument is, and no other varies.
bool staysDictionary(Arguments arguments) {
    bool has_dictionary = false;
    size_t varying_dictionaries = 0;
    for (const NamedColumn& argument : arguments) {
        const bool dictionary = argument.type->isLowCardinality();
        has_dictionary |= dictionary;
        if (isConstant(argument)) continue;
        if (!dictionary) return false;
        ++varying_dictionaries;
    }
    return has_dictionary && varying_dictionaries <= 1;
}

TypePtr typeWithNulls(const Function& function, Arguments arguments) {
    const auto nothing = [](const NamedColumn& a) { return a.type->kind() == TypeKind::Nothing; };
    if (!function.traits().default_nulls) return function.resultType(arguments);
    if (std::any_of(arguments.begin(), arguments.end(), nothing)) return types::simple(TypeKind::Nothing);
    bool has_nullable = false;
    for (const NamedColumn& argument : arguments) {
        if (isOnlyNull(argument.type)) return types::nullable(types::simple(TypeKind::Nothing));
        has_nullable |= argument.type->isNullable();
    }
    if (!has_nullable) return function.resultType(arguments);
    std::vector<NamedColumn> bare(arguments.begin(), arguments.end());
    for (NamedColumn& argument : bare) {
        if (!argument.type->isNullable()) continue;
        argument.type = argument.type->child();
        if (argument.column) argument.column = valuesOfNullable(argument.column);
    }
    return makeNullable(function.resultType(bare));
}

TypePtr resolveType(const Function& function, Arguments arguments) {
    if (!function.traits().default_low_cardinality) return typeWithNulls(function, arguments);
    const auto dictionary = [](const NamedColumn& a) { return hasDictionaryInside(a.type); };
    if (std::none_of(arguments.begin(), arguments.end(), dictionary))
        return typeWithNulls(function, arguments);
    const TypePtr type = typeWithNulls(function, withoutDictionaries(arguments));
    if (staysDictionary(arguments) && canBeInsideLowCardinality(type)) return types::lowCardinality(type);
    return type;
}

// --- execution: each part of the frame calls the next -------------------------------------------

ColumnPtr runBare(const Function& function,
                  std::vector<NamedColumn> arguments,
                  const TypePtr& result_type,
                  size_t rows) {
    const Traits& traits = function.traits();
    if (!traits.sees_constants) {
        for (size_t i = 0; i < arguments.size(); ++i) {
            const auto& kept = traits.constant_arguments;
            if (std::find(kept.begin(), kept.end(), i) == kept.end() &&
                arguments[i].type->kind() != TypeKind::Set)
                arguments[i].column = full(arguments[i].column);
        }
    }
    return function.execute(arguments, result_type, rows);
}

/// Rows with a NULL are left out while `function` runs, because it may throw on what lies under a NULL.
ColumnPtr runOnRowsWithoutNull(const Function& function,
                               std::vector<NamedColumn> arguments,
                               const TypePtr& bare_type,
                               Mask nulls) {
    Mask keep(nulls.size());
    size_t kept = 0;
    for (size_t i = 0; i < nulls.size(); ++i) kept += keep[i] = nulls[i] == 0;
    for (NamedColumn& argument : arguments) argument.column = argument.column->filter(keep.span(), kept);
    MutableColumnPtr values = createColumn(*bare_type);
    values->reserve(nulls.size());
    if (kept != 0) {
        const ColumnPtr some = full(runBare(function, std::move(arguments), bare_type, kept));
        for (size_t row = 0, from = 0; row < nulls.size();) {
            size_t end = row;
            while (end < nulls.size() && nulls[end] == nulls[row]) ++end;
            if (nulls[row]) {
                values->insertDefault(end - row);
            } else {
                values->insertRange(*some, from, end - row);
                from += end - row;
            }
            row = end;
        }
    } else {
        values->insertDefault(nulls.size());
    }
    return std::make_shared<NullableColumn>(ColumnPtr(std::move(values)), std::move(nulls));
}

ColumnPtr defaults(const TypePtr& type, size_t rows) {
    MutableColumnPtr column = createColumn(*type);
    column->insertDefault(rows);
    return column;
}

ColumnPtr runWithNulls(const Function& function,
                       std::vector<NamedColumn> arguments,
                       const TypePtr& result_type,
                       size_t rows) {
    const auto nullable = [](const NamedColumn& a) { return a.type->isNullable(); };
    if (function.traits().default_nulls && result_type->kind() == TypeKind::Nothing)
        return defaults(result_type, rows);
    if (!function.traits().default_nulls || std::none_of(arguments.begin(), arguments.end(), nullable))
        return runBare(function, std::move(arguments), result_type, rows);
    Mask nulls(rows, 0);
    size_t count = 0;
    for (NamedColumn& argument : arguments) {
        if (!argument.type->isNullable()) continue;
        if (isOnlyNull(argument.type)) return createConstColumn(*result_type, Value(), rows);
        argument.type = argument.type->child();
        if (argument.column->kind() == ColumnKind::Const) {
            if (argument.column->isNullAt(0)) return createConstColumn(*result_type, Value(), rows);
        } else {
            const Mask& mine = as<NullableColumn>(*argument.column).nulls();
            for (size_t i = 0; i < rows; ++i) nulls[i] |= mine[i];
        }
        argument.column = valuesOfNullable(argument.column);
    }
    for (size_t i = 0; i < rows; ++i) count += nulls[i];
    if (!result_type->isNullable()) return runBare(function, std::move(arguments), result_type, rows);
    const TypePtr& bare_type = result_type->child();
    if (count != 0 && function.traits().may_throw)
        return runOnRowsWithoutNull(function, std::move(arguments), bare_type, std::move(nulls));
    // What the function says is NULL already (…OrNull) keeps its own map.
    const ColumnPtr values = full(runBare(function, std::move(arguments), bare_type, rows));
    if (values->kind() != ColumnKind::Nullable)
        return std::make_shared<NullableColumn>(values, std::move(nulls));
    const auto& inner = as<NullableColumn>(*values);
    for (size_t i = 0; i < rows; ++i) nulls[i] |= inner.nulls()[i];
    return std::make_shared<NullableColumn>(inner.values(), std::move(nulls));
}

ColumnPtr runWithConstants(const Function& function,
                           std::vector<NamedColumn> arguments,
                           const TypePtr& result_type,
                           size_t rows) {
    const Traits& traits = function.traits();
    for (const size_t i : traits.constant_arguments)
        if (i < arguments.size() && !isConstant(arguments[i]))
            throw Error(ErrorCode::ILLEGAL_COLUMN,
                        "Argument {} of function {} must be a constant, but it is a column of type {}", i + 1,
                        function.name(), arguments[i].type->name());
    if (!traits.default_constants || arguments.empty() ||
        !std::all_of(arguments.begin(), arguments.end(), isConstant))
        return runWithNulls(function, std::move(arguments), result_type, rows);
    for (size_t i = 0; i < arguments.size(); ++i) {
        const auto& kept = traits.constant_arguments;
        if (arguments[i].type->kind() == TypeKind::Set) continue;
        const ColumnPtr one = as<ConstColumn>(*arguments[i].column).one();
        const bool keep = traits.sees_constants || std::find(kept.begin(), kept.end(), i) != kept.end();
        arguments[i].column = keep ? std::make_shared<ConstColumn>(one, 1) : one;
    }
    ColumnPtr one = full(runWithNulls(function, std::move(arguments), result_type, 1));
    return std::make_shared<ConstColumn>(std::move(one), rows);
}

ColumnPtr runOnDictionary(const Function& function,
                          Arguments arguments,
                          const TypePtr& result_type,
                          size_t rows) {
    const TypePtr plain_type = result_type->child();
    const auto varying =
        std::find_if(arguments.begin(), arguments.end(), [](const NamedColumn& a) { return !isConstant(a); });
    // Keys that no row uses are computed too; what may throw on them is computed a row instead.
    if (varying == arguments.end() || function.traits().may_throw ||
        varying->column->kind() != ColumnKind::Dictionary) {
        const ColumnPtr plain = runWithConstants(function, withoutDictionaries(arguments), plain_type, rows);
        return makeDictionary(plain, plain_type);
    }
    const auto index = static_cast<size_t>(varying - arguments.begin());
    const auto& dictionary = as<DictionaryColumn>(*varying->column);
    const bool small = dictionary.keys()->size() <= rows * 2 + 16;
    const ColumnPtr compacted = small ? varying->column : dictionary.compacted();
    const auto& source = as<DictionaryColumn>(*compacted);
    const size_t keys = source.keys()->size();
    std::vector<NamedColumn> bare(arguments.begin(), arguments.end());
    for (size_t i = 0; i < bare.size(); ++i) {
        bare[i].type = removeLowCardinalityRecursively(bare[i].type);
        if (i == index)
            bare[i].column = source.keysWithNull();
        else if (bare[i].type->kind() != TypeKind::Set)
            bare[i].column = writeOutDictionaries(bare[i].column->slice(0, rows ? 1 : 0), arguments[i].type);
        if (i != index && bare[i].column->kind() == ColumnKind::Const)
            bare[i].column = std::make_shared<ConstColumn>(as<ConstColumn>(*bare[i].column).one(), keys);
    }
    const ColumnPtr values = full(runWithConstants(function, std::move(bare), plain_type, keys));
    return remapDictionary(values, plain_type, source.codes());
}

}  // namespace

ColumnPtr ResolvedFunction::execute(Arguments arguments, size_t rows) const {
    const Function& function = *function_;
    if (!function.traits().default_low_cardinality) {
        std::vector<NamedColumn> all(arguments.begin(), arguments.end());
        return runWithConstants(function, std::move(all), result_type_, rows);
    }
    if (result_type_->isLowCardinality() && staysDictionary(arguments))
        return runOnDictionary(function, arguments, result_type_, rows);
    const TypePtr plain_type = result_type_->isLowCardinality() ? result_type_->child() : result_type_;
    const ColumnPtr result = runWithConstants(function, withoutDictionaries(arguments), plain_type, rows);
    return result_type_->isLowCardinality() ? makeDictionary(result, plain_type) : result;
}

std::optional<Value> constantValue(const NamedColumn& argument) {
    if (!argument.column || argument.column->kind() != ColumnKind::Const) return std::nullopt;
    return argument.column->value(0);
}

std::vector<TypePtr> Function::lambdaParameterTypes(Arguments, size_t, size_t) const {
    throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, "Function {} takes no lambda", name());
}

FunctionPtr findFunction(std::string_view name, const std::shared_ptr<const FunctionContext>& context) {
    const FunctionInfo* info = findFunctionInfo(name);
    if (info) return info->create(context);
    std::string hint;
    for (const std::string& near : similarFunctionNames(name))
        hint += (hint.empty() ? "'" : ", '") + near + "'";
    throw Error(ErrorCode::UNKNOWN_FUNCTION, "Function with name `{}` does not exist.{}", name,
                hint.empty() ? std::string() : " Maybe you meant: [" + hint + "]");
}

ResolvedFunctionPtr resolveFunction(std::string_view name,
                                    Arguments arguments,
                                    const std::shared_ptr<const FunctionContext>& context) {
    FunctionPtr function = findFunction(name, context);
    TypePtr type = resolveType(*function, arguments);
    std::vector<TypePtr> argument_types;
    argument_types.reserve(arguments.size());
    for (const NamedColumn& argument : arguments) argument_types.push_back(argument.type);
    return std::make_shared<ResolvedFunction>(std::move(function), std::move(argument_types),
                                              std::move(type));
}

void checkArgumentCount(const std::string& function, Arguments arguments, size_t least, size_t most) {
    if (arguments.size() >= least && arguments.size() <= most) return;
    const std::string wanted = least == most      ? std::to_string(least)
                               : most == SIZE_MAX ? "at least " + std::to_string(least)
                                                  : std::to_string(least) + " to " + std::to_string(most);
    throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                "Number of arguments for function {} doesn't match: passed {}, should be {}", function,
                arguments.size(), wanted);
}

void failArgumentType(const std::string& function, Arguments arguments, size_t index) {
    throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, "Illegal type {} of argument {} of function {}",
                arguments[index].type->name(), index + 1, function);
}

std::string constantText(const std::string& function, Arguments arguments, size_t index) {
    const auto value = constantValue(arguments[index]);
    if (!value)
        throw Error(ErrorCode::ILLEGAL_COLUMN, "Argument {} of function {} must be a constant string",
                    index + 1, function);
    if (value->kind() != Value::Kind::String) failArgumentType(function, arguments, index);
    return value->get<std::string>();
}

}  // namespace shardd::functions
