#include <algorithm>
#include <deque>

#include "common/columns/const_column.h"
#include "common/columns/create_column.h"
#include "common/columns/fixed_column.h"
#include "common/columns/nullable_column.h"
#include "common/types/type_parser.h"
#include "server/formats/time_text.h"
#include "server/functions/column_tools.h"
#include "server/functions/convert.h"
#include "server/functions/convert_kernels.h"
#include "server/functions/function_list.h"
#include "server/functions/simple_function.h"

/// CAST and its kin, and toInt32(), toDate(), toString() … with OrZero, OrNull and OrDefault.
namespace shardd::functions {

namespace {

using Context = const std::shared_ptr<const FunctionContext>&;

std::shared_ptr<const FunctionContext> orDefault(Context context) {
    return context ? context : std::make_shared<const FunctionContext>();
}

/// Whether the conversion exists at all: an empty column is converted.
void checkConversion(const TypePtr& from, const TypePtr& to, const ConvertRules& rules) {
    if (from->kind() == TypeKind::Lambda || from->kind() == TypeKind::Set)
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, "Illegal type {} of argument of function {}",
                    from->name(), rules.function);
    castWith({"", from, ColumnPtr(createColumn(*from))}, to, rules);
}

enum class CastKind : uint8_t { Plain, Accurate, OrNull, OrDefault };

class Cast final : public SimpleFunction {
public:
    Cast(std::string name, CastKind kind, Context context)
        : SimpleFunction(std::move(name),
                         Traits{.default_nulls = false,
                                .default_low_cardinality = false,
                                .may_throw = kind == CastKind::Plain || kind == CastKind::Accurate,
                                .constant_arguments = {1},
                                .sees_constants = true}),
          kind_(kind),
          context_(orDefault(context)) {}

    TypePtr resultType(Arguments arguments) const override {
        checkArgumentCount(name_, arguments, 2, kind_ == CastKind::OrDefault ? 3 : 2);
        const auto text = constantValue(arguments[1]);
        if (!text || text->kind() != Value::Kind::String)
            throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                        "Second argument to {} must be a constant string describing type", name_);
        const TypePtr type = parseType(text->get<std::string>());
        if (kind_ == CastKind::Plain || kind_ == CastKind::Accurate) {
            ConvertRules rules(*context_);
            rules.function = name_;
            const bool null =
                arguments[0].type->isNullable() && arguments[0].type->child()->kind() == TypeKind::Nothing;
            if (!null || isNullableOrLowCardinalityNullable(type))
                checkConversion(arguments[0].type, type, rules);
            if (null && !isNullableOrLowCardinalityNullable(type))
                throw Error(ErrorCode::CANNOT_CONVERT_TYPE, "Cannot convert NULL to a non-nullable type");
            return type;
        }
        const TypePtr bare = removeNullable(removeLowCardinality(type));
        if (!bare->canBeInsideNullable())
            throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                        "Type {} is not supported for {} because it cannot be inside Nullable", type->name(),
                        name_);
        if (kind_ == CastKind::OrNull) return accurateCastOrNullType(type);
        if (arguments.size() == 3 && !sameType(arguments[2].type, type))
            throw Error(ErrorCode::BAD_ARGUMENTS,
                        "Default value type should be same as cast type. Expected {}. Actual {}",
                        type->name(), arguments[2].type->name());
        return type;
    }

    ColumnPtr execute(Arguments arguments, const TypePtr& result_type, size_t) const override {
        if (kind_ == CastKind::Plain) return castColumn(arguments[0], result_type, *context_);
        if (kind_ == CastKind::Accurate) {
            ConvertRules rules(*context_);
            rules.accurate = true;
            rules.function = name_;
            return castWith(arguments[0], result_type, rules);
        }
        const ColumnPtr values = accurateCastOrNull(arguments[0], result_type, *context_);
        const TypePtr bare = removeNullable(removeLowCardinality(result_type));
        if (kind_ == CastKind::OrNull)
            return castColumn({"", types::nullable(bare), values}, result_type, *context_);
        return withDefaults(values, result_type, arguments.size() == 3 ? arguments[2].column : nullptr);
    }

    bool injective(Arguments arguments) const override {
        const auto text = arguments.size() > 1 ? constantValue(arguments[1]) : std::nullopt;
        return text && arguments[0].type->isInteger() && text->get<std::string>() == "String";
    }

    /// NULLs replaced by the row's default (the type's own where none is given).
    static ColumnPtr withDefaults(const ColumnPtr& nullable_values,
                                  const TypePtr& type,
                                  const ColumnPtr& given) {
        const auto& nullable = as<NullableColumn>(*nullable_values);
        const TypePtr bare = removeNullable(removeLowCardinality(type));
        MutableColumnPtr out = createColumn(*bare);
        const ColumnPtr defaults = given ? fullPlain(given) : nullptr;
        for (size_t i = 0; i < nullable.size(); ++i) {
            if (!nullable.nulls()[i])
                out->insertFrom(*nullable.values(), i);
            else if (defaults)
                out->insertFrom(*defaults, i);
            else
                insertDefaults(*bare, *out, 1);
        }
        return castColumn({"", bare, ColumnPtr(std::move(out))}, type);
    }

private:
    CastKind kind_;
    std::shared_ptr<const FunctionContext> context_;
};

// --- toT ---------------------------------------------------------------------------------------

struct Target {
    std::string_view name;  // "UInt8" of toUInt8
    TypeKind kind;
    /// Digits of a Decimal.
    unsigned precision = 0;
};

constexpr Target kTargets[] = {
    {"UInt8", TypeKind::UInt8},
    {"UInt16", TypeKind::UInt16},
    {"UInt32", TypeKind::UInt32},
    {"UInt64", TypeKind::UInt64},
    {"UInt128", TypeKind::UInt128},
    {"UInt256", TypeKind::UInt256},
    {"Int8", TypeKind::Int8},
    {"Int16", TypeKind::Int16},
    {"Int32", TypeKind::Int32},
    {"Int64", TypeKind::Int64},
    {"Int128", TypeKind::Int128},
    {"Int256", TypeKind::Int256},
    {"BFloat16", TypeKind::BFloat16},
    {"Float32", TypeKind::Float32},
    {"Float64", TypeKind::Float64},
    {"Decimal32", TypeKind::Decimal32, 9},
    {"Decimal64", TypeKind::Decimal64, 18},
    {"Decimal128", TypeKind::Decimal128, 38},
    {"Decimal256", TypeKind::Decimal256, 76},
    {"Date", TypeKind::Date},
    {"Date32", TypeKind::Date32},
    {"DateTime", TypeKind::DateTime},
    {"DateTime32", TypeKind::DateTime},
    {"DateTime64", TypeKind::DateTime64},
    {"Time", TypeKind::Time},
    {"Time64", TypeKind::Time64},
    {"UUID", TypeKind::UUID},
    {"IPv4", TypeKind::IPv4},
    {"IPv6", TypeKind::IPv6},
    {"Bool", TypeKind::Bool},
    {"String", TypeKind::String},
};

enum class Mode : uint8_t { Throw, OrZero, OrNull, OrDefault };

constexpr std::string_view kModeNames[] = {"", "OrZero", "OrNull", "OrDefault"};
constexpr size_t kModes = std::size(kModeNames);

class ToType final : public SimpleFunction {
public:
    ToType(const Target& target, Mode mode, Context context)
        : SimpleFunction("to" + std::string(target.name) + std::string(kModeNames[static_cast<size_t>(mode)]),
                         traitsFor(target, mode)),
          target_(target),
          mode_(mode),
          context_(orDefault(context)) {}

    TypePtr resultType(Arguments arguments) const override {
        const TypePtr type = targetType(arguments);
        if (mode_ == Mode::OrNull || mode_ == Mode::OrZero) {
            if (!arguments[0].type->isString()) failArgumentType(name_, arguments, 0);
            return mode_ == Mode::OrNull ? types::nullable(type) : type;
        }
        if (mode_ == Mode::OrDefault) {
            if (hasDefault(arguments) && !sameType(arguments.back().type, type))
                throw Error(ErrorCode::BAD_ARGUMENTS,
                            "Default value type should be same as cast type. Expected {}. Actual {}",
                            type->name(),
                            arguments.back().type->name());
            return type;
        }
        const TypePtr from = sourceOf(arguments).type;
        if (from->isNullable() && from->child()->kind() == TypeKind::Nothing) return from;
        // A text that may be NULL becomes NULL where it is no value.
        const TypePtr result = from->isNullable() ? types::nullable(type) : type;
        checkConversion(from, result, rules());
        return result;
    }

    ColumnPtr execute(Arguments arguments, const TypePtr& result_type, size_t rows) const override {
        const NamedColumn source = sourceOf(arguments);
        if (mode_ == Mode::Throw) return castWith(source, result_type, rules());
        const TypePtr bare = removeNullable(result_type);
        ConvertRules lenient = rules();
        lenient.plain_moments = true;
        if (mode_ == Mode::OrDefault) {
            lenient.accurate = true;
            return Cast::withDefaults(
                accurateCastOrNull(source, bare, lenient), bare, hasDefault(arguments) ? arguments.back().column : nullptr);
        }
        Mask bad(rows, 0);
        lenient.bad = &bad;
        ColumnPtr values = full(castWith({"", source.type, full(source.column)}, bare, lenient));
        if (mode_ == Mode::OrNull) return std::make_shared<NullableColumn>(std::move(values), std::move(bad));
        return target_.kind == TypeKind::Date32 ? withFirstDate(values, bad) : values;
    }

    bool injective(Arguments arguments) const override {
        return target_.kind == TypeKind::String && !arguments.empty() &&
               (arguments[0].type->isInteger() || arguments[0].type->isDate());
    }

private:
    static Traits traitsFor(const Target& target, Mode mode) {
        Traits traits{.may_throw = mode == Mode::Throw && target.kind != TypeKind::String,
                      .sees_constants = true};
        // Bool alone does not make NULLs of bad texts.
        traits.default_nulls = mode == Mode::OrZero || mode == Mode::OrNull || target.kind == TypeKind::Bool;
        if (target.kind >= TypeKind::Decimal32 && target.kind <= TypeKind::Decimal256)
            traits.constant_arguments = {1};
        return traits;
    }

    ConvertRules rules() const {
        ConvertRules result(*context_);
        result.function = name_;
        return result;
    }

    /// The zero of a Date32 is its first day.
    static ColumnPtr withFirstDate(const ColumnPtr& values, const Mask& bad) {
        PodVector<int32_t> out(as<FixedColumn<int32_t>>(*values).values());
        for (size_t i = 0; i < out.size(); ++i)
            if (bad[i]) out[i] = formats::kFirstDate32;
        return std::make_shared<FixedColumn<int32_t>>(std::move(out));
    }

    bool takesZone() const {
        return target_.kind == TypeKind::DateTime || target_.kind == TypeKind::DateTime64 ||
               target_.kind == TypeKind::Date || target_.kind == TypeKind::Date32 ||
               target_.kind == TypeKind::String;
    }

    bool takesScale() const {
        return target_.precision != 0 || target_.kind == TypeKind::DateTime64 ||
               target_.kind == TypeKind::Time64;
    }

    /// Where the zone would stand.
    size_t zoneIndex() const { return takesScale() ? 2 : 1; }

    bool hasDefault(Arguments arguments) const {
        if (mode_ != Mode::OrDefault) return false;
        const size_t fixed = zoneIndex();
        if (arguments.size() <= fixed) return false;
        return !(arguments.size() == fixed + 1 && hasZone(arguments));
    }

    bool hasZone(Arguments arguments) const {
        if (!takesZone() || arguments.size() <= zoneIndex()) return false;
        return arguments[zoneIndex()].type->isString();
    }

    void checkCount(Arguments arguments) const {
        size_t most = 1;
        size_t least = 1;
        if (takesScale()) most = least = 2;
        if (target_.kind == TypeKind::Time64) least = 2;
        if (takesZone()) ++most;
        if (mode_ == Mode::OrDefault) ++most;
        checkArgumentCount(name_, arguments, least, most);
    }

    unsigned scaleOf(Arguments arguments) const {
        const auto value = constantValue(arguments[1]);
        if (!value)
            throw Error(ErrorCode::ILLEGAL_COLUMN, "Scale argument of function {} must be a constant", name_);
        if (value->kind() != Value::Kind::UInt64 && value->kind() != Value::Kind::Int64)
            failArgumentType(name_, arguments, 1);
        const auto scale = value->to<int64_t>();
        if (scale < 0 || scale > 76)
            throw Error(ErrorCode::ARGUMENT_OUT_OF_BOUND, "Scale {} of function {} is out of bounds", scale,
                        name_);
        return static_cast<unsigned>(scale);
    }

    std::string zoneName(Arguments arguments) const {
        if (hasZone(arguments)) {
            const std::string zone = constantText(name_, arguments, zoneIndex());
            TimeZone::get(zone);
            return zone;
        }
        const TypePtr& from = arguments[0].type;
        return from->kind() == TypeKind::DateTime || from->kind() == TypeKind::DateTime64 ? from->timeZone()
                                                                                          : std::string();
    }

    TypePtr targetType(Arguments arguments) const {
        checkCount(arguments);
        switch (target_.kind) {
            case TypeKind::Decimal32:
            case TypeKind::Decimal64:
            case TypeKind::Decimal128:
            case TypeKind::Decimal256:
                return types::decimal(target_.precision, scaleOf(arguments));
            case TypeKind::DateTime:
                checkZone(arguments);
                return types::dateTime(zoneName(arguments));
            case TypeKind::DateTime64:
                checkZone(arguments);
                return types::dateTime64(scaleOf(arguments), zoneName(arguments));
            case TypeKind::Time64:
                return types::time64(scaleOf(arguments));
            case TypeKind::String: {
                const TypeKind from = arguments[0].type->kind();
                if (arguments.size() > 1 && mode_ == Mode::Throw && from != TypeKind::DateTime &&
                    from != TypeKind::DateTime64 && from != TypeKind::Nothing)
                    throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                                "Number of arguments for function {} doesn't match: passed {}, should be 1",
                                name_, arguments.size());
                return types::string();
            }
            default:
                checkZone(arguments);
                return types::simple(target_.kind);
        }
    }

    void checkZone(Arguments arguments) const {
        if (mode_ == Mode::OrDefault || !takesZone() || arguments.size() <= zoneIndex()) return;
        if (!arguments[zoneIndex()].type->isString()) failArgumentType(name_, arguments, zoneIndex());
    }

    /// The argument, with the zone given beside it in place of its own: dates are days there.
    NamedColumn sourceOf(Arguments arguments) const {
        NamedColumn source = arguments[0];
        if (!hasZone(arguments) || target_.kind == TypeKind::DateTime || target_.kind == TypeKind::DateTime64)
            return source;
        const std::string zone = constantText(name_, arguments, zoneIndex());
        if (source.type->kind() == TypeKind::DateTime) source.type = types::dateTime(zone);
        if (source.type->kind() == TypeKind::DateTime64)
            source.type = types::dateTime64(source.type->scale(), zone);
        return source;
    }

    Target target_;
    Mode mode_;
    std::shared_ptr<const FunctionContext> context_;
};

template <size_t kIndex>
FunctionPtr createToType(Context context) {
    return std::make_shared<ToType>(kTargets[kIndex / kModes], static_cast<Mode>(kIndex % kModes), context);
}

/// Names live as long as the program; not every mode exists for every target.
template <size_t... kIndexes>
void appendToTypes(std::vector<FunctionInfo>& list, std::index_sequence<kIndexes...>) {
    static std::deque<std::string> names;
    const auto append = [&](size_t index, FunctionPtr (*create)(Context)) {
        const Target& target = kTargets[index / kModes];
        const auto mode = static_cast<Mode>(index % kModes);
        const bool plain_only =
            target.kind == TypeKind::String || target.kind == TypeKind::Bool || target.name == "DateTime32";
        if (plain_only && mode != Mode::Throw) return;
        names.push_back("to" + std::string(target.name) + std::string(kModeNames[index % kModes]));
        FunctionInfo info{.name = names.back(), .create = create};
        info.description = mode == Mode::Throw    ? "Converts its argument to the type of its name."
                           : mode == Mode::OrZero ? "Converts a text, to zero where it is no such value."
                           : mode == Mode::OrNull
                               ? "Converts a text, to NULL where it is no such value."
                               : "Converts its argument, to a default where it has no such value.";
        list.push_back(info);
    };
    (append(kIndexes, createToType<kIndexes>), ...);
}

// --- the rest ----------------------------------------------------------------------------------

constexpr std::string_view kUnits[] = {"Nanosecond", "Microsecond", "Millisecond", "Second",
                                       "Minute",     "Hour",        "Day",         "Week",
                                       "Month",      "Quarter",     "Year"};

/// toIntervalDay(n).
class ToInterval final : public SimpleFunction {
public:
    explicit ToInterval(size_t unit)
        : SimpleFunction("toInterval" + std::string(kUnits[unit]),
                         Traits{.may_throw = true, .sees_constants = true}),
          unit_(static_cast<IntervalUnit>(unit)) {}

    TypePtr resultType(Arguments arguments) const override {
        checkArgumentCount(name_, arguments, 1, 1);
        const Type& from = *arguments[0].type;
        if (!from.isNumber() && !from.isString() && from.kind() != TypeKind::Interval)
            failArgumentType(name_, arguments, 0);
        return types::interval(unit_);
    }

    ColumnPtr execute(Arguments arguments, const TypePtr& result_type, size_t) const override {
        return castColumn(arguments[0], result_type);
    }

private:
    IntervalUnit unit_;
};

template <size_t kUnit>
FunctionPtr createToInterval(Context) {
    return std::make_shared<ToInterval>(kUnit);
}

template <size_t... kIndexes>
void appendIntervals(std::vector<FunctionInfo>& list, std::index_sequence<kIndexes...>) {
    static std::deque<std::string> names;
    const auto append = [&](size_t unit, FunctionPtr (*create)(Context)) {
        names.push_back("toInterval" + std::string(kUnits[unit]));
        FunctionInfo info{.name = names.back(), .create = create};
        info.description = "A number as an interval of that unit.";
        list.push_back(info);
    };
    (append(kIndexes, createToInterval<kIndexes>), ...);
}

/// toInterval(n, 'day').
class ToIntervalOfUnit final : public SimpleFunction {
public:
    explicit ToIntervalOfUnit()
        : SimpleFunction("toInterval", Traits{.constant_arguments = {1}, .sees_constants = true}) {}

    TypePtr resultType(Arguments arguments) const override {
        checkArgumentCount(name_, arguments, 2, 2);
        if (!arguments[0].type->isNumber()) failArgumentType(name_, arguments, 0);
        std::string wanted = constantText(name_, arguments, 1);
        for (char& c : wanted) c = formats::toLower(c);
        if (!wanted.empty() && wanted.back() == 's') wanted.pop_back();
        for (size_t unit = 0; unit < std::size(kUnits); ++unit) {
            std::string known(kUnits[unit]);
            known[0] = formats::toLower(known[0]);
            if (known == wanted) return types::interval(static_cast<IntervalUnit>(unit));
        }
        throw Error(ErrorCode::BAD_ARGUMENTS, "Unknown interval unit {}", wanted);
    }

    ColumnPtr execute(Arguments arguments, const TypePtr& result_type, size_t) const override {
        return castColumn(arguments[0], result_type);
    }
};

class ToFixedString final : public SimpleFunction {
public:
    ToFixedString()
        : SimpleFunction("toFixedString",
                         Traits{.may_throw = true, .constant_arguments = {1}, .sees_constants = true}) {}

    TypePtr resultType(Arguments arguments) const override {
        checkArgumentCount(name_, arguments, 2, 2);
        const auto size = constantValue(arguments[1]);
        if (!size || size->kind() != Value::Kind::UInt64) failArgumentType(name_, arguments, 1);
        if (!arguments[0].type->isString())
            throw Error(ErrorCode::NOT_IMPLEMENTED, "{} is only implemented for types String and FixedString",
                        name_);
        return types::fixedString(size->to<uint64_t>());
    }

    ColumnPtr execute(Arguments arguments, const TypePtr& result_type, size_t) const override {
        return castColumn(arguments[0], result_type);
    }
};

class ToLowCardinality final : public SimpleFunction {
public:
    ToLowCardinality()
        : SimpleFunction(
              "toLowCardinality",
              Traits{.default_nulls = false, .default_low_cardinality = false, .sees_constants = true}) {}

    TypePtr resultType(Arguments arguments) const override {
        checkArgumentCount(name_, arguments, 1, 1);
        return arguments[0].type->isLowCardinality() ? arguments[0].type
                                                     : types::lowCardinality(arguments[0].type);
    }

    ColumnPtr execute(Arguments arguments, const TypePtr& result_type, size_t) const override {
        return castColumn(arguments[0], result_type);
    }
};

constexpr FunctionInfo kFunctions[] = {
    {.name = "CAST",
     .create = [](Context c) -> FunctionPtr { return std::make_shared<Cast>("CAST", CastKind::Plain, c); },
     .case_insensitive = true,
     .syntax = "CAST(value, 'type')",
     .description = "Converts a value to a type.",
     .example = "CAST(1, 'String')",
     .example_result = "1"},
    {.name = "_CAST",
     .create = [](Context c) -> FunctionPtr { return std::make_shared<Cast>("_CAST", CastKind::Plain, c); },
     .syntax = "_CAST(value, 'type')",
     .description = "CAST as servers write it to each other.",
     .example = "_CAST(1, 'UInt16')",
     .example_result = "1"},
    {.name = "accurateCast",
     .create = [](Context c) -> FunctionPtr {
         return std::make_shared<Cast>("accurateCast", CastKind::Accurate, c);
     },
     .syntax = "accurateCast(value, 'type')",
     .description = "As CAST, refusing values that the type cannot hold.",
     .example = "accurateCast(5, 'Int8')",
     .example_result = "5"},
    {.name = "accurateCastOrNull",
     .create = [](Context c) -> FunctionPtr {
         return std::make_shared<Cast>("accurateCastOrNull", CastKind::OrNull, c);
     },
     .syntax = "accurateCastOrNull(value, 'type')",
     .description = "As CAST, NULL for values that the type cannot hold.",
     .example = "accurateCastOrNull(300, 'UInt8')",
     .example_result = "NULL"},
    {.name = "accurateCastOrDefault",
     .create = [](Context c) -> FunctionPtr {
         return std::make_shared<Cast>("accurateCastOrDefault", CastKind::OrDefault, c);
     },
     .syntax = "accurateCastOrDefault(value, 'type'[, default])",
     .description = "As CAST, a default for values that the type cannot hold.",
     .example = "accurateCastOrDefault(300, 'UInt8', toUInt8(9))",
     .example_result = "9"},
    {.name = "toFixedString",
     .create = [](Context) -> FunctionPtr { return std::make_shared<ToFixedString>(); },
     .syntax = "toFixedString(text, size)",
     .description = "A text of exactly that many bytes, filled up with zero bytes.",
     .example = "toTypeName(toFixedString('abc', 5))",
     .example_result = "FixedString(5)"},
    {.name = "toLowCardinality",
     .create = [](Context) -> FunctionPtr { return std::make_shared<ToLowCardinality>(); },
     .syntax = "toLowCardinality(value)",
     .description = "The value in a type that keeps each distinct value once.",
     .example = "toTypeName(toLowCardinality('a'))",
     .example_result = "LowCardinality(String)"},
    {.name = "toInterval",
     .create = [](Context) -> FunctionPtr { return std::make_shared<ToIntervalOfUnit>(); },
     .syntax = "toInterval(number, unit)",
     .description = "A number as an interval of a unit.",
     .example = "toTypeName(toInterval(5, 'day'))",
     .example_result = "IntervalDay"},
};

}  // namespace

std::span<const FunctionInfo> convertFunctions() {
    static const std::vector<FunctionInfo> list = [] {
        std::vector<FunctionInfo> made(std::begin(kFunctions), std::end(kFunctions));
        appendToTypes(made, std::make_index_sequence<std::size(kTargets) * kModes>());
        appendIntervals(made, std::make_index_sequence<std::size(kUnits)>());
        return made;
    }();
    return list;
}

}  // namespace shardd::functions
