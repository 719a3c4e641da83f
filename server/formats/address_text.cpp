#include "server/formats/address_text.h"

#include <cstring>

#include "server/formats/number_text.h"

namespace shardd::formats {

namespace {

constexpr char kHex[] = "0123456789abcdef";

int hexDigit(char c) {
    if (isDigit(c)) return c - '0';
    const char lower = toLower(c);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

}  // namespace

void writeUuid(UInt128 value, Writer& out) {
    const uint64_t halves[2] = {static_cast<uint64_t>(value), static_cast<uint64_t>(value >> 64)};
    char* text = out.extend(36);
    for (unsigned i = 0; i < 32; ++i) {
        if (i == 8 || i == 12 || i == 16 || i == 20) *text++ = '-';
        *text++ = kHex[(halves[i / 16] >> (60 - 4 * (i % 16))) & 15];
    }
}

void writeIPv4(uint32_t value, Writer& out) {
    for (int shift = 24; shift >= 0; shift -= 8) {
        writeInteger((value >> shift) & 255, out);
        if (shift > 0) out.writeByte('.');
    }
}

void writeIPv6(const uint8_t* bytes, Writer& out) {
    unsigned groups[8];
    for (unsigned i = 0; i < 8; ++i) groups[i] = bytes[2 * i] * 256u + bytes[2 * i + 1];
    // The longest run of zeros, at least two, the first of equals.
    int best = -1;
    int best_length = 1;
    for (int i = 0; i < 8;) {
        int end = i;
        while (end < 8 && groups[end] == 0) ++end;
        if (end - i > best_length) {
            best = i;
            best_length = end - i;
        }
        i = end == i ? i + 1 : end;
    }
    for (int i = 0; i < 8;) {
        if (i == best) {
            out.writeBytes("::");
            i += best_length;
            continue;
        }
        if (i > 0 && i != best + best_length) out.writeByte(':');
        const bool zeros_before =
            best == 0 && i == 6 && (best_length == 6 || (best_length == 5 && groups[5] == 0xFFFF));
        if (zeros_before) {
            for (int byte = 12; byte < 16; ++byte) {
                writeInteger(unsigned{bytes[byte]}, out);
                if (byte < 15) out.writeByte('.');
            }
            return;
        }
        bool started = false;
        for (int shift = 12; shift >= 0; shift -= 4) {
            const unsigned digit = (groups[i] >> shift) & 15;
            started |= digit != 0 || shift == 0;
            if (started) out.writeByte(static_cast<uint8_t>(kHex[digit]));
        }
        ++i;
    }
}

TextResult readUuid(TextInput& in, UInt128& value) {
    uint64_t halves[2] = {0, 0};
    const bool dashes = in.left() > 8 && in.peek(8) == '-';
    for (unsigned i = 0; i < 32; ++i) {
        if (dashes && (i == 8 || i == 12 || i == 16 || i == 20) && !in.skip('-'))
            return ErrorCode::CANNOT_PARSE_UUID;
        const int digit = hexDigit(in.peek());
        if (digit < 0) return ErrorCode::CANNOT_PARSE_UUID;
        ++in.position;
        halves[i / 16] = halves[i / 16] * 16 + static_cast<uint64_t>(digit);
    }
    value = (UInt128(halves[1]) << 64) | halves[0];
    return ErrorCode::OK;
}

TextResult readIPv4(TextInput& in, uint32_t& value) {
    value = 0;
    for (int part = 0; part < 4; ++part) {
        if (part > 0 && !in.skip('.')) return ErrorCode::CANNOT_PARSE_IPV4;
        unsigned number = 0;
        unsigned digits = 0;
        for (; digits < 3 && isDigit(in.peek()); ++digits)
            number = number * 10 + static_cast<unsigned>(*in.position++ - '0');
        if (digits == 0 || number > 255) return ErrorCode::CANNOT_PARSE_IPV4;
        value = value * 256 + number;
    }
    return ErrorCode::OK;
}

TextResult readIPv6(TextInput& in, uint8_t* bytes) {
    constexpr TextResult kFailed = ErrorCode::CANNOT_PARSE_IPV6;
    uint32_t mapped = 0;
    TextInput plain = in;
    if (readIPv4(plain, mapped) == ErrorCode::OK) {
        std::memset(bytes, 0, 10);
        bytes[10] = bytes[11] = 0xFF;
        for (int i = 0; i < 4; ++i) bytes[12 + i] = static_cast<uint8_t>(mapped >> (24 - 8 * i));
        in = plain;
        return ErrorCode::OK;
    }
    uint8_t read[16] = {};
    int count = 0;  // bytes read
    int gap = -1;   // where "::" stood
    if (in.skip("::"))
        gap = 0;
    else if (in.peek() == ':')
        return kFailed;
    while (count < 16) {
        plain = in;
        if (count <= 12 && readIPv4(plain, mapped) == ErrorCode::OK) {
            for (int i = 0; i < 4; ++i) read[count++] = static_cast<uint8_t>(mapped >> (24 - 8 * i));
            in = plain;
            break;
        }
        unsigned group = 0;
        int digits = 0;
        for (; digits < 4 && hexDigit(in.peek()) >= 0; ++digits)
            group = group * 16 + static_cast<unsigned>(hexDigit(*in.position++));
        if (digits == 0) break;
        read[count++] = static_cast<uint8_t>(group >> 8);
        read[count++] = static_cast<uint8_t>(group);
        if (count == 16) break;
        if (in.skip("::")) {
            if (gap >= 0) return kFailed;
            gap = count;
        } else if (!(in.peek() == ':' && hexDigit(in.peek(1)) >= 0)) {
            break;
        } else {
            ++in.position;
        }
    }
    if (gap < 0 ? count != 16 : count == 16) return kFailed;
    std::memset(bytes, 0, 16);
    if (gap < 0) gap = count;
    std::memcpy(bytes, read, static_cast<size_t>(gap));
    std::memcpy(bytes + 16 - (count - gap), read + gap, static_cast<size_t>(count - gap));
    return ErrorCode::OK;
}

}  // namespace shardd::formats
