#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "common/base/memory_budget.h"

namespace shardd {

/// Bump memory for keys and states: cheap to take, freed all at once with the arena. Chunks double from
/// 4 KiB to 16 MiB and are charged to the thread's MemoryBudget.
/// Threads: one at a time.
class Arena {
public:
    Arena() = default;
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;
    ~Arena();

    char* allocate(size_t bytes) {
        if (static_cast<size_t>(end_ - position_) < bytes) [[unlikely]]
            addChunk(bytes);
        char* result = position_;
        position_ += bytes;
        return result;
    }

    char* allocateAligned(size_t bytes, size_t alignment) {
        const uintptr_t at = reinterpret_cast<uintptr_t>(position_);
        const size_t skip = (alignment - at % alignment) % alignment;
        if (static_cast<size_t>(end_ - position_) < bytes + skip) [[unlikely]] {
            addChunk(bytes + alignment);
            return allocateAligned(bytes, alignment);
        }
        char* result = position_ + skip;
        position_ = result + bytes;
        return result;
    }

    /// A copy of `text` that lives as long as the arena.
    std::string_view insert(std::string_view text) {
        char* copy = allocate(text.size());
        if (!text.empty()) std::memcpy(copy, text.data(), text.size());
        return {copy, text.size()};
    }

    /// Gives back the last `bytes` taken, when nothing was taken since.
    void rollback(size_t bytes) noexcept { position_ -= bytes; }

    size_t allocatedBytes() const noexcept { return allocated_bytes_; }

private:
    struct Chunk {
        allocation::Block block;
        size_t bytes;
    };

    void addChunk(size_t at_least);

    std::vector<Chunk> chunks_;
    char* position_ = nullptr;
    char* end_ = nullptr;
    size_t allocated_bytes_ = 0;
};

}  // namespace shardd
