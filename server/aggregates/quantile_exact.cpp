#include <algorithm>

#include "server/aggregates/compact_set.h"
#include "server/aggregates/quantile_base.h"

namespace shardd::aggregates {

namespace {

/// All values, as they came.
template <typename T>
struct AllValues {
    static constexpr bool kEmptyIsZero = true;

    ArenaArray<T> values;

    void add(const T& value, Arena& arena) { values.push(value, arena); }

    void merge(const AllValues& other, Arena& arena) {
        values.reserve(values.size + other.values.size, arena);
        for (const T& value : other.values) values.push(value, arena);
    }

    void write(Writer& out) const {
        out.writeVarUInt(values.size);
        out.writeBytes(values.data, values.size * sizeof(T));
    }

    void read(Reader& in, Arena& arena) {
        const uint64_t count = in.readVarUInt();
        for (uint64_t i = 0; i < count; ++i) values.push(in.readFixed<T>(), arena);
    }

protected:
    /// Moves the n-th smallest value to its place and tells it; later calls must ask for greater ones.
    const T& nth(size_t n, size_t sorted_from) {
        std::nth_element(values.begin() + sorted_from, values.begin() + n, values.end());
        return values[n];
    }

    static size_t placeOf(double level, size_t count) {
        return level < 1 ? static_cast<size_t>(level * static_cast<double>(count)) : count - 1;
    }
};

/// Of an even number of values the median is one of the two in the middle: Low and High say which.
enum class ExactMember { Plain, Low, High };

template <typename T>
struct Exact : AllValues<T> {
    template <typename Answer>
    void get(const Levels& levels, Answer&& answer) {
        size_t sorted_from = 0;
        for (size_t i : levels.ascending) {
            if (this->values.size == 0) {
                answer(i, emptyQuantile<T>());
                continue;
            }
            const size_t n = place(static_cast<ExactMember>(levels.member), levels.levels[i], this->values.size);
            answer(i, this->nth(n, sorted_from));
            sorted_from = n;
        }
    }

private:
    static size_t place(ExactMember member, double level, size_t count) {
        if (member == ExactMember::Plain || level != 0.5) return AllValues<T>::placeOf(level, count);
        return member == ExactMember::High || count % 2 == 1 ? count / 2 : count / 2 - 1;
    }
};

enum class BetweenMember { Exclusive, Inclusive };

/// Interpolated at position h of 1 … n: exclusive level·(n+1), inclusive level·(n−1)+1.
template <typename T>
struct ExactBetween : AllValues<T> {
    template <typename Answer>
    void get(const Levels& levels, Answer&& answer) {
        const bool exclusive = static_cast<BetweenMember>(levels.member) == BetweenMember::Exclusive;
        size_t sorted_from = 0;
        for (size_t i : levels.ascending) {
            const double level = levels.levels[i];
            const size_t count = this->values.size;
            if (count == 0) {
                answer(i, std::numeric_limits<double>::quiet_NaN());
                continue;
            }
            if (exclusive && (level == 0 || level == 1))
                throw Error(ErrorCode::BAD_ARGUMENTS,
                            "QuantileExactExclusive cannot interpolate for the percentiles 1 and 0");
            const double h = exclusive ? level * static_cast<double>(count + 1)
                                       : level * static_cast<double>(count - 1) + 1;
            const auto n = static_cast<size_t>(h);
            if (n < 1) {
                answer(i, toDouble(*std::min_element(this->values.begin(), this->values.end())));
            } else if (n >= count) {
                answer(i, toDouble(*std::max_element(this->values.begin(), this->values.end())));
            } else {
                const double left = toDouble(this->nth(n - 1, sorted_from));
                const double right =
                    toDouble(*std::min_element(this->values.begin() + n, this->values.end()));
                answer(i, left + (h - static_cast<double>(n)) * (right - left));
                sorted_from = n - 1;
            }
        }
    }
};

template <BetweenMember member, bool many>
AggregateFunctionPtr createBetween(Signature signature) {
    checkQuantileArguments(signature, false, false);
    if (!signature.arguments[0]->isNumber()) failArgumentType(signature);
    Levels levels = parseLevels(signature, signature.parameters, many);
    levels.member = static_cast<int>(member);
    return makeQuantile<ExactBetween, false, QuantileResult::Float64>(std::move(signature), std::move(levels), many);
}

// -- weighted ---------------------------------------------------------------------------------------

template <typename T>
struct Weighted {
    KeyOf<T> key{};
    uint64_t weight = 0;
};

template <typename T>
struct WeightedTraits {
    static bool isEmpty(const Weighted<T>& pair) { return pair.weight == 0; }

    static bool equal(const Weighted<T>& a, const Weighted<T>& b) { return a.key == b.key; }

    static uint64_t hash(const Weighted<T>& pair) { return FixedKeyTraits<KeyOf<T>>::hash(pair.key); }
};

/// Different values with the sum of their weights. (A weight of 0 keeps no value; one that wraps to 0 loses
/// it.)
template <typename T>
struct WeightedValues {
    static constexpr bool kEmptyIsZero = true;

    CompactSet<Weighted<T>, WeightedTraits<T>> pairs;

    void add(const T& value, uint64_t weight, Arena& arena) { addKey(toKey(value), weight, arena); }

    void merge(const WeightedValues& other, Arena& arena) {
        other.pairs.forEachNonZero([&](const Weighted<T>& pair) { addKey(pair.key, pair.weight, arena); });
    }

    void write(Writer& out) const {
        out.writeVarUInt(count());
        pairs.forEachNonZero([&](const Weighted<T>& pair) {
            out.writeFixed(pair.key);
            out.writeFixed(pair.weight);
        });
    }

    void read(Reader& in, Arena& arena) {
        const uint64_t count = in.readVarUInt();
        for (uint64_t i = 0; i < count; ++i) {
            const auto key = in.readFixed<KeyOf<T>>();
            addKey(key, in.readFixed<uint64_t>(), arena);
        }
    }

protected:
    struct Pair {
        T value;
        uint64_t weight;
    };

    std::vector<Pair> sorted() const {
        std::vector<Pair> result;
        result.reserve(count());
        pairs.forEachNonZero([&](const Weighted<T>& pair) {
            result.push_back({fromKey<T>(pair.key), pair.weight});
        });
        std::sort(result.begin(), result.end(),
                  [](const Pair& a, const Pair& b) { return a.value < b.value; });
        return result;
    }

    static double sumOf(const std::vector<Pair>& pairs) {
        uint64_t sum = 0;
        for (const Pair& pair : pairs) sum += pair.weight;
        return static_cast<double>(sum);
    }

private:
    size_t count() const { return pairs.size(); }

    void addKey(const KeyOf<T>& key, uint64_t weight, Arena& arena) {
        if (weight == 0) return;
        bool inserted = false;
        Weighted<T>* slot = pairs.insert({key, weight}, arena, inserted);
        if (inserted) return;
        // The sum must not become the mark of an empty slot.
        slot->weight = slot->weight + weight == 0 ? 1 : slot->weight + weight;
    }
};

enum class WeightedMember { Exact, Interpolated };

template <typename T>
struct ExactWeighted : WeightedValues<T> {
    template <typename Answer>
    void get(const Levels& levels, Answer&& answer) {
        if (static_cast<WeightedMember>(levels.member) == WeightedMember::Interpolated)
            getInterpolated(levels, answer);
        else
            getExact(levels, answer);
    }

private:
    template <typename Answer>
    void getExact(const Levels& levels, Answer& answer) {
        const auto pairs = this->sorted();
        const double sum = this->sumOf(pairs);
        size_t at = 0;
        double accumulated = 0;
        for (size_t i : levels.ascending) {
            if (pairs.empty()) {
                answer(i, emptyQuantile<T>());
                continue;
            }
            const double threshold = std::ceil(sum * levels.levels[i]);
            while (at < pairs.size() && accumulated + static_cast<double>(pairs[at].weight) < threshold)
                accumulated += static_cast<double>(pairs[at++].weight);
            answer(i, pairs[std::min(at, pairs.size() - 1)].value);
        }
    }

    /// Each value stands at the middle of its weight's share; between them is interpolated.
    template <typename Answer>
    void getInterpolated(const Levels& levels, Answer& answer) {
        const auto pairs = this->sorted();
        const double sum = this->sumOf(pairs);
        std::vector<double> positions;
        double accumulated = 0;
        for (const auto& pair : pairs) {
            const auto weight = static_cast<double>(pair.weight);
            accumulated += weight;
            positions.push_back((accumulated - 0.5 * weight) / sum);
        }
        for (size_t i = 0; i < levels.levels.size(); ++i) {
            if (pairs.empty())
                answer(i, emptyQuantile<T>());
            else
                answer(i, convertNumber<T>(between(pairs, positions, levels.levels[i])));
        }
    }

    template <typename Pairs>
    static double between(const Pairs& pairs, const std::vector<double>& positions, double level) {
        const size_t upper =
            static_cast<size_t>(std::ranges::upper_bound(positions, level) - positions.begin());
        if (upper == 0) return toDouble(pairs.front().value);
        if (upper == positions.size()) return toDouble(pairs.back().value);
        const double left = toDouble(pairs[upper - 1].value);
        const double right = toDouble(pairs[upper].value);
        const double width = positions[upper] - positions[upper - 1];
        return left + (level - positions[upper - 1]) / (width == 0 ? 1 : width) * (right - left);
    }
};

/// The quantile of the values repeated by their weights, interpolated between neighbours.
template <typename T>
struct ExactWeightedInterpolated : WeightedValues<T> {
    template <typename Answer>
    void get(const Levels& levels, Answer&& answer) {
        const auto pairs = this->sorted();
        const double sum = this->sumOf(pairs);
        for (size_t i = 0; i < levels.levels.size(); ++i) {
            if (pairs.empty()) {
                answer(i, std::numeric_limits<double>::quiet_NaN());
                continue;
            }
            const double position = levels.levels[i] * (sum - 1);
            const double lower = std::floor(position);
            const double left = toDouble(valueAt(pairs, lower));
            const double right = toDouble(valueAt(pairs, std::ceil(position)));
            if (left == right)
                answer(i, left);
            else
                answer(i, (std::ceil(position) - position) * left + (position - lower) * right);
        }
    }

private:
    template <typename Pairs>
    static T valueAt(const Pairs& pairs, double index) {
        double accumulated = 0;
        for (const auto& pair : pairs) {
            accumulated += static_cast<double>(pair.weight);
            if (index < accumulated) return pair.value;
        }
        return pairs.back().value;
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
         .create = createBetween<BetweenMember::Exclusive, false>,
         .syntax = "quantileExactExclusive[(level)](x)",
         .description = "As PERCENTILE.EXC: interpolated, ends excluded.",
         .example = "SELECT quantileExactExclusive(0.25)(number) FROM numbers(4)",
         .example_result = "0.25"},
        {.name = "quantilesExactExclusive",
         .create = createBetween<BetweenMember::Exclusive, true>,
         .nulls = kOne,
         .syntax = "quantilesExactExclusive(level, …)(x)",
         .description = "Several quantiles at once."},
        {.name = "quantileExactInclusive",
         .create = createBetween<BetweenMember::Inclusive, false>,
         .syntax = "quantileExactInclusive[(level)](x)",
         .description = "As PERCENTILE.INC: interpolated, ends included.",
         .example = "SELECT quantileExactInclusive(0.25)(number) FROM numbers(4)",
         .example_result = "0.75"},
        {.name = "quantilesExactInclusive",
         .create = createBetween<BetweenMember::Inclusive, true>,
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
         .create = createQuantile<ExactWeightedInterpolated, true, false, QuantileResult::Float64>,
         .syntax = "quantileExactWeightedInterpolated[(level)](x, weight)",
         .description = "As quantile over x repeated `weight` times, exact."},
        {.name = "quantilesExactWeightedInterpolated",
         .create = createQuantile<ExactWeightedInterpolated, true, true, QuantileResult::Float64>,
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
