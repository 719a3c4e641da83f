#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace shardd::functions {

/// Bytes of the code point that starts with `first`, by its first byte alone: ClickHouse's rule, also for
/// wrong bytes.
inline size_t utf8Length(uint8_t first) {
    if (first < 0xC0) return 1;
    if (first < 0xE0) return 2;
    if (first < 0xF0) return 3;
    return first < 0xF8 ? 4 : 1;
}

/// Code points: all bytes which do not continue one.
inline size_t countCodePoints(std::string_view text) {
    size_t count = 0;
    for (const char c : text) count += static_cast<int8_t>(c) >= static_cast<int8_t>(0xC0);
    return count;
}

/// Byte offset behind the first `points` code points; the size of the text when it has fewer.
inline size_t skipCodePoints(std::string_view text, size_t points) {
    size_t at = 0;
    while (points > 0 && at < text.size()) {
        at += utf8Length(static_cast<uint8_t>(text[at]));
        --points;
    }
    return at < text.size() ? at : text.size();
}

}  // namespace shardd::functions
