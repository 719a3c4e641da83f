#include "server/exec/row_set.h"

#include "common/base/city_hash.h"

namespace shardd::exec {

namespace {

std::string_view serializeRow(std::span<const ColumnPtr> columns, size_t row, Writer& scratch) {
    scratch.clear();
    for (const ColumnPtr& column : columns) column->serializeKey(row, scratch);
    return scratch.view();
}

}  // namespace

size_t RowSet::slotOf(uint64_t hash, std::string_view key) const {
    const size_t mask = slots_.size() - 1;
    for (size_t slot = hash & mask;; slot = (slot + 1) & mask) {
        if (slots_[slot] == 0) return slot;
        const Entry& entry = entries_[slots_[slot] - 1];
        if (entry.hash == hash && entry.key == key) return slot;
    }
}

void RowSet::grow() {
    PodVector<uint32_t> fresh;
    fresh.resizeZeroed(slots_.empty() ? 256 : slots_.size() * 2);
    slots_.swap(fresh);
    const size_t mask = slots_.size() - 1;
    for (size_t i = 0; i < entries_.size(); ++i) {
        size_t slot = entries_[i].hash & mask;
        while (slots_[slot] != 0) slot = (slot + 1) & mask;
        slots_[slot] = static_cast<uint32_t>(i + 1);
    }
}

void RowSet::insert(std::span<const ColumnPtr> columns, size_t rows, PodVector<uint64_t>& numbers) {
    numbers.resize(rows);
    Writer scratch;
    for (size_t row = 0; row < rows; ++row) {
        if ((entries_.size() + 1) * 2 > slots_.size()) grow();
        const std::string_view key = serializeRow(columns, row, scratch);
        const uint64_t hash = cityHash64(key);
        const size_t slot = slotOf(hash, key);
        if (slots_[slot] == 0) {
            entries_.push_back({hash, arena_.insert(key)});
            slots_[slot] = static_cast<uint32_t>(entries_.size());
        }
        numbers[row] = slots_[slot] - 1;
    }
}

void RowSet::find(std::span<const ColumnPtr> columns, size_t rows, PodVector<uint64_t>& numbers) const {
    numbers.assign(rows, kMissing);
    if (slots_.empty()) return;
    Writer scratch;
    for (size_t row = 0; row < rows; ++row) {
        const std::string_view key = serializeRow(columns, row, scratch);
        const size_t slot = slotOf(cityHash64(key), key);
        if (slots_[slot] != 0) numbers[row] = slots_[slot] - 1;
    }
}

}  // namespace shardd::exec
