#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/base/wide_integer.h"

namespace shardd {

class Value;

struct ArrayValue {
    std::vector<Value> elements;
};

struct TupleValue {
    std::vector<Value> elements;
};

/// One value outside a column: a literal, a default, a bound of an index, a setting.
/// It is physical, as in a column: a Date is UInt64 days, an Enum Int64, a Decimal its unscaled integer, a UUID a
/// UInt128, an IPv6 its 16 bytes as String; the Type beside it gives the meaning. A Map is an Array of Tuples.
/// A state of an aggregate function is its serialized bytes as String.
class Value {
public:
    enum class Kind { Null, Bool, UInt64, Int64, UInt128, Int128, UInt256, Int256, Float64, String, Array, Tuple };

    using Storage = std::variant<std::monostate,
                                 bool,
                                 uint64_t,
                                 int64_t,
                                 UInt128,
                                 Int128,
                                 UInt256,
                                 Int256,
                                 double,
                                 std::string,
                                 ArrayValue,
                                 TupleValue>;

    Value() = default;

    template <typename T>
        requires(!std::is_same_v<std::decay_t<T>, Value> && std::is_constructible_v<Storage, std::in_place_type_t<std::decay_t<T>>, T>)
    explicit Value(T&& value) : storage_(std::in_place_type<std::decay_t<T>>, std::forward<T>(value)) {}

    Kind kind() const { return static_cast<Kind>(storage_.index()); }

    bool isNull() const { return kind() == Kind::Null; }

    /// The alternative; LOGICAL_ERROR when it is another one.
    template <typename T>
    const T& get() const {
        if (const T* value = std::get_if<T>(&storage_)) return *value;
        failKind();
    }

    /// Any number (or Bool) converted as static_cast does.
    template <typename T>
    T to() const;

    const std::vector<Value>& elements() const {
        return kind() == Kind::Array ? get<ArrayValue>().elements : get<TupleValue>().elements;
    }

    const Storage& storage() const { return storage_; }

    friend bool operator==(const Value& a, const Value& b);

private:
    [[noreturn]] void failKind() const;

    Storage storage_;
};

inline bool operator==(const ArrayValue& a, const ArrayValue& b) { return a.elements == b.elements; }

inline bool operator==(const TupleValue& a, const TupleValue& b) { return a.elements == b.elements; }

template <typename T>
T Value::to() const {
    return std::visit(
        [this](const auto& value) -> T {
            using V = std::decay_t<decltype(value)>;
            if constexpr (std::is_same_v<V, UInt256> || std::is_same_v<V, Int256>) {
                if constexpr (std::is_same_v<T, UInt256> || std::is_same_v<T, Int256>)
                    return static_cast<T>(value);
                else if constexpr (std::is_floating_point_v<T>)
                    return static_cast<T>(value.toDouble());
                else
                    return static_cast<T>(value.low());
            } else if constexpr (std::is_same_v<T, UInt256> || std::is_same_v<T, Int256>) {
                if constexpr (std::is_same_v<V, double>)
                    return T::fromDouble(value);
                else if constexpr (std::is_same_v<V, bool> || std::is_integral_v<V> || std::is_same_v<V, Int128> || std::is_same_v<V, UInt128>)
                    return T(value);
                else
                    failKind();
            } else if constexpr (std::is_arithmetic_v<V> || std::is_same_v<V, Int128> || std::is_same_v<V, UInt128>) {
                return static_cast<T>(value);
            } else {
                failKind();
            }
        },
        storage_);
}

}  // namespace shardd
