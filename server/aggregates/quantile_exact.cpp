#include <algorithm>

#include "server/aggregates/compact_set.h"
#include "server/aggregates/quantile_base.h"

namespace shardd::aggregates {

namespace {

enum class ExactMember {
    // Of an even number of values the median is one of the two in the middle: Low and High say which.
    Plain,
    Low,
    High,
    // Interpolated at position h of 1 … n: exclusive level·(n+1), inclusive level·(n−1)+1.
    Exclusive,
    Inclusive,
};

/// All values, as they came.
template <typename K>
struct Exact {
    using Kept = K;
    static constexpr bool kEmptyIsZero = true;

    ArenaArray<K> values;

    void add(const K& value, Arena& arena) { values.push(value, arena); }

    void merge(const Exact& other, Arena& arena) {
        values.reserve(values.size + other.values.size, arena);
        for (const K& value : other.values) values.push(value, arena);
    }

    void write(Writer& out) const {
        out.writeVarUInt(values.size);
        out.writeBytes(values.data, values.size * sizeof(K));
    }

    void read(Reader& in, Arena& arena) {
        const uint64_t count = in.readVarUInt();
        for (uint64_t i = 0; i < count; ++i) values.push(in.readFixed<K>(), arena);
    }

    void get(const Levels& levels, Answers& answers);
};

/// Numbers whose type is told at run time, moved about as their quantiles are asked for, in ascending order.
class Selection {
public:
    Selection(Physical physical, void* values, size_t count)
        : physical_(physical),
          width_(widthOf(physical)),
          values_(static_cast<char*>(values)),
          count_(count) {}

    size_t count() const { return count_; }

    const void* at(size_t n) const { return values_ + n * width_; }

    /// Moves the n-th smallest value to its place and tells it; later calls must ask for greater ones.
    const void* nth(size_t n) {
        selectNumber(physical_, values_, sorted_from_, n, count_);
        sorted_from_ = n;
        return at(n);
    }

    double smallestFrom(size_t n) const {
        return numberOf(physical_, smallestNumber(physical_, at(n), count_ - n));
    }

    double largest() const { return numberOf(physical_, largestNumber(physical_, values_, count_)); }

    double nthNumber(size_t n) { return numberOf(physical_, nth(n)); }

private:
    Physical physical_;
    size_t width_;
    char* values_;
    size_t count_;
    size_t sorted_from_ = 0;
};

size_t placeOf(ExactMember member, double level, size_t count) {
    if (member == ExactMember::Plain || level != 0.5)
        return level < 1 ? static_cast<size_t>(level * static_cast<double>(count)) : count - 1;
    return member == ExactMember::High || count % 2 == 1 ? count / 2 : count / 2 - 1;
}

double between(ExactMember member, double level, Selection& values) {
    const bool exclusive = member == ExactMember::Exclusive;
    const size_t count = values.count();
    if (exclusive && (level == 0 || level == 1))
        throw Error(ErrorCode::BAD_ARGUMENTS,
                    "QuantileExactExclusive cannot interpolate for the percentiles 1 and 0");
    const double h =
        exclusive ? level * static_cast<double>(count + 1) : level * static_cast<double>(count - 1) + 1;
    const auto n = static_cast<size_t>(h);
    if (n < 1) return values.smallestFrom(0);
    if (n >= count) return values.largest();
    const double left = values.nthNumber(n - 1);
    return left + (h - static_cast<double>(n)) * (values.smallestFrom(n) - left);
}

void answerExact(const Levels& levels, Selection values, Answers& answers) {
    const auto member = static_cast<ExactMember>(levels.member);
    const bool interpolates = member == ExactMember::Exclusive || member == ExactMember::Inclusive;
    for (size_t i : levels.ascending) {
        if (values.count() == 0)
            answers.nothing(i);
        else if (interpolates)
            answers.number(i, between(member, levels.levels[i], values));
        else
            answers.value(i, values.nth(placeOf(member, levels.levels[i], values.count())));
    }
}

template <typename K>
void Exact<K>::get(const Levels& levels, Answers& answers) {
    answerExact(levels, Selection(answers.own(), values.data, values.size), answers);
}

template <ExactMember member, bool many>
AggregateFunctionPtr createBetween(Signature signature) {
    checkQuantileArguments(signature, false, false);
    if (!signature.arguments[0]->isNumber()) failArgumentType(signature);
    return createQuantile<Exact, false, many, QuantileResult::Float64, member>(std::move(signature));
}

// -- weighted ---------------------------------------------------------------------------------------

template <typename K>
struct Weighted {
    K key{};
    uint64_t weight = 0;
};

template <typename K>
struct WeightedTraits {
    static bool isEmpty(const Weighted<K>& pair) { return pair.weight == 0; }

    static bool equal(const Weighted<K>& a, const Weighted<K>& b) { return a.key == b.key; }

    static uint64_t hash(const Weighted<K>& pair) { return FixedKeyTraits<K>::hash(pair.key); }
};

enum class WeightedMember {
    Exact,
    /// Each value stands at the middle of its weight's share; between them is interpolated.
    Interpolated,
    /// Of the values repeated by their weights, interpolated between neighbours.
    Repeated,
};

/// A value with its weight, widened so that values of several widths are sorted by the same code.
template <typename Wide>
struct WidePair {
    Wide order{};  ///< compares as the value does
    Wide bits{};
    uint64_t weight = 0;
};

template <typename Wide>
using WidePairs = std::vector<WidePair<Wide>>;

uint64_t orderOf(Physical physical, uint64_t bits) {
    if (NumberOrder(physical).isFloat()) {
        const double number = numberOf(physical, &bits);
        const auto order = std::bit_cast<uint64_t>(number == 0 ? 0.0 : number);
        return order >> 63 ? ~order : order | uint64_t{1} << 63;
    }
    uint64_t order = bits;
    if (NumberOrder(physical).isSigned()) {
        const size_t unused = 64 - 8 * widthOf(physical);
        order = static_cast<uint64_t>(static_cast<int64_t>(bits << unused) >> unused);
        order ^= uint64_t{1} << 63;
    }
    return order;
}

UInt256 orderOf(Physical physical, UInt256 bits) {
    if (!NumberOrder(physical).isSigned()) return bits;
    const bool narrow = widthOf(physical) == 16;
    if (narrow && bits.words[1] >> 63) bits.words[2] = bits.words[3] = ~uint64_t{0};
    return bits ^ NumberOrder::topBit<UInt256>();
}

double accumulatedWeight(double sum, uint64_t weight) { return sum + static_cast<double>(weight); }

template <typename Wide>
void answerExactly(const WidePairs<Wide>& pairs, double sum, const Levels& levels, Answers& answers) {
    size_t at = 0;
    double accumulated = 0;
    for (size_t i : levels.ascending) {
        const double threshold = std::ceil(sum * levels.levels[i]);
        while (at < pairs.size() && accumulatedWeight(accumulated, pairs[at].weight) < threshold)
            accumulated = accumulatedWeight(accumulated, pairs[at++].weight);
        answers.value(i, &pairs[std::min(at, pairs.size() - 1)].bits);
    }
}

template <typename Wide>
void answerInterpolated(const WidePairs<Wide>& pairs, double sum, const Levels& levels, Answers& answers) {
    std::vector<double> positions;
    double accumulated = 0;
    for (const auto& pair : pairs) {
        const auto weight = static_cast<double>(pair.weight);
        accumulated += weight;
        positions.push_back((accumulated - 0.5 * weight) / sum);
    }
    const auto number = [&](size_t i) { return numberOf(answers.own(), &pairs[i].bits); };
    for (size_t i = 0; i < levels.levels.size(); ++i) {
        const double level = levels.levels[i];
        const size_t upper =
            static_cast<size_t>(std::ranges::upper_bound(positions, level) - positions.begin());
        if (upper == 0 || upper == positions.size()) {
            answers.number(i, number(upper == 0 ? 0 : upper - 1));
            continue;
        }
        const double left = number(upper - 1);
        const double right = number(upper);
        const double width = positions[upper] - positions[upper - 1];
        answers.number(i, left + (level - positions[upper - 1]) / (width == 0 ? 1 : width) * (right - left));
    }
}

template <typename Wide>
void answerRepeated(const WidePairs<Wide>& pairs, double sum, const Levels& levels, Answers& answers) {
    const auto value_at = [&](double index) {
        double accumulated = 0;
        for (const auto& pair : pairs) {
            accumulated = accumulatedWeight(accumulated, pair.weight);
            if (index < accumulated) return numberOf(answers.own(), &pair.bits);
        }
        return numberOf(answers.own(), &pairs.back().bits);
    };
    for (size_t i = 0; i < levels.levels.size(); ++i) {
        const double position = levels.levels[i] * (sum - 1);
        const double lower = std::floor(position);
        const double left = value_at(lower);
        const double right = value_at(std::ceil(position));
        answers.number(
            i, left == right ? left : (std::ceil(position) - position) * left + (position - lower) * right);
    }
}

template <typename Wide>
void answerWeighted(WidePairs<Wide> pairs, const Levels& levels, Answers& answers) {
    if (pairs.empty()) {
        for (size_t i = 0; i < levels.levels.size(); ++i) answers.nothing(i);
        return;
    }
    uint64_t sum = 0;
    for (auto& pair : pairs) {
        pair.order = orderOf(answers.own(), pair.bits);
        sum += pair.weight;
    }
    std::sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) { return a.order < b.order; });
    const auto total = static_cast<double>(sum);
    switch (static_cast<WeightedMember>(levels.member)) {
        case WeightedMember::Exact:
            answerExactly(pairs, total, levels, answers);
            return;
        case WeightedMember::Interpolated:
            answerInterpolated(pairs, total, levels, answers);
            return;
        case WeightedMember::Repeated:
            answerRepeated(pairs, total, levels, answers);
            return;
    }
}

/// Different values with the sum of their weights. (A weight of 0 keeps no value; one that wraps to 0 loses
/// it.)
template <typename K>
struct ExactWeighted {
    using Kept = K;
    static constexpr bool kEmptyIsZero = true;

    CompactSet<Weighted<K>, WeightedTraits<K>> pairs;

    void add(const K& key, uint64_t weight, Arena& arena) {
        if (weight == 0) return;
        bool inserted = false;
        Weighted<K>* slot = pairs.insert({key, weight}, arena, inserted);
        if (inserted) return;
        // The sum must not become the mark of an empty slot.
        slot->weight = slot->weight + weight == 0 ? 1 : slot->weight + weight;
    }

    void merge(const ExactWeighted& other, Arena& arena) {
        other.pairs.forEachNonZero([&](const Weighted<K>& pair) { add(pair.key, pair.weight, arena); });
    }

    void write(Writer& out) const {
        out.writeVarUInt(pairs.size());
        pairs.forEachNonZero([&](const Weighted<K>& pair) {
            out.writeFixed(pair.key);
            out.writeFixed(pair.weight);
        });
    }

    void read(Reader& in, Arena& arena) {
        const uint64_t count = in.readVarUInt();
        for (uint64_t i = 0; i < count; ++i) {
            const auto key = in.readFixed<K>();
            add(key, in.readFixed<uint64_t>(), arena);
        }
    }

    void get(const Levels& levels, Answers& answers) {
        using Wide = std::conditional_t<sizeof(K) <= 8, uint64_t, UInt256>;
        WidePairs<Wide> all;
        all.reserve(pairs.size());
        pairs.forEachNonZero([&](const Weighted<K>& pair) { all.push_back({{}, pair.key, pair.weight}); });
        answerWeighted(std::move(all), levels, answers);
    }
};

}  // namespace

std::span<const AggregateInfo> quantileExactAggregates() {
    constexpr auto kOwn = QuantileResult::Own;
    constexpr auto kOne = Nulls::FlagAlwaysOne;
    static const AggregateInfo kInfos[] = {
        {.name = "quantileExact",
         .create = createQuantile<Exact, false, false, kOwn>,
         .syntax = "quantileExact[(level)](x)",
         .description = "Quantile over all values, without interpolation.",
         .example = "SELECT quantileExact(number) FROM numbers(4)",
         .example_result = "2"},
        {.name = "quantilesExact",
         .create = createQuantile<Exact, false, true, kOwn>,
         .nulls = kOne,
         .syntax = "quantilesExact(level, …)(x)",
         .description = "Several quantiles at once.",
         .example = "SELECT quantilesExact(0.5)(number) FROM numbers(4)",
         .example_result = "[2]"},
        {.name = "quantileExactLow",
         .create = createQuantile<Exact, false, false, kOwn, ExactMember::Low>,
         .syntax = "quantileExactLow[(level)](x)",
         .description = "As quantileExact; the lower median.",
         .example = "SELECT quantileExactLow(number) FROM numbers(4)",
         .example_result = "1"},
        {.name = "quantilesExactLow",
         .create = createQuantile<Exact, false, true, kOwn, ExactMember::Low>,
         .nulls = kOne,
         .syntax = "quantilesExactLow(level, …)(x)",
         .description = "Several quantiles at once."},
        {.name = "quantileExactHigh",
         .create = createQuantile<Exact, false, false, kOwn, ExactMember::High>,
         .syntax = "quantileExactHigh[(level)](x)",
         .description = "As quantileExact; the higher median.",
         .example = "SELECT quantileExactHigh(number) FROM numbers(4)",
         .example_result = "2"},
        {.name = "quantilesExactHigh",
         .create = createQuantile<Exact, false, true, kOwn, ExactMember::High>,
         .nulls = kOne,
         .syntax = "quantilesExactHigh(level, …)(x)",
         .description = "Several quantiles at once."},
        {.name = "quantileExactExclusive",
         .create = createBetween<ExactMember::Exclusive, false>,
         .syntax = "quantileExactExclusive[(level)](x)",
         .description = "As PERCENTILE.EXC: interpolated, ends excluded.",
         .example = "SELECT quantileExactExclusive(0.25)(number) FROM numbers(4)",
         .example_result = "0.25"},
        {.name = "quantilesExactExclusive",
         .create = createBetween<ExactMember::Exclusive, true>,
         .nulls = kOne,
         .syntax = "quantilesExactExclusive(level, …)(x)",
         .description = "Several quantiles at once."},
        {.name = "quantileExactInclusive",
         .create = createBetween<ExactMember::Inclusive, false>,
         .syntax = "quantileExactInclusive[(level)](x)",
         .description = "As PERCENTILE.INC: interpolated, ends included.",
         .example = "SELECT quantileExactInclusive(0.25)(number) FROM numbers(4)",
         .example_result = "0.75"},
        {.name = "quantilesExactInclusive",
         .create = createBetween<ExactMember::Inclusive, true>,
         .nulls = kOne,
         .syntax = "quantilesExactInclusive(level, …)(x)",
         .description = "Several quantiles at once."},
        {.name = "quantileExactWeighted",
         .create = createQuantile<ExactWeighted, true, false, kOwn>,
         .syntax = "quantileExactWeighted[(level)](x, weight)",
         .description = "As quantileExact over x repeated `weight` times.",
         .example = "SELECT quantileExactWeighted(number, number) FROM numbers(4)",
         .example_result = "2"},
        {.name = "quantilesExactWeighted",
         .create = createQuantile<ExactWeighted, true, true, kOwn>,
         .nulls = kOne,
         .syntax = "quantilesExactWeighted(level, …)(x, weight)",
         .description = "Several quantiles at once."},
        {.name = "quantileExactWeightedInterpolated",
         .create =
             createQuantile<ExactWeighted, true, false, QuantileResult::Float64, WeightedMember::Repeated>,
         .syntax = "quantileExactWeightedInterpolated[(level)](x, weight)",
         .description = "As quantile over x repeated `weight` times, exact."},
        {.name = "quantilesExactWeightedInterpolated",
         .create =
             createQuantile<ExactWeighted, true, true, QuantileResult::Float64, WeightedMember::Repeated>,
         .nulls = kOne,
         .syntax = "quantilesExactWeightedInterpolated(level, …)(x, weight)",
         .description = "Several quantiles at once."},
        {.name = "quantileInterpolatedWeighted",
         .create = createQuantile<ExactWeighted, true, false, kOwn, WeightedMember::Interpolated>,
         .syntax = "quantileInterpolatedWeighted[(level)](x, weight)",
         .description = "Interpolated between values that stand in the middle of their weight.",
         .example = "SELECT quantileInterpolatedWeighted(number, 1) FROM numbers(5)",
         .example_result = "2"},
        {.name = "quantilesInterpolatedWeighted",
         .create = createQuantile<ExactWeighted, true, true, kOwn, WeightedMember::Interpolated>,
         .nulls = kOne,
         .syntax = "quantilesInterpolatedWeighted(level, …)(x, weight)",
         .description = "Several quantiles at once."},
    };
    return kInfos;
}

}  // namespace shardd::aggregates
