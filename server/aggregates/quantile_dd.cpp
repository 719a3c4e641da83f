#include <map>
#include <memory>

#include "server/aggregates/quantile_base.h"

namespace shardd::aggregates {

namespace {

/// Parts of the state on the wire; never renumber.
enum DDPart : uint8_t { kMapping = 2, kPositive = 1, kNegative = 3, kZeros = 4 };

/// How the bins of a store travel.
enum DDBins : uint8_t { kSparse = 4, kContiguous = 12 };

using DDStore = std::map<int32_t, double>;

struct DDSketch {
    DDStore positive;
    DDStore negative;
    double zeros = 0;
};

uint64_t zigzag(int64_t value) {
    return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}

int64_t unzigzag(uint64_t value) {
    return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

double countOf(const DDStore& store) {
    double count = 0;
    for (const auto& [index, weight] : store) count += weight;
    return count;
}

void writeStore(const DDStore& store, Writer& out) {
    const int64_t first = store.empty() ? std::numeric_limits<int32_t>::max() : store.begin()->first;
    const size_t width = store.empty() ? 0 : static_cast<size_t>(store.rbegin()->first - first + 1);
    // Gaps cost eight bytes when contiguous, an index about two when sparse.
    if ((width - store.size()) * 8 <= store.size() * 2) {
        out.writeByte(kContiguous);
        out.writeVarUInt(width);
        out.writeVarUInt(zigzag(first));
        out.writeVarUInt(zigzag(1));
        for (size_t i = 0; i < width; ++i) {
            const auto found = store.find(static_cast<int32_t>(first + static_cast<int64_t>(i)));
            out.writeFixed(found == store.end() ? 0.0 : found->second);
        }
        return;
    }
    out.writeByte(kSparse);
    out.writeVarUInt(store.size());
    int64_t previous = 0;
    for (const auto& [index, weight] : store) {
        out.writeVarUInt(zigzag(index - previous));
        out.writeFixed(weight);
        previous = index;
    }
}

void readStore(DDStore& store, Reader& in) {
    const uint8_t encoding = in.readByte();
    if (encoding != kSparse && encoding != kContiguous)
        throw Error(ErrorCode::INCORRECT_DATA, "Wrong encoding {} in a state of quantileDD", encoding);
    const uint64_t count = in.readVarUInt();
    int64_t index = encoding == kContiguous ? unzigzag(in.readVarUInt()) : 0;
    const int64_t step = encoding == kContiguous ? unzigzag(in.readVarUInt()) : 0;
    for (uint64_t i = 0; i < count; ++i) {
        if (encoding == kSparse) index += unzigzag(in.readVarUInt());
        const auto weight = in.readFixed<double>();
        if (index < std::numeric_limits<int32_t>::min() || index > std::numeric_limits<int32_t>::max())
            throw Error(ErrorCode::INCORRECT_DATA, "Wrong index {} in a state of quantileDD", index);
        if (weight != 0) store[static_cast<int32_t>(index)] += weight;
        index += step;
    }
}

/// Quantiles with a bounded relative error: counts of values by their logarithm.
template <bool many>
class QuantileDD final : public AggregateBase<QuantileDD<many>, std::unique_ptr<DDSketch>, ColumnsInput> {
public:
    using State = std::unique_ptr<DDSketch>;
    using Base = AggregateBase<QuantileDD<many>, State, ColumnsInput>;

    QuantileDD(Signature signature, TypePtr result, double accuracy, Levels levels)
        : Base(std::move(signature), std::move(result)),
          accuracy_(accuracy),
          gamma_((1 + accuracy) / (1 - accuracy)),
          multiplier_(1 / std::log(gamma_)),
          levels_(std::move(levels)) {}

    static constexpr bool kEmptyIsZero = true;

    void addRow(State& state, const ColumnsInput& input, size_t row, Arena&) const {
        const auto value = input.columns[0]->value(row).to<double>();
        if (!std::isfinite(value)) return;
        DDSketch& sketch = of(state);
        if (std::abs(value) < std::numeric_limits<double>::min() * gamma_)
            sketch.zeros += 1;
        else if (value > 0)
            sketch.positive[indexOf(value)] += 1;
        else
            sketch.negative[indexOf(-value)] += 1;
    }

    void mergeStates(State& state, const State& other, Arena&) const {
        if (!other) return;
        DDSketch& sketch = of(state);
        for (const auto& [index, weight] : other->positive) sketch.positive[index] += weight;
        for (const auto& [index, weight] : other->negative) sketch.negative[index] += weight;
        sketch.zeros += other->zeros;
    }

    void write(const State& state, Writer& out) const {
        static const DDSketch kEmpty;
        const DDSketch& sketch = state ? *state : kEmpty;
        out.writeByte(kMapping);
        out.writeFixed(gamma_);
        out.writeFixed(0.0);
        out.writeByte(kPositive);
        writeStore(sketch.positive, out);
        out.writeByte(kNegative);
        writeStore(sketch.negative, out);
        out.writeByte(kZeros);
        out.writeFixed(sketch.zeros);
    }

    void read(State& state, Reader& in, Arena&) const {
        expect(in, kMapping);
        const auto gamma = in.readFixed<double>();
        if (std::abs(gamma - gamma_) > 1e-9)
            throw Error(ErrorCode::INCORRECT_DATA, "Another accuracy in a state of {}: gamma {}, not {}",
                        this->name(), gamma, gamma_);
        in.skip(sizeof(double));
        DDSketch& sketch = of(state);
        expect(in, kPositive);
        readStore(sketch.positive, in);
        expect(in, kNegative);
        readStore(sketch.negative, in);
        expect(in, kZeros);
        in.readFixed(sketch.zeros);
    }

    void finish(State& state, Column& to, Arena&) const {
        if constexpr (many) {
            auto& array = static_cast<ArrayColumn&>(to);
            for (double level : levels_.levels) appendFixed(array.mutableElements(), at(state, level));
            array.endRow();
        } else {
            appendFixed(to, at(state, levels_.levels[0]));
        }
    }

private:
    static DDSketch& of(State& state) {
        if (!state) state = std::make_unique<DDSketch>();
        return *state;
    }

    void expect(Reader& in, DDPart part) const {
        const uint8_t byte = in.readByte();
        if (byte != part)
            throw Error(ErrorCode::INCORRECT_DATA, "Wrong part {} in a state of {}, wanted {}", byte,
                        this->name(), static_cast<int>(part));
    }

    int32_t indexOf(double value) const {
        return static_cast<int32_t>(std::floor(std::log(value) * multiplier_));
    }

    double valueOf(int32_t index) const {
        return std::exp(static_cast<double>(index) / multiplier_) * (1 + accuracy_);
    }

    double at(const State& state, double level) const {
        const double negative = state ? countOf(state->negative) : 0;
        const double count = state ? negative + state->zeros + countOf(state->positive) : 0;
        if (count == 0) return std::numeric_limits<double>::quiet_NaN();
        const double rank = level * (count - 1);
        if (rank < negative) {
            double running = 0;
            for (const auto& [index, weight] : state->negative) {
                running += weight;
                if (running >= negative - rank) return -valueOf(index);
            }
        }
        if (rank < negative + state->zeros) return 0;
        double running = negative + state->zeros;
        for (const auto& [index, weight] : state->positive) {
            running += weight;
            if (running > rank) return valueOf(index);
        }
        return state->positive.empty() ? 0 : valueOf(state->positive.rbegin()->first);
    }

    double accuracy_;
    double gamma_;
    double multiplier_;
    Levels levels_;
};

template <bool many>
AggregateFunctionPtr createQuantileDD(Signature signature) {
    expectArguments(signature, 1);
    if (!signature.arguments[0]->isNumber() || signature.arguments[0]->isDecimal())
        failArgumentType(signature);
    if (signature.parameters.empty())
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Aggregate function {} requires relative accuracy parameter", signature.name);
    const auto accuracy = signature.parameters[0].to<double>();
    if (!(accuracy > 0 && accuracy < 1))
        throw Error(
            ErrorCode::BAD_ARGUMENTS,
            "Aggregate function {} requires relative accuracy parameter with value between 0 and 1 but is {}",
            signature.name, accuracy);
    Levels levels = parseLevels(signature, std::span(signature.parameters).subspan(1), many);
    TypePtr result = many ? types::array(types::float64()) : types::float64();
    return std::make_shared<QuantileDD<many>>(std::move(signature), std::move(result), accuracy,
                                              std::move(levels));
}

}  // namespace

std::span<const AggregateInfo> quantileDDAggregates() {
    static const AggregateInfo kInfos[] = {
        {.name = "quantileDD",
         .create = createQuantileDD<false>,
         .syntax = "quantileDD(relative_accuracy[, level])(x)",
         .description = "Quantile with a bounded relative error.",
         .example = "SELECT round(quantileDD(0.01, 0.5)(number), 1) FROM numbers(5)",
         .example_result = "2"},
        {.name = "quantilesDD",
         .create = createQuantileDD<true>,
         .nulls = Nulls::FlagAlwaysOne,
         .syntax = "quantilesDD(relative_accuracy, level, …)(x)",
         .description = "Several quantiles at once."},
    };
    return kInfos;
}

}  // namespace shardd::aggregates
