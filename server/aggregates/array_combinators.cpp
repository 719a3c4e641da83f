#include <algorithm>
#include <memory>
#include <unordered_map>

#include "common/columns/array_column.h"
#include "common/columns/create_column.h"
#include "common/columns/tuple_column.h"
#include "server/aggregates/binary_form.h"
#include "server/aggregates/combinators.h"
#include "server/aggregates/wrapper.h"

namespace shardd::aggregates {

namespace {

constexpr size_t kMaxArguments = 32;

/// The elements of Array arguments, whose rows must be equally long.
class ArrayArguments {
public:
    ArrayArguments(const Column* const* arguments, size_t count, const std::string& name)
        : count_(count), name_(name) {
        for (size_t i = 0; i < count; ++i) {
            if (arguments[i]->kind() != ColumnKind::Array) failColumnCast(*arguments[i], "ArrayColumn");
            arrays_[i] = static_cast<const ArrayColumn*>(arguments[i]);
            elements_[i] = arrays_[i]->elements().get();
        }
    }

    const Column* const* elements() const { return elements_; }

    size_t start(size_t row) const { return arrays_[0]->startAt(row); }

    /// Length of the row's arrays.
    size_t length(size_t row) const {
        const size_t length = arrays_[0]->lengthAt(row);
        for (size_t i = 1; i < count_; ++i)
            if (arrays_[i]->lengthAt(row) != length || arrays_[i]->startAt(row) != start(row))
                throw Error(ErrorCode::SIZES_OF_ARRAYS_DONT_MATCH,
                            "All arrays passed to aggregate function {} must have equal sizes", name_);
        return length;
    }

private:
    size_t count_;
    const std::string& name_;
    const ArrayColumn* arrays_[kMaxArguments];
    const Column* elements_[kMaxArguments];
};

std::vector<TypePtr> elementTypes(const Signature& signature, std::string_view suffix) {
    if (signature.arguments.empty() || signature.arguments.size() > kMaxArguments)
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "-{} aggregate functions require at least one argument", suffix);
    std::vector<TypePtr> elements;
    for (const TypePtr& type : signature.arguments) {
        if (type->kind() != TypeKind::Array)
            throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                        "Illegal type {} of argument for aggregate function with {} suffix. Must be array.",
                        type->name(), suffix);
        elements.push_back(type->child());
    }
    return elements;
}

// -- Array ------------------------------------------------------------------------------------------

/// Every element of the arrays is a row.
class Array final : public Wrapper {
public:
    Array(Signature signature, AggregateFunctionPtr nested)
        : Wrapper(std::move(signature), nested->resultType(), nested) {}

    void add(char* place, const Column* const* arguments, size_t row, Arena& arena) const override {
        const ArrayArguments arrays(arguments, argumentTypes().size(), name());
        nested().addBatchSingle(arrays.elements(), place, arrays.start(row), arrays.length(row), arena);
    }

    void addBatch(const Column* const* arguments,
                  char* const* places,
                  size_t offset,
                  size_t from,
                  size_t rows,
                  Arena& arena) const override {
        const ArrayArguments arrays(arguments, argumentTypes().size(), name());
        for (size_t i = 0; i < rows; ++i)
            if (places[i])
                nested().addBatchSingle(arrays.elements(), places[i] + offset, arrays.start(from + i),
                                        arrays.length(from + i), arena);
    }

    void addBatchSingle(
        const Column* const* arguments, char* place, size_t from, size_t rows, Arena& arena) const override {
        const ArrayArguments arrays(arguments, argumentTypes().size(), name());
        size_t elements = 0;
        for (size_t row = from; row < from + rows; ++row) elements += arrays.length(row);
        if (elements > 0)
            nested().addBatchSingle(arrays.elements(), place, arrays.start(from), elements, arena);
    }

    void insertResultBatch(
        char* const* places, size_t offset, size_t rows, Column& to, Arena& arena) const override {
        nested().insertResultBatch(places, offset, rows, to, arena);
    }
};

// -- ForEach ----------------------------------------------------------------------------------------

/// `count` nested states side by side in the arena.
struct StateArray {
    uint64_t count = 0;
    uint64_t capacity = 0;
    char* states = nullptr;
};

/// Element i of every array goes to state i.
class ForEach final : public Wrapper {
public:
    ForEach(Signature signature, AggregateFunctionPtr nested)
        : Wrapper(std::move(signature), types::array(nested->resultType()), nested),
          each_(nested->stateSize()) {}

    size_t stateSize() const override { return sizeof(StateArray); }

    size_t stateAlignment() const override { return alignof(StateArray); }

    bool emptyIsZero() const override { return true; }

    void create(char* place) const override { new (place) StateArray(); }

    void destroy(char* place) const noexcept override {
        const StateArray& array = at(place);
        for (size_t i = 0; i < array.count; ++i) nested().destroy(array.states + i * each_);
    }

    void add(char* place, const Column* const* arguments, size_t row, Arena& arena) const override {
        const ArrayArguments arrays(arguments, argumentTypes().size(), name());
        const size_t length = arrays.length(row);
        StateArray& array = at(place);
        extend(array, length, arena);
        for (size_t i = 0; i < length; ++i)
            nested().add(array.states + i * each_, arrays.elements(), arrays.start(row) + i, arena);
    }

    void merge(char* place, const char* other, Arena& arena) const override {
        StateArray& array = at(place);
        const StateArray& theirs = at(const_cast<char*>(other));
        extend(array, theirs.count, arena);
        for (size_t i = 0; i < theirs.count; ++i)
            nested().merge(array.states + i * each_, theirs.states + i * each_, arena);
    }

    void serialize(const char* place, Writer& out) const override {
        const StateArray& array = at(const_cast<char*>(place));
        out.writeFixed(array.count);
        for (size_t i = 0; i < array.count; ++i) nested().serialize(array.states + i * each_, out);
    }

    void deserialize(char* place, Reader& in, Arena& arena) const override {
        const auto count = in.readFixed<uint64_t>();
        if (count > kMaxElements)
            throw Error(ErrorCode::TOO_LARGE_ARRAY_SIZE, "Too large array size: {} (maximum: {})", count,
                        kMaxElements);
        StateArray& array = at(place);
        for (size_t i = 0; i < count; ++i) {
            extend(array, i + 1, arena);
            nested().deserialize(array.states + i * each_, in, arena);
        }
    }

    void insertResult(char* place, Column& to, Arena& arena) const override {
        auto& result = static_cast<ArrayColumn&>(to);
        const StateArray& array = at(place);
        for (size_t i = 0; i < array.count; ++i)
            nested().insertResult(array.states + i * each_, result.mutableElements(), arena);
        result.endRow();
    }

private:
    static StateArray& at(char* place) { return *std::launder(reinterpret_cast<StateArray*>(place)); }

    /// At least `count` states; those there are move by memcpy, as every state may.
    void extend(StateArray& array, size_t count, Arena& arena) const {
        if (count <= array.count) return;
        if (count > array.capacity) {
            const size_t capacity = std::max(count, array.capacity * 2);
            char* states = arena.allocateAligned(capacity * each_, nested().stateAlignment());
            if (array.count > 0) std::memcpy(states, array.states, array.count * each_);
            array.states = states;
            array.capacity = capacity;
        }
        for (; array.count < count; ++array.count) nested().create(array.states + array.count * each_);
    }

    size_t each_;
};

// -- Map --------------------------------------------------------------------------------------------

/// Nested states by key.
struct StateMap {
    MutableColumnPtr keys;
    std::vector<char*, CountedAllocator<char*>> states;
    std::unordered_map<std::string,
                       size_t,
                       std::hash<std::string>,
                       std::equal_to<>,
                       CountedAllocator<std::pair<const std::string, size_t>>>
        index;
};

class Map final : public Wrapper {
public:
    Map(Signature signature, TypePtr key, AggregateFunctionPtr nested)
        : Wrapper(std::move(signature), types::map(key, nested->resultType()), nested), key_type_(key) {}

    size_t stateSize() const override { return sizeof(StateMap*); }

    size_t stateAlignment() const override { return alignof(StateMap*); }

    bool emptyIsZero() const override { return true; }

    bool trivialDestroy() const override { return false; }

    void create(char* place) const override { new (place) std::unique_ptr<StateMap>(); }

    void destroy(char* place) const noexcept override {
        if (at(place))
            for (char* state : at(place)->states) nested().destroy(state);
        at(place).~unique_ptr();
    }

    void add(char* place, const Column* const* arguments, size_t row, Arena& arena) const override {
        const auto& array = as<ArrayColumn>(*arguments[0]);
        const auto& pairs = as<TupleColumn>(*array.elements());
        const Column* values = pairs.element(1).get();
        for (size_t i = array.startAt(row); i < array.ends()[row]; ++i)
            nested().add(stateOf(place, *pairs.element(0), i, arena), &values, i, arena);
    }

    void merge(char* place, const char* other, Arena& arena) const override {
        const StateMap* theirs = at(const_cast<char*>(other)).get();
        if (!theirs) return;
        for (size_t i = 0; i < theirs->states.size(); ++i)
            nested().merge(stateOf(place, *theirs->keys, i, arena), theirs->states[i], arena);
    }

    void serialize(const char* place, Writer& out) const override {
        const StateMap* map = at(const_cast<char*>(place)).get();
        out.writeVarUInt(map ? map->states.size() : 0);
        for (size_t i : sorted(map)) {
            writeBinary(*map->keys, i, out);
            nested().serialize(map->states[i], out);
        }
    }

    void deserialize(char* place, Reader& in, Arena& arena) const override {
        const size_t count = readCount(in, kMaxElements, "map");
        for (size_t i = 0; i < count; ++i) {
            const MutableColumnPtr key = createColumn(*key_type_);
            readBinary(*key_type_, *key, in);
            const size_t before = at(place) ? at(place)->states.size() : 0;
            char* state = stateOf(place, *key, 0, arena);
            if (at(place)->states.size() == before)
                throw Error(ErrorCode::INCORRECT_DATA,
                            "A key comes twice in a state of aggregate function {}", name());
            nested().deserialize(state, in, arena);
        }
    }

    void insertResult(char* place, Column& to, Arena& arena) const override {
        auto& array = static_cast<ArrayColumn&>(to);
        const StateMap* map = at(place).get();
        auto& pairs = static_cast<TupleColumn&>(array.mutableElements());
        for (size_t i : sorted(map)) {
            pairs.mutableElement(0).insertFrom(*map->keys, i);
            nested().insertResult(map->states[i], pairs.mutableElement(1), arena);
            pairs.endRow();
        }
        array.endRow();
    }

private:
    static std::unique_ptr<StateMap>& at(char* place) {
        return *std::launder(reinterpret_cast<std::unique_ptr<StateMap>*>(place));
    }

    char* stateOf(char* place, const Column& keys, size_t row, Arena& arena) const {
        std::unique_ptr<StateMap>& map = at(place);
        if (!map) {
            map = std::make_unique<StateMap>();
            map->keys = keys.cloneEmpty();
        }
        Writer form;
        keys.serializeKey(row, form);
        const auto [found, inserted] = map->index.try_emplace(std::string(form.view()), map->states.size());
        if (!inserted) return map->states[found->second];
        map->keys->insertFrom(keys, row);
        char* state = arena.allocateAligned(nested().stateSize(), nested().stateAlignment());
        nested().create(state);
        map->states.push_back(state);
        return state;
    }

    static std::vector<size_t> sorted(const StateMap* map) {
        std::vector<size_t> order(map ? map->states.size() : 0);
        for (size_t i = 0; i < order.size(); ++i) order[i] = i;
        std::ranges::sort(order,
                          [&](size_t a, size_t b) { return map->keys->compareAt(a, *map->keys, b, 1) < 0; });
        return order;
    }

    TypePtr key_type_;
};

// -- Tuple ------------------------------------------------------------------------------------------

/// Each element of the tuple by a function of its own.
class Tuple final : public NamedAggregate {
public:
    Tuple(Signature signature, TypePtr result, std::vector<AggregateFunctionPtr> nested)
        : NamedAggregate(std::move(signature), std::move(result)), nested_(std::move(nested)) {
        for (const AggregateFunctionPtr& function : nested_) {
            const size_t alignment = function->stateAlignment();
            size_ = (size_ + alignment - 1) / alignment * alignment;
            offsets_.push_back(size_);
            size_ += function->stateSize();
            alignment_ = std::max(alignment_, alignment);
        }
        size_ = (size_ + alignment_ - 1) / alignment_ * alignment_;
    }

    size_t stateSize() const override { return size_; }

    size_t stateAlignment() const override { return alignment_; }

    bool emptyIsZero() const override {
        return std::ranges::all_of(
            nested_, [](const AggregateFunctionPtr& function) { return function->emptyIsZero(); });
    }

    bool trivialDestroy() const override {
        return std::ranges::all_of(
            nested_, [](const AggregateFunctionPtr& function) { return function->trivialDestroy(); });
    }

    void create(char* place) const override {
        for (size_t i = 0; i < nested_.size(); ++i) nested_[i]->create(place + offsets_[i]);
    }

    void destroy(char* place) const noexcept override {
        for (size_t i = 0; i < nested_.size(); ++i) nested_[i]->destroy(place + offsets_[i]);
    }

    void add(char* place, const Column* const* arguments, size_t row, Arena& arena) const override {
        for (size_t i = 0; i < nested_.size(); ++i) {
            const Column* element = elementOf(arguments, i);
            nested_[i]->add(place + offsets_[i], &element, row, arena);
        }
    }

    void addBatch(const Column* const* arguments,
                  char* const* places,
                  size_t offset,
                  size_t from,
                  size_t rows,
                  Arena& arena) const override {
        for (size_t i = 0; i < nested_.size(); ++i) {
            const Column* element = elementOf(arguments, i);
            nested_[i]->addBatch(&element, places, offset + offsets_[i], from, rows, arena);
        }
    }

    void addBatchSingle(
        const Column* const* arguments, char* place, size_t from, size_t rows, Arena& arena) const override {
        for (size_t i = 0; i < nested_.size(); ++i) {
            const Column* element = elementOf(arguments, i);
            nested_[i]->addBatchSingle(&element, place + offsets_[i], from, rows, arena);
        }
    }

    void addBatchSingleIf(const Column* const* arguments,
                          char* place,
                          size_t from,
                          size_t rows,
                          const uint8_t* mask,
                          Arena& arena) const override {
        for (size_t i = 0; i < nested_.size(); ++i) {
            const Column* element = elementOf(arguments, i);
            nested_[i]->addBatchSingleIf(&element, place + offsets_[i], from, rows, mask, arena);
        }
    }

    void merge(char* place, const char* other, Arena& arena) const override {
        for (size_t i = 0; i < nested_.size(); ++i)
            nested_[i]->merge(place + offsets_[i], other + offsets_[i], arena);
    }

    void serialize(const char* place, Writer& out) const override {
        for (size_t i = 0; i < nested_.size(); ++i) nested_[i]->serialize(place + offsets_[i], out);
    }

    void deserialize(char* place, Reader& in, Arena& arena) const override {
        for (size_t i = 0; i < nested_.size(); ++i) nested_[i]->deserialize(place + offsets_[i], in, arena);
    }

    void insertResult(char* place, Column& to, Arena& arena) const override {
        auto& tuple = static_cast<TupleColumn&>(to);
        for (size_t i = 0; i < nested_.size(); ++i)
            nested_[i]->insertResult(place + offsets_[i], tuple.mutableElement(i), arena);
        tuple.endRow();
    }

private:
    static const Column* elementOf(const Column* const* arguments, size_t i) {
        return as<TupleColumn>(*arguments[0]).element(i).get();
    }

    std::vector<AggregateFunctionPtr> nested_;
    std::vector<size_t> offsets_;
    size_t size_ = 0;
    size_t alignment_ = 1;
};

}  // namespace

AggregateFunctionPtr createArray(Signature signature,
                                 const std::string& nested_name,
                                 NestedResolver resolve) {
    AggregateFunctionPtr nested =
        resolve(nested_name, signature.parameters, elementTypes(signature, "Array"));
    return std::make_shared<Array>(std::move(signature), std::move(nested));
}

AggregateFunctionPtr createForEach(Signature signature,
                                   const std::string& nested_name,
                                   NestedResolver resolve) {
    AggregateFunctionPtr nested =
        resolve(nested_name, signature.parameters, elementTypes(signature, "ForEach"));
    return std::make_shared<ForEach>(std::move(signature), std::move(nested));
}

AggregateFunctionPtr createMap(Signature signature, const std::string& nested_name, NestedResolver resolve) {
    if (signature.arguments.size() != 1)
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Incorrect number of arguments for aggregate function with Map suffix");
    const TypePtr argument = signature.arguments[0];
    if (argument->kind() != TypeKind::Map)
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, "Aggregate function {} requires map as argument",
                    signature.name);
    AggregateFunctionPtr nested = resolve(nested_name, signature.parameters, {argument->child(1)});
    return std::make_shared<Map>(std::move(signature), argument->child(0), std::move(nested));
}

AggregateFunctionPtr createTuple(Signature signature,
                                 const std::string& nested_name,
                                 NestedResolver resolve) {
    expectArguments(signature, 1);
    const TypePtr argument = signature.arguments[0];
    if (argument->kind() != TypeKind::Tuple || argument->children().empty())
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    "Illegal type {} of argument for aggregate function with Tuple suffix. Must be tuple.",
                    argument->name());
    std::vector<AggregateFunctionPtr> nested;
    std::vector<TypePtr> results;
    for (const TypePtr& element : argument->children()) {
        nested.push_back(resolve(nested_name, signature.parameters, {element}));
        results.push_back(nested.back()->resultType());
    }
    TypePtr result = types::tuple(std::move(results), argument->elementNames());
    return std::make_shared<Tuple>(std::move(signature), std::move(result), std::move(nested));
}

}  // namespace shardd::aggregates
