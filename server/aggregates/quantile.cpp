#include <algorithm>

#include "common/base/hash.h"
#include "server/aggregates/quantile_base.h"
#include "server/aggregates/random.h"

namespace shardd::aggregates {

namespace {

/// A random sample of at most 8192 values; exact while there are no more. Its bytes: docs/aggregates.md,
/// "quantile".
template <typename K>
struct Reservoir {
    using Kept = K;
    static constexpr bool kEmptyIsZero = false;
    static constexpr size_t kSize = 8192;
    static constexpr uint64_t kSeed = 123456;

    ArenaArray<K> samples;
    uint64_t total = 0;
    SamplerRandom random{kSeed};

    void add(const K& value, Arena& arena) {
        ++total;
        if (samples.size < kSize) {
            samples.push(value, arena);
            return;
        }
        const uint64_t place = random.below(total);
        if (place < kSize) samples[place] = value;
    }

    void merge(const Reservoir& other, Arena& arena) {
        if (other.total <= kSize) {
            for (const K& value : other.samples) add(value, arena);
        } else if (total <= kSize) {
            const ArenaArray<K> mine = samples;
            samples = {};
            samples.reserve(kSize, arena);
            std::copy(other.samples.begin(), other.samples.end(), samples.data);
            samples.size = other.samples.size;
            total = other.total;
            for (const K& value : mine) add(value, arena);
        } else {
            replaceShare(other);
        }
    }

    void write(Writer& out) const {
        out.writeFixed<uint64_t>(kSize);
        out.writeFixed(total);
        out.writeString(random.text());
        out.writeBytes(samples.data, samples.size * sizeof(K));
    }

    void read(Reader& in, Arena& arena) {
        const auto size = in.readFixed<uint64_t>();
        if (size != kSize)
            throw Error(ErrorCode::INCORRECT_DATA, "Wrong size {} of a sample in a state of quantile", size);
        in.readFixed(total);
        random.parse(in.readString(100));
        const uint64_t count = std::min<uint64_t>(total, kSize);
        for (uint64_t i = 0; i < count; ++i) samples.push(in.readFixed<K>(), arena);
    }

    void get(const Levels& levels, Answers& answers) {
        sortNumbers(answers.own(), samples.data, samples.size);
        for (size_t i = 0; i < levels.levels.size(); ++i) {
            if (samples.size == 0)
                answers.nothing(i);
            else
                answers.number(i, interpolated(answers.own(), samples.data, samples.size, levels.levels[i]));
        }
    }

private:
    void replaceShare(const Reservoir& other) {
        total += other.total;
        const double frequency = static_cast<double>(total) / static_cast<double>(other.total);
        if (frequency * 2 >= static_cast<double>(kSize)) {
            const uint64_t place = random.below(static_cast<uint64_t>(frequency));
            if (place < kSize) samples[place] = other.samples[place];
            return;
        }
        for (double i = 0; i < static_cast<double>(kSize); i += frequency)
            samples[static_cast<size_t>(i)] = other.samples[static_cast<size_t>(i)];
    }
};

/// The sample is chosen by a hash of the second argument, so that it does not depend on the order of rows.
template <typename K>
struct DeterministicReservoir {
    using Kept = K;
    static constexpr bool kEmptyIsZero = true;
    static constexpr size_t kSize = 8192;

    struct Sample {
        K value;
        uint32_t hash;
    };

    ArenaArray<Sample> samples;
    uint64_t total = 0;
    uint32_t skip_degree = 0;

    void add(const K& value, uint64_t determinator, Arena& arena) {
        ++total;
        insert({value, static_cast<uint32_t>(mixHash64(determinator))}, arena);
    }

    void merge(const DeterministicReservoir& other, Arena& arena) {
        if (other.skip_degree > skip_degree) {
            skip_degree = other.skip_degree;
            thin();
        }
        for (const Sample& sample : other.samples) insert(sample, arena);
        total += other.total;
    }

    void write(Writer& out) const {
        out.writeFixed<uint64_t>(samples.size);
        out.writeFixed(total);
        for (const Sample& sample : samples) {
            out.writeFixed(sample.value);
            for (size_t i = sizeof(K); i % 4 != 0; ++i) out.writeByte(0);
            out.writeFixed(sample.hash);
            // As a struct of both lies in memory.
            if (sizeof(K) >= 8) out.writeFixed<uint32_t>(0);
            if (sizeof(K) >= 16) out.writeFixed<uint64_t>(0);
        }
    }

    void read(Reader& in, Arena& arena) {
        const auto count = in.readFixed<uint64_t>();
        if (count > kMaxElements)
            throw Error(ErrorCode::TOO_LARGE_ARRAY_SIZE, "Too large sample in an aggregate state: {}", count);
        in.readFixed(total);
        for (uint64_t i = 0; i < count; ++i) {
            Sample sample{in.readFixed<K>(), 0};
            in.skip((4 - sizeof(K) % 4) % 4);
            in.readFixed(sample.hash);
            if (sizeof(K) >= 8) in.skip(4);
            if (sizeof(K) >= 16) in.skip(8);
            insert(sample, arena);
        }
    }

    void get(const Levels& levels, Answers& answers) {
        std::vector<K> values;
        values.reserve(samples.size);
        for (const Sample& sample : samples) values.push_back(sample.value);
        sortNumbers(answers.own(), values.data(), values.size());
        for (size_t i = 0; i < levels.levels.size(); ++i) {
            if (values.empty())
                answers.nothing(i);
            else
                answers.number(i,
                               interpolated(answers.own(), values.data(), values.size(), levels.levels[i]));
        }
    }

private:
    bool good(uint32_t hash) const {
        return skip_degree < 32 && ((hash >> skip_degree) << skip_degree) == hash;
    }

    void insert(const Sample& sample, Arena& arena) {
        if (!good(sample.hash)) return;
        while (samples.size >= kSize && skip_degree < 31) {
            ++skip_degree;
            thin();
            if (!good(sample.hash)) return;
        }
        samples.push(sample, arena);
    }

    void thin() {
        samples.size = static_cast<uint32_t>(
            std::remove_if(samples.begin(), samples.end(),
                           [this](const Sample& sample) { return !good(sample.hash); }) -
            samples.begin());
    }
};

}  // namespace

std::span<const AggregateInfo> quantileAggregates() {
    constexpr auto kFloat64 = QuantileResult::Float64;
    static const AggregateInfo kInfos[] = {
        {.name = "quantile",
         .create = createQuantile<Reservoir, false, false, kFloat64>,
         .syntax = "quantile[(level)](x)",
         .description =
             "Approximate quantile from a sample of 8192 values, interpolated; exact for no more rows.",
         .example = "SELECT quantile(0.5)(number) FROM numbers(4)",
         .example_result = "1.5"},
        {.name = "quantiles",
         .create = createQuantile<Reservoir, false, true, kFloat64>,
         .nulls = Nulls::FlagAlwaysOne,
         .syntax = "quantiles(level, …)(x)",
         .description = "Several quantiles at once.",
         .example = "SELECT quantiles(0., 0.5)(number) FROM numbers(4)",
         .example_result = "[0,1.5]"},
        {.name = "quantileDeterministic",
         .create = createQuantile<DeterministicReservoir, true, false, kFloat64>,
         .syntax = "quantileDeterministic[(level)](x, determinator)",
         .description = "As quantile, with a sample that depends on the determinators only.",
         .example = "SELECT quantileDeterministic(0.5)(number, number) FROM numbers(4)",
         .example_result = "1.5"},
        {.name = "quantilesDeterministic",
         .create = createQuantile<DeterministicReservoir, true, true, kFloat64>,
         .nulls = Nulls::FlagAlwaysOne,
         .syntax = "quantilesDeterministic(level, …)(x, determinator)",
         .description = "Several quantiles at once.",
         .example = "SELECT quantilesDeterministic(0.5)(number, number) FROM numbers(4)",
         .example_result = "[1.5]"},
    };
    return kInfos;
}

}  // namespace shardd::aggregates
