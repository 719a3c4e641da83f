#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "common/base/pod_vector.h"

namespace shardd {

/// A growing buffer of bytes to be sent or stored, charged to the thread's MemoryBudget.
class Writer {
public:
    void writeByte(uint8_t value) { bytes_.push_back(static_cast<char>(value)); }

    void writeBytes(const void* data, size_t size) { bytes_.append(static_cast<const char*>(data), size); }

    void writeBytes(std::string_view bytes) { bytes_.append(bytes.data(), bytes.size()); }

    template <typename T>
        requires std::is_trivially_copyable_v<T>
    void writeFixed(const T& value) {
        writeBytes(&value, sizeof(T));
    }

    void writeVarUInt(uint64_t value) {
        while (value >= 0x80) {
            writeByte(static_cast<uint8_t>(value | 0x80));
            value >>= 7;
        }
        writeByte(static_cast<uint8_t>(value));
    }

    void writeString(std::string_view text) {
        writeVarUInt(text.size());
        writeBytes(text);
    }

    /// Room for `size` bytes that the caller fills at once; valid until the next call.
    char* extend(size_t size) {
        bytes_.resize(bytes_.size() + size);
        return bytes_.data() + bytes_.size() - size;
    }

    /// Forgets what was written behind the first `size` bytes.
    void shrink(size_t size) { bytes_.resize(size); }

    /// Forgets the first `size` bytes and moves the rest to the front.
    void dropFront(size_t size) {
        if (size < bytes_.size()) std::memmove(bytes_.data(), bytes_.data() + size, bytes_.size() - size);
        bytes_.resize(bytes_.size() - size);
    }

    size_t size() const { return bytes_.size(); }

    size_t capacity() const { return bytes_.capacity(); }

    bool empty() const { return bytes_.empty(); }

    const char* data() const { return bytes_.data(); }

    char* data() { return bytes_.data(); }

    std::string_view view() const { return {bytes_.data(), bytes_.size()}; }

    void clear() { bytes_.clear(); }

    PodVector<char> take() { return std::move(bytes_); }

private:
    PodVector<char> bytes_;
};

}  // namespace shardd
