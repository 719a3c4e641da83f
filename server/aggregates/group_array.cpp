#include <algorithm>
#include <optional>

#include "server/aggregates/elements.h"
#include "server/aggregates/random.h"

namespace shardd::aggregates {

bool isNumberElement(const Type& type) {
    switch (type.kind()) {
        case TypeKind::Bool:
        case TypeKind::Date:
        case TypeKind::DateTime:
        case TypeKind::Enum8:
        case TypeKind::Enum16:
        case TypeKind::IPv4:
            return true;
        default:
            return type.isInteger() || type.isFloat();
    }
}

uint64_t positiveParameter(const Value& value, const std::string& name) {
    const bool integer = value.kind() == Value::Kind::UInt64 || value.kind() == Value::Kind::Int64;
    if (!integer || value.to<int64_t>() <= 0)
        throw Error(ErrorCode::BAD_ARGUMENTS, "Parameter for aggregate function {} should be positive number",
                    name);
    return value.to<uint64_t>();
}

namespace {

// -- groupArray -------------------------------------------------------------------------------------

/// The values in the order they came; with a limit, the first ones.
template <typename Elements>
class GroupArray final : public QuickAggregate<GroupArray<Elements>,
                                               ArenaArray<typename Elements::Element>,
                                               typename Elements::Input> {
public:
    using State = ArenaArray<typename Elements::Element>;
    using Input = typename Elements::Input;
    using Base = QuickAggregate<GroupArray<Elements>, State, Input>;

    GroupArray(Signature signature, TypePtr result, uint64_t limit)
        : Base(std::move(signature), std::move(result)), limit_(limit) {}

    static constexpr bool kEmptyIsZero = true;

    void addRow(State& state, const Input& input, size_t row, Arena& arena) const {
        if (state.size >= limit_) return;
        state.push(Elements::load(input, row, arena), arena);
    }

    void addAll(State& state, const Input& input, size_t from, size_t rows, Arena& arena) const {
        if (limit_ != UINT64_MAX)
            rows = std::min<size_t>(rows, limit_ - std::min<uint64_t>(limit_, state.size));
        state.reserve(state.size + rows, arena);
        for (size_t row = from; row < from + rows; ++row)
            state.data[state.size++] = Elements::load(input, row, arena);
    }

    void mergeStates(State& state, const State& other, Arena& arena) const {
        const size_t taken = std::min<uint64_t>(other.size, limit_ - std::min<uint64_t>(limit_, state.size));
        state.reserve(state.size + taken, arena);
        for (size_t i = 0; i < taken; ++i) state.data[state.size++] = Elements::keep(other[i], arena);
    }

    void write(const State& state, Writer& out) const {
        out.writeVarUInt(state.size);
        for (const auto& element : state) Elements::write(element, out);
    }

    void read(State& state, Reader& in, Arena& arena) const {
        const size_t count = readCount(in, std::min<uint64_t>(kMaxElements, limit_), "array");
        for (size_t i = 0; i < count; ++i)
            state.push(Elements::read(*this->argumentTypes()[0], in, arena), arena);
    }

    void finish(State& state, Column& to, Arena&) const {
        auto& array = static_cast<ArrayColumn&>(to);
        Elements::append(state, *this->argumentTypes()[0], array.mutableElements());
        array.endRow();
    }

private:
    uint64_t limit_;
};

AggregateFunctionPtr createGroupArray(Signature signature) {
    expectArguments(signature, 1);
    uint64_t limit = UINT64_MAX;
    if (signature.parameters.size() > 1)
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Incorrect number of parameters for aggregate function {}, should be 0 or 1",
                    signature.name);
    if (!signature.parameters.empty()) limit = positiveParameter(signature.parameters[0], signature.name);
    const TypePtr argument = signature.arguments[0];
    AggregateFunctionPtr function;
    dispatchElements(*argument, [&]<typename Elements>(Tag<Elements>) {
        function =
            std::make_shared<GroupArray<Elements>>(std::move(signature), types::array(argument), limit);
    });
    return function;
}

// -- groupArrayLast, groupArraySample ---------------------------------------------------------------

template <typename Element>
struct SampleState {
    ArenaArray<Element> kept;
    uint64_t total = 0;
    SamplerRandom random{0};
};

/// Of all values at most `limit`: the last ones (a ring), or a random sample of them.
template <typename Elements>
class GroupArrayKept final : public AggregateBase<GroupArrayKept<Elements>,
                                                  SampleState<typename Elements::Element>,
                                                  typename Elements::Input> {
public:
    using State = SampleState<typename Elements::Element>;
    using Input = typename Elements::Input;
    using Base = AggregateBase<GroupArrayKept<Elements>, State, Input>;

    GroupArrayKept(Signature signature, TypePtr result, bool is_last, uint64_t limit, uint64_t seed)
        : Base(std::move(signature), std::move(result)), is_last_(is_last), limit_(limit), seed_(seed) {}

    void create(char* place) const override { (new (place) State())->random = SamplerRandom(seed_); }

    void addRow(State& state, const Input& input, size_t row, Arena& arena) const {
        if (const auto at = nextPlace(state)) put(state, *at, Elements::load(input, row, arena), arena);
    }

    void mergeStates(State& state, const State& other, Arena& arena) const {
        if (state.total == 0) {
            for (const auto& element : other.kept) state.kept.push(Elements::keep(element, arena), arena);
            state.total = other.total;
        } else if (is_last_) {
            // The ring's oldest value first.
            const size_t start = other.kept.size < limit_ ? 0 : other.total % limit_;
            for (size_t i = 0; i < other.kept.size; ++i)
                insert(state, other.kept[(start + i) % other.kept.size], arena);
        } else if (other.total <= limit_) {
            for (const auto& element : other.kept) insert(state, element, arena);
        } else if (state.total <= limit_) {
            ArenaArray<typename Elements::Element> mine = state.kept;
            state.kept = {};
            for (const auto& element : other.kept) state.kept.push(Elements::keep(element, arena), arena);
            state.total = other.total;
            for (const auto& element : mine) insert(state, element, arena);
        } else {
            replaceShare(state, other, arena);
        }
    }

    void write(const State& state, Writer& out) const {
        out.writeVarUInt(state.kept.size);
        for (const auto& element : state.kept) Elements::write(element, out);
        out.writeFixed(state.total);
        if (!is_last_) out.writeString(state.random.text());
    }

    void read(State& state, Reader& in, Arena& arena) const {
        const size_t count = readCount(in, std::min<uint64_t>(kMaxElements, limit_), "array");
        for (size_t i = 0; i < count; ++i)
            state.kept.push(Elements::read(*this->argumentTypes()[0], in, arena), arena);
        in.readFixed(state.total);
        if (state.total < count || (state.total > count && count < limit_))
            throw Error(ErrorCode::INCORRECT_DATA, "Wrong number of values in a state of {}: {} of {}",
                        this->name(), count, state.total);
        if (!is_last_) state.random.parse(in.readString(100));
    }

    void finish(State& state, Column& to, Arena&) const {
        auto& array = static_cast<ArrayColumn&>(to);
        Elements::append(state.kept, *this->argumentTypes()[0], array.mutableElements());
        array.endRow();
    }

private:
    /// Where the next value goes, if it is kept at all.
    std::optional<size_t> nextPlace(State& state) const {
        const uint64_t before = state.total++;
        if (state.kept.size < limit_) return state.kept.size;
        if (is_last_) return before % limit_;
        const uint64_t place = state.random.below(state.total);
        if (place < limit_) return place;
        return std::nullopt;
    }

    void put(State& state, size_t at, const typename Elements::Element& element, Arena& arena) const {
        if (at == state.kept.size)
            state.kept.push(element, arena);
        else
            state.kept[at] = element;
    }

    void insert(State& state, const typename Elements::Element& element, Arena& arena) const {
        if (const auto at = nextPlace(state)) put(state, *at, Elements::keep(element, arena), arena);
    }

    /// Both samples are full: every so many of ours gives way to one of theirs.
    void replaceShare(State& state, const State& other, Arena& arena) const {
        state.total += other.total;
        const double frequency = static_cast<double>(state.total) / static_cast<double>(other.total);
        for (double i = 0; i < static_cast<double>(std::min<size_t>(state.kept.size, other.kept.size));
             i += frequency)
            state.kept[static_cast<size_t>(i)] = Elements::keep(other.kept[static_cast<size_t>(i)], arena);
    }

    bool is_last_;
    uint64_t limit_;
    uint64_t seed_;
};

AggregateFunctionPtr makeGroupArrayKept(Signature signature, bool is_last) {
    expectArguments(signature, 1);
    const size_t parameters = signature.parameters.size();
    if (is_last && parameters != 1)
        throw Error(ErrorCode::BAD_ARGUMENTS, "{} make sense only with max_elems ({}(max_elems)())",
                    signature.name, signature.name);
    if (!is_last && parameters != 1 && parameters != 2)
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Incorrect number of parameters for aggregate function {}, should be 1 or 2",
                    signature.name);
    const uint64_t limit = positiveParameter(signature.parameters[0], signature.name);
    if (limit > kMaxElements)
        throw Error(ErrorCode::BAD_ARGUMENTS, "Too large parameter for aggregate function {}",
                    signature.name);
    constexpr uint64_t kDefaultSeed = 123456;
    const uint64_t seed =
        parameters == 2 ? positiveParameter(signature.parameters[1], signature.name) : kDefaultSeed;
    const TypePtr argument = signature.arguments[0];
    AggregateFunctionPtr function;
    dispatchElements(*argument, [&]<typename Elements>(Tag<Elements>) {
        function = std::make_shared<GroupArrayKept<Elements>>(std::move(signature), types::array(argument),
                                                              is_last, limit, seed);
    });
    return function;
}

template <bool is_last>
AggregateFunctionPtr createGroupArrayKept(Signature signature) {
    return makeGroupArrayKept(std::move(signature), is_last);
}

}  // namespace

std::span<const AggregateInfo> groupArrayAggregates() {
    static const AggregateInfo kInfos[] = {
        {.name = "groupArray",
         .create = createGroupArray,
         .syntax = "groupArray[(max_size)](x)",
         .description = "Array of the values.",
         .example = "SELECT groupArray(number) FROM numbers(3)",
         .example_result = "[0,1,2]"},
        {.name = "groupArrayLast",
         .create = createGroupArrayKept<true>,
         .syntax = "groupArrayLast(max_size)(x)",
         .description = "Array of the last values, as a ring.",
         .example = "SELECT groupArrayLast(2)(number) FROM numbers(4)",
         .example_result = "[2,3]"},
        {.name = "groupArraySample",
         .create = createGroupArrayKept<false>,
         .syntax = "groupArraySample(max_size[, seed])(x)",
         .description = "Array of a random sample of the values.",
         .example = "SELECT length(groupArraySample(2)(number)) FROM numbers(4)",
         .example_result = "2"},
    };
    return kInfos;
}

}  // namespace shardd::aggregates
