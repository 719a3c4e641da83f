#include <cmath>
#include <limits>

#include "common/columns/selection.h"
#include "server/aggregates/aggregate_base.h"
#include "server/aggregates/numbers.h"
#include "server/aggregates/sum_loops.h"
#include "server/aggregates/sum_type.h"

namespace shardd::aggregates {

namespace {

template <typename S>
struct AverageState {
    S sum{};
    uint64_t count = 0;
};

bool isAveragedTime(const Type& type) {
    return type.isDateOrTime() || type.kind() == TypeKind::Time || type.kind() == TypeKind::Time64;
}

/// The mean; Numbers and Decimals give Float64, dates and times their own type, rounded to the nearest even.
template <typename T, typename S>
class Average final : public QuickAggregate<Average<T, S>, AverageState<S>, FixedInput<T>> {
public:
    using Base = QuickAggregate<Average<T, S>, AverageState<S>, FixedInput<T>>;
    using State = AverageState<S>;
    using Input = FixedInput<T>;

    Average(Signature signature, TypePtr result)
        : Base(std::move(signature), std::move(result)), time_(isAveragedTime(*this->argumentTypes()[0])) {
        const Type& argument = *this->argumentTypes()[0];
        if (argument.isDecimal()) divisor_ = powerOfTen(argument.scale());
    }

    static constexpr bool kEmptyIsZero = true;

    Kernel kernel() const override {
        if (time_) return Kernel::None;
        if constexpr (std::is_same_v<S, uint64_t>) return Kernel::AvgUInt64;
        if constexpr (std::is_same_v<S, int64_t>) return Kernel::AvgInt64;
        if constexpr (std::is_same_v<S, double>) return Kernel::AvgFloat64;
        return Kernel::None;
    }

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
        state.count += countKept({mask + from, rows});
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

    void finish(State& state, Column& to, Arena&) const {
        if (!time_) {
            appendFixed(to, toDouble(state.sum) / divisor_ / static_cast<double>(state.count));
        } else if (state.count == 0) {
            appendFixed(to, T{});
        } else {
            appendFixed(
                to, convertNumber<T>(std::nearbyint(toDouble(state.sum) / static_cast<double>(state.count))));
        }
    }

private:
    bool time_;
    double divisor_ = 1;
};

AggregateFunctionPtr createAvg(Signature signature) {
    expectNoParameters(signature);
    expectArguments(signature, 1);
    const TypePtr argument = signature.arguments[0];
    if (!argument->isNumber() && !isAveragedTime(*argument)) failArgumentType(signature);
    const TypePtr result = isAveragedTime(*argument) ? argument : types::float64();
    if (argument->kind() == TypeKind::DateTime64 || argument->kind() == TypeKind::Time64)
        return std::make_shared<Average<int64_t, Int128>>(std::move(signature), result);
    AggregateFunctionPtr function;
    dispatchSum(*argument, [&]<typename T, typename S>(Tag<T>, Tag<S>) {
        function = std::make_shared<Average<T, S>>(std::move(signature), result);
    });
    return function;
}

template <typename N, typename D>
struct WeightedState {
    N sum{};
    D weight{};
};

/// How a row of a column of numbers is read as a To.
template <typename To>
using Load = To (*)(const Column&, size_t row);

template <typename To, typename T>
To loadAs(const Column& column, size_t row) {
    return convertNumber<To>(static_cast<const FixedColumn<T>&>(column).data()[row]);
}

template <typename To>
Load<To> loaderOf(const Type& type) {
    Load<To> load = nullptr;
    dispatchPhysical(type.physical(), [&]<typename T>(Tag<T>) {
        if constexpr (std::is_arithmetic_v<T>) load = loadAs<To, T>;
    });
    return load;
}

/// Σ value·weight / Σ weight. N is a float where the value is, D where the weight is. The arguments' types
/// are no template parameters: a hundred pairs would be compiled for a rare function.
template <typename N, typename D>
class WeightedAverage final
    : public QuickAggregate<WeightedAverage<N, D>, WeightedState<N, D>, ColumnsInput> {
public:
    using Base = QuickAggregate<WeightedAverage<N, D>, WeightedState<N, D>, ColumnsInput>;
    using State = WeightedState<N, D>;

    explicit WeightedAverage(Signature signature)
        : Base(std::move(signature), types::float64()),
          value_(loaderOf<N>(*this->argumentTypes()[0])),
          factor_(loaderOf<N>(*this->argumentTypes()[1])),
          weight_(loaderOf<D>(*this->argumentTypes()[1])) {}

    static constexpr bool kEmptyIsZero = true;

    void addRow(State& state, const ColumnsInput& input, size_t row, Arena&) const {
        state.sum += value_(*input.columns[0], row) * factor_(*input.columns[1], row);
        state.weight += weight_(*input.columns[1], row);
    }

    void mergeStates(State& state, const State& other, Arena&) const {
        state.sum += other.sum;
        state.weight += other.weight;
    }

    void write(const State& state, Writer& out) const {
        out.writeFixed(state.sum);
        if constexpr (std::is_same_v<D, uint64_t>)
            out.writeVarUInt(state.weight);
        else
            out.writeFixed(state.weight);
    }

    void read(State& state, Reader& in, Arena&) const {
        in.readFixed(state.sum);
        if constexpr (std::is_same_v<D, uint64_t>)
            state.weight = in.readVarUInt();
        else
            in.readFixed(state.weight);
    }

    void finish(State& state, Column& to, Arena&) const {
        appendFixed(to, toDouble(state.sum) / toDouble(state.weight));
    }

private:
    Load<N> value_;
    Load<N> factor_;
    Load<D> weight_;
};

enum class NumberClass { Unsigned, Signed, Float, Other };

/// Of plain numbers up to 64 bits.
NumberClass classOf(const Type& type) {
    NumberClass found = NumberClass::Other;
    dispatchPhysical(type.physical(), [&]<typename T>(Tag<T>) {
        if constexpr (std::is_arithmetic_v<T>)
            found = std::is_floating_point_v<T> ? NumberClass::Float
                    : std::is_signed_v<T>       ? NumberClass::Signed
                                                : NumberClass::Unsigned;
    });
    return type.isDecimal() ? NumberClass::Other : found;
}

AggregateFunctionPtr createAvgWeighted(Signature signature) {
    expectNoParameters(signature);
    expectArguments(signature, 2);
    for (size_t i = 0; i < 2; ++i)
        if (!signature.arguments[i]->isNumber()) failArgumentType(signature, i);
    const TypePtr value = signature.arguments[0];
    const TypePtr weight = signature.arguments[1];
    const NumberClass of_value = classOf(*value), of_weight = classOf(*weight);
    if (of_value == NumberClass::Other || of_weight == NumberClass::Other)
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    "Types {} and {} are non-conforming as arguments for aggregate function avgWeighted",
                    value->name(), weight->name());
    if (of_weight == NumberClass::Float)
        return std::make_shared<WeightedAverage<double, double>>(std::move(signature));
    // An integer weight makes the products integers, whatever the value is: ClickHouse's choice.
    if (of_weight == NumberClass::Signed)
        return std::make_shared<WeightedAverage<int64_t, int64_t>>(std::move(signature));
    if (of_value == NumberClass::Unsigned)
        return std::make_shared<WeightedAverage<uint64_t, uint64_t>>(std::move(signature));
    return std::make_shared<WeightedAverage<int64_t, uint64_t>>(std::move(signature));
}

}  // namespace

std::span<const AggregateInfo> averageAggregates() {
    static const AggregateInfo kInfos[] = {{.name = "avg",
                                            .create = createAvg,
                                            .case_insensitive = true,
                                            .syntax = "avg(x)",
                                            .description = "Arithmetic mean; NaN over no rows.",
                                            .example = "SELECT avg(number) FROM numbers(4)",
                                            .example_result = "1.5"},
                                           {.name = "avgWeighted",
                                            .create = createAvgWeighted,
                                            .syntax = "avgWeighted(x, weight)",
                                            .description = "Weighted mean of x.",
                                            .example = "SELECT avgWeighted(number, number) FROM numbers(4)",
                                            .example_result = "2.3333333333333335"}};
    return kInfos;
}

}  // namespace shardd::aggregates
