#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "server/exec/key_table.h"

namespace shardd::exec {

/// Distinct keys that workers meet side by side: tables by bits of the hash, a lock each. Keys are packed and
/// sorted by table outside of the locks.
/// Threads: any number, each with a Scratch of its own.
class SharedKeys {
public:
    /// Buffers of a worker, kept from block to block.
    struct Scratch {
        KeyBatch keys;
        KeyBatch part;
        PodVector<RowIndex> rows;  // of the keys, by table
        PodVector<char*> places;
        PodVector<char*> fresh;
    };

    /// `types` of the keys, without LowCardinality. Beside each key lie `state_bytes` zeroed bytes, a
    /// multiple of 8.
    SharedKeys(std::vector<TypePtr> types, size_t state_bytes);
    ~SharedKeys();

    const KeyLayout& layout() const { return layout_; }

    /// For each of scratch.keys, which layout() packed: action(row, state, is_new) under the lock of its key.
    /// Rows of equal keys come in their order, others in any.
    template <typename Action>
    void visit(Scratch& scratch, Action&& action) {
        const auto ends = sortByTable(scratch);
        uint32_t begin = 0;
        for (size_t t = 0; t < kTables; ++t) {
            const std::span<const RowIndex> rows(scratch.rows.data() + begin, ends[t] - begin);
            begin = ends[t];
            if (rows.empty()) continue;
            takePart(scratch, rows);
            Table& table = tables_[t];
            const std::lock_guard lock(table.mutex);
            lookUp(table, scratch);
            size_t next_fresh = 0;
            for (size_t i = 0; i < rows.size(); ++i) {
                char* place = scratch.places[i];
                const bool is_new = next_fresh < scratch.fresh.size() && scratch.fresh[next_fresh] == place;
                next_fresh += is_new;
                action(rows[i], place + format_.states_offset, is_new);
            }
        }
    }

private:
    static constexpr size_t kTables = 64;

    struct Table {
        std::mutex mutex;  // guards the others
        std::unique_ptr<KeyTable> keys;
        GroupStore store;
        Arena arena;
    };

    std::array<uint32_t, kTables> sortByTable(Scratch& scratch) const;
    void takePart(Scratch& scratch, std::span<const RowIndex> rows) const;
    void lookUp(Table& table, Scratch& scratch) const;

    KeyLayout layout_;
    GroupRowFormat format_;
    std::array<Table, kTables> tables_;
};

/// Keys that one worker met lately, so that it asks about each of them once; forgets when it has many.
class RecentKeys {
public:
    explicit RecentKeys(const KeyLayout& layout);

    /// Appends to `rows` which of the keys were not met before.
    void takeNew(const KeyBatch& keys, PodVector<RowIndex>& rows);

private:
    GroupRowFormat format_;
    std::unique_ptr<KeyTable> keys_;
    std::optional<GroupStore> store_;
    std::optional<Arena> arena_;
    PodVector<char*> places_;
    PodVector<char*> fresh_;
};

/// Only these keys of the batch, in this order. `part` points into `keys` and its own buffers.
void selectKeys(const KeyLayout& layout,
                const KeyBatch& keys,
                std::span<const RowIndex> rows,
                KeyBatch& part);

}  // namespace shardd::exec
