// How much two strings differ, and other numbers of strings: editDistance, jaroSimilarity, soundex,
// stringBytesUniq …

#include <array>
#include <cmath>
#include <set>

#include "server/functions/definition.h"
#include "server/functions/utf8.h"

namespace shardd::functions {

namespace {

using Points = std::vector<uint32_t>;

/// Bytes or code points of a text.
template <bool kUtf8>
Points pointsOf(std::string_view text) {
    Points points;
    for (size_t at = 0; at < text.size();) {
        const auto first = static_cast<uint8_t>(text[at]);
        const size_t size = kUtf8 ? std::min(utf8Length(first), text.size() - at) : 1;
        uint32_t point = first;
        for (size_t i = 1; i < size; ++i) point = point << 8 | static_cast<uint8_t>(text[at + i]);
        points.push_back(point);
        at += size;
    }
    return points;
}

/// As ClickHouse: where one text is empty, most of these answer the other one's bytes.
template <typename Result, bool kUtf8, auto kDistance, bool kBytesWhenEmpty>
ColumnPtr runDistance(const Call& call) {
    const TextArgument a(call.column(0));
    const TextArgument b(call.column(1));
    return eachRow<Result>(call.rows, [&](size_t row) -> Result {
        if (kBytesWhenEmpty && (a[row].empty() || b[row].empty()))
            return static_cast<Result>(a[row].size() + b[row].size());
        return kDistance(pointsOf<kUtf8>(a[row]), pointsOf<kUtf8>(b[row]));
    });
}

constexpr size_t kMostLetters = 1 << 16;

void checkLength(const Points& a, const Points& b) {
    if (a.size() > kMostLetters || b.size() > kMostLetters)
        throw Error(ErrorCode::TOO_LARGE_STRING_SIZE,
                    "The string size is too big for function editDistance. Should be at most {}",
                    kMostLetters);
}

uint64_t editDistance(const Points& a, const Points& b) {
    checkLength(a, b);
    std::vector<uint64_t> row(b.size() + 1);
    for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (size_t i = 1; i <= a.size(); ++i) {
        uint64_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.size(); ++j) {
            const uint64_t above = row[j];
            row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
            diagonal = above;
        }
    }
    return row[b.size()];
}

/// With neighbours exchanged as one step.
uint64_t damerauDistance(const Points& a, const Points& b) {
    checkLength(a, b);
    std::vector<std::vector<uint64_t>> rows(3, std::vector<uint64_t>(b.size() + 1));
    for (size_t j = 0; j <= b.size(); ++j) rows[0][j] = j;
    for (size_t i = 1; i <= a.size(); ++i) {
        auto& now = rows[i % 3];
        const auto& before = rows[(i + 2) % 3];
        const auto& twice = rows[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= b.size(); ++j) {
            now[j] = std::min({before[j] + 1, now[j - 1] + 1, before[j - 1] + (a[i - 1] != b[j - 1])});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = std::min(now[j], twice[j - 2] + 1);
        }
    }
    return rows[a.size() % 3][b.size()];
}

uint64_t hammingDistance(const Points& a, const Points& b) {
    const size_t common = std::min(a.size(), b.size());
    uint64_t distance = std::max(a.size(), b.size()) - common;
    for (size_t i = 0; i < common; ++i) distance += a[i] != b[i];
    return distance;
}

double jaroSimilarity(const Points& a, const Points& b) {
    if (a.empty() || b.empty()) return 0;
    const size_t longest = std::max(a.size(), b.size());
    const size_t window = longest / 2 > 0 ? longest / 2 - 1 : 0;
    std::vector<bool> used(b.size());
    Points matched_a;
    for (size_t i = 0; i < a.size(); ++i) {
        const size_t from = i > window ? i - window : 0;
        for (size_t j = from; j < std::min(b.size(), i + window + 1); ++j) {
            if (used[j] || a[i] != b[j]) continue;
            used[j] = true;
            matched_a.push_back(a[i]);
            break;
        }
    }
    if (matched_a.empty()) return 0;
    size_t swapped = 0;
    for (size_t j = 0, k = 0; j < b.size(); ++j)
        if (used[j]) swapped += matched_a[k++] != b[j];
    const auto m = static_cast<double>(matched_a.size());
    return (m / static_cast<double>(a.size()) + m / static_cast<double>(b.size()) +
            (m - static_cast<double>(swapped / 2)) / m) /
           3;
}

double jaroWinklerSimilarity(const Points& a, const Points& b) {
    const double jaro = jaroSimilarity(a, b);
    if (jaro <= 0.7) return jaro;
    size_t prefix = 0;
    while (prefix < 4 && prefix < a.size() && prefix < b.size() && a[prefix] == b[prefix]) ++prefix;
    return jaro + 0.1 * static_cast<double>(prefix) * (1 - jaro);
}

/// Of the sets of their letters.
double jaccardIndex(const Points& a, const Points& b) {
    const std::set<uint32_t> first(a.begin(), a.end());
    const std::set<uint32_t> second(b.begin(), b.end());
    size_t common = 0;
    for (const uint32_t letter : first) common += second.count(letter);
    const size_t all = first.size() + second.size() - common;
    return all == 0 ? 0 : static_cast<double>(common) / static_cast<double>(all);
}

// -- of one string --------------------------------------------------------------------------------

ColumnPtr runSoundex(const Call& call) {
    static constexpr std::string_view kCodes = "01230120022455012623010202";  // of A … Z; 0 is not written
    const TextArgument texts(call.column(0));
    return eachText(call.rows, call.rows * 4, [&](size_t row, TextBuilder& out) {
        std::string code;
        char last = '0';
        for (const char c : texts[row]) {
            const char upper = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
            if (upper < 'A' || upper > 'Z') continue;
            const char digit = kCodes[static_cast<size_t>(upper - 'A')];
            if (code.empty()) {
                code.push_back(upper);
                last = digit;
                continue;
            }
            if (digit != '0' && digit != last) code.push_back(digit);
            if (upper != 'H' && upper != 'W') last = digit;
            if (code.size() == 4) break;
        }
        code.resize(4, '0');
        out.append(code);
    });
}

TypePtr typeOfSoundex(const Signature& call) {
    needCount(call, 1);
    needText(call, 0);
    if (call.type(0)->kind() == TypeKind::FixedString)
        throw Error(ErrorCode::ILLEGAL_COLUMN, "Column of type FixedString is not supported by {} function",
                    call.name);
    return types::string();
}

std::array<size_t, 256> countBytes(std::string_view text) {
    std::array<size_t, 256> counts{};
    for (const char c : text) ++counts[static_cast<uint8_t>(c)];
    return counts;
}

ColumnPtr runBytesUniq(const Call& call) {
    const TextArgument texts(call.column(0));
    return eachRow<uint16_t>(call.rows, [&](size_t row) {
        const auto counts = countBytes(texts[row]);
        return static_cast<uint16_t>(
            std::count_if(counts.begin(), counts.end(), [](size_t n) { return n > 0; }));
    });
}

ColumnPtr runBytesEntropy(const Call& call) {
    const TextArgument texts(call.column(0));
    return eachRow<double>(call.rows, [&](size_t row) {
        double entropy = 0;
        const auto size = static_cast<double>(texts[row].size());
        for (const size_t count : countBytes(texts[row])) {
            if (count == 0) continue;
            const double share = static_cast<double>(count) / size;
            entropy -= share * std::log2(share);
        }
        return entropy;
    });
}

/// Every number with its digits counted first, so that texts sort as people count.
ColumnPtr runNaturalSortKey(const Call& call) {
    const TextArgument texts(call.column(0));
    auto isDigit = [](char c) { return c >= '0' && c <= '9'; };
    return eachText(call.rows, texts.totalBytes() * 2, [&](size_t row, TextBuilder& out) {
        const std::string_view text = texts[row];
        for (size_t at = 0; at < text.size();) {
            if (!isDigit(text[at])) {
                out.append(text[at++]);
                continue;
            }
            size_t end = at;
            while (end < text.size() && isDigit(text[end])) ++end;
            while (at + 1 < end && text[at] == '0') ++at;
            const std::string_view number = text.substr(at, end - at);
            const bool zero = number == "0";
            size_t length = zero ? 0 : number.size() - 1;
            for (; length >= 8; length -= 8) out.append('8');
            out.append(static_cast<char>('0' + length));
            out.append(number);
            at = end;
        }
    });
}

TypePtr typeOfCompareSubstrings(const Signature& call) {
    needCount(call, 5);
    needString(call, 0);
    needString(call, 1);
    for (size_t i = 2; i < 5; ++i)
        if (!call.type(i)->isUnsigned()) illegalArgument(call, i, "const UInt*");
    return types::simple(TypeKind::Int8);
}

ColumnPtr runCompareSubstrings(const Call& call) {
    const TextArgument a(call.column(0));
    const TextArgument b(call.column(1));
    const IntegerArgument a_from(call.column(2));
    const IntegerArgument b_from(call.column(3));
    const IntegerArgument lengths(call.column(4));
    auto part = [](std::string_view text, int64_t from, int64_t length) {
        return static_cast<size_t>(from) >= text.size()
                   ? std::string_view()
                   : text.substr(static_cast<size_t>(from), static_cast<size_t>(length));
    };
    return eachRow<int8_t>(call.rows, [&](size_t row) {
        const int order =
            part(a[row], a_from[row], lengths[row]).compare(part(b[row], b_from[row], lengths[row]));
        return static_cast<int8_t>((order > 0) - (order < 0));
    });
}

// -- other bases ----------------------------------------------------------------------------------

TypePtr typeOfConv(const Signature& call) {
    needCount(call, 3);
    if (!call.type(0)->isString() && !call.type(0)->isInteger())
        illegalArgument(call, 0, "String or an integer");
    needInteger(call, 1);
    needInteger(call, 2);
    return types::string();
}

void convertBase(std::string_view text, int64_t from, int64_t to, TextBuilder& out) {
    if (from < 2 || from > 36 || to < 2 || to > 36)
        throw Error(ErrorCode::BAD_ARGUMENTS,
                    "Base is less than 2 or greater than 36 which is not supported");
    if (text.empty()) throw Error(ErrorCode::BAD_ARGUMENTS, "Number for conversion is empty");
    bool negative = false;
    if (text[0] == '-' || text[0] == '+') {
        negative = text[0] == '-';
        text.remove_prefix(1);
    }
    uint64_t value = 0;
    for (const char c : text) {
        const int digit = c >= '0' && c <= '9'                          ? c - '0'
                          : std::isalpha(static_cast<unsigned char>(c)) ? (c | 0x20) - 'a' + 10
                                                                        : 99;
        if (digit >= from) break;
        unsigned __int128 next = static_cast<unsigned __int128>(value) * static_cast<unsigned>(from) +
                                 static_cast<unsigned>(digit);
        value = next > UINT64_MAX ? UINT64_MAX : static_cast<uint64_t>(next);
        if (next > UINT64_MAX) break;
    }
    if (negative) value = 0 - value;
    char buffer[64];
    size_t at = sizeof(buffer);
    do {
        buffer[--at] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[value % static_cast<uint64_t>(to)];
        value /= static_cast<uint64_t>(to);
    } while (value > 0);
    out.append(std::string_view(buffer + at, sizeof(buffer) - at));
}

ColumnPtr runConv(const Call& call) {
    const NamedColumn argument = call.arguments[0];
    ColumnPtr column = argument.column;
    if (!argument.type->isString())
        column = resolveFunction("toString", {&argument, 1}, nullptr)->execute({&argument, 1}, call.rows);
    const TextArgument texts(column);
    const IntegerArgument from(call.column(1));
    const IntegerArgument to(call.column(2));
    return eachText(call.rows, call.rows * 16,
                    [&](size_t row, TextBuilder& out) { convertBase(texts[row], from[row], to[row], out); });
}

#define DISTANCE(name, result, utf8, of, bytes_when_empty, words)                                   \
    define<name, textsTo<result, 2>,                                                                \
           runDistance<std::conditional_t<result == TypeKind::Float64, double, uint64_t>, utf8, of, \
                       bytes_when_empty>>(name "(a, b)", words)

}  // namespace

std::span<const FunctionInfo> textDistanceFunctions() {
    static const FunctionInfo kList[] = {
        DISTANCE("editDistance", TypeKind::UInt64, false, editDistance, true,
                 "Insertions, deletions and changes from one to the other."),
        DISTANCE("editDistanceUTF8", TypeKind::UInt64, true, editDistance, true, "The same for code points."),
        DISTANCE("damerauLevenshteinDistance", TypeKind::UInt64, false, damerauDistance, true,
                 "The same with neighbours exchanged."),
        DISTANCE("byteHammingDistance", TypeKind::UInt64, false, hammingDistance, true,
                 "In how many bytes they differ."),
        DISTANCE("jaroSimilarity", TypeKind::Float64, false, jaroSimilarity, true, "Jaro's similarity."),
        DISTANCE("jaroWinklerSimilarity", TypeKind::Float64, false, jaroWinklerSimilarity, true,
                 "Winkler's similarity."),
        DISTANCE("stringJaccardIndex", TypeKind::Float64, false, jaccardIndex, false,
                 "The share of common bytes."),
        DISTANCE("stringJaccardIndexUTF8", TypeKind::Float64, true, jaccardIndex, false,
                 "The share of common code points."),
        define<"soundex", typeOfSoundex, runSoundex>("soundex(text)", "How it sounds in English.",
                                                     "soundex('Rupert')", "R163"),
        define<"stringBytesUniq", textsTo<TypeKind::UInt16, 1>, runBytesUniq>(
            "stringBytesUniq(text)", "How many different bytes.", "stringBytesUniq('Hello')", "4"),
        define<"stringBytesEntropy", textsTo<TypeKind::Float64, 1>, runBytesEntropy>(
            "stringBytesEntropy(text)", "The entropy of its bytes.", "stringBytesEntropy('aabb')", "1"),
        define<"naturalSortKey", textsTo<TypeKind::String, 1>, runNaturalSortKey>(
            "naturalSortKey(text)", "A key by which numbers in texts sort by value."),
        define<"compareSubstrings", typeOfCompareSubstrings, runCompareSubstrings>(
            "compareSubstrings(a, b, a_offset, b_offset, length)", "-1, 0 or 1."),
        define<"conv", typeOfConv, runConv, kMayThrow>(
            "conv(number, from_base, to_base)", "Digits in another base.", "conv('ff', 16, 2)", "11111111"),
    };
    return kList;
}

}  // namespace shardd::functions
