#include "common/columns/state_column.h"
#include "server/aggregates/combinators.h"
#include "server/aggregates/wrapper.h"

namespace shardd::aggregates {

namespace {

/// Everything as the nested function does it, but for what the derived class changes.
class Forwarding : public Wrapper {
public:
    using Wrapper::Wrapper;

    void add(char* place, const Column* const* arguments, size_t row, Arena& arena) const override {
        nested().add(place, arguments, row, arena);
    }

    void addBatch(const Column* const* arguments,
                  char* const* places,
                  size_t offset,
                  size_t from,
                  size_t rows,
                  Arena& arena) const override {
        nested().addBatch(arguments, places, offset, from, rows, arena);
    }

    void addBatchSingle(
        const Column* const* arguments, char* place, size_t from, size_t rows, Arena& arena) const override {
        nested().addBatchSingle(arguments, place, from, rows, arena);
    }

    void addBatchSingleIf(const Column* const* arguments,
                          char* place,
                          size_t from,
                          size_t rows,
                          const uint8_t* mask,
                          Arena& arena) const override {
        nested().addBatchSingleIf(arguments, place, from, rows, mask, arena);
    }
};

/// The result is the state itself; over -Merge it is a state of the function that was merged.
class State final : public Forwarding {
public:
    State(Signature signature, TypePtr type, AggregateFunctionPtr nested)
        : Forwarding(std::move(signature), std::move(type), std::move(nested)) {}

    void insertResult(char* place, Column& to, Arena&) const override {
        auto& states = static_cast<StateColumn&>(to);
        char* state = states.addState();
        nested().merge(state, place, states.arena());
    }
};

/// The result is the finished value, whose type remembers the function.
class SimpleState final : public Forwarding {
public:
    SimpleState(Signature signature, AggregateFunctionPtr nested)
        : Forwarding(std::move(signature),
                     types::simpleAggregateFunction(nested->name(), {nested->resultType()}),
                     nested) {}
};

/// The rows are states.
class Merge final : public Wrapper {
public:
    Merge(Signature signature, AggregateFunctionPtr nested)
        : Wrapper(std::move(signature), nested->resultType(), nested) {}

    void add(char* place, const Column* const* arguments, size_t row, Arena& arena) const override {
        nested().merge(place, statesOf(arguments)[row], arena);
    }

    void addBatch(const Column* const* arguments,
                  char* const* places,
                  size_t offset,
                  size_t from,
                  size_t rows,
                  Arena& arena) const override {
        char* const* states = statesOf(arguments);
        for (size_t i = 0; i < rows; ++i)
            if (places[i]) nested().merge(places[i] + offset, states[from + i], arena);
    }

    void addBatchSingle(
        const Column* const* arguments, char* place, size_t from, size_t rows, Arena& arena) const override {
        char* const* states = statesOf(arguments);
        for (size_t row = from; row < from + rows; ++row) nested().merge(place, states[row], arena);
    }

    void insertResultBatch(
        char* const* places, size_t offset, size_t rows, Column& to, Arena& arena) const override {
        nested().insertResultBatch(places, offset, rows, to, arena);
    }

    /// The type of the states that are merged.
    TypePtr mergedType() const { return nested().stateType(); }

private:
    static char* const* statesOf(const Column* const* arguments) {
        if (arguments[0]->kind() != ColumnKind::State) failColumnCast(*arguments[0], "StateColumn");
        return static_cast<const StateColumn&>(*arguments[0]).states().data();
    }
};

/// Functions that SimpleAggregateFunction knows.
constexpr std::string_view kSimple[] = {"any",
                                        "any_respect_nulls",
                                        "anyLast",
                                        "anyLast_respect_nulls",
                                        "min",
                                        "max",
                                        "sum",
                                        "sumWithOverflow",
                                        "groupBitAnd",
                                        "groupBitOr",
                                        "groupBitXor",
                                        "sumMap",
                                        "minMap",
                                        "maxMap",
                                        "groupArrayArray",
                                        "groupArrayLastArray",
                                        "groupUniqArrayArray",
                                        "groupUniqArrayArrayMap",
                                        "sumMappedArrays",
                                        "minMappedArrays",
                                        "maxMappedArrays"};

}  // namespace

AggregateFunctionPtr createState(Signature signature,
                                 const std::string& nested_name,
                                 NestedResolver resolve) {
    AggregateFunctionPtr nested = resolve(nested_name, signature.parameters, signature.arguments);
    // Over NULL alone there is no state to give: the result stays NULL.
    if (nested->name() == "nothingNull") return nested;
    const auto* merge = dynamic_cast<const Merge*>(nested.get());
    TypePtr type = merge ? merge->mergedType() : nested->stateType();
    return std::make_shared<State>(std::move(signature), std::move(type), std::move(nested));
}

AggregateFunctionPtr createSimpleState(Signature signature,
                                       const std::string& nested_name,
                                       NestedResolver resolve) {
    AggregateFunctionPtr nested = resolve(nested_name, signature.parameters, signature.arguments);
    if (std::ranges::find(kSimple, nested->name()) == std::end(kSimple)) {
        std::string known;
        for (std::string_view name : kSimple) known.append(known.empty() ? "" : ",").append(name);
        throw Error(ErrorCode::BAD_ARGUMENTS, "Unsupported aggregate function {}, supported functions are {}",
                    nested->name(), known);
    }
    return std::make_shared<SimpleState>(std::move(signature), std::move(nested));
}

AggregateFunctionPtr createMerge(Signature signature,
                                 const std::string& nested_name,
                                 NestedResolver resolve) {
    if (signature.arguments.size() != 1)
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Incorrect number of arguments for aggregate function with Merge suffix");
    const TypePtr argument = signature.arguments[0];
    if (argument->kind() != TypeKind::AggregateFunction)
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    "Illegal type {} of argument for aggregate function with Merge suffix. It must be "
                    "AggregateFunction(...)",
                    argument->name());
    const AggregateOpsPtr& ops = argument->aggregate();
    AggregateFunctionPtr nested = resolve(nested_name, signature.parameters, ops->argumentTypes());
    if (nested->name() != ops->name())
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    "Illegal type {} of argument for aggregate function with Merge suffix because it "
                    "corresponds to different "
                    "aggregate function: {} instead of {}",
                    argument->name(), ops->name(), nested->name());
    return std::make_shared<Merge>(std::move(signature), std::move(nested));
}

}  // namespace shardd::aggregates
