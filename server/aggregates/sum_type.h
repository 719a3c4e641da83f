#pragma once

#include "common/columns/fixed_column.h"
#include "common/types/type.h"
#include "server/aggregates/numbers.h"

namespace shardd::aggregates {

/// Numbers, Bool, Decimals (and Enums, which ClickHouse lets through for sum).
bool canBeSummed(const Type& argument);

/// What a sum of `argument` is: UInt64, Int64, Float64, the wide integers themselves, Decimal(38 or 76, S).
TypePtr sumType(const Type& argument);

/// The C++ type that T is added up in.
template <typename T>
struct SumTypeOf {
    using Type =
        std::conditional_t<kIsFloat<T>, double, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;
};

template <>
struct SumTypeOf<Int128> {
    using Type = Int128;
};

template <>
struct SumTypeOf<UInt128> {
    using Type = UInt128;
};

template <>
struct SumTypeOf<Int256> {
    using Type = Int256;
};

template <>
struct SumTypeOf<UInt256> {
    using Type = UInt256;
};

/// Calls action(Tag<T>, Tag<S>): T of the argument's values, S of their sum.
template <typename Action>
void dispatchSum(const Type& argument, Action&& action) {
    dispatchPhysical(argument.physical(), [&]<typename T>(Tag<T>) {
        if constexpr (kIsNumber<T>) {
            if constexpr (std::is_same_v<T, int32_t> || std::is_same_v<T, int64_t>) {
                if (argument.isDecimal()) {
                    action(Tag<T>{}, Tag<Int128>{});
                    return;
                }
            }
            action(Tag<T>{}, Tag<typename SumTypeOf<T>::Type>{});
        }
    });
}

}  // namespace shardd::aggregates
