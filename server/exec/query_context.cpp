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

void QueryContext::countRead(uint64_t rows, uint64_t bytes) {
    const uint64_t total_rows = progress.read_rows.fetch_add(rows) + rows;
    const uint64_t total_bytes = progress.read_bytes.fetch_add(bytes) + bytes;
    if (on_progress) on_progress(rows, bytes);
    if (settings.max_rows_to_read != 0 && total_rows > settings.max_rows_to_read) {
        if (settings.read_overflow_throws)
            throw Error(ErrorCode::TOO_MANY_ROWS,
                        "Limit for rows (controlled by 'max_rows_to_read' setting) exceeded, max rows: {}, "
                        "current rows: {}",
                        settings.max_rows_to_read, total_rows);
        stopReading();
    }
    if (settings.max_bytes_to_read != 0 && total_bytes > settings.max_bytes_to_read) {
        if (settings.read_overflow_throws)
            throw Error(ErrorCode::TOO_MANY_BYTES,
                        "Limit for bytes (controlled by 'max_bytes_to_read' setting) exceeded, max bytes: "
                        "{}, current bytes: {}",
                        settings.max_bytes_to_read, total_bytes);
        stopReading();
    }
}

}  // namespace shardd::exec
