#include <optional>

#include "server/aggregates/binary_form.h"
#include "server/aggregates/hyper_log_log.h"
#include "server/aggregates/row_hash.h"
#include "server/aggregates/value_bits.h"

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
template <typename K>
uint64_t foldedKey(const K& bits, const NumberOrder& order) {
    if constexpr (sizeof(K) == 32)
        return bits.words[0] ^ bits.words[1] ^ bits.words[2] ^ bits.words[3];
    else if constexpr (sizeof(K) == 16)
        return static_cast<uint64_t>(bits) ^ static_cast<uint64_t>(bits >> 64);
    else
        return order.extended(bits);
}

/// Makes a 64-bit hash of a row, whatever its types.
class Hashes {
public:
    explicit Hashes(const std::vector<TypePtr>& arguments)
        : row_hash_(arguments),
          order_(arguments[0]->physical()),
          width_(widthOf(arguments[0]->physical())),
          way_(Way::Row) {
        if (arguments.size() > 1) return;
        if (isHashedNumber(*arguments[0]))
            way_ = Way::Number;
        else if (isHashedText(*arguments[0]))
            way_ = Way::Text;
    }

    bool ofText() const { return way_ == Way::Text; }

    uint64_t operator()(const Column* const* columns, size_t row) const {
        if (way_ == Way::Number) return mixHash64(number(columns[0]->bytesAt(row).data()));
        if (way_ == Way::Text) return cityHash64(columns[0]->bytesAt(row));
        return row_hash_(columns, row);
    }

private:
    enum class Way { Number, Text, Row };

    uint64_t number(const char* bytes) const {
        switch (width_) {
            case 1:
                return foldedKey(load<uint8_t>(bytes), order_);
            case 2:
                return foldedKey(load<uint16_t>(bytes), order_);
            case 4:
                return foldedKey(load<uint32_t>(bytes), order_);
            case 8:
                return foldedKey(load<uint64_t>(bytes), order_);
            case 16:
                return foldedKey(load<UInt128>(bytes), order_);
            default:
                return foldedKey(load<UInt256>(bytes), order_);
        }
    }

    template <typename K>
    static K load(const char* bytes) {
        K bits;
        std::memcpy(static_cast<void*>(&bits), bytes, sizeof(K));
        return bits;
    }

    RowHash64 row_hash_;
    NumberOrder order_;
    size_t width_;
    Way way_;
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
template <typename Hash>
class UniqCombined final : public AggregateBase<UniqCombined<Hash>, CombinedState<Hash>, ColumnsInput> {
public:
    using State = CombinedState<Hash>;
    using Base = AggregateBase<UniqCombined<Hash>, State, ColumnsInput>;

    UniqCombined(Signature signature, unsigned precision)
        : Base(std::move(signature), types::uint64()),
          hashes_(this->argumentTypes()),
          precision_(precision),
          set_limit_(size_t{1} << (precision - (sizeof(Hash) == 4 ? 4 : 5))) {}

    static constexpr bool kEmptyIsZero = true;

    void addRow(State& state, const ColumnsInput& input, size_t row, Arena& arena) const {
        insert(state, static_cast<Hash>(hashes_(input.columns, row)), arena);
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

    Hashes hashes_;
    unsigned precision_;
    size_t set_limit_;
};

AggregateFunctionPtr makeUniqCombined(Signature signature, bool is_64) {
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
    // Texts have hashes of 64 bits either way.
    if (is_64 || Hashes(signature.arguments).ofText())
        return std::make_shared<UniqCombined<uint64_t>>(std::move(signature), precision);
    return std::make_shared<UniqCombined<uint32_t>>(std::move(signature), precision);
}

template <bool is_64>
AggregateFunctionPtr createUniqCombined(Signature signature) {
    return makeUniqCombined(std::move(signature), is_64);
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

/// Keys of numbers travel in the argument's type.
template <typename K>
class NumberCells {
public:
    using Cell = K;
    using Input = BitsInput<K>;

    explicit NumberCells(const std::vector<TypePtr>& arguments)
        : physical_(arguments[0]->physical()), order_(physical_) {}

    Cell cell(const Input& input, size_t row) const {
        const K bits = input[row];
        if constexpr (sizeof(K) > 8) {
            return Cell(mixHash64(foldedKey(bits, order_)));
        } else {
            if (!order_.isFloat()) return bits;
            // Of a float: its bits, taken for an integer, as a float again.
            Cell cell{};
            dispatchPhysical(physical_, [&]<typename T>(Tag<T>) {
                if constexpr (kIsFloat<T> && sizeof(T) == sizeof(K))
                    cell = toKey(convertNumber<T>(uint64_t{bits}));
            });
            return cell;
        }
    }

    uint64_t key(const Cell& cell) const {
        if constexpr (sizeof(K) == 32)
            return cell.words[0];
        else if constexpr (sizeof(K) == 16)
            return static_cast<uint64_t>(cell);
        else
            return order_.extended(cell);
    }

private:
    Physical physical_;
    NumberOrder order_;
};

/// All others as 64-bit hashes.
class HashCells {
public:
    using Cell = uint64_t;
    using Input = ColumnsInput;

    explicit HashCells(const std::vector<TypePtr>& arguments) : hashes_(arguments) {}

    Cell cell(const Input& input, size_t row) const { return hashes_(input.columns, row); }

    static uint64_t key(Cell cell) { return cell; }

private:
    Hashes hashes_;
};

template <typename Cell>
struct Hll12State {
    CompactSet<Cell> set;
    HyperLogLog<uint32_t> registers;
};

template <typename Cells>
class UniqHll12 final
    : public AggregateBase<UniqHll12<Cells>, Hll12State<typename Cells::Cell>, typename Cells::Input> {
public:
    using Cell = typename Cells::Cell;
    using Input = typename Cells::Input;
    using State = Hll12State<Cell>;
    using Base = AggregateBase<UniqHll12<Cells>, State, Input>;

    explicit UniqHll12(Signature signature)
        : Base(std::move(signature), types::uint64()), cells_(this->argumentTypes()) {}

    static constexpr bool kEmptyIsZero = true;

    void addRow(State& state, const Input& input, size_t row, Arena& arena) const {
        insert(state, cells_.cell(input, row), arena);
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
            state.registers.insert(wangHash32(cells_.key(cell)), kPrecision);
        else if (state.set.insert(cell, arena) && state.set.size() > kSmallSize)
            becomeLarge(state, arena);
    }

    void becomeLarge(State& state, Arena& arena) const {
        state.registers.allocate(kPrecision, arena);
        state.set.forEach(
            [&](const Cell& cell) { state.registers.insert(wangHash32(cells_.key(cell)), kPrecision); });
        CompactSet<Cell> nothing;
        state.set.swap(nothing);
    }

    Cells cells_;
};

AggregateFunctionPtr createUniqHll12(Signature signature) {
    expectNoParameters(signature);
    expectSome(signature);
    const TypePtr argument = signature.arguments[0];
    // A UUID's cell is its hash, unlike that of a UInt128.
    if (signature.arguments.size() > 1 || argument->kind() == TypeKind::UUID || !isHashedNumber(*argument))
        return std::make_shared<UniqHll12<HashCells>>(std::move(signature));
    AggregateFunctionPtr function;
    dispatchWidth(argument->physical(), [&]<typename K>(Tag<K>) {
        function = std::make_shared<UniqHll12<NumberCells<K>>>(std::move(signature));
    });
    return function;
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
    dispatchWidth(argument->physical(), [&]<typename K>(Tag<K>) {
        if constexpr (sizeof(K) <= 16)
            function = std::make_shared<UniqUpTo<K, true>>(std::move(signature), narrow);
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
