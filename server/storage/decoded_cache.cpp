#include "server/storage/decoded_cache.h"

#include "common/base/hash.h"
#include "common/columns/dictionary_column.h"

namespace shardd::storage {

namespace {

/// The keys of a dictionary belong to the part and are shared by all its chunks.
uint64_t bytesOf(const Column& column) {
    if (const auto* dictionary = dynamic_cast<const DictionaryColumn*>(&column))
        return dictionary->codes().allocatedBytes();
    return column.allocatedBytes();
}

}  // namespace

size_t DecodedCache::KeyHash::operator()(const Key& key) const {
    return std::hash<std::string>{}(key.column) ^ mixHash64(key.part * 0x9ddfea08eb382d69ULL + key.chunk);
}

DecodedCache::DecodedCache(uint64_t limit_bytes, std::shared_ptr<MemoryBudget> server)
    : limit_bytes_(limit_bytes), budget_(MemoryBudget::create("decoded cache", 0, std::move(server))) {}

ColumnPtr DecodedCache::find(uint64_t part, const std::string& column, size_t chunk) {
    const std::lock_guard lock(mutex_);
    const auto found = by_key_.find({part, chunk, column});
    if (found == by_key_.end()) {
        ++misses_;
        return nullptr;
    }
    ++hits_;
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->values;
}

void DecodedCache::insert(uint64_t part, const std::string& column, size_t chunk, ColumnPtr values) {
    const uint64_t bytes = bytesOf(*values);
    if (bytes > limit_bytes_ / 4) return;
    Entries evicted;  // freed outside the lock
    const std::lock_guard lock(mutex_);
    Key key{part, chunk, column};
    if (by_key_.contains(key)) return;
    evictTo(limit_bytes_ - bytes, evicted);
    entries_.push_front({key, std::move(values), bytes});
    by_key_.emplace(std::move(key), entries_.begin());
    used_bytes_ += bytes;
}

void DecodedCache::evictTo(uint64_t bytes, Entries& evicted) {
    while (used_bytes_ > bytes && !entries_.empty()) {
        used_bytes_ -= entries_.back().bytes;
        by_key_.erase(entries_.back().key);
        evicted.splice(evicted.begin(), entries_, std::prev(entries_.end()));
    }
}

void DecodedCache::forget(uint64_t part) {
    Entries evicted;
    const std::lock_guard lock(mutex_);
    for (auto entry = entries_.begin(); entry != entries_.end();) {
        const auto next = std::next(entry);
        if (entry->key.part == part) {
            used_bytes_ -= entry->bytes;
            by_key_.erase(entry->key);
            evicted.splice(evicted.begin(), entries_, entry);
        }
        entry = next;
    }
}

void DecodedCache::clear() { shrinkTo(0); }

void DecodedCache::shrinkTo(double share) {
    Entries evicted;
    const std::lock_guard lock(mutex_);
    evictTo(static_cast<uint64_t>(static_cast<double>(limit_bytes_) * share), evicted);
}

uint64_t DecodedCache::usedBytes() const {
    const std::lock_guard lock(mutex_);
    return used_bytes_;
}

uint64_t DecodedCache::hits() const {
    const std::lock_guard lock(mutex_);
    return hits_;
}

uint64_t DecodedCache::misses() const {
    const std::lock_guard lock(mutex_);
    return misses_;
}

}  // namespace shardd::storage
