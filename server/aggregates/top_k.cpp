#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <vector>

#include "server/aggregates/compact_set.h"
#include "server/aggregates/elements.h"
#include "server/aggregates/row_hash.h"

namespace shardd::aggregates {

namespace {

/// Keys as they travel: numbers raw; strings, arrays of constant width as their bytes; anything else in its
/// arena form.
template <typename K>
struct NumberKeys {
    using Key = K;
    using Input = BitsInput<K>;

    NumberOrder order;

    explicit NumberKeys(const Type& type) : order(type.physical()) {}

    static K load(const Input& input, size_t row, Writer&) { return input[row]; }

    static K keep(const K& key, Arena&) { return key; }

    static bool equal(const K& a, const K& b) { return a == b; }

    uint64_t hash(const K& key) const {
        if constexpr (sizeof(K) <= 8)
            return mixHash64(order.extended(key));
        else
            return mixHash64(numberKey(key));
    }

    static void write(const K& key, Writer& out) { out.writeFixed(key); }

    static K read(const Type&, Reader& in, Arena&) { return in.readFixed<K>(); }

    static void append(const K& key, const Type& type, Column& to) {
        appendBits(type.physical(), to, &key, 1);
    }
};

struct AnyInput {
    const Column* column;

    explicit AnyInput(const Column* const* arguments) : column(arguments[0]) {}
};

template <bool form>
struct TextKeys {
    using Key = std::string_view;
    using Input = AnyInput;

    explicit TextKeys(const Type&) {}

    static std::string_view load(const Input& input, size_t row, Writer& buffer) {
        if constexpr (!form) return contiguousBytes(*input.column, row);
        buffer.clear();
        input.column->serializeKey(row, buffer);
        return buffer.view();
    }

    static std::string_view keep(std::string_view key, Arena& arena) { return arena.insert(key); }

    static bool equal(std::string_view a, std::string_view b) { return a == b; }

    static uint64_t hash(std::string_view key) { return cityHash64(key); }

    static void write(std::string_view key, Writer& out) { out.writeString(key); }

    static std::string_view read(const Type& type, Reader& in, Arena& arena) {
        const std::string text = in.readString();
        if constexpr (form)
            checkArenaForm(type, text);
        else if (type.kind() == TypeKind::Array ? text.size() % type.child()->width() != 0
                                                : type.width() != 0 && text.size() != type.width())
            throw Error(ErrorCode::INCORRECT_DATA, "Wrong size {} of a value in a state of topK",
                        text.size());
        return arena.insert(text);
    }

    static void append(std::string_view key, const Type& type, Column& to) {
        if constexpr (form) {
            to.insertKey(key.data());
        } else if (to.kind() == ColumnKind::Array) {
            auto& array = static_cast<ArrayColumn&>(to);
            for (size_t at = 0; at < key.size(); at += type.child()->width())
                array.mutableElements().insertKey(key.data() + at);
            array.endRow();
        } else if (to.kind() == ColumnKind::String) {
            static_cast<StringColumn&>(to).insertText(key);
        } else {
            to.insertKey(key.data());
        }
    }
};

struct Counts {
    uint64_t hash;
    uint64_t count;
    uint64_t error;
};

bool before(const Counts* a, const Counts* b) {
    return a->count > b->count || (a->count == b->count && a->error < b->error);
}

size_t partition(std::vector<const Counts*>& list, size_t left, size_t k, size_t right) {
    std::swap(list[left], list[k]);
    const bool at_left = before(list[left], list[right]);
    if (at_left) std::swap(list[left], list[right]);
    // The place, not what stands there now: the first swap changes it, in ClickHouse too.
    const size_t pivot = at_left ? left : right;
    size_t i = left;
    size_t j = right;
    while (i < j) {
        std::swap(list[i], list[j]);
        ++i;
        --j;
        while (before(list[i], list[pivot])) ++i;
        while (before(list[pivot], list[j])) --j;
    }
    if (at_left)
        std::swap(list[left], list[j]);
    else
        std::swap(list[right], list[++j]);
    return j;
}

/// Puts the counter of rank `k` to its place among left … right, more frequent ones before it.
void selectMostFrequent(std::vector<const Counts*>& list, size_t left, size_t k, size_t right) {
    constexpr size_t kSampledSize = 600;
    while (right > left) {
        if (right - left > kSampledSize) {
            const auto n = static_cast<double>(right - left + 1);
            const auto rank = static_cast<double>(k - left + 1);
            const double log_n = std::log(n);
            const double sample = 0.5 * std::exp(2 * log_n / 3);
            const double spread =
                0.5 * std::sqrt(log_n * sample * (n - sample) / n) * (rank < n / 2 ? -1 : 1);
            const double from =
                std::max(static_cast<double>(left), static_cast<double>(k) - rank * sample / n + spread);
            const double until = std::min(static_cast<double>(right),
                                          static_cast<double>(k) + (n - rank) * sample / n + spread);
            selectMostFrequent(list, static_cast<size_t>(from), k, static_cast<size_t>(until));
        }
        const size_t middle = partition(list, left, k, right);
        if (middle <= k) left = middle + 1;
        if (k <= middle) {
            if (middle == 0) return;
            right = middle - 1;
        }
    }
}

/// The `limit` most frequent ones, most frequent first. Which of equal ones, and in which order, is that of a
/// Floyd-Rivest selection, so that ties come out as ClickHouse's do.
void keepMostFrequent(std::vector<const Counts*>& list, size_t limit) {
    const size_t count = std::min(limit, list.size());
    if (count > 0) selectMostFrequent(list, 0, count - 1, list.size() - 1);
    list.resize(count);
    std::stable_sort(list.begin(), list.end(), before);
}

template <typename Key>
struct Counter : Counts {
    Key key;
};

/// Counters in the order their values came, an index over them, and what is known of values that were dropped
/// (alpha).
template <typename Key>
struct TopKState {
    std::vector<Counter<Key>, CountedAllocator<Counter<Key>>> counters;
    /// Slots of counters + 1 by hash; nothing while there are few.
    std::vector<uint32_t, CountedAllocator<uint32_t>> index;
    std::vector<uint64_t, CountedAllocator<uint64_t>> alpha;

    static constexpr size_t kUnindexed = 8;

    template <typename Equal>
    Counter<Key>* find(uint64_t hash, Equal&& equal) {
        if (index.empty()) {
            for (Counter<Key>& counter : counters)
                if (counter.hash == hash && equal(counter.key)) return &counter;
            return nullptr;
        }
        const size_t mask = index.size() - 1;
        for (size_t at = hash & mask; index[at] != 0; at = (at + 1) & mask) {
            Counter<Key>& counter = counters[index[at] - 1];
            if (counter.hash == hash && equal(counter.key)) return &counter;
        }
        return nullptr;
    }

    void push(const Counter<Key>& counter) {
        counters.push_back(counter);
        if (counters.size() <= kUnindexed) return;
        if (index.size() < counters.size() * 2)
            reindex();
        else
            place(counters.size());
    }

    void reindex() {
        index.clear();
        if (counters.size() <= kUnindexed) return;
        index.resize(std::bit_ceil(counters.size() * 4));
        for (size_t i = 1; i <= counters.size(); ++i) place(i);
    }

    /// The `limit` most frequent counters, most frequent first.
    std::vector<const Counter<Key>*> top(size_t limit) const {
        std::vector<const Counts*> list;
        list.reserve(counters.size());
        for (const Counter<Key>& counter : counters) list.push_back(&counter);
        keepMostFrequent(list, limit);
        std::vector<const Counter<Key>*> result(list.size());
        for (size_t i = 0; i < list.size(); ++i) result[i] = static_cast<const Counter<Key>*>(list[i]);
        return result;
    }

private:
    void place(size_t number) {
        const size_t mask = index.size() - 1;
        size_t at = counters[number - 1].hash & mask;
        while (index[at] != 0) at = (at + 1) & mask;
        index[at] = static_cast<uint32_t>(number);
    }
};

struct TopKSpec {
    uint64_t limit;
    uint64_t capacity;
    bool weighted;
    bool counts;
};

template <typename Keys>
struct TopKInput {
    typename Keys::Input keys;
    const Column* const* arguments;

    explicit TopKInput(const Column* const* columns) : keys(columns), arguments(columns) {}

    uint64_t weight(size_t row) const {
        const Value value = arguments[1]->value(row);
        return value.kind() == Value::Kind::Int64 ? static_cast<uint64_t>(value.get<int64_t>())
                                                  : value.to<uint64_t>();
    }
};

/// The most frequent values. All are counted while they are not many more than the capacity; then the rarest
/// are dropped, and a table remembers by hash how often they had come, as filtered space-saving does.
template <typename Keys>
class TopK final
    : public AggregateBase<TopK<Keys>, std::unique_ptr<TopKState<typename Keys::Key>>, TopKInput<Keys>> {
public:
    using Input = TopKInput<Keys>;
    using Key = typename Keys::Key;
    using Lists = TopKState<Key>;
    using State = std::unique_ptr<Lists>;
    using Base = AggregateBase<TopK<Keys>, State, Input>;

    TopK(Signature signature, TypePtr result, TopKSpec spec)
        : Base(std::move(signature), std::move(result)),
          keys_(*this->argumentTypes()[0]),
          spec_(spec),
          alpha_size_(std::bit_ceil(spec.capacity * 6 + 1)) {}

    static constexpr bool kEmptyIsZero = true;

    void addRow(State& state, const Input& input, size_t row, Arena& arena) const {
        const uint64_t weight = spec_.weighted ? input.weight(row) : 1;
        if (weight == 0) return;
        Writer buffer;
        const auto key = Keys::load(input.keys, row, buffer);
        insert(lists(state), key, keys_.hash(key), weight, 0, arena);
    }

    void mergeStates(State& state, const State& other, Arena& arena) const {
        if (!other) return;
        Lists& mine = lists(state);
        for (const Counter<Key>& counter : other->counters)
            insert(mine, counter.key, counter.hash, counter.count, counter.error, arena);
        if (other->alpha.empty()) return;
        std::vector<uint64_t, CountedAllocator<uint64_t>>& alpha = alphaOf(mine);
        for (size_t i = 0; i < alpha_size_; ++i) alpha[i] += other->alpha[i];
    }

    void write(const State& state, Writer& out) const {
        if (!state || state->counters.empty()) {
            out.writeVarUInt(0);
            out.writeVarUInt(0);
            return;
        }
        const auto sorted = state->top(spec_.capacity);
        const size_t count = std::min<size_t>(sorted.size(), spec_.capacity);
        out.writeVarUInt(count);
        for (size_t i = 0; i < count; ++i) {
            Keys::write(sorted[i]->key, out);
            out.writeVarUInt(sorted[i]->count);
            out.writeVarUInt(sorted[i]->error);
        }
        out.writeVarUInt(alpha_size_);
        for (size_t i = 0; i < alpha_size_; ++i) out.writeVarUInt(state->alpha.empty() ? 0 : state->alpha[i]);
    }

    void read(State& state, Reader& in, Arena& arena) const {
        const size_t count = readCount(in, spec_.capacity, "set of counters");
        Lists& mine = lists(state);
        for (size_t i = 0; i < count; ++i) {
            const Key key = Keys::read(*this->argumentTypes()[0], in, arena);
            const uint64_t frequency = in.readVarUInt();
            insert(mine, key, keys_.hash(key), frequency, in.readVarUInt(), arena);
        }
        const size_t alpha = readCount(in, alpha_size_ * 4, "alpha vector");
        if (alpha == 0 && count > 0)
            throw Error(ErrorCode::INCORRECT_DATA, "The alpha vector is missing in a state of {}",
                        this->name());
        for (size_t i = 0; i < alpha; ++i) {
            const uint64_t value = in.readVarUInt();
            if (value != 0 && alpha == alpha_size_) alphaOf(mine)[i] = value;
        }
    }

    void finish(State& state, Column& to, Arena&) const {
        auto& array = static_cast<ArrayColumn&>(to);
        const auto sorted = state ? state->top(spec_.limit) : std::vector<const Counter<Key>*>();
        const Type& type = *this->argumentTypes()[0];
        for (size_t i = 0; i < std::min<size_t>(spec_.limit, sorted.size()); ++i) {
            const Counter<Key>& counter = *sorted[i];
            if (!spec_.counts) {
                Keys::append(counter.key, type, array.mutableElements());
                continue;
            }
            auto& tuple = static_cast<TupleColumn&>(array.mutableElements());
            Keys::append(counter.key, type, tuple.mutableElement(0));
            appendFixed(tuple.mutableElement(1), counter.count);
            appendFixed(tuple.mutableElement(2), counter.error);
            tuple.endRow();
        }
        array.endRow();
    }

private:
    static Lists& lists(State& state) {
        if (!state) state = std::make_unique<Lists>();
        return *state;
    }

    std::vector<uint64_t, CountedAllocator<uint64_t>>& alphaOf(Lists& mine) const {
        if (mine.alpha.empty()) mine.alpha.resize(alpha_size_);
        return mine.alpha;
    }

    void insert(
        Lists& mine, const Key& key, uint64_t hash, uint64_t weight, uint64_t error, Arena& arena) const {
        if (Counter<Key>* counter =
                mine.find(hash, [&](const Key& other) { return Keys::equal(key, other); })) {
            counter->count += weight;
            counter->error += error;
            return;
        }
        const uint64_t missed = mine.alpha.empty() ? 0 : mine.alpha[hash & (alpha_size_ - 1)];
        mine.push({{hash, missed + weight, missed + error}, Keys::keep(key, arena)});
        if (mine.counters.size() > spec_.capacity * kSlack + kAlwaysKept) dropRarest(mine);
    }

    void dropRarest(Lists& mine) const {
        const auto sorted = mine.top(mine.counters.size());
        std::vector<Counter<Key>, CountedAllocator<Counter<Key>>> kept;
        for (size_t i = 0; i < sorted.size(); ++i) {
            if (i < spec_.capacity)
                kept.push_back(*sorted[i]);
            else
                alphaOf(mine)[sorted[i]->hash & (alpha_size_ - 1)] += sorted[i]->count - sorted[i]->error;
        }
        mine.counters = std::move(kept);
        mine.reindex();
    }

    /// Counters beyond the capacity before the rarest are dropped.
    static constexpr size_t kSlack = 4;
    static constexpr size_t kAlwaysKept = 64;

    Keys keys_;
    TopKSpec spec_;
    size_t alpha_size_;
};

TypePtr countsType(const TypePtr& item) {
    return types::tuple({item, types::uint64(), types::uint64()}, {"item", "count", "error"});
}

TopKSpec parseSpec(const Signature& signature, bool weighted, bool approximate) {
    constexpr uint64_t kDefaultLimit = 10;
    constexpr uint64_t kDefaultLoad = 3;
    constexpr uint64_t kMaxCapacity = 0xFFFFFF;
    const std::vector<Value>& parameters = signature.parameters;
    if (parameters.size() > 3)
        throw Error(ErrorCode::TOO_MANY_ARGUMENTS_FOR_FUNCTION,
                    "Aggregate function '{}' requires three parameters or less", signature.name);
    const auto integer = [&](size_t i) {
        const bool is_integer =
            parameters[i].kind() == Value::Kind::UInt64 || parameters[i].kind() == Value::Kind::Int64;
        if (!is_integer || parameters[i].to<int64_t>() <= 0)
            throw Error(ErrorCode::ARGUMENT_OUT_OF_BOUND,
                        "Parameter {} is illegal for aggregate function '{}'", literalText(parameters[i]),
                        signature.name);
        return parameters[i].to<uint64_t>();
    };
    TopKSpec spec{kDefaultLimit, 0, weighted, approximate};
    if (!parameters.empty()) spec.limit = integer(0);
    // approx_top_* name the capacity itself, the others a factor.
    const uint64_t second = parameters.size() > 1 ? integer(1) : 0;
    if (approximate)
        spec.capacity = second ? second : spec.limit * kDefaultLoad;
    else
        spec.capacity = spec.limit * (second ? second : kDefaultLoad);
    if (parameters.size() == 3) {
        if (parameters[2].kind() != Value::Kind::String || parameters[2].get<std::string>() != "counts")
            throw Error(ErrorCode::BAD_ARGUMENTS,
                        "The third parameter of aggregate function '{}' may only be 'counts'",
                        signature.name);
        spec.counts = true;
    }
    if (spec.limit > kMaxCapacity || spec.capacity > kMaxCapacity)
        throw Error(ErrorCode::ARGUMENT_OUT_OF_BOUND,
                    "Too large parameter(s) for aggregate function '{}' (it is {}, limit is {})",
                    signature.name, std::max(spec.limit, spec.capacity), kMaxCapacity);
    if (approximate && spec.capacity < spec.limit) spec.capacity = spec.limit;
    return spec;
}

AggregateFunctionPtr makeTopK(Signature signature, bool weighted, bool approximate) {
    expectArguments(signature, weighted ? 2 : 1);
    const TopKSpec spec = parseSpec(signature, weighted, approximate);
    const TypePtr argument = signature.arguments[0];
    if (weighted && (!signature.arguments[1]->isInteger() || signature.arguments[1]->width() > 8) &&
        signature.arguments[1]->kind() != TypeKind::Bool)
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    "The second argument for aggregate function '{}' must have integer type", signature.name);
    TypePtr result = types::array(spec.counts ? countsType(argument) : argument);
    AggregateFunctionPtr function;
    const auto make = [&]<typename Keys>(Tag<Keys>) {
        function = std::make_shared<TopK<Keys>>(std::move(signature), std::move(result), spec);
    };
    if (isNumberElement(*argument))
        dispatchWidth(argument->physical(), [&]<typename K>(Tag<K>) { make(Tag<NumberKeys<K>>{}); });
    else if (isContiguous(*argument))
        make(Tag<TextKeys<false>>{});
    else
        make(Tag<TextKeys<true>>{});
    return function;
}

template <bool weighted, bool approximate>
AggregateFunctionPtr createTopK(Signature signature) {
    return makeTopK(std::move(signature), weighted, approximate);
}

}  // namespace

std::span<const AggregateInfo> topKAggregates() {
    static const AggregateInfo kInfos[] = {
        {.name = "topK",
         .create = createTopK<false, false>,
         .syntax = "topK[(N[, load_factor[, 'counts']])](x)",
         .description = "Approximately the N most frequent values, most frequent first.",
         .example = "SELECT topK(1)(intDiv(number, 2)) FROM numbers(3)",
         .example_result = "[0]"},
        {.name = "topKWeighted",
         .create = createTopK<true, false>,
         .nulls = Nulls::FlagAlwaysOne,
         .syntax = "topKWeighted[(N[, load_factor[, 'counts']])](x, weight)",
         .description = "As topK, each row counted `weight` times.",
         .example = "SELECT topKWeighted(1)(number, number) FROM numbers(4)",
         .example_result = "[3]"},
        {.name = "approx_top_k",
         .create = createTopK<false, true>,
         .case_insensitive = true,
         .syntax = "approx_top_k[(N[, reserved])](x)",
         .description = "The most frequent values with their counts and how far these may be too high.",
         .example = "SELECT approx_top_k(1)(intDiv(number, 2)) FROM numbers(3)",
         .example_result = "[(0,2,0)]"},
        {.name = "approx_top_sum",
         .create = createTopK<true, true>,
         .case_insensitive = true,
         .syntax = "approx_top_sum[(N[, reserved])](x, weight)",
         .description = "As approx_top_k, weighted.",
         .example = "SELECT approx_top_sum(1)(number, number) FROM numbers(4)",
         .example_result = "[(3,3,0)]"},
    };
    return kInfos;
}

}  // namespace shardd::aggregates
