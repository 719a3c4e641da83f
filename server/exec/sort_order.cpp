#include "server/exec/sort_order.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "common/columns/fixed_column.h"
#include "common/columns/nullable_column.h"
#include "common/columns/string_column.h"

namespace shardd::exec {

SortColumns::SortColumns(const std::vector<plan::SortKey>& keys, const Block& block) : keys_(&keys) {
    for (const plan::SortKey& key : keys) columns_.push_back(fullPlain(block.get(key.column).column));
}

int SortColumns::compare(size_t row, const SortColumns& other, size_t other_row, size_t first_key) const {
    for (size_t i = first_key; i < columns_.size(); ++i) {
        const plan::SortKey& key = (*keys_)[i];
        const int order = columns_[i]->compareAt(row, *other.columns_[i], other_row, key.nulls_direction);
        if (order != 0) return key.descending ? -order : order;
    }
    return 0;
}

namespace {

constexpr uint64_t kSign = uint64_t{1} << 63;

/// Order-preserving: less as T means less as a number. 64 bits where T has more are its upper ones.
template <typename T>
uint64_t orderedBits(T value) {
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
        double wide = value;
        if (wide == 0) wide = 0;  // -0.0 is equal to 0.0
        const auto bits = std::bit_cast<uint64_t>(wide);
        return (bits & kSign) ? ~bits : bits | kSign;
    } else if constexpr (std::is_same_v<T, BFloat16>) {
        return orderedBits(value.toFloat());
    } else if constexpr (std::is_same_v<T, IPv6Bytes>) {
        uint64_t head = 0;
        std::memcpy(&head, &value, sizeof(head));
        return __builtin_bswap64(head);
    } else if constexpr (std::is_same_v<T, UInt256> || std::is_same_v<T, Int256>) {
        return value.words[3] ^ (std::is_same_v<T, Int256> ? kSign : 0);
    } else if constexpr (sizeof(T) == 16) {
        return static_cast<uint64_t>(static_cast<UInt128>(value) >> 64) ^
               (std::is_same_v<T, Int128> ? kSign : 0);
    } else if constexpr (std::is_signed_v<T>) {
        return static_cast<uint64_t>(static_cast<int64_t>(value)) ^ kSign;
    } else {
        return static_cast<uint64_t>(value);
    }
}

template <typename T>
bool isNan(T value) {
    if constexpr (std::is_floating_point_v<T>)
        return std::isnan(value);
    else if constexpr (std::is_same_v<T, BFloat16>)
        return std::isnan(value.toFloat());
    else
        return false;
}

template <typename T>
constexpr bool kMayBeNan = std::is_floating_point_v<T> || std::is_same_v<T, BFloat16>;

/// NULL and NaN take an end of the range (before `descending` turns everything round), for which the values
/// lose their lowest bits.
template <typename T>
void fixedPrefixes(const FixedColumn<T>& column, const uint8_t* nulls, int direction, SortPrefixes& out) {
    const bool special = nulls != nullptr || kMayBeNan<T>;
    const uint64_t null_place = direction > 0 ? UINT64_MAX : 0;
    for (size_t i = 0; i < column.size(); ++i) {
        const T value = column.data()[i];
        uint64_t bits = orderedBits(value);
        if (special) {
            bits = (bits >> 2) + 1;
            if ((nulls && nulls[i]) || isNan(value)) bits = null_place;
        }
        out.values[i] = bits;
    }
    out.exact = !special && sizeof(T) <= 8 && !std::is_same_v<T, IPv6Bytes>;
}

void stringPrefixes(const StringColumn& column, const uint8_t* nulls, int direction, SortPrefixes& out) {
    const uint64_t null_place = direction > 0 ? UINT64_MAX : 0;
    for (size_t i = 0; i < column.size(); ++i) {
        const size_t start = column.startAt(i);
        const size_t length = column.ends()[i] - start;
        uint64_t head = 0;
        if (length >= 8)
            std::memcpy(&head, column.chars().data() + start, 8);
        else if (length != 0)
            std::memcpy(&head, column.chars().data() + start, length);
        head = __builtin_bswap64(head);
        if (nulls) head = nulls[i] ? null_place : (head >> 2) + 1;
        out.values[i] = head;
    }
}

}  // namespace

SortPrefixes sortPrefixes(const SortColumns& columns, size_t rows) {
    SortPrefixes out;
    out.values.resizeZeroed(rows);
    if (columns.keyCount() == 0) return out;
    const plan::SortKey& key = columns.key(0);
    const Column* column = columns.column(0).get();
    const uint8_t* nulls = nullptr;
    if (column->kind() == ColumnKind::Nullable) {
        const auto& nullable = static_cast<const NullableColumn&>(*column);
        nulls = nullable.nulls().data();
        column = nullable.values().get();
    }
    if (column->kind() == ColumnKind::String) {
        stringPrefixes(static_cast<const StringColumn&>(*column), nulls, key.nulls_direction, out);
    } else if (column->kind() == ColumnKind::Fixed) {
        const auto attempt = [&]<typename T>(Tag<T>) {
            if (const auto* fixed = dynamic_cast<const FixedColumn<T>*>(column))
                fixedPrefixes(*fixed, nulls, key.nulls_direction, out);
        };
#define TRY(name, type) attempt(Tag<type>{});
        SHARDD_FIXED_TYPES(TRY)
#undef TRY
    }
    if (key.descending)
        for (uint64_t& value : out.values) value = ~value;
    return out;
}

bool equalBy(
    const std::vector<plan::SortKey>& keys, const Block& a, size_t row_a, const Block& b, size_t row_b) {
    return std::all_of(keys.begin(), keys.end(), [&](const plan::SortKey& key) {
        const ColumnPtr left = fullPlain(a.get(key.column).column);
        const ColumnPtr right = fullPlain(b.get(key.column).column);
        return left->compareAt(row_a, *right, row_b, key.nulls_direction) == 0;
    });
}

PodVector<RowIndex> sortedRows(const std::vector<plan::SortKey>& keys,
                               const Block& block,
                               uint64_t limit,
                               bool with_ties) {
    struct Entry {
        uint64_t prefix;
        RowIndex row;
    };

    const SortColumns columns(keys, block);
    const SortPrefixes prefixes = sortPrefixes(columns, block.rows);
    PodVector<Entry> entries(block.rows);
    for (size_t i = 0; i < block.rows; ++i) entries[i] = {prefixes.values[i], static_cast<RowIndex>(i)};
    const size_t first_key = prefixes.exact ? 1 : 0;
    const bool decided = prefixes.exact && keys.size() == 1;
    const auto order = [&](const Entry& a, const Entry& b) {
        if (a.prefix != b.prefix) return a.prefix < b.prefix ? -1 : 1;
        return decided ? 0 : columns.compare(a.row, columns, b.row, first_key);
    };
    const auto less = [&](const Entry& a, const Entry& b) {
        const int result = order(a, b);
        return result != 0 ? result < 0 : a.row < b.row;
    };
    size_t kept = block.rows;
    if (limit != 0 && limit < block.rows) {
        kept = limit;
        std::nth_element(entries.begin(), entries.begin() + kept - 1, entries.end(), less);
        if (with_ties) {
            const Entry last = entries[kept - 1];
            auto* ties = std::partition(entries.begin() + kept, entries.end(),
                                        [&](const Entry& entry) { return order(entry, last) == 0; });
            kept = static_cast<size_t>(ties - entries.begin());
        }
    }
    std::sort(entries.begin(), entries.begin() + kept, less);
    PodVector<RowIndex> rows(kept);
    for (size_t i = 0; i < kept; ++i) rows[i] = entries[i].row;
    return rows;
}

}  // namespace shardd::exec
