#pragma once

#include <vector>

#include "common/base/memory_budget.h"

namespace shardd::exec {

/// Rows of one constant width, in chunks that never move: the groups of one worker, or of one partition of
/// them. Threads: one at a time.
class GroupRows {
public:
    GroupRows() = default;
    GroupRows(const GroupRows&) = delete;
    GroupRows& operator=(const GroupRows&) = delete;
    GroupRows(GroupRows&&) = delete;

    ~GroupRows() { clear(); }

    /// Uninitialised.
    char* allocate(size_t row_bytes) {
        if (position_ == end_) [[unlikely]]
            addChunk(row_bytes);
        char* row = position_;
        position_ += row_bytes;
        ++rows_;
        return row;
    }

    size_t rows() const { return rows_; }

    size_t allocatedBytes() const { return allocated_bytes_; }

    /// Calls action(first_row, rows) for each chunk.
    template <typename Action>
    void forEachChunk(size_t row_bytes, Action&& action) const {
        for (size_t i = 0; i < chunks_.size(); ++i) {
            const char* end = i + 1 == chunks_.size() ? position_ : chunks_[i].end;
            auto* begin = static_cast<char*>(chunks_[i].block.data);
            action(begin, static_cast<size_t>(end - begin) / row_bytes);
        }
    }

    void clear() noexcept;

private:
    struct Chunk {
        allocation::Block block;
        size_t bytes;
        char* end;  // behind the last whole row
    };

    void addChunk(size_t row_bytes);

    std::vector<Chunk> chunks_;
    char* position_ = nullptr;
    char* end_ = nullptr;
    size_t rows_ = 0;
    size_t allocated_bytes_ = 0;
};

}  // namespace shardd::exec
