#include "server/storage/shard_slots.h"

#include <algorithm>
#include <type_traits>

#include "common/base/error.h"
#include "common/columns/fixed_column.h"

namespace shardd::storage {

namespace {

template <typename T>
void toSlots(const T* values, size_t rows, uint64_t total, uint64_t* slots) {
    using Unsigned = std::make_unsigned_t<T>;
    if ((total & (total - 1)) == 0)
        for (size_t i = 0; i < rows; ++i) slots[i] = static_cast<Unsigned>(values[i]) & (total - 1);
    else
        for (size_t i = 0; i < rows; ++i) slots[i] = static_cast<Unsigned>(values[i]) % total;
}

}  // namespace

ShardSlots::ShardSlots(std::span<const uint32_t> weights) : begins_{0} {
    for (const uint32_t weight : weights) begins_.push_back(begins_.back() + weight);
}

size_t ShardSlots::shardOf(uint64_t slot) const {
    const auto behind = std::upper_bound(begins_.begin() + 1, begins_.end(), slot);
    SHARDD_CHECK(behind != begins_.end());
    return static_cast<size_t>(behind - begins_.begin()) - 1;
}

void ShardSlots::slotsOf(const Type& type, const Column& values, PodVector<uint64_t>& slots) const {
    SHARDD_CHECK(total() > 0 && isShardingType(type));
    slots.resize(values.size());
    dispatchPhysical(type.physical(), [&](auto tag) {
        using T = typename decltype(tag)::Type;
        if constexpr (std::is_integral_v<T>)
            toSlots(as<FixedColumn<T>>(values).data(), values.size(), total(), slots.data());
    });
}

bool isShardingType(const Type& type) {
    const bool is_number = type.isInteger() || type.isDate() || type.kind() == TypeKind::DateTime ||
                           type.kind() == TypeKind::Bool || type.isEnum();
    return is_number && type.width() <= sizeof(uint64_t);
}

}  // namespace shardd::storage
