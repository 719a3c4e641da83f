#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "common/base/arena.h"
#include "common/base/hash.h"
#include "common/base/memory_budget.h"
#include "common/base/wide_integer.h"

namespace shardd::aggregates {

/// How keys of a CompactSet are hashed (upper bits are used) and which one stands for an empty slot.
template <typename T>
struct FixedKeyTraits {
    static bool isEmpty(const T& key) { return key == T{}; }

    static bool equal(const T& a, const T& b) { return a == b; }

    static uint64_t hash(const T& key) {
        if constexpr (std::is_same_v<T, UInt256>)
            return mix(key.words[0] ^ std::rotl(key.words[1], 17) ^ std::rotl(key.words[2], 31) ^
                       std::rotl(key.words[3], 47));
        else if constexpr (std::is_same_v<T, UInt128>)
            return mix(static_cast<uint64_t>(key) ^ std::rotl(static_cast<uint64_t>(key >> 64), 32));
        else
            return mix(key);
    }

private:
    static uint64_t mix(uint64_t x) {
        x ^= x >> 32;
        x *= 0x9E3779B97F4A7C15ULL;
        x ^= x >> 29;
        x *= 0xBF58476D1CE4E5B9ULL;
        return x;
    }
};

/// A string that lives elsewhere, with its hash so that it is computed once.
struct HashedText {
    const char* data = nullptr;  // never null for a string, not even the empty one
    uint32_t size = 0;
    uint32_t hash = 0;

    std::string_view view() const { return {data, size}; }
};

struct TextKeyTraits {
    static bool isEmpty(const HashedText& key) { return key.data == nullptr; }

    static bool equal(const HashedText& a, const HashedText& b) {
        return a.hash == b.hash && a.size == b.size &&
               (a.size == 0 || std::memcmp(a.data, b.data, a.size) == 0);
    }

    static uint64_t hash(const HashedText& key) { return uint64_t{key.hash} << 32; }
};

/// A set that costs 24 bytes while it has few elements: they lie inside it, then in the arena, and only large
/// tables are on the heap (so that growing gives memory back). Open addressing, at most half full. All zero
/// bytes are an empty set; it may be moved by memcpy. Elements are stable only until the next insert.
template <typename T, typename Traits = FixedKeyTraits<T>>
class CompactSet {
public:
    using Element = T;

    CompactSet() = default;
    CompactSet(const CompactSet&) = delete;
    CompactSet& operator=(const CompactSet&) = delete;

    ~CompactSet() {
        if (on_heap_) freeHeap(slots_, capacity());
    }

    size_t size() const { return size_; }

    bool hasZero() const { return has_zero_; }

    /// The slot that holds an equal key, put there when there was none; nullptr stands for the key of an
    /// empty slot.
    T* insert(const T& key, Arena& arena, bool& inserted) {
        if (Traits::isEmpty(key)) {
            inserted = !has_zero_;
            size_ += inserted;
            has_zero_ = true;
            return nullptr;
        }
        if (bits_ == 0) return insertInline(key, arena, inserted);
        if (size_ * 2 >= capacity()) grow(arena);
        T* slot = find(slots_, bits_, key);
        inserted = Traits::isEmpty(*slot);
        if (inserted) {
            *slot = key;
            ++size_;
        }
        return slot;
    }

    bool insert(const T& key, Arena& arena) {
        bool inserted = false;
        insert(key, arena, inserted);
        return inserted;
    }

    bool contains(const T& key) const {
        if (Traits::isEmpty(key)) return has_zero_;
        if (bits_ != 0) return !Traits::isEmpty(*find(slots_, bits_, key));
        for (size_t i = 0; i < size_ - has_zero_; ++i)
            if (Traits::equal(small_[i], key)) return true;
        return false;
    }

    /// Brings the place of a key near.
    void prefetch(const T& key) const {
        if (bits_ != 0) __builtin_prefetch(slots_ + (Traits::hash(key) >> (64 - bits_)));
    }

    /// Many keys: the slots of later ones are fetched while earlier ones are compared.
    template <typename KeyOf>
    void insertMany(size_t count, Arena& arena, KeyOf&& key_of) {
        constexpr size_t kAhead = 12;
        for (size_t i = 0; i < count; ++i) {
            if (bits_ >= kPrefetchBits && i + kAhead < count)
                __builtin_prefetch(slots_ + (Traits::hash(key_of(i + kAhead)) >> (64 - bits_)));
            insert(key_of(i), arena);
        }
    }

    /// Room for `count` elements without growing in between.
    void reserve(size_t count, Arena& arena) {
        if (count <= kInline) return;
        const auto bits = static_cast<uint8_t>(std::bit_width(count * 2 - 1));
        if (bits > bits_) rehash(bits < kFirstBits ? kFirstBits : bits, arena);
    }

    template <typename Action>
    void forEach(Action&& action) const {
        if (has_zero_) action(T{});
        forEachNonZero(action);
    }

    /// Elements in unspecified order; not the key of the empty slot.
    template <typename Action>
    void forEachNonZero(Action&& action) const {
        if (bits_ == 0) {
            for (size_t i = 0; i < size_ - has_zero_; ++i) action(small_[i]);
            return;
        }
        for (size_t i = 0; i < capacity(); ++i)
            if (!Traits::isEmpty(slots_[i])) action(slots_[i]);
    }

    void mergeFrom(const CompactSet& other, Arena& arena) {
        if (size_ == 0 && bits_ == 0) return copyFrom(other, arena);
        if (other.size_ > size_) reserve(other.size_, arena);
        other.forEach([&](const T& key) { insert(key, arena); });
    }

    /// Brings the elements near that forEach() will go over, or the first of them.
    void prefetchElements() const {
        constexpr size_t kLine = 64;
        constexpr size_t kMostLines = 4;
        const size_t lines = std::min(kMostLines, capacity() * sizeof(T) / kLine + (bits_ != 0));
        for (size_t i = 0; i < lines; ++i)
            __builtin_prefetch(reinterpret_cast<const char*>(slots_) + i * kLine);
    }

    /// Forgets the elements for which `keep` says no.
    template <typename Keep>
    void retain(Keep&& keep, Arena& arena) {
        CompactSet kept;
        kept.reserve(size_,
                     arena);  // in the order of the slots they would crowd at the front of a small table
        forEach([&](const T& key) {
            if (keep(key)) kept.insert(key, arena);
        });
        swap(kept);
    }

    void swap(CompactSet& other) noexcept {
        char bytes[sizeof(CompactSet)];
        std::memcpy(bytes, static_cast<void*>(this), sizeof(bytes));
        std::memcpy(static_cast<void*>(this), static_cast<void*>(&other), sizeof(bytes));
        std::memcpy(static_cast<void*>(&other), bytes, sizeof(bytes));
    }

private:
    static constexpr size_t kInline = sizeof(T) >= 16 ? 1 : 16 / sizeof(T);
    static constexpr uint8_t kFirstBits =
        std::bit_width(kInline * 4 - 1) < 3 ? 3 : std::bit_width(kInline * 4 - 1);
    static constexpr uint8_t kPrefetchBits = 13;
    static constexpr size_t kHeader = 16;  // before a heap table: the budget that pays for it

    size_t capacity() const { return bits_ == 0 ? 0 : size_t{1} << bits_; }

    /// Into a set without elements and slots.
    void copyFrom(const CompactSet& other, Arena& arena) {
        if (other.bits_ == 0) {
            std::memcpy(static_cast<void*>(this), static_cast<const void*>(&other), sizeof(*this));
            return;
        }
        rehash(other.bits_, arena);
        std::memcpy(static_cast<void*>(slots_), static_cast<const void*>(other.slots_),
                    capacity() * sizeof(T));
        size_ = other.size_;
        has_zero_ = other.has_zero_;
    }

    T* insertInline(const T& key, Arena& arena, bool& inserted) {
        const size_t count = size_ - has_zero_;
        for (size_t i = 0; i < count; ++i) {
            if (!Traits::equal(small_[i], key)) continue;
            inserted = false;
            return small_ + i;
        }
        inserted = true;
        if (count < kInline) {
            ++size_;
            small_[count] = key;
            return small_ + count;
        }
        rehash(kFirstBits, arena);
        T* slot = find(slots_, bits_, key);
        *slot = key;
        ++size_;
        return slot;
    }

    static T* find(T* slots, uint8_t bits, const T& key) {
        const size_t mask = (size_t{1} << bits) - 1;
        size_t at = Traits::hash(key) >> (64 - bits);
        while (!Traits::isEmpty(slots[at]) && !Traits::equal(slots[at], key)) at = (at + 1) & mask;
        return slots + at;
    }

    void grow(Arena& arena) { rehash(static_cast<uint8_t>(bits_ + (bits_ < 20 ? 2 : 1)), arena); }

    void rehash(uint8_t bits, Arena& arena) {
        const size_t bytes = sizeof(T) << bits;
        const bool on_heap = bytes > kArenaBytes;
        T* slots = on_heap ? allocateHeap(bytes)
                           : static_cast<T*>(static_cast<void*>(arena.allocateAligned(bytes, alignof(T))));
        if (!on_heap) std::memset(static_cast<void*>(slots), 0, bytes);
        forEachNonZero([&](const T& key) { *find(slots, bits, key) = key; });
        if (on_heap_) freeHeap(slots_, capacity());
        slots_ = slots;
        bits_ = bits;
        on_heap_ = on_heap;
    }

    static T* allocateHeap(size_t bytes) {
        const allocation::Block block = allocation::allocate(bytes + kHeader, true);
        std::memcpy(block.data, &block.budget, sizeof(block.budget));
        return reinterpret_cast<T*>(static_cast<char*>(block.data) + kHeader);
    }

    static void freeHeap(T* slots, size_t capacity) noexcept {
        char* start = reinterpret_cast<char*>(slots) - kHeader;
        allocation::Block block{start, nullptr};
        std::memcpy(&block.budget, start, sizeof(block.budget));
        allocation::free(block, capacity * sizeof(T) + kHeader);
    }

    /// Tables up to this size are left behind in the arena when they grow.
    static constexpr size_t kArenaBytes = 2048;

    uint32_t size_ = 0;  // with the key of the empty slot
    uint8_t bits_ = 0;   // of the number of slots; 0 while the elements are inside
    bool has_zero_ = false;
    bool on_heap_ = false;

    union {
        T small_[kInline] = {};
        T* slots_;
    };
};

/// The unsigned type of T's width: keys are compared by their bits.
template <typename T>
using KeyOf = std::conditional_t<
    sizeof(T) == 1,
    uint8_t,
    std::conditional_t<
        sizeof(T) == 2,
        uint16_t,
        std::conditional_t<sizeof(T) == 4,
                           uint32_t,
                           std::conditional_t<sizeof(T) == 8,
                                              uint64_t,
                                              std::conditional_t<sizeof(T) == 16, UInt128, UInt256>>>>>;

template <typename T>
KeyOf<T> toKey(const T& value) {
    KeyOf<T> key;
    std::memcpy(static_cast<void*>(&key), static_cast<const void*>(&value), sizeof(key));
    return key;
}

template <typename T>
T fromKey(const KeyOf<T>& key) {
    T value;
    std::memcpy(static_cast<void*>(&value), static_cast<const void*>(&key), sizeof(value));
    return value;
}

/// Distinct strings, copied to the arena; each is hashed once.
class TextSet {
public:
    size_t size() const { return set_.size(); }

    bool contains(std::string_view text) const { return set_.contains(hashed(text)); }

    void swap(TextSet& other) noexcept { set_.swap(other.set_); }

    bool insert(std::string_view text, Arena& arena) {
        bool inserted = false;
        HashedText* slot = set_.insert(hashed(text), arena, inserted);
        if (inserted) slot->data = copy(text, arena);
        return inserted;
    }

    template <typename Action>
    void forEach(Action&& action) const {
        set_.forEachNonZero([&](const HashedText& text) { action(text.view()); });
    }

    void mergeFrom(const TextSet& other, Arena& arena) {
        if (other.size() > size()) set_.reserve(other.size(), arena);
        other.set_.forEachNonZero([&](const HashedText& text) {
            bool inserted = false;
            HashedText* slot = set_.insert(text, arena, inserted);
            if (inserted) slot->data = copy(text.view(), arena);
        });
    }

private:
    static HashedText hashed(std::string_view text);

    static const char* copy(std::string_view text, Arena& arena) {
        return text.empty() ? kEmpty : arena.insert(text).data();
    }

    static constexpr char kEmpty[1] = {0};

    CompactSet<HashedText, TextKeyTraits> set_;
};

}  // namespace shardd::aggregates
