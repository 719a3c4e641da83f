#include "server/functions/supertype.h"

#include <algorithm>

#include "common/base/error.h"
#include "common/types/literal_type.h"

namespace shardd::functions {

namespace {

using Types = std::vector<TypePtr>;

template <typename Predicate>
bool all(const Types& types, Predicate predicate) {
    return std::all_of(types.begin(), types.end(), predicate);
}

template <typename Predicate>
bool any(const Types& types, Predicate predicate) {
    return std::any_of(types.begin(), types.end(), predicate);
}

bool isKind(const TypePtr& type, TypeKind kind) { return type->kind() == kind; }

TypePtr superOf(Types types);

TypePtr superOfTuples(const Types& types) {
    const size_t size = types.front()->children().size();
    if (!all(types,
             [&](const TypePtr& t) { return isKind(t, TypeKind::Tuple) && t->children().size() == size; }))
        return nullptr;
    Types elements;
    for (size_t i = 0; i < size; ++i) {
        Types column;
        for (const TypePtr& type : types) column.push_back(type->child(i));
        elements.push_back(superOf(std::move(column)));
        if (!elements.back()) return nullptr;
    }
    const auto& names = types.front()->elementNames();
    const bool same_names = all(types, [&](const TypePtr& t) { return t->elementNames() == names; });
    return types::tuple(std::move(elements), same_names ? names : std::vector<std::string>());
}

TypePtr superOfMaps(const Types& types) {
    if (!all(types, [](const TypePtr& t) { return isKind(t, TypeKind::Map); })) return nullptr;
    Types keys;
    Types values;
    for (const TypePtr& type : types) {
        keys.push_back(type->child(0));
        values.push_back(type->child(1));
    }
    const TypePtr key = superOf(std::move(keys));
    const TypePtr value = superOf(std::move(values));
    return key && value ? types::map(key, value) : nullptr;
}

TypePtr superOfArrays(const Types& types) {
    if (!all(types, [](const TypePtr& t) { return isKind(t, TypeKind::Array); })) return nullptr;
    Types elements;
    for (const TypePtr& type : types) elements.push_back(type->child());
    const TypePtr element = superOf(std::move(elements));
    return element ? types::array(element) : nullptr;
}

TypePtr superOfDates(const Types& types) {
    if (!all(types, [](const TypePtr& t) { return t->isDateOrTime(); })) return nullptr;
    TypePtr finest;  // DateTime64
    TypePtr time;    // DateTime
    bool wide = false;
    for (const TypePtr& type : types) {
        if (isKind(type, TypeKind::DateTime64) && (!finest || type->scale() > finest->scale())) finest = type;
        if (isKind(type, TypeKind::DateTime) && !time) time = type;
        wide |= isKind(type, TypeKind::Date32);
    }
    if (finest) return finest;
    if (time) return wide ? types::dateTime64(0) : time;
    return types::simple(wide ? TypeKind::Date32 : TypeKind::Date);
}

TypePtr superOfTimes(const Types& types) {
    unsigned scale = 0;
    for (const TypePtr& type : types) {
        if (!isKind(type, TypeKind::Time) && !isKind(type, TypeKind::Time64)) return nullptr;
        scale = std::max(scale, type->scale());
    }
    return types::time64(scale);
}

/// Digits that hold every value of an integer type; 0 for other types.
unsigned digitsOf(const Type& type) {
    switch (type.kind()) {
        case TypeKind::Bool:
        case TypeKind::UInt8:
        case TypeKind::Int8:
            return 3;
        case TypeKind::UInt16:
        case TypeKind::Int16:
            return 5;
        case TypeKind::UInt32:
        case TypeKind::Int32:
            return 10;
        case TypeKind::Int64:
            return 19;
        case TypeKind::UInt64:
            return 20;
        default:
            return 0;
    }
}

TypePtr superOfDecimals(const Types& types) {
    unsigned scale = 0;
    unsigned precision = 1;
    for (const TypePtr& type : types) scale = std::max(scale, type->scale());
    for (const TypePtr& type : types) {
        const unsigned digits = type->isDecimal() ? type->precision() : digitsOf(*type);
        if (digits == 0) return nullptr;
        precision = std::max(precision, type->isDecimal() ? digits : digits + scale);
    }
    if (precision > 76) return nullptr;
    return types::decimal(precision > 38 ? 76 : precision > 18 ? 38 : precision > 9 ? 18 : 9, scale);
}

/// Bits of the widest integer of each sign, and of the mantissa of the widest float.
struct NumberWidths {
    unsigned unsigned_bits = 0;
    unsigned signed_bits = 0;
    unsigned mantissa_bits = 0;
};

bool widen(NumberWidths& widths, const Type& type) {
    switch (type.kind()) {
        case TypeKind::BFloat16:
            widths.mantissa_bits = std::max(widths.mantissa_bits, 8U);
            return true;
        case TypeKind::Float32:
            widths.mantissa_bits = std::max(widths.mantissa_bits, 24U);
            return true;
        case TypeKind::Float64:
            widths.mantissa_bits = std::max(widths.mantissa_bits, 53U);
            return true;
        default:
            break;
    }
    const auto bits = static_cast<unsigned>(type.width() * 8);
    if (type.isEnum() || (type.isInteger() && !type.isUnsigned()))
        widths.signed_bits = std::max(widths.signed_bits, bits);
    else if (type.isUnsigned())
        widths.unsigned_bits = std::max(widths.unsigned_bits, bits);
    else
        return false;
    return true;
}

TypePtr superOfNumbers(const Types& types);

/// UInt64 and signed integers: only literals of UInt64 can do without its upper half.
TypePtr superOfSigned(Types types) {
    for (TypePtr& type : types) {
        if (!isKind(type, TypeKind::UInt64)) continue;
        if (!types::mayBeSigned(type)) return nullptr;
        type = types::int64();
    }
    return superOfNumbers(types);
}

TypePtr superOfNumbers(const Types& types) {
    NumberWidths widths;
    for (const TypePtr& type : types)
        if (!widen(widths, *type)) return nullptr;
    unsigned bits = std::max(widths.signed_bits, widths.unsigned_bits);
    const bool mixed = widths.signed_bits != 0 && widths.unsigned_bits >= widths.signed_bits;
    if (mixed && widths.unsigned_bits == 64) return superOfSigned(types);
    if (mixed) ++bits;
    if (widths.mantissa_bits != 0) {
        bits = std::max(bits, widths.mantissa_bits);
        if (bits <= 8) return types::simple(TypeKind::BFloat16);
        if (bits <= 24) return types::simple(TypeKind::Float32);
        if (bits <= 53) return types::float64();
        return nullptr;
    }
    const bool is_signed = widths.signed_bits != 0;
    if (bits <= 8 && !is_signed && isKind(types.front(), TypeKind::Bool)) return types.front();
    if (bits <= 8) return types::simple(is_signed ? TypeKind::Int8 : TypeKind::UInt8);
    if (bits <= 16) return types::simple(is_signed ? TypeKind::Int16 : TypeKind::UInt16);
    if (bits <= 32) return types::simple(is_signed ? TypeKind::Int32 : TypeKind::UInt32);
    if (bits <= 64) return types::simple(is_signed ? TypeKind::Int64 : TypeKind::UInt64);
    if (bits <= 128) return types::simple(is_signed ? TypeKind::Int128 : TypeKind::UInt128);
    if (bits <= 256) return types::simple(is_signed ? TypeKind::Int256 : TypeKind::UInt256);
    return nullptr;
}

TypePtr superOfNullables(const Types& types) {
    Types bare;
    for (const TypePtr& type : types) {
        const TypePtr inside = removeNullable(type);
        if (inside->kind() != TypeKind::Nothing) bare.push_back(inside);
    }
    if (bare.empty()) return types::nullable(types::simple(TypeKind::Nothing));
    const TypePtr super = superOf(std::move(bare));
    if (!super || super->isNullable()) return super;
    return super->canBeInsideNullable() ? types::nullable(super) : nullptr;
}

/// The least supertype; nullptr where there is none.
TypePtr superOf(Types types) {
    std::erase_if(types, [](const TypePtr& t) { return isKind(t, TypeKind::Nothing); });
    if (types.empty()) return types::simple(TypeKind::Nothing);
    const TypePtr first = types.front();
    if (all(types, [&](const TypePtr& t) { return sameType(t, first); })) return first;
    if (any(types, [](const TypePtr& t) { return t->isLowCardinality(); })) {
        for (TypePtr& type : types) type = removeLowCardinality(type);
        return superOf(std::move(types));
    }
    if (any(types, [](const TypePtr& t) { return t->isNullable(); })) return superOfNullables(types);
    switch (first->kind()) {
        case TypeKind::Array:
            return superOfArrays(types);
        case TypeKind::Tuple:
            return superOfTuples(types);
        case TypeKind::Map:
            return superOfMaps(types);
        default:
            break;
    }
    if (any(types, [](const TypePtr& t) { return t->isString(); }))
        return all(types, [](const TypePtr& t) { return t->isString() || t->isEnum(); }) ? types::string()
                                                                                         : nullptr;
    if (first->isDateOrTime()) return superOfDates(types);
    if (isKind(first, TypeKind::Time) || isKind(first, TypeKind::Time64)) return superOfTimes(types);
    if (any(types, [](const TypePtr& t) { return t->isDecimal(); })) return superOfDecimals(types);
    if (all(types, [](const TypePtr& t) { return isKind(t, TypeKind::Interval); })) {
        const auto finer = [](const TypePtr& a, const TypePtr& b) {
            return a->intervalUnit() < b->intervalUnit();
        };
        return *std::min_element(types.begin(), types.end(), finer);
    }
    return superOfNumbers(types);
}

}  // namespace

TypePtr tryLeastSupertype(std::span<const TypePtr> types) {
    return superOf(Types(types.begin(), types.end()));
}

TypePtr leastSupertype(std::span<const TypePtr> types) {
    if (TypePtr type = tryLeastSupertype(types)) return type;
    std::string names;
    for (const TypePtr& type : types) names += (names.empty() ? "" : ", ") + type->name();
    throw Error(ErrorCode::NO_COMMON_TYPE, "There is no supertype for types {}", names);
}

}  // namespace shardd::functions
