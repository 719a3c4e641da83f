#include "common/base/memory_budget.h"

#include <cstdlib>
#include <iterator>
#include <new>
#include <string_view>
#include <utility>

#include "common/base/error.h"
#include "common/base/plain_numbers.h"

namespace shardd {

namespace {

thread_local MemoryBudget* current_budget = nullptr;

/// "query 1234-…" is the Query memory limit, "user anna" the User one; that of all of them is the total.
std::string_view limitName(std::string_view budget) {
    if (budget.starts_with("query")) return "Query";
    if (budget.starts_with("user")) return "User";
    if (budget.starts_with("server")) return "(total)";
    return budget;
}

}  // namespace

MemoryBudget::MemoryBudget(std::string name, uint64_t limit_bytes, std::shared_ptr<MemoryBudget> parent)
    : name_(std::move(name)), parent_(std::move(parent)), limit_(limit_bytes) {}

std::shared_ptr<MemoryBudget> MemoryBudget::create(std::string name,
                                                   uint64_t limit_bytes,
                                                   std::shared_ptr<MemoryBudget> parent) {
    return {new MemoryBudget(std::move(name), limit_bytes, std::move(parent)),
            [](MemoryBudget* budget) { budget->dropReference(); }};
}

void MemoryBudget::dropReference() noexcept {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

MemoryBudget* MemoryBudget::takeOrFindRefuser(uint64_t bytes) noexcept {
    const uint64_t used = used_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    const uint64_t limit = limit_.load(std::memory_order_relaxed);
    if (limit != 0 && used > limit) {
        used_.fetch_sub(bytes, std::memory_order_relaxed);
        return this;
    }
    if (parent_) {
        if (MemoryBudget* refuser = parent_->takeOrFindRefuser(bytes)) {
            used_.fetch_sub(bytes, std::memory_order_relaxed);
            return refuser;
        }
    }
    uint64_t peak = peak_.load(std::memory_order_relaxed);
    while (used > peak && !peak_.compare_exchange_weak(peak, used, std::memory_order_relaxed)) {
    }
    return nullptr;
}

void MemoryBudget::charge(uint64_t bytes) {
    MemoryBudget* refuser = takeOrFindRefuser(bytes);
    if (!refuser) return;
    const char* phase = phase_.load(std::memory_order_relaxed);
    throw Error(ErrorCode::MEMORY_LIMIT_EXCEEDED,
                "{} memory limit exceeded: would use {} (attempt to allocate chunk of {}), maximum: {}{}{}",
                limitName(refuser->name_), readableBytes(refuser->usedBytes() + bytes), readableBytes(bytes),
                readableBytes(refuser->limitBytes()), phase ? ": While executing " : "", phase ? phase : "");
}

bool MemoryBudget::tryCharge(uint64_t bytes) noexcept { return takeOrFindRefuser(bytes) == nullptr; }

void MemoryBudget::release(uint64_t bytes) noexcept {
    for (MemoryBudget* budget = this; budget; budget = budget->parent_.get())
        budget->used_.fetch_sub(bytes, std::memory_order_relaxed);
}

MemoryBudget* currentMemoryBudget() noexcept { return current_budget; }

MemoryScope::MemoryScope(MemoryBudget* budget) noexcept : previous_(std::exchange(current_budget, budget)) {}

MemoryScope::~MemoryScope() { current_budget = previous_; }

namespace allocation {

Block allocate(size_t bytes, bool zeroed) {
    Block block;
    if (bytes >= kCountedBytes && current_budget) {
        current_budget->charge(bytes);
        block.budget = current_budget;
        block.budget->addReference();
    }
    block.data = zeroed ? std::calloc(1, bytes) : std::malloc(bytes);
    if (!block.data) {
        if (block.budget) {
            block.budget->release(bytes);
            block.budget->dropReference();
        }
        throw Error(ErrorCode::CANNOT_ALLOCATE_MEMORY, "Cannot allocate {} bytes: the system refused", bytes);
    }
    return block;
}

Block reallocate(Block block, size_t old_bytes, size_t new_bytes) {
    if (!block.data) return allocate(new_bytes);
    Block fresh = block;
    if (new_bytes >= kCountedBytes) {
        if (!fresh.budget && current_budget) {
            current_budget->charge(new_bytes);
            fresh.budget = current_budget;
            fresh.budget->addReference();
        } else if (fresh.budget && new_bytes > old_bytes) {
            fresh.budget->charge(new_bytes - old_bytes);
        }
    }
    void* data = std::realloc(block.data, new_bytes);
    if (!data) {
        if (!block.budget && fresh.budget) {
            fresh.budget->release(new_bytes);
            fresh.budget->dropReference();
        } else if (fresh.budget && new_bytes > old_bytes) {
            fresh.budget->release(new_bytes - old_bytes);
        }
        throw Error(ErrorCode::CANNOT_ALLOCATE_MEMORY, "Cannot allocate {} bytes: the system refused", new_bytes);
    }
    if (block.budget && new_bytes < old_bytes) block.budget->release(old_bytes - new_bytes);
    fresh.data = data;
    return fresh;
}

void free(Block block, size_t bytes) noexcept {
    std::free(block.data);
    if (block.budget) {
        block.budget->release(bytes);
        block.budget->dropReference();
    }
}

}  // namespace allocation

}  // namespace shardd
