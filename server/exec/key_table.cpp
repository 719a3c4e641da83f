#include "server/exec/key_table.h"

#include <bit>
#include <cstring>

#include "server/exec/key_hash.h"

namespace shardd::exec {

namespace {

/// How far ahead of the row in work slots are fetched: long enough for a miss, short enough for the fill
/// buffers.
constexpr size_t kPrefetchDistance = 12;
/// Tables below this many slots stay in the first caches by themselves.
constexpr size_t kPrefetchFrom = size_t{1} << 13;

size_t slotsFor(size_t keys) { return std::bit_ceil(std::max<size_t>(keys * 2, 256)); }

template <size_t Words, bool HasString>
class TypedKeyTable final : public KeyTable {
public:
    void lookUp(const KeyBatch& batch,
                GroupStore& store,
                const GroupRowFormat& format,
                Arena& arena,
                Mode mode,
                char** places,
                PodVector<char*>* fresh) override {
        if (mode == Mode::Append) {
            for (size_t i = 0; i < batch.rows; ++i) {
                places[i] = makeRow(batch, i, store, format, arena);
                if (fresh) fresh->push_back(places[i]);
            }
            return;
        }
        const size_t mask = slots_.size() - 1;
        uint64_t* slots = slots_.data();
        const uint64_t* hashes = batch.hashes.data();
        const bool prefetch = slots_.size() >= kPrefetchFrom;
        for (size_t i = 0; i < batch.rows; ++i) {
            if (prefetch) fetchAhead(slots, mask, hashes, i, batch.rows);
            const uint64_t hash = hashes[i];
            const uint64_t tag = hash & ~kAddress;
            size_t slot = hash & mask;
            for (;; slot = (slot + 1) & mask) {
                const uint64_t entry = slots[slot];
                if (entry == 0) {
                    if (mode == Mode::FindOnly) {
                        places[i] = nullptr;
                        break;
                    }
                    char* row = makeRow(batch, i, store, format, arena);
                    slots[slot] = tag | reinterpret_cast<uintptr_t>(row);
                    ++size_;
                    places[i] = row;
                    if (fresh) fresh->push_back(row);
                    break;
                }
                if ((entry & ~kAddress) != tag) continue;
                auto* row = reinterpret_cast<char*>(entry & kAddress);
                if (equals(row, batch, i)) {
                    places[i] = row;
                    break;
                }
            }
        }
    }

    void adopt(char* const* rows, size_t count, char** owners) override {
        const size_t mask = slots_.size() - 1;
        uint64_t* slots = slots_.data();
        hashes_.resize(count);
        hashesOf(rows, count, hashes_.data());
        for (size_t i = 0; i < count; ++i) {
            fetchAhead(slots, mask, hashes_.data(), i, count);
            const uint64_t tag = hashes_[i] & ~kAddress;
            size_t slot = hashes_[i] & mask;
            for (;; slot = (slot + 1) & mask) {
                const uint64_t entry = slots[slot];
                if (entry == 0) {
                    slots[slot] = tag | reinterpret_cast<uintptr_t>(rows[i]);
                    ++size_;
                    owners[i] = rows[i];
                    break;
                }
                if ((entry & ~kAddress) != tag) continue;
                auto* row = reinterpret_cast<char*>(entry & kAddress);
                if (equalRows(row, rows[i])) {
                    owners[i] = row;
                    break;
                }
            }
        }
    }

    void hashesOf(char* const* rows, size_t count, uint64_t* hashes) const override {
        for (size_t i = 0; i < count; ++i) {
            if (i + kPrefetchDistance < count) __builtin_prefetch(rows[i + kPrefetchDistance]);
            hashes[i] = hashOf(rows[i]);
        }
    }

    void growFor(size_t keys) override {
        PodVector<uint64_t> old;
        old.swap(slots_);
        slots_.resizeZeroed(std::max(old.size() * 2, slotsFor(keys)));
        const size_t mask = slots_.size() - 1;
        for (size_t i = 0; i < old.size(); ++i) {
            if (i + kPrefetchDistance < old.size())
                __builtin_prefetch(reinterpret_cast<const char*>(old[i + kPrefetchDistance] & kAddress));
            if (old[i] == 0) continue;
            size_t slot = hashOf(reinterpret_cast<const char*>(old[i] & kAddress)) & mask;
            while (slots_[slot] != 0) slot = (slot + 1) & mask;
            slots_[slot] = old[i];
        }
    }

private:
    /// What is stored of a row's string key.
    struct StoredString {
        uint64_t hash;
        KeyString text;
    };

    static void fetchAhead(
        const uint64_t* slots, size_t mask, const uint64_t* hashes, size_t i, size_t rows) {
        if (i + kPrefetchDistance < rows) __builtin_prefetch(&slots[hashes[i + kPrefetchDistance] & mask]);
        if (i + kPrefetchDistance / 3 < rows) {
            const uint64_t entry = slots[hashes[i + kPrefetchDistance / 3] & mask];
            __builtin_prefetch(reinterpret_cast<const char*>(entry & kAddress));
        }
    }

    static char* makeRow(
        const KeyBatch& batch, size_t i, GroupStore& store, const GroupRowFormat& format, Arena& arena) {
        char* row = store.allocate(batch.hashes[i], format.row_bytes);
        if constexpr (Words != 0) std::memcpy(row, batch.words + i * Words, Words * 8);
        if constexpr (HasString) {
            const KeyString& text = batch.strings[i];
            const StoredString stored{batch.hashes[i],
                                      {arena.insert({text.data, text.size}).data(), text.size}};
            std::memcpy(row + Words * 8, &stored, sizeof(stored));
        }
        std::memset(row + format.states_offset, 0, format.row_bytes - format.states_offset);
        return row;
    }

    static bool equals(const char* row, const KeyBatch& batch, size_t i) {
        if constexpr (Words != 0) {
            if (!equalWords(row, reinterpret_cast<const char*>(batch.words + i * Words))) return false;
        }
        if constexpr (HasString) {
            StoredString stored;
            std::memcpy(&stored, row + Words * 8, sizeof(stored));
            const KeyString& text = batch.strings[i];
            return stored.hash == batch.hashes[i] && stored.text.size == text.size &&
                   (text.size == 0 || std::memcmp(stored.text.data, text.data, text.size) == 0);
        }
        return true;
    }

    static bool equalRows(const char* a, const char* b) {
        if constexpr (Words != 0) {
            if (!equalWords(a, b)) return false;
        }
        if constexpr (HasString) {
            StoredString left;
            StoredString right;
            std::memcpy(&left, a + Words * 8, sizeof(left));
            std::memcpy(&right, b + Words * 8, sizeof(right));
            return left.hash == right.hash && left.text.size == right.text.size &&
                   (left.text.size == 0 || std::memcmp(left.text.data, right.text.data, left.text.size) == 0);
        }
        return true;
    }

    static bool equalWords(const char* a, const char* b) {
        uint64_t difference = 0;
        for (size_t w = 0; w < Words; ++w) {
            uint64_t x = 0;
            uint64_t y = 0;
            std::memcpy(&x, a + w * 8, 8);
            std::memcpy(&y, b + w * 8, 8);
            difference |= x ^ y;
        }
        return difference == 0;
    }

    static uint64_t hashOf(const char* row) {
        uint64_t hash = 0;
        if constexpr (HasString) {
            std::memcpy(&hash, row + Words * 8, sizeof(hash));
        } else {
            uint64_t words[Words];
            std::memcpy(words, row, sizeof(words));
            hash = hashWords<Words>(words);
        }
        return hash;
    }

    PodVector<uint64_t> hashes_;  // of the rows that adopt() was given
};

}  // namespace

void KeyTable::reset(size_t keys) {
    const size_t slots = slotsFor(keys);
    size_ = 0;
    if (slots_.size() < slots || slots_.size() > 4 * slots) {
        PodVector<uint64_t> fresh;
        fresh.resizeZeroed(slots);
        slots_.swap(fresh);
        return;
    }
    std::memset(slots_.data(), 0, slots_.size() * sizeof(uint64_t));
}

std::unique_ptr<KeyTable> makeKeyTable(const KeyLayout& layout) {
    switch (layout.words() + (layout.hasString() ? 10 : 0)) {
        case 1:
            return std::make_unique<TypedKeyTable<1, false>>();
        case 2:
            return std::make_unique<TypedKeyTable<2, false>>();
        case 4:
            return std::make_unique<TypedKeyTable<4, false>>();
        case 10:
            return std::make_unique<TypedKeyTable<0, true>>();
        case 11:
            return std::make_unique<TypedKeyTable<1, true>>();
        case 12:
            return std::make_unique<TypedKeyTable<2, true>>();
        default:
            return std::make_unique<TypedKeyTable<4, true>>();
    }
}

}  // namespace shardd::exec
