#include <algorithm>
#include <memory>

#include "server/aggregates/quantile_base.h"

namespace shardd::aggregates {

namespace {

template <typename T>
struct GKSample {
    T value;
    int64_t gap;    // rows that this sample stands for
    int64_t delta;  // how uncertain its rank is
};

/// Greenwald's and Khanna's summary: ranks are off by at most `error` times the rows.
template <typename T>
struct GKSummary {
    static constexpr size_t kCompressThreshold = 10000;
    static constexpr size_t kBufferSize = 50000;

    std::vector<GKSample<T>, CountedAllocator<GKSample<T>>> samples;
    std::vector<T, CountedAllocator<T>> buffer;
    int64_t count = 0;  // without those in the buffer

    void add(const T& value, double error) {
        buffer.push_back(value);
        if (buffer.size() >= kBufferSize) flush(error);
    }

    /// The buffer sorted into the samples.
    void flush(double error) {
        if (buffer.empty()) return;
        std::sort(buffer.begin(), buffer.end());
        std::vector<GKSample<T>, CountedAllocator<GKSample<T>>> joined;
        joined.reserve(samples.size() + buffer.size());
        size_t sample = 0;
        for (size_t i = 0; i < buffer.size(); ++i) {
            while (sample < samples.size() && samples[sample].value <= buffer[i])
                joined.push_back(samples[sample++]);
            ++count;
            const bool at_end = joined.empty() || (i + 1 == buffer.size() && sample == samples.size());
            const auto delta =
                at_end ? 0 : static_cast<int64_t>(std::floor(2 * error * static_cast<double>(count)));
            joined.push_back({buffer[i], 1, delta});
        }
        joined.insert(joined.end(), samples.begin() + static_cast<ptrdiff_t>(sample), samples.end());
        samples = std::move(joined);
        buffer.clear();
        if (samples.size() >= kCompressThreshold) compress(error);
    }

    /// Joins neighbours whose ranks are known well enough.
    void compress(double error) {
        if (samples.size() < 3) return;
        const double threshold = 2 * error * static_cast<double>(count);
        std::vector<GKSample<T>, CountedAllocator<GKSample<T>>> kept = {samples.back()};
        for (size_t i = samples.size() - 1; i-- > 1;) {
            GKSample<T>& head = kept.back();
            if (static_cast<double>(samples[i].gap + head.gap + head.delta) < threshold)
                head.gap += samples[i].gap;
            else
                kept.push_back(samples[i]);
        }
        kept.push_back(samples.front());
        std::reverse(kept.begin(), kept.end());
        samples = std::move(kept);
    }

    void merge(const GKSummary& other, double error) {
        for (const T& value : other.buffer) add(value, error);
        if (other.samples.empty()) return;
        flush(error);
        std::vector<GKSample<T>, CountedAllocator<GKSample<T>>> joined;
        joined.reserve(samples.size() + other.samples.size());
        std::merge(samples.begin(), samples.end(), other.samples.begin(), other.samples.end(),
                   std::back_inserter(joined),
                   [](const GKSample<T>& a, const GKSample<T>& b) { return a.value < b.value; });
        samples = std::move(joined);
        count += other.count;
        if (samples.size() >= kCompressThreshold) compress(error);
    }

    T at(double level) const {
        if (samples.empty()) return emptyQuantile<T>();
        double uncertainty = 0;
        for (const GKSample<T>& sample : samples)
            uncertainty = std::max(uncertainty, static_cast<double>(sample.gap + sample.delta) / 2);
        const double rank = std::ceil(level * static_cast<double>(count));
        double least_rank = 0;
        for (const GKSample<T>& sample : samples) {
            least_rank += static_cast<double>(sample.gap);
            const double most_rank = least_rank + static_cast<double>(sample.delta);
            if (most_rank - uncertainty <= rank && rank <= least_rank + uncertainty) return sample.value;
        }
        return samples.back().value;
    }
};

template <typename T>
class QuantileGK final : public AggregateBase<QuantileGK<T>, std::unique_ptr<GKSummary<T>>, FixedInput<T>> {
public:
    using State = std::unique_ptr<GKSummary<T>>;
    using Base = AggregateBase<QuantileGK<T>, State, FixedInput<T>>;

    QuantileGK(Signature signature, TypePtr result, uint64_t accuracy, Levels levels, bool many)
        : Base(std::move(signature), std::move(result)),
          error_(1.0 / static_cast<double>(accuracy)),
          levels_(std::move(levels)),
          many_(many) {}

    static constexpr bool kEmptyIsZero = true;

    void addRow(State& state, const FixedInput<T>& input, size_t row, Arena&) const {
        if constexpr (std::is_floating_point_v<T>)
            if (std::isnan(input[row])) return;
        of(state).add(input[row], error_);
    }

    void mergeStates(State& state, const State& other, Arena&) const {
        if (other) of(state).merge(*other, error_);
    }

    void write(const State& state, Writer& out) const {
        GKSummary<T> summary;
        if (state) summary = *state;
        summary.flush(error_);
        summary.compress(error_);
        out.writeFixed(uint64_t{GKSummary<T>::kCompressThreshold});
        out.writeFixed(error_);
        out.writeFixed(summary.count);
        out.writeFixed(uint64_t{summary.samples.size()});
        for (const GKSample<T>& sample : summary.samples) {
            out.writeFixed(sample.value);
            out.writeFixed(sample.gap);
            out.writeFixed(sample.delta);
        }
    }

    void read(State& state, Reader& in, Arena&) const {
        in.skip(sizeof(uint64_t) + sizeof(double));
        GKSummary<T>& summary = of(state);
        in.readFixed(summary.count);
        const auto size = in.readFixed<uint64_t>();
        for (uint64_t i = 0; i < size; ++i) {
            GKSample<T> sample;
            in.readFixed(sample.value);
            in.readFixed(sample.gap);
            in.readFixed(sample.delta);
            summary.samples.push_back(sample);
        }
    }

    void finish(State& state, Column& to, Arena&) const {
        GKSummary<T>& summary = of(state);
        summary.flush(error_);
        if (many_) {
            auto& array = static_cast<ArrayColumn&>(to);
            for (double level : levels_.levels) appendFixed(array.mutableElements(), summary.at(level));
            array.endRow();
        } else {
            appendFixed(to, summary.at(levels_.levels[0]));
        }
    }

private:
    static GKSummary<T>& of(State& state) {
        if (!state) state = std::make_unique<GKSummary<T>>();
        return *state;
    }

    double error_;
    Levels levels_;
    bool many_;
};

template <bool many>
AggregateFunctionPtr createQuantileGK(Signature signature) {
    checkQuantileArguments(signature, false);
    if (signature.parameters.empty())
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Aggregate function {} requires accuracy parameter", signature.name);
    if (signature.parameters[0].kind() != Value::Kind::UInt64 &&
        signature.parameters[0].kind() != Value::Kind::Int64)
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    "Aggregate function {} requires accuracy parameter with integer type", signature.name);
    const auto accuracy = signature.parameters[0].to<int64_t>();
    if (accuracy <= 0)
        throw Error(ErrorCode::BAD_ARGUMENTS,
                    "Aggregate function {} requires accuracy parameter with positive value but is {}",
                    signature.name, accuracy);
    Levels levels = parseLevels(signature, std::span(signature.parameters).subspan(1), many);
    const TypePtr argument = signature.arguments[0];
    AggregateFunctionPtr function;
    dispatchPhysical(argument->physical(), [&]<typename T>(Tag<T>) {
        if constexpr (kIsNumber<T> && !std::is_same_v<T, BFloat16>)
            function = std::make_shared<QuantileGK<T>>(
                std::move(signature), many ? types::array(argument) : argument,
                static_cast<uint64_t>(accuracy), std::move(levels), many);
    });
    return function;
}

}  // namespace

std::span<const AggregateInfo> quantileGKAggregates() {
    static const AggregateInfo kInfos[] = {
        {.name = "quantileGK",
         .create = createQuantileGK<false>,
         .syntax = "quantileGK(accuracy[, level])(x)",
         .description = "Quantile whose rank is off by at most 1 / accuracy of the rows.",
         .example = "SELECT quantileGK(100, 0.5)(number) FROM numbers(5)",
         .example_result = "2"},
        {.name = "quantilesGK",
         .create = createQuantileGK<true>,
         .nulls = Nulls::FlagAlwaysOne,
         .syntax = "quantilesGK(accuracy, level, …)(x)",
         .description = "Several quantiles at once."},
    };
    return kInfos;
}

}  // namespace shardd::aggregates
