#include <algorithm>
#include <memory>

#include "server/aggregates/quantile_base.h"

namespace shardd::aggregates {

namespace {

template <typename K>
struct GKSample {
    K value;
    int64_t gap;    // rows that this sample stands for
    int64_t delta;  // how uncertain its rank is
};

/// Greenwald's and Khanna's summary: ranks are off by at most `error` times the rows.
template <typename K>
struct GKSummary {
    static constexpr size_t kCompressThreshold = 10000;
    static constexpr size_t kBufferSize = 50000;

    std::vector<GKSample<K>, CountedAllocator<GKSample<K>>> samples;
    std::vector<K, CountedAllocator<K>> buffer;
    int64_t count = 0;  // without those in the buffer

    void add(const K& value, double error, Physical physical) {
        buffer.push_back(value);
        if (buffer.size() >= kBufferSize) flush(error, physical);
    }

    /// The buffer sorted into the samples.
    void flush(double error, Physical physical) {
        if (buffer.empty()) return;
        const NumberOrder order(physical);
        sortNumbers(physical, buffer.data(), buffer.size());
        std::vector<GKSample<K>, CountedAllocator<GKSample<K>>> joined;
        joined.reserve(samples.size() + buffer.size());
        size_t sample = 0;
        for (size_t i = 0; i < buffer.size(); ++i) {
            while (sample < samples.size() && !order.less(buffer[i], samples[sample].value))
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
        std::vector<GKSample<K>, CountedAllocator<GKSample<K>>> kept = {samples.back()};
        for (size_t i = samples.size() - 1; i-- > 1;) {
            GKSample<K>& head = kept.back();
            if (static_cast<double>(samples[i].gap + head.gap + head.delta) < threshold)
                head.gap += samples[i].gap;
            else
                kept.push_back(samples[i]);
        }
        kept.push_back(samples.front());
        std::reverse(kept.begin(), kept.end());
        samples = std::move(kept);
    }

    void merge(const GKSummary& other, double error, Physical physical) {
        for (const K& value : other.buffer) add(value, error, physical);
        if (other.samples.empty()) return;
        flush(error, physical);
        std::vector<GKSample<K>, CountedAllocator<GKSample<K>>> joined;
        joined.reserve(samples.size() + other.samples.size());
        std::merge(samples.begin(), samples.end(), other.samples.begin(), other.samples.end(),
                   std::back_inserter(joined),
                   [order = NumberOrder(physical)](const GKSample<K>& a, const GKSample<K>& b) {
                       return order.less(a.value, b.value);
                   });
        samples = std::move(joined);
        count += other.count;
        if (samples.size() >= kCompressThreshold) compress(error);
    }

    /// nullptr when there is nothing.
    const K* at(double level) const {
        if (samples.empty()) return nullptr;
        double uncertainty = 0;
        for (const GKSample<K>& sample : samples)
            uncertainty = std::max(uncertainty, static_cast<double>(sample.gap + sample.delta) / 2);
        const double rank = std::ceil(level * static_cast<double>(count));
        double least_rank = 0;
        for (const GKSample<K>& sample : samples) {
            least_rank += static_cast<double>(sample.gap);
            const double most_rank = least_rank + static_cast<double>(sample.delta);
            if (most_rank - uncertainty <= rank && rank <= least_rank + uncertainty) return &sample.value;
        }
        return &samples.back().value;
    }
};

template <typename K>
class QuantileGK final : public AggregateBase<QuantileGK<K>, std::unique_ptr<GKSummary<K>>, BitsInput<K>> {
public:
    using State = std::unique_ptr<GKSummary<K>>;
    using Base = AggregateBase<QuantileGK<K>, State, BitsInput<K>>;

    QuantileGK(Signature signature, TypePtr result, uint64_t accuracy, Levels levels, bool many)
        : Base(std::move(signature), std::move(result)),
          error_(1.0 / static_cast<double>(accuracy)),
          levels_(std::move(levels)),
          many_(many),
          physical_(this->argumentTypes()[0]->physical()),
          order_(physical_) {}

    static constexpr bool kEmptyIsZero = true;

    void addRow(State& state, const BitsInput<K>& input, size_t row, Arena&) const {
        const K value = input[row];
        if (!order_.isNaN(value)) of(state).add(value, error_, physical_);
    }

    void mergeStates(State& state, const State& other, Arena&) const {
        if (other) of(state).merge(*other, error_, physical_);
    }

    void write(const State& state, Writer& out) const {
        GKSummary<K> summary;
        if (state) summary = *state;
        summary.flush(error_, physical_);
        summary.compress(error_);
        out.writeFixed(uint64_t{GKSummary<K>::kCompressThreshold});
        out.writeFixed(error_);
        out.writeFixed(summary.count);
        out.writeFixed(uint64_t{summary.samples.size()});
        for (const GKSample<K>& sample : summary.samples) {
            out.writeFixed(sample.value);
            out.writeFixed(sample.gap);
            out.writeFixed(sample.delta);
        }
    }

    void read(State& state, Reader& in, Arena&) const {
        in.skip(sizeof(uint64_t) + sizeof(double));
        GKSummary<K>& summary = of(state);
        in.readFixed(summary.count);
        const auto size = in.readFixed<uint64_t>();
        for (uint64_t i = 0; i < size; ++i) {
            GKSample<K> sample;
            in.readFixed(sample.value);
            in.readFixed(sample.gap);
            in.readFixed(sample.delta);
            summary.samples.push_back(sample);
        }
    }

    void finish(State& state, Column& to, Arena&) const {
        GKSummary<K>& summary = of(state);
        summary.flush(error_, physical_);
        auto* array = many_ ? &static_cast<ArrayColumn&>(to) : nullptr;
        const size_t count = many_ ? levels_.levels.size() : 1;
        Answers answers(physical_, physical_, array ? array->mutableElements() : to, count);
        for (size_t i = 0; i < count; ++i) {
            if (const K* value = summary.at(levels_.levels[i]))
                answers.value(i, value);
            else
                answers.nothing(i);
        }
        if (array) array->endRow();
    }

private:
    static GKSummary<K>& of(State& state) {
        if (!state) state = std::make_unique<GKSummary<K>>();
        return *state;
    }

    double error_;
    Levels levels_;
    bool many_;
    Physical physical_;
    NumberOrder order_;
};

AggregateFunctionPtr makeQuantileGK(Signature signature, bool many) {
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
    dispatchWidth(argument->physical(), [&]<typename K>(Tag<K>) {
        function =
            std::make_shared<QuantileGK<K>>(std::move(signature), many ? types::array(argument) : argument,
                                            static_cast<uint64_t>(accuracy), std::move(levels), many);
    });
    return function;
}

template <bool many>
AggregateFunctionPtr createQuantileGK(Signature signature) {
    return makeQuantileGK(std::move(signature), many);
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
