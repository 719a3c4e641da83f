#include "server/aggregates/aggregate_base.h"

namespace shardd::aggregates {

namespace {

/// Rows. Those with NULLs never arrive here.
class Count final : public QuickAggregate<Count, uint64_t, NoInput> {
public:
    using QuickAggregate::QuickAggregate;

    static constexpr bool kEmptyIsZero = true;

    Kernel kernel() const override { return Kernel::Count; }

    void addRow(uint64_t& state, const NoInput&, size_t, Arena&) const { ++state; }

    void addAll(uint64_t& state, const NoInput&, size_t, size_t rows, Arena&) const { state += rows; }

    void addMasked(
        uint64_t& state, const NoInput&, size_t from, size_t rows, const uint8_t* mask, Arena&) const {
        uint64_t count = 0;
        for (size_t row = from; row < from + rows; ++row) count += mask[row] != 0;
        state += count;
    }

    void mergeStates(uint64_t& state, const uint64_t& other, Arena&) const { state += other; }

    void write(const uint64_t& state, Writer& out) const { out.writeVarUInt(state); }

    void read(uint64_t& state, Reader& in, Arena&) const { state = in.readVarUInt(); }

    void finish(uint64_t& state, Column& to, Arena&) const { appendFixed(to, state); }
};

AggregateFunctionPtr createCount(Signature signature) {
    expectNoParameters(signature);
    if (signature.arguments.size() > 1)
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Aggregate function {} requires zero or one argument", signature.name);
    return std::make_shared<Count>(std::move(signature), types::uint64());
}

}  // namespace

std::span<const AggregateInfo> countAggregates() {
    static const AggregateInfo kInfos[] = {{.name = "count",
                                            .create = createCount,
                                            .case_insensitive = true,
                                            .nulls = Nulls::NoFlag,
                                            .syntax = "count([x])",
                                            .description = "Number of rows, or of those where x is not NULL.",
                                            .example = "SELECT count() FROM numbers(3)",
                                            .example_result = "3"}};
    return kInfos;
}

}  // namespace shardd::aggregates
