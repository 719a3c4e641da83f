#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "common/base/memory_budget.h"
#include "common/columns/column.h"

namespace shardd::storage {

/// Decoded columns of parts, chunk of granules by chunk, so that hot queries neither read nor decompress. The
/// least recently used go first. Memory is charged to a budget below the server's, never to a query. Threads:
/// any.
class DecodedCache {
public:
    /// `limit_bytes` 0 keeps nothing.
    explicit DecodedCache(uint64_t limit_bytes, std::shared_ptr<MemoryBudget> server = nullptr);

    bool enabled() const { return limit_bytes_ != 0; }

    /// What is decoded for the cache is charged here.
    MemoryBudget* budget() const { return budget_.get(); }

    /// nullptr when it is not there.
    ColumnPtr find(uint64_t part, const std::string& column, size_t chunk);
    void insert(uint64_t part, const std::string& column, size_t chunk, ColumnPtr values);

    /// The part is gone.
    void forget(uint64_t part);
    void clear();

    /// Makes room: at most this share of the limit stays.
    void shrinkTo(double share);

    uint64_t usedBytes() const;
    uint64_t hits() const;
    uint64_t misses() const;

private:
    struct Key {
        uint64_t part = 0;
        size_t chunk = 0;
        std::string column;

        bool operator==(const Key&) const = default;
    };

    struct KeyHash {
        size_t operator()(const Key& key) const;
    };

    struct Entry {
        Key key;
        ColumnPtr values;
        uint64_t bytes = 0;
    };

    using Entries = std::list<Entry>;

    void evictTo(uint64_t bytes, Entries& evicted);

    uint64_t limit_bytes_;
    std::shared_ptr<MemoryBudget> budget_;
    mutable std::mutex mutex_;
    Entries entries_;  // the most recently used first; this and all below guarded by mutex_
    std::unordered_map<Key, Entries::iterator, KeyHash> by_key_;
    uint64_t used_bytes_ = 0;
    uint64_t hits_ = 0;
    uint64_t misses_ = 0;
};

}  // namespace shardd::storage
