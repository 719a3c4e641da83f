#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "server/aggregates/compact_set.h"
#include "server/aggregates/elements.h"
#include "server/aggregates/numbers.h"
#include "server/aggregates/row_hash.h"

namespace shardd::aggregates {

namespace {

// -- entropy ----------------------------------------------------------------------------------------

template <typename Key>
struct Counted {
    Key key{};
    uint64_t count = 0;
};

template <typename Key>
struct CountedTraits {
    static bool isEmpty(const Counted<Key>& pair) { return pair.count == 0; }

    static bool equal(const Counted<Key>& a, const Counted<Key>& b) { return a.key == b.key; }

    static uint64_t hash(const Counted<Key>& pair) { return FixedKeyTraits<Key>::hash(pair.key); }
};

/// Shannon's entropy of the values, in bits.
template <typename Key, bool is_number>
class Entropy final : public AggregateBase<Entropy<Key, is_number>,
                                           CompactSet<Counted<Key>, CountedTraits<Key>>,
                                           ColumnsInput> {
public:
    using State = CompactSet<Counted<Key>, CountedTraits<Key>>;
    using Base = AggregateBase<Entropy<Key, is_number>, State, ColumnsInput>;
    using Base::Base;

    static constexpr bool kEmptyIsZero = true;

    void addRow(State& state, const ColumnsInput& input, size_t row, Arena& arena) const {
        Key key{};
        if constexpr (is_number)
            std::memcpy(static_cast<void*>(&key), input.columns[0]->bytesAt(row).data(), sizeof(Key));
        else
            key = sipRow(input.columns, this->argumentTypes().size(), row);
        insert(state, {key, 1}, arena);
    }

    void mergeStates(State& state, const State& other, Arena& arena) const {
        other.forEachNonZero([&](const Counted<Key>& pair) { insert(state, pair, arena); });
    }

    void write(const State& state, Writer& out) const {
        out.writeVarUInt(state.size());
        state.forEachNonZero([&](const Counted<Key>& pair) {
            out.writeFixed(pair.key);
            out.writeFixed(pair.count);
        });
    }

    void read(State& state, Reader& in, Arena& arena) const {
        const uint64_t count = in.readVarUInt();
        for (uint64_t i = 0; i < count; ++i) {
            const Key key = in.readFixed<Key>();
            insert(state, {key, in.readFixed<uint64_t>()}, arena);
        }
    }

    void finish(State& state, Column& to, Arena&) const {
        double total = 0;
        state.forEachNonZero([&](const Counted<Key>& pair) { total += static_cast<double>(pair.count); });
        double entropy = 0;
        state.forEachNonZero([&](const Counted<Key>& pair) {
            const double share = static_cast<double>(pair.count) / total;
            entropy -= share * std::log2(share);
        });
        appendFixed(to, entropy);
    }

private:
    static void insert(State& state, const Counted<Key>& pair, Arena& arena) {
        if (pair.count == 0) return;
        bool inserted = false;
        Counted<Key>* slot = state.insert(pair, arena, inserted);
        if (!inserted) slot->count += pair.count;
    }
};

bool isEntropyNumber(const Type& type) {
    if (type.kind() == TypeKind::Date32) return false;
    return isNumberKey(type) || type.kind() == TypeKind::Time || type.kind() == TypeKind::IPv6;
}

AggregateFunctionPtr createEntropy(Signature signature) {
    expectNoParameters(signature);
    if (signature.arguments.empty())
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Incorrect number of arguments for aggregate function {}", signature.name);
    const TypePtr argument = signature.arguments[0];
    if (signature.arguments.size() > 1 || !isEntropyNumber(*argument))
        return std::make_shared<Entropy<UInt128, false>>(std::move(signature), types::float64());
    AggregateFunctionPtr function;
    dispatchPhysical(argument->physical(), [&]<typename T>(Tag<T>) {
        function = std::make_shared<Entropy<KeyOf<T>, true>>(std::move(signature), types::float64());
    });
    return function;
}

// -- histogram --------------------------------------------------------------------------------------

struct HistogramPoint {
    double mean;
    double weight;
};

struct HistogramState {
    ArenaArray<HistogramPoint> points;
    double lower = std::numeric_limits<double>::max();
    double upper = -std::numeric_limits<double>::max();
};

/// Ben-Haim's and Tom-Tov's streaming histogram: nearest points are joined when there are too many.
class Histogram final : public AggregateBase<Histogram, HistogramState, ColumnsInput> {
public:
    Histogram(Signature signature, TypePtr result, uint32_t bins)
        : AggregateBase(std::move(signature), std::move(result)), bins_(bins) {}

    void addRow(HistogramState& state, const ColumnsInput& input, size_t row, Arena& arena) const {
        add(state, input.columns[0]->value(row).to<double>(), 1, arena);
    }

    void mergeStates(HistogramState& state, const HistogramState& other, Arena& arena) const {
        state.lower = std::min(state.lower, other.lower);
        state.upper = std::max(state.upper, other.upper);
        for (const HistogramPoint& point : other.points) add(state, point.mean, point.weight, arena);
    }

    void write(const HistogramState& state, Writer& out) const {
        out.writeFixed(state.lower);
        out.writeFixed(state.upper);
        out.writeVarUInt(state.points.size);
        for (const HistogramPoint& point : state.points) out.writeFixed(point);
    }

    void read(HistogramState& state, Reader& in, Arena& arena) const {
        in.readFixed(state.lower);
        in.readFixed(state.upper);
        const size_t count = readCount(in, kMaxElements, "histogram");
        for (size_t i = 0; i < count; ++i) state.points.push(in.readFixed<HistogramPoint>(), arena);
    }

    void finish(HistogramState& state, Column& to, Arena&) const {
        auto& array = static_cast<ArrayColumn&>(to);
        compress(state, bins_);
        for (size_t i = 0; i < state.points.size; ++i) appendBar(state, i, array.mutableElements());
        array.endRow();
    }

private:
    void add(HistogramState& state, double value, double weight, Arena& arena) const {
        state.points.push({value, weight}, arena);
        state.lower = std::min(state.lower, value);
        state.upper = std::max(state.upper, value);
        if (state.points.size >= size_t{bins_} * 2) compress(state, bins_);
    }

    /// Joins the nearest neighbours until `wanted` are left.
    static void compress(HistogramState& state, size_t wanted) {
        ArenaArray<HistogramPoint>& points = state.points;
        std::stable_sort(points.begin(), points.end(),
                         [](const HistogramPoint& a, const HistogramPoint& b) { return a.mean < b.mean; });
        joinEqual(points);
        while (points.size > wanted) {
            size_t nearest = 0;
            for (size_t i = 1; i + 1 < points.size; ++i)
                if (points[i + 1].mean - points[i].mean < points[nearest + 1].mean - points[nearest].mean)
                    nearest = i;
            points[nearest] = joined(points[nearest], points[nearest + 1]);
            std::copy(points.begin() + nearest + 2, points.end(), points.begin() + nearest + 1);
            --points.size;
        }
    }

    static void joinEqual(ArenaArray<HistogramPoint>& points) {
        size_t kept = 0;
        for (size_t i = 1; i < points.size; ++i) {
            if (points[i].mean == points[kept].mean)
                points[kept].weight += points[i].weight;
            else
                points[++kept] = points[i];
        }
        if (points.size > 0) points.size = static_cast<uint32_t>(kept + 1);
    }

    static HistogramPoint joined(const HistogramPoint& a, const HistogramPoint& b) {
        const double weight = a.weight + b.weight;
        return {(a.mean * a.weight + b.mean * b.weight) / weight, weight};
    }

    static void appendBar(const HistogramState& state, size_t i, Column& to) {
        const ArenaArray<HistogramPoint>& points = state.points;
        const bool first = i == 0;
        const bool last = i + 1 == points.size;
        const double from = first ? state.lower : (points[i - 1].mean + points[i].mean) / 2;
        const double until = last ? state.upper : (points[i].mean + points[i + 1].mean) / 2;
        appendTuple(to, from, until, sideOf(points, i, first, i - 1) + sideOf(points, i, last, i + 1));
    }

    /// Half of a point's weight lies on each side; towards a neighbour the weight changes linearly up to the
    /// middle.
    static double sideOf(const ArenaArray<HistogramPoint>& points, size_t i, bool at_end, size_t neighbour) {
        if (at_end) return points[i].weight / 2;
        return (3 * points[i].weight + points[neighbour].weight) / 8;
    }

    uint32_t bins_;
};

AggregateFunctionPtr createHistogram(Signature signature) {
    constexpr uint64_t kMaxBins = 250;
    if (signature.parameters.size() != 1)
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Function {} requires single parameter: bins count", signature.name);
    expectArguments(signature, 1);
    if (signature.parameters[0].kind() != Value::Kind::UInt64)
        throw Error(ErrorCode::UNSUPPORTED_PARAMETER, "Invalid type for bins count");
    const auto bins = signature.parameters[0].get<uint64_t>();
    if (bins == 0) throw Error(ErrorCode::BAD_ARGUMENTS, "Bin count must be greater than zero");
    if (bins > kMaxBins)
        throw Error(ErrorCode::PARAMETER_OUT_OF_BOUND, "Unsupported bins count: {}, maximum: {}", bins,
                    kMaxBins);
    if (!signature.arguments[0]->isNumber() || signature.arguments[0]->isDecimal())
        throw Error(ErrorCode::BAD_ARGUMENTS, "Illegal types of arguments of aggregate function {}",
                    signature.name);
    const TypePtr number = types::float64();
    return std::make_shared<Histogram>(std::move(signature),
                                       types::array(types::tuple({number, number, number})),
                                       static_cast<uint32_t>(bins));
}

// -- rankCorr ---------------------------------------------------------------------------------------

struct RankState {
    ArenaArray<double> x;
    ArenaArray<double> y;
};

/// Spearman's rank correlation.
class RankCorr final : public AggregateBase<RankCorr, RankState, ColumnsInput> {
public:
    using AggregateBase::AggregateBase;

    static constexpr bool kEmptyIsZero = true;

    void addRow(RankState& state, const ColumnsInput& input, size_t row, Arena& arena) const {
        state.x.push(input.columns[0]->value(row).to<double>(), arena);
        state.y.push(input.columns[1]->value(row).to<double>(), arena);
    }

    void mergeStates(RankState& state, const RankState& other, Arena& arena) const {
        for (double value : other.x) state.x.push(value, arena);
        for (double value : other.y) state.y.push(value, arena);
    }

    void write(const RankState& state, Writer& out) const {
        out.writeVarUInt(state.x.size);
        out.writeVarUInt(state.y.size);
        out.writeBytes(state.x.data, state.x.size * sizeof(double));
        out.writeBytes(state.y.data, state.y.size * sizeof(double));
    }

    void read(RankState& state, Reader& in, Arena& arena) const {
        const uint64_t x = in.readVarUInt();
        const uint64_t y = in.readVarUInt();
        if (x != y)
            throw Error(ErrorCode::INCORRECT_DATA, "Wrong sizes {} and {} in a state of {}", x, y, name());
        for (uint64_t i = 0; i < x; ++i) state.x.push(in.readFixed<double>(), arena);
        for (uint64_t i = 0; i < y; ++i) state.y.push(in.readFixed<double>(), arena);
    }

    void finish(RankState& state, Column& to, Arena&) const {
        const std::vector<double> x = ranksOf(state.x);
        const std::vector<double> y = ranksOf(state.y);
        const auto n = static_cast<double>(x.size());
        double sum = 0;
        for (size_t i = 0; i < x.size(); ++i) sum += (x[i] - y[i]) * (x[i] - y[i]);
        appendFixed(to, 1 - (6 * sum) / (n * (n * n - 1)));
    }

private:
    /// Equal values share the mean of their ranks.
    static std::vector<double> ranksOf(const ArenaArray<double>& values) {
        std::vector<size_t> order(values.size);
        std::iota(order.begin(), order.end(), size_t{0});
        std::ranges::stable_sort(order, [&](size_t a, size_t b) { return values[a] < values[b]; });
        std::vector<double> ranks(values.size);
        for (size_t start = 0; start < order.size();) {
            size_t end = start + 1;
            while (end < order.size() && values[order[end]] == values[order[start]]) ++end;
            for (size_t i = start; i < end; ++i)
                ranks[order[i]] = 1 + static_cast<double>(start + end - 1) / 2;
            start = end;
        }
        return ranks;
    }
};

AggregateFunctionPtr createRankCorr(Signature signature) {
    expectNoParameters(signature);
    expectArguments(signature, 2);
    for (const TypePtr& type : signature.arguments)
        if (!type->isNumber() || type->isDecimal())
            throw Error(ErrorCode::BAD_ARGUMENTS, "Aggregate function {} only supports numerical types",
                        signature.name);
    return std::make_shared<RankCorr>(std::move(signature), types::float64());
}

}  // namespace

std::span<const AggregateInfo> distributionsAggregates() {
    static const AggregateInfo kInfos[] = {
        {.name = "entropy",
         .create = createEntropy,
         .syntax = "entropy(x[, …])",
         .description = "Shannon's entropy of the values, in bits.",
         .example = "SELECT entropy(number) FROM numbers(4)",
         .example_result = "2"},
        {.name = "histogram",
         .create = createHistogram,
         .syntax = "histogram(bins)(x)",
         .description = "Adaptive histogram: array of (lower bound, upper bound, height).",
         .example = "SELECT histogram(2)(number) FROM numbers(2)",
         .example_result = "[(0,0.5,1),(0.5,1,1)]"},
        {.name = "rankCorr",
         .create = createRankCorr,
         .syntax = "rankCorr(x, y)",
         .description = "Spearman's rank correlation.",
         .example = "SELECT rankCorr(number, -number) FROM numbers(3)",
         .example_result = "-1"},
    };
    return kInfos;
}

}  // namespace shardd::aggregates
