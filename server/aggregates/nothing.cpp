#include "server/aggregates/aggregate_base.h"

namespace shardd::aggregates {

namespace {

/// What a function over NULLs alone becomes: it counts nothing, and its state is one byte.
class Nothing final : public AggregateBase<Nothing, char, NoInput> {
public:
    using AggregateBase::AggregateBase;

    static constexpr bool kEmptyIsZero = true;

    void addRow(char&, const NoInput&, size_t, Arena&) const {}

    void mergeStates(char&, const char&, Arena&) const {}

    void write(const char&, Writer& out) const { out.writeByte(0); }

    void read(char&, Reader& in, Arena&) const {
        if (const uint8_t byte = in.readByte())
            throw Error(ErrorCode::INCORRECT_DATA,
                        "Server terminated the connection unexpectedly: state of {} is {}", name(), byte);
    }

    void finish(char&, Column& to, Arena&) const { to.insertDefault(1); }
};

AggregateFunctionPtr createNothingNull(Signature signature) {
    return std::make_shared<Nothing>(std::move(signature), types::nullable(types::simple(TypeKind::Nothing)));
}

AggregateFunctionPtr createNothingUInt64(Signature signature) {
    return std::make_shared<Nothing>(std::move(signature), types::uint64());
}

AggregateFunctionPtr createNothing(Signature signature) {
    TypePtr result = signature.arguments.empty() ? types::simple(TypeKind::Nothing) : signature.arguments[0];
    return std::make_shared<Nothing>(std::move(signature), std::move(result));
}

}  // namespace

std::span<const AggregateInfo> nothingAggregates() {
    static const AggregateInfo kInfos[] = {
        {.name = "nothing",
         .create = createNothing,
         .nulls = Nulls::Own,
         .syntax = "nothing(x)",
         .description = "Ignores its rows; the default of the argument's type."},
        {.name = "nothingNull",
         .create = createNothingNull,
         .nulls = Nulls::Own,
         .syntax = "nothingNull(x)",
         .description = "Ignores its rows; NULL. What sum(NULL) becomes."},
        {.name = "nothingUInt64",
         .create = createNothingUInt64,
         .nulls = Nulls::Own,
         .syntax = "nothingUInt64(x)",
         .description = "Ignores its rows; 0. What count(NULL) becomes."},
    };
    return kInfos;
}

}  // namespace shardd::aggregates
