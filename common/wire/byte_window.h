#pragma once

#include <cstring>

#include "common/base/pod_vector.h"
#include "common/base/reader.h"

namespace shardd {

/// Thrown by a WindowReader where the bytes that have arrived end. Not an Error: whoever owns the window
/// reads at least `at_least` more bytes and tries again from the last committed place.
struct NeedMoreBytes {
    size_t at_least = 1;
};

/// Bytes that have arrived and are not used yet: appended at the end, dropped from the front.
class ByteWindow {
public:
    std::string_view view() const { return {bytes_.data() + start_, bytes_.size() - start_}; }

    size_t size() const { return bytes_.size() - start_; }

    bool empty() const { return size() == 0; }

    void append(std::string_view bytes) {
        compact();
        bytes_.append(bytes.data(), bytes.size());
    }

    /// The buffer itself for writers that append (frame decoders).
    PodVector<char>& appendable() {
        compact();
        return bytes_;
    }

    void drop(size_t size) {
        start_ += size;
        if (start_ == bytes_.size()) clear();
    }

    void clear() {
        start_ = 0;
        bytes_.clear();
        // One giant packet must not keep its memory for the life of the connection.
        if (bytes_.capacity() > kKeptBytes) bytes_ = PodVector<char>();
    }

private:
    static constexpr size_t kKeptBytes = size_t{4} << 20;

    /// Moves the rest to the front once the dropped part is the larger one, so that every byte moves O(1)
    /// times.
    void compact() {
        if (start_ == 0 || start_ < bytes_.size() - start_) return;
        std::memmove(bytes_.data(), bytes_.data() + start_, bytes_.size() - start_);
        bytes_.resize(bytes_.size() - start_);
        start_ = 0;
    }

    PodVector<char> bytes_;
    size_t start_ = 0;
};

/// Reads from what a window holds now; its end is not the end of the stream but NeedMoreBytes.
class WindowReader : public Reader {
public:
    explicit WindowReader(std::string_view bytes) : Reader(bytes), start_(bytes.data()) {}

    void expect(size_t size) override {
        if (available() < size) throw NeedMoreBytes{size - available()};
    }

    size_t consumed() const { return static_cast<size_t>(position_ - start_); }

protected:
    [[noreturn]] void failShort(size_t wanted) override { throw NeedMoreBytes{wanted}; }

private:
    const char* start_;
};

}  // namespace shardd
