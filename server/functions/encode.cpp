// Bytes as text and back: hex, bin, base64, base58, base32, bitmasks.

#include <array>

#include "common/columns/create_column.h"
#include "common/columns/state_column.h"
#include "server/functions/definition.h"

namespace shardd::functions {

namespace {

// -- hex and bin ----------------------------------------------------------------------------------

/// How the bytes of a type are written: numbers from the highest byte that is not 0, everything else byte for
/// byte.
enum class Order { Number, Bytes, Uuid };

TypePtr typeOfDigits(const Signature& call) {
    needCount(call, 1);
    const Type& type = *call.type(0);
    const TypeKind kind = type.kind();
    if (kind == TypeKind::DateTime64 || kind == TypeKind::Date32)
        throw Error(ErrorCode::ILLEGAL_COLUMN, "Illegal column {} of argument of function {}", type.name(),
                    call.name);
    if (!type.isString() && !type.isNumber() && kind != TypeKind::Date && kind != TypeKind::DateTime &&
        kind != TypeKind::UUID && kind != TypeKind::IPv4 && kind != TypeKind::IPv6 &&
        !(kind == TypeKind::AggregateFunction && call.name == "hex"))
        illegalArgument(call, 0);
    return types::string();
}

Order orderOf(const Type& type) {
    if (type.isInteger() || type.kind() == TypeKind::Bool || type.kind() == TypeKind::Date ||
        type.kind() == TypeKind::DateTime || type.kind() == TypeKind::IPv4)
        return Order::Number;
    return type.kind() == TypeKind::UUID ? Order::Uuid : Order::Bytes;
}

void writeHex(uint8_t byte, TextBuilder& out) {
    constexpr char kDigits[] = "0123456789ABCDEF";
    out.append(kDigits[byte >> 4]);
    out.append(kDigits[byte & 15]);
}

void writeBin(uint8_t byte, TextBuilder& out) {
    for (int bit = 7; bit >= 0; --bit) out.append(static_cast<char>('0' + (byte >> bit & 1)));
}

/// The states as their bytes on the wire.
ColumnPtr serializedStates(const Column& column) {
    const auto& states = as<StateColumn>(column);
    auto texts = std::make_shared<StringColumn>();
    for (size_t row = 0; row < states.size(); ++row) texts->insertText(states.value(row).get<std::string>());
    return texts;
}

template <auto kWrite>
ColumnPtr runDigits(const Call& call) {
    if (call.argumentType(0)->kind() == TypeKind::AggregateFunction) {
        const ColumnPtr serialized = serializedStates(*full(call.column(0)));
        const TextArgument bytes(serialized);
        return eachText(call.rows, bytes.totalBytes() * 2, [&](size_t row, TextBuilder& out) {
            for (const char c : bytes[row]) kWrite(static_cast<uint8_t>(c), out);
        });
    }
    const TextArgument texts(call.column(0));
    const Order order = orderOf(*call.argumentType(0));
    return eachText(call.rows, texts.totalBytes() * 2, [&](size_t row, TextBuilder& out) {
        const std::string_view bytes = texts[row];
        if (order == Order::Bytes) {
            for (const char c : bytes) kWrite(static_cast<uint8_t>(c), out);
            return;
        }
        if (order == Order::Uuid) {  // two words, each with its lowest byte first
            for (const size_t word : {size_t{0}, size_t{8}})
                for (size_t i = 8; i > 0; --i) kWrite(static_cast<uint8_t>(bytes[word + i - 1]), out);
            return;
        }
        size_t size = bytes.size();
        while (size > 1 && bytes[size - 1] == 0) --size;
        for (size_t i = size; i > 0; --i) kWrite(static_cast<uint8_t>(bytes[i - 1]), out);
    });
}

TypePtr typeOfText(const Signature& call) {
    needCount(call, 1);
    needText(call, 0);
    return types::string();
}

uint8_t hexValue(char c) {
    if (c >= '0' && c <= '9') return static_cast<uint8_t>(c - '0');
    if (c >= 'a' && c <= 'f') return static_cast<uint8_t>(c - 'a' + 10);
    if (c >= 'A' && c <= 'F') return static_cast<uint8_t>(c - 'A' + 10);
    return 0xFF;
}

/// An odd digit stands alone at the begin; what is no digit counts as all bits set, as in ClickHouse.
ColumnPtr runUnhex(const Call& call) {
    const TextArgument texts(call.column(0));
    return eachText(call.rows, texts.totalBytes() / 2, [&](size_t row, TextBuilder& out) {
        const std::string_view text = texts[row];
        size_t at = 0;
        if (text.size() % 2 != 0) out.append(static_cast<char>(hexValue(text[at++])));
        for (; at + 1 < text.size(); at += 2)
            out.append(static_cast<char>(hexValue(text[at]) * 16 + hexValue(text[at + 1])));
    });
}

ColumnPtr runUnbin(const Call& call) {
    const TextArgument texts(call.column(0));
    return eachText(call.rows, texts.totalBytes() / 8, [&](size_t row, TextBuilder& out) {
        const std::string_view text = texts[row];
        size_t at = 0;
        while (at < text.size()) {
            const size_t count = at == 0 && text.size() % 8 != 0 ? text.size() % 8 : 8;
            unsigned byte = 0;
            for (size_t i = 0; i < count; ++i) byte = byte << 1 | (text[at + i] == '1' ? 1u : 0u);
            out.append(static_cast<char>(byte));
            at += count;
        }
    });
}

// -- base 64, 32, 58 ------------------------------------------------------------------------------

constexpr std::string_view kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kBase64Url = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::string_view kBase32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
constexpr std::string_view kBase58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

void encodeBits(
    std::string_view text, std::string_view alphabet, unsigned bits, size_t group, TextBuilder& out) {
    uint32_t buffer = 0;
    unsigned have = 0;
    size_t written = 0;
    for (const char c : text) {
        buffer = buffer << 8 | static_cast<uint8_t>(c);
        for (have += 8; have >= bits; ++written) {
            have -= bits;
            out.append(alphabet[buffer >> have & ((1u << bits) - 1)]);
        }
    }
    if (have > 0) {
        out.append(alphabet[buffer << (bits - have) & ((1u << bits) - 1)]);
        ++written;
    }
    if (group > 0)
        for (; written % group != 0; ++written) out.append('=');
}

/// False when the text is not of the alphabet or has a length or padding that no encoding makes.
bool decodeBits(std::string_view text,
                std::string_view alphabet,
                unsigned bits,
                size_t group,
                bool needs_padding,
                std::string& out) {
    out.clear();
    if (needs_padding && text.size() % group != 0) return false;
    size_t padding = 0;
    while (!text.empty() && text.back() == '=') {
        text.remove_suffix(1);
        ++padding;
    }
    if (padding >= group) return false;
    uint32_t buffer = 0;
    unsigned have = 0;
    for (const char c : text) {
        const size_t value = alphabet.find(c);
        if (value == std::string_view::npos) return false;
        buffer = buffer << bits | static_cast<uint32_t>(value);
        have += bits;
        if (have >= 8) {
            have -= 8;
            out.push_back(static_cast<char>(buffer >> have));
        }
    }
    return have < bits;
}

std::string withoutBlanks(std::string_view text) {
    std::string result;
    for (const char c : text)
        if (c != ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\f') result.push_back(c);
    return result;
}

bool decodeBase64(std::string_view text, std::string& out) {
    return decodeBits(withoutBlanks(text), kBase64, 6, 4, true, out);
}

bool decodeBase64Url(std::string_view text, std::string& out) {
    return decodeBits(withoutBlanks(text), kBase64Url, 6, 4, false, out);
}

bool decodeBase32(std::string_view text, std::string& out) {
    return decodeBits(text, kBase32, 5, 8, true, out);
}

bool decodeBase58(std::string_view text, std::string& out) {
    out.clear();
    size_t zeros = 0;
    while (zeros < text.size() && text[zeros] == '1') ++zeros;
    std::string bytes;  // little-endian
    for (const char c : text.substr(zeros)) {
        const size_t value = kBase58.find(c);
        if (value == std::string_view::npos) return false;
        auto carry = static_cast<uint32_t>(value);
        for (char& byte : bytes) {
            carry += static_cast<uint32_t>(static_cast<uint8_t>(byte)) * 58;
            byte = static_cast<char>(carry);
            carry >>= 8;
        }
        for (; carry > 0; carry >>= 8) bytes.push_back(static_cast<char>(carry));
    }
    out.assign(zeros, '\0');
    out.append(bytes.rbegin(), bytes.rend());
    return true;
}

void encodeBase64(std::string_view text, TextBuilder& out) { encodeBits(text, kBase64, 6, 4, out); }

void encodeBase64Url(std::string_view text, TextBuilder& out) { encodeBits(text, kBase64Url, 6, 0, out); }

void encodeBase32(std::string_view text, TextBuilder& out) { encodeBits(text, kBase32, 5, 8, out); }

void encodeBase58(std::string_view text, TextBuilder& out) {
    size_t zeros = 0;
    while (zeros < text.size() && text[zeros] == '\0') ++zeros;
    std::string digits;  // lowest first
    for (const char c : text.substr(zeros)) {
        uint32_t carry = static_cast<uint8_t>(c);
        for (char& digit : digits) {
            carry += static_cast<uint32_t>(digit) << 8;
            digit = static_cast<char>(carry % 58);
            carry /= 58;
        }
        for (; carry > 0; carry /= 58) digits.push_back(static_cast<char>(carry % 58));
    }
    for (size_t i = 0; i < zeros; ++i) out.append('1');
    for (size_t i = digits.size(); i > 0; --i) out.append(kBase58[static_cast<size_t>(digits[i - 1])]);
}

template <auto kEncode>
ColumnPtr runEncode(const Call& call) {
    const TextArgument texts(call.column(0));
    return eachText(call.rows, texts.totalBytes() * 2,
                    [&](size_t row, TextBuilder& out) { kEncode(texts[row], out); });
}

template <auto kDecode, bool kTry>
ColumnPtr runDecode(const Call& call) {
    const TextArgument texts(call.column(0));
    std::string buffer;
    return eachText(call.rows, texts.totalBytes(), [&](size_t row, TextBuilder& out) {
        if (kDecode(texts[row], buffer)) return out.append(buffer);
        if (!kTry)
            throw Error(ErrorCode::INCORRECT_DATA, "Invalid {} value ({}), cannot be decoded", call.name,
                        texts[row]);
    });
}

// -- bits of integers -----------------------------------------------------------------------------

TypePtr typeOfMaskArray(const Signature& call) {
    needCount(call, 1);
    if (!call.type(0)->isInteger() || call.type(0)->width() > 8) illegalArgument(call, 0, "an integer");
    return types::array(call.type(0));
}

/// The set bits of an integer, cut to its width.
uint64_t bitsOf(int64_t value, const Type& type) {
    const size_t bits = type.width() * 8;
    return bits == 64 ? static_cast<uint64_t>(value)
                      : static_cast<uint64_t>(value) & ((uint64_t{1} << bits) - 1);
}

ColumnPtr runMaskArray(const Call& call) {
    const IntegerArgument values(call.column(0));
    MutableColumnPtr elements = createColumn(*call.type->child());
    PodVector<uint64_t> ends(call.rows);
    for (size_t row = 0; row < call.rows; ++row) {
        for (uint64_t bits = bitsOf(values[row], *call.argumentType(0)); bits != 0; bits &= bits - 1) {
            const uint64_t lowest = bits & (~bits + 1);
            elements->insert(Value(lowest));
        }
        ends[row] = elements->size();
    }
    return std::make_shared<ArrayColumn>(ColumnPtr(std::move(elements)), std::move(ends));
}

TypePtr typeOfMaskList(const Signature& call) {
    typeOfMaskArray(call);
    return types::string();
}

ColumnPtr runMaskList(const Call& call) {
    const IntegerArgument values(call.column(0));
    const Type& type = *call.argumentType(0);
    const uint64_t sign = type.isUnsigned() ? 0 : uint64_t{1} << (type.width() * 8 - 1);
    return eachText(call.rows, 0, [&](size_t row, TextBuilder& out) {
        bool first = true;
        for (uint64_t bits = bitsOf(values[row], type); bits != 0; bits &= bits - 1) {
            const uint64_t lowest = bits & (~bits + 1);
            if (!std::exchange(first, false)) out.append(',');
            if (lowest == sign) out.append('-');
            out.append(std::to_string(lowest));
        }
    });
}

TypePtr typeOfBitPositions(const Signature& call) {
    needCount(call, 1);
    if ((!call.type(0)->isInteger() || call.type(0)->width() > 8) && !call.type(0)->isFloat())
        illegalArgument(call, 0, "an integer");
    return types::array(types::uint64());
}

ColumnPtr runBitPositions(const Call& call) {
    const IntegerArgument values(call.column(0));
    PodVector<uint64_t> positions;
    PodVector<uint64_t> ends(call.rows);
    for (size_t row = 0; row < call.rows; ++row) {
        for (uint64_t bits = bitsOf(values[row], *call.argumentType(0)); bits != 0; bits &= bits - 1)
            positions.push_back(static_cast<uint64_t>(__builtin_ctzll(bits)));
        ends[row] = positions.size();
    }
    return std::make_shared<ArrayColumn>(fixedColumn(std::move(positions)), std::move(ends));
}

#define CODEC(kind, encode, decode)                                                            \
    define<kind "Encode", typeOfText, runEncode<encode>, kInjective>(kind "Encode(text)",      \
                                                                     "The text in " kind "."), \
        define<kind "Decode", typeOfText, runDecode<decode, false>, kMayThrow>(                \
            kind "Decode(text)", "The text that " kind " stands for.")

}  // namespace

std::span<const FunctionInfo> encodeFunctions() {
    static const FunctionInfo kList[] = {
        define<"hex", typeOfDigits, runDigits<writeHex>, kInjective>(
            "hex(x)", "The bytes in hexadecimal digits.", "hex('abc')", "616263"),
        define<"unhex", typeOfText, runUnhex>("unhex(text)", "The bytes that hexadecimal digits stand for.",
                                              "unhex('616263')", "abc"),
        define<"bin", typeOfDigits, runDigits<writeBin>, kInjective>("bin(x)", "The bytes in binary digits.",
                                                                     "bin('a')", "01100001"),
        define<"unbin", typeOfText, runUnbin>("unbin(text)", "The bytes that binary digits stand for.",
                                              "unbin('01100001')", "a"),
        CODEC("base64", encodeBase64, decodeBase64),
        CODEC("base64URL", encodeBase64Url, decodeBase64Url),
        CODEC("base32", encodeBase32, decodeBase32),
        CODEC("base58", encodeBase58, decodeBase58),
        define<"tryBase64Decode", typeOfText, runDecode<decodeBase64, true>>(
            "tryBase64Decode(text)", "base64Decode, '' when it is none."),
        define<"tryBase64URLDecode", typeOfText, runDecode<decodeBase64Url, true>>(
            "tryBase64URLDecode(text)", "base64URLDecode, '' when it is none."),
        define<"tryBase32Decode", typeOfText, runDecode<decodeBase32, true>>(
            "tryBase32Decode(text)", "base32Decode, '' when it is none."),
        define<"tryBase58Decode", typeOfText, runDecode<decodeBase58, true>>(
            "tryBase58Decode(text)", "base58Decode, '' when it is none."),
        define<"bitmaskToArray", typeOfMaskArray, runMaskArray>(
            "bitmaskToArray(n)", "The powers of two that make up n.", "bitmaskToArray(5)", "[1,4]"),
        define<"bitmaskToList", typeOfMaskList, runMaskList>("bitmaskToList(n)", "The same as text.",
                                                             "bitmaskToList(5)", "1,4"),
        define<"bitPositionsToArray", typeOfBitPositions, runBitPositions>(
            "bitPositionsToArray(n)", "The numbers of the bits that are set.", "bitPositionsToArray(5)",
            "[0,2]"),
    };
    return kList;
}

}  // namespace shardd::functions
