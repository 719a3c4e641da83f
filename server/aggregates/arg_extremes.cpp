#include "server/aggregates/single_value.h"

namespace shardd::aggregates {

namespace {

/// The carried argument of constant width up to 16 bytes, of which only the bytes matter. Shorter ones leave
/// the last word out.
struct CarriedBytes {
    uint64_t is_set;
    uint64_t words[2];
};

/// Keeps the carried argument behind the key, in a layout told at run time so that only keys multiply what is
/// compiled: bytes, a String, or a column of one row. All zeros is none.
class Carrier {
public:
    explicit Carrier(TypePtr type) : type_(std::move(type)), width_(0), layout_(Layout::Any) {
        const size_t width = type_->physical() == Physical::None ? 0 : type_->width();
        if (width > 0 && width <= 16) {
            layout_ = Layout::Bytes;
            width_ = width;
        } else if (type_->kind() == TypeKind::String) {
            layout_ = Layout::String;
        }
    }

    struct Input {
        const Column* const* argument;
        const char* bytes;  // of constant width only
    };

    Input inputOf(const Column* const* arguments) const {
        return {arguments, layout_ == Layout::Bytes ? fixedBytes(*arguments[0]) : nullptr};
    }

    size_t size() const {
        if (layout_ == Layout::Bytes)
            return width_ <= 8 ? offsetof(CarriedBytes, words) + 8 : sizeof(CarriedBytes);
        return layout_ == Layout::String ? sizeof(StringSingle) : sizeof(AnySingle);
    }

    bool trivialDestroy() const { return layout_ != Layout::Any; }

    void destroy(char* place) const noexcept {
        if (layout_ == Layout::Any) at<AnySingle>(place).~AnySingle();
    }

    void set(char* place, const Input& input, size_t row, Arena& arena) const {
        if (layout_ != Layout::Bytes) {
            setOther(place, input.argument, row, arena);
            return;
        }
        auto& carried = at<CarriedBytes>(place);
        carried.is_set = 1;
        const char* const bytes = input.bytes + row * width_;
        if (width_ == 8)
            std::memcpy(carried.words, bytes, 8);
        else if (width_ == 4)
            std::memcpy(carried.words, bytes, 4);
        else
            std::memcpy(carried.words, bytes, width_);
    }

    void merge(char* place, const char* other, Arena& arena) const;
    void write(const char* place, Writer& out) const;
    void read(char* place, Reader& in, Arena& arena) const;
    void append(const char* place, Column& to) const;

private:
    enum class Layout { Bytes, String, Any };

    template <typename Carried>
    static Carried& at(char* place) {
        return *std::launder(reinterpret_cast<Carried*>(place));
    }

    template <typename Carried>
    static const Carried& at(const char* place) {
        return *std::launder(reinterpret_cast<const Carried*>(place));
    }

    void setOther(char* place, const Column* const* argument, size_t row, Arena& arena) const;

    TypePtr type_;
    size_t width_;
    Layout layout_;
};

void Carrier::setOther(char* place, const Column* const* argument, size_t row, Arena& arena) const {
    if (layout_ == Layout::String)
        at<StringSingle>(place).set(StringSingle::Input<0>(argument), row, arena);
    else
        at<AnySingle>(place).set(AnySingle::Input<0>(argument), row, arena);
}

void Carrier::merge(char* place, const char* other, Arena& arena) const {
    if (layout_ == Layout::Bytes)
        std::memcpy(place, other, size());
    else if (layout_ == Layout::String)
        at<StringSingle>(place).set(at<StringSingle>(other), arena);
    else
        at<AnySingle>(place).set(at<AnySingle>(other), arena);
}

void Carrier::write(const char* place, Writer& out) const {
    if (layout_ == Layout::String) {
        at<StringSingle>(place).write(out);
    } else if (layout_ == Layout::Any) {
        at<AnySingle>(place).write(out);
    } else {
        const auto& carried = at<CarriedBytes>(place);
        out.writeByte(carried.is_set != 0);
        if (carried.is_set) out.writeBytes(carried.words, width_);
    }
}

void Carrier::read(char* place, Reader& in, Arena& arena) const {
    if (layout_ == Layout::String) {
        at<StringSingle>(place).read(*type_, in, arena);
    } else if (layout_ == Layout::Any) {
        at<AnySingle>(place).read(*type_, in, arena);
    } else {
        auto& carried = at<CarriedBytes>(place);
        carried.is_set = in.readByte() != 0;
        if (carried.is_set) in.readBytes(carried.words, width_);
    }
}

void Carrier::append(const char* place, Column& to) const {
    if (layout_ == Layout::String)
        appendOrDefault(at<StringSingle>(place), *type_, to);
    else if (layout_ == Layout::Any)
        appendOrDefault(at<AnySingle>(place), *type_, to);
    else if (at<CarriedBytes>(place).is_set)
        to.insertKey(reinterpret_cast<const char*>(at<CarriedBytes>(place).words));
    else
        insertDefaults(*type_, to, 1);
}

template <typename Key>
struct ArgInput {
    Carrier::Input carried;
    typename Key::template Input<1> key;
};

/// The first argument of the row whose second one is smallest (largest); of equal ones the first met.
template <typename Key>
class ArgBest final : public QuickAggregate<ArgBest<Key>, Key, ArgInput<Key>> {
public:
    using Base = QuickAggregate<ArgBest<Key>, Key, ArgInput<Key>>;

    ArgBest(Signature signature, const TypePtr& result, bool is_min)
        : Base(std::move(signature), result), carrier_(result), is_min_(is_min) {}

    static constexpr bool kEmptyIsZero = true;

    size_t stateSize() const override { return kCarried + carrier_.size(); }

    size_t stateAlignment() const override { return 8; }

    bool trivialDestroy() const override {
        return std::is_trivially_destructible_v<Key> && carrier_.trivialDestroy();
    }

    void create(char* place) const override {
        std::memset(place, 0, stateSize());
        new (place) Key();
    }

    void destroy(char* place) const noexcept override {
        carrier_.destroy(place + kCarried);
        Base::at(place).~Key();
    }

    ArgInput<Key> inputOf(const Column* const* arguments) const {
        return {carrier_.inputOf(arguments), typename Key::template Input<1>(arguments)};
    }

    void addRow(Key& key, const ArgInput<Key>& input, size_t row, Arena& arena) const {
        if (key.has() && !(is_min_ ? key.less(input.key, row) : key.greater(input.key, row))) return;
        key.set(input.key, row, arena);
        carrier_.set(carriedOf(key), input.carried, row, arena);
    }

    void mergeStates(Key& key, const Key& other, Arena& arena) const {
        if (!other.has()) return;
        if (key.has() && !(is_min_ ? key.less(other) : key.greater(other))) return;
        key.set(other, arena);
        carrier_.merge(carriedOf(key), carriedOf(other), arena);
    }

    void write(const Key& key, Writer& out) const {
        carrier_.write(carriedOf(key), out);
        key.write(out);
    }

    void read(Key& key, Reader& in, Arena& arena) const {
        carrier_.read(carriedOf(key), in, arena);
        key.read(*this->argumentTypes()[1], in, arena);
    }

    void finish(Key& key, Column& to, Arena&) const { carrier_.append(carriedOf(key), to); }

private:
    static constexpr size_t kCarried = (sizeof(Key) + 7) / 8 * 8;
    static_assert(alignof(Key) <= 8);

    static char* carriedOf(Key& key) { return reinterpret_cast<char*>(&key) + kCarried; }

    static const char* carriedOf(const Key& key) { return reinterpret_cast<const char*>(&key) + kCarried; }

    Carrier carrier_;
    bool is_min_;
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

AggregateFunctionPtr makeArgBest(Signature signature, bool is_min) {
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
        function = std::make_shared<ArgBest<Key>>(std::move(signature), carried, is_min);
    });
    return function;
}

template <bool is_min>
AggregateFunctionPtr createArgBest(Signature signature) {
    return makeArgBest(std::move(signature), is_min);
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
