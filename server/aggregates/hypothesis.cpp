#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "server/aggregates/compact_set.h"
#include "server/aggregates/elements.h"
#include "server/aggregates/row_hash.h"

namespace shardd::aggregates {

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// -- cross tabulation: cramersV and its kin ---------------------------------------------------------

struct TableKey {
    uint64_t a = 0;
    uint64_t b = 0;
    uint64_t count = 0;
};

struct TableKeyTraits {
    static bool isEmpty(const TableKey& key) { return key.count == 0; }

    static bool equal(const TableKey& x, const TableKey& y) { return x.a == y.a && x.b == y.b; }

    static uint64_t hash(const TableKey& key) { return mixHash64(key.a ^ mixHash64(key.b)); }
};

using TableCounts = CompactSet<TableKey, TableKeyTraits>;

struct CrossTable {
    uint64_t count = 0;
    TableCounts a;
    TableCounts b;
    TableCounts both;
};

void addTo(TableCounts& counts, const TableKey& key, Arena& arena) {
    if (key.count == 0) return;
    bool inserted = false;
    TableKey* slot = counts.insert(key, arena, inserted);
    if (!inserted) slot->count += key.count;
}

uint64_t countOf(const TableCounts& counts, uint64_t hash) {
    uint64_t found = 0;
    counts.forEachNonZero([&](const TableKey& key) { found += key.a == hash ? key.count : 0; });
    return found;
}

/// χ² over the number of rows.
double phiSquare(const CrossTable& table) {
    const auto n = static_cast<double>(table.count);
    // A cell that never came counts as well: Σ (o − e)² / e = Σ o² / e − n.
    double sum = 0;
    table.both.forEachNonZero([&](const TableKey& key) {
        const double expected =
            static_cast<double>(countOf(table.a, key.a)) * static_cast<double>(countOf(table.b, key.b)) / n;
        sum += static_cast<double>(key.count) * static_cast<double>(key.count) / expected;
    });
    return std::max(0.0, (sum - n) / n);
}

enum class Association { CramersV, CramersVBiasCorrected, TheilsU, Contingency };

double theilsU(const CrossTable& table) {
    const auto n = static_cast<double>(table.count);
    double entropy = 0;
    table.a.forEachNonZero([&](const TableKey& key) {
        const double share = static_cast<double>(key.count) / n;
        entropy += share * std::log(share);
    });
    double conditional = 0;
    table.both.forEachNonZero([&](const TableKey& key) {
        const double share = static_cast<double>(key.count) / n;
        conditional +=
            share * std::log(static_cast<double>(key.count) / static_cast<double>(countOf(table.b, key.b)));
    });
    return std::clamp((entropy - conditional) / entropy, 0.0, 1.0);
}

template <Association association>
class CrossTabulation final : public AggregateBase<CrossTabulation<association>, CrossTable, ColumnsInput> {
public:
    using Base = AggregateBase<CrossTabulation<association>, CrossTable, ColumnsInput>;

    explicit CrossTabulation(Signature signature)
        : Base(std::move(signature), types::float64()),
          hash_a_({this->argumentTypes()[0]}),
          hash_b_({this->argumentTypes()[1]}) {}

    static constexpr bool kEmptyIsZero = true;

    void addRow(CrossTable& table, const ColumnsInput& input, size_t row, Arena& arena) const {
        const uint64_t a = hash_a_(input.columns, row);
        const uint64_t b = hash_b_(input.columns + 1, row);
        ++table.count;
        addTo(table.a, {a, 0, 1}, arena);
        addTo(table.b, {b, 0, 1}, arena);
        addTo(table.both, {a, b, 1}, arena);
    }

    void mergeStates(CrossTable& table, const CrossTable& other, Arena& arena) const {
        table.count += other.count;
        other.a.forEachNonZero([&](const TableKey& key) { addTo(table.a, key, arena); });
        other.b.forEachNonZero([&](const TableKey& key) { addTo(table.b, key, arena); });
        other.both.forEachNonZero([&](const TableKey& key) { addTo(table.both, key, arena); });
    }

    void write(const CrossTable& table, Writer& out) const {
        out.writeFixed(table.count);
        for (const TableCounts* counts : {&table.a, &table.b, &table.both}) {
            out.writeVarUInt(counts->size());
            counts->forEachNonZero([&](const TableKey& key) {
                out.writeFixed(key.a);
                if (counts == &table.both) out.writeFixed(key.b);
                out.writeFixed(key.count);
            });
        }
    }

    void read(CrossTable& table, Reader& in, Arena& arena) const {
        in.readFixed(table.count);
        for (TableCounts* counts : {&table.a, &table.b, &table.both}) {
            const uint64_t size = in.readVarUInt();
            for (uint64_t i = 0; i < size; ++i) {
                TableKey key;
                in.readFixed(key.a);
                if (counts == &table.both) in.readFixed(key.b);
                in.readFixed(key.count);
                addTo(*counts, key, arena);
            }
        }
    }

    void finish(CrossTable& table, Column& to, Arena&) const {
        appendFixed(to, table.count < 2 ? kNaN : result(table));
    }

private:
    static double result(const CrossTable& table) {
        if constexpr (association == Association::TheilsU) return theilsU(table);
        const double phi = phiSquare(table);
        if constexpr (association == Association::Contingency) return std::sqrt(phi / (1 + phi));
        const auto a = static_cast<double>(table.a.size());
        const auto b = static_cast<double>(table.b.size());
        if constexpr (association == Association::CramersV) return std::sqrt(phi / std::min(a - 1, b - 1));
        const double less = static_cast<double>(table.count) - 1;
        const double corrected = std::max(0.0, phi - (a - 1) * (b - 1) / less);
        const double a_corrected = a - (a - 1) * (a - 1) / less;
        const double b_corrected = b - (b - 1) * (b - 1) / less;
        return std::sqrt(corrected / std::min(a_corrected - 1, b_corrected - 1));
    }

    RowHash64 hash_a_;
    RowHash64 hash_b_;
};

template <Association association>
AggregateFunctionPtr createCrossTabulation(Signature signature) {
    expectNoParameters(signature);
    expectArguments(signature, 2);
    return std::make_shared<CrossTabulation<association>>(std::move(signature));
}

// -- tests of two samples: the second argument tells which of them a value belongs to ----------------

void checkSamples(const Signature& signature) {
    expectArguments(signature, 2);
    for (const TypePtr& type : signature.arguments)
        if (!type->isNumber() || type->isDecimal())
            throw Error(ErrorCode::BAD_ARGUMENTS, "Aggregate function {} only supports numerical types",
                        signature.name);
}

/// The continued fraction of the incomplete beta function (Lentz).
double betaFraction(double a, double b, double x) {
    constexpr double kTiny = 1e-300;
    double c = 1;
    double d = 1 - (a + b) * x / (a + 1);
    d = 1 / (std::abs(d) < kTiny ? kTiny : d);
    double result = d;
    for (int m = 1; m <= 300; ++m) {
        for (const bool odd : {false, true}) {
            const double term = odd ? -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
                                    : m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
            d = 1 + term * d;
            d = 1 / (std::abs(d) < kTiny ? kTiny : d);
            c = 1 + term / c;
            if (std::abs(c) < kTiny) c = kTiny;
            result *= c * d;
        }
        if (std::abs(c * d - 1) < 1e-16) break;
    }
    return result;
}

/// Regularized incomplete beta function.
double incompleteBeta(double a, double b, double x) {
    if (x <= 0) return 0;
    if (x >= 1) return 1;
    const double factor =
        std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
    if (x < (a + 1) / (a + b + 2)) return factor * betaFraction(a, b, x) / a;
    return 1 - factor * betaFraction(b, a, 1 - x) / b;
}

/// Probability that |t| is at least this large.
double studentTwoSided(double t, double freedom) {
    return incompleteBeta(freedom / 2, 0.5, freedom / (freedom + t * t));
}

struct SampleMoments {
    double nx = 0;
    double ny = 0;
    double x = 0;
    double y = 0;
    double xx = 0;
    double yy = 0;
};

/// Whether two samples have the same mean; Welch's form does not take their variances for equal.
template <bool welch>
class TTest final : public AggregateBase<TTest<welch>, SampleMoments, ColumnsInput> {
public:
    using Base = AggregateBase<TTest<welch>, SampleMoments, ColumnsInput>;

    TTest(Signature signature, TypePtr result, double confidence)
        : Base(std::move(signature), std::move(result)), confidence_(confidence) {}

    static constexpr bool kEmptyIsZero = true;

    void addRow(SampleMoments& state, const ColumnsInput& input, size_t row, Arena&) const {
        const auto value = input.columns[0]->value(row).to<double>();
        const bool second = input.columns[1]->value(row).to<double>() != 0;
        (second ? state.ny : state.nx) += 1;
        (second ? state.y : state.x) += value;
        (second ? state.yy : state.xx) += value * value;
    }

    void mergeStates(SampleMoments& state, const SampleMoments& other, Arena&) const {
        state.nx += other.nx;
        state.ny += other.ny;
        state.x += other.x;
        state.y += other.y;
        state.xx += other.xx;
        state.yy += other.yy;
    }

    void write(const SampleMoments& state, Writer& out) const { out.writeFixed(state); }

    void read(SampleMoments& state, Reader& in, Arena&) const { in.readFixed(state); }

    void finish(SampleMoments& state, Column& to, Arena&) const {
        const double mean_x = state.x / state.nx;
        const double mean_y = state.y / state.ny;
        const double square_x = std::max(0.0, state.xx + state.nx * mean_x * mean_x - 2 * mean_x * state.x);
        const double square_y = std::max(0.0, state.yy + state.ny * mean_y * mean_y - 2 * mean_y * state.y);
        double freedom = state.nx + state.ny - 2;
        double error = std::sqrt((square_x + square_y) / freedom * (1 / state.nx + 1 / state.ny));
        if constexpr (welch) {
            const double part_x = square_x / (state.nx - 1) / state.nx;
            const double part_y = square_y / (state.ny - 1) / state.ny;
            error = std::sqrt(part_x + part_y);
            freedom = (part_x + part_y) * (part_x + part_y) /
                      (part_x * part_x / (state.nx - 1) + part_y * part_y / (state.ny - 1));
        }
        const bool enough = state.nx > 1 && state.ny > 1 && error > 0;
        const double t = enough ? (mean_x - mean_y) / error : kNaN;
        const double p = enough ? std::clamp(studentTwoSided(t, freedom), 0.0, 1.0) : kNaN;
        if (confidence_ == 0) {
            appendTuple(to, t, p);
            return;
        }
        const double width = enough ? error * quantile(freedom) : kNaN;
        appendTuple(to, t, p, mean_x - mean_y - width, mean_x - mean_y + width);
    }

private:
    /// The t that |t| exceeds with probability 1 - confidence.
    double quantile(double freedom) const {
        double low = 0;
        double high = 1;
        while (studentTwoSided(high, freedom) > 1 - confidence_ && high < 1e12) high *= 2;
        for (int i = 0; i < 200 && low < high; ++i) {
            const double middle = (low + high) / 2;
            (studentTwoSided(middle, freedom) > 1 - confidence_ ? low : high) = middle;
        }
        return high;
    }

    double confidence_;
};

template <bool welch>
AggregateFunctionPtr createTTest(Signature signature) {
    checkSamples(signature);
    if (signature.parameters.size() > 1)
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Aggregate function {} requires zero or one parameter.", signature.name);
    const double confidence = signature.parameters.empty() ? 0 : signature.parameters[0].to<double>();
    if (!signature.parameters.empty() && !(confidence > 0 && confidence < 1))
        throw Error(ErrorCode::BAD_ARGUMENTS,
                    "Confidence level parameter must be between 0 and 1 in aggregate function {}.",
                    signature.name);
    const TypePtr number = types::float64();
    TypePtr result =
        confidence == 0
            ? types::tuple({number, number}, {"t_statistic", "p_value"})
            : types::tuple({number, number, number, number},
                           {"t_statistic", "p_value", "confidence_interval_low", "confidence_interval_high"});
    return std::make_shared<TTest<welch>>(std::move(signature), std::move(result), confidence);
}

struct TwoSamples {
    ArenaArray<double> x;
    ArenaArray<double> y;
};

enum class Alternative { TwoSided, Less, Greater };

/// Whether one of two samples tends to be larger, by ranks.
class MannWhitney final : public AggregateBase<MannWhitney, TwoSamples, ColumnsInput> {
public:
    MannWhitney(Signature signature, TypePtr result, Alternative alternative, bool continuity)
        : AggregateBase(std::move(signature), std::move(result)),
          alternative_(alternative),
          continuity_(continuity) {}

    static constexpr bool kEmptyIsZero = true;

    void addRow(TwoSamples& state, const ColumnsInput& input, size_t row, Arena& arena) const {
        const bool second = input.columns[1]->value(row).to<double>() != 0;
        (second ? state.y : state.x).push(input.columns[0]->value(row).to<double>(), arena);
    }

    void mergeStates(TwoSamples& state, const TwoSamples& other, Arena& arena) const {
        for (double value : other.x) state.x.push(value, arena);
        for (double value : other.y) state.y.push(value, arena);
    }

    void write(const TwoSamples& state, Writer& out) const {
        out.writeVarUInt(state.x.size);
        out.writeVarUInt(state.y.size);
        out.writeBytes(state.x.data, state.x.size * sizeof(double));
        out.writeBytes(state.y.data, state.y.size * sizeof(double));
    }

    void read(TwoSamples& state, Reader& in, Arena& arena) const {
        const uint64_t x = in.readVarUInt();
        const uint64_t y = in.readVarUInt();
        for (uint64_t i = 0; i < x; ++i) state.x.push(in.readFixed<double>(), arena);
        for (uint64_t i = 0; i < y; ++i) state.y.push(in.readFixed<double>(), arena);
    }

    void finish(TwoSamples& state, Column& to, Arena&) const {
        if (state.x.size == 0 || state.y.size == 0)
            throw Error(ErrorCode::BAD_ARGUMENTS,
                        "Aggregate function {} require both samples to be non empty", name());
        std::vector<double> values(state.x.begin(), state.x.end());
        values.insert(values.end(), state.y.begin(), state.y.end());
        std::vector<size_t> order(values.size());
        std::iota(order.begin(), order.end(), size_t{0});
        std::ranges::stable_sort(order, [&](size_t a, size_t b) { return values[a] < values[b]; });
        double rank_sum = 0;
        double ties = 0;
        for (size_t start = 0; start < order.size();) {
            size_t end = start + 1;
            while (end < order.size() && values[order[end]] == values[order[start]]) ++end;
            const auto equal = static_cast<double>(end - start);
            ties += equal * equal * equal - equal;
            for (size_t i = start; i < end; ++i)
                if (order[i] < state.x.size) rank_sum += 1 + static_cast<double>(start + end - 1) / 2;
            start = end;
        }
        appendResult(state.x.size, state.y.size, rank_sum, ties, to);
    }

private:
    void appendResult(double nx, double ny, double rank_sum, double ties, Column& to) const {
        const double n = nx + ny;
        const double u_x = rank_sum - nx * (nx + 1) / 2;
        const double u_y = nx * ny - u_x;
        const double correction = 1 - ties / (n * n * n - n);
        const double deviation = std::sqrt(correction * nx * ny * (n + 1) / 12);
        const double mean = nx * ny / 2 + (continuity_ ? 0.5 : 0);
        const double u = alternative_ == Alternative::Less      ? u_y
                         : alternative_ == Alternative::Greater ? u_x
                                                                : std::max(u_x, u_y);
        double z = (u - mean) / deviation;
        if (alternative_ == Alternative::TwoSided) z = std::abs(z);
        const double beyond = 0.5 * std::erfc(z / std::sqrt(2.0));
        appendTuple(to, u_x, alternative_ == Alternative::TwoSided ? 2 * beyond : beyond);
    }

    Alternative alternative_;
    bool continuity_;
};

AggregateFunctionPtr createMannWhitney(Signature signature) {
    checkSamples(signature);
    if (signature.parameters.size() > 2)
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Aggregate function {} require two parameter or less", signature.name);
    Alternative alternative = Alternative::TwoSided;
    if (!signature.parameters.empty()) {
        const Value& parameter = signature.parameters[0];
        const std::string text =
            parameter.kind() == Value::Kind::String ? parameter.get<std::string>() : std::string();
        if (text == "less")
            alternative = Alternative::Less;
        else if (text == "greater")
            alternative = Alternative::Greater;
        else if (text != "two-sided")
            throw Error(ErrorCode::BAD_ARGUMENTS,
                        "Unknown parameter in aggregate function {}. It must be one of: 'two-sided', 'less', "
                        "'greater'",
                        signature.name);
    }
    const bool continuity = signature.parameters.size() < 2 || signature.parameters[1].to<uint64_t>() != 0;
    return std::make_shared<MannWhitney>(
        std::move(signature), types::tuple({types::float64(), types::float64()}, {"u_statistic", "p_value"}),
        alternative, continuity);
}

}  // namespace

std::span<const AggregateInfo> hypothesisAggregates() {
    static const AggregateInfo kInfos[] = {
        {.name = "cramersV",
         .create = createCrossTabulation<Association::CramersV>,
         .syntax = "cramersV(x, y)",
         .description = "Cramér's V: how strongly two columns go together, 0 to 1.",
         .example = "SELECT cramersV(number % 2, number % 2) FROM numbers(10)",
         .example_result = "1"},
        {.name = "cramersVBiasCorrected",
         .create = createCrossTabulation<Association::CramersVBiasCorrected>,
         .syntax = "cramersVBiasCorrected(x, y)",
         .description = "Cramér's V, corrected for small samples."},
        {.name = "theilsU",
         .create = createCrossTabulation<Association::TheilsU>,
         .syntax = "theilsU(x, y)",
         .description = "How much of the entropy of x is known when y is."},
        {.name = "contingency",
         .create = createCrossTabulation<Association::Contingency>,
         .syntax = "contingency(x, y)",
         .description = "Pearson's contingency coefficient."},
        {.name = "studentTTest",
         .create = createTTest<false>,
         .case_insensitive = false,
         .syntax = "studentTTest[(confidence)](x, sample)",
         .description = "Student's t-test of the means of two samples."},
        {.name = "welchTTest",
         .create = createTTest<true>,
         .syntax = "welchTTest[(confidence)](x, sample)",
         .description = "Welch's t-test of the means of two samples."},
        {.name = "mannWhitneyUTest",
         .create = createMannWhitney,
         .syntax = "mannWhitneyUTest[(alternative[, continuity])](x, sample)",
         .description = "Mann-Whitney rank test of two samples."},
    };
    return kInfos;
}

}  // namespace shardd::aggregates
