#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "server/exec/sort_order.h"

namespace shardd::exec {

/// What ORDER BY … LIMIT tells the operators below it: rows whose first key is worse than that of the last
/// row that still counts need not be made at all. The bound only ever gets tighter, so an old one is never
/// wrong. Threads: all.
class TopFilter {
public:
    explicit TopFilter(const plan::SortKey& key) : key_(key) {}

    const plan::SortKey& key() const { return key_; }

    /// `limit` rows are known whose first key comes at most as late as this number (of sortPrefixes()).
    void tighten(uint64_t prefix) {
        uint64_t known = bound_.load(std::memory_order_relaxed);
        while (prefix < known && !bound_.compare_exchange_weak(known, prefix, std::memory_order_relaxed)) {
        }
    }

    bool active() const { return bound() != UINT64_MAX; }

    uint64_t bound() const { return bound_.load(std::memory_order_relaxed); }

    /// Rows that were left out, for rows_before_limit.
    void countDropped(uint64_t rows) { dropped_.fetch_add(rows, std::memory_order_relaxed); }

    uint64_t droppedRows() const { return dropped_.load(std::memory_order_relaxed); }

private:
    const plan::SortKey key_;
    std::atomic<uint64_t> bound_ = UINT64_MAX;
    std::atomic<uint64_t> dropped_ = 0;
};

/// The filter as an operator below sees it: under the name that the key has there.
struct TopHint {
    TopFilter* filter = nullptr;
    std::string column;
};

}  // namespace shardd::exec
