#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

#include "common/base/error.h"
#include "common/base/memory_budget.h"
#include "server/exec/temporary_file.h"

namespace shardd::exec {

class ThreadPool;

/// What was done so far; read by the session while workers add to it.
struct ProgressCounters {
    std::atomic<uint64_t> read_rows = 0;
    std::atomic<uint64_t> read_bytes = 0;
    std::atomic<uint64_t> result_rows = 0;
    std::atomic<uint64_t> result_bytes = 0;
    /// Groups that the aggregations of the query made, and rows that they took in.
    std::atomic<uint64_t> groups = 0;
    std::atomic<uint64_t> aggregated_rows = 0;
};

/// Settings that operators need, already checked.
struct ExecSettings {
    size_t max_threads = 1;
    size_t max_block_rows = 65409;
    /// 0 is no limit.
    uint64_t max_rows_to_read = 0;
    uint64_t max_bytes_to_read = 0;
    bool read_overflow_throws = true;  // else: stop reading there
    /// The same for what is read on this server itself.
    uint64_t max_rows_to_read_leaf = 0;
    uint64_t max_bytes_to_read_leaf = 0;
    bool read_overflow_leaf_throws = true;
    uint64_t max_rows_to_sort = 0;
    uint64_t max_bytes_to_sort = 0;
    bool sort_overflow_throws = true;
    uint64_t max_rows_in_distinct = 0;
    bool distinct_overflow_throws = true;
    /// What a worker's table of groups and its rows may take of the second-level cache.
    size_t group_table_bytes = size_t{3} << 19;
    /// Rows that a range of keys should have where a table is read range by range; 0 leaves it to the table.
    uint64_t key_range_rows = 0;
    /// Memory of the query from which on aggregations put their groups on the disk; 0 is never. The ratio is
    /// of what the limits of user and server still leave when the query begins; the smaller one holds.
    uint64_t max_bytes_before_external_group_by = 0;
    double max_bytes_ratio_before_external_group_by = 0;
    std::optional<uint64_t> bytes_left_to_user = std::nullopt;  // nothing: there are no such limits
    /// A worker with fewer groups, while aggregation took fewer bytes, keeps them. 0: whatever the other
    /// one says.
    uint64_t group_by_two_level_threshold = 0;
    uint64_t group_by_two_level_threshold_bytes = 0;
};

/// One query while it runs: its limits, its memory, the ways to end it, and what it counted.
/// Threads: every member may be used from any thread; settings do not change once it runs.
class QueryContext {
public:
    QueryContext(ThreadPool& thread_pool,
                 std::shared_ptr<MemoryBudget> budget,
                 ExecSettings exec_settings = {})
        : pool(thread_pool), memory(std::move(budget)), settings(exec_settings) {
        if (settings.max_threads == 0) settings.max_threads = 1;
        if (settings.max_block_rows == 0) settings.max_block_rows = 1;
    }

    ThreadPool& pool;
    std::shared_ptr<MemoryBudget> memory;
    ExecSettings settings;
    ProgressCounters progress;
    /// Set before the query runs, together with the settings.
    TemporarySpace temporary;

    /// Rows that came before the outermost LIMIT, as the shards say it where they were asked; nothing where
    /// no operator limited rows.
    std::optional<uint64_t> rowsBeforeLimit() const;

    void addRowsBeforeLimit(uint64_t rows) { rows_before_limit_.add(rows); }

    void addRemoteRowsBeforeLimit(uint64_t rows) { remote_rows_before_limit_.add(rows); }

    /// The steps (by address) whose incoming rows rowsBeforeLimit() counts; set by execute().
    void setCountingSteps(std::vector<const void*> steps) { counting_steps_ = std::move(steps); }

    bool isCountingStep(const void* step) const;

    /// Told from workers after rows were read; set before the query runs.
    std::function<void(uint64_t rows, uint64_t bytes)> on_progress;

    /// Ends the query with `reason`; the first one counts.
    void cancel(Error reason);

    /// Ends the scans as if the tables ended here (timeout_overflow_mode = 'break'); what was read is
    /// answered.
    void stopReading() { reading_.request_stop(); }

    bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }

    bool readingStopped() const { return reading_.stop_requested(); }

    /// Throws the reason when the query was cancelled; once a block.
    void check() const {
        if (cancelled()) [[unlikely]]
            throwReason();
    }

    /// Requested by cancel() and by stopReading(): for whoever waits for rows.
    std::stop_token readingToken() const { return reading_.get_token(); }

    /// Counts what a scan read, here or on a shard, and checks the limits of reading.
    void countRead(uint64_t rows, uint64_t bytes);

    /// As countRead(), for what was read on this server.
    void countLocalRead(uint64_t rows, uint64_t bytes);

private:
    [[noreturn]] void throwReason() const;

    /// Errors, or the end of reading, when more than `most` (0: any number) was read.
    void limitRead(
        ErrorCode code, const char* unit, const char* setting, uint64_t most, uint64_t current, bool throws);

    std::atomic<uint64_t> local_rows_ = 0;
    std::atomic<uint64_t> local_bytes_ = 0;

    struct OptionalCount {
        std::atomic<uint64_t> value = 0;
        std::atomic<bool> known = false;

        void add(uint64_t more) {
            value.fetch_add(more);
            known.store(true);
        }
    };

    std::stop_source reading_;
    std::atomic<bool> cancelled_ = false;
    mutable std::mutex mutex_;  // guards reason_
    std::optional<Error> reason_;
    OptionalCount rows_before_limit_;
    OptionalCount remote_rows_before_limit_;
    std::vector<const void*> counting_steps_;
};

}  // namespace shardd::exec
