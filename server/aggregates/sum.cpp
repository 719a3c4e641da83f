#include "server/aggregates/aggregate_base.h"
#include "server/aggregates/sum_loops.h"
#include "server/aggregates/sum_type.h"
#include "server/aggregates/value_bits.h"

namespace shardd::aggregates {

namespace {

template <typename S>
struct SumState {
    S value{};
};

/// sum and sumWithOverflow: T added up in S.
template <typename T, typename S>
class Sum final : public QuickAggregate<Sum<T, S>, SumState<S>, FixedInput<T>> {
public:
    using Base = QuickAggregate<Sum<T, S>, SumState<S>, FixedInput<T>>;
    using Base::Base;
    using State = SumState<S>;
    using Input = FixedInput<T>;

    static constexpr bool kEmptyIsZero = true;

    Kernel kernel() const override {
        if constexpr (std::is_same_v<S, uint64_t>) return Kernel::SumUInt64;
        if constexpr (std::is_same_v<S, int64_t>) return Kernel::SumInt64;
        if constexpr (std::is_same_v<S, double>) return Kernel::SumFloat64;
        return Kernel::None;
    }

    void addRow(State& state, const Input& input, size_t row, Arena&) const {
        state.value += convertNumber<S>(input[row]);
    }

    void addAll(State& state, const Input& input, size_t from, size_t rows, Arena&) const {
        state.value += sumOf<S>(input.values + from, rows);
    }

    void addMasked(
        State& state, const Input& input, size_t from, size_t rows, const uint8_t* mask, Arena&) const {
        state.value += sumOfMasked<S>(input.values + from, rows, mask + from);
    }

    void mergeStates(State& state, const State& other, Arena&) const { state.value += other.value; }

    void write(const State& state, Writer& out) const { out.writeFixed(state.value); }

    void read(State& state, Reader& in, Arena&) const { in.readFixed(state.value); }

    void finish(State& state, Column& to, Arena&) const { appendFixed(to, state.value); }
};

AggregateFunctionPtr createSum(Signature signature) {
    expectNoParameters(signature);
    expectArguments(signature, 1);
    const TypePtr argument = signature.arguments[0];
    if (!canBeSummed(*argument) && !argument->isEnum()) failArgumentType(signature);
    const TypePtr result = sumType(*argument);
    AggregateFunctionPtr function;
    dispatchSum(*argument, [&]<typename T, typename S>(Tag<T>, Tag<S>) {
        function = std::make_shared<Sum<T, S>>(std::move(signature), result);
    });
    return function;
}

AggregateFunctionPtr createSumWithOverflow(Signature signature) {
    expectNoParameters(signature);
    expectArguments(signature, 1);
    const TypePtr argument = signature.arguments[0];
    if (!canBeSummed(*argument) || argument->kind() == TypeKind::BFloat16) failArgumentType(signature);
    AggregateFunctionPtr function;
    dispatchPhysical(argument->physical(), [&]<typename T>(Tag<T>) {
        if constexpr (kIsNumber<T> && !std::is_same_v<T, BFloat16>)
            function = std::make_shared<Sum<T, T>>(std::move(signature), argument);
    });
    return function;
}

struct KahanState {
    double sum = 0;
    double compensation = 0;

    void add(double value) {
        const double compensated = value - compensation;
        const double next = sum + compensated;
        compensation = (next - sum) - compensated;
        sum = next;
    }
};

/// Σ with the rounding errors kept aside.
class SumKahan final : public AggregateBase<SumKahan, KahanState, NumbersInput> {
public:
    explicit SumKahan(Signature signature)
        : AggregateBase(std::move(signature), types::float64()),
          reader_(numberReader(argumentTypes()[0]->physical())) {}

    static constexpr bool kEmptyIsZero = true;

    NumbersInput inputOf(const Column* const* arguments) const { return {*arguments[0], reader_}; }

    void addRow(KahanState& state, const NumbersInput& input, size_t row, Arena&) const {
        state.add(input[row]);
    }

    void mergeStates(KahanState& state, const KahanState& other, Arena&) const {
        const double raw = state.sum + other.sum;
        const double other_part = raw - state.sum;
        const double self_part = raw - other_part;
        const double compensations =
            ((other.sum - other_part) + (state.sum - self_part)) - state.compensation - other.compensation;
        state.sum = raw + compensations;
        state.compensation = (state.sum - raw) - compensations;
    }

    void write(const KahanState& state, Writer& out) const {
        out.writeFixed(state.sum);
        out.writeFixed(state.compensation);
    }

    void read(KahanState& state, Reader& in, Arena&) const {
        in.readFixed(state.sum);
        in.readFixed(state.compensation);
    }

    void finish(KahanState& state, Column& to, Arena&) const { appendFixed(to, state.sum); }

private:
    NumberReader reader_;
};

AggregateFunctionPtr createSumKahan(Signature signature) {
    expectNoParameters(signature);
    expectArguments(signature, 1);
    const TypePtr argument = signature.arguments[0];
    if (!canBeSummed(*argument)) failArgumentType(signature);
    if (argument->isDecimal()) return createSum(std::move(signature));
    return std::make_shared<SumKahan>(std::move(signature));
}

template <typename S>
struct SumCountState {
    S sum{};
    uint64_t count = 0;
};

/// The sum and the number of its rows, which initiators ask for instead of sum, avg and count over one
/// column.
template <typename T, typename S>
class SumCount final : public QuickAggregate<SumCount<T, S>, SumCountState<S>, FixedInput<T>> {
public:
    using Base = QuickAggregate<SumCount<T, S>, SumCountState<S>, FixedInput<T>>;
    using State = SumCountState<S>;
    using Input = FixedInput<T>;
    using Base::Base;

    static constexpr bool kEmptyIsZero = true;

    void addRow(State& state, const Input& input, size_t row, Arena&) const {
        state.sum += convertNumber<S>(input[row]);
        ++state.count;
    }

    void addAll(State& state, const Input& input, size_t from, size_t rows, Arena&) const {
        state.sum += sumOf<S>(input.values + from, rows);
        state.count += rows;
    }

    void addMasked(
        State& state, const Input& input, size_t from, size_t rows, const uint8_t* mask, Arena&) const {
        state.sum += sumOfMasked<S>(input.values + from, rows, mask + from);
        for (size_t row = from; row < from + rows; ++row) state.count += mask[row] != 0;
    }

    void mergeStates(State& state, const State& other, Arena&) const {
        state.sum += other.sum;
        state.count += other.count;
    }

    void write(const State& state, Writer& out) const {
        out.writeFixed(state.sum);
        out.writeVarUInt(state.count);
    }

    void read(State& state, Reader& in, Arena&) const {
        in.readFixed(state.sum);
        state.count = in.readVarUInt();
    }

    void finish(State& state, Column& to, Arena&) const { appendTuple(to, state.sum, state.count); }
};

AggregateFunctionPtr createSumCount(Signature signature) {
    expectNoParameters(signature);
    expectArguments(signature, 1);
    const TypePtr argument = signature.arguments[0];
    if (!canBeSummed(*argument)) failArgumentType(signature);
    const TypePtr result = types::tuple({sumType(*argument), types::uint64()});
    AggregateFunctionPtr function;
    dispatchSum(*argument, [&]<typename T, typename S>(Tag<T>, Tag<S>) {
        function = std::make_shared<SumCount<T, S>>(std::move(signature), result);
    });
    return function;
}

}  // namespace

std::span<const AggregateInfo> sumAggregates() {
    static const AggregateInfo kInfos[] = {
        {.name = "sum",
         .create = createSum,
         .case_insensitive = true,
         .syntax = "sum(x)",
         .description = "Sum of the numbers; integers wrap at 64 bits.",
         .example = "SELECT sum(number) FROM numbers(4)",
         .example_result = "6"},
        {.name = "sumWithOverflow",
         .create = createSumWithOverflow,
         .syntax = "sumWithOverflow(x)",
         .description = "Sum in the argument's own type, which wraps at its width.",
         .example = "SELECT sumWithOverflow(toUInt8(200 + number)) FROM numbers(2)",
         .example_result = "145"},
        {.name = "sumKahan",
         .create = createSumKahan,
         .syntax = "sumKahan(x)",
         .description = "Sum with Kahan's compensation of rounding errors.",
         .example = "SELECT sumKahan(arrayJoin([0.1, 0.2, 0.3]))",
         .example_result = "0.6"},
        {.name = "sumCount",
         .create = createSumCount,
         .syntax = "sumCount(x)",
         .description = "Tuple of the sum and the number of rows.",
         .example = "SELECT sumCount(number) FROM numbers(4)",
         .example_result = "(6,4)"},
    };
    return kInfos;
}

}  // namespace shardd::aggregates
