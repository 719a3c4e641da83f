#include "server/storage/row_order.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "common/base/error.h"
#include "common/base/writer.h"
#include "common/columns/fixed_column.h"
#include "common/columns/nullable_column.h"

namespace shardd::storage {

namespace {

struct KeyedRow {
    uint64_t prefix;
    RowIndex row;
};

/// A number whose order agrees with the order of the values, though different values may have the same one.
void fillPrefixes(const Column& column, std::vector<KeyedRow>& rows) {
    if (column.kind() == ColumnKind::String || column.kind() == ColumnKind::FixedString) {
        for (KeyedRow& keyed : rows) {
            const std::string_view text = column.bytesAt(keyed.row);
            uint64_t word = 0;
            std::memcpy(&word, text.data(), std::min<size_t>(8, text.size()));
            keyed.prefix = __builtin_bswap64(word);
        }
        return;
    }
    const auto fill = [&](auto tag, auto map) {
        using T = typename decltype(tag)::Type;
        const auto* fixed = dynamic_cast<const FixedColumn<T>*>(&column);
        if (!fixed) return;
        for (KeyedRow& keyed : rows) keyed.prefix = map((*fixed).values()[keyed.row]);
    };
    const auto unsigned_map = [](auto value) { return static_cast<uint64_t>(value); };
    const auto signed_map = [](auto value) {
        return static_cast<uint64_t>(static_cast<int64_t>(value)) ^ (uint64_t{1} << 63);
    };
    fill(Tag<uint8_t>{}, unsigned_map);
    fill(Tag<uint16_t>{}, unsigned_map);
    fill(Tag<uint32_t>{}, unsigned_map);
    fill(Tag<uint64_t>{}, unsigned_map);
    fill(Tag<int8_t>{}, signed_map);
    fill(Tag<int16_t>{}, signed_map);
    fill(Tag<int32_t>{}, signed_map);
    fill(Tag<int64_t>{}, signed_map);
}

class RowLess {
public:
    RowLess(const std::vector<ColumnPtr>& keys, const KeyDescription& key) : keys_(keys), key_(key) {}

    int compare(RowIndex a, RowIndex b) const {
        for (size_t i = 0; i < keys_.size(); ++i)
            if (const int order = keys_[i]->compareAt(a, *keys_[i], b, 1))
                return key_.elements[i].descending ? -order : order;
        return 0;
    }

private:
    const std::vector<ColumnPtr>& keys_;
    const KeyDescription& key_;
};

}  // namespace

PodVector<RowIndex> sortedRows(const Block& block, const KeyDescription& key) {
    std::vector<ColumnPtr> keys;
    for (const KeyElement& element : key.elements) keys.push_back(element.compute(block));
    PodVector<RowIndex> order;
    if (keys.empty() || block.rows < 2) return order;
    const RowLess less(keys, key);
    bool in_order = true;
    for (RowIndex row = 1; row < block.rows && in_order; ++row) in_order = less.compare(row - 1, row) <= 0;
    if (in_order) return order;
    std::vector<KeyedRow> rows(block.rows, KeyedRow{0, 0});
    for (RowIndex row = 0; row < block.rows; ++row) rows[row].row = row;
    if (!key.elements[0].descending) fillPrefixes(*keys[0], rows);
    std::sort(rows.begin(), rows.end(), [&](const KeyedRow& a, const KeyedRow& b) {
        if (a.prefix != b.prefix) return a.prefix < b.prefix;
        const int compared = less.compare(a.row, b.row);
        return compared != 0 ? compared < 0 : a.row < b.row;
    });
    order.resize(rows.size());
    for (size_t i = 0; i < rows.size(); ++i) order[i] = rows[i].row;
    return order;
}

Block keepLatest(const Block& block, const KeyDescription& key, const std::string& version) {
    std::vector<ColumnPtr> keys;
    for (const KeyElement& element : key.elements) keys.push_back(element.compute(block));
    const RowLess less(keys, key);
    const Column* versions = version.empty() ? nullptr : block.get(version).column.get();
    Mask keep(block.rows, 0);
    for (RowIndex first = 0; first < block.rows;) {
        RowIndex best = first;
        RowIndex next = first + 1;
        for (; next < block.rows && less.compare(first, next) == 0; ++next)
            if (!versions || versions->compareAt(next, *versions, best, 1) >= 0) best = next;
        keep[best] = 1;
        first = next;
    }
    return block.filter(keep.span(), SIZE_MAX);
}

std::vector<PartitionRows> splitByPartition(const Block& block,
                                            const KeyDescription& partition_key,
                                            size_t max_partitions) {
    std::vector<PartitionRows> partitions;
    if (partition_key.empty()) {
        partitions.emplace_back();
        return partitions;
    }
    std::vector<ColumnPtr> keys;
    for (const KeyElement& element : partition_key.elements)
        keys.push_back(fullPlain(element.compute(block)));
    std::unordered_map<std::string, size_t> known;
    size_t current = 0;
    for (RowIndex row = 0; row < block.rows; ++row) {
        bool same = row > 0;
        for (size_t i = 0; i < keys.size() && same; ++i)
            same = keys[i]->compareAt(row - 1, *keys[i], row, 1) == 0;
        if (!same) {
            Writer bytes;
            for (const ColumnPtr& column : keys) column->serializeKey(row, bytes);
            const auto [entry, added] = known.try_emplace(std::string(bytes.view()), partitions.size());
            current = entry->second;
            if (added) {
                if (max_partitions != 0 && partitions.size() == max_partitions)
                    throw Error(ErrorCode::TOO_MANY_PARTS,
                                "Too many partitions for single INSERT block (more than {}). The limit is "
                                "controlled by "
                                "'max_partitions_per_insert_block' setting",
                                max_partitions);
                partitions.emplace_back();
                for (const ColumnPtr& column : keys)
                    partitions.back().values.push_back(column->slice(row, 1));
            }
        }
        partitions[current].rows.push_back(row);
    }
    if (partitions.size() == 1) partitions[0].rows.clear();
    return partitions;
}

}  // namespace shardd::storage
