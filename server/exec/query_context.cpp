#include "server/exec/query_context.h"

#include <algorithm>

namespace shardd::exec {

std::optional<uint64_t> QueryContext::rowsBeforeLimit() const {
    if (remote_rows_before_limit_.known.load()) return remote_rows_before_limit_.value.load();
    if (rows_before_limit_.known.load()) return rows_before_limit_.value.load();
    return std::nullopt;
}

bool QueryContext::isCountingStep(const void* step) const {
    return std::find(counting_steps_.begin(), counting_steps_.end(), step) != counting_steps_.end();
}

void QueryContext::cancel(Error reason) {
    {
        std::lock_guard lock(mutex_);
        if (reason_) return;
        reason_.emplace(std::move(reason));
        cancelled_.store(true);
    }
    reading_.request_stop();
}

void QueryContext::throwReason() const {
    std::lock_guard lock(mutex_);
    throw *reason_;
}

void QueryContext::limitRead(
    ErrorCode code, const char* unit, const char* setting, uint64_t most, uint64_t current, bool throws) {
    if (most == 0 || current <= most) return;
    if (throws)
        throw Error(code, "Limit for {} (controlled by '{}' setting) exceeded, max {}: {}, current {}: {}",
                    unit, setting, unit, most, unit, current);
    stopReading();
}

void QueryContext::countRead(uint64_t rows, uint64_t bytes) {
    const uint64_t total_rows = progress.read_rows.fetch_add(rows) + rows;
    const uint64_t total_bytes = progress.read_bytes.fetch_add(bytes) + bytes;
    if (on_progress) on_progress(rows, bytes);
    limitRead(ErrorCode::TOO_MANY_ROWS, "rows", "max_rows_to_read", settings.max_rows_to_read, total_rows,
              settings.read_overflow_throws);
    limitRead(ErrorCode::TOO_MANY_BYTES, "bytes", "max_bytes_to_read", settings.max_bytes_to_read,
              total_bytes, settings.read_overflow_throws);
}

void QueryContext::countLocalRead(uint64_t rows, uint64_t bytes) {
    countRead(rows, bytes);
    const uint64_t total_rows = local_rows_.fetch_add(rows) + rows;
    const uint64_t total_bytes = local_bytes_.fetch_add(bytes) + bytes;
    limitRead(ErrorCode::TOO_MANY_ROWS, "rows", "max_rows_to_read_leaf", settings.max_rows_to_read_leaf,
              total_rows, settings.read_overflow_leaf_throws);
    limitRead(ErrorCode::TOO_MANY_BYTES, "bytes", "max_bytes_to_read_leaf", settings.max_bytes_to_read_leaf,
              total_bytes, settings.read_overflow_leaf_throws);
}

}  // namespace shardd::exec
