#pragma once

#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "server/aggregates/elements.h"
#include "server/aggregates/value_bits.h"

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

/// Takes a function's answers for one group, in any order, into the column of results or of an array's
/// elements.
class Answers {
public:
    /// Values of `own` type answered as `result`: the same type, Float32 or Float64.
    Answers(Physical own, Physical result, Column& elements, size_t count)
        : own_(own), result_(result), width_(widthOf(result)), room_(growFixed(result, elements, count)) {}

    void number(size_t i, double number) { storeNumber(result_, number, room_ + i * width_); }

    /// One of the values itself; the result must be of their type.
    void value(size_t i, const void* value) { std::memcpy(room_ + i * width_, value, width_); }

    /// What a quantile of nothing is: NaN where there is one.
    void nothing(size_t i);

    /// The type of the values that are answered about.
    Physical own() const { return own_; }

private:
    Physical own_;
    Physical result_;
    size_t width_;
    char* room_;
};

/// The values and weights of a batch: as bits for states that keep bits, as doubles for states that keep
/// sketches.
template <typename Values>
struct QuantileInput {
    Values values;
    WeightInput weights;
};

/// Any of the quantile functions: over State, which has `using Kept`, the type of the values it takes: bits
/// of their width, or double; add(value, arena) or add(value, weight, arena); merge(other, arena);
/// write(out); read(in, arena); and get(levels, answers). `many` answers with an array. Neither that nor the
/// type of values and answers is a template parameter, which would multiply what is compiled.
template <typename State, bool weighted>
class Quantile final
    : public AggregateBase<Quantile<State, weighted>,
                           State,
                           QuantileInput<std::conditional_t<std::is_same_v<typename State::Kept, double>,
                                                            NumbersInput,
                                                            BitsInput<typename State::Kept>>>> {
public:
    using Kept = typename State::Kept;
    static constexpr bool kNumbers = std::is_same_v<Kept, double>;
    using Input = QuantileInput<std::conditional_t<kNumbers, NumbersInput, BitsInput<Kept>>>;
    using Base = AggregateBase<Quantile<State, weighted>, State, Input>;

    Quantile(Signature signature, TypePtr result, Levels levels, bool many)
        : Base(std::move(signature), std::move(result)),
          levels_(std::move(levels)),
          many_(many),
          own_(this->argumentTypes()[0]->physical()),
          answered_((many ? *this->resultType()->child() : *this->resultType()).physical()),
          order_(own_),
          reader_(numberReader(own_)) {}

    static constexpr bool kEmptyIsZero = State::kEmptyIsZero;

    Input inputOf(const Column* const* arguments) const {
        const WeightInput weights(*arguments[weighted ? 1 : 0]);
        if constexpr (kNumbers)
            return {NumbersInput(*arguments[0], reader_), weights};
        else
            return {BitsInput<Kept>(arguments), weights};
    }

    void addRow(State& state, const Input& input, size_t row, Arena& arena) const {
        const Kept value = input.values[row];
        if constexpr (kNumbers) {
            if (std::isnan(value)) return;
        } else {
            if (order_.isNaN(value)) return;
        }
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
        Answers answers(own_, answered_, array ? array->mutableElements() : to, levels_.levels.size());
        state.get(levels_, answers);
        if (array) array->endRow();
    }

private:
    Levels levels_;
    bool many_;
    Physical own_;
    Physical answered_;
    NumberOrder order_;
    NumberReader reader_;
};

/// What a quantile function gives for numbers.
enum class QuantileResult { Float64, Float32, Own };

/// Numbers, Decimals, Date, DateTime, DateTime64: 43 for anything else, and for weights that are not unsigned
/// integers.
void checkQuantileArguments(const Signature& signature, bool weighted, bool decimals = true);

/// The type of one answer. Decimals, dates and times answer in their own type whatever numbers do.
TypePtr quantileAnswer(const TypePtr& argument, QuantileResult numbers);

/// StateOf<K> over the bits of values.
template <template <typename> typename StateOf, bool weighted>
AggregateFunctionPtr makeQuantile(Signature signature, TypePtr answer, Levels levels, bool many) {
    AggregateFunctionPtr function;
    dispatchWidth(signature.arguments[0]->physical(), [&]<typename K>(Tag<K>) {
        function = std::make_shared<Quantile<StateOf<K>, weighted>>(
            std::move(signature), many ? types::array(answer) : answer, std::move(levels), many);
    });
    return function;
}

template <template <typename> typename StateOf, bool weighted>
AggregateFunctionPtr createQuantileOf(Signature signature, bool many, QuantileResult numbers, int member) {
    checkQuantileArguments(signature, weighted);
    Levels levels = parseLevels(signature, signature.parameters, many);
    levels.member = member;
    TypePtr answer = quantileAnswer(signature.arguments[0], numbers);
    return makeQuantile<StateOf, weighted>(std::move(signature), std::move(answer), std::move(levels), many);
}

/// The factory of a family member: all of its parameters are levels.
template <template <typename> typename StateOf,
          bool weighted,
          bool many,
          QuantileResult numbers,
          auto member = 0>
AggregateFunctionPtr createQuantile(Signature signature) {
    return createQuantileOf<StateOf, weighted>(std::move(signature), many, numbers, static_cast<int>(member));
}

/// Interpolates between the neighbours of position level * (n - 1) of `count` values in ascending order.
double interpolated(Physical physical, const void* values, size_t count, double level);

}  // namespace shardd::aggregates
