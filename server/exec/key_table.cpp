#include "server/exec/key_table.h"

#include <bit>
#include <cstring>

#include "server/exec/key_hash.h"

namespace shardd::exec {

namespace {

/// How far ahead of the row in work its slot, then the group's row, then the text of that row's key are
/// fetched: each long enough for a miss of the one before.
constexpr size_t kFetchSlot = 18;
constexpr size_t kFetchRow = 11;
constexpr size_t kFetchText = 5;
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
                if (isRepeated(batch, i)) {
                    places[i] = places[i - 1];
                    continue;
                }
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
            // In a small table a key is found sooner than a guess whether it repeats turns out wrong.
            if ((HasString || prefetch) && isRepeated(batch, i)) {
                places[i] = places[i - 1];
                continue;
            }
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
            if (HasString && i + kFetchText < count) fetchText(rows[i + kFetchText]);
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
            if (i + kFetchSlot < count) __builtin_prefetch(rows[i + kFetchSlot]);
            hashes[i] = hashOf(rows[i]);
        }
    }

    void growFor(size_t keys) override {
        PodVector<uint64_t> old;
        old.swap(slots_);
        // While it is small, room costs less than moving.
        const size_t times = old.size() < 2 * kPrefetchFrom ? 4 : 2;
        slots_.resizeZeroed(std::max(old.size() * times, slotsFor(keys)));
        const size_t mask = slots_.size() - 1;
        for (size_t i = 0; i < old.size(); ++i) {
            if (i + kFetchSlot < old.size())
                __builtin_prefetch(reinterpret_cast<const char*>(old[i + kFetchSlot] & kAddress));
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

    static const char* rowOf(uint64_t entry) { return reinterpret_cast<const char*>(entry & kAddress); }

    static void fetchText(const char* row) {
        if constexpr (HasString) {
            StoredString stored;
            std::memcpy(&stored, row + Words * 8, sizeof(stored));
            __builtin_prefetch(stored.text.data);
            __builtin_prefetch(stored.text.data + 64);
        }
    }

    static void fetchAhead(
        const uint64_t* slots, size_t mask, const uint64_t* hashes, size_t i, size_t rows) {
        if (i + kFetchSlot < rows) __builtin_prefetch(&slots[hashes[i + kFetchSlot] & mask]);
        if (i + kFetchRow < rows) __builtin_prefetch(rowOf(slots[hashes[i + kFetchRow] & mask]));
        if constexpr (HasString) {
            if (i + kFetchText >= rows) return;
            const uint64_t hash = hashes[i + kFetchText];
            const uint64_t entry = slots[hash & mask];
            if (entry != 0 && ((entry ^ hash) & ~kAddress) == 0) fetchText(rowOf(entry));
        }
    }

    static char* makeRow(
        const KeyBatch& batch, size_t i, GroupStore& store, const GroupRowFormat& format, Arena& arena) {
        char* row = store.allocate(batch.hashes[i], format.row_bytes);
        if constexpr (Words != 0) std::memcpy(row, batch.words + i * Words, Words * 8);
        if constexpr (HasString) {
            KeyString text = batch.strings[i];
            if (!batch.strings_stay) text.data = arena.insert({text.data, text.size}).data();
            const StoredString stored{batch.hashes[i], text};
            std::memcpy(row + Words * 8, &stored, sizeof(stored));
        }
        for (size_t at = format.states_offset; at < format.row_bytes; at += 8) std::memset(row + at, 0, 8);
        return row;
    }

    /// The key of the row before: tables are in order of something, so that keys come in runs.
    static bool isRepeated(const KeyBatch& batch, size_t i) {
        if (i == 0 || batch.hashes[i] != batch.hashes[i - 1]) return false;
        if constexpr (Words != 0) {
            const auto* words = reinterpret_cast<const char*>(batch.words + i * Words);
            if (!equalWords(words, words - Words * 8)) return false;
        }
        if constexpr (HasString) {
            const KeyString& text = batch.strings[i];
            const KeyString& before = batch.strings[i - 1];
            return text.size == before.size &&
                   (text.size == 0 || std::memcmp(text.data, before.data, text.size) == 0);
        }
        return true;
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
