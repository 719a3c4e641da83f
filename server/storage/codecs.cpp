#include "server/storage/codecs.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <vector>

#include "common/base/error.h"

namespace shardd::storage {

namespace {

enum Method : uint8_t { kMultiple = 0x91, kDelta = 0x92, kT64 = 0x93, kDoubleDelta = 0x94, kGorilla = 0x95 };

constexpr unsigned kMaxNesting = 4;  // a Multiple may hold a Multiple; nobody writes more

[[noreturn]] void fail(const char* codec, const char* why) {
    throw Error(ErrorCode::CANNOT_DECOMPRESS, "Cannot decompress {}: {}", codec, why);
}

const char* codecName(uint8_t method) {
    switch (method) {
        case 0x96:
            return "AES_128_GCM_SIV";
        case 0x97:
            return "AES_256_GCM_SIV";
        case 0x98:
            return "FPC";
        case 0x9a:
            return "GCD";
        case 0x9c:
            return "ALP";
        default:
            return "unknown";
    }
}

uint64_t loadWord(const char* data, size_t width) {
    uint64_t word = 0;
    std::memcpy(&word, data, width);
    return word;
}

void storeWord(char* out, uint64_t word, size_t width) { std::memcpy(out, &word, width); }

/// Bits of a byte string, the most significant one of each byte first.
class BitReader {
public:
    BitReader(const char* codec, std::string_view bytes) : codec_(codec), bytes_(bytes) {}

    uint64_t read(unsigned count) {
        uint64_t value = 0;
        while (count > 0) {
            if (position_ / 8 >= bytes_.size()) fail(codec_, "the bits end early");
            const unsigned used = position_ % 8;
            const unsigned taken = std::min(count, 8 - used);
            const auto byte = static_cast<uint8_t>(bytes_[position_ / 8]);
            const unsigned piece = (byte >> (8 - used - taken)) & ((1U << taken) - 1);
            value = (value << taken) | piece;
            position_ += taken;
            count -= taken;
        }
        return value;
    }

private:
    const char* codec_;
    std::string_view bytes_;
    size_t position_ = 0;
};

/// The bytes before the first whole value lie as they are; the rest of `in` and `out` is behind them.
struct Split {
    size_t width = 0;
    std::string_view in;
    char* out = nullptr;
    size_t values = 0;
};

Split splitWidth(const char* codec, std::string_view in, char* out, size_t data_bytes) {
    if (in.size() < 2) fail(codec, "it has no header");
    Split split;
    split.width = static_cast<uint8_t>(in[0]);
    if (split.width != 1 && split.width != 2 && split.width != 4 && split.width != 8)
        fail(codec, "values have a strange width");
    const size_t raw = data_bytes % split.width;
    if (in.size() < 2 + raw) fail(codec, "it ends early");
    std::memcpy(out, in.data() + 2, raw);
    split.in = in.substr(2 + raw);
    split.out = out + raw;
    split.values = data_bytes / split.width;
    return split;
}

template <typename T>
void sumDifferences(const char* in, char* out, size_t values) {
    T value = 0;
    for (size_t i = 0; i < values; ++i) {
        T difference;
        std::memcpy(&difference, in + i * sizeof(T), sizeof(T));
        value = static_cast<T>(value + difference);
        std::memcpy(out + i * sizeof(T), &value, sizeof(T));
    }
}

void decodeDelta(std::string_view in, char* out, size_t data_bytes) {
    const Split split = splitWidth("Delta", in, out, data_bytes);
    if (split.in.size() < split.values * split.width) fail("Delta", "it ends early");
    switch (split.width) {
        case 1:
            return sumDifferences<uint8_t>(split.in.data(), split.out, split.values);
        case 2:
            return sumDifferences<uint16_t>(split.in.data(), split.out, split.values);
        case 4:
            return sumDifferences<uint32_t>(split.in.data(), split.out, split.values);
        default:
            return sumDifferences<uint64_t>(split.in.data(), split.out, split.values);
    }
}

/// The number of values that a DoubleDelta or Gorilla body says, checked against the room.
size_t readItems(const char* codec, Split& split) {
    if (split.in.size() < 4) fail(codec, "it ends early");
    const size_t items = loadWord(split.in.data(), 4);
    if (items != split.values) fail(codec, "it holds another number of values");
    split.in.remove_prefix(4);
    return items;
}

int64_t readSecondDifference(BitReader& bits) {
    static constexpr unsigned kBits[] = {7, 9, 12, 32, 64};
    if (bits.read(1) == 0) return 0;
    unsigned kind = 0;
    while (kind < 4 && bits.read(1) == 1) ++kind;
    const unsigned count = kBits[kind];
    const bool negative = bits.read(1) == 1;
    const uint64_t magnitude = bits.read(count - 1) + 1;
    return static_cast<int64_t>(negative ? 0 - magnitude : magnitude);
}

void decodeDoubleDelta(std::string_view in, char* out, size_t data_bytes) {
    Split split = splitWidth("DoubleDelta", in, out, data_bytes);
    const size_t items = readItems("DoubleDelta", split);
    if (items == 0) return;
    const size_t plain = std::min<size_t>(items, 2) * split.width;
    if (split.in.size() < plain) fail("DoubleDelta", "it ends early");
    uint64_t value = loadWord(split.in.data(), split.width);
    storeWord(split.out, value, split.width);
    if (items == 1) return;
    uint64_t difference = loadWord(split.in.data() + split.width, split.width);
    value += difference;
    storeWord(split.out + split.width, value, split.width);
    BitReader bits("DoubleDelta", split.in.substr(plain));
    for (size_t i = 2; i < items; ++i) {
        difference += static_cast<uint64_t>(readSecondDifference(bits));
        value += difference;
        storeWord(split.out + i * split.width, value, split.width);
    }
}

void decodeGorilla(std::string_view in, char* out, size_t data_bytes) {
    Split split = splitWidth("Gorilla", in, out, data_bytes);
    const size_t items = readItems("Gorilla", split);
    if (items == 0) return;
    if (split.in.size() < split.width) fail("Gorilla", "it ends early");
    const auto value_bits = static_cast<unsigned>(split.width * 8);
    const auto length_bits = static_cast<unsigned>(std::bit_width(split.width)) + 3;  // 4, 5, 6, 7
    uint64_t value = loadWord(split.in.data(), split.width);
    storeWord(split.out, value, split.width);
    BitReader bits("Gorilla", split.in.substr(split.width));
    unsigned leading = 0;
    unsigned length = 0;
    for (size_t i = 1; i < items; ++i) {
        if (bits.read(1) == 1) {
            if (bits.read(1) == 1) {
                leading = static_cast<unsigned>(bits.read(length_bits - 1));
                length = static_cast<unsigned>(bits.read(length_bits));
            }
            if (length == 0 || leading + length > value_bits)
                fail("Gorilla", "a window is wider than a value");
            value ^= bits.read(length) << (value_bits - leading - length);
        }
        storeWord(split.out + i * split.width, value, split.width);
    }
}

struct T64Type {
    size_t width;
    bool is_signed;
};

T64Type t64Type(unsigned type) {
    switch (type) {
        case 1:
        case 17:
            return {1, false};
        case 2:
        case 13:
        case 18:
            return {2, false};
        case 3:
        case 14:
        case 21:
            return {4, false};
        case 4:
            return {8, false};
        case 6:
            return {1, true};
        case 7:
            return {2, true};
        case 8:
        case 19:
        case 22:
        case 23:
            return {4, true};
        case 9:
        case 15:
        case 20:
        case 24:
            return {8, true};
        default:
            fail("T64", "it is of an unknown type");
    }
}

/// 64 values from bit planes (and, in the variant 'byte', whole bytes first).
void untranspose(const char* in, unsigned bits, bool bit_variant, uint64_t (&values)[64]) {
    std::fill(std::begin(values), std::end(values), 0);
    unsigned done = 0;
    if (!bit_variant)
        for (; done + 8 <= bits; done += 8, in += 64)
            for (unsigned i = 0; i < 64; ++i) values[i] |= uint64_t{static_cast<uint8_t>(in[i])} << done;
    for (; done < bits; ++done, in += 8) {
        const uint64_t plane = loadWord(in, 8);
        for (unsigned i = 0; i < 64; ++i) values[i] |= ((plane >> i) & 1) << done;
    }
}

void decodeT64(std::string_view in, char* out, size_t data_bytes) {
    if (in.empty()) fail("T64", "it has no header");
    const auto cookie = static_cast<uint8_t>(in[0]);
    const T64Type type = t64Type(cookie & 0x7F);
    const size_t raw = data_bytes % type.width;
    if (in.size() < 1 + raw + 16) fail("T64", "it ends early");
    std::memcpy(out, in.data() + 1, raw);
    out += raw;
    in.remove_prefix(1 + raw);
    const uint64_t min = loadWord(in.data(), 8);
    const uint64_t max = loadWord(in.data() + 8, 8);
    in.remove_prefix(16);
    const auto signed_min = static_cast<int64_t>(min);
    const auto signed_max = static_cast<int64_t>(max);
    const bool mixed = type.is_signed && signed_min < 0 && signed_max >= 0;
    unsigned bits = static_cast<unsigned>(std::bit_width(min ^ max));
    if (mixed) {
        const bool min_is_longer = static_cast<int64_t>(min + max) < 0;
        bits = static_cast<unsigned>(std::bit_width(min_is_longer ? ~min : max)) + 1;
    }
    const size_t count = data_bytes / type.width;
    if (bits == 0) {
        for (size_t i = 0; i < count; ++i) storeWord(out + i * type.width, min, type.width);
        return;
    }
    const size_t group_bytes = size_t{bits} * 8;
    if (in.size() < (count + 63) / 64 * group_bytes) fail("T64", "it ends early");
    const auto upper = [bits](uint64_t of) { return bits >= 64 ? 0 : of >> bits << bits; };
    const uint64_t sign_bit = uint64_t{1} << (bits - 1);
    uint64_t values[64];
    for (size_t start = 0; start < count; start += 64, in.remove_prefix(group_bytes)) {
        untranspose(in.data(), bits, (cookie & 0x80) != 0, values);
        const size_t here = std::min<size_t>(64, count - start);
        for (size_t i = 0; i < here; ++i) {
            const bool negative = mixed && (values[i] & sign_bit) != 0;
            const uint64_t value = values[i] | upper(!mixed || negative ? min : max);
            storeWord(out + (start + i) * type.width, value, type.width);
        }
    }
}

/// One codec's body; `inner` is the header of a frame without the checksum, then the body.
void decodeInner(std::string_view inner, char* out, unsigned depth);

void decodeMultiple(std::string_view in, char* out, size_t data_bytes, unsigned depth) {
    if (in.empty()) fail("Multiple", "it has no header");
    const size_t codecs = static_cast<uint8_t>(in[0]);
    if (codecs == 0 || codecs > 16 || in.size() < 1 + codecs) fail("Multiple", "it has no list of codecs");
    std::string_view inner = in.substr(1 + codecs);
    std::vector<char> step;
    // The last codec's output lies here; each earlier one is inside it, with a header of its own.
    for (size_t left = codecs; left > 0; --left) {
        if (inner.size() < kFrameSizesBytes) fail("Multiple", "a codec's header is cut short");
        const size_t inner_bytes = loadWord(inner.data() + 1, 4);
        const size_t inner_data = loadWord(inner.data() + 5, 4);
        if (inner_bytes < kFrameSizesBytes || inner_bytes > inner.size())
            fail("Multiple", "a codec's size is wrong");
        if (left == 1) {
            if (inner_data != data_bytes) fail("Multiple", "the first codec holds another number of bytes");
            decodeInner(inner.substr(0, inner_bytes), out, depth);
            return;
        }
        if (inner_data > data_bytes + data_bytes / 8 + 4096)
            fail("Multiple", "a codec's output is too large");
        std::vector<char> next(inner_data);
        decodeInner(inner.substr(0, inner_bytes), next.data(), depth);
        step = std::move(next);
        inner = {step.data(), step.size()};
    }
}

void decodeInner(std::string_view inner, char* out, unsigned depth) {
    if (depth > kMaxNesting) fail("Multiple", "codecs are nested too deeply");
    const auto method = static_cast<uint8_t>(inner[0]);
    const size_t data_bytes = loadWord(inner.data() + 5, 4);
    const std::string_view body = inner.substr(kFrameSizesBytes);
    switch (method) {
        case kMultiple:
            return decodeMultiple(body, out, data_bytes, depth + 1);
        case kDelta:
            return decodeDelta(body, out, data_bytes);
        case kDoubleDelta:
            return decodeDoubleDelta(body, out, data_bytes);
        case kGorilla:
            return decodeGorilla(body, out, data_bytes);
        case kT64:
            return decodeT64(body, out, data_bytes);
        default:
            break;
    }
    if (!isGenericCodec(method))
        throw Error(ErrorCode::UNKNOWN_COMPRESSION_METHOD, "Codec {} (method {:#04x}) is not supported",
                    codecName(method), method);
    // The generic codecs are only known as whole frames: give the body a checksum.
    std::string frame(kFrameChecksumBytes, '\0');
    frame.append(inner);
    const Hash128 hash = cityHash128(inner.data(), inner.size());
    std::memcpy(frame.data(), &hash.low, 8);
    std::memcpy(frame.data() + 8, &hash.high, 8);
    decodeFrameInto(*peekFrameHeader(frame), frame, out);
}

std::string lowered(std::string_view text) {
    std::string lower(text);
    for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    return lower;
}

}  // namespace

void decodeCodecFrame(std::string_view frame, char* out) {
    const std::string_view covered = frame.substr(kFrameChecksumBytes);
    const Hash128 found = cityHash128(covered.data(), covered.size());
    if (loadWord(frame.data(), 8) != found.low || loadWord(frame.data() + 8, 8) != found.high)
        throw Error(ErrorCode::CHECKSUM_DOESNT_MATCH, "Checksum of a compressed block does not match");
    decodeInner(covered, out, 0);
}

FrameOptions parseCodec(std::string_view text) {
    FrameOptions options;
    const size_t open = text.find('(');
    if (open == std::string_view::npos) return options;
    std::string_view list = text.substr(open + 1, text.rfind(')') - open - 1);
    while (!list.empty()) {
        const size_t name_end = std::min(list.find_first_of(",( "), list.size());
        const std::string name = lowered(list.substr(0, name_end));
        list.remove_prefix(name_end);
        int level = 1;
        if (!list.empty() && list.front() == '(') {
            std::from_chars(list.data() + 1, list.data() + list.size(), level);
            list.remove_prefix(std::min(list.find(')') + 1, list.size()));
        }
        if (name == "none") options.method = FrameMethod::None;
        if (name == "lz4" || name == "lz4hc" || name == "default") options.method = FrameMethod::Lz4;
        if (name == "zstd") options = {.method = FrameMethod::Zstd, .zstd_level = std::clamp(level, 1, 22)};
        list.remove_prefix(std::min(list.find_first_not_of(", "), list.size()));
    }
    return options;
}

}  // namespace shardd::storage
