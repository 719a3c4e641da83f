#include "server/plan/exact_cast.h"

#include <cmath>

#include "server/formats/value_text.h"

namespace shardd::plan {

namespace {

using Outcome = ExactCast::Outcome;

/// Whole numbers into a whole type, by bounds.
ExactCast wholeNumber(const Value& value, const Type& to) {
    const bool negative = value.kind() == Value::Kind::Int64 && value.get<int64_t>() < 0;
    const size_t bits = 8 * to.width();
    if (bits > 64) return {};
    if (negative) {
        if (to.isUnsigned()) return {Outcome::Impossible, {}};
        const int64_t number = value.get<int64_t>();
        if (bits < 64 && number < -(int64_t{1} << (bits - 1))) return {Outcome::Impossible, {}};
        return {Outcome::Exact, Value(number)};
    }
    const auto number = value.to<uint64_t>();
    const size_t usable = to.isUnsigned() ? bits : bits - 1;
    if (usable < 64 && number >= uint64_t{1} << usable) return {Outcome::Impossible, {}};
    if (to.isUnsigned()) return {Outcome::Exact, Value(number)};
    return {Outcome::Exact, Value(static_cast<int64_t>(number))};
}

ExactCast fromText(const std::string& text, const TypePtr& to, const PlannerContext& context) {
    formats::TextSettings settings;
    if (context.functions) settings.time_zone = &TimeZone::get(context.functions->time_zone);
    try {
        return {Outcome::Exact, formats::parseValue(to, text, formats::TextStyle::Plain, settings)};
    } catch (const Error&) {
        return {};  // the comparison itself will say what is wrong with the text
    }
}

}  // namespace

ExactCast castExactly(const TypePtr& from_type,
                      const Value& value,
                      const TypePtr& to_type,
                      const PlannerContext& context) {
    if (value.isNull()) return {Outcome::Impossible, {}};
    const TypePtr from = removeNullable(removeLowCardinality(from_type));
    const TypePtr to = removeNullable(removeLowCardinality(to_type));
    if (sameType(from, to)) return {Outcome::Exact, value};
    const bool from_whole = from->isInteger() || from->kind() == TypeKind::Bool;
    const bool to_whole = to->isInteger() && to->width() <= 8;
    if (to_whole && from_whole) {
        const bool narrow = value.kind() == Value::Kind::UInt64 || value.kind() == Value::Kind::Int64 ||
                            value.kind() == Value::Kind::Bool;
        return narrow ? wholeNumber(value, *to) : ExactCast{};
    }
    if (to_whole && from->isFloat()) {
        const auto number = value.to<double>();
        if (std::isnan(number) || number != std::trunc(number)) return {Outcome::Impossible, {}};
        if (std::fabs(number) >= 9007199254740992.0) return {};
        return wholeNumber(
            number < 0 ? Value(static_cast<int64_t>(number)) : Value(static_cast<uint64_t>(number)), *to);
    }
    if (to->kind() == TypeKind::Float64 && from_whole && value.kind() != Value::Kind::UInt128) {
        const auto number = value.to<double>();
        return std::fabs(number) < 9007199254740992.0 ? ExactCast{Outcome::Exact, Value(number)}
                                                      : ExactCast{};
    }
    if (from->kind() == TypeKind::String) {
        switch (to->kind()) {
            case TypeKind::Date:
            case TypeKind::DateTime:
            case TypeKind::DateTime64:
            case TypeKind::Enum8:
            case TypeKind::Enum16:
            case TypeKind::UUID:
            case TypeKind::IPv4:
                return fromText(value.get<std::string>(), to, context);
            default:
                return {};
        }
    }
    if (from->kind() == TypeKind::DateTime && to->kind() == TypeKind::DateTime)
        return {Outcome::Exact, value};
    return {};
}

}  // namespace shardd::plan
