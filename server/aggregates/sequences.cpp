#include <cmath>
#include <limits>

#include "server/aggregates/aggregate_base.h"
#include "server/aggregates/binary_form.h"
#include "server/aggregates/numbers.h"

namespace shardd::aggregates {

namespace {

/// How numbers of one type are read, travel and are answered. States keep them widened to Wide, so that
/// types, and pairs of them, need no code of their own; sums wrap at the type's width all the same.
template <typename Wide>
struct NumberForm {
    Wide (*load)(const Column&, size_t row);
    void (*write)(Wide, Writer&);
    Wide (*read)(Reader&);
    void (*append)(Wide, Column& to);
};

template <typename Wide, typename Stored>
constexpr NumberForm<Wide> kNumberForm = {
    [](const Column& column, size_t row) {
        return static_cast<Wide>(static_cast<const FixedColumn<Stored>&>(column).data()[row]);
    },
    [](Wide number, Writer& out) { out.writeFixed(static_cast<Stored>(number)); },
    [](Reader& in) { return static_cast<Wide>(in.readFixed<Stored>()); },
    [](Wide number, Column& to) { appendFixed(to, static_cast<Stored>(number)); },
};

/// A word of the same sign; floats stay, as their sums are rounded.
template <typename T>
using WideOf = std::
    conditional_t<std::is_floating_point_v<T>, T, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;

// -- deltaSum ---------------------------------------------------------------------------------------

template <typename T>
struct DeltaState {
    T sum{};
    T first{};
    T last{};
    uint8_t seen = 0;
};

/// Σ of the rises from row to row.
template <typename T>
class DeltaSum final : public AggregateBase<DeltaSum<T>, DeltaState<T>, ColumnsInput> {
public:
    using State = DeltaState<T>;
    using Base = AggregateBase<DeltaSum<T>, State, ColumnsInput>;

    DeltaSum(Signature signature, TypePtr result, NumberForm<T> form)
        : Base(std::move(signature), std::move(result)), form_(form) {}

    static constexpr bool kEmptyIsZero = true;

    void addRow(State& state, const ColumnsInput& input, size_t row, Arena&) const {
        const T value = form_.load(*input.columns[0], row);
        if (state.seen && state.last < value)
            state.sum = static_cast<T>(state.sum + static_cast<T>(value - state.last));
        state.last = value;
        if (!state.seen) state.first = value;
        state.seen = 1;
    }

    /// The other side's rows come after ours.
    void mergeStates(State& state, const State& other, Arena&) const {
        if (!other.seen) return;
        if (!state.seen) {
            state = other;
            return;
        }
        if (other.first > state.last)
            state.sum = static_cast<T>(state.sum + static_cast<T>(other.first - state.last));
        state.sum = static_cast<T>(state.sum + other.sum);
        state.last = other.last;
    }

    void write(const State& state, Writer& out) const {
        form_.write(state.sum, out);
        form_.write(state.first, out);
        form_.write(state.last, out);
        out.writeByte(state.seen);
    }

    void read(State& state, Reader& in, Arena&) const {
        state.sum = form_.read(in);
        state.first = form_.read(in);
        state.last = form_.read(in);
        state.seen = in.readByte() != 0;
    }

    void finish(State& state, Column& to, Arena&) const { form_.append(state.sum, to); }

private:
    NumberForm<T> form_;
};

bool isPlainNumber(const Type& type) {
    return (type.isInteger() && type.width() <= 8) || type.kind() == TypeKind::Bool ||
           type.kind() == TypeKind::Float32 || type.kind() == TypeKind::Float64;
}

AggregateFunctionPtr createDeltaSum(Signature signature) {
    expectNoParameters(signature);
    if (signature.arguments.size() != 1)
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Incorrect number of arguments for aggregate function {}", signature.name);
    const TypePtr argument = signature.arguments[0];
    if (!isPlainNumber(*argument))
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    "Illegal type {} of argument for aggregate function {}", argument->name(),
                    signature.name);
    AggregateFunctionPtr function;
    dispatchPhysical(argument->physical(), [&]<typename T>(Tag<T>) {
        if constexpr (std::is_arithmetic_v<T>)
            function = std::make_shared<DeltaSum<WideOf<T>>>(std::move(signature), argument,
                                                             kNumberForm<WideOf<T>, T>);
    });
    return function;
}

// -- deltaSumTimestamp ------------------------------------------------------------------------------

template <typename T, typename Time>
struct TimedDeltaState {
    T sum{};
    T first{};
    T last{};
    Time first_time{};
    Time last_time{};
    uint8_t seen = 0;
};

/// deltaSum whose states know by their times which of them comes first.
template <typename T, typename Time>
class DeltaSumTimestamp final
    : public AggregateBase<DeltaSumTimestamp<T, Time>, TimedDeltaState<T, Time>, ColumnsInput> {
public:
    using State = TimedDeltaState<T, Time>;
    using Base = AggregateBase<DeltaSumTimestamp<T, Time>, State, ColumnsInput>;

    DeltaSumTimestamp(Signature signature, TypePtr result, NumberForm<T> form, NumberForm<Time> time_form)
        : Base(std::move(signature), std::move(result)), form_(form), time_form_(time_form) {}

    static constexpr bool kEmptyIsZero = true;

    void addRow(State& state, const ColumnsInput& input, size_t row, Arena&) const {
        const T value = form_.load(*input.columns[0], row);
        const Time time = time_form_.load(*input.columns[1], row);
        if (state.seen && state.last < value)
            state.sum = static_cast<T>(state.sum + static_cast<T>(value - state.last));
        state.last = value;
        state.last_time = time;
        if (!state.seen) {
            state.first = value;
            state.first_time = time;
            state.seen = 1;
        }
    }

    void mergeStates(State& state, const State& other, Arena&) const {
        if (!other.seen) return;
        if (!state.seen) {
            state = other;
            return;
        }
        if (before(state, other)) {
            append(state, other);
        } else if (before(other, state)) {
            State joined = other;
            append(joined, state);
            state = joined;
        } else if (state.first < other.first) {
            state.first = other.first;
            state.last = other.last;
        }
    }

    void write(const State& state, Writer& out) const {
        form_.write(state.sum, out);
        form_.write(state.first, out);
        time_form_.write(state.first_time, out);
        form_.write(state.last, out);
        time_form_.write(state.last_time, out);
        out.writeByte(state.seen);
    }

    void read(State& state, Reader& in, Arena&) const {
        state.sum = form_.read(in);
        state.first = form_.read(in);
        state.first_time = time_form_.read(in);
        state.last = form_.read(in);
        state.last_time = time_form_.read(in);
        state.seen = in.readByte() != 0;
    }

    void finish(State& state, Column& to, Arena&) const { form_.append(state.sum, to); }

private:
    static bool before(const State& a, const State& b) {
        return a.last_time < b.first_time ||
               (a.last_time == b.first_time && (a.last_time < b.last_time || a.first_time < b.first_time));
    }

    static void append(State& state, const State& later) {
        if (later.first > state.last)
            state.sum = static_cast<T>(state.sum + static_cast<T>(later.first - state.last));
        state.sum = static_cast<T>(state.sum + later.sum);
        state.last = later.last;
        state.last_time = later.last_time;
    }

    NumberForm<T> form_;
    NumberForm<Time> time_form_;
};

AggregateFunctionPtr createDeltaSumTimestamp(Signature signature) {
    expectNoParameters(signature);
    expectArguments(signature, 2);
    const TypePtr argument = signature.arguments[0];
    const TypePtr time = signature.arguments[1];
    for (size_t i = 0; i < 2; ++i)
        if (!isPlainNumber(*signature.arguments[i]) && !signature.arguments[i]->isDateOrTime())
            throw Error(
                ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                "Illegal type {} of argument for aggregate function {}, must be Int, Float, Date, DateTime",
                signature.arguments[i]->name(), signature.name);
    AggregateFunctionPtr function;
    dispatchPhysical(argument->physical(), [&]<typename T>(Tag<T>) {
        if constexpr (std::is_arithmetic_v<T>)
            dispatchPhysical(time->physical(), [&]<typename Time>(Tag<Time>) {
                if constexpr (std::is_arithmetic_v<Time>) {
                    using Wide = std::conditional_t<std::is_floating_point_v<Time>, double, WideOf<Time>>;
                    function = std::make_shared<DeltaSumTimestamp<WideOf<T>, Wide>>(
                        std::move(signature), argument, kNumberForm<WideOf<T>, T>, kNumberForm<Wide, Time>);
                }
            });
    });
    return function;
}

// -- boundingRatio ----------------------------------------------------------------------------------

struct BoundState {
    bool seen = false;
    double left_x = 0;
    double left_y = 0;
    double right_x = 0;
    double right_y = 0;

    void add(double x, double y) {
        if (!seen || x < left_x) {
            left_x = x;
            left_y = y;
        }
        if (!seen || x > right_x) {
            right_x = x;
            right_y = y;
        }
        seen = true;
    }
};

/// The slope between the leftmost and the rightmost point.
class BoundingRatio final : public AggregateBase<BoundingRatio, BoundState, ColumnsInput> {
public:
    using AggregateBase::AggregateBase;

    static constexpr bool kEmptyIsZero = true;

    void addRow(BoundState& state, const ColumnsInput& input, size_t row, Arena&) const {
        state.add(input.columns[0]->value(row).to<double>(), input.columns[1]->value(row).to<double>());
    }

    void mergeStates(BoundState& state, const BoundState& other, Arena&) const {
        if (!other.seen) return;
        state.add(other.left_x, other.left_y);
        state.add(other.right_x, other.right_y);
    }

    void write(const BoundState& state, Writer& out) const {
        out.writeByte(state.seen ? 0 : 1);
        if (!state.seen) return;
        for (double value : {state.left_x, state.left_y, state.right_x, state.right_y}) out.writeFixed(value);
    }

    void read(BoundState& state, Reader& in, Arena&) const {
        state.seen = in.readByte() == 0;
        if (!state.seen) return;
        for (double* value : {&state.left_x, &state.left_y, &state.right_x, &state.right_y})
            in.readFixed(*value);
    }

    void finish(BoundState& state, Column& to, Arena&) const {
        const double ratio = (state.right_y - state.left_y) / (state.right_x - state.left_x);
        appendFixed(to, state.seen ? ratio : std::numeric_limits<double>::quiet_NaN());
    }
};

AggregateFunctionPtr createBoundingRatio(Signature signature) {
    expectNoParameters(signature);
    if (signature.arguments.size() < 2)
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Aggregate function {} requires at least two arguments", signature.name);
    for (size_t i = 0; i < 2; ++i)
        if (!signature.arguments[i]->isNumber())
            throw Error(ErrorCode::BAD_ARGUMENTS, "Illegal types of arguments of aggregate function {}",
                        signature.name);
    return std::make_shared<BoundingRatio>(std::move(signature), types::float64());
}

}  // namespace

std::span<const AggregateInfo> sequencesAggregates() {
    static const AggregateInfo kInfos[] = {
        {.name = "deltaSum",
         .create = createDeltaSum,
         .nulls = Nulls::FlagAlwaysOne,
         .syntax = "deltaSum(x)",
         .description = "Sum of the rises from row to row.",
         .example = "SELECT deltaSum(number % 3) FROM numbers(6)",
         .example_result = "4"},
        {.name = "deltaSumTimestamp",
         .create = createDeltaSumTimestamp,
         .nulls = Nulls::FlagAlwaysOne,
         .syntax = "deltaSumTimestamp(x, time)",
         .description = "deltaSum over parts that may be merged in any order.",
         .example = "SELECT deltaSumTimestamp(number % 3, number) FROM numbers(6)",
         .example_result = "4"},
        {.name = "boundingRatio",
         .create = createBoundingRatio,
         .syntax = "boundingRatio(x, y)",
         .description = "Slope between the leftmost and the rightmost point.",
         .example = "SELECT boundingRatio(number, number * 2) FROM numbers(4)",
         .example_result = "2"},
    };
    return kInfos;
}

}  // namespace shardd::aggregates
