#include <algorithm>
#include <bit>

#include "server/aggregates/compact_set.h"
#include "server/aggregates/quantile_base.h"

namespace shardd::aggregates {

namespace {

// -- TDigest ----------------------------------------------------------------------------------------

struct Centroid {
    float mean;
    float count;
};

/// Centroids whose weights are small near the ends, so that outer quantiles are exact.
struct TDigest {
    using Kept = double;
    static constexpr bool kEmptyIsZero = true;
    static constexpr float kEpsilon = 0.01F;
    static constexpr size_t kMaxCentroids = 2048;
    static constexpr size_t kMaxUnmerged = 2048;
    static constexpr size_t kMaxRead = 65536;

    ArenaArray<Centroid> centroids;
    float count = 0;
    uint32_t unmerged = 0;

    void add(double value, Arena& arena) { addCentroid({static_cast<float>(value), 1}, arena); }

    void add(double value, uint64_t weight, Arena& arena) {
        if (weight > 0) addCentroid({static_cast<float>(value), static_cast<float>(weight)}, arena);
    }

    void merge(const TDigest& other, Arena& arena) {
        for (const Centroid& centroid : other.centroids) addCentroid(centroid, arena);
    }

    void write(Writer& out) const {
        // What travels is compressed; the state itself stays as it is.
        std::vector<Centroid> copy(centroids.begin(), centroids.end());
        TDigest compressed;
        compressed.centroids = {copy.data(), centroids.size, centroids.size};
        compressed.count = count;
        compressed.unmerged = unmerged;
        compressed.compress();
        out.writeVarUInt(compressed.centroids.size);
        out.writeBytes(compressed.centroids.data, compressed.centroids.size * sizeof(Centroid));
    }

    void read(Reader& in, Arena& arena) {
        const size_t size = readCount(in, kMaxRead, "t-digest");
        for (size_t i = 0; i < size; ++i) {
            const auto centroid = in.readFixed<Centroid>();
            if (!(centroid.count > 0) || std::isnan(centroid.mean))
                throw Error(ErrorCode::INCORRECT_DATA, "Invalid centroid in a state of quantileTDigest");
            addCentroid(centroid, arena);
        }
        compress();
    }

    void get(const Levels& levels, Answers& answers) {
        compress();
        for (size_t i = 0; i < levels.levels.size(); ++i) answers.number(i, at(levels.levels[i]));
    }

private:
    void addCentroid(const Centroid& centroid, Arena& arena) {
        centroids.push(centroid, arena);
        count += centroid.count;
        if (++unmerged > kMaxUnmerged) compress();
    }

    void compress() {
        if (unmerged == 0 && centroids.size <= kMaxCentroids) return;
        unmerged = 0;
        if (centroids.size == 0) return;
        std::stable_sort(centroids.begin(), centroids.end(),
                         [](const Centroid& a, const Centroid& b) { return a.mean < b.mean; });
        const float scale = count * kEpsilon * 4;
        Centroid* left = centroids.begin();
        float before = 0;
        for (Centroid* right = left + 1; right != centroids.end(); ++right) {
            const float left_level = (before + left->count * 0.5F) / count;
            const float right_level = (before + left->count + right->count * 0.5F) / count;
            const float error = std::min(left_level * (1 - left_level), right_level * (1 - right_level));
            const bool fits = left->count + right->count <= scale * error;
            if (fits &&
                (left->mean == right->mean || (std::isfinite(left->mean) && std::isfinite(right->mean)))) {
                left->count += right->count;
                if (right->mean != left->mean)
                    left->mean += right->count * (right->mean - left->mean) / left->count;
            } else {
                before += left->count;
                *++left = *right;
            }
        }
        count = before + left->count;
        centroids.size = static_cast<uint32_t>(left - centroids.begin() + 1);
        halve();
    }

    /// Should there still be too many, neighbours are joined in groups of equal size.
    void halve() {
        if (centroids.size <= kMaxCentroids) return;
        const size_t group = (centroids.size + kMaxCentroids - 1) / kMaxCentroids;
        size_t kept = 0;
        for (size_t i = 0; i < centroids.size; i += group) {
            Centroid joined = centroids[i];
            for (size_t j = i + 1; j < std::min<size_t>(i + group, centroids.size); ++j) {
                joined.count += centroids[j].count;
                if (joined.mean != centroids[j].mean)
                    joined.mean += centroids[j].count * (centroids[j].mean - joined.mean) / joined.count;
            }
            centroids[kept++] = joined;
        }
        centroids.size = static_cast<uint32_t>(kept);
    }

    float at(double level) const {
        if (centroids.size == 0) return std::numeric_limits<float>::quiet_NaN();
        if (centroids.size == 1) return centroids[0].mean;
        const double position = level * static_cast<double>(count);
        double previous_position = 0;
        float sum = 0;
        const Centroid* previous = centroids.begin();
        for (const Centroid& centroid : centroids) {
            const double middle = static_cast<double>(sum) + static_cast<double>(centroid.count) * 0.5;
            if (middle >= position) {
                // A single value stands for itself over its whole width.
                const double left = previous_position + (previous->count == 1 ? 0.5 : 0);
                const double right = middle - (centroid.count == 1 ? 0.5 : 0);
                if (position <= left) return previous->mean;
                if (position >= right) return centroid.mean;
                const double share = (position - left) / (right - left);
                return static_cast<float>((1 - share) * static_cast<double>(previous->mean) +
                                          share * static_cast<double>(centroid.mean));
            }
            sum += centroid.count;
            previous = &centroid;
            previous_position = middle;
        }
        return centroids[centroids.size - 1].mean;
    }
};

// -- Timing -----------------------------------------------------------------------------------------

/// Milliseconds up to 30 seconds: all values while they are few, then a histogram. The numbers are the
/// wire's.
struct Timing {
    using Kept = double;
    static constexpr bool kEmptyIsZero = true;
    static constexpr uint16_t kMax = 30000;
    static constexpr size_t kTinySize = 31;
    static constexpr size_t kListSize = 5673;
    static constexpr size_t kSmallValues = 1024;
    static constexpr size_t kBigStep = 16;
    static constexpr size_t kBigBuckets = (kMax - kSmallValues) / kBigStep;
    static constexpr size_t kBuckets = kSmallValues + kBigBuckets;

    enum Kind : uint8_t { kTiny = 1, kList = 2, kHistogram = 3 };

    ArenaArray<uint16_t> values;
    uint64_t* buckets = nullptr;
    uint64_t count = 0;  // of the histogram; values of kMax and more are in no bucket

    void add(double value, Arena& arena) { add(value, 1, arena); }

    void add(double value, uint64_t weight, Arena& arena) {
        if (value < 0) return;
        const uint16_t clipped = value < kMax ? static_cast<uint16_t>(value) : kMax;
        if (!buckets && weight >= kListSize - values.size) becomeHistogram(arena);
        if (buckets) {
            count += weight;
            if (clipped < kMax) buckets[bucketOf(clipped)] += weight;
            return;
        }
        for (uint64_t i = 0; i < weight; ++i) values.push(clipped, arena);
    }

    void merge(const Timing& other, Arena& arena) {
        if (!buckets && (other.buckets || values.size + other.values.size >= kListSize))
            becomeHistogram(arena);
        if (other.buckets) {
            for (size_t i = 0; i < kBuckets; ++i) buckets[i] += other.buckets[i];
            count += other.count;
        }
        for (uint16_t value : other.values) addClipped(value, arena);
    }

    void write(Writer& out) const {
        if (!buckets) {
            out.writeByte(values.size <= kTinySize ? kTiny : kList);
            if (values.size <= kTinySize)
                out.writeFixed(static_cast<uint16_t>(values.size));
            else
                out.writeFixed(uint64_t{values.size});
            out.writeBytes(values.data, values.size * sizeof(uint16_t));
            return;
        }
        out.writeByte(kHistogram);
        out.writeFixed(count);
        if (count * 2 > kBuckets) {
            out.writeBytes(buckets, kBuckets * sizeof(uint64_t));
            return;
        }
        for (size_t i = 0; i < kBuckets; ++i) {
            if (buckets[i] == 0) continue;
            out.writeFixed(static_cast<uint16_t>(i));
            out.writeFixed(buckets[i]);
        }
        out.writeFixed(kMax);
    }

    void read(Reader& in, Arena& arena) {
        const uint8_t kind = in.readByte();
        if (kind == kTiny || kind == kList) {
            const uint64_t size = kind == kTiny ? in.readFixed<uint16_t>() : in.readFixed<uint64_t>();
            if (kind == kTiny && size > kTinySize)
                throw Error(ErrorCode::INCORRECT_DATA,
                            "Too many values in a small state of quantileTiming: {}", size);
            for (uint64_t i = 0; i < size; ++i) addClipped(in.readFixed<uint16_t>(), arena);
            return;
        }
        if (kind != kHistogram)
            throw Error(ErrorCode::INCORRECT_DATA, "Wrong kind {} of a state of quantileTiming", kind);
        if (!buckets) becomeHistogram(arena);
        in.readFixed(count);
        if (count * 2 > kBuckets) {
            in.readBytes(buckets, kBuckets * sizeof(uint64_t));
            return;
        }
        for (;;) {
            const auto bucket = in.readFixed<uint16_t>();
            if (bucket == kMax) return;
            if (bucket >= kBuckets)
                throw Error(ErrorCode::INCORRECT_DATA, "Wrong bucket {} in a state of quantileTiming",
                            bucket);
            in.readFixed(buckets[bucket]);
        }
    }

    void get(const Levels& levels, Answers& answers) {
        if (!buckets) std::sort(values.begin(), values.end());
        for (size_t i = 0; i < levels.levels.size(); ++i) answers.number(i, at(levels.levels[i]));
    }

private:
    void addClipped(uint16_t value, Arena& arena) {
        const uint16_t clipped = std::min(value, kMax);
        if (!buckets && values.size + 1 >= kListSize) becomeHistogram(arena);
        if (!buckets) {
            values.push(clipped, arena);
            return;
        }
        ++count;
        if (clipped < kMax) ++buckets[bucketOf(clipped)];
    }

    void becomeHistogram(Arena& arena) {
        buckets = static_cast<uint64_t*>(
            static_cast<void*>(arena.allocateAligned(kBuckets * sizeof(uint64_t), alignof(uint64_t))));
        std::memset(buckets, 0, kBuckets * sizeof(uint64_t));
        count = values.size;
        for (uint16_t value : values)
            if (value < kMax) ++buckets[bucketOf(value)];
        values = {};
    }

    static size_t bucketOf(uint16_t value) {
        return value < kSmallValues ? value : kSmallValues + (value - kSmallValues) / kBigStep;
    }

    /// Near the start of a wide bucket ClickHouse takes a pseudo-random value, so that nobody sees that all
    /// are even.
    static uint16_t valueOf(size_t bucket) {
        if (bucket < kSmallValues) return static_cast<uint16_t>(bucket);
        const size_t big = bucket - kSmallValues;
        return static_cast<uint16_t>(kSmallValues + big * kBigStep + wang(big) % kBigStep - kBigStep / 2);
    }

    static uint32_t wang(uint64_t key) {
        key = ~key + (key << 18);
        key ^= std::rotr(key, 31);
        key *= 21;
        key ^= std::rotr(key, 11);
        key += key << 6;
        key ^= std::rotr(key, 22);
        return static_cast<uint32_t>(key);
    }

    float at(double level) const {
        if (!buckets) {
            if (values.size == 0) return std::numeric_limits<float>::quiet_NaN();
            const size_t n =
                level < 1 ? static_cast<size_t>(level * static_cast<double>(values.size)) : values.size - 1;
            return values[n];
        }
        if (count == 0) return std::numeric_limits<float>::quiet_NaN();
        const auto wanted = static_cast<uint64_t>(std::ceil(static_cast<double>(count) * level));
        uint64_t accumulated = 0;
        for (size_t i = 0; i < kBuckets; ++i) {
            if (buckets[i] == 0) continue;
            if (accumulated + buckets[i] >= wanted) return valueOf(i);
            accumulated += buckets[i];
        }
        return kMax;
    }
};

// -- BFloat16 ---------------------------------------------------------------------------------------

struct Bucket16 {
    uint16_t key = 0;
    uint64_t count = 0;
};

struct Bucket16Traits {
    static bool isEmpty(const Bucket16& bucket) { return bucket.count == 0; }

    static bool equal(const Bucket16& a, const Bucket16& b) { return a.key == b.key; }

    static uint64_t hash(const Bucket16& bucket) { return FixedKeyTraits<uint16_t>::hash(bucket.key); }
};

/// Counts by the upper half of a Float32.
struct BFloat16Counts {
    using Kept = double;
    static constexpr bool kEmptyIsZero = true;

    CompactSet<Bucket16, Bucket16Traits> buckets;

    void add(double value, Arena& arena) { add(value, 1, arena); }

    void add(double value, uint64_t weight, Arena& arena) {
        const auto wide = std::bit_cast<uint32_t>(static_cast<float>(value));
        addBucket({static_cast<uint16_t>(wide >> 16), weight}, arena);
    }

    void merge(const BFloat16Counts& other, Arena& arena) {
        other.buckets.forEachNonZero([&](const Bucket16& bucket) { addBucket(bucket, arena); });
    }

    void write(Writer& out) const {
        out.writeVarUInt(buckets.size());
        buckets.forEachNonZero([&](const Bucket16& bucket) {
            out.writeFixed(bucket.key);
            out.writeFixed(bucket.count);
        });
    }

    void read(Reader& in, Arena& arena) {
        const size_t size = readCount(in, 65536, "map");
        for (size_t i = 0; i < size; ++i) {
            const auto key = in.readFixed<uint16_t>();
            addBucket({key, in.readFixed<uint64_t>()}, arena);
        }
    }

    void get(const Levels& levels, Answers& answers) {
        std::vector<std::pair<float, uint64_t>> sorted;
        uint64_t sum = 0;
        buckets.forEachNonZero([&](const Bucket16& bucket) {
            sorted.emplace_back(BFloat16{bucket.key}.toFloat(), bucket.count);
            sum += bucket.count;
        });
        std::sort(sorted.begin(), sorted.end());
        size_t at = 0;
        double accumulated = 0;
        for (size_t i : levels.ascending) {
            if (sorted.empty()) {
                answers.nothing(i);
                continue;
            }
            const double threshold = std::ceil(static_cast<double>(sum) * levels.levels[i]);
            while (at < sorted.size() && accumulated + static_cast<double>(sorted[at].second) < threshold)
                accumulated += static_cast<double>(sorted[at++].second);
            answers.number(i, sorted[std::min(at, sorted.size() - 1)].first);
        }
    }

private:
    void addBucket(const Bucket16& bucket, Arena& arena) {
        if (bucket.count == 0) return;
        bool inserted = false;
        Bucket16* slot = buckets.insert(bucket, arena, inserted);
        if (!inserted) slot->count += bucket.count;
    }
};

// -- creation ---------------------------------------------------------------------------------------

template <typename State, bool weighted>
AggregateFunctionPtr makeSketch(Signature signature, bool many, TypePtr answer) {
    Levels levels = parseLevels(signature, signature.parameters, many);
    return std::make_shared<Quantile<State, weighted>>(
        std::move(signature), many ? types::array(answer) : answer, std::move(levels), many);
}

/// Sketches keep floats, so that Decimals are refused; so are dates but by TDigest and Timing.
template <typename State, bool weighted, bool many, QuantileResult numbers>
AggregateFunctionPtr createSketch(Signature signature) {
    checkQuantileArguments(signature, weighted, false);
    TypePtr answer = quantileAnswer(signature.arguments[0], numbers);
    return makeSketch<State, weighted>(std::move(signature), many, std::move(answer));
}

/// Timing answers in Float32 even for dates, and takes no wide integers.
template <bool weighted, bool many>
AggregateFunctionPtr createTiming(Signature signature) {
    checkQuantileArguments(signature, weighted, false);
    if (signature.arguments[0]->width() > 8) failArgumentType(signature);
    return makeSketch<Timing, weighted>(std::move(signature), many, types::simple(TypeKind::Float32));
}

}  // namespace

std::span<const AggregateInfo> quantileSketchesAggregates() {
    constexpr auto kFloat32 = QuantileResult::Float32;
    constexpr auto kFloat64 = QuantileResult::Float64;
    constexpr auto kOne = Nulls::FlagAlwaysOne;
    static const AggregateInfo kInfos[] = {
        {.name = "quantileTDigest",
         .create = createSketch<TDigest, false, false, kFloat32>,
         .syntax = "quantileTDigest[(level)](x)",
         .description = "Approximate quantile from a t-digest.",
         .example = "SELECT quantileTDigest(number) FROM numbers(5)",
         .example_result = "2"},
        {.name = "quantilesTDigest",
         .create = createSketch<TDigest, false, true, kFloat32>,
         .nulls = kOne,
         .syntax = "quantilesTDigest(level, …)(x)",
         .description = "Several quantiles at once."},
        {.name = "quantileTDigestWeighted",
         .create = createSketch<TDigest, true, false, kFloat32>,
         .syntax = "quantileTDigestWeighted[(level)](x, weight)",
         .description = "As quantileTDigest, weighted."},
        {.name = "quantilesTDigestWeighted",
         .create = createSketch<TDigest, true, true, kFloat32>,
         .nulls = kOne,
         .syntax = "quantilesTDigestWeighted(level, …)(x, weight)",
         .description = "Several quantiles at once."},
        {.name = "quantileTiming",
         .create = createTiming<false, false>,
         .syntax = "quantileTiming[(level)](x)",
         .description = "Quantile of times in milliseconds, clipped at 30000.",
         .example = "SELECT quantileTiming(number) FROM numbers(5)",
         .example_result = "2"},
        {.name = "quantilesTiming",
         .create = createTiming<false, true>,
         .nulls = kOne,
         .syntax = "quantilesTiming(level, …)(x)",
         .description = "Several quantiles at once."},
        {.name = "quantileTimingWeighted",
         .create = createTiming<true, false>,
         .syntax = "quantileTimingWeighted[(level)](x, weight)",
         .description = "As quantileTiming, weighted."},
        {.name = "quantilesTimingWeighted",
         .create = createTiming<true, true>,
         .nulls = kOne,
         .syntax = "quantilesTimingWeighted(level, …)(x, weight)",
         .description = "Several quantiles at once."},
        {.name = "quantileBFloat16",
         .create = createSketch<BFloat16Counts, false, false, kFloat64>,
         .syntax = "quantileBFloat16[(level)](x)",
         .description = "Quantile of values rounded to BFloat16.",
         .example = "SELECT quantileBFloat16(number) FROM numbers(5)",
         .example_result = "2"},
        {.name = "quantilesBFloat16",
         .create = createSketch<BFloat16Counts, false, true, kFloat64>,
         .nulls = kOne,
         .syntax = "quantilesBFloat16(level, …)(x)",
         .description = "Several quantiles at once."},
        {.name = "quantileBFloat16Weighted",
         .create = createSketch<BFloat16Counts, true, false, kFloat64>,
         .syntax = "quantileBFloat16Weighted[(level)](x, weight)",
         .description = "As quantileBFloat16, weighted."},
        {.name = "quantilesBFloat16Weighted",
         .create = createSketch<BFloat16Counts, true, true, kFloat64>,
         .nulls = kOne,
         .syntax = "quantilesBFloat16Weighted(level, …)(x, weight)",
         .description = "Several quantiles at once."},
    };
    return kInfos;
}

}  // namespace shardd::aggregates
