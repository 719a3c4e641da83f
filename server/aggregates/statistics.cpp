#include <cmath>
#include <limits>

#include "server/aggregates/aggregate_base.h"
#include "server/aggregates/value_bits.h"

namespace shardd::aggregates {

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// An argument's numbers as doubles; Decimals with their scale.
struct Measures {
    NumbersInput numbers;
    double divisor;

    double operator[](size_t row) const {
        const double number = numbers[row];
        return divisor == 1 ? number : number / divisor;
    }
};

class MeasureReader {
public:
    explicit MeasureReader(const Type& type)
        : reader_(numberReader(type.physical())), divisor_(type.isDecimal() ? powerOfTen(type.scale()) : 1) {}

    Measures of(const Column& column) const { return {NumbersInput(column, reader_), divisor_}; }

private:
    NumberReader reader_;
    double divisor_;
};

bool isMeasured(const Type& type) { return type.isNumber(); }

// -- sums of powers ---------------------------------------------------------------------------------

enum class Moment { VarPop, VarSamp, StddevPop, StddevSamp, SkewPop, SkewSamp, KurtPop, KurtSamp };

constexpr size_t powersOf(Moment moment) {
    if (moment >= Moment::KurtPop) return 4;
    return moment >= Moment::SkewPop ? 3 : 2;
}

/// n, Σx, Σx² … in C: what travels.
template <typename C, size_t powers>
struct PowerSums {
    C sums[powers + 1] = {};
};

template <typename C, size_t powers>
struct PowerResult {
    const PowerSums<C, powers>& state;

    C n() const { return state.sums[0]; }

    /// NaN values give 0, as the comparison with them does in ClickHouse.
    C varPop() const {
        if (n() == 0) return std::numeric_limits<C>::quiet_NaN();
        return std::max(C{0}, (state.sums[2] - state.sums[1] * state.sums[1] / n()) / n());
    }

    C varSamp() const {
        if (n() <= 1) return std::numeric_limits<C>::quiet_NaN();
        return std::max(C{0}, (state.sums[2] - state.sums[1] * state.sums[1] / n()) / (n() - 1));
    }

    // The order of the operations is ClickHouse's, so that the last digits agree.
    C moment3() const {
        const C m1 = state.sums[1];
        return (state.sums[3] - (3 * state.sums[2] - 2 * m1 * m1 / n()) * m1 / n()) / n();
    }

    C moment4() const {
        const C m1 = state.sums[1];
        const C inner = 6 * state.sums[2] - 3 * m1 / n() * m1;
        return (state.sums[4] - (4 * state.sums[3] - inner * m1 / n()) * m1 / n()) / n();
    }
};

/// Any moment of so many powers.
template <typename C, size_t kPowers>
class PowerMoment final : public AggregateBase<PowerMoment<C, kPowers>, PowerSums<C, kPowers>, Measures> {
public:
    static constexpr bool kEmptyIsZero = true;
    using State = PowerSums<C, kPowers>;
    using Base = AggregateBase<PowerMoment<C, kPowers>, State, Measures>;

    PowerMoment(Signature signature, TypePtr result, Moment moment)
        : Base(std::move(signature), std::move(result)),
          reader_(*this->argumentTypes()[0]),
          moment_(moment) {}

    Measures inputOf(const Column* const* arguments) const { return reader_.of(*arguments[0]); }

    void addRow(State& state, const Measures& input, size_t row, Arena&) const {
        const C x = static_cast<C>(input[row]);
        C power = 1;
        for (size_t i = 0; i <= kPowers; ++i) {
            state.sums[i] += power;
            power *= x;
        }
    }

    void mergeStates(State& state, const State& other, Arena&) const {
        for (size_t i = 0; i <= kPowers; ++i) state.sums[i] += other.sums[i];
    }

    void write(const State& state, Writer& out) const { out.writeFixed(state.sums); }

    void read(State& state, Reader& in, Arena&) const { in.readFixed(state.sums); }

    void finish(State& state, Column& to, Arena&) const { appendFixed(to, result({state})); }

private:
    C result(const PowerResult<C, kPowers>& moments) const {
        if constexpr (kPowers == 2) {
            if (moment_ == Moment::VarPop) return moments.varPop();
            if (moment_ == Moment::VarSamp) return moments.varSamp();
            return std::sqrt(moment_ == Moment::StddevPop ? moments.varPop() : moments.varSamp());
        } else {
            const bool sample = moment_ == Moment::SkewSamp || moment_ == Moment::KurtSamp;
            const C variance = sample ? moments.varSamp() : moments.varPop();
            if (!(variance > 0)) return std::numeric_limits<C>::quiet_NaN();
            if constexpr (kPowers == 3) return moments.moment3() / static_cast<C>(std::pow(variance, 1.5));
            return moments.moment4() / static_cast<C>(std::pow(variance, 2));
        }
    }

    MeasureReader reader_;
    Moment moment_;
};

template <typename C>
AggregateFunctionPtr makeMoment(Signature signature, TypePtr result, Moment moment) {
    switch (powersOf(moment)) {
        case 2:
            return std::make_shared<PowerMoment<C, 2>>(std::move(signature), std::move(result), moment);
        case 3:
            return std::make_shared<PowerMoment<C, 3>>(std::move(signature), std::move(result), moment);
        default:
            return std::make_shared<PowerMoment<C, 4>>(std::move(signature), std::move(result), moment);
    }
}

template <Moment moment>
AggregateFunctionPtr createMoment(Signature signature) {
    expectNoParameters(signature);
    expectArguments(signature, 1);
    const TypePtr argument = signature.arguments[0];
    if (!isMeasured(*argument) && !argument->isEnum()) failArgumentType(signature);
    if (argument->kind() == TypeKind::Float32)
        return makeMoment<float>(std::move(signature), types::simple(TypeKind::Float32), moment);
    return makeMoment<double>(std::move(signature), types::float64(), moment);
}

// -- Welford ----------------------------------------------------------------------------------------

struct StableState {
    uint64_t count = 0;
    double mean = 0;
    double m2 = 0;

    void add(double x) {
        const double delta = x - mean;
        ++count;
        mean += delta / static_cast<double>(count);
        m2 += delta * (x - mean);
    }

    void merge(const StableState& other) {
        if (other.count == 0) return;
        const auto a = static_cast<double>(count);
        const auto b = static_cast<double>(other.count);
        const double delta = mean - other.mean;
        const double total = a + b;
        // Sizes that are alike and both large: the mean of the means, without cancellation.
        const bool alike = std::abs(a - b) / std::max(a, b) < 0.001 && std::max(a, b) > 10000;
        mean = alike ? (mean * a + other.mean * b) / total : other.mean + delta * (a / total);
        m2 += other.m2 + delta * delta * a * b / total;
        count += other.count;
    }
};

/// The variance in one pass, without large sums.
class StableMoment final : public AggregateBase<StableMoment, StableState, Measures> {
public:
    static constexpr bool kEmptyIsZero = true;

    StableMoment(Signature signature, TypePtr result, Moment moment)
        : AggregateBase(std::move(signature), std::move(result)),
          reader_(*argumentTypes()[0]),
          moment_(moment) {}

    Measures inputOf(const Column* const* arguments) const { return reader_.of(*arguments[0]); }

    void addRow(StableState& state, const Measures& input, size_t row, Arena&) const {
        state.add(input[row]);
    }

    void mergeStates(StableState& state, const StableState& other, Arena&) const { state.merge(other); }

    void write(const StableState& state, Writer& out) const {
        out.writeVarUInt(state.count);
        out.writeFixed(state.mean);
        out.writeFixed(state.m2);
    }

    void read(StableState& state, Reader& in, Arena&) const {
        state.count = in.readVarUInt();
        in.readFixed(state.mean);
        in.readFixed(state.m2);
    }

    void finish(StableState& state, Column& to, Arena&) const {
        const bool sample = moment_ == Moment::VarSamp || moment_ == Moment::StddevSamp;
        const double least = sample ? 2 : 1;
        const auto count = static_cast<double>(state.count);
        double result =
            count < least ? std::numeric_limits<double>::infinity() : state.m2 / (sample ? count - 1 : count);
        if (moment_ == Moment::StddevPop || moment_ == Moment::StddevSamp) result = std::sqrt(result);
        appendFixed(to, result);
    }

private:
    MeasureReader reader_;
    Moment moment_;
};

template <Moment moment>
AggregateFunctionPtr createStable(Signature signature) {
    expectNoParameters(signature);
    expectArguments(signature, 1);
    const TypePtr argument = signature.arguments[0];
    if (!isMeasured(*argument)) failArgumentType(signature);
    return std::make_shared<StableMoment>(std::move(signature), types::float64(), moment);
}

// -- two columns ------------------------------------------------------------------------------------

enum class Pair { CovarPop, CovarSamp, Corr };

struct PairInput {
    Measures x;
    Measures y;
};

struct PairReaders {
    MeasureReader x;
    MeasureReader y;

    explicit PairReaders(const Signature& signature)
        : x(*signature.arguments[0]), y(*signature.arguments[1]) {}

    PairInput of(const Column* const* arguments) const { return {x.of(*arguments[0]), y.of(*arguments[1])}; }
};

/// n, Σx, Σy, Σxy, and for corr Σx², Σy².
template <typename C, Pair pair>
struct PairSums {
    C sums[pair == Pair::Corr ? 6 : 4] = {};
};

template <typename C, Pair pair>
class PairMoment final : public AggregateBase<PairMoment<C, pair>, PairSums<C, pair>, PairInput> {
public:
    using State = PairSums<C, pair>;
    using Base = AggregateBase<PairMoment<C, pair>, State, PairInput>;
    static constexpr bool kEmptyIsZero = true;

    PairMoment(Signature signature, TypePtr result, PairReaders readers)
        : Base(std::move(signature), std::move(result)), readers_(readers) {}

    PairInput inputOf(const Column* const* arguments) const { return readers_.of(arguments); }

    void addRow(State& state, const PairInput& input, size_t row, Arena&) const {
        const C x = static_cast<C>(input.x[row]);
        const C y = static_cast<C>(input.y[row]);
        state.sums[0] += 1;
        state.sums[1] += x;
        state.sums[2] += y;
        state.sums[3] += x * y;
        if constexpr (pair == Pair::Corr) {
            state.sums[4] += x * x;
            state.sums[5] += y * y;
        }
    }

    void mergeStates(State& state, const State& other, Arena&) const {
        for (size_t i = 0; i < std::size(state.sums); ++i) state.sums[i] += other.sums[i];
    }

    void write(const State& state, Writer& out) const { out.writeFixed(state.sums); }

    void read(State& state, Reader& in, Arena&) const { in.readFixed(state.sums); }

    void finish(State& state, Column& to, Arena&) const { appendFixed(to, result(state)); }

private:
    static C result(const State& state) {
        const C n = state.sums[0];
        const C x = state.sums[1];
        const C y = state.sums[2];
        if constexpr (pair == Pair::CovarPop) return (state.sums[3] - x * y / n) / n;
        if constexpr (pair == Pair::CovarSamp)
            return n < 2 ? std::numeric_limits<C>::quiet_NaN() : (state.sums[3] - x * y / n) / (n - 1);
        if constexpr (pair == Pair::Corr)
            return (n * state.sums[3] - x * y) /
                   std::sqrt((n * state.sums[4] - x * x) * (n * state.sums[5] - y * y));
    }

    PairReaders readers_;
};

void checkPair(const Signature& signature) {
    expectNoParameters(signature);
    expectArguments(signature, 2);
    const Type& x = *signature.arguments[0];
    const Type& y = *signature.arguments[1];
    if (!isMeasured(x) || !isMeasured(y) || x.isDecimal() != y.isDecimal())
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    "Illegal types {} and {} of arguments for aggregate function {}", x.name(), y.name(),
                    signature.name);
}

template <Pair pair>
AggregateFunctionPtr createPair(Signature signature) {
    checkPair(signature);
    const PairReaders readers(signature);
    const bool narrow = signature.arguments[0]->kind() == TypeKind::Float32 &&
                        signature.arguments[1]->kind() == TypeKind::Float32;
    if (narrow)
        return std::make_shared<PairMoment<float, pair>>(std::move(signature),
                                                         types::simple(TypeKind::Float32), readers);
    return std::make_shared<PairMoment<double, pair>>(std::move(signature), types::float64(), readers);
}

struct StablePairState {
    uint64_t count = 0;
    double mean_x = 0;
    double mean_y = 0;
    double co_moment = 0;
    double m2_x = 0;
    double m2_y = 0;

    void add(double x, double y) {
        ++count;
        const auto n = static_cast<double>(count);
        const double delta_x = x - mean_x;
        const double delta_y = y - mean_y;
        mean_x += delta_x / n;
        mean_y += delta_y / n;
        co_moment += (x - mean_x) * delta_y;
        m2_x += delta_x * (x - mean_x);
        m2_y += delta_y * (y - mean_y);
    }

    void merge(const StablePairState& other) {
        if (other.count == 0) return;
        const auto a = static_cast<double>(count);
        const auto b = static_cast<double>(other.count);
        const double total = a + b;
        const double delta_x = mean_x - other.mean_x;
        const double delta_y = mean_y - other.mean_y;
        const double factor = a * b / total;
        mean_x = other.mean_x + delta_x * (a / total);
        mean_y = other.mean_y + delta_y * (a / total);
        co_moment += other.co_moment + delta_x * delta_y * factor;
        m2_x += other.m2_x + delta_x * delta_x * factor;
        m2_y += other.m2_y + delta_y * delta_y * factor;
        count += other.count;
    }
};

template <Pair pair>
class StablePair final : public AggregateBase<StablePair<pair>, StablePairState, PairInput> {
public:
    using Base = AggregateBase<StablePair<pair>, StablePairState, PairInput>;
    static constexpr bool kEmptyIsZero = true;

    StablePair(Signature signature, PairReaders readers)
        : Base(std::move(signature), types::float64()), readers_(readers) {}

    PairInput inputOf(const Column* const* arguments) const { return readers_.of(arguments); }

    void addRow(StablePairState& state, const PairInput& input, size_t row, Arena&) const {
        state.add(input.x[row], input.y[row]);
    }

    void mergeStates(StablePairState& state, const StablePairState& other, Arena&) const {
        state.merge(other);
    }

    void write(const StablePairState& state, Writer& out) const {
        out.writeVarUInt(state.count);
        out.writeFixed(state.mean_x);
        out.writeFixed(state.mean_y);
        out.writeFixed(state.co_moment);
        if (pair != Pair::Corr) return;
        out.writeFixed(state.m2_x);
        out.writeFixed(state.m2_y);
    }

    void read(StablePairState& state, Reader& in, Arena&) const {
        state.count = in.readVarUInt();
        in.readFixed(state.mean_x);
        in.readFixed(state.mean_y);
        in.readFixed(state.co_moment);
        if (pair != Pair::Corr) return;
        in.readFixed(state.m2_x);
        in.readFixed(state.m2_y);
    }

    void finish(StablePairState& state, Column& to, Arena&) const { appendFixed(to, result(state)); }

private:
    static double result(const StablePairState& state) {
        constexpr double kInfinity = std::numeric_limits<double>::infinity();
        const auto n = static_cast<double>(state.count);
        if (pair == Pair::CovarPop) return state.count < 1 ? kInfinity : state.co_moment / n;
        if (pair == Pair::CovarSamp) return state.count < 2 ? kInfinity : state.co_moment / (n - 1);
        return state.count < 2 ? kInfinity : state.co_moment / std::sqrt(state.m2_x * state.m2_y);
    }

    PairReaders readers_;
};

template <Pair pair>
AggregateFunctionPtr createStablePair(Signature signature) {
    checkPair(signature);
    const PairReaders readers(signature);
    return std::make_shared<StablePair<pair>>(std::move(signature), readers);
}

// -- simpleLinearRegression -------------------------------------------------------------------------

struct LineState {
    uint64_t count = 0;
    double x = 0;
    double y = 0;
    double xx = 0;
    double xy = 0;
};

/// The line k·x + b with the least squares.
class LinearRegression final : public AggregateBase<LinearRegression, LineState, PairInput> {
public:
    static constexpr bool kEmptyIsZero = true;

    LinearRegression(Signature signature, TypePtr result, PairReaders readers)
        : AggregateBase(std::move(signature), std::move(result)), readers_(readers) {}

    PairInput inputOf(const Column* const* arguments) const { return readers_.of(arguments); }

    void addRow(LineState& state, const PairInput& input, size_t row, Arena&) const {
        const double x = input.x[row];
        const double y = input.y[row];
        ++state.count;
        state.x += x;
        state.y += y;
        state.xx += x * x;
        state.xy += x * y;
    }

    void mergeStates(LineState& state, const LineState& other, Arena&) const {
        state.count += other.count;
        state.x += other.x;
        state.y += other.y;
        state.xx += other.xx;
        state.xy += other.xy;
    }

    void write(const LineState& state, Writer& out) const { out.writeFixed(state); }

    void read(LineState& state, Reader& in, Arena&) const { in.readFixed(state); }

    void finish(LineState& state, Column& to, Arena&) const {
        const auto n = static_cast<double>(state.count);
        const double divisor = state.xx * n - state.x * state.x;
        const double k =
            state.count == 0 || divisor == 0 ? kNaN : (state.xy * n - state.x * state.y) / divisor;
        const double b = state.count == 0 ? kNaN : (state.y - k * state.x) / n;
        appendTuple(to, k, b);
    }

private:
    PairReaders readers_;
};

AggregateFunctionPtr createLinearRegression(Signature signature) {
    checkPair(signature);
    const PairReaders readers(signature);
    return std::make_shared<LinearRegression>(
        std::move(signature), types::tuple({types::float64(), types::float64()}, {"k", "b"}), readers);
}

}  // namespace

std::span<const AggregateInfo> statisticsAggregates() {
    static const AggregateInfo kInfos[] = {
        {.name = "varPop",
         .create = createMoment<Moment::VarPop>,
         .syntax = "varPop(x)",
         .description = "Population variance.",
         .example = "SELECT varPop(number) FROM numbers(3)",
         .example_result = "0.6666666666666666"},
        {.name = "varSamp",
         .create = createMoment<Moment::VarSamp>,
         .syntax = "varSamp(x)",
         .description = "Sample variance.",
         .example = "SELECT varSamp(number) FROM numbers(3)",
         .example_result = "1"},
        {.name = "stddevPop",
         .create = createMoment<Moment::StddevPop>,
         .syntax = "stddevPop(x)",
         .description = "Population standard deviation.",
         .example = "SELECT stddevPop(number * 2) FROM numbers(2)",
         .example_result = "1"},
        {.name = "stddevSamp",
         .create = createMoment<Moment::StddevSamp>,
         .syntax = "stddevSamp(x)",
         .description = "Sample standard deviation.",
         .example = "SELECT stddevSamp(number) FROM numbers(3)",
         .example_result = "1"},
        {.name = "skewPop",
         .create = createMoment<Moment::SkewPop>,
         .syntax = "skewPop(x)",
         .description = "Population skewness.",
         .example = "SELECT skewPop(number) FROM numbers(3)",
         .example_result = "0"},
        {.name = "skewSamp",
         .create = createMoment<Moment::SkewSamp>,
         .syntax = "skewSamp(x)",
         .description = "Sample skewness."},
        {.name = "kurtPop",
         .create = createMoment<Moment::KurtPop>,
         .syntax = "kurtPop(x)",
         .description = "Population kurtosis."},
        {.name = "kurtSamp",
         .create = createMoment<Moment::KurtSamp>,
         .syntax = "kurtSamp(x)",
         .description = "Sample kurtosis."},
        {.name = "varPopStable",
         .create = createStable<Moment::VarPop>,
         .syntax = "varPopStable(x)",
         .description = "Population variance, numerically stable."},
        {.name = "varSampStable",
         .create = createStable<Moment::VarSamp>,
         .syntax = "varSampStable(x)",
         .description = "Sample variance, numerically stable."},
        {.name = "stddevPopStable",
         .create = createStable<Moment::StddevPop>,
         .syntax = "stddevPopStable(x)",
         .description = "Population standard deviation, numerically stable."},
        {.name = "stddevSampStable",
         .create = createStable<Moment::StddevSamp>,
         .syntax = "stddevSampStable(x)",
         .description = "Sample standard deviation, numerically stable."},
        {.name = "covarPop",
         .create = createPair<Pair::CovarPop>,
         .syntax = "covarPop(x, y)",
         .description = "Population covariance.",
         .example = "SELECT covarPop(number, number) FROM numbers(3)",
         .example_result = "0.6666666666666666"},
        {.name = "covarSamp",
         .create = createPair<Pair::CovarSamp>,
         .syntax = "covarSamp(x, y)",
         .description = "Sample covariance.",
         .example = "SELECT covarSamp(number, number) FROM numbers(3)",
         .example_result = "1"},
        {.name = "corr",
         .create = createPair<Pair::Corr>,
         .case_insensitive = true,
         .syntax = "corr(x, y)",
         .description = "Pearson's correlation.",
         .example = "SELECT corr(number, number) FROM numbers(3)",
         .example_result = "1"},
        {.name = "covarPopStable",
         .create = createStablePair<Pair::CovarPop>,
         .syntax = "covarPopStable(x, y)",
         .description = "Population covariance, numerically stable."},
        {.name = "covarSampStable",
         .create = createStablePair<Pair::CovarSamp>,
         .syntax = "covarSampStable(x, y)",
         .description = "Sample covariance, numerically stable."},
        {.name = "corrStable",
         .create = createStablePair<Pair::Corr>,
         .syntax = "corrStable(x, y)",
         .description = "Pearson's correlation, numerically stable."},
        {.name = "simpleLinearRegression",
         .create = createLinearRegression,
         .syntax = "simpleLinearRegression(x, y)",
         .description = "Slope and intercept of the line with the least squares.",
         .example = "SELECT simpleLinearRegression(number, number * 2 + 1) FROM numbers(3)",
         .example_result = "(2,1)"},
    };
    return kInfos;
}

}  // namespace shardd::aggregates
