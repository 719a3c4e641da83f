#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>

#include "common/base/error.h"

namespace shardd::formats {

/// A place in a text that is being read. Readers move it behind what they took; when they fail it stays where
/// they stopped.
struct TextInput {
    const char* position;
    const char* end;

    explicit TextInput(std::string_view text) : position(text.data()), end(text.data() + text.size()) {}

    bool atEnd() const { return position == end; }

    size_t left() const { return static_cast<size_t>(end - position); }

    /// The byte `ahead` of here; 0 beyond the end.
    char peek(size_t ahead = 0) const { return ahead < left() ? position[ahead] : '\0'; }

    bool skip(char c) {
        if (atEnd() || *position != c) return false;
        ++position;
        return true;
    }

    bool skip(std::string_view word) {
        if (left() < word.size() || std::memcmp(position, word.data(), word.size()) != 0) return false;
        position += word.size();
        return true;
    }

    void skipSpace() {
        while (!atEnd() && (*position == ' ' || (*position >= '\t' && *position <= '\r'))) ++position;
    }

    std::string_view rest() const { return {position, left()}; }
};

/// What a reader says: OK, or ClickHouse's code of what is wrong. No exception, because …OrNull meets it in
/// every row.
using TextResult = ErrorCode;

inline bool isDigit(char c) { return c >= '0' && c <= '9'; }

inline bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

inline char toLower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace shardd::formats
