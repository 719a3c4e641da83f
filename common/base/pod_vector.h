#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <utility>

#include "common/base/memory_budget.h"

namespace shardd {

/// A vector of trivially copyable values for column data and hash tables. Unlike std::vector it
///  - leaves new elements uninitialised in resize() (resizeZeroed() and assign() fill them);
///  - grows with realloc and charges the thread's MemoryBudget;
///  - keeps kPadding readable bytes behind the last element, so that kernels may over-read (never over-write).
template <typename T>
class PodVector {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

public:
    static constexpr size_t kPadding = 64;
    using value_type = T;

    PodVector() noexcept = default;

    explicit PodVector(size_t size) { resize(size); }

    PodVector(size_t size, const T& value) { assign(size, value); }

    PodVector(std::initializer_list<T> values) { append(values.begin(), values.size()); }

    PodVector(const PodVector& other) { append(other.data(), other.size()); }

    PodVector(PodVector&& other) noexcept { swap(other); }

    PodVector& operator=(const PodVector& other) {
        if (this != &other) {
            clear();
            append(other.data(), other.size());
        }
        return *this;
    }

    PodVector& operator=(PodVector&& other) noexcept {
        PodVector taken(std::move(other));
        swap(taken);
        return *this;
    }

    ~PodVector() {
        if (block_.data) allocation::free(block_, bytesFor(capacity_));
    }

    void swap(PodVector& other) noexcept {
        std::swap(block_, other.block_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
    }

    size_t size() const noexcept { return size_; }

    bool empty() const noexcept { return size_ == 0; }

    size_t capacity() const noexcept { return capacity_; }

    size_t allocatedBytes() const noexcept { return block_.data ? bytesFor(capacity_) : 0; }

    T* data() noexcept { return static_cast<T*>(block_.data); }

    const T* data() const noexcept { return static_cast<const T*>(block_.data); }

    T& operator[](size_t i) noexcept { return data()[i]; }

    const T& operator[](size_t i) const noexcept { return data()[i]; }

    T* begin() noexcept { return data(); }

    T* end() noexcept { return data() + size_; }

    const T* begin() const noexcept { return data(); }

    const T* end() const noexcept { return data() + size_; }

    T& front() noexcept { return data()[0]; }

    const T& front() const noexcept { return data()[0]; }

    T& back() noexcept { return data()[size_ - 1]; }

    const T& back() const noexcept { return data()[size_ - 1]; }

    void clear() noexcept { size_ = 0; }

    /// Exactly this capacity, or what is there if that is more.
    void reserve(size_t capacity) {
        if (capacity <= capacity_) return;
        block_ = allocation::reallocate(block_, block_.data ? bytesFor(capacity_) : 0, bytesFor(capacity));
        capacity_ = capacity;
    }

    /// New elements hold garbage.
    void resize(size_t size) {
        if (size > capacity_) grow(size);
        size_ = size;
    }

    void resizeZeroed(size_t size) {
        const size_t before = size_;
        if (!block_.data && size > 0) {
            block_ = allocation::allocate(bytesFor(size), true);
            capacity_ = size;
            size_ = size;
            return;
        }
        resize(size);
        if (size > before) std::memset(static_cast<void*>(data() + before), 0, (size - before) * sizeof(T));
    }

    void assign(size_t size, const T& value) {
        resize(size);
        std::fill(begin(), end(), value);
    }

    void push_back(const T& value) {  // NOLINT(readability-identifier-naming): as std::vector
        if (size_ == capacity_) [[unlikely]] {
            const T copy = value;  // `value` may be an element
            grow(size_ + 1);
            data()[size_++] = copy;
            return;
        }
        data()[size_++] = value;
    }

    void pop_back() noexcept { --size_; }  // NOLINT(readability-identifier-naming): as std::vector

    /// `values` must not point into this vector.
    void append(const T* values, size_t count) {
        if (count == 0) return;
        const size_t before = size_;
        resize(size_ + count);
        std::memcpy(static_cast<void*>(data() + before), values, count * sizeof(T));
    }

    void append(std::span<const T> values) { append(values.data(), values.size()); }

    void appendRepeated(const T& value, size_t count) {
        const T copy = value;
        const size_t before = size_;
        resize(size_ + count);
        std::fill(data() + before, data() + size_, copy);
    }

    void shrinkToFit() {
        if (size_ == capacity_ || !block_.data) return;
        block_ = allocation::reallocate(block_, bytesFor(capacity_), bytesFor(size_));
        capacity_ = size_;
    }

    std::span<const T> span() const noexcept { return {data(), size_}; }

    bool operator==(const PodVector& other) const noexcept {
        return size_ == other.size_ && std::equal(begin(), end(), other.begin());
    }

private:
    static size_t bytesFor(size_t capacity) noexcept { return capacity * sizeof(T) + kPadding; }

    void grow(size_t wanted) { reserve(std::max({wanted, capacity_ * 2, size_t{64} / sizeof(T)})); }

    allocation::Block block_;
    size_t size_ = 0;
    size_t capacity_ = 0;
};

}  // namespace shardd
