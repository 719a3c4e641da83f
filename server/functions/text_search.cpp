#include "server/functions/text_search.h"

#include <immintrin.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include "common/base/cpu.h"

namespace shardd::functions {

namespace {

char foldByte(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

/// Bytes of the well-formed code point at the front of `text`; 0 when it is not well-formed.
size_t codePointSize(std::string_view text) {
    if (text.empty()) return 0;
    int32_t at = 0;
    int32_t point = 0;
    const auto size = static_cast<int32_t>(std::min<size_t>(text.size(), 4));
    U8_NEXT(reinterpret_cast<const uint8_t*>(text.data()), at, size, point);
    return point < 0 ? 0 : static_cast<size_t>(at);
}

/// NeedleSearch::find() for two bytes and more, sixty-four places at a time.
SHARDD_TARGET_AVX512 const char* findByAvx512(std::string_view needle, const char* begin, const char* end) {
    const size_t size = needle.size();
    if (static_cast<size_t>(end - begin) < size) return nullptr;
    const __m512i first = _mm512_set1_epi8(needle.front());
    const __m512i last = _mm512_set1_epi8(needle.back());
    const char* const last_start = end - size;
    for (const char* at = begin; at <= last_start; at += 64) {
        const __mmask64 firsts = _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(at), first);
        uint64_t both = _mm512_mask_cmpeq_epi8_mask(firsts, _mm512_loadu_si512(at + size - 1), last);
        for (; both != 0; both &= both - 1) {
            const char* candidate = at + std::countr_zero(both);
            if (candidate > last_start) return nullptr;
            if (std::memcmp(candidate + 1, needle.data() + 1, size - 2) == 0) return candidate;
        }
    }
    return nullptr;
}

/// The same, thirty-two places at a time.
SHARDD_TARGET_AVX2 const char* findByAvx2(std::string_view needle, const char* begin, const char* end) {
    const size_t size = needle.size();
    if (static_cast<size_t>(end - begin) < size) return nullptr;
    const __m256i first = _mm256_set1_epi8(needle.front());
    const __m256i last = _mm256_set1_epi8(needle.back());
    const char* const last_start = end - size;
    for (const char* at = begin; at <= last_start; at += 32) {
        const __m256i firsts = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
        const __m256i lasts = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at + size - 1));
        const __m256i both =
            _mm256_and_si256(_mm256_cmpeq_epi8(firsts, first), _mm256_cmpeq_epi8(lasts, last));
        for (auto bits = static_cast<uint32_t>(_mm256_movemask_epi8(both)); bits != 0; bits &= bits - 1) {
            const char* candidate = at + std::countr_zero(bits);
            if (candidate > last_start) return nullptr;
            if (std::memcmp(candidate + 1, needle.data() + 1, size - 2) == 0) return candidate;
        }
    }
    return nullptr;
}

}  // namespace

void markContaining(const StringColumn& texts,
                    std::string_view needle,
                    uint8_t value,
                    PodVector<uint8_t>& marks) {
    if (needle.empty()) {
        std::fill(marks.begin(), marks.end(), value);
        return;
    }
    const NeedleSearch narrow(needle);
    const CpuLevel level = needle.size() > 1 ? cpuLevel() : CpuLevel::Baseline;
    const auto find = [&](const char* at, const char* end) {
        if (level == CpuLevel::Avx512) return findByAvx512(needle, at, end);
        return level == CpuLevel::Avx2 ? findByAvx2(needle, at, end) : narrow.find(at, end);
    };
    const char* const begin = texts.chars().data();
    const char* const end = begin + texts.chars().size();
    const PodVector<uint64_t>& ends = texts.ends();
    size_t row = 0;
    for (const char* at = begin; at < end;) {
        const char* found = find(at, end);
        if (!found) return;
        const auto offset = static_cast<uint64_t>(found - begin);
        while (ends[row] <= offset) ++row;
        if (offset + needle.size() <= ends[row]) {
            marks[row] = value;
            at = begin + ends[row];
            ++row;
        } else {
            at = found + 1;  // it lies across two rows
        }
    }
}

std::string foldAscii(std::string_view text) {
    std::string result(text);
    for (char& c : result) c = foldByte(c);
    return result;
}

std::string foldUtf8(std::string_view text) {
    std::string result;
    result.reserve(text.size());
    for (size_t at = 0; at < text.size();) {
        const size_t size = codePointSize(text.substr(at));
        if (size <= 1) {
            result.push_back(foldByte(text[at++]));
            continue;
        }
        int32_t read = 0;
        int32_t point = 0;
        U8_NEXT_UNSAFE(reinterpret_cast<const uint8_t*>(text.data() + at), read, point);
        point = u_tolower(point);
        uint8_t buffer[4];
        int32_t written = 0;
        U8_APPEND_UNSAFE(buffer, written, point);
        result.append(reinterpret_cast<const char*>(buffer), static_cast<size_t>(written));
        at += size;
    }
    return result;
}

bool isAscii(std::string_view text) {
    for (const char c : text)
        if (static_cast<uint8_t>(c) >= 0x80) return false;
    return true;
}

bool isLiteralRegexp(std::string_view pattern) {
    return pattern.find_first_of("\\.^$|()[]*+?{}") == std::string_view::npos;
}

LikePattern::LikePattern(std::string_view pattern, bool fold_case) : fold_case_(fold_case) {
    Segment segment;
    bool last_was_percent = false;
    auto add = [&](char c, bool any) {
        if (any && segment.any.empty()) segment.any.resize(segment.bytes.size());
        segment.bytes.push_back(fold_case ? foldByte(c) : c);
        if (!segment.any.empty() || any) segment.any.push_back(any);
        last_was_percent = false;
    };
    open_begin_ = !pattern.empty() && pattern.front() == '%';
    for (size_t i = 0; i < pattern.size(); ++i) {
        const char c = pattern[i];
        if (c == '%') {
            if (!segment.bytes.empty()) segments_.push_back(std::exchange(segment, {}));
            last_was_percent = true;
        } else if (c == '_') {
            add('_', true);
        } else if (c == '\\') {
            if (i + 1 == pattern.size())
                throw Error(ErrorCode::CANNOT_PARSE_ESCAPE_SEQUENCE,
                            "Invalid escape sequence at the end of LIKE pattern '{}'", pattern);
            const char next = pattern[i + 1];
            if (next == '%' || next == '_' || next == '\\') ++i;
            add(pattern[i], false);
        } else {
            add(c, false);
        }
    }
    open_end_ = last_was_percent;
    if (!segment.bytes.empty()) segments_.push_back(std::move(segment));
}

const std::string* LikePattern::containedLiteral() const {
    if (!open_begin_ || !open_end_ || segments_.size() != 1 || !segments_[0].any.empty() || fold_case_)
        return nullptr;
    return &segments_[0].bytes;
}

bool LikePattern::sameBytes(const char* text, const std::string& bytes) const {
    if (!fold_case_) return std::memcmp(text, bytes.data(), bytes.size()) == 0;
    for (size_t i = 0; i < bytes.size(); ++i)
        if (foldByte(text[i]) != bytes[i]) return false;
    return true;
}

bool LikePattern::matchAt(const Segment& segment, std::string_view text, size_t at, size_t& end) const {
    if (segment.any.empty()) {
        if (text.size() - at < segment.bytes.size() || !sameBytes(text.data() + at, segment.bytes))
            return false;
        end = at + segment.bytes.size();
        return true;
    }
    for (size_t i = 0; i < segment.bytes.size(); ++i) {
        if (segment.any[i]) {
            const size_t size = codePointSize(text.substr(at));
            if (size == 0) return false;
            at += size;
        } else {
            if (at >= text.size()) return false;
            const char c = fold_case_ ? foldByte(text[at]) : text[at];
            if (c != segment.bytes[i]) return false;
            ++at;
        }
    }
    end = at;
    return true;
}

bool LikePattern::find(const Segment& segment, std::string_view text, size_t from, size_t& end) const {
    if (segment.any.empty() && !fold_case_) {
        const size_t found = text.find(segment.bytes, from);
        if (found == std::string_view::npos) return false;
        end = found + segment.bytes.size();
        return true;
    }
    for (size_t at = from; at <= text.size(); ++at)
        if (matchAt(segment, text, at, end)) return true;
    return false;
}

bool LikePattern::matches(std::string_view text) const {
    if (segments_.empty()) return open_begin_ || text.empty();
    size_t at = 0;
    size_t first = 0;
    size_t last = segments_.size();
    if (!open_begin_) {
        if (!matchAt(segments_[0], text, 0, at)) return false;
        if (last == 1) return open_end_ || at == text.size();
        first = 1;
    }
    if (!open_end_) --last;
    for (size_t i = first; i < last; ++i)
        if (!find(segments_[i], text, at, at)) return false;
    if (open_end_) return true;
    const Segment& tail = segments_.back();
    if (tail.any.empty()) {
        if (text.size() < at + tail.bytes.size()) return false;
        return sameBytes(text.data() + text.size() - tail.bytes.size(), tail.bytes);
    }
    size_t end = 0;
    for (size_t start = at; start <= text.size(); ++start)
        if (matchAt(tail, text, start, end) && end == text.size()) return true;
    return false;
}

}  // namespace shardd::functions
