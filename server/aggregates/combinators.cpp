#include "server/aggregates/combinators.h"

#include "common/columns/array_column.h"
#include "common/columns/create_column.h"
#include "common/columns/nullable_column.h"
#include "server/aggregates/kept_rows.h"
#include "server/aggregates/single_value.h"
#include "server/aggregates/wrapper.h"

namespace shardd::aggregates {

namespace {

std::vector<TypePtr> withoutLast(const std::vector<TypePtr>& types) {
    return {types.begin(), types.end() - 1};
}

void expectSomeArguments(const Signature& signature, std::string_view suffix) {
    if (signature.arguments.empty())
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Incorrect number of arguments for aggregate function with {} suffix", suffix);
}

// -- If ---------------------------------------------------------------------------------------------

/// Only rows whose last argument is not 0 (nor NULL).
class If final : public Wrapper {
public:
    If(Signature signature, AggregateFunctionPtr nested)
        : Wrapper(std::move(signature), nested->resultType(), nested),
          condition_(argumentTypes().size() - 1) {}

    void add(char* place, const Column* const* arguments, size_t row, Arena& arena) const override {
        const Condition condition(*arguments[condition_]);
        if (condition.at(row)) nested().add(place, arguments, row, arena);
    }

    void addBatch(const Column* const* arguments,
                  char* const* places,
                  size_t offset,
                  size_t from,
                  size_t rows,
                  Arena& arena) const override {
        const Condition condition(*arguments[condition_]);
        if (condition.values && !condition.nulls) {
            addKeptRows(nested(), arguments, places, offset, from, {condition.values + from, rows}, arena);
            return;
        }
        Mask kept(rows);
        for (size_t i = 0; i < rows; ++i) kept[i] = condition.at(from + i);
        addKeptRows(nested(), arguments, places, offset, from, kept.span(), arena);
    }

    void addBatchSingle(
        const Column* const* arguments, char* place, size_t from, size_t rows, Arena& arena) const override {
        const Condition condition(*arguments[condition_]);
        if (condition.nulls || !condition.values) {
            const Mask wanted = condition.rows(from, rows, nullptr);
            nested().addBatchSingleIf(arguments, place, from, rows, wanted.data(), arena);
        } else {
            nested().addBatchSingleIf(arguments, place, from, rows, condition.values, arena);
        }
    }

    void addBatchSingleIf(const Column* const* arguments,
                          char* place,
                          size_t from,
                          size_t rows,
                          const uint8_t* mask,
                          Arena& arena) const override {
        const Mask wanted = Condition(*arguments[condition_]).rows(from, rows, mask);
        nested().addBatchSingleIf(arguments, place, from, rows, wanted.data(), arena);
    }

    void insertResultBatch(
        char* const* places, size_t offset, size_t rows, Column& to, Arena& arena) const override {
        nested().insertResultBatch(places, offset, rows, to, arena);
    }

    void mergeBatch(char* const* places,
                    const char* const* others,
                    size_t offset,
                    size_t rows,
                    Arena& arena) const override {
        nested().mergeBatch(places, others, offset, rows, arena);
    }

    void serializeBatch(const char* const* places, size_t rows, Writer& out) const override {
        nested().serializeBatch(places, rows, out);
    }

    size_t deserializeAhead(char* first, size_t stride, size_t rows, Reader& in) const override {
        return nested().deserializeAhead(first, stride, rows, in);
    }

private:
    struct Condition {
        const uint8_t* values = nullptr;  // without them (the condition is NULL itself) nothing holds
        const uint8_t* nulls = nullptr;

        explicit Condition(const Column& column) {
            const Column* plain = &column;
            if (column.kind() == ColumnKind::Nullable) {
                nulls = static_cast<const NullableColumn&>(column).nulls().data();
                plain = static_cast<const NullableColumn&>(column).values().get();
            }
            if (const auto* fixed = dynamic_cast<const FixedColumn<uint8_t>*>(plain)) values = fixed->data();
        }

        bool at(size_t row) const { return values && values[row] && !(nulls && nulls[row]); }

        Mask rows(size_t from, size_t count, const uint8_t* mask) const {
            Mask result(from + count);
            for (size_t row = from; row < from + count; ++row) result[row] = at(row) && !(mask && !mask[row]);
            return result;
        }
    };

    size_t condition_;
};

// -- OrNull, OrDefault ------------------------------------------------------------------------------

/// Remembers whether a row came, in a byte behind the nested state; without one the result is NULL or the
/// default.
template <bool gives_null>
class OrFill final : public Wrapper {
public:
    OrFill(Signature signature, TypePtr result, AggregateFunctionPtr nested)
        : Wrapper(std::move(signature), std::move(result), std::move(nested)), seen_(Wrapper::stateSize()) {}

    size_t stateSize() const override {
        const size_t alignment = stateAlignment();
        return (seen_ + 1 + alignment - 1) / alignment * alignment;
    }

    void create(char* place) const override {
        nested().create(place);
        place[seen_] = 0;
    }

    void add(char* place, const Column* const* arguments, size_t row, Arena& arena) const override {
        nested().add(place, arguments, row, arena);
        place[seen_] = 1;
    }

    void addBatch(const Column* const* arguments,
                  char* const* places,
                  size_t offset,
                  size_t from,
                  size_t rows,
                  Arena& arena) const override {
        nested().addBatch(arguments, places, offset, from, rows, arena);
        for (size_t i = 0; i < rows; ++i)
            if (places[i]) places[i][offset + seen_] = 1;
    }

    void addBatchSingle(
        const Column* const* arguments, char* place, size_t from, size_t rows, Arena& arena) const override {
        nested().addBatchSingle(arguments, place, from, rows, arena);
        if (rows > 0) place[seen_] = 1;
    }

    void addBatchSingleIf(const Column* const* arguments,
                          char* place,
                          size_t from,
                          size_t rows,
                          const uint8_t* mask,
                          Arena& arena) const override {
        nested().addBatchSingleIf(arguments, place, from, rows, mask, arena);
        for (size_t row = from; row < from + rows && !place[seen_]; ++row) place[seen_] = mask[row] != 0;
    }

    void merge(char* place, const char* other, Arena& arena) const override {
        nested().merge(place, other, arena);
        place[seen_] = static_cast<char>(place[seen_] | other[seen_]);
    }

    void serialize(const char* place, Writer& out) const override {
        nested().serialize(place, out);
        out.writeByte(static_cast<uint8_t>(place[seen_]));
    }

    void deserialize(char* place, Reader& in, Arena& arena) const override {
        nested().deserialize(place, in, arena);
        place[seen_] = in.readByte() != 0;
    }

    void insertResult(char* place, Column& to, Arena& arena) const override {
        if (!place[seen_]) {
            insertDefaults(*resultType(), to, 1);
        } else if (gives_null && !sameType(resultType(), nested().resultType())) {
            const MutableColumnPtr value = createColumn(*nested().resultType());
            nested().insertResult(place, *value, arena);
            to.insertFrom(*value, 0);
        } else {
            nested().insertResult(place, to, arena);
        }
    }

private:
    size_t seen_;
};

template <bool gives_null>
AggregateFunctionPtr createOrFill(Signature signature,
                                  const std::string& nested_name,
                                  NestedResolver resolve) {
    AggregateFunctionPtr nested = resolve(nested_name, signature.parameters, signature.arguments);
    TypePtr result = nested->resultType();
    if (gives_null && result->canBeInsideNullable()) result = types::nullable(result);
    return std::make_shared<OrFill<gives_null>>(std::move(signature), result, std::move(nested));
}

// -- ArgMin, ArgMax ---------------------------------------------------------------------------------

/// The nested function over those rows only whose last argument is the smallest (largest); ties all count.
template <typename Single>
class ArgExtreme final : public Wrapper {
public:
    ArgExtreme(Signature signature, AggregateFunctionPtr nested, bool is_min)
        : Wrapper(std::move(signature), nested->resultType(), nested),
          is_min_(is_min),
          key_offset_((Wrapper::stateSize() + alignof(Single) - 1) / alignof(Single) * alignof(Single)) {}

    size_t stateSize() const override {
        const size_t alignment = stateAlignment();
        return (key_offset_ + sizeof(Single) + alignment - 1) / alignment * alignment;
    }

    size_t stateAlignment() const override { return std::max(Wrapper::stateAlignment(), alignof(Single)); }

    bool trivialDestroy() const override {
        return Wrapper::trivialDestroy() && std::is_trivially_destructible_v<Single>;
    }

    void create(char* place) const override {
        nested().create(place);
        new (place + key_offset_) Single();
    }

    void destroy(char* place) const noexcept override {
        nested().destroy(place);
        key(place).~Single();
    }

    void add(char* place, const Column* const* arguments, size_t row, Arena& arena) const override {
        // The key is the last argument; Input takes a fixed place, so it is handed a view that starts there.
        const typename Single::template Input<0> input(arguments + argumentTypes().size() - 1);
        Single& kept = key(place);
        const bool better = !kept.has() || (is_min_ ? kept.less(input, row) : kept.greater(input, row));
        if (better) {
            restart(place);
            kept.set(input, row, arena);
        } else if (!kept.equals(input, row)) {
            return;
        }
        nested().add(place, arguments, row, arena);
    }

    void merge(char* place, const char* other, Arena& arena) const override {
        Single& kept = key(place);
        const Single& theirs = key(const_cast<char*>(other));
        if (!theirs.has()) return;
        if (!kept.has() || (is_min_ ? kept.less(theirs) : kept.greater(theirs))) {
            restart(place);
            kept.set(theirs, arena);
        } else if (!kept.equals(theirs)) {
            return;
        }
        nested().merge(place, other, arena);
    }

    void serialize(const char* place, Writer& out) const override {
        nested().serialize(place, out);
        key(const_cast<char*>(place)).write(out);
    }

    void deserialize(char* place, Reader& in, Arena& arena) const override {
        nested().deserialize(place, in, arena);
        key(place).read(*argumentTypes().back(), in, arena);
    }

private:
    Single& key(char* place) const { return *std::launder(reinterpret_cast<Single*>(place + key_offset_)); }

    void restart(char* place) const {
        nested().destroy(place);
        nested().create(place);
    }

    bool is_min_;
    size_t key_offset_;
};

AggregateFunctionPtr createArgExtreme(Signature signature,
                                      const std::string& nested_name,
                                      NestedResolver resolve,
                                      bool is_min) {
    expectSomeArguments(signature, is_min ? "ArgMin" : "ArgMax");
    AggregateFunctionPtr nested =
        resolve(nested_name, signature.parameters, withoutLast(signature.arguments));
    const TypePtr key = signature.arguments.back();
    AggregateFunctionPtr function;
    dispatchSingle(*key, [&]<typename Single>(Tag<Single>) {
        function = std::make_shared<ArgExtreme<Single>>(std::move(signature), std::move(nested), is_min);
    });
    return function;
}

// -- Resample ---------------------------------------------------------------------------------------

/// One nested state for each step of [begin, end) that the last argument falls in.
class Resample final : public Wrapper {
public:
    Resample(Signature signature,
             AggregateFunctionPtr nested,
             int64_t begin,
             int64_t end,
             uint64_t step,
             size_t count)
        : Wrapper(std::move(signature), types::array(nested->resultType()), nested),
          begin_(begin),
          end_(end),
          step_(step),
          count_(count),
          each_(nested->stateSize()) {}

    size_t stateSize() const override { return each_ * count_; }

    void create(char* place) const override {
        for (size_t i = 0; i < count_; ++i) nested().create(place + i * each_);
    }

    void destroy(char* place) const noexcept override {
        for (size_t i = 0; i < count_; ++i) nested().destroy(place + i * each_);
    }

    void add(char* place, const Column* const* arguments, size_t row, Arena& arena) const override {
        const Value value = arguments[argumentTypes().size() - 1]->value(row);
        int64_t key = 0;
        if (value.kind() == Value::Kind::UInt64) {
            const auto wide = value.get<uint64_t>();
            if (end_ < 0 || wide >= static_cast<uint64_t>(end_)) return;
            key = static_cast<int64_t>(wide);
        } else {
            key = value.to<int64_t>();
        }
        if (key < begin_ || key >= end_) return;
        const size_t position = (static_cast<uint64_t>(key) - static_cast<uint64_t>(begin_)) / step_;
        nested().add(place + position * each_, arguments, row, arena);
    }

    void merge(char* place, const char* other, Arena& arena) const override {
        for (size_t i = 0; i < count_; ++i) nested().merge(place + i * each_, other + i * each_, arena);
    }

    void serialize(const char* place, Writer& out) const override {
        for (size_t i = 0; i < count_; ++i) nested().serialize(place + i * each_, out);
    }

    void deserialize(char* place, Reader& in, Arena& arena) const override {
        for (size_t i = 0; i < count_; ++i) nested().deserialize(place + i * each_, in, arena);
    }

    void insertResult(char* place, Column& to, Arena& arena) const override {
        auto& array = static_cast<ArrayColumn&>(to);
        for (size_t i = 0; i < count_; ++i)
            nested().insertResult(place + i * each_, array.mutableElements(), arena);
        array.endRow();
    }

private:
    int64_t begin_;
    int64_t end_;
    uint64_t step_;
    size_t count_;
    size_t each_;
};

constexpr size_t kMaxResampleElements = 1024 * 1024;

int64_t integerParameter(const Value& value) {
    if (value.kind() != Value::Kind::UInt64 && value.kind() != Value::Kind::Int64)
        throw Error(ErrorCode::BAD_ARGUMENTS,
                    "Parameter of aggregate function with Resample suffix must be an integer, got {}",
                    literalText(value));
    return value.to<int64_t>();
}

}  // namespace

AggregateFunctionPtr createIf(Signature signature, const std::string& nested_name, NestedResolver resolve) {
    expectSomeArguments(signature, "If");
    const TypePtr condition = signature.arguments.back();
    const TypePtr bare = removeNullable(condition);
    if (bare->kind() != TypeKind::UInt8 && bare->kind() != TypeKind::Bool &&
        bare->kind() != TypeKind::Nothing)
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    "Illegal type {} of last argument for aggregate function with If suffix",
                    condition->name());
    AggregateFunctionPtr nested =
        resolve(nested_name, signature.parameters, withoutLast(signature.arguments));
    const bool wrapped =
        std::ranges::any_of(nested->argumentTypes(), [](const TypePtr& type) { return type->isNullable(); });
    const bool any_nullable = wrapped || condition->isNullable();
    const AggregateInfo* base = findAggregateInfo(nested_name);
    // Functions that give their default for only NULLs carry the flag as soon as any argument is Nullable.
    const bool flag =
        any_nullable && base && (base->name == "count" || (base->nulls == Nulls::FlagAlwaysOne && !wrapped));
    AggregateFunctionPtr function = std::make_shared<If>(std::move(signature), std::move(nested));
    return flag ? wrapFlagAlwaysOne(std::move(function)) : function;
}

AggregateFunctionPtr createOrNull(Signature signature,
                                  const std::string& nested_name,
                                  NestedResolver resolve) {
    return createOrFill<true>(std::move(signature), nested_name, resolve);
}

AggregateFunctionPtr createOrDefault(Signature signature,
                                     const std::string& nested_name,
                                     NestedResolver resolve) {
    return createOrFill<false>(std::move(signature), nested_name, resolve);
}

AggregateFunctionPtr createArgMinCombinator(Signature signature,
                                            const std::string& nested_name,
                                            NestedResolver resolve) {
    return createArgExtreme(std::move(signature), nested_name, resolve, true);
}

AggregateFunctionPtr createArgMaxCombinator(Signature signature,
                                            const std::string& nested_name,
                                            NestedResolver resolve) {
    return createArgExtreme(std::move(signature), nested_name, resolve, false);
}

AggregateFunctionPtr createResample(Signature signature,
                                    const std::string& nested_name,
                                    NestedResolver resolve) {
    expectSomeArguments(signature, "Resample");
    const TypePtr key = signature.arguments.back();
    if (!key->isInteger() && key->kind() != TypeKind::Bool && !key->isEnum() &&
        key->kind() != TypeKind::Date && key->kind() != TypeKind::DateTime)
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    "Illegal type {} of key of aggregate function {}, must be a native integer, date or time",
                    key->name(), signature.name);
    const size_t count = signature.parameters.size();
    if (count < 3)
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Incorrect number of parameters for aggregate function with Resample suffix");
    const int64_t begin = integerParameter(signature.parameters[count - 3]);
    const int64_t end = integerParameter(signature.parameters[count - 2]);
    const auto step = signature.parameters[count - 1].to<uint64_t>();
    if (step == 0)
        throw Error(ErrorCode::ARGUMENT_OUT_OF_BOUND, "The step used in function {} cannot be zero",
                    signature.name);
    const uint64_t width = end > begin ? static_cast<uint64_t>(end) - static_cast<uint64_t>(begin) : 0;
    const uint64_t steps = width / step + (width % step != 0);
    if (steps > kMaxResampleElements)
        throw Error(ErrorCode::ARGUMENT_OUT_OF_BOUND,
                    "The range given in function {} contains too many elements", signature.name);
    const std::vector<Value> nested_parameters(signature.parameters.begin(), signature.parameters.end() - 3);
    AggregateFunctionPtr nested = resolve(nested_name, nested_parameters, withoutLast(signature.arguments));
    return std::make_shared<Resample>(std::move(signature), std::move(nested), begin, end, step, steps);
}

}  // namespace shardd::aggregates
