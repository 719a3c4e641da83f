#include "common/columns/nullable_column.h"
#include "server/aggregates/single_value.h"

namespace shardd::aggregates {

namespace {

// -- any_respect_nulls ------------------------------------------------------------------------------

/// The state's first byte; it travels.
enum class Respect : uint8_t { Empty = 1, Null = 2, Value = 3 };

struct RespectState {
    Respect kind = Respect::Empty;
    AnySingle value;
};

/// The first (last) value, NULL or not.
template <bool is_last>
class AnyRespectNulls final : public AggregateBase<AnyRespectNulls<is_last>, RespectState, ColumnsInput> {
public:
    using Base = AggregateBase<AnyRespectNulls<is_last>, RespectState, ColumnsInput>;
    using Base::Base;

    void addRow(RespectState& state, const ColumnsInput& input, size_t row, Arena& arena) const {
        if (!is_last && state.kind != Respect::Empty) return;
        const Column& column = *input.columns[0];
        state.kind = column.isNullAt(row) ? Respect::Null : Respect::Value;
        if (state.kind == Respect::Value) state.value.set(AnySingle::Input<0>(input.columns), row, arena);
    }

    void mergeStates(RespectState& state, const RespectState& other, Arena& arena) const {
        if (other.kind == Respect::Empty || (!is_last && state.kind != Respect::Empty)) return;
        state.kind = other.kind;
        if (state.kind == Respect::Value) state.value.set(other.value, arena);
    }

    void write(const RespectState& state, Writer& out) const {
        out.writeByte(static_cast<uint8_t>(state.kind));
        if (state.kind == Respect::Value) state.value.writeValue(out);
    }

    void read(RespectState& state, Reader& in, Arena& arena) const {
        const uint8_t kind = in.readByte();
        if (kind < 1 || kind > 3)
            throw Error(ErrorCode::INCORRECT_DATA, "Wrong first byte {} in a state of {}", kind,
                        this->name());
        state.kind = static_cast<Respect>(kind);
        if (state.kind == Respect::Value) state.value.readValue(*this->argumentTypes()[0], in, arena);
    }

    void finish(RespectState& state, Column& to, Arena&) const {
        if (state.kind == Respect::Value)
            state.value.appendTo(to);
        else
            insertDefaults(*this->resultType(), to, 1);
    }
};

template <bool is_last>
AggregateFunctionPtr createAnyRespectNulls(Signature signature) {
    expectNoParameters(signature);
    expectArguments(signature, 1);
    TypePtr result = signature.arguments[0];
    return std::make_shared<AnyRespectNulls<is_last>>(std::move(signature), std::move(result));
}

// -- singleValueOrNull ------------------------------------------------------------------------------

struct OnlyState {
    AnySingle value;
    bool first = true;
    bool is_null = false;
};

/// The value of a sub-query that must give one: of more than one row, NULL.
class SingleValueOrNull final : public AggregateBase<SingleValueOrNull, OnlyState, ColumnsInput> {
public:
    using AggregateBase::AggregateBase;

    void addRow(OnlyState& state, const ColumnsInput& input, size_t row, Arena& arena) const {
        const AnySingle::Input<0> value(input.columns);
        if (state.first) {
            state.first = false;
            state.value.set(value, row, arena);
        } else if (!state.value.has() || !state.value.equals(value, row)) {
            state.is_null = true;
        }
    }

    void mergeStates(OnlyState& state, const OnlyState& other, Arena& arena) const {
        if (!other.value.has()) return;
        if (state.first && !other.first) {
            state.first = false;
            state.value.set(other.value, arena);
            state.is_null = other.is_null;
        } else if (!state.value.has() || !state.value.equals(other.value) || other.is_null) {
            state.is_null = true;
        }
    }

    void write(const OnlyState& state, Writer& out) const { state.value.write(out); }

    void read(OnlyState& state, Reader& in, Arena& arena) const {
        // The state does not tell whether more rows came; ClickHouse then finishes it as NULL, and so do we.
        state.value.read(*argumentTypes()[0], in, arena);
    }

    void finish(OnlyState& state, Column& to, Arena&) const {
        if (state.is_null || state.first)
            to.insertDefault(1);
        else
            state.value.appendTo(to);
    }
};

AggregateFunctionPtr createSingleValueOrNull(Signature signature) {
    expectNoParameters(signature);
    expectArguments(signature, 1);
    TypePtr result = makeNullable(signature.arguments[0]);
    return std::make_shared<SingleValueOrNull>(std::move(signature), std::move(result));
}

// -- anyHeavy ---------------------------------------------------------------------------------------

template <typename Single>
struct HeavyState {
    Single value;
    uint64_t counter = 0;
};

/// A value that is in more than half of the rows, if there is one.
template <typename Single>
class AnyHeavy final
    : public AggregateBase<AnyHeavy<Single>, HeavyState<Single>, typename Single::template Input<0>> {
public:
    using State = HeavyState<Single>;
    using Input = typename Single::template Input<0>;
    using Base = AggregateBase<AnyHeavy<Single>, State, Input>;
    using Base::Base;

    static constexpr bool kEmptyIsZero = true;

    void addRow(State& state, const Input& input, size_t row, Arena& arena) const {
        if (state.value.has() && state.value.equals(input, row)) {
            ++state.counter;
        } else if (state.counter == 0) {
            state.value.set(input, row, arena);
            ++state.counter;
        } else {
            --state.counter;
        }
    }

    void mergeStates(State& state, const State& other, Arena& arena) const {
        if (!other.value.has()) return;
        if (state.value.has() && state.value.equals(other.value)) {
            state.counter += other.counter;
        } else if (!state.value.has() || state.counter < other.counter) {
            state.value.set(other.value, arena);
            state.counter = other.counter - state.counter;
        } else {
            state.counter -= other.counter;
        }
    }

    void write(const State& state, Writer& out) const {
        state.value.write(out);
        out.writeFixed(state.counter);
    }

    void read(State& state, Reader& in, Arena& arena) const {
        state.value.read(*this->resultType(), in, arena);
        in.readFixed(state.counter);
    }

    void finish(State& state, Column& to, Arena&) const {
        appendOrDefault(state.value, *this->resultType(), to);
    }
};

AggregateFunctionPtr createAnyHeavy(Signature signature) {
    expectNoParameters(signature);
    expectArguments(signature, 1);
    const TypePtr type = signature.arguments[0];
    AggregateFunctionPtr function;
    dispatchSingle(*type, [&]<typename Single>(Tag<Single>) {
        function = std::make_shared<AnyHeavy<Single>>(std::move(signature), type);
    });
    return function;
}

}  // namespace

std::span<const AggregateInfo> singleValuesAggregates() {
    static const AggregateInfo kInfos[] = {
        {.name = "any_respect_nulls",
         .create = createAnyRespectNulls<false>,
         .nulls = Nulls::Own,
         .syntax = "any_respect_nulls(x)",
         .description = "The first value met, NULL or not.",
         .example = "SELECT any_respect_nulls(number) FROM numbers(4)",
         .example_result = "0"},
        {.name = "anyLast_respect_nulls",
         .create = createAnyRespectNulls<true>,
         .nulls = Nulls::Own,
         .syntax = "anyLast_respect_nulls(x)",
         .description = "The last value met, NULL or not.",
         .example = "SELECT anyLast_respect_nulls(number) FROM numbers(4)",
         .example_result = "3"},
        {.name = "singleValueOrNull",
         .create = createSingleValueOrNull,
         .nulls = Nulls::Own,
         .syntax = "singleValueOrNull(x)",
         .description = "The only value, or NULL when there are several.",
         .example = "SELECT singleValueOrNull(number) FROM numbers(1)",
         .example_result = "0"},
        {.name = "anyHeavy",
         .create = createAnyHeavy,
         .syntax = "anyHeavy(x)",
         .description = "A value that more than half of the rows have, if there is one.",
         .example = "SELECT anyHeavy(intDiv(number, 3)) FROM numbers(4)",
         .example_result = "0"},
    };
    return kInfos;
}

}  // namespace shardd::aggregates
