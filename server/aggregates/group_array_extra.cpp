#include <algorithm>
#include <cmath>

#include "common/columns/create_column.h"
#include "server/aggregates/compact_set.h"
#include "server/aggregates/elements.h"
#include "server/aggregates/numbers.h"
#include "server/aggregates/row_hash.h"
#include "server/aggregates/single_value.h"
#include "server/aggregates/sum_type.h"

namespace shardd::aggregates {

namespace {

// -- groupArraySorted -------------------------------------------------------------------------------

/// Which of two elements comes first in the answer.
template <typename Elements>
struct ElementLess {
    const Type* type;
    NumberOrder order{type->physical()};

    bool operator()(const typename Elements::Element& a, const typename Elements::Element& b) const {
        if constexpr (std::is_same_v<Elements, TextElements>) {
            return a.view() < b.view();
        } else if constexpr (std::is_same_v<Elements, FormElements>) {
            const MutableColumnPtr both = createColumn(*type);
            both->insertKey(a.data);
            both->insertKey(b.data);
            return both->compareAt(0, *both, 1, 1) < 0;
        } else {
            return order.less(a, b);
        }
    }
};

/// The `limit` smallest values, as a heap with the greatest on top.
template <typename Elements>
class GroupArraySorted final : public AggregateBase<GroupArraySorted<Elements>,
                                                    ArenaArray<typename Elements::Element>,
                                                    typename Elements::Input> {
public:
    using Element = typename Elements::Element;
    using State = ArenaArray<Element>;
    using Input = typename Elements::Input;
    using Base = AggregateBase<GroupArraySorted<Elements>, State, Input>;

    GroupArraySorted(Signature signature, TypePtr result, uint64_t limit)
        : Base(std::move(signature), std::move(result)),
          limit_(limit),
          less_{.type = this->argumentTypes()[0].get()} {}

    static constexpr bool kEmptyIsZero = true;

    void addRow(State& state, const Input& input, size_t row, Arena& arena) const {
        insert(state, Elements::load(input, row, arena), arena);
    }

    void mergeStates(State& state, const State& other, Arena& arena) const {
        for (const Element& element : other) insert(state, Elements::keep(element, arena), arena);
    }

    void write(const State& state, Writer& out) const {
        out.writeVarUInt(state.size);
        if constexpr (kRaw) {
            for (const Element& element : state) Elements::write(element, out);
        } else {
            const Type& type = *this->argumentTypes()[0];
            const MutableColumnPtr values = createColumn(type);
            Elements::append(state, type, *values);
            for (size_t i = 0; i < state.size; ++i) {
                out.writeByte(1);
                writeBinary(*values, i, out);
            }
        }
    }

    void read(State& state, Reader& in, Arena& arena) const {
        const size_t count = readCount(in, std::min<uint64_t>(kMaxElements, limit_), "array");
        const Type& type = *this->argumentTypes()[0];
        for (size_t i = 0; i < count; ++i) {
            if constexpr (kRaw) {
                insert(state, Elements::read(type, in, arena), arena);
            } else {
                if (!in.readByte())
                    throw Error(ErrorCode::INCORRECT_DATA, "NULL in a state of {}", this->name());
                const MutableColumnPtr one = createColumn(type);
                readBinary(type, *one, in);
                const Column* column = one.get();
                insert(state, Elements::load(Input(&column), 0, arena), arena);
            }
        }
    }

    void finish(State& state, Column& to, Arena&) const {
        auto& array = static_cast<ArrayColumn&>(to);
        const Type& type = *this->argumentTypes()[0];
        std::vector<Element> sorted(state.begin(), state.end());
        std::sort(sorted.begin(), sorted.end(), less_);
        Elements::append(ArenaArray<Element>{sorted.data(), state.size, state.size}, type,
                         array.mutableElements());
        array.endRow();
    }

private:
    /// Numbers travel bare; everything else behind a byte that says it is no NULL.
    static constexpr bool kRaw =
        !std::is_same_v<Elements, TextElements> && !std::is_same_v<Elements, FormElements>;

    void insert(State& state, const Element& element, Arena& arena) const {
        if (state.size < limit_) {
            state.push(element, arena);
            std::push_heap(state.begin(), state.end(), less_);
            return;
        }
        if (!less_(element, state[0])) return;
        state[0] = element;
        siftDown(state);
    }

    void siftDown(State& state) const {
        size_t at = 0;
        for (;;) {
            size_t child = 2 * at + 1;
            if (child >= state.size) return;
            if (child + 1 < state.size && less_(state[child], state[child + 1])) ++child;
            if (!less_(state[at], state[child])) return;
            std::swap(state[at], state[child]);
            at = child;
        }
    }

    uint64_t limit_;
    ElementLess<Elements> less_;
};

AggregateFunctionPtr createGroupArraySorted(Signature signature) {
    expectArguments(signature, 1);
    if (signature.parameters.size() != 1)
        throw Error(ErrorCode::BAD_ARGUMENTS,
                    "Parameter for aggregate function {} should have limit argument", signature.name);
    const uint64_t limit = positiveParameter(signature.parameters[0], signature.name);
    if (limit > kMaxElements)
        throw Error(ErrorCode::BAD_ARGUMENTS,
                    "Too large limit parameter for {} aggregate function, it should not exceed {}",
                    signature.name, kMaxElements);
    const TypePtr argument = signature.arguments[0];
    AggregateFunctionPtr function;
    dispatchElements(*argument, [&]<typename Elements>(Tag<Elements>) {
        function =
            std::make_shared<GroupArraySorted<Elements>>(std::move(signature), types::array(argument), limit);
    });
    return function;
}

// -- groupArrayInsertAt -----------------------------------------------------------------------------

struct InsertAtState {
    std::unique_ptr<Column> values;
    std::vector<uint8_t, CountedAllocator<uint8_t>> set;
};

/// An array whose element at the second argument is the first one; gaps hold the default.
class GroupArrayInsertAt final
    : public AggregateBase<GroupArrayInsertAt, std::unique_ptr<InsertAtState>, ColumnsInput> {
public:
    using State = std::unique_ptr<InsertAtState>;

    GroupArrayInsertAt(Signature signature, TypePtr result, Value filler, uint64_t length)
        : AggregateBase(std::move(signature), std::move(result)),
          filler_(std::move(filler)),
          length_(length) {}

    static constexpr bool kEmptyIsZero = true;

    void addRow(State& state, const ColumnsInput& input, size_t row, Arena&) const {
        const auto position = input.columns[1]->value(row).to<uint64_t>();
        if (length_ != 0 && position >= length_) return;
        if (position >= kMaxElements)
            throw Error(ErrorCode::TOO_LARGE_ARRAY_SIZE,
                        "Too large array size: position argument ({}) is greater or equals to limit ({})",
                        position, kMaxElements);
        put(state, position, *input.columns[0], row);
    }

    void mergeStates(State& state, const State& other, Arena&) const {
        if (!other) return;
        for (size_t i = 0; i < other->set.size(); ++i)
            if (other->set[i]) put(state, i, *other->values, valueIndex(*other, i));
        if (state && state->set.size() < other->set.size()) state->set.resize(other->set.size());
    }

    void write(const State& state, Writer& out) const {
        out.writeVarUInt(state ? state->set.size() : 0);
        if (!state) return;
        for (size_t i = 0; i < state->set.size(); ++i) {
            out.writeByte(state->set[i] ? 0 : 1);
            if (state->set[i]) writeBinary(*state->values, valueIndex(*state, i), out);
        }
    }

    void read(State& state, Reader& in, Arena&) const {
        const size_t count = readCount(in, kMaxElements, "array");
        const Type& type = *argumentTypes()[0];
        for (size_t i = 0; i < count; ++i) {
            if (in.readByte()) {
                if (!state) state = std::make_unique<InsertAtState>();
                state->set.push_back(0);
                continue;
            }
            const MutableColumnPtr one = createColumn(type);
            readBinary(type, *one, in);
            put(state, i, *one, 0);
        }
    }

    void finish(State& state, Column& to, Arena&) const {
        auto& array = static_cast<ArrayColumn&>(to);
        const size_t count = state ? state->set.size() : 0;
        size_t value = 0;
        for (size_t i = 0; i < std::max<size_t>(count, length_); ++i) {
            if (i < count && state->set[i])
                array.mutableElements().insertFrom(*state->values, value++);
            else
                array.mutableElements().insert(filler_);
        }
        array.endRow();
    }

private:
    /// Values lie in the order of their positions.
    static size_t valueIndex(const InsertAtState& state, size_t position) {
        return static_cast<size_t>(
            std::count(state.set.begin(), state.set.begin() + static_cast<ptrdiff_t>(position), 1));
    }

    void put(State& state, size_t position, const Column& column, size_t row) const {
        if (!state) state = std::make_unique<InsertAtState>();
        if (!state->values) state->values = column.cloneEmpty();
        if (position < state->set.size() && state->set[position]) return;
        const bool at_end = position >= state->set.size();
        if (at_end) state->set.resize(position + 1);
        const size_t index = at_end ? state->values->size() : valueIndex(*state, position);
        state->set[position] = 1;
        if (index == state->values->size()) {
            state->values->insertFrom(column, row);
            return;
        }
        std::unique_ptr<Column> shifted = state->values->cloneEmpty();
        shifted->insertRange(*state->values, 0, index);
        shifted->insertFrom(column, row);
        shifted->insertRange(*state->values, index, state->values->size() - index);
        state->values = std::move(shifted);
    }

    Value filler_;
    uint64_t length_;
};

AggregateFunctionPtr createGroupArrayInsertAt(Signature signature) {
    expectArguments(signature, 2);
    if (!signature.arguments[1]->isUnsigned() || signature.arguments[1]->width() > 8)
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    "Second argument of aggregate function {} must be unsigned integer.", signature.name);
    if (signature.parameters.size() > 2)
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Aggregate function {} requires at most two parameters.", signature.name);
    const TypePtr argument = signature.arguments[0];
    Value filler = signature.parameters.empty() ? defaultValue(*argument) : signature.parameters[0];
    uint64_t length = 0;
    if (signature.parameters.size() == 2) {
        length = positiveParameter(signature.parameters[1], signature.name);
        if (length > kMaxElements)
            throw Error(ErrorCode::TOO_LARGE_ARRAY_SIZE, "Too large array size: {}", length);
    }
    return std::make_shared<GroupArrayInsertAt>(std::move(signature), types::array(argument),
                                                std::move(filler), length);
}

// -- groupArrayMovingSum, groupArrayMovingAvg -------------------------------------------------------

/// Reads the number in `row` of a column as the type that sums of its type are of.
template <typename S>
using SummandReader = S (*)(const Column& column, size_t row);

template <typename T, typename S>
S summandAt(const Column& column, size_t row) {
    return convertNumber<S>(static_cast<const FixedColumn<T>&>(column).data()[row]);
}

/// Running sums of all values; the answer takes differences over the window, and divides them by it for an
/// average.
template <typename S>
class MovingSum final : public AggregateBase<MovingSum<S>, ArenaArray<S>, ColumnsInput> {
public:
    using State = ArenaArray<S>;
    using Base = AggregateBase<MovingSum<S>, State, ColumnsInput>;

    MovingSum(Signature signature, TypePtr result, SummandReader<S> reader, bool average, uint64_t window)
        : Base(std::move(signature), std::move(result)),
          reader_(reader),
          average_(average),
          window_(window) {}

    static constexpr bool kEmptyIsZero = true;

    void addRow(State& state, const ColumnsInput& input, size_t row, Arena& arena) const {
        const S value = reader_(*input.columns[0], row);
        state.push(state.size ? S(state[state.size - 1] + value) : value, arena);
    }

    void mergeStates(State& state, const State& other, Arena& arena) const {
        const S before = state.size ? state[state.size - 1] : S{};
        for (size_t i = 0, count = other.size; i < count; ++i) state.push(before + other[i], arena);
    }

    void write(const State& state, Writer& out) const {
        out.writeVarUInt(state.size);
        out.writeBytes(state.data, state.size * sizeof(S));
    }

    void read(State& state, Reader& in, Arena& arena) const {
        const size_t count = readCount(in, kMaxElements, "array");
        for (size_t i = 0; i < count; ++i) state.push(in.readFixed<S>(), arena);
    }

    void finish(State& state, Column& to, Arena&) const {
        auto& array = static_cast<ArrayColumn&>(to);
        const uint64_t window = window_ ? window_ : state.size;
        for (size_t i = 0; i < state.size; ++i) {
            const S sum = i >= window ? state[i] - state[i - window] : state[i];
            appendFixed(array.mutableElements(), average_ ? divided(sum, window) : sum);
        }
        array.endRow();
    }

private:
    static S divided(const S& sum, uint64_t window) {
        if constexpr (std::is_same_v<S, double>)
            return sum / static_cast<double>(window);
        else
            return S(sum / S(static_cast<int64_t>(window)));
    }

    SummandReader<S> reader_;
    bool average_;
    uint64_t window_;
};

AggregateFunctionPtr makeMovingSum(Signature signature, bool average) {
    expectArguments(signature, 1);
    if (signature.parameters.size() > 1)
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Incorrect number of parameters for aggregate function {}, should be 0 or 1",
                    signature.name);
    const uint64_t window =
        signature.parameters.empty() ? 0 : positiveParameter(signature.parameters[0], signature.name);
    const TypePtr argument = signature.arguments[0];
    if (!canBeSummed(*argument)) failArgumentType(signature);
    AggregateFunctionPtr function;
    dispatchSum(*argument, [&]<typename T, typename S>(Tag<T>, Tag<S>) {
        if (!average || argument->isDecimal()) {
            // Decimals are summed up in wide integers, and those are divided.
            function = std::make_shared<MovingSum<S>>(std::move(signature), types::array(sumType(*argument)),
                                                      summandAt<T, S>, average, window);
        } else {
            function = std::make_shared<MovingSum<double>>(
                std::move(signature), types::array(types::float64()), summandAt<T, double>, true, window);
        }
    });
    return function;
}

template <bool average>
AggregateFunctionPtr createMovingSum(Signature signature) {
    return makeMovingSum(std::move(signature), average);
}

// -- groupArrayIntersect ----------------------------------------------------------------------------

struct IntersectState {
    TextSet values;
    uint64_t rows = 0;
};

/// Elements that are in all of the arrays.
class GroupArrayIntersect final : public AggregateBase<GroupArrayIntersect, IntersectState, ColumnsInput> {
public:
    GroupArrayIntersect(Signature signature, TypePtr result)
        : AggregateBase(std::move(signature), std::move(result)), raw_(isNumberElement(*element())) {}

    static constexpr bool kEmptyIsZero = true;

    void addRow(IntersectState& state, const ColumnsInput& input, size_t row, Arena& arena) const {
        const auto& array = as<ArrayColumn>(*input.columns[0]);
        TextSet found;
        for (size_t i = array.startAt(row); i < array.ends()[row]; ++i) {
            Writer form;
            array.elements()->serializeKey(i, form);
            if (state.rows == 0 || state.values.contains(form.view())) found.insert(form.view(), arena);
        }
        state.values.swap(found);
        ++state.rows;
    }

    void mergeStates(IntersectState& state, const IntersectState& other, Arena& arena) const {
        if (other.rows == 0) return;
        TextSet found;
        other.values.forEach([&](std::string_view form) {
            if (state.rows == 0 || state.values.contains(form)) found.insert(form, arena);
        });
        state.values.swap(found);
        state.rows += other.rows;
    }

    void write(const IntersectState& state, Writer& out) const {
        out.writeVarUInt(state.rows);
        out.writeVarUInt(state.values.size());
        state.values.forEach([&](std::string_view form) {
            if (raw_)
                out.writeBytes(form);
            else
                out.writeString(form);
        });
    }

    void read(IntersectState& state, Reader& in, Arena& arena) const {
        state.rows = in.readVarUInt();
        const size_t count = readCount(in, kMaxElements, "set");
        for (size_t i = 0; i < count; ++i) {
            std::string form;
            if (raw_) {
                form.resize(element()->width());
                in.readBytes(form.data(), form.size());
            } else {
                form = in.readString();
                checkArenaForm(*element(), form);
            }
            state.values.insert(form, arena);
        }
    }

    void finish(IntersectState& state, Column& to, Arena&) const {
        auto& array = static_cast<ArrayColumn&>(to);
        std::vector<std::string_view> forms;
        state.values.forEach([&](std::string_view form) { forms.push_back(form); });
        std::ranges::sort(forms);
        for (std::string_view form : forms) array.mutableElements().insertKey(form.data());
        array.endRow();
    }

private:
    const TypePtr& element() const { return argumentTypes()[0]->child(); }

    bool raw_;
};

AggregateFunctionPtr createGroupArrayIntersect(Signature signature) {
    expectNoParameters(signature);
    expectArguments(signature, 1);
    const TypePtr argument = signature.arguments[0];
    if (argument->kind() != TypeKind::Array)
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    "Aggregate function {} accepts only array type argument.", signature.name);
    return std::make_shared<GroupArrayIntersect>(std::move(signature), argument);
}

}  // namespace

std::span<const AggregateInfo> groupArrayExtraAggregates() {
    static const AggregateInfo kInfos[] = {
        {.name = "groupArraySorted",
         .create = createGroupArraySorted,
         .syntax = "groupArraySorted(N)(x)",
         .description = "Array of the N smallest values in ascending order.",
         .example = "SELECT groupArraySorted(2)(3 - number) FROM numbers(3)",
         .example_result = "[1,2]"},
        {.name = "groupArrayInsertAt",
         .create = createGroupArrayInsertAt,
         .syntax = "groupArrayInsertAt[(default[, size])](x, position)",
         .description = "Array with x at its position.",
         .example = "SELECT groupArrayInsertAt(number, 2 - number) FROM numbers(3)",
         .example_result = "[2,1,0]"},
        {.name = "groupArrayMovingSum",
         .create = createMovingSum<false>,
         .syntax = "groupArrayMovingSum[(window)](x)",
         .description = "Array of the sums over the last `window` values.",
         .example = "SELECT groupArrayMovingSum(2)(number) FROM numbers(4)",
         .example_result = "[0,1,3,5]"},
        {.name = "groupArrayMovingAvg",
         .create = createMovingSum<true>,
         .syntax = "groupArrayMovingAvg[(window)](x)",
         .description = "Array of the sums over the last `window` values, divided by the window.",
         .example = "SELECT groupArrayMovingAvg(2)(number) FROM numbers(4)",
         .example_result = "[0,0.5,1.5,2.5]"},
        {.name = "groupArrayIntersect",
         .create = createGroupArrayIntersect,
         .syntax = "groupArrayIntersect(array)",
         .description = "Elements that are in every array.",
         .example = "SELECT groupArrayIntersect([number, 1]) FROM numbers(3)",
         .example_result = "[1]"},
    };
    return kInfos;
}

}  // namespace shardd::aggregates
