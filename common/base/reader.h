#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "common/base/error.h"

namespace shardd {

/// Bounds-checked reading of foreign bytes. The base class reads from a window that refill() replaces, so the same
/// code reads a packet in memory, decompressed frames one after another, and a file.
/// Errors: CANNOT_READ_ALL_DATA (33) where the bytes end early, saying what was wanted.
class Reader {
public:
    Reader(const char* data, size_t size) : position_(data), end_(data + size) {}

    explicit Reader(std::string_view bytes) : Reader(bytes.data(), bytes.size()) {}

    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    virtual ~Reader() = default;

    /// True when not a single byte is left.
    bool atEnd() { return position_ == end_ && !refill(); }

    uint8_t readByte() {
        if (position_ == end_ && !refill()) [[unlikely]]
            failShort(1);
        return static_cast<uint8_t>(*position_++);
    }

    void readBytes(void* out, size_t size) {
        if (static_cast<size_t>(end_ - position_) >= size) [[likely]] {
            if (size != 0) std::memcpy(out, position_, size);
            position_ += size;
            return;
        }
        readBytesSlowly(static_cast<char*>(out), size);
    }

    /// Fixed width, little-endian (the only byte order we run on).
    template <typename T>
        requires std::is_trivially_copyable_v<T>
    T readFixed() {
        T value;
        readBytes(&value, sizeof(T));
        return value;
    }

    template <typename T>
        requires std::is_trivially_copyable_v<T>
    void readFixed(T& value) {
        readBytes(&value, sizeof(T));
    }

    /// LEB128, at most 10 bytes.
    uint64_t readVarUInt() {
        uint64_t value = 0;
        for (unsigned shift = 0; shift < 70; shift += 7) {
            const uint64_t byte = readByte();
            value |= (byte & 0x7F) << shift;
            if ((byte & 0x80) == 0) return value;
        }
        throw Error(ErrorCode::INCORRECT_DATA, "A variable-length integer has more than 10 bytes");
    }

    /// VarUInt length, then the bytes. `limit` is the most that this field may hold; error 131 beyond it.
    /// Memory is taken only as bytes arrive, never by the peer's word.
    void readString(std::string& out, size_t limit = kDefaultStringLimit);

    std::string readString(size_t limit = kDefaultStringLimit) {
        std::string out;
        readString(out, limit);
        return out;
    }

    void skip(size_t size);

    /// Tells that at least `size` more bytes are going to be read, so that a reader over a window of a stream can ask
    /// for all of them at once instead of failing again and again.
    virtual void expect(size_t /*size*/) {}

    /// Bytes that can be had without refilling.
    size_t available() const { return static_cast<size_t>(end_ - position_); }

    const char* position() const { return position_; }

    static constexpr size_t kDefaultStringLimit = size_t{1} << 30;

protected:
    /// Makes position_..end_ the next window; false at the end of all bytes.
    virtual bool refill() { return false; }

    /// Called where at least `wanted` more bytes are needed and refill() had none; throws.
    [[noreturn]] virtual void failShort(size_t wanted);

    const char* position_;
    const char* end_;

private:
    void readBytesSlowly(char* out, size_t size);
};

}  // namespace shardd
