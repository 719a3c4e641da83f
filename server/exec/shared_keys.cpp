#include "server/exec/shared_keys.h"

#include <algorithm>

namespace shardd::exec {

namespace {

/// What a worker remembers fits into its share of the cache.
constexpr size_t kRecentKeys = size_t{1} << 14;

GroupRowFormat formatOf(const KeyLayout& layout, size_t state_bytes) {
    return {layout.rowBytes(), std::max<size_t>(8, layout.rowBytes() + state_bytes)};
}

size_t tableOf(uint64_t hash, size_t tables) { return (hash >> 40) & (tables - 1); }

}  // namespace

void selectKeys(const KeyLayout& layout,
                const KeyBatch& keys,
                std::span<const RowIndex> rows,
                KeyBatch& part) {
    const size_t words = layout.words();
    part.rows = rows.size();
    part.strings_stay = false;
    part.hashes.resize(rows.size());
    for (size_t i = 0; i < rows.size(); ++i) part.hashes[i] = keys.hashes[rows[i]];
    part.words_buffer.resize(rows.size() * words);
    for (size_t i = 0; i < rows.size(); ++i)
        for (size_t w = 0; w < words; ++w) part.words_buffer[i * words + w] = keys.words[rows[i] * words + w];
    part.words = part.words_buffer.data();
    part.strings = nullptr;
    if (!layout.hasString()) return;
    part.strings_buffer.resize(rows.size());
    for (size_t i = 0; i < rows.size(); ++i) part.strings_buffer[i] = keys.strings[rows[i]];
    part.strings = part.strings_buffer.data();
}

SharedKeys::SharedKeys(std::vector<TypePtr> types, size_t state_bytes)
    : layout_(std::move(types)), format_(formatOf(layout_, state_bytes)) {
    for (Table& table : tables_) {
        table.keys = makeKeyTable(layout_);
        table.keys->reset(128);
    }
}

SharedKeys::~SharedKeys() = default;

std::array<uint32_t, SharedKeys::kTables> SharedKeys::sortByTable(Scratch& scratch) const {
    std::array<uint32_t, kTables> next{};
    const PodVector<uint64_t>& hashes = scratch.keys.hashes;
    const size_t rows = scratch.keys.rows;
    for (size_t i = 0; i < rows; ++i) ++next[tableOf(hashes[i], kTables)];
    uint32_t sum = 0;
    for (uint32_t& count : next) {
        sum += count;
        count = sum - count;
    }
    scratch.rows.resize(rows);
    for (size_t i = 0; i < rows; ++i)
        scratch.rows[next[tableOf(hashes[i], kTables)]++] = static_cast<RowIndex>(i);
    return next;  // now each table's end
}

void SharedKeys::takePart(Scratch& scratch, std::span<const RowIndex> rows) const {
    selectKeys(layout_, scratch.keys, rows, scratch.part);
    scratch.places.resize(rows.size());
    scratch.fresh.clear();
}

void SharedKeys::lookUp(Table& table, Scratch& scratch) const {
    const size_t rows = scratch.part.rows;
    if (!table.keys->fits(rows)) table.keys->growFor(table.keys->size() + rows);
    table.keys->lookUp(scratch.part, table.store, format_, table.arena, KeyTable::Mode::Insert,
                       scratch.places.data(), &scratch.fresh);
}

RecentKeys::RecentKeys(const KeyLayout& layout)
    : format_(formatOf(layout, 0)),
      keys_(makeKeyTable(layout)),
      store_(std::in_place),
      arena_(std::in_place) {
    keys_->reset(256);
}

void RecentKeys::takeNew(const KeyBatch& keys, PodVector<RowIndex>& rows) {
    if (keys_->size() > kRecentKeys) {
        keys_->reset(kRecentKeys);
        store_.emplace();
        arena_.emplace();
    }
    if (!keys_->fits(keys.rows)) keys_->growFor(keys_->size() + keys.rows);
    places_.resize(keys.rows);
    fresh_.clear();
    keys_->lookUp(keys, *store_, format_, *arena_, KeyTable::Mode::Insert, places_.data(), &fresh_);
    size_t next_fresh = 0;
    for (size_t i = 0; i < keys.rows && next_fresh < fresh_.size(); ++i) {
        if (places_[i] != fresh_[next_fresh]) continue;
        rows.push_back(static_cast<RowIndex>(i));
        ++next_fresh;
    }
}

}  // namespace shardd::exec
