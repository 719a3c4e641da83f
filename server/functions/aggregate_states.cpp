#include <charconv>

#include "common/base/arena.h"
#include "common/columns/array_column.h"
#include "common/columns/create_column.h"
#include "common/columns/state_column.h"
#include "server/aggregates/aggregate.h"
#include "server/functions/column_tools.h"
#include "server/functions/function_list.h"
#include "server/functions/simple_function.h"

/// Aggregate functions inside of a row: over arrays, and over states that are values.
namespace shardd::functions {

namespace {

using aggregates::AggregateFunction;
using aggregates::AggregateFunctionPtr;

/// One state that is ended with its owner.
class OneState {
public:
    OneState(const AggregateFunction& function, Arena& arena)
        : function_(function),
          place_(
              arena.allocateAligned(std::max<size_t>(function.stateSize(), 1), function.stateAlignment())) {
        function_.create(place_);
    }

    OneState(const OneState&) = delete;
    OneState& operator=(const OneState&) = delete;

    ~OneState() { function_.destroy(place_); }

    char* place() const { return place_; }

private:
    const AggregateFunction& function_;
    char* place_;
};

// -- "quantiles(0.5, 0.9)" ------------------------------------------------------------------------

Value parseParameter(std::string_view text, std::string_view whole) {
    const auto fail = [&]() -> Error {
        return Error(ErrorCode::BAD_ARGUMENTS, "Cannot parse parameter {} of aggregate function {}", text,
                     whole);
    };
    if (text.size() >= 2 && text.front() == '\'' && text.back() == '\'')
        return Value(std::string(text.substr(1, text.size() - 2)));
    const char* end = text.data() + text.size();
    if (text.find_first_of(".eEn") != std::string_view::npos) {
        double number = 0;
        if (std::from_chars(text.data(), end, number).ptr != end) throw fail();
        return Value(number);
    }
    if (text.starts_with('-')) {
        int64_t number = 0;
        if (std::from_chars(text.data(), end, number).ptr != end) throw fail();
        return Value(number);
    }
    uint64_t number = 0;
    if (text.empty() || std::from_chars(text.data(), end, number).ptr != end) throw fail();
    return Value(number);
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return text;
}

/// The function that the constant first argument names, over `arguments`.
AggregateFunctionPtr namedAggregate(const std::string& function,
                                    Arguments arguments,
                                    const std::vector<TypePtr>& types) {
    const std::string whole = constantText(function, arguments, 0);
    const std::string_view text = trimmed(whole);
    const size_t open = text.find('(');
    std::vector<Value> parameters;
    if (open != std::string_view::npos) {
        if (!text.ends_with(')'))
            throw Error(ErrorCode::BAD_ARGUMENTS, "Incorrect name of aggregate function: {}", whole);
        std::string_view rest = trimmed(text.substr(open + 1, text.size() - open - 2));
        while (!rest.empty()) {
            const bool quoted = rest.front() == '\'';
            size_t end = quoted ? rest.find('\'', 1) : 0;
            end = rest.find(',', end == std::string_view::npos ? 0 : end);
            parameters.push_back(parseParameter(trimmed(rest.substr(0, end)), whole));
            rest = end == std::string_view::npos ? std::string_view() : trimmed(rest.substr(end + 1));
        }
    }
    return aggregates::resolveAggregateFunction(trimmed(text.substr(0, open)), parameters, types);
}

Traits seesAll(std::vector<size_t> constant_arguments = {}) {
    return {.default_nulls = false,
            .default_low_cardinality = false,
            .constant_arguments = std::move(constant_arguments)};
}

/// Columns of plain values, constants written out.
std::vector<ColumnPtr> plainColumns(Arguments arguments) {
    std::vector<ColumnPtr> columns;
    for (const NamedColumn& argument : arguments)
        columns.push_back(fullPlain(writeOutDictionaries(full(argument.column), argument.type)));
    return columns;
}

// -- finalizeAggregation --------------------------------------------------------------------------

AggregateFunctionPtr functionOfState(const std::string& name, Arguments arguments) {
    if (arguments[0].type->kind() != TypeKind::AggregateFunction)
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    "Argument for function '{}' must have type AggregateFunction - state of aggregate "
                    "function. Got '{}' instead",
                    name, arguments[0].type->name());
    return std::dynamic_pointer_cast<const AggregateFunction>(arguments[0].type->aggregate());
}

class FinalizeAggregation final : public SimpleFunction {
public:
    FinalizeAggregation() : SimpleFunction("finalizeAggregation", seesAll()) {}

    TypePtr resultType(Arguments arguments) const override {
        checkArgumentCount(name_, arguments, 1, 1);
        return functionOfState(name_, arguments)->resultType();
    }

    ColumnPtr execute(Arguments arguments, const TypePtr& result_type, size_t rows) const override {
        const AggregateFunctionPtr function = functionOfState(name_, arguments);
        const ColumnPtr column = full(arguments[0].column);
        const auto& states = as<StateColumn>(*column).states();
        MutableColumnPtr result = createColumn(*result_type);
        Arena arena;
        // Finishing may change a state, and those of a column are everybody's: a copy is finished.
        for (size_t row = 0; row < rows; ++row) {
            const OneState copy(*function, arena);
            function->merge(copy.place(), states[row], arena);
            function->insertResult(copy.place(), *result, arena);
        }
        return result;
    }
};

// -- initializeAggregation ------------------------------------------------------------------------

class InitializeAggregation final : public SimpleFunction {
public:
    InitializeAggregation() : SimpleFunction("initializeAggregation", seesAll({0})) {}

    TypePtr resultType(Arguments arguments) const override { return functionFor(arguments)->resultType(); }

    ColumnPtr execute(Arguments arguments, const TypePtr& result_type, size_t rows) const override {
        const AggregateFunctionPtr function = functionFor(arguments);
        const std::vector<ColumnPtr> columns = plainColumns(arguments.subspan(1));
        std::vector<const Column*> inputs;
        for (const ColumnPtr& column : columns) inputs.push_back(column.get());
        MutableColumnPtr result = createColumn(*result_type);
        Arena arena;
        for (size_t row = 0; row < rows; ++row) {
            const OneState state(*function, arena);
            function->add(state.place(), inputs.data(), row, arena);
            function->insertResult(state.place(), *result, arena);
        }
        return result;
    }

private:
    AggregateFunctionPtr functionFor(Arguments arguments) const {
        checkArgumentCount(name_, arguments, 2);
        std::vector<TypePtr> types;
        for (const NamedColumn& argument : arguments.subspan(1)) types.push_back(argument.type);
        return namedAggregate(name_, arguments, types);
    }
};

// -- arrayReduce ----------------------------------------------------------------------------------

/// The arrays of a call, equally long in each row.
class ReducedArrays {
public:
    ReducedArrays(const std::string& name, Arguments arguments)
        : name_(name), columns_(plainColumns(arguments)) {
        for (const ColumnPtr& column : columns_) {
            arrays_.push_back(&as<ArrayColumn>(*column));
            elements_.push_back(arrays_.back()->elements().get());
        }
    }

    const Column* const* elements() const { return elements_.data(); }

    size_t start(size_t row) const { return arrays_[0]->startAt(row); }

    size_t length(size_t row) const {
        const size_t length = arrays_[0]->lengthAt(row);
        for (const ArrayColumn* array : arrays_)
            if (array->lengthAt(row) != length || array->startAt(row) != start(row))
                throw Error(ErrorCode::SIZES_OF_ARRAYS_DONT_MATCH,
                            "Lengths of all arrays passed to {} must be equal", name_);
        return length;
    }

private:
    const std::string& name_;
    std::vector<ColumnPtr> columns_;
    std::vector<const ArrayColumn*> arrays_;
    std::vector<const Column*> elements_;
};

std::vector<TypePtr> elementTypes(const std::string& name, Arguments arguments) {
    std::vector<TypePtr> types;
    for (const NamedColumn& argument : arguments) {
        if (argument.type->kind() != TypeKind::Array)
            throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                        "Argument for function {} must be an array but it has type {}", name,
                        argument.type->name());
        types.push_back(argument.type->child());
    }
    return types;
}

class ArrayReduce final : public SimpleFunction {
public:
    ArrayReduce() : SimpleFunction("arrayReduce", seesAll({0})) {}

    TypePtr resultType(Arguments arguments) const override { return functionFor(arguments)->resultType(); }

    ColumnPtr execute(Arguments arguments, const TypePtr& result_type, size_t rows) const override {
        const AggregateFunctionPtr function = functionFor(arguments);
        const ReducedArrays arrays(name_, arguments.subspan(1));
        MutableColumnPtr result = createColumn(*result_type);
        Arena arena;
        for (size_t row = 0; row < rows; ++row) {
            const OneState state(*function, arena);
            const size_t length = arrays.length(row);
            function->addBatchSingle(arrays.elements(), state.place(), arrays.start(row), length, arena);
            function->insertResult(state.place(), *result, arena);
        }
        return result;
    }

private:
    AggregateFunctionPtr functionFor(Arguments arguments) const {
        checkArgumentCount(name_, arguments, 2);
        return namedAggregate(name_, arguments, elementTypes(name_, arguments.subspan(1)));
    }
};

/// arrayReduce over ranges (start from 1, negative from the end; length) of the arrays.
class ArrayReduceInRanges final : public SimpleFunction {
public:
    ArrayReduceInRanges() : SimpleFunction("arrayReduceInRanges", seesAll({0})) {}

    TypePtr resultType(Arguments arguments) const override {
        return types::array(functionFor(arguments)->resultType());
    }

    ColumnPtr execute(Arguments arguments, const TypePtr& result_type, size_t rows) const override {
        const AggregateFunctionPtr function = functionFor(arguments);
        const ColumnPtr ranges = full(arguments[1].column);
        const ReducedArrays arrays(name_, arguments.subspan(2));
        MutableColumnPtr result = createColumn(*result_type);
        auto& array = static_cast<ArrayColumn&>(*result);
        Arena arena;
        for (size_t row = 0; row < rows; ++row) {
            const auto length = static_cast<int64_t>(arrays.length(row));
            const Value of_row = ranges->value(row);
            for (const Value& range : of_row.elements()) {
                const auto from = range.elements()[0].to<int64_t>();
                const int64_t start = from > 0 ? from - 1 : from < 0 ? length + from : 0;
                const int64_t begin = std::clamp<int64_t>(start, 0, length);
                const int64_t end =
                    std::clamp<int64_t>(start + range.elements()[1].to<int64_t>(), begin, length);
                const OneState state(*function, arena);
                function->addBatchSingle(arrays.elements(), state.place(), arrays.start(row) + begin,
                                         end - begin, arena);
                function->insertResult(state.place(), array.mutableElements(), arena);
            }
            array.endRow();
        }
        return result;
    }

private:
    AggregateFunctionPtr functionFor(Arguments arguments) const {
        checkArgumentCount(name_, arguments, 3);
        const Type& ranges = *arguments[1].type;
        if (ranges.kind() != TypeKind::Array || ranges.child()->kind() != TypeKind::Tuple ||
            ranges.child()->children().size() != 2)
            throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                        "Second argument of function {} must be an array of tuples (start, length) but it "
                        "has type {}",
                        name_, ranges.name());
        return namedAggregate(name_, arguments, elementTypes(name_, arguments.subspan(2)));
    }
};

// -- runningAccumulate ----------------------------------------------------------------------------

/// The result over all states of the block so far; a change of the second argument starts again.
class RunningAccumulate final : public SimpleFunction {
public:
    RunningAccumulate() : SimpleFunction("runningAccumulate", makeTraits()) {}

    TypePtr resultType(Arguments arguments) const override {
        checkArgumentCount(name_, arguments, 1, 2);
        return functionOfState(name_, arguments)->resultType();
    }

    ColumnPtr execute(Arguments arguments, const TypePtr& result_type, size_t rows) const override {
        const AggregateFunctionPtr function = functionOfState(name_, arguments);
        const ColumnPtr column = full(arguments[0].column);
        const auto& states = as<StateColumn>(*column).states();
        const ColumnPtr groups = arguments.size() == 2 ? full(arguments[1].column) : nullptr;
        MutableColumnPtr result = createColumn(*result_type);
        Arena arena;
        std::unique_ptr<OneState> state;
        for (size_t row = 0; row < rows; ++row) {
            if (!state || (groups && groups->compareAt(row, *groups, row - 1, 1) != 0))
                state = std::make_unique<OneState>(*function, arena);
            function->merge(state->place(), states[row], arena);
            function->insertResult(state->place(), *result, arena);
        }
        return result;
    }

private:
    static Traits makeTraits() {
        Traits made = seesAll();
        made.deterministic = false;
        made.default_constants = false;
        return made;
    }
};

template <typename F>
FunctionPtr create(const std::shared_ptr<const FunctionContext>&) {
    return std::make_shared<F>();
}

}  // namespace

std::span<const FunctionInfo> aggregateStatesFunctions() {
    static const FunctionInfo kInfos[] = {
        {.name = "finalizeAggregation",
         .create = create<FinalizeAggregation>,
         .syntax = "finalizeAggregation(state)",
         .description = "The result of a state of an aggregate function.",
         .example = "finalizeAggregation(initializeAggregation('sumState', 3))",
         .example_result = "3"},
        {.name = "initializeAggregation",
         .create = create<InitializeAggregation>,
         .syntax = "initializeAggregation('name', x[, …])",
         .description = "The aggregate function over the one row.",
         .example = "initializeAggregation('sum', 3)",
         .example_result = "3"},
        {.name = "arrayReduce",
         .create = create<ArrayReduce>,
         .syntax = "arrayReduce('name', array[, …])",
         .description = "The aggregate function over the elements of arrays.",
         .example = "arrayReduce('max', [1, 2, 3])",
         .example_result = "3"},
        {.name = "arrayReduceInRanges",
         .create = create<ArrayReduceInRanges>,
         .syntax = "arrayReduceInRanges('name', ranges, array[, …])",
         .description = "The aggregate function over ranges (start, length) of arrays.",
         .example = "arrayReduceInRanges('sum', [(1, 2), (2, 2)], [1, 2, 3])",
         .example_result = "[3,5]"},
        {.name = "runningAccumulate",
         .create = create<RunningAccumulate>,
         .syntax = "runningAccumulate(state[, group])",
         .description = "The result over the states of all rows so far."},
    };
    return kInfos;
}

}  // namespace shardd::functions
