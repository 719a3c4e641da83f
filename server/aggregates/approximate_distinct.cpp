#include <optional>

#include "server/aggregates/binary_form.h"
#include "server/aggregates/hyper_log_log.h"
#include "server/aggregates/numbers.h"
#include "server/aggregates/row_hash.h"

namespace shardd::aggregates {

namespace {

void expectSome(const Signature& signature) {
    if (signature.arguments.empty())
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Incorrect number of arguments for aggregate function {}", signature.name);
}

/// Values whose hash is made from their number.
bool isHashedNumber(const Type& type) { return isNumberKey(type); }

bool isHashedText(const Type& type) { return type.isString() || type.kind() == TypeKind::IPv6; }

/// 128- and 256-bit numbers folded, the others as they are.
template <typename T>
uint64_t foldedKey(const T& value) {
    if constexpr (std::is_same_v<T, UInt256> || std::is_same_v<T, Int256>)
        return value.words[0] ^ value.words[1] ^ value.words[2] ^ value.words[3];
    else if constexpr (sizeof(T) == 16)
        return static_cast<uint64_t>(toKey(value)) ^ static_cast<uint64_t>(toKey(value) >> 64);
    else
        return numberKey(value);
}

template <typename T>
struct NumberSource {
    FixedInput<T> input;

    explicit NumberSource(const Column* const* arguments) : input(arguments) {}

    uint64_t operator()(size_t row, const RowHash64&) const { return mixHash64(foldedKey(input[row])); }
};

struct TextSource {
    const Column* column;

    explicit TextSource(const Column* const* arguments) : column(arguments[0]) {}

    uint64_t operator()(size_t row, const RowHash64&) const { return cityHash64(column->bytesAt(row)); }
};

struct RowSource {
    const Column* const* columns;

    explicit RowSource(const Column* const* arguments) : columns(arguments) {}

    uint64_t operator()(size_t row, const RowHash64& hash) const { return hash(columns, row); }
};

// -- uniqCombined -----------------------------------------------------------------------------------

/// The kinds of a state on the wire; never renumber.
constexpr uint8_t kSmall = 1;
constexpr uint8_t kMedium = 2;
constexpr uint8_t kLarge = 3;
constexpr size_t kSmallSize = 16;

template <typename Hash>
struct CombinedState {
    CompactSet<Hash> set;
    HyperLogLog<Hash> registers;
};

/// A set of hashes that becomes a HyperLogLog when it is large.
template <typename Hash, typename Source>
class UniqCombined final : public AggregateBase<UniqCombined<Hash, Source>, CombinedState<Hash>, Source> {
public:
    using State = CombinedState<Hash>;
    using Base = AggregateBase<UniqCombined<Hash, Source>, State, Source>;

    UniqCombined(Signature signature, unsigned precision)
        : Base(std::move(signature), types::uint64()),
          row_hash_(this->argumentTypes()),
          precision_(precision),
          set_limit_(size_t{1} << (precision - (sizeof(Hash) == 4 ? 4 : 5))) {}

    static constexpr bool kEmptyIsZero = true;

    void addRow(State& state, const Source& source, size_t row, Arena& arena) const {
        insert(state, static_cast<Hash>(source(row, row_hash_)), arena);
    }

    void mergeStates(State& state, const State& other, Arena& arena) const {
        if (other.registers.empty()) {
            other.set.forEach([&](Hash hash) { insert(state, hash, arena); });
            return;
        }
        if (state.registers.empty()) becomeLarge(state, arena);
        state.registers.merge(other.registers, precision_);
    }

    void write(const State& state, Writer& out) const {
        if (!state.registers.empty()) {
            out.writeByte(kLarge);
            state.registers.write(precision_, out);
            return;
        }
        out.writeByte(state.set.size() <= kSmallSize ? kSmall : kMedium);
        out.writeVarUInt(state.set.size());
        state.set.forEach([&](Hash hash) { out.writeFixed(hash); });
    }

    void read(State& state, Reader& in, Arena& arena) const {
        const uint8_t kind = in.readByte();
        if (kind == kLarge) {
            state.registers.read(precision_, in, arena);
            return;
        }
        if (kind != kSmall && kind != kMedium)
            throw Error(ErrorCode::INCORRECT_DATA, "Wrong kind {} of a state of {}", kind, this->name());
        const size_t count = readCount(in, kind == kSmall ? kSmallSize : size_t{1} << precision_, "set");
        for (size_t i = 0; i < count; ++i) insert(state, in.readFixed<Hash>(), arena);
    }

    void finish(State& state, Column& to, Arena&) const {
        appendFixed(
            to, state.registers.empty() ? uint64_t{state.set.size()} : state.registers.estimate(precision_));
    }

private:
    void insert(State& state, Hash hash, Arena& arena) const {
        if (!state.registers.empty())
            state.registers.insert(hash, precision_);
        else if (state.set.insert(hash, arena) && state.set.size() > set_limit_) [[unlikely]]
            becomeLarge(state, arena);
    }

    void becomeLarge(State& state, Arena& arena) const {
        state.registers.allocate(precision_, arena);
        state.set.forEach([&](Hash hash) { state.registers.insert(hash, precision_); });
        CompactSet<Hash> nothing;
        state.set.swap(nothing);
    }

    RowHash64 row_hash_;
    unsigned precision_;
    size_t set_limit_;
};

template <bool is_64>
AggregateFunctionPtr createUniqCombined(Signature signature) {
    constexpr unsigned kDefaultPrecision = 17;
    unsigned precision = kDefaultPrecision;
    if (signature.parameters.size() > 1)
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Aggregate function {} requires one parameter or less", signature.name);
    if (!signature.parameters.empty()) {
        const auto wanted = signature.parameters[0].to<uint64_t>();
        if (wanted < 12 || wanted > 20)
            throw Error(ErrorCode::ARGUMENT_OUT_OF_BOUND,
                        "Parameter for aggregate function {} is out of range: [12, 20]", signature.name);
        precision = static_cast<unsigned>(wanted);
    }
    expectSome(signature);
    using Hash = std::conditional_t<is_64, uint64_t, uint32_t>;
    const TypePtr argument = signature.arguments[0];
    if (signature.arguments.size() == 1 && isHashedText(*argument))
        return std::make_shared<UniqCombined<uint64_t, TextSource>>(std::move(signature), precision);
    if (signature.arguments.size() == 1 && isHashedNumber(*argument)) {
        AggregateFunctionPtr function;
        dispatchPhysical(argument->physical(), [&]<typename T>(Tag<T>) {
            function = std::make_shared<UniqCombined<Hash, NumberSource<T>>>(std::move(signature), precision);
        });
        return function;
    }
    return std::make_shared<UniqCombined<Hash, RowSource>>(std::move(signature), precision);
}

// -- uniqHLL12 --------------------------------------------------------------------------------------

/// Thomas Wang's mix of 64 bits to 32, without ClickHouse's salt.
uint32_t wangHash32(uint64_t key) {
    key = ~key + (key << 18);
    key ^= std::rotr(key, 31);
    key *= 21;
    key ^= std::rotr(key, 11);
    key += key << 6;
    key ^= std::rotr(key, 22);
    return static_cast<uint32_t>(key);
}

/// Keys of numbers travel in the argument's type, all others as 64-bit hashes.
template <typename T>
struct NumberCells {
    using Cell = KeyOf<T>;
    FixedInput<T> input;

    explicit NumberCells(const Column* const* arguments) : input(arguments) {}

    Cell operator()(size_t row, const RowHash64&) const {
        const T& value = input[row];
        if constexpr (sizeof(T) > 8)
            return Cell(mixHash64(foldedKey(value)));
        else if constexpr (kIsFloat<T>)
            return toKey(convertNumber<T>(uint64_t{toKey(value)}));
        else
            return toKey(value);
    }

    static uint64_t key(const Cell& cell) {
        if constexpr (sizeof(T) > 8)
            return toWord(cell);
        else
            return numberKey(fromKey<T>(cell));
    }

private:
    static uint64_t toWord(const Cell& cell) {
        if constexpr (std::is_same_v<Cell, UInt256>)
            return cell.words[0];
        else
            return static_cast<uint64_t>(cell);
    }
};

template <typename Source>
struct HashCells {
    using Cell = uint64_t;
    Source source;

    explicit HashCells(const Column* const* arguments) : source(arguments) {}

    Cell operator()(size_t row, const RowHash64& hash) const { return source(row, hash); }

    static uint64_t key(Cell cell) { return cell; }
};

template <typename Cell>
struct Hll12State {
    CompactSet<Cell> set;
    HyperLogLog<uint32_t> registers;
};

template <typename Cells>
class UniqHll12 final : public AggregateBase<UniqHll12<Cells>, Hll12State<typename Cells::Cell>, Cells> {
public:
    using Cell = typename Cells::Cell;
    using State = Hll12State<Cell>;
    using Base = AggregateBase<UniqHll12<Cells>, State, Cells>;

    explicit UniqHll12(Signature signature)
        : Base(std::move(signature), types::uint64()), row_hash_(this->argumentTypes()) {}

    static constexpr bool kEmptyIsZero = true;

    void addRow(State& state, const Cells& cells, size_t row, Arena& arena) const {
        insert(state, cells(row, row_hash_), arena);
    }

    void mergeStates(State& state, const State& other, Arena& arena) const {
        if (other.registers.empty()) {
            other.set.forEach([&](const Cell& cell) { insert(state, cell, arena); });
            return;
        }
        if (state.registers.empty()) becomeLarge(state, arena);
        state.registers.merge(other.registers, kPrecision);
    }

    void write(const State& state, Writer& out) const {
        out.writeByte(state.registers.empty() ? 0 : 1);
        if (!state.registers.empty()) {
            state.registers.write(kPrecision, out);
            return;
        }
        out.writeVarUInt(state.set.size());
        state.set.forEach([&](const Cell& cell) { out.writeFixed(cell); });
    }

    void read(State& state, Reader& in, Arena& arena) const {
        if (in.readByte()) {
            state.registers.read(kPrecision, in, arena);
            return;
        }
        const size_t count = readCount(in, kSmallSize, "set");
        for (size_t i = 0; i < count; ++i) insert(state, in.readFixed<Cell>(), arena);
    }

    void finish(State& state, Column& to, Arena&) const {
        appendFixed(
            to, state.registers.empty() ? uint64_t{state.set.size()} : state.registers.estimate(kPrecision));
    }

private:
    static constexpr unsigned kPrecision = 12;

    void insert(State& state, const Cell& cell, Arena& arena) const {
        if (!state.registers.empty())
            state.registers.insert(wangHash32(Cells::key(cell)), kPrecision);
        else if (state.set.insert(cell, arena) && state.set.size() > kSmallSize)
            becomeLarge(state, arena);
    }

    void becomeLarge(State& state, Arena& arena) const {
        state.registers.allocate(kPrecision, arena);
        state.set.forEach(
            [&](const Cell& cell) { state.registers.insert(wangHash32(Cells::key(cell)), kPrecision); });
        CompactSet<Cell> nothing;
        state.set.swap(nothing);
    }

    RowHash64 row_hash_;
};

AggregateFunctionPtr createUniqHll12(Signature signature) {
    expectNoParameters(signature);
    expectSome(signature);
    const TypePtr argument = signature.arguments[0];
    if (signature.arguments.size() > 1)
        return std::make_shared<UniqHll12<HashCells<RowSource>>>(std::move(signature));
    // A UUID's cell is its hash, unlike that of a UInt128.
    if (argument->kind() == TypeKind::UUID)
        return std::make_shared<UniqHll12<HashCells<NumberSource<UInt128>>>>(std::move(signature));
    if (isHashedNumber(*argument)) {
        AggregateFunctionPtr function;
        dispatchPhysical(argument->physical(), [&]<typename T>(Tag<T>) {
            function = std::make_shared<UniqHll12<NumberCells<T>>>(std::move(signature));
        });
        return function;
    }
    if (isHashedText(*argument))
        return std::make_shared<UniqHll12<HashCells<TextSource>>>(std::move(signature));
    return std::make_shared<UniqHll12<HashCells<RowSource>>>(std::move(signature));
}

// -- uniqUpTo ---------------------------------------------------------------------------------------

template <typename Key>
struct UpToState {
    CompactSet<Key> set;
    bool too_many = false;
};

template <typename Key>
struct KeySource {
    const Column* const* columns;

    explicit KeySource(const Column* const* arguments) : columns(arguments) {}
};

/// The exact number up to a threshold; beyond it one more than the threshold.
template <typename Key, bool is_number>
class UniqUpTo final : public AggregateBase<UniqUpTo<Key, is_number>, UpToState<Key>, KeySource<Key>> {
public:
    using State = UpToState<Key>;
    using Base = AggregateBase<UniqUpTo<Key, is_number>, State, KeySource<Key>>;

    UniqUpTo(Signature signature, uint8_t threshold)
        : Base(std::move(signature), types::uint64()),
          row_hash_(this->argumentTypes()),
          threshold_(threshold) {}

    static constexpr bool kEmptyIsZero = true;

    void addRow(State& state, const KeySource<Key>& source, size_t row, Arena& arena) const {
        if (state.too_many) return;
        Key key{};
        if constexpr (is_number)
            std::memcpy(static_cast<void*>(&key), source.columns[0]->bytesAt(row).data(), sizeof(Key));
        else
            key = row_hash_(source.columns, row);
        insert(state, key, arena);
    }

    void mergeStates(State& state, const State& other, Arena& arena) const {
        state.too_many = state.too_many || other.too_many;
        if (!state.too_many) other.set.forEach([&](const Key& key) { insert(state, key, arena); });
    }

    void write(const State& state, Writer& out) const {
        if (state.too_many) {
            out.writeByte(static_cast<uint8_t>(threshold_ + 1));
            return;
        }
        out.writeByte(static_cast<uint8_t>(state.set.size()));
        state.set.forEach([&](const Key& key) { out.writeFixed(key); });
    }

    void read(State& state, Reader& in, Arena& arena) const {
        const uint8_t count = in.readByte();
        state.too_many = count > threshold_;
        if (state.too_many) return;
        for (uint8_t i = 0; i < count; ++i) insert(state, in.readFixed<Key>(), arena);
    }

    void finish(State& state, Column& to, Arena&) const {
        appendFixed(to, state.too_many ? uint64_t{threshold_} + 1 : uint64_t{state.set.size()});
    }

private:
    void insert(State& state, const Key& key, Arena& arena) const {
        state.set.insert(key, arena);
        state.too_many = state.set.size() > threshold_;
    }

    RowHash64 row_hash_;
    uint8_t threshold_;
};

AggregateFunctionPtr createUniqUpTo(Signature signature) {
    constexpr uint64_t kDefaultThreshold = 10;
    constexpr uint64_t kMaxThreshold = 100;
    if (signature.parameters.size() > 1)
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Aggregate function {} requires one parameter or less", signature.name);
    const uint64_t threshold =
        signature.parameters.empty() ? kDefaultThreshold : signature.parameters[0].to<uint64_t>();
    if (threshold > kMaxThreshold)
        throw Error(ErrorCode::ARGUMENT_OUT_OF_BOUND,
                    "Too large parameter for aggregate function {}. Maximum: {}", signature.name,
                    kMaxThreshold);
    expectSome(signature);
    const auto narrow = static_cast<uint8_t>(threshold);
    const TypePtr argument = signature.arguments[0];
    if (signature.arguments.size() > 1 || !isNumberKey(*argument) || argument->width() > 16 ||
        argument->kind() == TypeKind::IPv4)
        return std::make_shared<UniqUpTo<uint64_t, false>>(std::move(signature), narrow);
    AggregateFunctionPtr function;
    dispatchPhysical(argument->physical(), [&]<typename T>(Tag<T>) {
        function = std::make_shared<UniqUpTo<KeyOf<T>, true>>(std::move(signature), narrow);
    });
    return function;
}

}  // namespace

std::span<const AggregateInfo> approximateDistinctAggregates() {
    static const AggregateInfo kInfos[] = {
        {.name = "uniqCombined",
         .create = createUniqCombined<false>,
         .syntax = "uniqCombined[(precision)](x[, …])",
         .description = "Approximate number of different values: a set, then a HyperLogLog of 32-bit hashes.",
         .example = "SELECT uniqCombined(number % 3) FROM numbers(10)",
         .example_result = "3"},
        {.name = "uniqCombined64",
         .create = createUniqCombined<true>,
         .syntax = "uniqCombined64[(precision)](x[, …])",
         .description = "As uniqCombined, with 64-bit hashes.",
         .example = "SELECT uniqCombined64(number % 3) FROM numbers(10)",
         .example_result = "3"},
        {.name = "uniqHLL12",
         .create = createUniqHll12,
         .nulls = Nulls::FlagAlwaysOne,
         .syntax = "uniqHLL12(x[, …])",
         .description = "Approximate number of different values by a HyperLogLog of 4096 registers.",
         .example = "SELECT uniqHLL12(number % 3) FROM numbers(10)",
         .example_result = "3"},
        {.name = "uniqUpTo",
         .create = createUniqUpTo,
         .nulls = Nulls::FlagAlwaysOne,
         .syntax = "uniqUpTo(N)(x[, …])",
         .description = "Number of different values up to N; N + 1 stands for more.",
         .example = "SELECT uniqUpTo(5)(number % 3) FROM numbers(10)",
         .example_result = "3"},
    };
    return kInfos;
}

}  // namespace shardd::aggregates
