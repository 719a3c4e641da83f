#include "server/exec/top_condition.h"

#include <limits>
#include <vector>

#include "common/columns/fixed_column.h"
#include "common/columns/selection.h"
#include "server/exec/sort_order.h"

namespace shardd::exec {

namespace {

constexpr uint64_t kSign = uint64_t{1} << 63;

template <typename T>
constexpr bool kIsPlainInteger = std::is_integral_v<T> && sizeof(T) <= 8;

/// The number whose sort prefix `prefix` is, as far as T reaches. Sort prefixes: sort_order.cpp.
template <typename T>
T clampedValue(uint64_t prefix) {
    using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
    const auto wide = static_cast<Wide>(std::is_signed_v<T> ? prefix ^ kSign : prefix);
    if (wide > Wide{std::numeric_limits<T>::max()}) return std::numeric_limits<T>::max();
    if (wide < Wide{std::numeric_limits<T>::min()}) return std::numeric_limits<T>::min();
    return static_cast<T>(wide);
}

/// Whole columns of integers are compared as they are. A bound beyond T clamps to an end of T, where all or
/// (for rows that may as well stay) only the last are kept.
template <typename T>
void keepUpTo(const T* values, uint64_t bound, bool descending, Mask& mask) {
    const T last = clampedValue<T>(descending ? ~bound : bound);
    if (descending)
        for (size_t i = 0; i < mask.size(); ++i)
            mask[i] = static_cast<uint8_t>((mask[i] != 0) & (values[i] >= last));
    else
        for (size_t i = 0; i < mask.size(); ++i)
            mask[i] = static_cast<uint8_t>((mask[i] != 0) & (values[i] <= last));
}

bool keepIntegers(const Column& column, uint64_t bound, bool descending, Mask& mask) {
    bool done = false;
    const auto attempt = [&]<typename T>(Tag<T>) {
        if constexpr (kIsPlainInteger<T>) {
            const auto* fixed = done ? nullptr : dynamic_cast<const FixedColumn<T>*>(&column);
            if (!fixed) return;
            keepUpTo(fixed->data(), bound, descending, mask);
            done = true;
        }
    };
#define TRY(name, type) attempt(Tag<type>{});
    SHARDD_FIXED_TYPES(TRY)
#undef TRY
    return done;
}

}  // namespace

void dropHopeless(const TopHint& hint, const Block& block, Mask& mask) {
    if (!hint.filter->active()) return;
    const uint64_t bound = hint.filter->bound();
    const size_t before = countKept(mask.span());
    plan::SortKey key = hint.filter->key();
    key.column = hint.column;
    if (!keepIntegers(*block.get(hint.column).column, bound, key.descending, mask)) {
        const std::vector<plan::SortKey> keys{key};
        const SortPrefixes prefixes = sortPrefixes(SortColumns(keys, block), block.rows);
        for (size_t i = 0; i < block.rows; ++i)
            mask[i] = static_cast<uint8_t>((mask[i] != 0) & (prefixes.values[i] <= bound));
    }
    hint.filter->countDropped(before - countKept(mask.span()));
}

}  // namespace shardd::exec
