#include "server/storage/key_ranges.h"

#include <algorithm>

#include "common/base/error.h"

namespace shardd::storage {

uint64_t ChosenGranules::rows() const {
    uint64_t rows = 0;
    for (const auto& [first, last] : granules) rows += part->index().rowsBetween(first, last);
    return rows;
}

bool KeyRanges::canCut(const std::vector<ChosenGranules>& parts) {
    return std::none_of(parts.begin(), parts.end(),
                        [](const ChosenGranules& chosen) { return chosen.part->index().keys.empty(); });
}

KeyRanges::KeyRanges(std::vector<ChosenGranules> parts,
                     const KeyDescription& primary_key,
                     const std::vector<PartColumn>& key_columns,
                     size_t elements,
                     uint64_t target_rows)
    : parts_(std::move(parts)) {
    SHARDD_CHECK(elements > 0 && elements <= primary_key.elements.size() && canCut(parts_));
    for (size_t i = 0; i < elements; ++i) elements_.push_back(primary_key.elements[i]);
    for (const PartColumn& column : key_columns)
        if (std::any_of(elements_.begin(), elements_.end(), [&](const KeyElement& element) {
                return std::find(element.columns.begin(), element.columns.end(), column.name) !=
                       element.columns.end();
            }))
            key_columns_.push_back(column);
    cut(sortedEntries(), target_rows);
}

void KeyRanges::cut(const std::vector<Entry>& entries, uint64_t target_rows) {
    rows_.push_back(0);
    const Entry* begin = nullptr;     // of the range
    const Entry* previous = nullptr;  // entry
    uint64_t rows_of_key = 0;
    for (const Entry& entry : entries) {
        const PartIndex& index = parts_[entry.part].part->index();
        const auto isKeyOf = [&](const Entry* other) {
            return other && compare(index.keys, entry.granule, *other) == 0;
        };
        if (!begin) begin = &entry;
        if (!isKeyOf(previous)) rows_of_key = 0;
        if (rows_.back() >= target_rows && !isKeyOf(begin)) {
            boundaries_.push_back(std::make_unique<Boundary>());
            boundaries_.back()->key = entry;
            rows_.back() -= rows_of_key;
            rows_.push_back(rows_of_key);
            begin = &entry;
        }
        rows_.back() += index.rowsBetween(entry.granule, entry.granule + 1);
        rows_of_key += index.rowsBetween(entry.granule, entry.granule + 1);
        previous = &entry;
    }
}

/// The granules that are read, by their first keys.
std::vector<KeyRanges::Entry> KeyRanges::sortedEntries() const {
    std::vector<Entry> all;
    for (size_t part = 0; part < parts_.size(); ++part)
        for (const auto& [first, last] : parts_[part].granules)
            for (size_t granule = first; granule < last; ++granule) all.push_back({part, granule});
    if (parts_.size() > 1)
        std::stable_sort(all.begin(), all.end(), [&](const Entry& a, const Entry& b) {
            return compare(parts_[a.part].part->index().keys, a.granule, b) < 0;
        });
    return all;
}

int KeyRanges::compare(const std::vector<ColumnPtr>& keys, size_t row, const Entry& other) const {
    const std::vector<ColumnPtr>& others = parts_[other.part].part->index().keys;
    for (size_t i = 0; i < elements_.size(); ++i)
        if (const int order = keys[i]->compareAt(row, *others[i], other.granule, 1))
            return elements_[i].descending ? -order : order;
    return 0;
}

ColumnPtr KeyRanges::boundary(size_t range) const {
    const Entry& key = boundaries_[range - 1]->key;
    return parts_[key.part].part->index().keys[0]->slice(key.granule, 1);
}

uint64_t KeyRanges::firstRow(size_t range, size_t part) const {
    return range == 0 ? 0 : rowsOf(*boundaries_[range - 1])[part];
}

uint64_t KeyRanges::endRow(size_t range, size_t part) const {
    return range + 1 == count() ? parts_[part].part->rows() : rowsOf(*boundaries_[range])[part];
}

const std::vector<uint64_t>& KeyRanges::rowsOf(Boundary& boundary) const {
    std::call_once(boundary.once, [&] {
        std::vector<uint64_t> rows;
        for (const ChosenGranules& chosen : parts_) rows.push_back(lowerBound(chosen, boundary.key));
        boundary.rows = std::move(rows);
    });
    return boundary.rows;
}

/// The first row of the part whose key is not less than `key`.
uint64_t KeyRanges::lowerBound(const ChosenGranules& chosen, const Entry& key) const {
    const PartIndex& index = chosen.part->index();
    size_t low = 0;
    size_t high = index.keys[0]->size();
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (compare(index.keys, middle, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    // An entry behind the granules is of the last row: if that is less, all are.
    if (low == 0) return 0;
    if (low > index.granules()) return chosen.part->rows();
    const size_t granule = low - 1;
    const bool is_read = std::any_of(chosen.granules.begin(), chosen.granules.end(), [&](const auto& range) {
        return range.first <= granule && granule < range.second;
    });
    return is_read ? lowerBoundWithin(chosen.part, granule, key) : index.row_starts[low];
}

uint64_t KeyRanges::lowerBoundWithin(const PartPtr& part, size_t granule, const Entry& key) const {
    const PartIndex& index = part->index();
    PartReader reader(part, key_columns_);
    reader.cacheWholeChunks();
    const std::vector<ColumnPtr> read = reader.read({{granule, granule + 1}});
    Block block;
    block.rows = index.rowsBetween(granule, granule + 1);
    for (size_t i = 0; i < read.size(); ++i)
        block.columns.push_back({key_columns_[i].name, key_columns_[i].type, read[i]});
    std::vector<ColumnPtr> keys;
    for (const KeyElement& element : elements_) keys.push_back(fullPlain(element.compute(block)));
    size_t low = 0;
    size_t high = block.rows;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (compare(keys, middle, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return index.row_starts[granule] + low;
}

}  // namespace shardd::storage
