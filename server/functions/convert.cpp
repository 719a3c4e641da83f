#include "server/functions/convert.h"

#include <algorithm>

#include "common/columns/array_column.h"
#include "common/columns/const_column.h"
#include "common/columns/create_column.h"
#include "common/columns/fixed_column.h"
#include "common/columns/nullable_column.h"
#include "common/columns/state_column.h"
#include "common/columns/tuple_column.h"
#include "server/functions/column_tools.h"
#include "server/functions/convert_kernels.h"

namespace shardd::functions {

namespace {

bool isOnlyNull(const Type& type) { return type.isNullable() && type.child()->kind() == TypeKind::Nothing; }

bool isNested(const Type& type) {
    return type.kind() == TypeKind::Array || type.kind() == TypeKind::Tuple || type.kind() == TypeKind::Map;
}

[[noreturn]] void failMismatch(const char* to, const Type& from, const Type& target) {
    throw Error(
        ErrorCode::TYPE_MISMATCH,
        "CAST AS {} can only be performed from a type of the same shape. Left type: {}, right type: {}", to,
        from.name(), target.name());
}

ColumnPtr defaults(const Type& type, size_t rows) {
    MutableColumnPtr column = createColumn(type);
    insertDefaults(type, *column, rows);
    return column;
}

/// Rows of `some`, in order, where `nulls` is 0; defaults elsewhere.
ColumnPtr spread(const ColumnPtr& some, const Mask& nulls) {
    MutableColumnPtr out = some->cloneEmpty();
    out->reserve(nulls.size());
    for (size_t row = 0, from = 0; row < nulls.size();) {
        size_t end = row;
        while (end < nulls.size() && nulls[end] == nulls[row]) ++end;
        if (nulls[row]) {
            out->insertDefault(end - row);
        } else {
            out->insertRange(*some, from, end - row);
            from += end - row;
        }
        row = end;
    }
    return out;
}

class Caster {
public:
    explicit Caster(const ConvertRules& rules) : rules_(rules) {}

    ColumnPtr cast(const ColumnPtr& column, const TypePtr& from, const TypePtr& to) const {
        if (sameType(from, to)) return column;
        if (column->kind() == ColumnKind::Const && !rules_.bad) {
            const auto& constant = as<ConstColumn>(*column);
            return std::make_shared<ConstColumn>(cast(constant.one(), from, to), constant.size());
        }
        if (column->kind() == ColumnKind::Const) return cast(full(column), from, to);
        if (from->isLowCardinality()) return castDictionary(column, from, to);
        if (to->isLowCardinality()) return makeDictionary(cast(column, from, to->child()), to->child());
        if (from->isNullable()) return castNullable(column, from, to);
        if (to->isNullable()) return makeNullable(column, from, to);
        return castPlain(column, from, to);
    }

private:
    ColumnPtr castDictionary(const ColumnPtr& column, const TypePtr& from, const TypePtr& to) const {
        const ColumnPtr plain = writeOutDictionaries(column, from);
        return cast(plain, from->child(), to);
    }

    ColumnPtr castNullable(const ColumnPtr& column, const TypePtr& from, const TypePtr& to) const {
        const size_t rows = column->size();
        if (isOnlyNull(*from)) {
            if (to->isNullable()) return defaults(*to, rows);
            if (rows != 0 || !rules_.bad)
                throw Error(ErrorCode::CANNOT_CONVERT_TYPE, "Cannot convert NULL to a non-nullable type");
            return defaults(*to, rows);
        }
        const auto& nullable = as<NullableColumn>(*column);
        const Mask& nulls = nullable.nulls();
        const bool any_null = std::find(nulls.begin(), nulls.end(), 1) != nulls.end();
        if (to->isNullable()) {
            if (from->child()->isString() && !to->child()->isString() && !rules_.bad)
                return parseOrNull(nullable.values(), from->child(), to, nulls);
            return std::make_shared<NullableColumn>(
                castUnder(nullable.values(), from->child(), to->child(), nulls, any_null), nulls);
        }
        if (to->kind() == TypeKind::String && from->child()->kind() == TypeKind::Nothing)
            return defaults(*to, rows);
        if (any_null) {
            if (!rules_.bad)
                throw Error(ErrorCode::CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN,
                            "Cannot convert NULL value to non-Nullable type {}", to->name());
            for (size_t i = 0; i < rows; ++i) (*rules_.bad)[i] |= nulls[i];
        }
        return castUnder(nullable.values(), from->child(), to, nulls, any_null);
    }

    /// Values of rows that are not NULL; what lies under a NULL is not looked at.
    ColumnPtr castUnder(const ColumnPtr& values,
                        const TypePtr& from,
                        const TypePtr& to,
                        const Mask& nulls,
                        bool any_null) const {
        if (sameType(from, to)) return values;
        const bool never_throws = from->isInteger() && (to->isInteger() || to->isFloat()) && !rules_.accurate;
        if (!any_null || never_throws) return cast(values, from, to);
        Mask keep(nulls.size());
        for (size_t i = 0; i < nulls.size(); ++i) keep[i] = !nulls[i];
        const ColumnPtr some = values->filter(keep.span());
        if (!rules_.bad) return spread(cast(some, from, to), nulls);
        Mask bad(some->size(), 0);
        ConvertRules inner = rules_;
        inner.bad = &bad;
        const ColumnPtr result = spread(Caster(inner).cast(some, from, to), nulls);
        for (size_t i = 0, next = 0; i < nulls.size(); ++i)
            if (!nulls[i]) (*rules_.bad)[i] |= bad[next++];
        return result;
    }

    ColumnPtr makeNullable(const ColumnPtr& column, const TypePtr& from, const TypePtr& to) const {
        // A text that is no value becomes NULL, as from a file.
        if (from->isString() && !to->child()->isString() && !rules_.bad)
            return parseOrNull(column, from, to, Mask(column->size(), 0));
        return std::make_shared<NullableColumn>(cast(column, from, to->child()), Mask(column->size(), 0));
    }

    ColumnPtr parseOrNull(const ColumnPtr& column, const TypePtr& from, const TypePtr& to, Mask nulls) const {
        ConvertRules inner = rules_;
        inner.bad = &nulls;
        ColumnPtr values = Caster(inner).cast(column, from, to->child());
        return std::make_shared<NullableColumn>(std::move(values), std::move(nulls));
    }

    ColumnPtr castPlain(const ColumnPtr& column, const TypePtr& from, const TypePtr& to) const {
        if (from->kind() == TypeKind::Nothing) return defaults(*to, column->size());
        switch (to->kind()) {
            case TypeKind::String:
                return printColumn(column, from, rules_);
            case TypeKind::AggregateFunction:
                return castState(column, from, to);
            case TypeKind::Array:
                return castArray(column, from, to);
            case TypeKind::Tuple:
                return castTuple(column, from, to);
            case TypeKind::Map:
                return castMap(column, from, to);
            case TypeKind::Enum8:
            case TypeKind::Enum16:
                return castEnum(column, from, to);
            default:
                break;
        }
        if (from->isString()) return parseColumn(column, from, to, rules_);
        if (canConvertTimes(*from, *to)) return convertTimes(column, *from, *to, rules_);
        if (from->kind() == TypeKind::Interval && to->kind() == TypeKind::Interval)
            return castInterval(column, *from, *to);
        if (canConvertNumbers(*from, *to)) return convertNumbers(column, *from, *to, rules_);
        return castOthers(column, from, to);
    }

    ColumnPtr castState(const ColumnPtr& column, const TypePtr& from, const TypePtr& to) const {
        // Another argument is another state, though the name be the same; count() has one for all.
        if (from->kind() == TypeKind::AggregateFunction &&
            from->aggregate()->name() == to->aggregate()->name() &&
            (std::ranges::equal(from->aggregate()->argumentTypes(), to->aggregate()->argumentTypes(),
                                sameType) ||
             to->aggregate()->name() == "count"))
            return column;
        if (from->kind() != TypeKind::String)
            throw Error(ErrorCode::CANNOT_CONVERT_TYPE, "Conversion from {} to {} is not supported",
                        from->name(), to->name());
        MutableColumnPtr states = createColumn(*to);
        for (size_t i = 0; i < column->size(); ++i) states->insert(column->value(i));
        return states;
    }

    /// A text like "[1,2]" or "(1,'a')".
    ColumnPtr readNested(const ColumnPtr& column, const TypePtr& from, const TypePtr& to) const {
        const formats::ValueTextPtr reader = formats::valueText(to, rules_.text);
        MutableColumnPtr out = createColumn(*to);
        for (size_t i = 0; i < column->size(); ++i) {
            std::string_view text = column->bytesAt(i);
            if (from->kind() == TypeKind::FixedString) text = text.substr(0, text.find_last_not_of('\0') + 1);
            formats::TextInput in(text);
            Value value;
            const formats::TextResult result = reader->read(in, formats::TextStyle::Quoted, value);
            const auto stopped_at = static_cast<size_t>(in.position - text.data());
            if (result != ErrorCode::OK) formats::failText(result, text, stopped_at, to->name());
            if (!in.atEnd())
                throw Error(ErrorCode::UNEXPECTED_DATA_AFTER_PARSED_VALUE,
                            "Unexpected data '{}' after parsed {} value '{}'", text.substr(stopped_at),
                            to->name(), text.substr(0, stopped_at));
            out->insert(value);
        }
        return out;
    }

    ColumnPtr castArray(const ColumnPtr& column, const TypePtr& from, const TypePtr& to) const {
        if (from->isString()) return readNested(column, from, to);
        TypePtr element = from->kind() == TypeKind::Map ? types::tuple(from->children()) : nullptr;
        if (from->kind() == TypeKind::Array) element = from->child();
        if (!element) failMismatch("Array", *from, *to);
        const auto& array = as<ArrayColumn>(*column);
        return std::make_shared<ArrayColumn>(castInside(array.elements(), element, to->child()),
                                             array.ends());
    }

    /// Elements have rows of their own, so they cannot be marked bad.
    ColumnPtr castInside(const ColumnPtr& column, const TypePtr& from, const TypePtr& to) const {
        ConvertRules inner = rules_;
        inner.bad = nullptr;
        return full(Caster(inner).cast(column, from, to));
    }

    ColumnPtr castTuple(const ColumnPtr& column, const TypePtr& from, const TypePtr& to) const {
        if (from->isString()) return readNested(column, from, to);
        if (from->kind() != TypeKind::Tuple || from->children().size() != to->children().size())
            failMismatch("Tuple", *from, *to);
        std::vector<ColumnPtr> elements = as<TupleColumn>(*column).elements();
        for (size_t i = 0; i < elements.size(); ++i)
            elements[i] = castInside(elements[i], from->child(i), to->child(i));
        return std::make_shared<TupleColumn>(std::move(elements), column->size());
    }

    ColumnPtr castMap(const ColumnPtr& column, const TypePtr& from, const TypePtr& to) const {
        const TypePtr pair = types::tuple(to->children());
        if (from->kind() == TypeKind::Map ||
            (from->kind() == TypeKind::Array && from->child()->kind() == TypeKind::Tuple &&
             from->child()->children().size() == 2)) {
            const auto& array = as<ArrayColumn>(*column);
            const TypePtr element =
                from->kind() == TypeKind::Map ? types::tuple(from->children()) : from->child();
            return std::make_shared<ArrayColumn>(castInside(array.elements(), element, pair), array.ends());
        }
        // Keys and values side by side.
        const bool arrays = from->kind() == TypeKind::Tuple && from->children().size() == 2 &&
                            from->child(0)->kind() == TypeKind::Array &&
                            from->child(1)->kind() == TypeKind::Array;
        if (arrays) {
            const auto& tuple = as<TupleColumn>(*column);
            const auto& keys = as<ArrayColumn>(*tuple.element(0));
            const auto& values = as<ArrayColumn>(*tuple.element(1));
            if (!(keys.ends() == values.ends()))
                throw Error(ErrorCode::TYPE_MISMATCH,
                            "CAST AS Map from tuple requires arrays of the same size");
            std::vector<ColumnPtr> elements = {
                castInside(keys.elements(), from->child(0)->child(), to->child(0)),
                castInside(values.elements(), from->child(1)->child(), to->child(1))};
            const size_t count = elements[0]->size();
            return std::make_shared<ArrayColumn>(std::make_shared<TupleColumn>(std::move(elements), count),
                                                 keys.ends());
        }
        throw Error(ErrorCode::TYPE_MISMATCH,
                    "Unsupported types to CAST AS Map. Left type: {}, right type: {}", from->name(),
                    to->name());
    }

    ColumnPtr castEnum(const ColumnPtr& column, const TypePtr& from, const TypePtr& to) const {
        if (from->isString()) return parseColumn(column, from, to, rules_);
        if (from->isEnum()) {
            for (const auto& [name, number] : from->enumValues()) {
                const auto other = to->enumNumber(name);
                if (other && *other != number)
                    throw Error(ErrorCode::CANNOT_CONVERT_TYPE,
                                "Enum conversion changes value for element '{}' from {} to {}", name, number,
                                *other);
            }
        } else if (!from->isNumber()) {
            throw Error(ErrorCode::CANNOT_CONVERT_TYPE, "Conversion from {} to {} is not supported",
                        from->name(), to->name());
        }
        const bool narrow = to->kind() == TypeKind::Enum8;
        const ColumnPtr wide = convertNumbers(
            column,
            from->isEnum()
                ? *types::simple(from->kind() == TypeKind::Enum8 ? TypeKind::Int8 : TypeKind::Int16)
                : *from,
            *types::int64(), rules_);
        const auto& numbers = as<FixedColumn<int64_t>>(*wide).values();
        MutableColumnPtr out = createColumn(*to);
        for (const int64_t number : numbers) {
            const int64_t limit = narrow ? INT8_MAX : INT16_MAX;
            if (number > limit || number < -limit - 1)
                throw Error(ErrorCode::CANNOT_CONVERT_TYPE, "Value {} cannot be converted to enum type",
                            number);
            if (!to->enumName(static_cast<int16_t>(number)))
                throw Error(ErrorCode::UNKNOWN_ELEMENT_OF_ENUM, "Unexpected value {} in enum", number);
            out->insert(Value(number));
        }
        return out;
    }

    ColumnPtr castInterval(const ColumnPtr& column, const Type& from, const Type& to) const {
        // Nanoseconds of each unit; months count 30 days where a calendar is of no help.
        constexpr int64_t kNanoseconds[] = {1,
                                            1000,
                                            1000000,
                                            1000000000,
                                            60000000000,
                                            3600000000000,
                                            86400000000000,
                                            604800000000000,
                                            2592000000000000,
                                            7776000000000000,
                                            31536000000000000};
        const int64_t source = kNanoseconds[static_cast<size_t>(from.intervalUnit())];
        const int64_t target = kNanoseconds[static_cast<size_t>(to.intervalUnit())];
        const bool months =
            from.intervalUnit() >= IntervalUnit::Month && to.intervalUnit() >= IntervalUnit::Month;
        constexpr int64_t kMonths[] = {1, 3, 12};
        const int64_t a = months ? kMonths[static_cast<size_t>(from.intervalUnit()) - 8] : source;
        const int64_t b = months ? kMonths[static_cast<size_t>(to.intervalUnit()) - 8] : target;
        PodVector<int64_t> out(as<FixedColumn<int64_t>>(*column).values());
        for (int64_t& value : out)
            value = a >= b ? static_cast<int64_t>(static_cast<uint64_t>(value) * static_cast<uint64_t>(a / b))
                           : value / (b / a);
        return std::make_shared<FixedColumn<int64_t>>(std::move(out));
    }

    ColumnPtr castOthers(const ColumnPtr& column, const TypePtr& from, const TypePtr& to) const {
        const size_t rows = column->size();
        if (from->kind() == TypeKind::UUID && to->kind() == TypeKind::UInt128) {
            PodVector<UInt128> out(as<FixedColumn<UInt128>>(*column).values());
            for (UInt128& value : out) value = (value << 64) | (value >> 64);
            return std::make_shared<FixedColumn<UInt128>>(std::move(out));
        }
        if (from->kind() == TypeKind::IPv4 &&
            (to->kind() == TypeKind::UInt32 || to->kind() == TypeKind::UInt64))
            return convertNumbers(column, *types::simple(TypeKind::UInt32), *to, rules_);
        if (to->kind() == TypeKind::IPv4 && from->isInteger() && from->isUnsigned() && from->width() <= 8)
            return convertNumbers(column, *from, *types::simple(TypeKind::UInt32), rules_);
        if (from->kind() == TypeKind::IPv4 && to->kind() == TypeKind::IPv6) {
            const auto& values = as<FixedColumn<uint32_t>>(*column).values();
            PodVector<IPv6Bytes> out(rows);
            for (size_t i = 0; i < rows; ++i) {
                out[i] = IPv6Bytes{};
                out[i].bytes[10] = out[i].bytes[11] = 0xFF;
                for (unsigned byte = 0; byte < 4; ++byte)
                    out[i].bytes[12 + byte] = static_cast<uint8_t>(values[i] >> (24 - 8 * byte));
            }
            return std::make_shared<FixedColumn<IPv6Bytes>>(std::move(out));
        }
        if (from->kind() == TypeKind::IPv6 && to->kind() == TypeKind::IPv4) return castMappedAddress(column);
        if (isNested(*from))
            throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, "Illegal type {} of argument of function {}",
                        from->name(), rules_.function);
        throw Error(ErrorCode::NOT_IMPLEMENTED, "Conversion from {} to {} is not supported", from->name(),
                    to->name());
    }

    ColumnPtr castMappedAddress(const ColumnPtr& column) const {
        const auto& values = as<FixedColumn<IPv6Bytes>>(*column).values();
        PodVector<uint32_t> out(values.size());
        for (size_t i = 0; i < values.size(); ++i) {
            const auto& bytes = values[i].bytes;
            const bool mapped =
                std::all_of(bytes.begin(), bytes.begin() + 10, [](uint8_t b) { return b == 0; }) &&
                bytes[10] == 0xFF && bytes[11] == 0xFF;
            out[i] = 0;
            if (!mapped) {
                refuseRow(rules_, i, ErrorCode::CANNOT_CONVERT_TYPE,
                          "An IPv6 address is not in the IPv4 mapping block");
                continue;
            }
            for (unsigned byte = 0; byte < 4; ++byte) out[i] = out[i] << 8 | bytes[12 + byte];
        }
        return std::make_shared<FixedColumn<uint32_t>>(std::move(out));
    }

    ConvertRules rules_;
};

}  // namespace

ColumnPtr castColumn(const NamedColumn& argument, const TypePtr& type, const FunctionContext& context) {
    if (sameType(argument.type, type)) return argument.column;
    return Caster(ConvertRules(context)).cast(argument.column, argument.type, type);
}

ColumnPtr castWith(const NamedColumn& argument, const TypePtr& type, const ConvertRules& rules) {
    return Caster(rules).cast(argument.column, argument.type, type);
}

TypePtr accurateCastOrNullType(const TypePtr& type) {
    if (isNullableOrLowCardinalityNullable(type)) return type;
    if (type->isLowCardinality()) return types::lowCardinality(types::nullable(type->child()));
    return types::nullable(type);
}

ColumnPtr accurateCastOrNull(const NamedColumn& argument,
                             const TypePtr& type,
                             const FunctionContext& context) {
    return accurateCastOrNull(argument, type, ConvertRules(context));
}

ColumnPtr accurateCastOrNull(const NamedColumn& argument, const TypePtr& type, ConvertRules rules) {
    const TypePtr bare = removeNullable(removeLowCardinality(type));
    const ColumnPtr source = full(argument.column);
    Mask bad(source->size(), 0);
    rules.accurate = true;
    rules.bad = &bad;
    ColumnPtr values;
    if (isOnlyNull(*argument.type)) {
        values = defaults(*bare, source->size());
        bad.assign(source->size(), 1);
    } else if (sameType(removeNullable(argument.type), bare) && source->kind() == ColumnKind::Nullable) {
        values = valuesOfNullable(source);
        bad = as<NullableColumn>(*source).nulls();
    } else {
        values = full(Caster(rules).cast(source, argument.type, bare));
    }
    if (!bare->canBeInsideNullable()) return values;
    return std::make_shared<NullableColumn>(std::move(values), std::move(bad));
}

Value literalAs(const std::string& text, const TypePtr& type, const FunctionContext& context) {
    const formats::TextSettings settings{&TimeZone::get(context.time_zone)};
    const TypePtr bare = removeNullable(removeLowCardinality(type));
    const formats::ValueTextPtr reader = formats::valueText(bare, settings);
    formats::TextInput in(text);
    Value value;
    const auto style = isNested(*bare) ? formats::TextStyle::Quoted : formats::TextStyle::Plain;
    const formats::TextResult result = reader->read(in, style, value);
    const bool own_code = result != ErrorCode::OK && !bare->isInteger() && !bare->isDecimal();
    if (own_code)
        formats::failText(result, text, static_cast<size_t>(in.position - text.data()), bare->name());
    if (result != ErrorCode::OK || !in.atEnd())
        throw Error(ErrorCode::TYPE_MISMATCH, "Cannot convert string '{}' to type {}", text, bare->name());
    return value;
}

}  // namespace shardd::functions
