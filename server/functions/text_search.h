#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <emmintrin.h>

#include "common/base/pod_vector.h"
#include "server/functions/definition.h"

namespace shardd::functions {

/// Looks for one needle in many haystacks: sixteen places at a time by the needle's first and last byte.
/// Haystacks are bytes of columns: PodVector::kPadding bytes behind them may be read.
class NeedleSearch {
public:
    explicit NeedleSearch(std::string_view needle)
        : needle_(needle),
          first_(_mm_set1_epi8(needle.empty() ? '\0' : needle.front())),
          last_(_mm_set1_epi8(needle.empty() ? '\0' : needle.back())) {}

    size_t size() const { return needle_.size(); }

    /// Where the needle first lies in [begin, end); nullptr when it does not. An empty needle lies at the
    /// begin.
    const char* find(const char* begin, const char* end) const {
        const size_t size = needle_.size();
        if (size == 0) return begin;
        if (static_cast<size_t>(end - begin) < size) return nullptr;
        if (size == 1)
            return static_cast<const char*>(std::memchr(begin, needle_[0], static_cast<size_t>(end - begin)));
        const char* const last_start = end - size;
        for (const char* at = begin; at <= last_start; at += 16) {
            const __m128i firsts = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
            const __m128i lasts = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + size - 1));
            auto mask = static_cast<uint32_t>(_mm_movemask_epi8(
                _mm_and_si128(_mm_cmpeq_epi8(firsts, first_), _mm_cmpeq_epi8(lasts, last_))));
            for (; mask != 0; mask &= mask - 1) {
                const char* candidate = at + std::countr_zero(mask);
                if (candidate > last_start) return nullptr;
                if (std::memcmp(candidate + 1, needle_.data() + 1, size - 1) == 0) return candidate;
            }
        }
        return nullptr;
    }

private:
    std::string_view needle_;
    __m128i first_;
    __m128i last_;
};

/// Marks the rows of a column that contain the needle: the whole buffer of the column is searched at once.
void markContaining(const StringColumn& texts,
                    std::string_view needle,
                    uint8_t value,
                    PodVector<uint8_t>& marks);

/// ASCII letters folded to small ones.
std::string foldAscii(std::string_view text);
/// By Unicode's simple case mapping, code point by code point.
std::string foldUtf8(std::string_view text);
bool isAscii(std::string_view text);

/// The text that the expression stands for when it has no special characters; nothing otherwise.
bool isLiteralRegexp(std::string_view pattern);

/// A LIKE pattern taken apart: what lies between the percent signs.
class LikePattern {
public:
    /// Errors: CANNOT_PARSE_ESCAPE_SEQUENCE (25) for a lonely backslash at the end.
    LikePattern(std::string_view pattern, bool fold_case);

    bool matches(std::string_view text) const;

    /// The pattern is %literal%: matching is searching.
    const std::string* containedLiteral() const;

private:
    struct Segment {
        std::string bytes;
        std::vector<bool> any;  // any[i]: one code point instead of bytes[i]; empty when there is none
    };

    bool matchAt(const Segment& segment, std::string_view text, size_t at, size_t& end) const;
    bool find(const Segment& segment, std::string_view text, size_t from, size_t& end) const;
    bool sameBytes(const char* text, const std::string& bytes) const;

    std::vector<Segment> segments_;
    bool open_begin_ = false;
    bool open_end_ = false;
    bool fold_case_ = false;
};

}  // namespace shardd::functions
