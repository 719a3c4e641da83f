#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

namespace shardd {

/// The bytes that somebody may take: server -> user -> query, each the parent of the next.
/// Arenas, columns and hash tables charge before they grow; a refusal is error 241 naming the budget, its
/// limit and the phase, and leaves every count as it was.
/// Threads: all members may be called from any thread.
/// Owners: reference-counted, because a buffer may outlive the query that it was charged to.
class MemoryBudget {
public:
    /// limit_bytes 0 means no limit. `name` appears in the error, e.g. "query 1234-…".
    static std::shared_ptr<MemoryBudget> create(std::string name,
                                                uint64_t limit_bytes,
                                                std::shared_ptr<MemoryBudget> parent = nullptr);

    /// Takes `bytes` here and in every parent, or throws MEMORY_LIMIT_EXCEEDED and takes nothing.
    void charge(uint64_t bytes);

    /// As charge(), but says no instead of throwing.
    bool tryCharge(uint64_t bytes) noexcept;

    void release(uint64_t bytes) noexcept;

    uint64_t usedBytes() const noexcept { return used_.load(std::memory_order_relaxed); }

    uint64_t peakBytes() const noexcept { return peak_.load(std::memory_order_relaxed); }

    uint64_t limitBytes() const noexcept { return limit_.load(std::memory_order_relaxed); }

    void setLimit(uint64_t limit_bytes) noexcept { limit_.store(limit_bytes, std::memory_order_relaxed); }

    /// The phase of work, for the error's text; a string literal.
    void setPhase(const char* phase) noexcept { phase_.store(phase, std::memory_order_relaxed); }

    const std::string& name() const noexcept { return name_; }

    /// Buffers hold a reference each, by count, so that a freed buffer always finds its budget.
    void addReference() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }

    void dropReference() noexcept;

private:
    MemoryBudget(std::string name, uint64_t limit_bytes, std::shared_ptr<MemoryBudget> parent);
    ~MemoryBudget() = default;

    /// The budget that refuses, or nullptr when all of them agreed and the bytes are taken.
    MemoryBudget* takeOrFindRefuser(uint64_t bytes) noexcept;

    std::string name_;
    std::shared_ptr<MemoryBudget> parent_;
    std::atomic<uint64_t> used_ = 0;
    std::atomic<uint64_t> peak_ = 0;
    std::atomic<uint64_t> limit_;
    std::atomic<const char*> phase_ = nullptr;
    std::atomic<uint64_t> references_ = 1;
};

/// The budget that this thread's allocations are charged to; nullptr charges nobody.
MemoryBudget* currentMemoryBudget() noexcept;

/// Charges this thread's allocations to `budget` while it lives; scopes nest. Never hold one over a co_await.
class MemoryScope {
public:
    explicit MemoryScope(MemoryBudget* budget) noexcept;
    MemoryScope(const MemoryScope&) = delete;
    MemoryScope& operator=(const MemoryScope&) = delete;
    ~MemoryScope();

private:
    MemoryBudget* previous_;
};

/// Raw memory charged to the current budget (blocks under 4 KiB are not counted). 64-byte aligned is not
/// promised; max_align_t is. `zeroed` memory comes from calloc, so large blocks cost no pass over them.
namespace allocation {

inline constexpr size_t kCountedBytes = 4096;

/// A block's address with the budget that pays for it; hand both back.
struct Block {
    void* data = nullptr;
    MemoryBudget* budget = nullptr;
};

Block allocate(size_t bytes, bool zeroed = false);
Block reallocate(Block block, size_t old_bytes, size_t new_bytes);
void free(Block block, size_t bytes) noexcept;

}  // namespace allocation

/// A standard allocator over the same accounting, for maps and vectors inside aggregate states.
template <typename T>
struct CountedAllocator {
    using value_type = T;

    CountedAllocator() noexcept = default;

    template <typename U>
    CountedAllocator(const CountedAllocator<U>&) noexcept {}  // NOLINT(google-explicit-constructor): allocators convert

    T* allocate(size_t count) {
        const size_t bytes = count * sizeof(T);
        if (bytes < allocation::kCountedBytes) return static_cast<T*>(allocation::allocate(bytes).data);
        const allocation::Block block = allocation::allocate(bytes + kHeader);
        *static_cast<MemoryBudget**>(block.data) = block.budget;
        return reinterpret_cast<T*>(static_cast<char*>(block.data) + kHeader);
    }

    void deallocate(T* pointer, size_t count) noexcept {
        const size_t bytes = count * sizeof(T);
        if (bytes < allocation::kCountedBytes) {
            allocation::free({pointer, nullptr}, bytes);
            return;
        }
        char* start = reinterpret_cast<char*>(pointer) - kHeader;
        allocation::free({start, *reinterpret_cast<MemoryBudget**>(start)}, bytes + kHeader);
    }

    template <typename U>
    bool operator==(const CountedAllocator<U>&) const noexcept {
        return true;
    }

private:
    static constexpr size_t kHeader = 16;
};

}  // namespace shardd
