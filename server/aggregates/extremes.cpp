#include "server/aggregates/single_value.h"

namespace shardd::aggregates {

namespace {

/// Which value stays.
enum class Keep { Min, Max, First, Last };

template <Keep keep, typename Single, typename... Other>
bool takes(const Single& kept, const Other&... other) {
    if (!kept.has()) return true;
    if constexpr (keep == Keep::Min) return kept.less(other...);
    if constexpr (keep == Keep::Max) return kept.greater(other...);
    return keep == Keep::Last;
}

template <Keep keep, typename Single>
class Extreme final
    : public QuickAggregate<Extreme<keep, Single>, Single, typename Single::template Input<0>> {
public:
    using Input = typename Single::template Input<0>;
    using Base = QuickAggregate<Extreme<keep, Single>, Single, Input>;
    using Base::Base;

    static constexpr bool kEmptyIsZero = true;

    Kernel kernel() const override {
        if constexpr (std::is_same_v<Input, AnySingle::Input<0>> || std::is_same_v<Single, StringSingle>)
            return Kernel::None;
        if constexpr (keep == Keep::Min || keep == Keep::Max) return Kernel::MinMaxFixed;
        if constexpr (keep == Keep::First) return Kernel::AnyFixed;
        return Kernel::None;
    }

    void addRow(Single& state, const Input& input, size_t row, Arena& arena) const {
        if (takes<keep>(state, input, row)) state.set(input, row, arena);
    }

    void addAll(Single& state, const Input& input, size_t from, size_t rows, Arena& arena) const {
        if (rows == 0) return;
        if constexpr (keep == Keep::First) {
            addRow(state, input, from, arena);
        } else if constexpr (keep == Keep::Last) {
            addRow(state, input, from + rows - 1, arena);
        } else if constexpr (requires { input.values; }) {
            addFixed(state, input.values + from, rows);
        } else {
            for (size_t row = from; row < from + rows; ++row) addRow(state, input, row, arena);
        }
    }

    void mergeStates(Single& state, const Single& other, Arena& arena) const {
        if (other.has() && takes<keep>(state, other)) state.set(other, arena);
    }

    void write(const Single& state, Writer& out) const { state.write(out); }

    void read(Single& state, Reader& in, Arena& arena) const { state.read(*this->resultType(), in, arena); }

    void finish(Single& state, Column& to, Arena&) const { appendOrDefault(state, *this->resultType(), to); }

private:
    /// A branch-free loop that compilers vectorize for integers.
    template <typename T>
    static void addFixed(Single& state, const T* values, size_t rows) {
        T best = state.has() ? state.value : values[0];
        if constexpr (std::is_integral_v<T>) {
            for (size_t row = 0; row < rows; ++row)
                best = (keep == Keep::Min ? values[row] < best : values[row] > best) ? values[row] : best;
        } else {
            for (size_t row = 0; row < rows; ++row)
                if (keep == Keep::Min ? Single::before(values[row], best) : Single::after(values[row], best))
                    best = values[row];
        }
        state.value = best;
        state.set_ = 1;
    }
};

template <Keep keep>
AggregateFunctionPtr createExtreme(Signature signature) {
    expectNoParameters(signature);
    expectArguments(signature, 1);
    const TypePtr type = signature.arguments[0];
    if constexpr (keep == Keep::Min || keep == Keep::Max)
        if (type->kind() == TypeKind::AggregateFunction) failArgumentType(signature);
    AggregateFunctionPtr function;
    const auto make = [&]<typename Single>(Tag<Single>) {
        function = std::make_shared<Extreme<keep, Single>>(std::move(signature), type);
    };
    if constexpr (keep == Keep::Min || keep == Keep::Max)
        dispatchSingle(*type, make);
    else
        dispatchKept(*type, make);
    return function;
}

}  // namespace

std::span<const AggregateInfo> extremesAggregates() {
    static const AggregateInfo kInfos[] = {
        {.name = "min",
         .create = createExtreme<Keep::Min>,
         .case_insensitive = true,
         .syntax = "min(x)",
         .description = "Smallest value.",
         .example = "SELECT min(number) FROM numbers(4)",
         .example_result = "0"},
        {.name = "max",
         .create = createExtreme<Keep::Max>,
         .case_insensitive = true,
         .syntax = "max(x)",
         .description = "Largest value.",
         .example = "SELECT max(number) FROM numbers(4)",
         .example_result = "3"},
        {.name = "any",
         .create = createExtreme<Keep::First>,
         .syntax = "any(x)",
         .description = "The first value met that is not NULL.",
         .example = "SELECT any(number) FROM numbers(4)",
         .example_result = "0"},
        {.name = "anyLast",
         .create = createExtreme<Keep::Last>,
         .syntax = "anyLast(x)",
         .description = "The last value met that is not NULL.",
         .example = "SELECT anyLast(number) FROM numbers(4)",
         .example_result = "3"},
    };
    return kInfos;
}

}  // namespace shardd::aggregates
