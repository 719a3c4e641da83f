// One value from an array, or a running one: arraySum, arrayAvg, arrayMin, arrayMax, arrayProduct,
// arrayCumSum, arrayDifference.

#include "common/columns/create_column.h"
#include "server/functions/array_lambda.h"

namespace shardd::functions {

namespace {

[[noreturn]] void failElement(const LambdaSignature& call) {
    throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                "array aggregation function cannot be performed on type {}", call.value->name());
}

bool isWide(const Type& type) { return type.width() > 8; }

/// Sums of integers are 64 bits wide (or as wide as they are), of floats Float64, of Decimals the widest of
/// the family.
TypePtr sumType(const LambdaSignature& call) {
    const Type& type = *call.value;
    if (type.isDecimal()) return types::decimal(type.kind() == TypeKind::Decimal256 ? 76 : 38, type.scale());
    if (type.isFloat()) return types::float64();
    if (type.isInteger() || type.kind() == TypeKind::Bool) {
        if (isWide(type)) return call.value;
        return type.isUnsigned() ? types::uint64() : types::int64();
    }
    failElement(call);
}

TypePtr typeOfAverage(const LambdaSignature& call) {
    if (!call.value->isNumber()) failElement(call);
    return types::float64();
}

TypePtr typeOfExtreme(const LambdaSignature& call) {
    if (call.value->kind() == TypeKind::Nothing) failElement(call);
    return call.value;
}

/// Values as 64-bit integers (wrapping, so that unsigned ones are their bits), doubles, or wide integers;
/// `run` gets a callable place -> value and stores what it makes in a column of that type.
template <typename Run>
ColumnPtr withNumbers(const LambdaCall& call, Run&& run) {
    const Type& type = *call.value_type;
    if (type.isFloat()) {
        const DoubleArgument values(call.values, call.value_type);
        return run([&](size_t at) { return values[at]; });
    }
    if (!isWide(type) && !type.isDecimal()) {
        const IntegerArgument values(call.values);
        return run([&](size_t at) { return static_cast<uint64_t>(values[at]); });
    }
    return run([&](size_t at) { return call.values->value(at).to<Int256>(); });
}

/// A column of `type` of values in one of the three forms.
template <typename T>
ColumnPtr columnOf(const TypePtr& type, const std::vector<T>& values) {
    if constexpr (std::is_same_v<T, double>) {
        return eachRow<double>(values.size(), [&](size_t i) { return values[i]; });
    } else if constexpr (std::is_same_v<T, uint64_t>) {
        if (type->physical() == Physical::Int64)
            return eachRow<int64_t>(values.size(), [&](size_t i) { return static_cast<int64_t>(values[i]); });
        if (type->physical() == Physical::UInt64)
            return eachRow<uint64_t>(values.size(), [&](size_t i) { return values[i]; });
    }
    MutableColumnPtr column = createColumn(*type);
    for (const T& value : values) {
        if constexpr (std::is_same_v<T, double>)
            column->insert(Value(value));
        else if constexpr (std::is_same_v<T, uint64_t>)
            column->insert(Value(static_cast<int64_t>(value)));
        else
            column->insert(Value(value));
    }
    return column;
}

ColumnPtr runSum(const LambdaCall& call) {
    return withNumbers(call, [&](auto&& value) {
        using T = std::decay_t<decltype(value(0))>;
        std::vector<T> sums(call.rows);
        for (size_t row = 0; row < call.rows; ++row) {
            T sum{};
            for (size_t at = call.start(row); at < call.ends[row]; ++at) sum = sum + value(at);
            sums[row] = sum;
        }
        return columnOf(call.type, sums);
    });
}

ColumnPtr runAverage(const LambdaCall& call) {
    const DoubleArgument values(call.values, call.value_type);
    return eachRow<double>(call.rows, [&](size_t row) {
        double sum = 0;
        const size_t length = call.ends[row] - call.start(row);
        for (size_t at = call.start(row); at < call.ends[row]; ++at) sum += values[at];
        return length == 0 ? 0 : sum / static_cast<double>(length);
    });
}

ColumnPtr runProduct(const LambdaCall& call) {
    const DoubleArgument values(call.values, call.value_type);
    return eachRow<double>(call.rows, [&](size_t row) {
        if (call.start(row) == call.ends[row]) return 0.0;
        double product = 1;
        for (size_t at = call.start(row); at < call.ends[row]; ++at) product *= values[at];
        return product;
    });
}

template <bool kMax>
ColumnPtr runExtreme(const LambdaCall& call) {
    const ColumnPtr all = withDefaultBehind(call.values, call.value_type);
    const Column& values = *all;
    PodVector<RowIndex> places(call.rows);
    for (size_t row = 0; row < call.rows; ++row) {
        size_t best = call.values->size();
        bool found = false;
        for (size_t at = call.start(row); at < call.ends[row]; ++at) {
            if (values.isNullAt(at)) continue;
            const int order = found ? values.compareAt(at, values, best, kMax ? -1 : 1) : 0;
            if (!found || (kMax ? order > 0 : order < 0)) best = at;
            found = true;
        }
        places[row] = static_cast<RowIndex>(best);
    }
    return all->gather(places.span());
}

// -- running --------------------------------------------------------------------------------------

TypePtr typeOfCumSum(const LambdaSignature& call) {
    if (!call.value->isNumber())
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, "{} cannot add values of type {}", call.name,
                    call.value->name());
    return types::array(sumType(call));
}

template <bool kNonNegative>
ColumnPtr runCumSum(const LambdaCall& call) {
    const TypePtr& element = call.type->child();
    const bool is_signed = !element->isUnsigned();
    return withNumbers(call, [&](auto&& value) -> ColumnPtr {
        using T = std::decay_t<decltype(value(0))>;
        std::vector<T> sums(call.values->size());
        for (size_t row = 0; row < call.rows; ++row) {
            T sum{};
            for (size_t at = call.start(row); at < call.ends[row]; ++at) {
                sum = sum + value(at);
                if constexpr (kNonNegative) {
                    if constexpr (std::is_same_v<T, uint64_t>) {
                        if (is_signed && static_cast<int64_t>(sum) < 0) sum = 0;
                    } else if (sum < T{}) {
                        sum = T{};
                    }
                }
                sums[at] = sum;
            }
        }
        return std::make_shared<ArrayColumn>(columnOf(element, sums), call.ends);
    });
}

TypePtr differenceType(const LambdaSignature& call) {
    switch (call.value->kind()) {
        case TypeKind::UInt8:
        case TypeKind::Bool:
        case TypeKind::Int8:
            return types::simple(TypeKind::Int16);
        case TypeKind::UInt16:
        case TypeKind::Int16:
        case TypeKind::Date:
            return types::simple(TypeKind::Int32);
        case TypeKind::UInt32:
        case TypeKind::UInt64:
        case TypeKind::Int32:
        case TypeKind::Int64:
        case TypeKind::DateTime:
            return types::int64();
        case TypeKind::Float32:
        case TypeKind::Float64:
            return types::float64();
        default:
            break;
    }
    if (call.value->isDecimal() || call.value->isInteger()) return call.value;
    throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, "{} cannot process values of type {}", call.name,
                call.value->name());
}

TypePtr typeOfDifference(const LambdaSignature& call) { return types::array(differenceType(call)); }

ColumnPtr runDifference(const LambdaCall& call) {
    return withNumbers(call, [&](auto&& value) -> ColumnPtr {
        using T = std::decay_t<decltype(value(0))>;
        std::vector<T> differences(call.values->size());
        for (size_t row = 0; row < call.rows; ++row)
            for (size_t at = call.start(row) + 1; at < call.ends[row]; ++at)
                differences[at] = value(at) - value(at - 1);
        return std::make_shared<ArrayColumn>(columnOf(call.type->child(), differences), call.ends);
    });
}

}  // namespace

std::span<const FunctionInfo> arrayAggregateFunctions() {
    static const FunctionInfo kList[] = {
        defineLambda<"arraySum", sumType, runSum>(
            "arraySum([f, ]array, …)", "The sum of the elements, or of f of them.", "arraySum([1, 2])", "3"),
        defineLambda<"arrayAvg", typeOfAverage, runAverage>("arrayAvg([f, ]array, …)", "The average.",
                                                            "arrayAvg([1, 2])", "1.5"),
        defineLambda<"arrayProduct", typeOfAverage, runProduct>("arrayProduct([f, ]array, …)", "The product.",
                                                                "arrayProduct([2, 3])", "6"),
        defineLambda<"arrayMin", typeOfExtreme, runExtreme<false>>(
            "arrayMin([f, ]array, …)", "The least element.", "arrayMin([2, 1])", "1"),
        defineLambda<"arrayMax", typeOfExtreme, runExtreme<true>>(
            "arrayMax([f, ]array, …)", "The greatest element.", "arrayMax([2, 1])", "2"),
        defineLambda<"arrayCumSum", typeOfCumSum, runCumSum<false>>("arrayCumSum([f, ]array, …)",
                                                                    "The sums up to each element.",
                                                                    "arrayCumSum([1, 2, 3])", "[1,3,6]"),
        defineLambda<"arrayCumSumNonNegative", typeOfCumSum, runCumSum<true>>(
            "arrayCumSumNonNegative([f, ]array, …)", "The same, never below 0.",
            "arrayCumSumNonNegative([1, -2, 3])", "[1,0,3]"),
        defineLambda<"arrayDifference", typeOfDifference, runDifference>(
            "arrayDifference([f, ]array, …)", "What each element has more than the one before.",
            "arrayDifference([1, 4, 2])", "[0,3,-2]"),
    };
    return kList;
}

}  // namespace shardd::functions
