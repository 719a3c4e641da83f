// How many runs of four bytes (or three code points) two texts share: ngramDistance*, ngramSearch*.

#include <unordered_map>

#include "server/functions/text_search.h"
#include "server/functions/utf8.h"

namespace shardd::functions {

namespace {

constexpr size_t kMostBytes = 1 << 15;

/// Every run of a text as a number.
template <bool kUtf8, typename Take>
void eachRun(std::string_view text, Take&& take) {
    constexpr size_t kLength = kUtf8 ? 3 : 4;
    uint64_t window = 0;
    size_t seen = 0;
    for (size_t at = 0; at < text.size();) {
        const size_t size =
            kUtf8 ? std::min(utf8Length(static_cast<uint8_t>(text[at])), text.size() - at) : 1;
        uint64_t letter = 0;
        for (size_t i = 0; i < size; ++i) letter = letter << 8 | static_cast<uint8_t>(text[at + i]);
        // 21 bits hold what tells code points apart.
        if (kUtf8 && size > 2) letter = (letter & 0x3F) | (letter >> 2 & 0xFC0) | (letter >> 4 & 0x1FF000);
        window =
            kUtf8 ? (window << 21 | letter) & ((uint64_t{1} << 63) - 1) : (window << 8 | letter) & 0xFFFFFFFF;
        if (++seen >= kLength) take(window);
        at += size;
    }
}

TypePtr typeOfNgram(const Signature& call) {
    needCount(call, 2);
    needString(call, 0);
    needString(call, 1);
    return types::simple(TypeKind::Float32);
}

template <bool kFold, bool kUtf8>
std::string folded(std::string_view text) {
    if (!kFold) return std::string(text);
    return kUtf8 ? foldUtf8(text) : foldAscii(text);
}

/// kSearch: only what the needle has counts.
template <bool kSearch, bool kFold, bool kUtf8>
ColumnPtr runNgram(const Call& call) {
    const TextArgument texts(call.column(0));
    const TextArgument needles(call.column(1));
    std::unordered_map<uint64_t, int64_t> counts;
    int64_t needle_size = 0;
    return eachRow<float>(call.rows, [&](size_t row) -> float {
        if (row == 0 || !needles.constant()) {
            counts.clear();
            needle_size = 0;
            eachRun<kUtf8>(folded<kFold, kUtf8>(needles[row]), [&](uint64_t run) {
                ++counts[run];
                ++needle_size;
            });
        }
        if (texts[row].size() > kMostBytes) return kSearch ? 0.0f : 1.0f;
        int64_t distance = needle_size;
        int64_t size = 0;
        const std::string text = folded<kFold, kUtf8>(texts[row]);
        eachRun<kUtf8>(text, [&](uint64_t run) {
            const auto found = counts.find(run);
            ++size;
            if (found != counts.end() && found->second > 0)
                --distance;
            else if (!kSearch)
                ++distance;
            if (found != counts.end()) --found->second;
        });
        eachRun<kUtf8>(text, [&](uint64_t run) {
            const auto found = counts.find(run);
            if (found != counts.end()) ++found->second;
        });
        if (kSearch)
            return 1.0f -
                   static_cast<float>(distance) / static_cast<float>(std::max<int64_t>(needle_size, 1));
        return static_cast<float>(distance) / static_cast<float>(std::max<int64_t>(needle_size + size, 1));
    });
}

#define NGRAMS(suffix, fold, utf8)                                                      \
    define<"ngramDistance" suffix, typeOfNgram, runNgram<false, fold, utf8>>(           \
        "ngramDistance" suffix "(text, needle)", "From 0, the same runs, to 1, none."), \
        define<"ngramSearch" suffix, typeOfNgram, runNgram<true, fold, utf8>>(          \
            "ngramSearch" suffix "(text, needle)", "The share of the needle's runs in the text.")

}  // namespace

std::span<const FunctionInfo> textNgramsFunctions() {
    static const FunctionInfo kList[] = {
        NGRAMS("", false, false),
        NGRAMS("CaseInsensitive", true, false),
        NGRAMS("UTF8", false, true),
        NGRAMS("CaseInsensitiveUTF8", true, true),
    };
    return kList;
}

}  // namespace shardd::functions
