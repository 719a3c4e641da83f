#pragma once

#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "server/aggregates/elements.h"
#include "server/aggregates/numbers.h"

namespace shardd::aggregates {

/// The levels of a call, in its order and in ascending order.
struct Levels {
    std::vector<double> levels;
    std::vector<size_t> ascending;
    int member = 0;  ///< of the family: states that serve several functions tell by it how to answer
};

/// Errors: 42 for a wrong number of levels, 12 for one outside [0, 1], 70 for one that is no number.
Levels parseLevels(const Signature& signature, std::span<const Value> parameters, bool many);

/// The second argument of weighted functions: an unsigned integer of any width.
struct WeightInput {
    const char* data;
    size_t width;

    explicit WeightInput(const Column& column)
        : data(column.size() > 0 ? column.bytesAt(0).data() : nullptr),
          width(column.size() > 0 ? column.bytesAt(0).size() : 0) {}

    uint64_t operator[](size_t row) const {
        uint64_t weight = 0;
        std::memcpy(&weight, data + row * width, width <= 8 ? width : 8);
        return weight;
    }
};

template <typename T, bool weighted>
struct QuantileInput {
    FixedInput<T> values;
    WeightInput weights;

    explicit QuantileInput(const Column* const* arguments)
        : values(arguments), weights(*arguments[weighted ? 1 : 0]) {}
};

/// Any of the quantile functions: over State, whose values are T and whose answers are R, or T where `own` says so.
/// State has add(value, arena) or add(value, weight, arena); merge(other, arena); write(out); read(in,
/// arena); and get(levels, answer) that calls answer(index, value) for each level, in any order.
/// `many` answers with an array. Neither is a template parameter, which would double what is compiled.
template <typename State, typename T, typename R, bool weighted>
class Quantile final
    : public AggregateBase<Quantile<State, T, R, weighted>, State, QuantileInput<T, weighted>> {
public:
    using Input = QuantileInput<T, weighted>;
    using Base = AggregateBase<Quantile<State, T, R, weighted>, State, Input>;

    Quantile(Signature signature, TypePtr result, Levels levels, bool many, bool own)
        : Base(std::move(signature), std::move(result)), levels_(std::move(levels)), many_(many), own_(own) {}

    static constexpr bool kEmptyIsZero = State::kEmptyIsZero;

    void addRow(State& state, const Input& input, size_t row, Arena& arena) const {
        const T& value = input.values[row];
        if constexpr (std::is_floating_point_v<T>)
            if (std::isnan(value)) return;
        if constexpr (weighted)
            state.add(value, input.weights[row], arena);
        else
            state.add(value, arena);
    }

    void mergeStates(State& state, const State& other, Arena& arena) const { state.merge(other, arena); }

    void write(const State& state, Writer& out) const { state.write(out); }

    void read(State& state, Reader& in, Arena& arena) const { state.read(in, arena); }

    void finish(State& state, Column& to, Arena&) const {
        auto* array = many_ ? &static_cast<ArrayColumn&>(to) : nullptr;
        Column& elements = array ? array->mutableElements() : to;
        T* const own = own_ ? grown<T>(elements) : nullptr;
        R* const answers = own_ ? nullptr : grown<R>(elements);
        state.get(levels_, [&](size_t i, const auto& value) {
            if (own)
                own[i] = convertNumber<T>(value);
            else
                answers[i] = convertNumber<R>(value);
        });
        if (array) array->endRow();
    }

private:
    /// Room for one answer a level at the column's end.
    template <typename A>
    A* grown(Column& elements) const {
        PodVector<A>& values = static_cast<FixedColumn<A>&>(elements).values();
        values.resize(values.size() + levels_.levels.size());
        return values.data() + values.size() - levels_.levels.size();
    }

    Levels levels_;
    bool many_;
    bool own_;
};

/// What quantiles of nothing are: NaN where there is one.
template <typename R>
R emptyQuantile() {
    if constexpr (std::is_floating_point_v<R>) return std::numeric_limits<R>::quiet_NaN();
    return R{};
}

/// Which argument types a quantile function takes, and what it gives for them.
enum class QuantileResult { Float64, Float32, Own };

/// Numbers, Decimals, Date, DateTime, DateTime64: 43 for anything else, and for weights that are not unsigned
/// integers.
void checkQuantileArguments(const Signature& signature, bool weighted, bool decimals = true);

/// Decimals, dates and times answer in their own type whatever numbers do.
inline bool answersInOwnType(const Type& type) { return type.isDecimal() || type.isDateOrTime(); }

template <template <typename> typename StateOf, bool weighted, QuantileResult numbers>
AggregateFunctionPtr makeQuantile(Signature signature, Levels levels, bool many) {
    const TypePtr argument = signature.arguments[0];
    AggregateFunctionPtr function;
    dispatchPhysical(argument->physical(), [&]<typename T>(Tag<T>) {
        if constexpr (kIsNumber<T> && !std::is_same_v<T, BFloat16>) {
            using R = std::conditional_t<numbers == QuantileResult::Float64, double,
                                         std::conditional_t<numbers == QuantileResult::Float32, float, T>>;
            const bool own = numbers == QuantileResult::Own || answersInOwnType(*argument);
            const TypePtr result =
                own ? argument
                    : types::simple(numbers == QuantileResult::Float32 ? TypeKind::Float32 : TypeKind::Float64);
            function = std::make_shared<Quantile<StateOf<T>, T, R, weighted>>(
                std::move(signature), many ? types::array(result) : result, std::move(levels), many, own);
        }
    });
    return function;
}

/// The factory of a family member: all of its parameters are levels.
template <template <typename> typename StateOf, bool weighted, bool many, QuantileResult numbers, auto member = 0>
AggregateFunctionPtr createQuantile(Signature signature) {
    checkQuantileArguments(signature, weighted);
    Levels levels = parseLevels(signature, signature.parameters, many);
    levels.member = static_cast<int>(member);
    return makeQuantile<StateOf, weighted, numbers>(std::move(signature), std::move(levels), many);
}

/// Interpolates between the neighbours of position level * (n - 1) of values that `at` gives in ascending
/// order.
template <typename At>
double interpolated(size_t count, double level, At&& at) {
    const double position =
        std::max(0.0, std::min(static_cast<double>(count) - 1, level * (static_cast<double>(count) - 1)));
    const auto left = static_cast<size_t>(position);
    if (left + 1 >= count) return toDouble(at(left));
    const double right_share = position - static_cast<double>(left);
    const double left_share = static_cast<double>(left + 1) - position;
    return toDouble(at(left)) * left_share + toDouble(at(left + 1)) * right_share;
}

}  // namespace shardd::aggregates
