#include "server/aggregates/aggregate_base.h"

namespace shardd::aggregates {

namespace {

enum class Bits { And, Or, Xor };

template <typename T, Bits operation>
struct BitsState {
    T value = operation == Bits::And ? static_cast<T>(~T{}) : T{};
};

template <typename T, Bits operation>
class BitOperation final
    : public AggregateBase<BitOperation<T, operation>, BitsState<T, operation>, FixedInput<T>> {
public:
    using State = BitsState<T, operation>;
    using Base = AggregateBase<BitOperation<T, operation>, State, FixedInput<T>>;
    using Base::Base;

    static constexpr bool kEmptyIsZero = operation != Bits::And;

    void addRow(State& state, const FixedInput<T>& input, size_t row, Arena&) const {
        apply(state, input[row]);
    }

    void mergeStates(State& state, const State& other, Arena&) const { apply(state, other.value); }

    void write(const State& state, Writer& out) const { out.writeFixed(state.value); }

    void read(State& state, Reader& in, Arena&) const { in.readFixed(state.value); }

    void finish(State& state, Column& to, Arena&) const { appendFixed(to, state.value); }

private:
    static void apply(State& state, const T& value) {
        if constexpr (operation == Bits::And) state.value = static_cast<T>(state.value & value);
        if constexpr (operation == Bits::Or) state.value = static_cast<T>(state.value | value);
        if constexpr (operation == Bits::Xor) state.value = static_cast<T>(state.value ^ value);
    }
};

template <Bits operation>
AggregateFunctionPtr createBits(Signature signature) {
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
    dispatchPhysical(argument->physical(), [&]<typename T>(Tag<T>) {
        if constexpr (std::is_integral_v<T> || std::is_same_v<T, Int128> || std::is_same_v<T, UInt128> ||
                      std::is_same_v<T, Int256> || std::is_same_v<T, UInt256>)
            function = std::make_shared<BitOperation<T, operation>>(std::move(signature), argument);
    });
    return function;
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
