#include "server/functions/numbers.h"

#include "common/base/error.h"

namespace shardd::functions {

NumberShape shapeOf(const Type& type) {
    switch (type.kind()) {
        case TypeKind::Bool:
        case TypeKind::UInt8:
            return {false, false, 1};
        case TypeKind::UInt16:
            return {false, false, 2};
        case TypeKind::UInt32:
        case TypeKind::IPv4:
            return {false, false, 4};
        case TypeKind::UInt64:
            return {false, false, 8};
        case TypeKind::UInt128:
            return {false, false, 16};
        case TypeKind::UInt256:
            return {false, false, 32};
        case TypeKind::Int8:
            return {false, true, 1};
        case TypeKind::Int16:
            return {false, true, 2};
        case TypeKind::Int32:
            return {false, true, 4};
        case TypeKind::Int64:
            return {false, true, 8};
        case TypeKind::Int128:
            return {false, true, 16};
        case TypeKind::Int256:
            return {false, true, 32};
        case TypeKind::BFloat16:
            return {true, true, 2};
        case TypeKind::Float32:
            return {true, true, 4};
        case TypeKind::Float64:
            return {true, true, 8};
        default:
            return {};
    }
}

const TypePtr& typeOfShape(bool is_float, bool is_signed, size_t bytes) {
    if (is_float)
        return types::simple(bytes <= 2   ? TypeKind::BFloat16
                             : bytes == 4 ? TypeKind::Float32
                                          : TypeKind::Float64);
    switch (bytes) {
        case 1:
            return types::simple(is_signed ? TypeKind::Int8 : TypeKind::UInt8);
        case 2:
            return types::simple(is_signed ? TypeKind::Int16 : TypeKind::UInt16);
        case 4:
            return types::simple(is_signed ? TypeKind::Int32 : TypeKind::UInt32);
        case 8:
            return types::simple(is_signed ? TypeKind::Int64 : TypeKind::UInt64);
        case 16:
            return types::simple(is_signed ? TypeKind::Int128 : TypeKind::UInt128);
        default:
            return types::simple(is_signed ? TypeKind::Int256 : TypeKind::UInt256);
    }
}

namespace {

template <typename T>
constexpr bool kIsWide = std::is_same_v<T, UInt256> || std::is_same_v<T, Int256>;

template <typename From, typename To>
To convertOne(const From& value) {
    if constexpr (std::is_same_v<From, To>)
        return value;
    else if constexpr (std::is_same_v<From, BFloat16>)
        return convertOne<float, To>(value.toFloat());
    else if constexpr (std::is_same_v<To, BFloat16>)
        return BFloat16::fromFloat(convertOne<From, float>(value));
    else if constexpr (kIsWide<From> && kIsWide<To>)
        return To(value);
    else if constexpr (kIsWide<From> && std::is_floating_point_v<To>)
        return static_cast<To>(value.toDouble());
    else if constexpr (kIsWide<From>)
        return static_cast<To>(value.low());
    else if constexpr (kIsWide<To> && std::is_floating_point_v<From>)
        return To::fromDouble(static_cast<double>(value));
    else
        return static_cast<To>(value);
}

template <typename From, typename To>
void convertMany(const void* from, void* to, size_t count) {
    const From* source = static_cast<const From*>(from);
    To* target = static_cast<To*>(to);
    for (size_t i = 0; i < count; ++i) target[i] = convertOne<From, To>(source[i]);
}

template <typename From>
ConvertKernel kernelTo(Physical to) {
    switch (to) {
#define CASE(name, type) \
    case Physical::name: \
        return convertMany<From, type>;
        CASE(UInt8, uint8_t)
        CASE(UInt16, uint16_t)
        CASE(UInt32, uint32_t)
        CASE(UInt64, uint64_t)
        CASE(UInt128, UInt128)
        CASE(UInt256, UInt256)
        CASE(Int8, int8_t)
        CASE(Int16, int16_t)
        CASE(Int32, int32_t)
        CASE(Int64, int64_t)
        CASE(Int128, Int128)
        CASE(Int256, Int256)
        CASE(BFloat16, BFloat16)
        CASE(Float32, float)
        CASE(Float64, double)
#undef CASE
        default:
            throw Error(ErrorCode::LOGICAL_ERROR, "Values of this kind are no numbers");
    }
}

}  // namespace

ConvertKernel convertKernel(Physical from, Physical to) {
    switch (from) {
#define CASE(name, type) \
    case Physical::name: \
        return kernelTo<type>(to);
        CASE(UInt8, uint8_t)
        CASE(UInt16, uint16_t)
        CASE(UInt32, uint32_t)
        CASE(UInt64, uint64_t)
        CASE(UInt128, UInt128)
        CASE(UInt256, UInt256)
        CASE(Int8, int8_t)
        CASE(Int16, int16_t)
        CASE(Int32, int32_t)
        CASE(Int64, int64_t)
        CASE(Int128, Int128)
        CASE(Int256, Int256)
        CASE(BFloat16, BFloat16)
        CASE(Float32, float)
        CASE(Float64, double)
#undef CASE
        default:
            throw Error(ErrorCode::LOGICAL_ERROR, "Values of this kind are no numbers");
    }
}

MutableColumnPtr numberColumn(Physical physical, size_t rows, char*& data, size_t& width) {
    MutableColumnPtr column;
    dispatchPhysical(physical, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        PodVector<T> values(rows);
        data = reinterpret_cast<char*>(values.data());
        width = sizeof(T);
        column = std::make_unique<FixedColumn<T>>(std::move(values));
    });
    if (!column) throw Error(ErrorCode::LOGICAL_ERROR, "Values of this kind are no numbers");
    return column;
}

}  // namespace shardd::functions
