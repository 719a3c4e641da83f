#include "common/types/type_list.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <unordered_map>

namespace shardd {

namespace {

// A kind of Lambda stands where the parser decides (arguments, or a type that we do not have).
constexpr TypeFamily kFamilies[] = {
    {"AggregateFunction", false, "", TypeKind::Lambda},
    {"Array", false, "", TypeKind::Lambda},
    {"BFloat16", false, "", TypeKind::BFloat16},
    {"Bool", true, "", TypeKind::Bool},
    {"Date", true, "", TypeKind::Date},
    {"Date32", true, "", TypeKind::Date32},
    {"DateTime", true, "", TypeKind::Lambda},
    {"DateTime32", true, "", TypeKind::Lambda},
    {"DateTime64", true, "", TypeKind::Lambda},
    {"Decimal", true, "", TypeKind::Lambda},
    {"Decimal128", true, "", TypeKind::Lambda},
    {"Decimal256", true, "", TypeKind::Lambda},
    {"Decimal32", true, "", TypeKind::Lambda},
    {"Decimal64", true, "", TypeKind::Lambda},
    {"Dynamic", false, "", TypeKind::Lambda},
    {"Enum", true, "", TypeKind::Lambda},
    {"Enum16", false, "", TypeKind::Lambda},
    {"Enum8", false, "", TypeKind::Lambda},
    {"FixedString", false, "", TypeKind::Lambda},
    {"Float32", false, "", TypeKind::Float32},
    {"Float64", false, "", TypeKind::Float64},
    {"Geometry", false, "", TypeKind::Lambda},
    {"IPv4", false, "", TypeKind::IPv4},
    {"IPv6", false, "", TypeKind::IPv6},
    {"Int128", false, "", TypeKind::Int128},
    {"Int16", false, "", TypeKind::Int16},
    {"Int256", false, "", TypeKind::Int256},
    {"Int32", false, "", TypeKind::Int32},
    {"Int64", false, "", TypeKind::Int64},
    {"Int8", false, "", TypeKind::Int8},
    {"IntervalDay", false, "", TypeKind::Lambda},
    {"IntervalHour", false, "", TypeKind::Lambda},
    {"IntervalMicrosecond", false, "", TypeKind::Lambda},
    {"IntervalMillisecond", false, "", TypeKind::Lambda},
    {"IntervalMinute", false, "", TypeKind::Lambda},
    {"IntervalMonth", false, "", TypeKind::Lambda},
    {"IntervalNanosecond", false, "", TypeKind::Lambda},
    {"IntervalQuarter", false, "", TypeKind::Lambda},
    {"IntervalSecond", false, "", TypeKind::Lambda},
    {"IntervalWeek", false, "", TypeKind::Lambda},
    {"IntervalYear", false, "", TypeKind::Lambda},
    {"JSON", true, "", TypeKind::Lambda},
    {"LineString", false, "", TypeKind::Lambda},
    {"LowCardinality", false, "", TypeKind::Lambda},
    {"Map", false, "", TypeKind::Lambda},
    {"MultiLineString", false, "", TypeKind::Lambda},
    {"MultiPolygon", false, "", TypeKind::Lambda},
    {"Nested", false, "", TypeKind::Lambda},
    {"Nothing", false, "", TypeKind::Nothing},
    {"Nullable", false, "", TypeKind::Lambda},
    {"Point", false, "", TypeKind::Lambda},
    {"Polygon", false, "", TypeKind::Lambda},
    {"QBit", false, "", TypeKind::Lambda},
    {"Ring", false, "", TypeKind::Lambda},
    {"SimpleAggregateFunction", false, "", TypeKind::Lambda},
    {"String", false, "", TypeKind::String},
    {"Time", true, "", TypeKind::Time},
    {"Time64", true, "", TypeKind::Lambda},
    {"Tuple", false, "", TypeKind::Lambda},
    {"UInt128", false, "", TypeKind::UInt128},
    {"UInt16", false, "", TypeKind::UInt16},
    {"UInt256", false, "", TypeKind::UInt256},
    {"UInt32", false, "", TypeKind::UInt32},
    {"UInt64", false, "", TypeKind::UInt64},
    {"UInt8", false, "", TypeKind::UInt8},
    {"UUID", false, "", TypeKind::UUID},
    {"Variant", false, "", TypeKind::Lambda},
    {"BIGINT", true, "Int64", TypeKind::Lambda},
    {"BIGINT SIGNED", true, "Int64", TypeKind::Lambda},
    {"BIGINT UNSIGNED", true, "UInt64", TypeKind::Lambda},
    {"BINARY", true, "FixedString", TypeKind::Lambda},
    {"BINARY LARGE OBJECT", true, "String", TypeKind::Lambda},
    {"BINARY VARYING", true, "String", TypeKind::Lambda},
    {"BIT", true, "UInt64", TypeKind::Lambda},
    {"BLOB", true, "String", TypeKind::Lambda},
    {"BYTE", true, "Int8", TypeKind::Lambda},
    {"BYTEA", true, "String", TypeKind::Lambda},
    {"CHAR", true, "String", TypeKind::Lambda},
    {"CHAR LARGE OBJECT", true, "String", TypeKind::Lambda},
    {"CHAR VARYING", true, "String", TypeKind::Lambda},
    {"CHARACTER", true, "String", TypeKind::Lambda},
    {"CHARACTER LARGE OBJECT", true, "String", TypeKind::Lambda},
    {"CHARACTER VARYING", true, "String", TypeKind::Lambda},
    {"CLOB", true, "String", TypeKind::Lambda},
    {"DEC", true, "Decimal", TypeKind::Lambda},
    {"DOUBLE", true, "Float64", TypeKind::Lambda},
    {"DOUBLE PRECISION", true, "Float64", TypeKind::Lambda},
    {"ENUM", true, "Enum", TypeKind::Lambda},
    {"FIXED", true, "Decimal", TypeKind::Lambda},
    {"FLOAT", true, "Float32", TypeKind::Lambda},
    {"GEOMETRY", false, "Geometry", TypeKind::Lambda},
    {"INET4", true, "IPv4", TypeKind::Lambda},
    {"INET6", true, "IPv6", TypeKind::Lambda},
    {"INT", true, "Int32", TypeKind::Lambda},
    {"INT SIGNED", true, "Int32", TypeKind::Lambda},
    {"INT UNSIGNED", true, "UInt32", TypeKind::Lambda},
    {"INT1", true, "Int8", TypeKind::Lambda},
    {"INT1 SIGNED", true, "Int8", TypeKind::Lambda},
    {"INT1 UNSIGNED", true, "UInt8", TypeKind::Lambda},
    {"INTEGER", true, "Int32", TypeKind::Lambda},
    {"INTEGER SIGNED", true, "Int32", TypeKind::Lambda},
    {"INTEGER UNSIGNED", true, "UInt32", TypeKind::Lambda},
    {"LONGBLOB", true, "String", TypeKind::Lambda},
    {"LONGTEXT", true, "String", TypeKind::Lambda},
    {"MEDIUMBLOB", true, "String", TypeKind::Lambda},
    {"MEDIUMINT", true, "Int32", TypeKind::Lambda},
    {"MEDIUMINT SIGNED", true, "Int32", TypeKind::Lambda},
    {"MEDIUMINT UNSIGNED", true, "UInt32", TypeKind::Lambda},
    {"MEDIUMTEXT", true, "String", TypeKind::Lambda},
    {"NATIONAL CHAR", true, "String", TypeKind::Lambda},
    {"NATIONAL CHAR VARYING", true, "String", TypeKind::Lambda},
    {"NATIONAL CHARACTER", true, "String", TypeKind::Lambda},
    {"NATIONAL CHARACTER LARGE OBJECT", true, "String", TypeKind::Lambda},
    {"NATIONAL CHARACTER VARYING", true, "String", TypeKind::Lambda},
    {"NCHAR", true, "String", TypeKind::Lambda},
    {"NCHAR LARGE OBJECT", true, "String", TypeKind::Lambda},
    {"NCHAR VARYING", true, "String", TypeKind::Lambda},
    {"NUMERIC", true, "Decimal", TypeKind::Lambda},
    {"NVARCHAR", true, "String", TypeKind::Lambda},
    {"REAL", true, "Float32", TypeKind::Lambda},
    {"SET", true, "UInt64", TypeKind::Lambda},
    {"SIGNED", true, "Int64", TypeKind::Lambda},
    {"SINGLE", true, "Float32", TypeKind::Lambda},
    {"SMALLINT", true, "Int16", TypeKind::Lambda},
    {"SMALLINT SIGNED", true, "Int16", TypeKind::Lambda},
    {"SMALLINT UNSIGNED", true, "UInt16", TypeKind::Lambda},
    {"TEXT", true, "String", TypeKind::Lambda},
    {"TIMESTAMP", true, "DateTime", TypeKind::Lambda},
    {"TINYBLOB", true, "String", TypeKind::Lambda},
    {"TINYINT", true, "Int8", TypeKind::Lambda},
    {"TINYINT SIGNED", true, "Int8", TypeKind::Lambda},
    {"TINYINT UNSIGNED", true, "UInt8", TypeKind::Lambda},
    {"TINYTEXT", true, "String", TypeKind::Lambda},
    {"UNSIGNED", true, "UInt64", TypeKind::Lambda},
    {"VARBINARY", true, "String", TypeKind::Lambda},
    {"VARCHAR", true, "String", TypeKind::Lambda},
    {"VARCHAR2", true, "String", TypeKind::Lambda},
    {"YEAR", true, "UInt16", TypeKind::Lambda},
    {"bool", true, "Bool", TypeKind::Lambda},
    {"boolean", true, "Bool", TypeKind::Lambda},
};

std::string lower(std::string_view text) {
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return result;
}

}  // namespace

std::span<const TypeFamily> typeFamilies() { return kFamilies; }

const TypeFamily* findTypeFamily(std::string_view name) {
    static const auto* exact = [] {
        auto* map = new std::unordered_map<std::string_view, const TypeFamily*>;
        for (const TypeFamily& family : kFamilies) map->emplace(family.name, &family);
        return map;
    }();
    static const auto* folded = [] {
        auto* map = new std::unordered_map<std::string, const TypeFamily*>;
        for (const TypeFamily& family : kFamilies)
            if (family.case_insensitive) map->emplace(lower(family.name), &family);
        return map;
    }();
    const TypeFamily* found = nullptr;
    if (auto it = exact->find(name); it != exact->end()) {
        found = it->second;
    } else if (auto folded_it = folded->find(lower(name)); folded_it != folded->end()) {
        found = folded_it->second;
    }
    if (found && !found->alias_of.empty()) return findTypeFamily(found->alias_of);
    return found;
}

}  // namespace shardd
