#include <algorithm>
#include <memory>
#include <unordered_map>

#include "common/columns/array_column.h"
#include "common/columns/create_column.h"
#include "common/columns/tuple_column.h"
#include "server/aggregates/binary_form.h"
#include "server/aggregates/combinators.h"
#include "server/aggregates/numbers.h"
#include "server/aggregates/sum_type.h"
#include "server/aggregates/wrapper.h"

namespace shardd::aggregates {

namespace {

enum class Fold { Sum, Min, Max };

/// The type in which a value travels: docs/aggregates.md, "sumMap".
TypePtr promoted(const TypePtr& type) {
    if (type->isNullable()) return types::nullable(promoted(type->child()));
    if (type->isNumber()) return sumType(*type);
    return type;
}

/// A value as its promoted type holds it.
Value promote(const Value& value, const Type& type) {
    switch (type.kind()) {
        case TypeKind::UInt64:
            return Value(value.to<uint64_t>());
        case TypeKind::Int64:
            return Value(value.to<int64_t>());
        case TypeKind::Float64:
            return Value(value.to<double>());
        case TypeKind::UInt128:
            return Value(value.to<UInt128>());
        case TypeKind::Int128:
        case TypeKind::Decimal128:
            return Value(value.to<Int128>());
        case TypeKind::UInt256:
            return Value(value.to<UInt256>());
        case TypeKind::Int256:
        case TypeKind::Decimal256:
            return Value(value.to<Int256>());
        default:
            return value;
    }
}

template <typename Operation>
void onNumbers(Value& into, const Value& other, Operation&& operation) {
    std::visit(
        [&](const auto& a) {
            using T = std::decay_t<decltype(a)>;
            if constexpr (std::is_same_v<T, uint64_t> || std::is_same_v<T, int64_t> ||
                          std::is_same_v<T, UInt128> || std::is_same_v<T, Int128> ||
                          std::is_same_v<T, UInt256> || std::is_same_v<T, Int256> ||
                          std::is_same_v<T, double>) {
                T sum = a;
                operation(sum, other.get<T>());
                into = Value(sum);
            }
        },
        into.storage());
}

bool isZero(const Value& value) {
    return std::visit(
        [](const auto& a) {
            using T = std::decay_t<decltype(a)>;
            if constexpr (std::is_same_v<T, std::monostate>)
                return true;
            else if constexpr (std::is_same_v<T, std::string>)
                return a.empty();
            else if constexpr (std::is_same_v<T, ArrayValue> || std::is_same_v<T, TupleValue>)
                return a.elements.empty();
            else
                return a == T{};
        },
        value.storage());
}

/// What is kept a key: one value a column of values.
struct MapEntries {
    MutableColumnPtr keys;
    std::vector<std::vector<Value>> values;
    std::unordered_map<std::string,
                       size_t,
                       std::hash<std::string>,
                       std::equal_to<>,
                       CountedAllocator<std::pair<const std::string, size_t>>>
        index;
};

struct MapInput {
    const Column* const* arguments;

    explicit MapInput(const Column* const* columns) : arguments(columns) {}
};

struct MapSpec {
    TypePtr key;
    std::vector<TypePtr> values;
    bool from_tuple = false;
    /// Keys that stay, in arena form; nothing filters when there is no list.
    std::unique_ptr<std::vector<std::string>> filter;
};

/// Folds arrays of values by the keys beside them.
class MapFold final : public AggregateBase<MapFold, std::unique_ptr<MapEntries>, MapInput> {
public:
    using State = std::unique_ptr<MapEntries>;

    MapFold(Signature signature, TypePtr result, Fold fold, MapSpec spec)
        : AggregateBase(std::move(signature), std::move(result)), fold_(fold), spec_(std::move(spec)) {
        for (const TypePtr& type : spec_.values) promoted_.push_back(promoted(type));
    }

    static constexpr bool kEmptyIsZero = true;

    size_t stateVersion() const override { return 1; }

    void addRow(State& state, const MapInput& input, size_t row, Arena&) const {
        const ArrayColumn& keys = argument(input, 0);
        const size_t length = keys.lengthAt(row);
        for (size_t j = 0; j < spec_.values.size(); ++j)
            if (argument(input, j + 1).lengthAt(row) != length)
                throw Error(ErrorCode::BAD_ARGUMENTS, "Sizes of keys and values arrays do not match");
        for (size_t i = 0; i < length; ++i) {
            std::vector<Value>* entry = entryOf(state, *keys.elements(), keys.startAt(row) + i);
            if (!entry) continue;
            for (size_t j = 0; j < spec_.values.size(); ++j) {
                const ArrayColumn& values = argument(input, j + 1);
                const Value value = values.elements()->value(values.startAt(row) + i);
                if (!value.isNull()) foldInto((*entry)[j], promote(value, *removeNullable(promoted_[j])), j);
            }
        }
    }

    void mergeStates(State& state, const State& other, Arena&) const {
        if (!other) return;
        for (size_t i = 0; i < other->values.size(); ++i) {
            std::vector<Value>* entry = entryOf(state, *other->keys, i);
            if (!entry) continue;
            for (size_t j = 0; j < spec_.values.size(); ++j)
                if (!other->values[i][j].isNull()) foldInto((*entry)[j], other->values[i][j], j);
        }
    }

    void write(const State& state, Writer& out) const {
        const std::vector<size_t> order = sorted(state.get());
        out.writeVarUInt(order.size());
        for (size_t i : order) {
            writeBinary(*state->keys, i, out);
            for (size_t j = 0; j < promoted_.size(); ++j) {
                const MutableColumnPtr column = createColumn(*promoted_[j]);
                if (state->values[i][j].isNull())
                    column->insertDefault(1);
                else
                    column->insert(state->values[i][j]);
                writeBinary(*column, 0, out);
            }
        }
    }

    void read(State& state, Reader& in, Arena&) const {
        const size_t count = readCount(in, kMaxElements, "map");
        for (size_t i = 0; i < count; ++i) {
            const MutableColumnPtr key = createColumn(*spec_.key);
            readBinary(*spec_.key, *key, in);
            std::vector<Value>* entry = entryOf(state, *key, 0);
            for (size_t j = 0; j < promoted_.size(); ++j) {
                const Value value = readBinaryValue(*promoted_[j], in);
                if (entry && !value.isNull())
                    foldInto((*entry)[j], promote(value, *removeNullable(promoted_[j])), j);
            }
        }
    }

    void finish(State& state, Column& to, Arena&) const {
        auto& tuple = static_cast<TupleColumn&>(to);
        auto& keys = static_cast<ArrayColumn&>(tuple.mutableElement(0));
        for (size_t i : sorted(state.get())) {
            if (fold_ == Fold::Sum && std::ranges::all_of(state->values[i], isZero)) continue;
            keys.mutableElements().insertFrom(*state->keys, i);
            for (size_t j = 0; j < spec_.values.size(); ++j) {
                Column& values = static_cast<ArrayColumn&>(tuple.mutableElement(j + 1)).mutableElements();
                if (state->values[i][j].isNull())
                    values.insertDefault(1);
                else
                    values.insert(state->values[i][j]);
            }
        }
        keys.endRow();
        for (size_t j = 0; j < spec_.values.size(); ++j)
            static_cast<ArrayColumn&>(tuple.mutableElement(j + 1)).endRow();
        tuple.endRow();
    }

private:
    const ArrayColumn& argument(const MapInput& input, size_t i) const {
        if (spec_.from_tuple) return as<ArrayColumn>(*as<TupleColumn>(*input.arguments[0]).element(i));
        return as<ArrayColumn>(*input.arguments[i]);
    }

    /// The entry of a key, made when there is none; nullptr when the filter drops it.
    std::vector<Value>* entryOf(State& state, const Column& keys, size_t row) const {
        Writer form;
        keys.serializeKey(row, form);
        if (spec_.filter && !std::ranges::binary_search(*spec_.filter, form.view())) return nullptr;
        if (!state) {
            state = std::make_unique<MapEntries>();
            state->keys = keys.cloneEmpty();
        }
        const auto [found, inserted] =
            state->index.try_emplace(std::string(form.view()), state->values.size());
        if (inserted) {
            state->keys->insertFrom(keys, row);
            state->values.emplace_back(spec_.values.size());
        }
        return &state->values[found->second];
    }

    void foldInto(Value& kept, const Value& value, size_t column) const {
        if (kept.isNull()) {
            kept = value;
        } else if (fold_ == Fold::Sum) {
            onNumbers(kept, value, [](auto& sum, const auto& other) { sum += other; });
        } else if (takes(kept, value, column)) {
            kept = value;
        }
    }

    bool takes(const Value& kept, const Value& value, size_t column) const {
        const MutableColumnPtr both = createColumn(*removeNullable(promoted_[column]));
        both->insert(kept);
        both->insert(value);
        return fold_ == Fold::Min ? both->compareAt(1, *both, 0, 1) < 0
                                  : both->compareAt(1, *both, 0, -1) > 0;
    }

    static std::vector<size_t> sorted(const MapEntries* entries) {
        std::vector<size_t> order(entries ? entries->values.size() : 0);
        for (size_t i = 0; i < order.size(); ++i) order[i] = i;
        std::ranges::sort(order, [&](size_t a, size_t b) {
            return entries->keys->compareAt(a, *entries->keys, b, -1) < 0;
        });
        return order;
    }

    Fold fold_;
    MapSpec spec_;
    std::vector<TypePtr> promoted_;
};

// -- creation ---------------------------------------------------------------------------------------

/// The arrays of the call, given one by one or as one tuple; nothing when they are no arrays.
std::vector<TypePtr> arraysOf(const Signature& signature) {
    std::vector<TypePtr> arrays = signature.arguments;
    if (arrays.size() == 1 && arrays[0]->kind() == TypeKind::Tuple) arrays = arrays[0]->children();
    const auto is_array = [](const TypePtr& type) { return type->kind() == TypeKind::Array; };
    if (arrays.size() < 2 || !std::ranges::all_of(arrays, is_array)) return {};
    return arrays;
}

std::unique_ptr<std::vector<std::string>> filterOf(const Signature& signature, const TypePtr& key) {
    if (signature.parameters.size() != 1 || signature.parameters[0].kind() != Value::Kind::Array)
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Aggregate function '{}' requires exactly one parameter of Array type", signature.name);
    auto filter = std::make_unique<std::vector<std::string>>();
    const bool text = removeNullable(key)->isString();
    for (const Value& value : signature.parameters[0].elements()) {
        const bool fits = value.kind() == Value::Kind::String ? text : value.kind() != Value::Kind::Array;
        if (!fits || (text && value.kind() != Value::Kind::String)) continue;
        const MutableColumnPtr column = createColumn(*key);
        column->insert(value);
        Writer form;
        column->serializeKey(0, form);
        filter->emplace_back(form.view());
    }
    std::ranges::sort(*filter);
    return filter;
}

AggregateFunctionPtr makeMapFold(Signature signature, Fold fold, bool overflow, bool filtered) {
    const std::vector<TypePtr> arrays = arraysOf(signature);
    if (arrays.empty()) {
        if (filtered || overflow)
            throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                        "Aggregate function {} requires at least two arguments of Array type or one argument "
                        "of tuple of two arrays",
                        signature.name);
        const char* const nested = fold == Fold::Sum ? "sum" : fold == Fold::Min ? "min" : "max";
        return createMap(std::move(signature), nested,
                         [](const std::string& name, const std::vector<Value>& parameters,
                            const std::vector<TypePtr>& arguments) {
                             return resolveAggregateFunction(name, parameters, arguments);
                         });
    }
    if (!filtered) expectNoParameters(signature);
    MapSpec spec;
    spec.from_tuple = signature.arguments.size() == 1;
    spec.key = arrays[0]->child();
    std::vector<TypePtr> results = {arrays[0]};
    for (size_t i = 1; i < arrays.size(); ++i) {
        const TypePtr value = arrays[i]->child();
        const TypePtr bare = removeNullable(value);
        if (fold == Fold::Sum && !canBeSummed(*bare))
            throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                        "Illegal type {} of argument for aggregate function sum", value->name());
        spec.values.push_back(value);
        const bool keeps = fold != Fold::Sum || overflow || bare->isDecimal();
        results.push_back(types::array(keeps ? bare : sumType(*bare)));
    }
    if (filtered) spec.filter = filterOf(signature, spec.key);
    return std::make_shared<MapFold>(std::move(signature), types::tuple(std::move(results)), fold,
                                     std::move(spec));
}

template <Fold fold, bool overflow, bool filtered>
AggregateFunctionPtr createMapFold(Signature signature) {
    return makeMapFold(std::move(signature), fold, overflow, filtered);
}

}  // namespace

std::span<const AggregateInfo> mapSumAggregates() {
    static const AggregateInfo kInfos[] = {
        {.name = "sumMap",
         .create = createMapFold<Fold::Sum, false, false>,
         .syntax = "sumMap(keys, values, …)",
         .description = "Sums of the values by the keys beside them, in arrays or a Map.",
         .example = "SELECT sumMap([1, 2], [number, 1]) FROM numbers(3)",
         .example_result = "([1,2],[3,3])"},
        {.name = "minMap",
         .create = createMapFold<Fold::Min, false, false>,
         .syntax = "minMap(keys, values, …)",
         .description = "Smallest values by key.",
         .example = "SELECT minMap([1], [number + 1]) FROM numbers(3)",
         .example_result = "([1],[1])"},
        {.name = "maxMap",
         .create = createMapFold<Fold::Max, false, false>,
         .syntax = "maxMap(keys, values, …)",
         .description = "Largest values by key.",
         .example = "SELECT maxMap([1], [number + 1]) FROM numbers(3)",
         .example_result = "([1],[3])"},
        {.name = "sumMapWithOverflow",
         .create = createMapFold<Fold::Sum, true, false>,
         .syntax = "sumMapWithOverflow(keys, values, …)",
         .description = "As sumMap, in the values' own types."},
        {.name = "sumMapFiltered",
         .create = createMapFold<Fold::Sum, false, true>,
         .syntax = "sumMapFiltered(keys_to_keep)(keys, values, …)",
         .description = "As sumMap, for some keys only.",
         .example = "SELECT sumMapFiltered([1])([1, 2], [number, 1]) FROM numbers(3)",
         .example_result = "([1],[3])"},
        {.name = "sumMapFilteredWithOverflow",
         .create = createMapFold<Fold::Sum, true, true>,
         .syntax = "sumMapFilteredWithOverflow(keys_to_keep)(keys, values, …)",
         .description = "As sumMapFiltered, in the values' own types."},
    };
    return kInfos;
}

}  // namespace shardd::aggregates
