// Hashes of values of any types, several arguments together: cityHash64, sipHash64, murmurHash3_64, xxHash64
// … Their values travel: sharding keys are made of them.

#include <farmhash.h>
#include <metrohash/metrohash64.h>
#include <openssl/evp.h>
#include <xxhash.h>

#include "common/base/city_hash.h"
#include "common/base/hash.h"
#include "common/base/sip_hash.h"
#include "common/columns/create_column.h"
#include "common/columns/tuple_column.h"
#include "server/functions/array_support.h"
#include "server/functions/hash_support.h"
#include "server/functions/murmur_hash.h"

/// The one of the library's hashes that ClickHouse takes; its own util::Hash64 is changed in debug builds, of
/// which Debian's library is one. Strings of 512 bytes and more differ from ClickHouse, which has another
/// hash for them.
namespace farmhashxo {
uint64_t Hash64(const char* data, size_t size);  // NOLINT(readability-identifier-naming): of the library
}

namespace shardd::functions {

namespace {

// -- the hashes -----------------------------------------------------------------------------------
// Each says: Value; bytes(data, size); combine(so far, next); whether numbers are mixed instead of hashed as
// bytes.

template <typename Own>
struct Chained64 {
    using Value = uint64_t;
    static constexpr bool kMixesNumbers = false;

    static Value combine(Value a, Value b) { return hash128To64(a, b); }
};

template <typename Own>
struct Mixed64 {
    using Value = uint64_t;
    static constexpr bool kMixesNumbers = false;

    static Value combine(Value a, Value b) { return intHash64(a) ^ b; }
};

template <typename Own>
struct Mixed32 {
    using Value = uint32_t;
    static constexpr bool kMixesNumbers = false;

    static Value combine(Value a, Value b) { return intHash32(a) ^ b; }
};

struct City64 : Chained64<City64> {
    static constexpr bool kMixesNumbers = true;

    static Value bytes(const char* data, size_t size) { return cityHash64(data, size); }
};

struct Farm64 : Chained64<Farm64> {
    static constexpr bool kMixesNumbers = true;

    static Value bytes(const char* data, size_t size) { return farmhashxo::Hash64(data, size); }
};

struct FarmFingerprint64 : Chained64<FarmFingerprint64> {
    static constexpr bool kMixesNumbers = true;

    static Value bytes(const char* data, size_t size) { return util::Fingerprint64(data, size); }
};

struct Metro64 : Chained64<Metro64> {
    static constexpr bool kMixesNumbers = true;

    static Value bytes(const char* data, size_t size) {
        uint8_t out[8];
        metrohash64_1(reinterpret_cast<const uint8_t*>(data), size, 0, out);
        return loadUnaligned<uint64_t>(out);
    }
};

struct XxHash64 : Chained64<XxHash64> {
    static Value bytes(const char* data, size_t size) { return XXH64(data, size, 0); }
};

struct Xxh3 : Chained64<Xxh3> {
    static Value bytes(const char* data, size_t size) { return XXH3_64bits(data, size); }
};

struct XxHash32 : Mixed32<XxHash32> {
    static Value bytes(const char* data, size_t size) { return XXH32(data, size, 0); }
};

struct Murmur2x32 : Mixed32<Murmur2x32> {
    static Value bytes(const char* data, size_t size) { return murmurHash2_32(data, size, 0); }
};

struct Murmur2x64 : Mixed64<Murmur2x64> {
    static Value bytes(const char* data, size_t size) { return murmurHash2_64(data, size, 0); }
};

struct GccMurmur : Mixed64<GccMurmur> {
    static Value bytes(const char* data, size_t size) { return murmurHashOfGcc(data, size, 0xc70f6907); }
};

struct Murmur3x32 : Mixed32<Murmur3x32> {
    static Value bytes(const char* data, size_t size) { return murmurHash3_32(data, size, 0); }
};

struct Murmur3x64 : Mixed64<Murmur3x64> {
    static Value bytes(const char* data, size_t size) {
        const Hash128 hash = murmurHash3_128(data, size, 0);
        return hash.low ^ hash.high;
    }
};

struct HalfMd5 {
    using Value = uint64_t;
    static constexpr bool kMixesNumbers = false;

    static Value bytes(const char* data, size_t size) {
        unsigned char digest[EVP_MAX_MD_SIZE];
        digestOf(digestByName("MD5"), {data, size}, digest);
        return __builtin_bswap64(loadUnaligned<uint64_t>(digest));
    }

    static Value combine(Value a, Value b) {
        const uint64_t both[] = {a, b};
        return bytes(reinterpret_cast<const char*>(both), sizeof(both));
    }
};

/// Hashes that hash (so far, next) as bytes.
template <typename Own, typename T>
struct Rehashed {
    using Value = T;
    static constexpr bool kMixesNumbers = false;

    static Value combine(Value a, Value b) {
        const T both[] = {a, b};
        return Own::bytes(reinterpret_cast<const char*>(both), sizeof(both));
    }
};

struct Sip64 : Rehashed<Sip64, uint64_t> {
    static Value bytes(const char* data, size_t size) { return sipHash64({data, size}); }
};

struct Sip128 : Rehashed<Sip128, Hash128> {
    static Value bytes(const char* data, size_t size) { return sipHash128({data, size}); }
};

struct Sip128Reference : Rehashed<Sip128Reference, Hash128> {
    static Value bytes(const char* data, size_t size) { return sipHash128Reference({data, size}, 0, 0); }
};

struct Murmur3x128 : Rehashed<Murmur3x128, Hash128> {
    static Value bytes(const char* data, size_t size) { return murmurHash3_128(data, size, 0); }

    static Value combine(Value a, Value b) {
        const Hash128 both[] = {a, b};
        return murmurHash3_128(reinterpret_cast<const char*>(both), sizeof(both), 0);
    }
};

/// The keyed ones take their key from here while they run.
thread_local uint64_t current_key[2] = {0, 0};

struct Sip64Keyed : Rehashed<Sip64Keyed, uint64_t> {
    static Value bytes(const char* data, size_t size) {
        SipHash hash(current_key[0], current_key[1]);
        hash.update(data, size);
        return hash.get64();
    }
};

struct Sip128Keyed : Rehashed<Sip128Keyed, Hash128> {
    static Value bytes(const char* data, size_t size) {
        SipHash hash(current_key[0], current_key[1]);
        hash.update(data, size);
        return hash.get128();
    }
};

struct Sip128ReferenceKeyed : Rehashed<Sip128ReferenceKeyed, Hash128> {
    static Value bytes(const char* data, size_t size) {
        return sipHash128Reference({data, size}, current_key[0], current_key[1]);
    }
};

// -- columns of any type --------------------------------------------------------------------------

/// A hash's loops over a column: all that is compiled once a hash. The walk over types is compiled once a
/// kind of value.
template <typename Value>
struct HashLoops {
    bool mixes_numbers;
    /// out[i] is the hash of the i-th `width` bytes of `data`.
    void (*fixed)(const char* data, size_t width, size_t rows, Value* out);
    void (*texts)(const StringColumn& texts, Value* out);
    /// into[i] is combined with next[i].
    void (*combine)(Value* into, const Value* next, size_t rows);
    /// All of next[0 … count-1] are combined into one, in their order.
    void (*fold)(Value& into, const Value* next, size_t count);
};

template <typename Impl>
constexpr HashLoops<typename Impl::Value> kLoops = {
    Impl::kMixesNumbers,
    [](const char* data, size_t width, size_t rows, typename Impl::Value* out) {
        for (size_t i = 0; i < rows; ++i) out[i] = Impl::bytes(data + i * width, width);
    },
    [](const StringColumn& texts, typename Impl::Value* out) {
        for (size_t i = 0; i < texts.size(); ++i) {
            const std::string_view text = texts.bytesAt(i);
            out[i] = Impl::bytes(text.data(), text.size());
        }
    },
    [](typename Impl::Value* into, const typename Impl::Value* next, size_t rows) {
        for (size_t i = 0; i < rows; ++i) into[i] = Impl::combine(into[i], next[i]);
    },
    [](typename Impl::Value& into, const typename Impl::Value* next, size_t count) {
        for (size_t i = 0; i < count; ++i) into = Impl::combine(into, next[i]);
    },
};

template <typename T>
void mixNumbers(const char* data, size_t rows, uint64_t* out) {
    for (size_t i = 0; i < rows; ++i) out[i] = intHash64(loadUnaligned<T>(data + i * sizeof(T)));
}

template <typename Value>
class AnyHash {
public:
    AnyHash(size_t rows, const HashLoops<Value>& loops) : loops_(loops), values_(rows) {}

    void add(const NamedColumn& argument) { addColumn(*argument.type, *full(argument.column)); }

    PodVector<Value> take() {
        if (first_) {
            Value empty{};
            if constexpr (std::is_same_v<Value, Hash128>)
                empty = {0xe28dbde7fe22e41cULL, 0};
            else
                empty = static_cast<Value>(0xe28dbde7fe22e41cULL);
            values_.assign(values_.size(), empty);
        }
        return std::move(values_);
    }

private:
    /// `hash(out)` makes the next hash of every row, which is combined with those so far.
    template <typename Hash>
    void mix(Hash&& hash) {
        if (first_) {
            hash(values_.data());
        } else {
            PodVector<Value> next(values_.size());
            hash(next.data());
            loops_.combine(values_.data(), next.data(), values_.size());
        }
        first_ = false;
    }

    static Value fromInteger(uint64_t hash) {
        if constexpr (std::is_same_v<Value, Hash128>)
            return {hash, 0};
        else
            return static_cast<Value>(hash);
    }

    void addColumn(const Type& type, const Column& column) {
        switch (column.kind()) {
            case ColumnKind::Tuple: {
                const auto& tuple = as<TupleColumn>(column);
                for (size_t i = 0; i < tuple.elements().size(); ++i)
                    addColumn(*type.child(i), *full(tuple.element(i)));
                return;
            }
            case ColumnKind::Array:
                return addArray(type, as<ArrayColumn>(column));
            case ColumnKind::Nullable:
                return addNullable(type, as<NullableColumn>(column));
            case ColumnKind::Dictionary:
                return addColumn(*type.child(),
                                 *fullPlain(std::shared_ptr<const Column>(&column, [](const Column*) {})));
            case ColumnKind::String:
                return mix([&](Value* out) { loops_.texts(as<StringColumn>(column), out); });
            case ColumnKind::Fixed:
            case ColumnKind::FixedString:
                return addFixed(type, column);
            default:
                throw Error(ErrorCode::NOT_IMPLEMENTED, "Hashing of type {} is not supported", type.name());
        }
    }

    void addFixed(const Type& type, const Column& column) {
        const size_t width =
            column.kind() == ColumnKind::FixedString ? as<FixedStringColumn>(column).width() : type.width();
        if (column.size() == 0) return addNothing();
        const char* data = column.bytesAt(0).data();
        if constexpr (std::is_same_v<Value, uint64_t>) {
            if (loops_.mixes_numbers && column.kind() == ColumnKind::Fixed && width <= 8 && !type.isDecimal())
                return addNumbers(data, width);
        }
        mix([&](Value* out) { loops_.fixed(data, width, values_.size(), out); });
    }

    void addNothing() {
        mix([&](Value* out) { std::fill_n(out, values_.size(), Value{}); });
    }

    void addNumbers(const char* data, size_t width) {
        mix([&](Value* out) {
            const size_t rows = values_.size();
            if constexpr (std::is_same_v<Value, uint64_t>) {
                if (width == 1) return mixNumbers<uint8_t>(data, rows, out);
                if (width == 2) return mixNumbers<uint16_t>(data, rows, out);
                if (width == 4) return mixNumbers<uint32_t>(data, rows, out);
                mixNumbers<uint64_t>(data, rows, out);
            }
        });
    }

    /// The length first, then every element's own hash.
    void addArray(const Type& type, const ArrayColumn& arrays) {
        AnyHash inner(arrays.elements()->size(), loops_);
        if (type.kind() == TypeKind::Map)
            inner.addColumn(*types::tuple({type.child(0), type.child(1)}), *arrays.elements());
        else
            inner.addColumn(*type.child(), *arrays.elements());
        const PodVector<Value> elements = inner.take();
        mix([&](Value* out) {
            for (size_t row = 0; row < values_.size(); ++row) {
                const uint64_t length = arrays.lengthAt(row);
                out[row] = fromInteger(sizeof(Value) == 8 ? intHash64(length) : intHash32(length));
            }
        });
        for (size_t row = 0; row < values_.size(); ++row)
            loops_.fold(values_[row], elements.data() + arrays.startAt(row), arrays.lengthAt(row));
    }

    void addNullable(const Type& type, const NullableColumn& column) {
        AnyHash inner(column.size(), loops_);
        if (type.child()->kind() == TypeKind::Nothing)
            inner.addNothing();
        else
            inner.addColumn(*type.child(), *column.values());
        const PodVector<Value> hashes = inner.take();
        mix([&](Value* out) {
            for (size_t row = 0; row < values_.size(); ++row)
                out[row] = column.nulls()[row] ? Value{} : hashes[row];
        });
    }

    const HashLoops<Value>& loops_;
    PodVector<Value> values_;
    bool first_ = true;
};

template <typename Value>
ColumnPtr hashArguments(const Call& call, size_t from, const HashLoops<Value>& loops) {
    AnyHash<Value> hash(call.rows, loops);
    for (size_t i = from; i < call.count(); ++i) hash.add(call.arguments[i]);
    auto values = hash.take();
    if constexpr (std::is_same_v<Value, Hash128>) {
        PodVector<char> bytes;
        bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * 16);
        return std::make_shared<FixedStringColumn>(16, std::move(bytes));
    } else {
        return fixedColumn(std::move(values));
    }
}

template <typename Value>
TypePtr hashType() {
    if constexpr (std::is_same_v<Value, Hash128>)
        return types::fixedString(16);
    else
        return types::simple(sizeof(Value) == 4 ? TypeKind::UInt32 : TypeKind::UInt64);
}

template <typename Impl>
TypePtr typeOfHash(const Signature&) {
    return hashType<typename Impl::Value>();
}

template <typename Impl>
ColumnPtr runHash(const Call& call) {
    return hashArguments(call, 0, kLoops<Impl>);
}

void needKey(const Signature& call) {
    needCount(call, 1, SIZE_MAX);
    const TypePtr& key = call.type(0);
    if (key->kind() != TypeKind::Tuple || key->children().size() != 2 ||
        key->child(0)->kind() != TypeKind::UInt64 || key->child(1)->kind() != TypeKind::UInt64)
        throw Error(ErrorCode::NOT_IMPLEMENTED,
                    "Wrong key tuple for function {}: it must be a tuple of 2 UInt64", call.name);
}

template <typename Impl>
TypePtr typeOfKeyed(const Signature& call) {
    needKey(call);
    return hashType<typename Impl::Value>();
}

/// `hash` hashes the arguments but the first for rows that have one key.
ColumnPtr runByKeys(const Call& call, ColumnPtr (*hash)(const Call&)) {
    const ColumnPtr keys = full(call.column(0));
    const auto& tuple = as<TupleColumn>(*keys);
    const ColumnPtr first = full(tuple.element(0));
    const ColumnPtr second = full(tuple.element(1));
    MutableColumnPtr result = createColumn(*call.type);
    for (size_t row = 0; row < call.rows;) {
        size_t end = row + 1;
        while (end < call.rows && first->compareAt(end, *first, row, 1) == 0 &&
               second->compareAt(end, *second, row, 1) == 0)
            ++end;
        current_key[0] = first->value(row).to<uint64_t>();
        current_key[1] = second->value(row).to<uint64_t>();
        std::vector<NamedColumn> arguments(call.arguments.begin(), call.arguments.end());
        for (NamedColumn& argument : arguments)
            argument.column = full(argument.column)->slice(row, end - row);
        const ColumnPtr part = hash(Call{call.name, arguments, call.type, end - row, call.context});
        result->insertRange(*part, 0, end - row);
        row = end;
    }
    return result;
}

template <typename Impl>
ColumnPtr runKeyed(const Call& call) {
    return runByKeys(call, [](const Call& part) { return hashArguments(part, 1, kLoops<Impl>); });
}

}  // namespace

std::span<const FunctionInfo> hashAnyFunctions() {
    static const FunctionInfo kList[] = {
        define<"cityHash64", typeOfHash<City64>, runHash<City64>>("cityHash64(x, …)",
                                                                  "CityHash64 1.0.2 of values of any types.",
                                                                  "cityHash64('abc')", "4220206313085259313"),
        define<"sipHash64", typeOfHash<Sip64>, runHash<Sip64>>(
            "sipHash64(x, …)", "SipHash-2-4 with a zero key.", "sipHash64('abc')", "4596069200710135518"),
        define<"sipHash128", typeOfHash<Sip128>, runHash<Sip128>>("sipHash128(x, …)", "Its two halves.",
                                                                  "hex(sipHash128('abc'))",
                                                                  "B6B415A2DA966B6C685A65E54C12A353"),
        define<"sipHash128Reference", typeOfHash<Sip128Reference>, runHash<Sip128Reference>>(
            "sipHash128Reference(x, …)", "SipHash-128 as published."),
        define<"sipHash64Keyed", typeOfKeyed<Sip64Keyed>, runKeyed<Sip64Keyed>>(
            "sipHash64Keyed((key0, key1), x, …)", "sipHash64 with a key."),
        define<"sipHash128Keyed", typeOfKeyed<Sip128Keyed>, runKeyed<Sip128Keyed>>(
            "sipHash128Keyed((key0, key1), x, …)", "sipHash128 with a key."),
        define<"sipHash128ReferenceKeyed", typeOfKeyed<Sip128ReferenceKeyed>, runKeyed<Sip128ReferenceKeyed>>(
            "sipHash128ReferenceKeyed((key0, key1), x, …)", "sipHash128Reference with a key."),
        define<"halfMD5", typeOfHash<HalfMd5>, runHash<HalfMd5>>(
            "halfMD5(x, …)", "The first eight bytes of MD5.", "halfMD5('abc')", "10376663631224000432"),
        define<"farmHash64", typeOfHash<Farm64>, runHash<Farm64>>("farmHash64(x, …)", "FarmHash64.",
                                                                  "farmHash64('abc')", "2640714258260161385"),
        define<"farmFingerprint64", typeOfHash<FarmFingerprint64>, runHash<FarmFingerprint64>>(
            "farmFingerprint64(x, …)", "FarmHash's fingerprint.", "farmFingerprint64('abc')",
            "2640714258260161385"),
        define<"metroHash64", typeOfHash<Metro64>, runHash<Metro64>>(
            "metroHash64(x, …)", "MetroHash64.", "metroHash64('abc')", "983152225323542437"),
        define<"xxHash32", typeOfHash<XxHash32>, runHash<XxHash32>>("xxHash32(x, …)", "xxHash, 32 bits.",
                                                                    "xxHash32('abc')", "852579327"),
        define<"xxHash64", typeOfHash<XxHash64>, runHash<XxHash64>>("xxHash64(x, …)", "xxHash, 64 bits."),
        define<"xxh3", typeOfHash<Xxh3>, runHash<Xxh3>>("xxh3(x, …)", "XXH3, 64 bits.", "xxh3('abc')",
                                                        "8696274497037089104"),
        define<"murmurHash2_32", typeOfHash<Murmur2x32>, runHash<Murmur2x32>>("murmurHash2_32(x, …)",
                                                                              "MurmurHash2."),
        define<"murmurHash2_64", typeOfHash<Murmur2x64>, runHash<Murmur2x64>>(
            "murmurHash2_64(x, …)", "MurmurHash64A.", "murmurHash2_64('abc')", "11297775770902552315"),
        define<"gccMurmurHash", typeOfHash<GccMurmur>, runHash<GccMurmur>>("gccMurmurHash(x, …)",
                                                                           "The hash of libstdc++."),
        define<"murmurHash3_32", typeOfHash<Murmur3x32>, runHash<Murmur3x32>>(
            "murmurHash3_32(x, …)", "MurmurHash3, 32 bits.", "murmurHash3_32('abc')", "3017643002"),
        define<"murmurHash3_64", typeOfHash<Murmur3x64>, runHash<Murmur3x64>>(
            "murmurHash3_64(x, …)", "MurmurHash3, 128 bits folded.", "murmurHash3_64('abc')",
            "10318955651176813877"),
        define<"murmurHash3_128", typeOfHash<Murmur3x128>, runHash<Murmur3x128>>("murmurHash3_128(x, …)",
                                                                                 "MurmurHash3, 128 bits."),
    };
    return kList;
}

}  // namespace shardd::functions
