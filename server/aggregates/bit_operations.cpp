#include "server/aggregates/value_bits.h"

namespace shardd::aggregates {

namespace {

enum class Bits { And, Or, Xor };

template <typename K>
struct BitsState {
    K value{};
};

/// Over the bits of integers of one width; which operation is told at run time.
template <typename K>
class BitOperation final : public AggregateBase<BitOperation<K>, BitsState<K>, BitsInput<K>> {
public:
    using State = BitsState<K>;
    using Base = AggregateBase<BitOperation<K>, State, BitsInput<K>>;

    BitOperation(Signature signature, TypePtr result, Bits operation)
        : Base(std::move(signature), std::move(result)), operation_(operation) {}

    bool emptyIsZero() const override { return operation_ != Bits::And; }

    void create(char* place) const override {
        auto* state = new (place) State();
        if (operation_ == Bits::And) state->value = static_cast<K>(~K{});
    }

    void addRow(State& state, const BitsInput<K>& input, size_t row, Arena&) const {
        apply(state, input[row]);
    }

    void mergeStates(State& state, const State& other, Arena&) const { apply(state, other.value); }

    void write(const State& state, Writer& out) const { out.writeFixed(state.value); }

    void read(State& state, Reader& in, Arena&) const { in.readFixed(state.value); }

    void finish(State& state, Column& to, Arena&) const {
        to.insertKey(reinterpret_cast<const char*>(&state.value));
    }

private:
    void apply(State& state, const K& value) const {
        if (operation_ == Bits::And)
            state.value = static_cast<K>(state.value & value);
        else if (operation_ == Bits::Or)
            state.value = static_cast<K>(state.value | value);
        else
            state.value = static_cast<K>(state.value ^ value);
    }

    Bits operation_;
};

AggregateFunctionPtr makeBits(Signature signature, Bits operation) {
    expectNoParameters(signature);
    expectArguments(signature, 1);
    const TypePtr argument = signature.arguments[0];
    if (argument->isEnum() || argument->isDateOrTime())
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    "The type {} of argument for aggregate function {} is illegal, because it cannot be used "
                    "in bitwise operations",
                    argument->name(), signature.name);
    if (!argument->isInteger() && argument->kind() != TypeKind::Bool) failArgumentType(signature);
    AggregateFunctionPtr function;
    dispatchWidth(argument->physical(), [&]<typename K>(Tag<K>) {
        function = std::make_shared<BitOperation<K>>(std::move(signature), argument, operation);
    });
    return function;
}

template <Bits operation>
AggregateFunctionPtr createBits(Signature signature) {
    return makeBits(std::move(signature), operation);
}

}  // namespace

std::span<const AggregateInfo> bitOperationsAggregates() {
    static const AggregateInfo kInfos[] = {
        {.name = "groupBitAnd",
         .create = createBits<Bits::And>,
         .syntax = "groupBitAnd(x)",
         .description = "Bitwise and of the integers.",
         .example = "SELECT groupBitAnd(number + 2) FROM numbers(2)",
         .example_result = "2"},
        {.name = "groupBitOr",
         .create = createBits<Bits::Or>,
         .syntax = "groupBitOr(x)",
         .description = "Bitwise or of the integers.",
         .example = "SELECT groupBitOr(number) FROM numbers(4)",
         .example_result = "3"},
        {.name = "groupBitXor",
         .create = createBits<Bits::Xor>,
         .syntax = "groupBitXor(x)",
         .description = "Bitwise exclusive or of the integers.",
         .example = "SELECT groupBitXor(number) FROM numbers(3)",
         .example_result = "3"},
    };
    return kInfos;
}

}  // namespace shardd::aggregates
