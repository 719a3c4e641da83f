// IP addresses, MAC addresses and UUIDs: to numbers and texts and back, ranges, and new UUIDs.

#include <random>

#include "common/columns/create_column.h"
#include "common/columns/nullable_column.h"
#include "common/columns/tuple_column.h"
#include "server/formats/address_text.h"
#include "server/functions/date_support.h"

namespace shardd::functions {

namespace {

enum class OnError { Throw, Default, Null };

// -- IPv4 -----------------------------------------------------------------------------------------

void needIPv4Number(const Signature& call, size_t i) {
    const TypeKind kind = call.type(i)->kind();
    if (kind != TypeKind::IPv4 && kind != TypeKind::UInt8 && kind != TypeKind::UInt16 &&
        kind != TypeKind::UInt32)
        illegalArgument(call, i, "IPv4 or UInt8 or UInt16 or UInt32");
}

TypePtr typeOfIPv4Text(const Signature& call) {
    needCount(call, 1);
    needIPv4Number(call, 0);
    return types::string();
}

/// Whole, or with its last number hidden.
template <bool kClassC>
ColumnPtr runIPv4Text(const Call& call) {
    const IntegerArgument numbers(call.column(0));
    Writer text;
    return eachText(call.rows, call.rows * 12, [&](size_t row, TextBuilder& out) {
        text.clear();
        formats::writeIPv4(static_cast<uint32_t>(numbers[row]), text);
        if (!kClassC) return out.append(text.view());
        out.append(text.view().substr(0, text.view().rfind('.') + 1));
        out.append("xxx");
    });
}

bool parseIPv4(std::string_view text, uint32_t& value) {
    formats::TextInput in(text);
    return formats::readIPv4(in, value) == ErrorCode::OK && in.atEnd();
}

bool parseIPv6(std::string_view text, uint8_t* bytes) {
    formats::TextInput in(text);
    return formats::readIPv6(in, bytes) == ErrorCode::OK && in.atEnd();
}

template <OnError kOnError>
TypePtr typeOfIPv4Number(const Signature& call) {
    needCount(call, 1);
    needString(call, 0);
    const TypePtr& type = types::simple(TypeKind::UInt32);
    return kOnError == OnError::Null ? types::nullable(type) : type;
}

template <OnError kOnError>
ColumnPtr runIPv4Number(const Call& call) {
    const TextArgument texts(call.column(0));
    Mask nulls(call.rows, 0);
    ColumnPtr numbers = eachRow<uint32_t>(call.rows, [&](size_t row) -> uint32_t {
        uint32_t value = 0;
        if (parseIPv4(texts[row], value)) return value;
        if (kOnError == OnError::Throw) throw Error(ErrorCode::CANNOT_PARSE_IPV4, "Invalid IPv4 value");
        nulls[row] = 1;
        return 0;
    });
    if (kOnError != OnError::Null) return numbers;
    return std::make_shared<NullableColumn>(std::move(numbers), std::move(nulls));
}

TypePtr typeOfIPv4ToIPv6(const Signature& call) {
    needCount(call, 1);
    needIPv4Number(call, 0);
    return types::simple(TypeKind::IPv6);
}

IPv6Bytes mapped(uint32_t address) {
    IPv6Bytes result{};
    result.bytes[10] = result.bytes[11] = 0xFF;
    for (size_t i = 0; i < 4; ++i) result.bytes[12 + i] = static_cast<uint8_t>(address >> (24 - 8 * i));
    return result;
}

ColumnPtr runIPv4ToIPv6(const Call& call) {
    const IntegerArgument numbers(call.column(0));
    return eachRow<IPv6Bytes>(call.rows,
                              [&](size_t row) { return mapped(static_cast<uint32_t>(numbers[row])); });
}

// -- IPv6 -----------------------------------------------------------------------------------------

void needIPv6(const Signature& call, size_t i) {
    const Type& type = *call.type(i);
    if (type.kind() != TypeKind::IPv6 && !(type.kind() == TypeKind::FixedString && type.fixedSize() == 16))
        illegalArgument(call, i, "IPv6 or FixedString(16)");
}

TypePtr typeOfIPv6Text(const Signature& call) {
    needCount(call, 1);
    needIPv6(call, 0);
    return types::string();
}

void writeIPv6(TextBuilder& out, const uint8_t* bytes, Writer& text) {
    text.clear();
    formats::writeIPv6(bytes, text);
    out.append(text.view());
}

ColumnPtr runIPv6Text(const Call& call) {
    const TextArgument addresses(call.column(0));
    Writer text;
    return eachText(call.rows, call.rows * 20, [&](size_t row, TextBuilder& out) {
        writeIPv6(out, reinterpret_cast<const uint8_t*>(addresses[row].data()), text);
    });
}

template <OnError kOnError>
TypePtr typeOfIPv6Number(const Signature& call) {
    needCount(call, 1);
    needText(call, 0);
    const TypePtr type = types::fixedString(16);
    return kOnError == OnError::Null ? types::nullable(type) : type;
}

template <OnError kOnError>
ColumnPtr runIPv6Number(const Call& call) {
    const TextArgument texts(call.column(0));
    Mask nulls(call.rows, 0);
    PodVector<char> bytes;
    bytes.resizeZeroed(call.rows * 16);
    for (size_t row = 0; row < call.rows; ++row) {
        uint8_t address[16] = {};
        if (parseIPv6(texts[row], address)) {
            std::memcpy(bytes.data() + row * 16, address, 16);
            continue;
        }
        if (kOnError == OnError::Throw) throw Error(ErrorCode::CANNOT_PARSE_IPV6, "Invalid IPv6 value");
        nulls[row] = 1;
    }
    ColumnPtr column = std::make_shared<FixedStringColumn>(16, std::move(bytes));
    if (kOnError != OnError::Null) return column;
    return std::make_shared<NullableColumn>(std::move(column), std::move(nulls));
}

TypePtr typeOfCutIPv6(const Signature& call) {
    needCount(call, 3);
    needIPv6(call, 0);
    for (size_t i = 1; i < 3; ++i)
        if (call.type(i)->kind() != TypeKind::UInt8) illegalArgument(call, i, "UInt8");
    return types::string();
}

/// The text with so many bytes at the end zeroed; another number for mapped IPv4.
ColumnPtr runCutIPv6(const Call& call) {
    const TextArgument addresses(call.column(0));
    const auto for_ipv6 = static_cast<size_t>(IntegerArgument(call.column(1))[0]);
    const auto for_ipv4 = static_cast<size_t>(IntegerArgument(call.column(2))[0]);
    if (for_ipv6 > 16 || for_ipv4 > 16)
        throw Error(ErrorCode::ARGUMENT_OUT_OF_BOUND, "Illegal value of an argument of function {}",
                    call.name);
    constexpr std::string_view kMapped("\0\0\0\0\0\0\0\0\0\0\xFF\xFF", 12);
    Writer text;
    return eachText(call.rows, call.rows * 20, [&](size_t row, TextBuilder& out) {
        uint8_t bytes[16];
        std::memcpy(bytes, addresses[row].data(), 16);
        const size_t cut = addresses[row].substr(0, 12) == kMapped ? for_ipv4 : for_ipv6;
        std::memset(bytes + 16 - cut, 0, cut);
        writeIPv6(out, bytes, text);
    });
}

// -- strings and ranges ---------------------------------------------------------------------------

template <bool kSix>
ColumnPtr runIsAddress(const Call& call) {
    const TextArgument texts(call.column(0));
    return eachRow<uint8_t>(call.rows, [&](size_t row) {
        uint32_t four = 0;
        uint8_t six[16];
        if (!kSix) return parseIPv4(texts[row], four);
        return texts[row].find(':') != std::string_view::npos && parseIPv6(texts[row], six);
    });
}

/// An address of either kind as 16 bytes.
bool parseAddress(std::string_view text, IPv6Bytes& address, bool& is_four) {
    uint32_t four = 0;
    is_four = parseIPv4(text, four);
    if (is_four) {
        address = mapped(four);
        return true;
    }
    return parseIPv6(text, address.bytes.data());
}

bool sameBits(const IPv6Bytes& a, const IPv6Bytes& b, size_t bits) {
    const size_t whole = bits / 8;
    if (std::memcmp(a.bytes.data(), b.bytes.data(), whole) != 0) return false;
    const size_t rest = bits % 8;
    return rest == 0 || (a.bytes[whole] ^ b.bytes[whole]) >> (8 - rest) == 0;
}

ColumnPtr runInRange(const Call& call) {
    const TextArgument addresses(call.column(0));
    const TextArgument ranges(call.column(1));
    return eachRow<uint8_t>(call.rows, [&](size_t row) -> uint8_t {
        const std::string_view range = ranges[row];
        IPv6Bytes address{};
        IPv6Bytes network{};
        bool address_four = false;
        bool network_four = false;
        if (!parseAddress(addresses[row], address, address_four))
            throw Error(ErrorCode::CANNOT_PARSE_TEXT, "Neither IPv4 nor IPv6 address: '{}'", addresses[row]);
        const size_t slash = range.find('/');
        if (slash == std::string_view::npos)
            throw Error(ErrorCode::CANNOT_PARSE_TEXT, "The text does not contain '/': {}", range);
        if (!parseAddress(range.substr(0, slash), network, network_four))
            throw Error(ErrorCode::CANNOT_PARSE_TEXT, "Neither IPv4 nor IPv6 address: '{}'",
                        range.substr(0, slash));
        uint32_t prefix = 0;
        const std::string_view digits = range.substr(slash + 1);
        bool wrong = digits.empty() || digits.size() > 3;
        for (const char c : digits) {
            wrong |= c < '0' || c > '9';
            prefix = prefix * 10 + static_cast<uint32_t>(c - '0');
        }
        if (wrong || prefix > (network_four ? 32u : 128u))
            throw Error(ErrorCode::CANNOT_PARSE_TEXT, "The CIDR has a malformed prefix bits: {}", digits);
        return address_four == network_four && sameBits(address, network, prefix + (network_four ? 96 : 0));
    });
}

template <bool kSix>
TypePtr typeOfCidr(const Signature& call) {
    needCount(call, 2);
    if (kSix)
        needIPv6(call, 0);
    else
        needIPv4Number(call, 0);
    if (call.type(1)->kind() != TypeKind::UInt8) illegalArgument(call, 1, "UInt8");
    const TypePtr& address = types::simple(kSix ? TypeKind::IPv6 : TypeKind::IPv4);
    return types::tuple({address, address});
}

ColumnPtr runCidr4(const Call& call) {
    const IntegerArgument addresses(call.column(0));
    const IntegerArgument prefixes(call.column(1));
    auto bound = [&](bool upper) {
        return eachRow<uint32_t>(call.rows, [&](size_t row) {
            const auto bits = static_cast<uint32_t>(std::min<int64_t>(prefixes[row], 32));
            const uint32_t mask = bits == 0 ? 0 : ~uint32_t{0} << (32 - bits);
            const auto address = static_cast<uint32_t>(addresses[row]);
            return upper ? address | ~mask : address & mask;
        });
    };
    return std::make_shared<TupleColumn>(std::vector<ColumnPtr>{bound(false), bound(true)}, call.rows);
}

ColumnPtr runCidr6(const Call& call) {
    const TextArgument addresses(call.column(0));
    const IntegerArgument prefixes(call.column(1));
    auto bound = [&](bool upper) {
        return eachRow<IPv6Bytes>(call.rows, [&](size_t row) {
            IPv6Bytes result{};
            std::memcpy(result.bytes.data(), addresses[row].data(), 16);
            for (size_t bit = static_cast<size_t>(std::min<int64_t>(prefixes[row], 128)); bit < 128; ++bit) {
                const auto mask = static_cast<uint8_t>(0x80 >> bit % 8);
                if (upper)
                    result.bytes[bit / 8] |= mask;
                else
                    result.bytes[bit / 8] &= static_cast<uint8_t>(~mask);
            }
            return result;
        });
    };
    return std::make_shared<TupleColumn>(std::vector<ColumnPtr>{bound(false), bound(true)}, call.rows);
}

// -- MAC ------------------------------------------------------------------------------------------

TypePtr typeOfMacText(const Signature& call) {
    needCount(call, 1);
    if (call.type(0)->kind() != TypeKind::UInt64) illegalArgument(call, 0, "UInt64");
    return types::string();
}

ColumnPtr runMacText(const Call& call) {
    const IntegerArgument numbers(call.column(0));
    return eachText(call.rows, call.rows * 17, [&](size_t row, TextBuilder& out) {
        for (int byte = 5; byte >= 0; --byte) {
            out.append(fmt::format("{:02X}", static_cast<uint64_t>(numbers[row]) >> (8 * byte) & 0xFF));
            if (byte > 0) out.append(':');
        }
    });
}

/// "01:02:03:04:05:06", or only its first half; 0 for what is none.
template <size_t kBytes>
ColumnPtr runMacNumber(const Call& call) {
    const TextArgument texts(call.column(0));
    return eachRow<uint64_t>(call.rows, [&](size_t row) -> uint64_t {
        const std::string_view text = texts[row];
        if (text.size() < kBytes * 3 - 1) return 0;
        uint64_t value = 0;
        for (size_t i = 0; i < kBytes * 3 - 1; ++i) {
            if (i % 3 == 2) continue;
            const char c = text[i];
            const int digit = c >= '0' && c <= '9'                     ? c - '0'
                              : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                                       : -1;
            if (digit < 0) return 0;
            value = value << 4 | static_cast<uint64_t>(digit);
        }
        return value;
    });
}

// -- UUID -----------------------------------------------------------------------------------------

TypePtr typeOfUuidNumber(const Signature& call) {
    needCount(call, 1, 2);
    needText(call, 0);
    if (call.count() == 2) needInteger(call, 1);
    return types::fixedString(16);
}

/// The bytes in the order of the text; variant 2 has the first three fields turned, as Microsoft's GUIDs.
void turnFields(char* bytes) {
    std::reverse(bytes, bytes + 4);
    std::reverse(bytes + 4, bytes + 6);
    std::reverse(bytes + 6, bytes + 8);
}

bool isMicrosoft(const Call& call) {
    if (call.count() < 2) return false;
    const int64_t variant = IntegerArgument(call.column(1))[0];
    if (variant != 1 && variant != 2)
        throw Error(ErrorCode::ARGUMENT_OUT_OF_BOUND, "Expected UUID variant (1 or 2), got {}", variant);
    return variant == 2;
}

/// A UUID of memory, two words with their lowest byte first, as bytes in the order of the text, and back: its
/// own inverse.
void turnWords(const char* from, char* to) {
    for (size_t i = 0; i < 8; ++i) {
        to[i] = from[7 - i];
        to[8 + i] = from[15 - i];
    }
}

ColumnPtr runUuidNumber(const Call& call) {
    const TextArgument texts(call.column(0));
    const bool microsoft = isMicrosoft(call);
    PodVector<char> bytes;
    bytes.resizeZeroed(call.rows * 16);
    for (size_t row = 0; row < call.rows; ++row) {
        formats::TextInput in(texts[row]);
        UInt128 value = 0;
        if (texts[row].size() != 36 || formats::readUuid(in, value) != ErrorCode::OK) continue;
        turnWords(reinterpret_cast<const char*>(&value), bytes.data() + row * 16);
        if (microsoft) turnFields(bytes.data() + row * 16);
    }
    return std::make_shared<FixedStringColumn>(16, std::move(bytes));
}

TypePtr typeOfUuidText(const Signature& call) {
    needCount(call, 1, 2);
    if (call.type(0)->kind() != TypeKind::FixedString || call.type(0)->fixedSize() != 16)
        illegalArgument(call, 0, "FixedString(16)");
    return types::string();
}

ColumnPtr runUuidText(const Call& call) {
    const TextArgument numbers(call.column(0));
    const bool microsoft = isMicrosoft(call);
    Writer text;
    return eachText(call.rows, call.rows * 36, [&](size_t row, TextBuilder& out) {
        char bytes[16];
        std::memcpy(bytes, numbers[row].data(), 16);
        if (microsoft) turnFields(bytes);
        UInt128 value = 0;
        turnWords(bytes, reinterpret_cast<char*>(&value));
        text.clear();
        formats::writeUuid(value, text);
        out.append(text.view());
    });
}

TypePtr typeOfUuidToNumber(const Signature& call) {
    needCount(call, 1, 2);
    if (call.type(0)->kind() != TypeKind::UUID) illegalArgument(call, 0, "UUID");
    return types::fixedString(16);
}

ColumnPtr runUuidToNumber(const Call& call) {
    const TextArgument values(call.column(0));
    const bool microsoft = isMicrosoft(call);
    PodVector<char> bytes(call.rows * 16);
    for (size_t row = 0; row < call.rows; ++row) {
        turnWords(values[row].data(), bytes.data() + row * 16);
        if (microsoft) turnFields(bytes.data() + row * 16);
    }
    return std::make_shared<FixedStringColumn>(16, std::move(bytes));
}

TypePtr typeOfUuidTime(const Signature& call) {
    needCount(call, 1, 2);
    if (call.type(0)->kind() != TypeKind::UUID) illegalArgument(call, 0, "UUID");
    return types::dateTime64(3, zoneNameOf(call, SIZE_MAX, 1));
}

ColumnPtr runUuidTime(const Call& call) {
    const TextArgument values(call.column(0));
    return eachRow<int64_t>(call.rows, [&](size_t row) -> int64_t {
        uint64_t first = 0;
        std::memcpy(&first, values[row].data(), 8);
        return (first >> 12 & 0xF) == 7 ? static_cast<int64_t>(first >> 16) : 0;
    });
}

TypePtr typeOfNewUuid(const Signature& call) {
    needCount(call, 0, 1);
    return types::simple(TypeKind::UUID);
}

template <int kVersion>
ColumnPtr runNewUuid(const Call& call) {
    thread_local std::mt19937_64 random{std::random_device()()};
    return eachRow<UInt128>(call.rows, [&](size_t) {
        uint64_t first = random();
        if (kVersion == 7)
            first = static_cast<uint64_t>(call.context.now_microseconds / 1000) << 16 | (first & 0xFFFF);
        first = (first & ~uint64_t{0xF000}) | uint64_t{kVersion} << 12;
        const uint64_t second = (random() & 0x3FFFFFFFFFFFFFFFULL) | 0x8000000000000000ULL;
        return static_cast<UInt128>(second) << 64 | first;
    });
}

}  // namespace

std::span<const FunctionInfo> addressFunctions() {
    static const FunctionInfo kList[] = {
        define<"IPv4NumToString", typeOfIPv4Text, runIPv4Text<false>, kInjective>(
            "IPv4NumToString(n)", "An address as text.", "IPv4NumToString(toUInt32(16909060))", "1.2.3.4"),
        define<"IPv4NumToStringClassC", typeOfIPv4Text, runIPv4Text<true>>("IPv4NumToStringClassC(n)",
                                                                           "The same with its end hidden."),
        define<"IPv4StringToNum", typeOfIPv4Number<OnError::Throw>, runIPv4Number<OnError::Throw>, kMayThrow>(
            "IPv4StringToNum(text)", "An address as a number.", "IPv4StringToNum('1.2.3.4')", "16909060"),
        define<"IPv4StringToNumOrDefault", typeOfIPv4Number<OnError::Default>,
               runIPv4Number<OnError::Default>>("IPv4StringToNumOrDefault(text)", "The same, or 0."),
        define<"IPv4StringToNumOrNull", typeOfIPv4Number<OnError::Null>, runIPv4Number<OnError::Null>>(
            "IPv4StringToNumOrNull(text)", "The same, or NULL."),
        define<"IPv4ToIPv6", typeOfIPv4ToIPv6, runIPv4ToIPv6>("IPv4ToIPv6(n)", "The mapped address."),
        define<"IPv6NumToString", typeOfIPv6Text, runIPv6Text, kInjective>("IPv6NumToString(x)",
                                                                           "An address as text."),
        define<"IPv6StringToNum", typeOfIPv6Number<OnError::Throw>, runIPv6Number<OnError::Throw>, kMayThrow>(
            "IPv6StringToNum(text)", "An address as 16 bytes."),
        define<"IPv6StringToNumOrDefault", typeOfIPv6Number<OnError::Default>,
               runIPv6Number<OnError::Default>>("IPv6StringToNumOrDefault(text)", "The same, or zeros."),
        define<"IPv6StringToNumOrNull", typeOfIPv6Number<OnError::Null>, runIPv6Number<OnError::Null>>(
            "IPv6StringToNumOrNull(text)", "The same, or NULL."),
        define<"cutIPv6", typeOfCutIPv6, runCutIPv6, kPlainManner, 6>(
            "cutIPv6(address, bytes, bytes of IPv4)", "The text with bytes at the end zeroed."),
        define<"isIPv4String", textsTo<TypeKind::UInt8, 1>, runIsAddress<false>>(
            "isIPv4String(text)", "Whether it is an IPv4 address.", "isIPv4String('1.2.3.4')", "1"),
        define<"isIPv6String", textsTo<TypeKind::UInt8, 1>, runIsAddress<true>>(
            "isIPv6String(text)", "Whether it is an IPv6 address.", "isIPv6String('::1')", "1"),
        define<"isIPAddressInRange", textsTo<TypeKind::UInt8, 2>, runInRange, kMayThrow>(
            "isIPAddressInRange(address, range)", "Whether the address is in the range.",
            "isIPAddressInRange('10.0.0.1', '10.0.0.0/8')", "1"),
        define<"IPv4CIDRToRange", typeOfCidr<false>, runCidr4>("IPv4CIDRToRange(address, prefix)",
                                                               "The first and last address of a network."),
        define<"IPv6CIDRToRange", typeOfCidr<true>, runCidr6>("IPv6CIDRToRange(address, prefix)",
                                                              "The first and last address of a network."),
        define<"MACNumToString", typeOfMacText, runMacText>("MACNumToString(n)", "A MAC address as text.",
                                                            "MACNumToString(1108152157446)",
                                                            "01:02:03:04:05:06"),
        define<"MACStringToNum", textsTo<TypeKind::UInt64, 1>, runMacNumber<6>>(
            "MACStringToNum(text)", "A MAC address as a number.", "MACStringToNum('01:02:03:04:05:06')",
            "1108152157446"),
        define<"MACStringToOUI", textsTo<TypeKind::UInt64, 1>, runMacNumber<3>>(
            "MACStringToOUI(text)", "Its first half as a number."),
        define<"UUIDStringToNum", typeOfUuidNumber, runUuidNumber, kPlainManner, 2>(
            "UUIDStringToNum(text[, variant])", "A UUID as 16 bytes."),
        define<"UUIDNumToString", typeOfUuidText, runUuidText, kPlainManner, 2>(
            "UUIDNumToString(bytes[, variant])", "16 bytes as a UUID's text."),
        define<"UUIDToNum", typeOfUuidToNumber, runUuidToNumber, kPlainManner, 2>(
            "UUIDToNum(uuid[, variant])", "A UUID as 16 bytes."),
        define<"UUIDv7ToDateTime", typeOfUuidTime, runUuidTime>("UUIDv7ToDateTime(uuid[, zone])",
                                                                "The time in a UUID of version 7."),
        define<"generateUUIDv4", typeOfNewUuid, runNewUuid<4>, kVaries | kSeesConstants>(
            "generateUUIDv4([x])", "A random UUID."),
        define<"generateUUIDv7", typeOfNewUuid, runNewUuid<7>, kVaries | kSeesConstants>(
            "generateUUIDv7([x])", "A random UUID that begins with the time."),
    };
    return kList;
}

}  // namespace shardd::functions
