#include "common/types/type.h"

#include <algorithm>
#include <array>

#include <cctz/time_zone.h>

#include "common/base/error.h"
#include "common/types/type_list.h"

namespace shardd {

/// The only place that fills a Type.
struct TypeMaker {
    static std::shared_ptr<Type> make(TypeKind kind, std::string name) {
        std::shared_ptr<Type> type(new Type());
        type->kind_ = kind;
        type->name_ = std::move(name);
        return type;
    }

    static std::shared_ptr<Type> copy(const Type& type) { return std::shared_ptr<Type>(new Type(type)); }

    static void setName(Type& type, std::string name) { type.name_ = std::move(name); }

    static void setPrecision(Type& type, unsigned precision) { type.precision_ = precision; }

    static void setScale(Type& type, unsigned scale) { type.scale_ = scale; }

    static void setFixedSize(Type& type, size_t size) { type.fixed_size_ = size; }

    static void setTimeZone(Type& type, std::string zone) { type.time_zone_ = std::move(zone); }

    static void setChildren(Type& type, std::vector<TypePtr> children) { type.children_ = std::move(children); }

    static void setElementNames(Type& type, std::vector<std::string> names) { type.element_names_ = std::move(names); }

    static void setEnumValues(Type& type, std::vector<std::pair<std::string, int16_t>> values) {
        type.enum_values_ = std::move(values);
    }

    static void setUnit(Type& type, IntervalUnit unit) { type.interval_unit_ = unit; }

    static void setAggregate(Type& type, AggregateOpsPtr ops) { type.aggregate_ = std::move(ops); }

    static void setSimpleAggregate(Type& type, std::string function) { type.simple_aggregate_ = std::move(function); }
};

namespace {

AggregateResolver aggregate_resolver = nullptr;

constexpr std::pair<TypeKind, std::string_view> kSimpleNames[] = {
    {TypeKind::Nothing, "Nothing"},   {TypeKind::Bool, "Bool"},         {TypeKind::UInt8, "UInt8"},     {TypeKind::UInt16, "UInt16"},
    {TypeKind::UInt32, "UInt32"},     {TypeKind::UInt64, "UInt64"},     {TypeKind::UInt128, "UInt128"}, {TypeKind::UInt256, "UInt256"},
    {TypeKind::Int8, "Int8"},         {TypeKind::Int16, "Int16"},       {TypeKind::Int32, "Int32"},     {TypeKind::Int64, "Int64"},
    {TypeKind::Int128, "Int128"},     {TypeKind::Int256, "Int256"},     {TypeKind::BFloat16, "BFloat16"}, {TypeKind::Float32, "Float32"},
    {TypeKind::Float64, "Float64"},   {TypeKind::Date, "Date"},         {TypeKind::Date32, "Date32"},   {TypeKind::DateTime, "DateTime"},
    {TypeKind::Time, "Time"},         {TypeKind::UUID, "UUID"},         {TypeKind::IPv4, "IPv4"},       {TypeKind::IPv6, "IPv6"},
    {TypeKind::String, "String"},     {TypeKind::Lambda, "Function"},   {TypeKind::Set, "Set"},
};

constexpr std::string_view kIntervalNames[] = {"Nanosecond", "Microsecond", "Millisecond", "Second", "Minute", "Hour", "Day", "Week", "Month", "Quarter", "Year"};

constexpr size_t kLargestFixedString = 0xFFFFFF;

/// What SimpleAggregateFunction may hold (ClickHouse's list).
constexpr std::string_view kSimpleAggregates[] = {
    "any", "any_respect_nulls", "anyLast", "anyLast_respect_nulls", "min", "max", "sum", "sumWithOverflow", "groupBitAnd", "groupBitOr",
    "groupBitXor", "sumMap", "minMap", "maxMap", "groupArrayArray", "groupArrayLastArray", "groupUniqArrayArray", "groupUniqArrayArrayMap",
    "sumMappedArrays", "minMappedArrays", "maxMappedArrays"};

std::string join(const std::vector<TypePtr>& types) {
    std::string result;
    for (const TypePtr& type : types) {
        if (!result.empty()) result += ", ";
        result += type->name();
    }
    return result;
}

void checkTimeZone(const std::string& zone) {
    cctz::time_zone loaded;
    if (!zone.empty() && !cctz::load_time_zone(zone, &loaded))
        throw Error(ErrorCode::BAD_ARGUMENTS, "Cannot load time zone {}", zone);
}

bool mayBeLowCardinality(const Type& type) {
    switch (type.kind()) {
        case TypeKind::String:
        case TypeKind::FixedString:
        case TypeKind::Date:
        case TypeKind::Date32:
        case TypeKind::DateTime:
        case TypeKind::UUID:
        case TypeKind::IPv4:
        case TypeKind::IPv6:
        case TypeKind::Interval:
            return true;
        default:
            return type.isInteger() || type.isFloat() || type.kind() == TypeKind::Bool;
    }
}

}  // namespace

void setAggregateResolver(AggregateResolver resolver) { aggregate_resolver = resolver; }

AggregateOpsPtr resolveAggregate(std::string_view name,
                                 const std::vector<Value>& parameters,
                                 const std::vector<TypePtr>& arguments,
                                 size_t version) {
    if (!aggregate_resolver) throw Error(ErrorCode::LOGICAL_ERROR, "No aggregate functions were registered before type {}", name);
    return aggregate_resolver(name, parameters, arguments, version);
}

Physical Type::physical() const {
    switch (kind_) {
        case TypeKind::Nothing:
        case TypeKind::Bool:
        case TypeKind::UInt8:
            return Physical::UInt8;
        case TypeKind::UInt16:
        case TypeKind::Date:
            return Physical::UInt16;
        case TypeKind::UInt32:
        case TypeKind::DateTime:
        case TypeKind::IPv4:
            return Physical::UInt32;
        case TypeKind::UInt64:
            return Physical::UInt64;
        case TypeKind::UInt128:
        case TypeKind::UUID:
            return Physical::UInt128;
        case TypeKind::UInt256:
            return Physical::UInt256;
        case TypeKind::Int8:
        case TypeKind::Enum8:
            return Physical::Int8;
        case TypeKind::Int16:
        case TypeKind::Enum16:
            return Physical::Int16;
        case TypeKind::Int32:
        case TypeKind::Date32:
        case TypeKind::Time:
        case TypeKind::Decimal32:
            return Physical::Int32;
        case TypeKind::Int64:
        case TypeKind::DateTime64:
        case TypeKind::Time64:
        case TypeKind::Interval:
        case TypeKind::Decimal64:
            return Physical::Int64;
        case TypeKind::Int128:
        case TypeKind::Decimal128:
            return Physical::Int128;
        case TypeKind::Int256:
        case TypeKind::Decimal256:
            return Physical::Int256;
        case TypeKind::BFloat16:
            return Physical::BFloat16;
        case TypeKind::Float32:
            return Physical::Float32;
        case TypeKind::Float64:
            return Physical::Float64;
        case TypeKind::IPv6:
            return Physical::IPv6;
        default:
            return Physical::None;
    }
}

size_t Type::width() const {
    if (kind_ == TypeKind::FixedString) return fixed_size_;
    switch (physical()) {
        case Physical::UInt8:
        case Physical::Int8:
            return 1;
        case Physical::UInt16:
        case Physical::Int16:
        case Physical::BFloat16:
            return 2;
        case Physical::UInt32:
        case Physical::Int32:
        case Physical::Float32:
            return 4;
        case Physical::UInt64:
        case Physical::Int64:
        case Physical::Float64:
            return 8;
        case Physical::UInt128:
        case Physical::Int128:
        case Physical::IPv6:
            return 16;
        case Physical::UInt256:
        case Physical::Int256:
            return 32;
        case Physical::None:
            return 0;
    }
    return 0;
}

bool Type::canBeInsideNullable() const {
    switch (kind_) {
        case TypeKind::Nullable:
        case TypeKind::LowCardinality:
        case TypeKind::Array:
        case TypeKind::Tuple:
        case TypeKind::Map:
        case TypeKind::AggregateFunction:
        case TypeKind::Lambda:
        case TypeKind::Set:
            return false;
        default:
            return true;
    }
}

std::optional<int16_t> Type::enumNumber(std::string_view name) const {
    for (const auto& [text, number] : enum_values_)
        if (text == name) return number;
    return std::nullopt;
}

const std::string* Type::enumName(int16_t number) const {
    const auto found = std::lower_bound(enum_values_.begin(), enum_values_.end(), number, [](const auto& entry, int16_t wanted) {
        return entry.second < wanted;
    });
    return found != enum_values_.end() && found->second == number ? &found->first : nullptr;
}

namespace types {

const TypePtr& simple(TypeKind kind) {
    static const auto* all = [] {
        auto* table = new std::array<TypePtr, 64>;
        for (const auto& [simple_kind, name] : kSimpleNames)
            (*table)[static_cast<size_t>(simple_kind)] = TypeMaker::make(simple_kind, std::string(name));
        return table;
    }();
    const TypePtr& type = (*all)[static_cast<size_t>(kind)];
    SHARDD_CHECK(type != nullptr);
    return type;
}

const TypePtr& uint8() { return simple(TypeKind::UInt8); }

const TypePtr& uint64() { return simple(TypeKind::UInt64); }

const TypePtr& int64() { return simple(TypeKind::Int64); }

const TypePtr& float64() { return simple(TypeKind::Float64); }

const TypePtr& string() { return simple(TypeKind::String); }

TypePtr nullable(TypePtr type) {
    if (type->kind() == TypeKind::Tuple)
        throw Error(ErrorCode::ILLEGAL_COLUMN, "Cannot create column with type 'Nullable({})' because Nullable Tuple type is not allowed", type->name());
    if (!type->canBeInsideNullable())
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, "Nested type {} cannot be inside Nullable type", type->name());
    auto result = TypeMaker::make(TypeKind::Nullable, "Nullable(" + type->name() + ")");
    TypeMaker::setChildren(*result, {std::move(type)});
    return result;
}

TypePtr lowCardinality(TypePtr type) {
    const Type& bare = type->isNullable() ? *type->child() : *type;
    if (!mayBeLowCardinality(bare))
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    "DataTypeLowCardinality is supported only for numbers, strings, Date or DateTime, but got {}",
                    type->name());
    auto result = TypeMaker::make(TypeKind::LowCardinality, "LowCardinality(" + type->name() + ")");
    TypeMaker::setChildren(*result, {std::move(type)});
    return result;
}

TypePtr array(TypePtr element) {
    auto result = TypeMaker::make(TypeKind::Array, "Array(" + element->name() + ")");
    TypeMaker::setChildren(*result, {std::move(element)});
    return result;
}

TypePtr tuple(std::vector<TypePtr> elements, std::vector<std::string> names) {
    std::string text;
    for (size_t i = 0; i < elements.size(); ++i) {
        if (i > 0) text += ", ";
        if (!names.empty()) text += quoteIdentifierIfNeeded(names[i]) + " ";
        text += elements[i]->name();
    }
    auto result = TypeMaker::make(TypeKind::Tuple, "Tuple(" + text + ")");
    TypeMaker::setChildren(*result, std::move(elements));
    TypeMaker::setElementNames(*result, std::move(names));
    return result;
}

TypePtr map(TypePtr key, TypePtr value) {
    if (isNullableOrLowCardinalityNullable(key))
        throw Error(ErrorCode::BAD_ARGUMENTS, "Map cannot have a key of type {}", key->name());
    auto result = TypeMaker::make(TypeKind::Map, "Map(" + key->name() + ", " + value->name() + ")");
    TypeMaker::setChildren(*result, {std::move(key), std::move(value)});
    return result;
}

TypePtr fixedString(size_t size) {
    if (size == 0) throw Error(ErrorCode::ARGUMENT_OUT_OF_BOUND, "FixedString size must be positive");
    if (size > kLargestFixedString) throw Error(ErrorCode::ARGUMENT_OUT_OF_BOUND, "FixedString size is too large");
    auto result = TypeMaker::make(TypeKind::FixedString, fmt::format("FixedString({})", size));
    TypeMaker::setFixedSize(*result, size);
    return result;
}

TypePtr decimal(unsigned precision, unsigned scale) {
    if (precision < 1 || precision > 76)
        throw Error(ErrorCode::ARGUMENT_OUT_OF_BOUND, "Wrong precision: it must be between 1 and 76, got {}", precision);
    if (scale > precision)
        throw Error(ErrorCode::ARGUMENT_OUT_OF_BOUND, "Negative scales and scales larger than precision are not supported");
    const TypeKind kind = precision <= 9    ? TypeKind::Decimal32
                          : precision <= 18 ? TypeKind::Decimal64
                          : precision <= 38 ? TypeKind::Decimal128
                                            : TypeKind::Decimal256;
    auto result = TypeMaker::make(kind, fmt::format("Decimal({}, {})", precision, scale));
    TypeMaker::setPrecision(*result, precision);
    TypeMaker::setScale(*result, scale);
    return result;
}

TypePtr dateTime(std::string time_zone) {
    if (time_zone.empty()) return simple(TypeKind::DateTime);
    checkTimeZone(time_zone);
    auto result = TypeMaker::make(TypeKind::DateTime, "DateTime(" + quoteString(time_zone) + ")");
    TypeMaker::setTimeZone(*result, std::move(time_zone));
    return result;
}

TypePtr dateTime64(unsigned scale, std::string time_zone) {
    if (scale > 9) throw Error(ErrorCode::ARGUMENT_OUT_OF_BOUND, "Scale {} is too large for DateTime64. Maximum is up to nanoseconds (9).", scale);
    checkTimeZone(time_zone);
    auto result = TypeMaker::make(TypeKind::DateTime64,
                                  time_zone.empty() ? fmt::format("DateTime64({})", scale)
                                                    : fmt::format("DateTime64({}, {})", scale, quoteString(time_zone)));
    TypeMaker::setPrecision(*result, 18);
    TypeMaker::setScale(*result, scale);
    TypeMaker::setTimeZone(*result, std::move(time_zone));
    return result;
}

TypePtr time64(unsigned scale) {
    if (scale > 9) throw Error(ErrorCode::ARGUMENT_OUT_OF_BOUND, "Scale {} is too large for Time64. Maximum is up to nanoseconds (9).", scale);
    auto result = TypeMaker::make(TypeKind::Time64, fmt::format("Time64({})", scale));
    TypeMaker::setScale(*result, scale);
    return result;
}

TypePtr interval(IntervalUnit unit) {
    auto result = TypeMaker::make(TypeKind::Interval, fmt::format("Interval{}", kIntervalNames[static_cast<size_t>(unit)]));
    TypeMaker::setUnit(*result, unit);
    return result;
}

TypePtr enumeration(TypeKind kind, std::vector<std::pair<std::string, int16_t>> values) {
    if (values.empty()) throw Error(ErrorCode::EMPTY_DATA_PASSED, "DataTypeEnum enumeration cannot be empty");
    std::stable_sort(values.begin(), values.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    auto by_name = values;
    std::stable_sort(by_name.begin(), by_name.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (size_t i = 1; i < values.size(); ++i) {
        if (by_name[i].first == by_name[i - 1].first)
            throw Error(ErrorCode::SYNTAX_ERROR, "Duplicate names in enum: '{}' = {} and {}", by_name[i].first, by_name[i - 1].second, by_name[i].second);
        if (values[i].second == values[i - 1].second)
            throw Error(ErrorCode::SYNTAX_ERROR, "Duplicate values in enum: '{}' = {} and '{}'", values[i - 1].first, values[i].second, values[i].first);
    }
    std::string text;
    for (const auto& [name, number] : values) text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", quoteString(name), number);
    auto result = TypeMaker::make(kind, fmt::format("{}({})", kind == TypeKind::Enum8 ? "Enum8" : "Enum16", text));
    TypeMaker::setEnumValues(*result, std::move(values));
    return result;
}

TypePtr aggregateFunction(AggregateOpsPtr ops) {
    std::string text;
    if (ops->stateVersion() != 0) text += fmt::format("{}, ", ops->stateVersion());
    text += ops->name();
    if (!ops->parameters().empty()) text += "(" + ops->parametersText() + ")";
    if (!ops->argumentTypes().empty()) text += ", " + join(ops->argumentTypes());
    auto result = TypeMaker::make(TypeKind::AggregateFunction, "AggregateFunction(" + text + ")");
    TypeMaker::setAggregate(*result, std::move(ops));
    return result;
}

TypePtr simpleAggregateFunction(const std::string& function, const std::vector<TypePtr>& arguments) {
    if (std::find(std::begin(kSimpleAggregates), std::end(kSimpleAggregates), function) == std::end(kSimpleAggregates))
        throw Error(ErrorCode::BAD_ARGUMENTS, "Unsupported aggregate function {} in SimpleAggregateFunction", function);
    if (arguments.empty())
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, "SimpleAggregateFunction needs a type of values");
    auto result = TypeMaker::copy(*arguments.back());
    TypeMaker::setName(*result, "SimpleAggregateFunction(" + function + ", " + join(arguments) + ")");
    TypeMaker::setSimpleAggregate(*result, function);
    return result;
}

TypePtr named(const TypePtr& type, std::string name) {
    auto result = TypeMaker::copy(*type);
    TypeMaker::setName(*result, std::move(name));
    return result;
}

}  // namespace types

TypePtr removeNullable(const TypePtr& type) {
    if (type->isNullable()) return type->child();
    if (type->isLowCardinality() && type->child()->isNullable()) return types::lowCardinality(type->child()->child());
    return type;
}

TypePtr makeNullable(const TypePtr& type) {
    if (isNullableOrLowCardinalityNullable(type)) return type;
    if (type->isLowCardinality()) return types::lowCardinality(types::nullable(type->child()));
    return type->canBeInsideNullable() ? types::nullable(type) : type;
}

TypePtr removeLowCardinality(const TypePtr& type) { return type->isLowCardinality() ? type->child() : type; }

TypePtr removeLowCardinalityRecursively(const TypePtr& type) {
    switch (type->kind()) {
        case TypeKind::LowCardinality:
            return type->child();
        case TypeKind::Array: {
            TypePtr element = removeLowCardinalityRecursively(type->child());
            return element == type->child() ? type : types::array(std::move(element));
        }
        case TypeKind::Map: {
            TypePtr key = removeLowCardinalityRecursively(type->child(0));
            TypePtr value = removeLowCardinalityRecursively(type->child(1));
            return key == type->child(0) && value == type->child(1) ? type : types::map(std::move(key), std::move(value));
        }
        case TypeKind::Tuple: {
            std::vector<TypePtr> elements;
            bool changed = false;
            for (const TypePtr& child : type->children()) {
                elements.push_back(removeLowCardinalityRecursively(child));
                changed |= elements.back() != child;
            }
            return changed ? types::tuple(std::move(elements), type->elementNames()) : type;
        }
        default:
            return type;
    }
}

bool isNullableOrLowCardinalityNullable(const TypePtr& type) {
    return type->isNullable() || (type->isLowCardinality() && type->child()->isNullable());
}

namespace {

/// `text` between two `quote`s; control characters, backslashes and the quote itself with a backslash.
std::string quoteWith(char quote, std::string_view text) {
    std::string result(1, quote);
    for (const char c : text) {
        switch (c) {
            case '\b': result += "\\b"; break;
            case '\f': result += "\\f"; break;
            case '\n': result += "\\n"; break;
            case '\r': result += "\\r"; break;
            case '\t': result += "\\t"; break;
            case '\0': result += "\\0"; break;
            default:
                if (c == '\\' || c == quote) result += '\\';
                result += c;
        }
    }
    return result + quote;
}

}  // namespace

std::string quoteString(std::string_view text) { return quoteWith('\'', text); }

std::string quoteIdentifier(std::string_view name) { return quoteWith('`', name); }

std::string quoteIdentifierIfNeeded(std::string_view name) {
    const auto isLetter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    bool bare = !name.empty() && isLetter(name[0]);
    for (const char c : name) bare = bare && (isLetter(c) || (c >= '0' && c <= '9'));
    for (const std::string_view word : {"distinct", "all", "table", "select", "from", "null"}) {
        const auto same = [](char written, char lower) { return (written | 0x20) == lower; };
        if (name.size() == word.size() && std::equal(name.begin(), name.end(), word.begin(), same)) bare = false;
    }
    return bare ? std::string(name) : quoteIdentifier(name);
}

}  // namespace shardd
