#include "server/aggregates/single_value.h"

namespace shardd::aggregates {

namespace {

/// The carried argument of constant width up to kBytes, of which only the bytes matter.
template <size_t kBytes>
struct CarriedBytes {
    uint64_t words[kBytes / 8] = {};
    uint8_t set_ = 0;

    void set(const Column& column, size_t row, Arena&) {
        const std::string_view bytes = column.bytesAt(row);
        std::memcpy(words, bytes.data(), bytes.size());
        set_ = 1;
    }

    void set(const CarriedBytes& other, Arena&) { *this = other; }

    void write(const Type& type, Writer& out) const {
        out.writeByte(set_);
        if (set_) out.writeBytes(words, type.width());
    }

    void read(const Type& type, Reader& in, Arena&) {
        set_ = in.readByte() != 0;
        if (set_) in.readBytes(words, type.width());
    }

    void appendTo(const Type& type, Column& to) const {
        if (!set_) {
            insertDefaults(type, to, 1);
            return;
        }
        dispatchPhysical(type.physical(), [&]<typename T>(Tag<T>) {
            if constexpr (sizeof(T) <= kBytes) {
                T value;
                std::memcpy(static_cast<void*>(&value), words, sizeof(T));
                appendFixed(to, value);
            }
        });
    }
};

/// Strings and all other types as min and max keep them.
template <typename Single>
struct CarriedSingle {
    Single single;

    void set(const Column& column, size_t row, Arena& arena) {
        const Column* columns[] = {&column};
        single.set(typename Single::template Input<0>(columns), row, arena);
    }

    void set(const CarriedSingle& other, Arena& arena) { single.set(other.single, arena); }

    void write(const Type&, Writer& out) const { single.write(out); }

    void read(const Type& type, Reader& in, Arena& arena) { single.read(type, in, arena); }

    void appendTo(const Type& type, Column& to) const { appendOrDefault(single, type, to); }
};

template <typename Carried, typename Key>
struct ArgState {
    Key key;
    Carried carried;
};

template <typename Key>
struct ArgInput {
    const Column* carried;
    typename Key::template Input<1> key;

    explicit ArgInput(const Column* const* arguments) : carried(arguments[0]), key(arguments) {}
};

/// The first argument of the row whose second one is smallest (largest); of equal ones the first met.
template <typename Carried, typename Key, bool is_min>
class ArgBest final
    : public AggregateBase<ArgBest<Carried, Key, is_min>, ArgState<Carried, Key>, ArgInput<Key>> {
public:
    using State = ArgState<Carried, Key>;
    using Base = AggregateBase<ArgBest<Carried, Key, is_min>, State, ArgInput<Key>>;
    using Base::Base;

    static constexpr bool kEmptyIsZero = true;

    void addRow(State& state, const ArgInput<Key>& input, size_t row, Arena& arena) const {
        if (state.key.has() && !(is_min ? state.key.less(input.key, row) : state.key.greater(input.key, row)))
            return;
        state.key.set(input.key, row, arena);
        state.carried.set(*input.carried, row, arena);
    }

    void mergeStates(State& state, const State& other, Arena& arena) const {
        if (!other.key.has()) return;
        if (state.key.has() && !(is_min ? state.key.less(other.key) : state.key.greater(other.key))) return;
        state.key.set(other.key, arena);
        state.carried.set(other.carried, arena);
    }

    void write(const State& state, Writer& out) const {
        state.carried.write(*this->argumentTypes()[0], out);
        state.key.write(out);
    }

    void read(State& state, Reader& in, Arena& arena) const {
        state.carried.read(*this->argumentTypes()[0], in, arena);
        state.key.read(*this->argumentTypes()[1], in, arena);
    }

    void finish(State& state, Column& to, Arena&) const { state.carried.appendTo(*this->resultType(), to); }
};

/// The layouts that keys are compared in: native numbers, strings, and the rest.
template <typename Action>
void dispatchKey(const Type& type, Action&& action) {
    bool done = false;
    dispatchSingle(type, [&]<typename Single>(Tag<Single>) {
        if constexpr (sizeof(Single) <= 16 || std::is_same_v<Single, StringSingle>) {
            if constexpr (!std::is_same_v<Single, FixedSingle<BFloat16>>) {
                action(Tag<Single>{});
                done = true;
            }
        }
    });
    if (!done) action(Tag<AnySingle>{});
}

template <bool is_min>
AggregateFunctionPtr createArgBest(Signature signature) {
    expectNoParameters(signature);
    expectArguments(signature, 2);
    const TypePtr carried = signature.arguments[0];
    const TypePtr key_type = signature.arguments[1];
    if (key_type->kind() == TypeKind::AggregateFunction)
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    "Illegal type {} for the second argument of aggregate function {} as there is no "
                    "comparison on it",
                    key_type->name(), signature.name);
    AggregateFunctionPtr function;
    dispatchKey(*key_type, [&]<typename Key>(Tag<Key>) {
        const size_t width = carried->physical() == Physical::None ? 0 : carried->width();
        if (width > 0 && width <= 8)
            function = std::make_shared<ArgBest<CarriedBytes<8>, Key, is_min>>(std::move(signature), carried);
        else if (width == 16)
            function =
                std::make_shared<ArgBest<CarriedBytes<16>, Key, is_min>>(std::move(signature), carried);
        else if (carried->kind() == TypeKind::String)
            function = std::make_shared<ArgBest<CarriedSingle<StringSingle>, Key, is_min>>(
                std::move(signature), carried);
        else
            function = std::make_shared<ArgBest<CarriedSingle<AnySingle>, Key, is_min>>(std::move(signature),
                                                                                        carried);
    });
    return function;
}

}  // namespace

std::span<const AggregateInfo> argExtremesAggregates() {
    static const AggregateInfo kInfos[] = {
        {.name = "argMin",
         .create = createArgBest<true>,
         .syntax = "argMin(arg, val)",
         .description = "arg of the row with the smallest val.",
         .example = "SELECT argMin(number * 10, number) FROM numbers(4)",
         .example_result = "0"},
        {.name = "argMax",
         .create = createArgBest<false>,
         .syntax = "argMax(arg, val)",
         .description = "arg of the row with the largest val.",
         .example = "SELECT argMax(number * 10, number) FROM numbers(4)",
         .example_result = "30"},
    };
    return kInfos;
}

}  // namespace shardd::aggregates
