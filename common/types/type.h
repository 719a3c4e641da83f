#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/types/aggregate_ops.h"

namespace shardd {

enum class TypeKind : uint8_t {
    Nothing,
    Bool,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    UInt128,
    UInt256,
    Int8,
    Int16,
    Int32,
    Int64,
    Int128,
    Int256,
    BFloat16,
    Float32,
    Float64,
    Decimal32,
    Decimal64,
    Decimal128,
    Decimal256,
    Date,
    Date32,
    DateTime,
    DateTime64,
    Time,
    Time64,
    Interval,
    Enum8,
    Enum16,
    UUID,
    IPv4,
    IPv6,
    String,
    FixedString,
    Nullable,
    LowCardinality,
    Array,
    Tuple,
    Map,
    AggregateFunction,
    Lambda,  // the argument of a higher-order function; never in a table
    Set,     // the right side of IN; never in a table
};

enum class IntervalUnit : uint8_t { Nanosecond, Microsecond, Millisecond, Second, Minute, Hour, Day, Week, Month, Quarter, Year };

/// How values of a type lie in memory: which C++ type a FixedColumn of them holds, or that it has a column of its own.
enum class Physical : uint8_t {
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    UInt128,
    UInt256,
    Int8,
    Int16,
    Int32,
    Int64,
    Int128,
    Int256,
    BFloat16,
    Float32,
    Float64,
    IPv6,
    None,
};

/// What a value is. Immutable and shared; two types are equal when their names are.
class Type {
public:
    TypeKind kind() const { return kind_; }

    /// Exactly as DESCRIBE shows it: "Decimal(18, 4)", "Map(String, UInt64)".
    const std::string& name() const { return name_; }

    Physical physical() const;

    /// Bytes of one value for types of constant width (FixedString included), 0 for all others.
    size_t width() const;

    /// Digits of a Decimal, Interval excluded.
    unsigned precision() const { return precision_; }

    /// Digits after the point: Decimal, DateTime64, Time64.
    unsigned scale() const { return scale_; }

    /// N of FixedString(N).
    size_t fixedSize() const { return fixed_size_; }

    /// Of DateTime and DateTime64; empty where none is written (the session's is meant).
    const std::string& timeZone() const { return time_zone_; }

    IntervalUnit intervalUnit() const { return interval_unit_; }

    /// Nullable, LowCardinality, Array: one; Map: key, value; Tuple: its elements.
    const std::vector<TypePtr>& children() const { return children_; }

    const TypePtr& child(size_t i = 0) const { return children_[i]; }

    /// Of a Tuple with names; empty otherwise.
    const std::vector<std::string>& elementNames() const { return element_names_; }

    /// Of an Enum, in ascending order of the number.
    const std::vector<std::pair<std::string, int16_t>>& enumValues() const { return enum_values_; }

    /// Number of an Enum's name and back; nothing when there is none.
    std::optional<int16_t> enumNumber(std::string_view name) const;
    const std::string* enumName(int16_t number) const;

    /// Of AggregateFunction.
    const AggregateOpsPtr& aggregate() const { return aggregate_; }

    /// The function's name of SimpleAggregateFunction(f, T), whose other properties are T's; empty otherwise.
    const std::string& simpleAggregate() const { return simple_aggregate_; }

    bool isNullable() const { return kind_ == TypeKind::Nullable; }

    bool isLowCardinality() const { return kind_ == TypeKind::LowCardinality; }

    bool isInteger() const { return kind_ >= TypeKind::UInt8 && kind_ <= TypeKind::Int256; }

    bool isUnsigned() const { return kind_ >= TypeKind::Bool && kind_ <= TypeKind::UInt256; }

    bool isFloat() const { return kind_ >= TypeKind::BFloat16 && kind_ <= TypeKind::Float64; }

    bool isDecimal() const { return kind_ >= TypeKind::Decimal32 && kind_ <= TypeKind::Decimal256; }

    /// Integers, Bool, floats, Decimals.
    bool isNumber() const { return kind_ >= TypeKind::Bool && kind_ <= TypeKind::Decimal256; }

    bool isDate() const { return kind_ == TypeKind::Date || kind_ == TypeKind::Date32; }

    bool isDateOrTime() const { return kind_ >= TypeKind::Date && kind_ <= TypeKind::DateTime64; }

    bool isEnum() const { return kind_ == TypeKind::Enum8 || kind_ == TypeKind::Enum16; }

    bool isString() const { return kind_ == TypeKind::String || kind_ == TypeKind::FixedString; }

    /// Whether Nullable(T) is allowed: not for Nullable, LowCardinality, Array, Map and AggregateFunction. (Tuple is
    /// allowed only by a setting; no here.)
    bool canBeInsideNullable() const;

    friend bool operator==(const Type& a, const Type& b) { return a.name_ == b.name_; }

private:
    friend struct TypeMaker;

    Type() = default;

    TypeKind kind_ = TypeKind::Nothing;
    IntervalUnit interval_unit_ = IntervalUnit::Second;
    unsigned precision_ = 0;
    unsigned scale_ = 0;
    size_t fixed_size_ = 0;
    std::string name_;
    std::string time_zone_;
    std::string simple_aggregate_;
    std::vector<TypePtr> children_;
    std::vector<std::string> element_names_;
    std::vector<std::pair<std::string, int16_t>> enum_values_;
    AggregateOpsPtr aggregate_;
};

inline bool sameType(const TypePtr& a, const TypePtr& b) { return a == b || (a && b && *a == *b); }

/// The ways to make a type. Each throws the code that ClickHouse gives for what is not allowed.
namespace types {

/// A kind without arguments: UInt8 … Float64, Bool, Date, Date32, DateTime (no zone), Time, UUID, IPv4, IPv6, String, Nothing,
/// Lambda, Set. Shared objects; no allocation.
const TypePtr& simple(TypeKind kind);

const TypePtr& uint8();
const TypePtr& uint64();
const TypePtr& int64();
const TypePtr& float64();
const TypePtr& string();

/// 43 ILLEGAL_TYPE_OF_ARGUMENT for T that cannot be inside Nullable.
TypePtr nullable(TypePtr type);
TypePtr lowCardinality(TypePtr type);
TypePtr array(TypePtr element);
TypePtr tuple(std::vector<TypePtr> elements, std::vector<std::string> names = {});
TypePtr map(TypePtr key, TypePtr value);
TypePtr fixedString(size_t size);
/// The width follows from the precision: 9, 18, 38, 76.
TypePtr decimal(unsigned precision, unsigned scale);
TypePtr dateTime(std::string time_zone = "");
TypePtr dateTime64(unsigned scale, std::string time_zone = "");
TypePtr time64(unsigned scale);
TypePtr interval(IntervalUnit unit);
TypePtr enumeration(TypeKind kind, std::vector<std::pair<std::string, int16_t>> values);
TypePtr aggregateFunction(AggregateOpsPtr ops);
/// SimpleAggregateFunction(function, type).
TypePtr simpleAggregateFunction(const std::string& function, const std::vector<TypePtr>& arguments);
/// `type` under another name: Point, Nested(…), …
TypePtr named(const TypePtr& type, std::string name);

}  // namespace types

/// T of Nullable(T) and LowCardinality(Nullable(T)); the type itself otherwise.
TypePtr removeNullable(const TypePtr& type);
/// Nullable(T), LowCardinality(Nullable(T)); the type itself where it is nullable already or cannot be.
TypePtr makeNullable(const TypePtr& type);
/// T of LowCardinality(T), only at the top.
TypePtr removeLowCardinality(const TypePtr& type);
/// Everywhere inside, also in Array, Tuple and Map.
TypePtr removeLowCardinalityRecursively(const TypePtr& type);
/// Nullable or LowCardinality(Nullable).
bool isNullableOrLowCardinalityNullable(const TypePtr& type);

/// "'it\\'s'": as in type names and SQL text.
std::string quoteString(std::string_view text);
/// A bare word stays bare; anything else gets backquotes.
std::string quoteIdentifierIfNeeded(std::string_view name);
std::string quoteIdentifier(std::string_view name);

}  // namespace shardd
