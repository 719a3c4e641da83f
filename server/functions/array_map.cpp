// arrayMap, arrayFilter, arrayExists, arrayFirst, arrayFill, arraySplit, arrayFold and their kin.

#include "common/columns/create_column.h"
#include "server/functions/array_lambda.h"
#include "server/functions/simple_function.h"

namespace shardd::functions {

namespace {

PodVector<uint64_t> copyEnds(const LambdaCall& call) { return call.ends; }

TypePtr typeOfMap(const LambdaSignature& call) { return types::array(call.value); }

ColumnPtr runMap(const LambdaCall& call) {
    return std::make_shared<ArrayColumn>(call.values, copyEnds(call));
}

TypePtr typeOfSameArray(const LambdaSignature& call) {
    needCondition(call);
    return types::array(call.elements[0]);
}

ColumnPtr runFilter(const LambdaCall& call) {
    const Mask mask = conditionsOf(call);
    PodVector<uint64_t> ends(call.rows);
    uint64_t kept = 0;
    size_t at = 0;
    for (size_t row = 0; row < call.rows; ++row) {
        for (; at < call.ends[row]; ++at) kept += mask[at];
        ends[row] = kept;
    }
    return std::make_shared<ArrayColumn>(call.elements[0]->filter(mask.span(), kept), std::move(ends));
}

// -- conditions of all elements -------------------------------------------------------------------

template <TypeKind kResult>
TypePtr typeOfConditions(const LambdaSignature& call) {
    needCondition(call);
    return types::simple(kResult);
}

template <bool kAll>
ColumnPtr runExists(const LambdaCall& call) {
    const Mask mask = conditionsOf(call);
    return eachRow<uint8_t>(call.rows, [&](size_t row) -> uint8_t {
        for (size_t at = call.start(row); at < call.ends[row]; ++at)
            if ((mask[at] != 0) != kAll) return !kAll;
        return kAll;
    });
}

ColumnPtr runCount(const LambdaCall& call) {
    const Mask mask = conditionsOf(call);
    return eachRow<uint32_t>(call.rows, [&](size_t row) {
        uint32_t count = 0;
        for (size_t at = call.start(row); at < call.ends[row]; ++at) count += mask[at];
        return count;
    });
}

/// The place of the first or last element with the condition; the end of all elements when there is none.
template <bool kLast>
PodVector<RowIndex> chosenPlaces(const LambdaCall& call) {
    const Mask mask = conditionsOf(call);
    PodVector<RowIndex> places(call.rows);
    places.assign(call.rows, static_cast<RowIndex>(mask.size()));
    for (size_t row = 0; row < call.rows; ++row) {
        const size_t start = call.start(row);
        const size_t length = call.ends[row] - start;
        for (size_t i = 0; i < length; ++i) {
            const size_t at = kLast ? start + length - 1 - i : start + i;
            if (!mask[at]) continue;
            places[row] = static_cast<RowIndex>(at);
            break;
        }
    }
    return places;
}

template <bool kOrNull>
TypePtr typeOfFirst(const LambdaSignature& call) {
    needCondition(call);
    if (call.elements[0]->kind() == TypeKind::Nothing)
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, "Function {} cannot be used with Array(Nothing)",
                    call.name);
    return kOrNull ? makeNullable(call.elements[0]) : call.elements[0];
}

template <bool kLast, bool kOrNull>
ColumnPtr runFirst(const LambdaCall& call) {
    const PodVector<RowIndex> places = chosenPlaces<kLast>(call);
    const size_t none = call.elements[0]->size();
    ColumnPtr values = withDefaultBehind(call.elements[0], call.element_types[0])->gather(places.span());
    if (!kOrNull || values->kind() == ColumnKind::Nullable || !call.type->isNullable()) return values;
    Mask nulls(call.rows);
    for (size_t row = 0; row < call.rows; ++row) nulls[row] = places[row] == none;
    return std::make_shared<NullableColumn>(std::move(values), std::move(nulls));
}

template <bool kLast>
ColumnPtr runFirstIndex(const LambdaCall& call) {
    const PodVector<RowIndex> places = chosenPlaces<kLast>(call);
    const size_t none = call.elements[0]->size();
    return eachRow<uint32_t>(call.rows, [&](size_t row) {
        return places[row] == none ? 0u : static_cast<uint32_t>(places[row] - call.start(row) + 1);
    });
}

// -- filling and splitting ------------------------------------------------------------------------

template <bool kReverse>
ColumnPtr runFill(const LambdaCall& call) {
    const Mask mask = conditionsOf(call);
    PodVector<RowIndex> places(mask.size());
    for (size_t row = 0; row < call.rows; ++row) {
        const size_t start = call.start(row);
        const size_t length = call.ends[row] - start;
        for (size_t i = 0; i < length; ++i) {
            const size_t at = kReverse ? start + length - 1 - i : start + i;
            const bool keeps = i == 0 || mask[at];
            places[at] = keeps ? static_cast<RowIndex>(at) : places[kReverse ? at + 1 : at - 1];
        }
    }
    return std::make_shared<ArrayColumn>(call.elements[0]->gather(places.span()), copyEnds(call));
}

TypePtr typeOfSplit(const LambdaSignature& call) {
    needCondition(call);
    return types::array(types::array(call.elements[0]));
}

/// A new array before (or, in reverse, behind) every element with the condition.
template <bool kReverse>
ColumnPtr runSplit(const LambdaCall& call) {
    const Mask mask = conditionsOf(call);
    PodVector<uint64_t> inner_ends;
    PodVector<uint64_t> ends(call.rows);
    for (size_t row = 0; row < call.rows; ++row) {
        const size_t start = call.start(row);
        const size_t end = call.ends[row];
        for (size_t at = start; at < end; ++at) {
            const bool cut_behind = kReverse ? mask[at] && at + 1 < end : at + 1 < end && mask[at + 1];
            if (cut_behind || at + 1 == end) inner_ends.push_back(at + 1);
        }
        ends[row] = inner_ends.size();
    }
    return std::make_shared<ArrayColumn>(
        std::make_shared<ArrayColumn>(call.elements[0], std::move(inner_ends)), std::move(ends));
}

// -- arrayFold ------------------------------------------------------------------------------------

class ArrayFold final : public SimpleFunction {
public:
    ArrayFold() : SimpleFunction("arrayFold") { traits_.sees_constants = true; }

    TypePtr resultType(Arguments arguments) const override {
        checkArgumentCount(name_, arguments, 3);
        for (size_t i = 1; i + 1 < arguments.size(); ++i)
            if (arguments[i].type->kind() != TypeKind::Array) failArgumentType(name_, arguments, i);
        const TypePtr& accumulator = arguments.back().type;
        const TypePtr result = lambdaResult(name_, arguments[0]);
        if (!sameType(result, accumulator))
            throw Error(ErrorCode::TYPE_MISMATCH,
                        "Return type of lambda function must be the same as the accumulator type, inferred "
                        "return type of lambda: {}, "
                        "inferred type of accumulator: {}",
                        result->name(), accumulator->name());
        return accumulator;
    }

    std::vector<TypePtr> lambdaParameterTypes(Arguments arguments, size_t, size_t parameters) const override {
        checkArgumentCount(name_, arguments, 3);
        std::vector<TypePtr> types{removeLowCardinalityRecursively(arguments.back().type)};
        for (size_t i = 1; i + 1 < arguments.size(); ++i) {
            if (arguments[i].type->kind() != TypeKind::Array) failArgumentType(name_, arguments, i);
            types.push_back(removeLowCardinalityRecursively(arguments[i].type->child()));
        }
        if (types.size() != parameters)
            throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                        "The function of {} must take {} arguments, found {}", name_, types.size(),
                        parameters);
        return types;
    }

    /// All rows take their first step together, then those that have a second element theirs, and so on.
    ColumnPtr execute(Arguments arguments, const TypePtr& result_type, size_t rows) const override {
        const LambdaColumn& lambda = lambdaOf(name_, arguments[0]);
        std::vector<ArrayArgument> arrays;
        for (size_t i = 1; i + 1 < arguments.size(); ++i) arrays.emplace_back(arguments[i].column);
        needSameLengths(Call{name_, arguments, result_type, rows, FunctionContext{}}, arrays);
        ColumnPtr state = full(arguments.back().column);
        size_t longest = 0;
        for (size_t row = 0; row < rows; ++row) longest = std::max(longest, arrays[0].length(row));
        for (size_t step = 0; step < longest; ++step) state = takeStep(lambda, arrays, state, step, rows);
        return state;
    }

private:
    static ColumnPtr takeStep(const LambdaColumn& lambda,
                              const std::vector<ArrayArgument>& arrays,
                              const ColumnPtr& state,
                              size_t step,
                              size_t rows) {
        PodVector<RowIndex> active;
        PodVector<uint64_t> ends(rows);
        for (size_t row = 0; row < rows; ++row) {
            if (step < arrays[0].length(row)) active.push_back(static_cast<RowIndex>(row));
            ends[row] = active.size();
        }
        std::vector<ColumnPtr> parameters{state->gather(active.span())};
        for (const ArrayArgument& array : arrays) {
            PodVector<RowIndex> places(active.size());
            for (size_t i = 0; i < active.size(); ++i)
                places[i] = static_cast<RowIndex>(array.start(active[i]) + step);
            parameters.push_back(array.elements()->gather(places.span()));
        }
        const ColumnPtr next = runLambda(lambda, ends.span(), parameters, active.size());
        if (active.size() == rows) return next;
        MutableColumnPtr both = state->cloneEmpty();
        both->insertRange(*state, 0, rows);
        both->insertRange(*next, 0, next->size());
        PodVector<RowIndex> order(rows);
        for (size_t row = 0; row < rows; ++row) order[row] = static_cast<RowIndex>(row);
        for (size_t i = 0; i < active.size(); ++i) order[active[i]] = static_cast<RowIndex>(rows + i);
        return both->gather(order.span());
    }
};

FunctionPtr createFold(const std::shared_ptr<const FunctionContext>&) {
    return std::make_shared<ArrayFold>();
}

}  // namespace

std::span<const FunctionInfo> arrayMapFunctions() {
    static const FunctionInfo kList[] = {
        defineLambda<"arrayMap", typeOfMap, runMap, kLambdaNeeded>(
            "arrayMap(f, array, …)", "f of every element.", "arrayMap(x -> x * 2, [1, 2])", "[2,4]"),
        defineLambda<"arrayFilter", typeOfSameArray, runFilter, kLambdaNeeded>(
            "arrayFilter(f, array, …)", "The elements for which f is not 0.",
            "arrayFilter(x -> x > 1, [1, 2])", "[2]"),
        defineLambda<"arrayExists", typeOfConditions<TypeKind::UInt8>, runExists<false>>(
            "arrayExists([f, ]array, …)", "Whether f is not 0 for any element.",
            "arrayExists(x -> x > 1, [1, 2])", "1"),
        defineLambda<"arrayAll", typeOfConditions<TypeKind::UInt8>, runExists<true>>(
            "arrayAll([f, ]array, …)", "Whether f is not 0 for all elements.", "arrayAll(x -> x > 1, [1, 2])",
            "0"),
        defineLambda<"arrayCount", typeOfConditions<TypeKind::UInt32>, runCount>(
            "arrayCount([f, ]array, …)", "For how many elements f is not 0.",
            "arrayCount(x -> x > 1, [1, 2, 3])", "2"),
        defineLambda<"arrayFirst", typeOfFirst<false>, runFirst<false, false>, kLambdaNeeded>(
            "arrayFirst(f, array, …)", "The first element for which f is not 0, or a default.",
            "arrayFirst(x -> x > 1, [1, 2, 3])", "2"),
        defineLambda<"arrayFirstOrNull", typeOfFirst<true>, runFirst<false, true>, kLambdaNeeded>(
            "arrayFirstOrNull(f, array, …)", "The same, or NULL.", "arrayFirstOrNull(x -> x > 5, [1, 2, 3])",
            "NULL"),
        defineLambda<"arrayLast", typeOfFirst<false>, runFirst<true, false>, kLambdaNeeded>(
            "arrayLast(f, array, …)", "The last element for which f is not 0, or a default.",
            "arrayLast(x -> x < 3, [1, 2, 3])", "2"),
        defineLambda<"arrayLastOrNull", typeOfFirst<true>, runFirst<true, true>, kLambdaNeeded>(
            "arrayLastOrNull(f, array, …)", "The same, or NULL.", "arrayLastOrNull(x -> x > 5, [1, 2, 3])",
            "NULL"),
        defineLambda<"arrayFirstIndex", typeOfConditions<TypeKind::UInt32>, runFirstIndex<false>,
                     kLambdaNeeded>("arrayFirstIndex(f, array, …)", "Its place, from 1.",
                                    "arrayFirstIndex(x -> x > 1, [1, 2, 3])", "2"),
        defineLambda<"arrayLastIndex", typeOfConditions<TypeKind::UInt32>, runFirstIndex<true>,
                     kLambdaNeeded>("arrayLastIndex(f, array, …)", "The last place, from 1.",
                                    "arrayLastIndex(x -> x < 3, [1, 2, 3])", "2"),
        defineLambda<"arrayFill", typeOfSameArray, runFill<false>, kLambdaNeeded>(
            "arrayFill(f, array, …)", "Elements for which f is 0 become the one before.",
            "arrayFill(x -> x > 0, [1, 0, 2])", "[1,1,2]"),
        defineLambda<"arrayReverseFill", typeOfSameArray, runFill<true>, kLambdaNeeded>(
            "arrayReverseFill(f, array, …)", "Elements for which f is 0 become the one behind.",
            "arrayReverseFill(x -> x > 0, [1, 0, 2])", "[1,2,2]"),
        defineLambda<"arraySplit", typeOfSplit, runSplit<false>, kLambdaNeeded>(
            "arraySplit(f, array, …)", "Cut before each element for which f is not 0.",
            "arraySplit(x -> x = 0, [1, 0, 2])", "[[1],[0,2]]"),
        defineLambda<"arrayReverseSplit", typeOfSplit, runSplit<true>, kLambdaNeeded>(
            "arrayReverseSplit(f, array, …)", "Cut behind each element for which f is not 0.",
            "arrayReverseSplit(x -> x = 0, [1, 0, 2])", "[[1,0],[2]]"),
        FunctionInfo{.name = "arrayFold",
                     .create = createFold,
                     .syntax = "arrayFold(f, array, …, start)",
                     .description = "f of the value so far and each element in turn.",
                     .example = "arrayFold((sum, x) -> sum + x, [1, 2], toInt64(0))",
                     .example_result = "3"},
    };
    return kList;
}

}  // namespace shardd::functions
