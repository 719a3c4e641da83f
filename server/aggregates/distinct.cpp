#include <algorithm>
#include <cmath>

#include "server/aggregates/binary_form.h"
#include "server/aggregates/row_hash.h"
#include "server/aggregates/value_bits.h"

namespace shardd::aggregates {

namespace {

void expectSome(const Signature& signature) {
    if (signature.arguments.empty())
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Incorrect number of arguments for aggregate function {}", signature.name);
}

// -- uniqExact --------------------------------------------------------------------------------------

/// How a row becomes a key of the exact set.
template <typename K>
struct NumberKeys {
    using Key = K;
    BitsInput<K> input;

    explicit NumberKeys(const Column* const* arguments) : input(arguments) {}

    Key key(size_t row, size_t) const { return input[row]; }
};

struct StringKeys {
    using Key = UInt128;
    StringInput<0> input;

    explicit StringKeys(const Column* const* arguments) : input(arguments) {}

    Key key(size_t row, size_t) const { return toUInt128(sipHash128(input[row])); }
};

struct RowKeys {
    using Key = UInt128;
    const Column* const* columns;

    explicit RowKeys(const Column* const* arguments) : columns(arguments) {}

    Key key(size_t row, size_t count) const { return sipRow(columns, count, row); }
};

template <typename Set>
void writeSet(const Set& set, Writer& out) {
    out.writeVarUInt(set.size());
    char* to = out.extend(set.size() * sizeof(typename Set::Element));
    set.forEach([&](const auto& key) {
        std::memcpy(to, &key, sizeof(key));
        to += sizeof(key);
    });
}

/// Sets of many groups lie far apart: each is fetched ahead, then its elements are.
template <typename State, typename Write>
void writeFetchedAhead(const char* const* places, size_t rows, Write&& write) {
    constexpr size_t kFetchState = 16;
    constexpr size_t kFetchElements = 8;
    const auto at = [&](size_t i) -> const State& {
        return *std::launder(reinterpret_cast<const State*>(places[i]));
    };
    for (size_t i = 0; i < rows; ++i) {
        if (i + kFetchState < rows) __builtin_prefetch(places[i + kFetchState]);
        if (i + kFetchElements < rows) at(i + kFetchElements).prefetchElements();
        write(at(i));
    }
}

template <typename Keys>
class UniqExact final : public QuickAggregate<UniqExact<Keys>, CompactSet<typename Keys::Key>, Keys> {
public:
    using Set = CompactSet<typename Keys::Key>;
    using Base = QuickAggregate<UniqExact<Keys>, Set, Keys>;
    using Base::Base;

    static constexpr bool kEmptyIsZero = true;

    void addRow(Set& set, const Keys& keys, size_t row, Arena& arena) const {
        set.insert(keys.key(row, arguments()), arena);
    }

    void addAll(Set& set, const Keys& keys, size_t from, size_t rows, Arena& arena) const {
        if constexpr (sizeof(typename Keys::Key) > 8) {
            for (size_t row = from; row < from + rows; ++row) addRow(set, keys, row, arena);
        } else {
            set.insertMany(rows, arena, [&](size_t i) { return keys.key(from + i, 1); });
        }
    }

    void mergeStates(Set& set, const Set& other, Arena& arena) const { set.mergeFrom(other, arena); }

    void write(const Set& set, Writer& out) const { writeSet(set, out); }

    void serializeBatch(const char* const* places, size_t rows, Writer& out) const override {
        writeFetchedAhead<Set>(places, rows, [&](const Set& set) { writeSet(set, out); });
    }

    void read(Set& set, Reader& in, Arena& arena) const {
        uint64_t count = in.readVarUInt();
        // As much room as the bytes at hand promise; more is taken when more has come.
        set.reserve(std::min<uint64_t>(count, in.available() / sizeof(typename Keys::Key)), arena);
        for (; count > 0; --count) set.insert(in.readFixed<typename Keys::Key>(), arena);
    }

    void finish(Set& set, Column& to, Arena&) const { appendFixed(to, uint64_t{set.size()}); }

private:
    size_t arguments() const { return this->argumentTypes().size(); }
};

AggregateFunctionPtr createUniqExact(Signature signature) {
    expectNoParameters(signature);
    expectSome(signature);
    const TypePtr argument = signature.arguments[0];
    if (signature.arguments.size() == 1 && isNumberKey(*argument)) {
        AggregateFunctionPtr function;
        dispatchWidth(argument->physical(), [&]<typename K>(Tag<K>) {
            function = std::make_shared<UniqExact<NumberKeys<K>>>(std::move(signature), types::uint64());
        });
        return function;
    }
    if (signature.arguments.size() == 1 && argument->kind() == TypeKind::String)
        return std::make_shared<UniqExact<StringKeys>>(std::move(signature), types::uint64());
    return std::make_shared<UniqExact<RowKeys>>(std::move(signature), types::uint64());
}

// -- uniq -------------------------------------------------------------------------------------------

/// CRC32C of one word, from all ones: what ClickHouse takes a pseudo-random remainder from.
uint32_t crcOfWord(uint64_t word) {
    uint32_t crc = 0xFFFFFFFF;
    for (int byte = 0; byte < 8; ++byte) {
        crc ^= static_cast<uint8_t>(word >> (8 * byte));
        for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? 0x82F63B78U : 0);
    }
    return crc;
}

/// Keys that are hashes already: their upper bits choose the slot, which thinning leaves alone.
struct HashKeyTraits {
    static bool isEmpty(uint32_t key) { return key == 0; }

    static bool equal(uint32_t a, uint32_t b) { return a == b; }

    static uint64_t hash(uint32_t key) { return uint64_t{key} << 32; }
};

/// Hashes of rows; when there are too many, only those divisible by ever higher powers of two stay.
struct UniqState {
    static constexpr size_t kMaxSize = 65536;
    static constexpr uint8_t kMaxDegree = 31;

    CompactSet<uint32_t, HashKeyTraits> set;
    uint8_t skip_degree = 0;

    void prefetchElements() const { set.prefetchElements(); }

    bool good(uint32_t hash) const { return ((hash >> skip_degree) << skip_degree) == hash; }

    void insert(uint32_t hash, Arena& arena) {
        if (!good(hash)) return;
        if (set.insert(hash, arena) && set.size() > kMaxSize) [[unlikely]]
            thin(arena);
    }

    void thin(Arena& arena) {
        while (set.size() > kMaxSize && skip_degree < kMaxDegree) {
            ++skip_degree;
            dropBad(arena);
        }
    }

    void raiseTo(uint8_t degree, Arena& arena) {
        if (degree <= skip_degree) return;
        skip_degree = degree;
        dropBad(arena);
    }

    uint64_t estimate() const {
        const uint64_t size = set.size();
        if (skip_degree == 0) return size;
        uint64_t result = size << skip_degree;
        result += crcOfWord(size) & ((uint64_t{1} << skip_degree) - 1);
        // Different rows fall on the same of 2^32 hashes: how many rows fill so many.
        constexpr double kHashes = 4294967296.0;
        if (result >= uint64_t{1} << 32) return result;
        return static_cast<uint64_t>(
            std::round(kHashes * (std::log(kHashes) - std::log(kHashes - static_cast<double>(result)))));
    }

private:
    void dropBad(Arena& arena) {
        set.retain([this](uint32_t hash) { return good(hash); }, arena);
    }
};

template <typename K>
struct NumberHashes {
    BitsInput<K> input;
    uint64_t sign;  // the top bit of signed integers narrower than a word

    NumberHashes(const Column* const* arguments, const Type& type) : input(arguments), sign(signOf(type)) {}

    uint32_t hash(size_t row, const RowHash64&) const {
        if constexpr (sizeof(K) <= 8)
            return static_cast<uint32_t>(mixHash64((uint64_t{input[row]} ^ sign) - sign));
        else
            return static_cast<uint32_t>(mixHash64(numberKey(input[row])));
    }

private:
    static uint64_t signOf(const Type& type) {
        if constexpr (sizeof(K) <= 8)
            if (NumberOrder(type.physical()).isSigned()) return NumberOrder::topBit<K>();
        return 0;
    }
};

struct StringHashes {
    StringInput<0> input;

    explicit StringHashes(const Column* const* arguments) : input(arguments) {}

    uint32_t hash(size_t row, const RowHash64&) const {
        return static_cast<uint32_t>(mixHash64(cityHash64(input[row])));
    }
};

/// FixedString and IPv6: bytes as of a String.
struct BytesHashes {
    const Column* column;

    explicit BytesHashes(const Column* const* arguments) : column(arguments[0]) {}

    uint32_t hash(size_t row, const RowHash64&) const {
        return static_cast<uint32_t>(mixHash64(cityHash64(column->bytesAt(row))));
    }
};

struct RowHashes {
    const Column* const* columns;

    explicit RowHashes(const Column* const* arguments) : columns(arguments) {}

    uint32_t hash(size_t row, const RowHash64& row_hash) const {
        return static_cast<uint32_t>(row_hash(columns, row));
    }
};

template <typename Hashes>
class Uniq final : public QuickAggregate<Uniq<Hashes>, UniqState, Hashes> {
public:
    using Base = QuickAggregate<Uniq<Hashes>, UniqState, Hashes>;

    Uniq(Signature signature, TypePtr result)
        : Base(std::move(signature), std::move(result)), row_hash_(this->argumentTypes()) {}

    static constexpr bool kEmptyIsZero = true;

    Hashes inputOf(const Column* const* arguments) const {
        if constexpr (std::is_constructible_v<Hashes, const Column* const*, const Type&>)
            return Hashes(arguments, *this->argumentTypes()[0]);
        else
            return Hashes(arguments);
    }

    void addRow(UniqState& state, const Hashes& hashes, size_t row, Arena& arena) const {
        state.insert(hashes.hash(row, row_hash_), arena);
    }

    /// Sets of many groups lie far apart: the state, then the place of the hash in it are fetched ahead.
    void addBatch(const Column* const* arguments,
                  char* const* places,
                  size_t offset,
                  size_t from,
                  size_t rows,
                  Arena& arena) const override {
        constexpr size_t kFetchState = 16;
        constexpr size_t kFetchSlot = 8;
        const Hashes input = inputOf(arguments);
        uint32_t hashes[kFetchSlot];
        const auto look = [&](size_t i) {
            const uint32_t hash = input.hash(from + i, row_hash_);
            hashes[i % kFetchSlot] = hash;
            if (places[i]) this->at(places[i] + offset).set.prefetch(hash);
        };
        for (size_t i = 0; i < std::min(kFetchSlot, rows); ++i) look(i);
        for (size_t i = 0; i < rows; ++i) {
            if (i + kFetchState < rows && places[i + kFetchState])
                __builtin_prefetch(places[i + kFetchState] + offset);
            const uint32_t hash = hashes[i % kFetchSlot];
            if (i + kFetchSlot < rows) look(i + kFetchSlot);
            if (places[i]) this->at(places[i] + offset).insert(hash, arena);
        }
    }

    void mergeStates(UniqState& state, const UniqState& other, Arena& arena) const {
        state.raiseTo(other.skip_degree, arena);
        // They come in the order of their slots: into a small table they would all go to its front.
        if (other.set.size() > state.set.size()) state.set.reserve(other.set.size(), arena);
        other.set.forEach([&](uint32_t hash) { state.insert(hash, arena); });
    }

    void write(const UniqState& state, Writer& out) const {
        out.writeByte(state.skip_degree);
        writeSet(state.set, out);
    }

    void serializeBatch(const char* const* places, size_t rows, Writer& out) const override {
        writeFetchedAhead<UniqState>(places, rows, [&](const UniqState& state) { write(state, out); });
    }

    void read(UniqState& state, Reader& in, Arena& arena) const {
        state.skip_degree = in.readByte();
        if (state.skip_degree > UniqState::kMaxDegree)
            throw Error(ErrorCode::INCORRECT_DATA, "Wrong skip degree {} in a state of {}", state.skip_degree,
                        this->name());
        size_t count = readCount(in, UniqState::kMaxSize, "set");
        state.set.reserve(std::min<size_t>(count, in.available() / sizeof(uint32_t)), arena);
        for (; count > 0; --count) state.insert(in.readFixed<uint32_t>(), arena);
    }

    void finish(UniqState& state, Column& to, Arena&) const { appendFixed(to, state.estimate()); }

private:
    RowHash64 row_hash_;
};

AggregateFunctionPtr createUniq(Signature signature) {
    expectNoParameters(signature);
    expectSome(signature);
    const TypePtr argument = signature.arguments[0];
    if (signature.arguments.size() > 1)
        return std::make_shared<Uniq<RowHashes>>(std::move(signature), types::uint64());
    if (isNumberKey(*argument)) {
        AggregateFunctionPtr function;
        dispatchWidth(argument->physical(), [&]<typename K>(Tag<K>) {
            function = std::make_shared<Uniq<NumberHashes<K>>>(std::move(signature), types::uint64());
        });
        return function;
    }
    if (argument->kind() == TypeKind::String)
        return std::make_shared<Uniq<StringHashes>>(std::move(signature), types::uint64());
    if (argument->kind() == TypeKind::FixedString || argument->kind() == TypeKind::IPv6)
        return std::make_shared<Uniq<BytesHashes>>(std::move(signature), types::uint64());
    return std::make_shared<Uniq<RowHashes>>(std::move(signature), types::uint64());
}

}  // namespace

std::span<const AggregateInfo> distinctAggregates() {
    static const AggregateInfo kInfos[] = {
        {.name = "uniqExact",
         .create = createUniqExact,
         .nulls = Nulls::FlagAlwaysOne,
         .syntax = "uniqExact(x[, …])",
         .description = "Exact number of different values.",
         .example = "SELECT uniqExact(number % 3) FROM numbers(10)",
         .example_result = "3"},
        {.name = "uniq",
         .create = createUniq,
         .nulls = Nulls::FlagAlwaysOne,
         .syntax = "uniq(x[, …])",
         .description = "Approximate number of different values, exact up to 65536.",
         .example = "SELECT uniq(number % 3) FROM numbers(10)",
         .example_result = "3"},
    };
    return kInfos;
}

}  // namespace shardd::aggregates
