// Hashes of one kind of argument: intHash*, javaHash, kafkaMurmurHash, URLHash, CRC*, jumpConsistentHash,
// xxh3_128, wyHash64.

#include <array>

#include <xxhash.h>

#include "server/functions/definition.h"
#include "server/functions/hash_support.h"
#include "server/functions/murmur_hash.h"

namespace shardd::functions {

namespace {

// -- integers -------------------------------------------------------------------------------------

template <TypeKind kResult>
TypePtr typeOfIntHash(const Signature& call) {
    needCount(call, 1);
    const Type& type = *call.type(0);
    if (!type.isInteger() && !type.isDateOrTime() && !type.isDecimal() && type.kind() != TypeKind::Bool &&
        !type.isEnum() && type.kind() != TypeKind::IPv4)
        illegalArgument(call, 0);
    return types::simple(kResult);
}

template <typename Result, auto kHash>
ColumnPtr runIntHash(const Call& call) {
    const IntegerArgument values(call.column(0));
    return eachRow<Result>(call.rows, [&](size_t row) { return kHash(static_cast<uint64_t>(values[row])); });
}

TypePtr typeOfJump(const Signature& call) {
    needCount(call, 2);
    if (!call.type(0)->isInteger() || call.type(0)->width() > 8) illegalArgument(call, 0, "an integer");
    if (!call.type(1)->isInteger()) illegalArgument(call, 1, "an integer");
    return types::simple(TypeKind::Int32);
}

/// Lamping and Veach, "A Fast, Minimal Memory, Consistent Hash Algorithm".
int32_t jumpConsistentHash(uint64_t key, int64_t buckets) {
    int64_t bucket = -1;
    int64_t next = 0;
    while (next < buckets) {
        bucket = next;
        key = key * 2862933555777941757ULL + 1;
        next = static_cast<int64_t>(static_cast<double>(bucket + 1) *
                                    (static_cast<double>(1LL << 31) / static_cast<double>((key >> 33) + 1)));
    }
    return static_cast<int32_t>(bucket);
}

ColumnPtr runJump(const Call& call) {
    const IntegerArgument keys(call.column(0));
    const int64_t buckets = IntegerArgument(call.column(1))[0];
    if (buckets <= 0)
        throw Error(ErrorCode::BAD_ARGUMENTS,
                    "The second argument of function {} (number of buckets) must be positive number",
                    call.name);
    if (buckets > 32768)
        throw Error(ErrorCode::BAD_ARGUMENTS,
                    "The value of the second argument of function {} (number of buckets) must not be greater "
                    "than 32768",
                    call.name);
    return eachRow<int32_t>(
        call.rows, [&](size_t row) { return jumpConsistentHash(static_cast<uint64_t>(keys[row]), buckets); });
}

// -- Java -----------------------------------------------------------------------------------------

uint32_t javaHash(std::string_view text) {
    uint32_t hash = 0;
    for (const char c : text) hash = hash * 31 + static_cast<uint32_t>(static_cast<int8_t>(c));
    return hash;
}

TypePtr typeOfJavaHash(const Signature& call) {
    needCount(call, 1);
    const TypeKind kind = call.type(0)->kind();
    const bool fits = call.type(0)->isString() || (kind >= TypeKind::Int8 && kind <= TypeKind::Int64) ||
                      kind == TypeKind::Date || kind == TypeKind::Date32 || kind == TypeKind::DateTime ||
                      kind == TypeKind::DateTime64;
    if (!fits)
        throw Error(ErrorCode::NOT_IMPLEMENTED, "Java hash is not implemented for type {}",
                    call.type(0)->name());
    return types::simple(TypeKind::Int32);
}

ColumnPtr runJavaHash(const Call& call) {
    if (call.argumentType(0)->isString()) {
        const TextArgument texts(call.column(0));
        return eachRow<int32_t>(call.rows,
                                [&](size_t row) { return static_cast<int32_t>(javaHash(texts[row])); });
    }
    const IntegerArgument values(call.column(0));
    const bool wide = call.argumentType(0)->width() == 8;
    return eachRow<int32_t>(call.rows, [&](size_t row) {
        const int64_t value = values[row];
        return static_cast<int32_t>(wide ? static_cast<uint64_t>(value) ^ (static_cast<uint64_t>(value) >> 32)
                                         : static_cast<uint64_t>(value));
    });
}

ColumnPtr runHiveHash(const Call& call) {
    const TextArgument texts(call.column(0));
    return eachRow<int32_t>(
        call.rows, [&](size_t row) { return static_cast<int32_t>(javaHash(texts[row]) & 0x7fffffffu); });
}

ColumnPtr runJavaHashUtf16(const Call& call) {
    const TextArgument texts(call.column(0));
    return eachRow<int32_t>(call.rows, [&](size_t row) {
        std::string_view text = texts[row];
        if (text.size() >= 2 && static_cast<uint8_t>(text[0]) == 0xFF &&
            static_cast<uint8_t>(text[1]) == 0xFE)
            text.remove_prefix(2);
        if (text.size() % 2 != 0)
            throw Error(ErrorCode::BAD_ARGUMENTS,
                        "Arguments for javaHashUTF16LE must be in the form of UTF-16");
        uint32_t hash = 0;
        for (size_t i = 0; i < text.size(); i += 2)
            hash = hash * 31 + loadUnaligned<uint16_t>(text.data() + i);
        return static_cast<int32_t>(hash);
    });
}

// -- strings --------------------------------------------------------------------------------------

ColumnPtr runKafka(const Call& call) {
    const TextArgument texts(call.column(0));
    return eachRow<uint32_t>(call.rows, [&](size_t row) {
        return murmurHash2_32(texts[row].data(), texts[row].size(), 0x9747b28c) & 0x7fffffff;
    });
}

constexpr auto makeCrc32Table() {
    std::array<uint32_t, 256> table{};
    for (uint32_t i = 0; i < 256; ++i) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0xedb88320u : 0);
        table[i] = crc;
    }
    return table;
}

constexpr auto makeCrc64Table() {
    std::array<uint64_t, 256> table{};
    for (uint64_t i = 0; i < 256; ++i) {
        uint64_t crc = i;
        for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0xc96c5795d7870f42ULL : 0);
        table[i] = crc;
    }
    return table;
}

constexpr auto kCrc32Table = makeCrc32Table();
constexpr auto kCrc64Table = makeCrc64Table();

/// kInverted: zlib's, which begins and ends with all bits turned; the other one does not.
template <bool kInverted>
ColumnPtr runCrc32(const Call& call) {
    const TextArgument texts(call.column(0));
    return eachRow<uint32_t>(call.rows, [&](size_t row) {
        uint32_t crc = kInverted ? ~0u : 0;
        for (const char c : texts[row])
            crc = (crc >> 8) ^ kCrc32Table[(crc ^ static_cast<uint8_t>(c)) & 0xff];
        return kInverted ? ~crc : crc;
    });
}

ColumnPtr runCrc64(const Call& call) {
    const TextArgument texts(call.column(0));
    return eachRow<uint64_t>(call.rows, [&](size_t row) {
        uint64_t crc = 0;
        for (const char c : texts[row])
            crc = (crc >> 8) ^ kCrc64Table[(crc ^ static_cast<uint8_t>(c)) & 0xff];
        return crc;
    });
}

TypePtr typeOfUrlHash(const Signature& call) {
    needCount(call, 1, 2);
    needString(call, 0);
    if (call.count() == 2) needInteger(call, 1);
    return types::uint64();
}

/// The URL without one '/', '?' or '#' at its end.
std::string_view withoutTail(std::string_view url) {
    if (!url.empty() && (url.back() == '/' || url.back() == '?' || url.back() == '#')) url.remove_suffix(1);
    return url;
}

/// The part of a URL up to a level of its hierarchy: level 0 is the host, every '/', '?' and '#' behind
/// begins one.
std::string_view urlLevel(std::string_view url, uint64_t level) {
    size_t at = 0;
    while (at < url.size() && url[at] > ' ' && url[at] != '/' && url[at] != '?' && url[at] != '#' &&
           static_cast<unsigned char>(url[at]) < 0x80)
        ++at;
    auto isStop = [&](size_t i) { return url[i] == '/' || url[i] == '?' || url[i] == '#'; };
    if (at < url.size() && at > 0 && url[at - 1] == ':' && url.substr(at, 2) == "//") {
        at += 2;
        while (at < url.size() && !isStop(at)) ++at;
        if (at < url.size()) ++at;
        if (level == 0) return url.substr(0, at);
    } else {
        at = 0;
    }
    uint64_t current = 0;
    while (current != level && at < url.size()) {
        while (at < url.size() && !isStop(at)) ++at;
        if (at < url.size()) ++at;
        while (at < url.size() && isStop(at) && url[at] == url[at - 1]) ++at;
        ++current;
    }
    return url.substr(0, at);
}

ColumnPtr runUrlHash(const Call& call) {
    const TextArgument urls(call.column(0));
    if (call.count() == 1)
        return eachRow<uint64_t>(call.rows, [&](size_t row) { return cityHash64(withoutTail(urls[row])); });
    const IntegerArgument levels(call.column(1));
    return eachRow<uint64_t>(call.rows, [&](size_t row) {
        return cityHash64(withoutTail(urlLevel(urls[row], static_cast<uint64_t>(levels[row]))));
    });
}

TypePtr typeOfXxh128(const Signature& call) {
    needCount(call, 1);
    needText(call, 0);
    return types::fixedString(16);
}

ColumnPtr runXxh128(const Call& call) {
    const TextArgument texts(call.column(0));
    PodVector<char> bytes(call.rows * 16);
    for (size_t row = 0; row < call.rows; ++row) {
        XXH128_canonical_t canonical;
        XXH128_canonicalFromHash(&canonical, XXH3_128bits(texts[row].data(), texts[row].size()));
        std::memcpy(bytes.data() + row * 16, canonical.digest, 16);
    }
    return std::make_shared<FixedStringColumn>(16, std::move(bytes));
}

// -- wyhash, final version 3 ----------------------------------------------------------------------

uint64_t wyMix(uint64_t a, uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

uint64_t wyHash(std::string_view text, uint64_t seed) {
    constexpr uint64_t kSecret[] = {0xa0761d6478bd642fULL, 0xe7037ed1a0b428dbULL, 0x8ebc6af09c88c6e3ULL,
                                    0x589965cc75374cc3ULL};
    const char* p = text.data();
    const size_t size = text.size();
    seed ^= kSecret[0];
    uint64_t a = 0;
    uint64_t b = 0;
    auto load4 = [](const char* from) { return uint64_t{loadUnaligned<uint32_t>(from)}; };
    auto load8 = [](const char* from) { return loadUnaligned<uint64_t>(from); };
    if (size <= 16) {
        if (size >= 4) {
            const size_t middle = (size >> 3) << 2;
            a = (load4(p) << 32) | load4(p + middle);
            b = (load4(p + size - 4) << 32) | load4(p + size - 4 - middle);
        } else if (size > 0) {
            auto byte = [&](size_t i) { return uint64_t{static_cast<uint8_t>(p[i])}; };
            a = (byte(0) << 16) | (byte(size >> 1) << 8) | byte(size - 1);
        }
    } else {
        size_t rest = size;
        if (rest > 48) {
            uint64_t seed1 = seed;
            uint64_t seed2 = seed;
            do {
                seed = wyMix(load8(p) ^ kSecret[1], load8(p + 8) ^ seed);
                seed1 = wyMix(load8(p + 16) ^ kSecret[2], load8(p + 24) ^ seed1);
                seed2 = wyMix(load8(p + 32) ^ kSecret[3], load8(p + 40) ^ seed2);
                p += 48;
                rest -= 48;
            } while (rest > 48);
            seed ^= seed1 ^ seed2;
        }
        while (rest > 16) {
            seed = wyMix(load8(p) ^ kSecret[1], load8(p + 8) ^ seed);
            p += 16;
            rest -= 16;
        }
        a = load8(p + rest - 16);
        b = load8(p + rest - 8);
    }
    return wyMix(kSecret[1] ^ size, wyMix(a ^ kSecret[1], b ^ seed));
}

ColumnPtr runWyHash(const Call& call) {
    const TextArgument texts(call.column(0));
    return eachRow<uint64_t>(call.rows, [&](size_t row) { return wyHash(texts[row], 0); });
}

}  // namespace

std::span<const FunctionInfo> hashTextFunctions() {
    static const FunctionInfo kList[] = {
        define<"intHash32", typeOfIntHash<TypeKind::UInt32>, runIntHash<uint32_t, intHash32>>(
            "intHash32(n)", "A 32-bit hash of an integer.", "intHash32(42)", "1228623923"),
        define<"intHash64", typeOfIntHash<TypeKind::UInt64>, runIntHash<uint64_t, intHash64>>(
            "intHash64(n)", "A 64-bit hash of an integer.", "intHash64(42)", "11490350930367293593"),
        define<"jumpConsistentHash", typeOfJump, runJump, kMayThrow, 2>(
            "jumpConsistentHash(key, buckets)",
            "A bucket that changes for few keys when there is one bucket more.", "jumpConsistentHash(256, 5)",
            "3"),
        define<"javaHash", typeOfJavaHash, runJavaHash>("javaHash(x)", "Java's hashCode().",
                                                        "javaHash('abc')", "96354"),
        define<"javaHashUTF16LE", textsTo<TypeKind::Int32, 1>, runJavaHashUtf16, kMayThrow>(
            "javaHashUTF16LE(text)", "Java's hashCode() of UTF-16."),
        define<"hiveHash", textsTo<TypeKind::Int32, 1>, runHiveHash>("hiveHash(text)", "Hive's hash.",
                                                                     "hiveHash('abc')", "96354"),
        define<"kafkaMurmurHash", textsTo<TypeKind::UInt32, 1>, runKafka>(
            "kafkaMurmurHash(text)", "Kafka's hash of keys.", "kafkaMurmurHash('abc')", "479470107"),
        define<"CRC32", textsTo<TypeKind::UInt32, 1>, runCrc32<true>>("CRC32(text)", "zlib's CRC32.",
                                                                      "CRC32('abc')", "891568578"),
        define<"CRC32IEEE", textsTo<TypeKind::UInt32, 1>, runCrc32<false>>(
            "CRC32IEEE(text)", "CRC32 with a zero start.", "CRC32IEEE('abc')", "3395655888"),
        define<"CRC64", textsTo<TypeKind::UInt64, 1>, runCrc64>("CRC64(text)", "CRC64 of ECMA-182."),
        define<"URLHash", typeOfUrlHash, runUrlHash>("URLHash(url[, level])",
                                                     "cityHash64 of a URL up to a level."),
        define<"xxh3_128", typeOfXxh128, runXxh128>(
            "xxh3_128(text)", "XXH3, 128 bits.", "hex(xxh3_128('abc'))", "06B05AB6733A618578AF5F94892F3950"),
        define<"wyHash64", textsTo<TypeKind::UInt64, 1>, runWyHash>(
            "wyHash64(text)", "wyhash.", "wyHash64('abc')", "13006551795127091151"),
    };
    return kList;
}

}  // namespace shardd::functions
