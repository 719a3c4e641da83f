// Arrays made from values and from other arrays: array, range, arrayConcat, arrayPush*, arrayResize, arrayZip
// …

#include "common/columns/create_column.h"
#include "common/columns/tuple_column.h"
#include "server/functions/array_support.h"

namespace shardd::functions {

namespace {

TypePtr elementOf(const Signature& call, size_t i) {
    needArray(call, i);
    return call.type(i)->child();
}

// -- array ----------------------------------------------------------------------------------------

TypePtr typeOfArray(const Signature& call) {
    if (call.count() == 0) return types::array(types::simple(TypeKind::Nothing));
    std::vector<TypePtr> all;
    for (size_t i = 0; i < call.count(); ++i) all.push_back(call.type(i));
    return types::array(commonType(std::move(all)));
}

ColumnPtr runArray(const Call& call) {
    const TypePtr& element = call.type->child();
    const size_t count = call.count();
    if (count == 0) {
        return std::make_shared<ArrayColumn>(ColumnPtr(createColumn(*element)),
                                             PodVector<uint64_t>(call.rows, 0));
    }
    std::vector<ColumnPtr> columns;
    for (size_t i = 0; i < count; ++i)
        columns.push_back(full(castArgument(call.arguments[i], element, call.rows)));
    PodVector<uint64_t> ends(call.rows);
    for (size_t row = 0; row < call.rows; ++row) ends[row] = (row + 1) * count;
    if (count == 1) return std::make_shared<ArrayColumn>(columns[0], std::move(ends));
    const ColumnPtr all = concatenateColumns(columns, element);
    PodVector<RowIndex> places(call.rows * count);
    for (size_t row = 0; row < call.rows; ++row)
        for (size_t i = 0; i < count; ++i)
            places[row * count + i] = static_cast<RowIndex>(i * call.rows + row);
    return std::make_shared<ArrayColumn>(all->gather(places.span()), std::move(ends));
}

// -- range ----------------------------------------------------------------------------------------

constexpr uint64_t kMaxElements = 500'000'000;

TypePtr typeOfRange(const Signature& call) {
    needCount(call, 1, 3);
    std::vector<TypePtr> all;
    for (size_t i = 0; i < call.count(); ++i) {
        if (call.type(i)->isNullable() && call.type(i)->child()->kind() == TypeKind::Nothing)
            return types::nullable(types::simple(TypeKind::Nothing));
        const TypePtr type = removeNullable(call.type(i));
        if (!type->isInteger() || type->width() > 8) illegalArgument(call, i, "an integer");
        all.push_back(type);
    }
    // A start or a step below zero makes room for it: the common type of integers, signed where one is.
    return types::array(commonType(std::move(all)));
}

template <typename T>
ColumnPtr fillRange(const Call& call) {
    const bool only_end = call.count() == 1;
    const IntegerArgument first(call.column(0));
    std::optional<IntegerArgument> second;
    std::optional<IntegerArgument> third;
    if (call.count() > 1) second.emplace(call.column(1));
    if (call.count() > 2) third.emplace(call.column(2));
    PodVector<T> values;
    PodVector<uint64_t> ends(call.rows);
    for (size_t row = 0; row < call.rows; ++row) {
        const int64_t start = only_end ? 0 : first[row];
        const int64_t end = only_end ? first[row] : (*second)[row];
        const int64_t step = third ? (*third)[row] : 1;
        if (only_end && end < 0)
            throw Error(
                ErrorCode::ARGUMENT_OUT_OF_BOUND,
                "A call to function {} overflows, only support positive values when only end is provided",
                call.name);
        if (step == 0 && start != end)
            throw Error(ErrorCode::ARGUMENT_OUT_OF_BOUND,
                        "A call to function {} underflows, the 3rd argument step can't be 0", call.name);
        uint64_t count = 0;
        if (step > 0 && end > start)
            count = (static_cast<uint64_t>(end) - static_cast<uint64_t>(start) - 1) /
                        static_cast<uint64_t>(step) +
                    1;
        if (step < 0 && end < start)
            count = (static_cast<uint64_t>(start) - static_cast<uint64_t>(end) - 1) /
                        (0 - static_cast<uint64_t>(step)) +
                    1;
        if (count + values.size() > kMaxElements)
            throw Error(ErrorCode::ARGUMENT_OUT_OF_BOUND,
                        "A call to function {} would produce {} array elements, which is greater than the "
                        "allowed maximum of {}",
                        call.name, count + values.size(), kMaxElements);
        const size_t at = values.size();
        values.resize(at + count);
        auto value = static_cast<uint64_t>(start);
        for (size_t i = 0; i < count; ++i, value += static_cast<uint64_t>(step))
            values[at + i] = static_cast<T>(value);
        ends[row] = values.size();
    }
    return std::make_shared<ArrayColumn>(fixedColumn(std::move(values)), std::move(ends));
}

ColumnPtr runRange(const Call& call) {
    if (call.type->isNullable()) return createConstColumn(*call.type, Value(), call.rows);
    std::vector<NamedColumn> arguments(call.arguments.begin(), call.arguments.end());
    for (NamedColumn& argument : arguments) {
        if (!argument.type->isNullable()) continue;
        const ColumnPtr column = full(argument.column);
        for (size_t row = 0; row < call.rows; ++row)
            if (column->isNullAt(row))
                throw Error(ErrorCode::BAD_ARGUMENTS,
                            "Illegal (null) value column of argument of function {}", call.name);
        argument.column = as<NullableColumn>(*column).values();
    }
    const Call bare{call.name, arguments, call.type, call.rows, call.context};
    switch (call.type->child()->kind()) {
        case TypeKind::UInt8:
            return fillRange<uint8_t>(bare);
        case TypeKind::UInt16:
            return fillRange<uint16_t>(bare);
        case TypeKind::UInt32:
            return fillRange<uint32_t>(bare);
        case TypeKind::UInt64:
            return fillRange<uint64_t>(bare);
        case TypeKind::Int8:
            return fillRange<int8_t>(bare);
        case TypeKind::Int16:
            return fillRange<int16_t>(bare);
        case TypeKind::Int32:
            return fillRange<int32_t>(bare);
        default:
            return fillRange<int64_t>(bare);
    }
}

// -- empty arrays, constants ----------------------------------------------------------------------

template <TypeKind kElement>
TypePtr typeOfEmptyArray(const Signature& call) {
    needCount(call, 0);
    return types::array(types::simple(kElement));
}

ColumnPtr runEmptyArray(const Call& call) {
    return createConstColumn(*call.type, Value(ArrayValue{}), call.rows);
}

TypePtr typeOfWithConstant(const Signature& call) {
    needCount(call, 2);
    needInteger(call, 0);
    return types::array(call.type(1));
}

ColumnPtr runWithConstant(const Call& call) {
    const IntegerArgument lengths(call.column(0));
    PodVector<uint64_t> ends(call.rows);
    uint64_t total = 0;
    for (size_t row = 0; row < call.rows; ++row) {
        if (lengths[row] < 0)
            throw Error(ErrorCode::TOO_LARGE_ARRAY_SIZE,
                        "Array size {} cannot be negative: while executing function arrayWithConstant",
                        lengths[row]);
        total += static_cast<uint64_t>(lengths[row]);
        if (lengths[row] > (1 << 30) || total > (uint64_t{1} << 30))
            throw Error(ErrorCode::TOO_LARGE_ARRAY_SIZE,
                        "Too large array size {} (will generate at least {} elements) while executing "
                        "function arrayWithConstant",
                        lengths[row], total);
        ends[row] = total;
    }
    return std::make_shared<ArrayColumn>(full(call.column(1))->replicate(ends.span()), std::move(ends));
}

TypePtr typeOfReplicate(const Signature& call) {
    needCount(call, 2, SIZE_MAX);
    for (size_t i = 1; i < call.count(); ++i) elementOf(call, i);
    return types::array(call.type(0));
}

ColumnPtr runReplicate(const Call& call) {
    const ColumnPtr like = full(call.column(1));
    const PodVector<uint64_t>& ends = as<ArrayColumn>(*like).ends();
    return std::make_shared<ArrayColumn>(full(call.column(0))->replicate(ends.span()), ends);
}

// -- joining arrays -------------------------------------------------------------------------------

TypePtr typeOfConcat(const Signature& call) {
    needCount(call, 1, SIZE_MAX);
    std::vector<TypePtr> all;
    for (size_t i = 0; i < call.count(); ++i) {
        if (call.type(i)->isNullable() && call.type(i)->child()->kind() == TypeKind::Nothing)
            return call.type(i);
        needArray(call, i);
        all.push_back(call.type(i));
    }
    return commonType(std::move(all));
}

ColumnPtr concatArrays(const Call& call, const std::vector<ColumnPtr>& columns, const TypePtr& element) {
    std::vector<ArrayArgument> arrays(columns.begin(), columns.end());
    std::vector<ColumnPtr> elements;
    std::vector<size_t> offsets;
    size_t total = 0;
    for (const ArrayArgument& array : arrays) {
        elements.push_back(array.elements());
        offsets.push_back(total);
        total += array.elements()->size();
    }
    const ColumnPtr all = concatenateColumns(elements, element);
    ArrayPicker picker(call.rows);
    for (size_t row = 0; row < call.rows; ++row) {
        for (size_t i = 0; i < arrays.size(); ++i)
            for (size_t at = arrays[i].start(row); at < arrays[i].end(row); ++at)
                picker.pick(offsets[i] + at);
        picker.endRow();
    }
    return picker.finish(*all);
}

ColumnPtr runConcat(const Call& call) {
    if (call.type->isNullable()) return createConstColumn(*call.type, Value(), call.rows);
    std::vector<ColumnPtr> columns;
    for (const NamedColumn& argument : call.arguments)
        columns.push_back(castArgument(argument, call.type, call.rows));
    return concatArrays(call, columns, call.type->child());
}

TypePtr typeOfPush(const Signature& call) {
    needCount(call, 2);
    if (call.type(0)->isNullable() && call.type(0)->child()->kind() == TypeKind::Nothing) return call.type(0);
    return types::array(commonType({elementOf(call, 0), call.type(1)}));
}

template <bool kFront>
ColumnPtr runPush(const Call& call) {
    if (call.type->isNullable()) return createConstColumn(*call.type, Value(), call.rows);
    const TypePtr& element = call.type->child();
    PodVector<uint64_t> ends(call.rows);
    for (size_t row = 0; row < call.rows; ++row) ends[row] = row + 1;
    const ColumnPtr arrays = castArgument(call.arguments[0], call.type, call.rows);
    const ColumnPtr pushed = std::make_shared<ArrayColumn>(
        full(castArgument(call.arguments[1], element, call.rows)), std::move(ends));
    return concatArrays(call, kFront ? std::vector{pushed, arrays} : std::vector{arrays, pushed}, element);
}

// -- other lengths --------------------------------------------------------------------------------

template <bool kFront>
ColumnPtr runPop(const Call& call) {
    const ArrayArgument arrays(call.column(0));
    ArrayPicker picker(call.rows);
    for (size_t row = 0; row < call.rows; ++row) {
        const size_t from = arrays.start(row) + (kFront ? 1 : 0);
        const size_t to = arrays.end(row) - (kFront || arrays.length(row) == 0 ? 0 : 1);
        for (size_t at = from; at < to; ++at) picker.pick(at);
        picker.endRow();
    }
    return picker.finish(*arrays.elements());
}

TypePtr typeOfSameArray(const Signature& call) {
    needCount(call, 1);
    needArray(call, 0);
    return call.type(0);
}

TypePtr typeOfResize(const Signature& call) {
    needCount(call, 2, 3);
    needArray(call, 0);
    needInteger(call, 1);
    if (call.count() == 2) return call.type(0);
    return types::array(commonType({call.type(0)->child(), call.type(2)}));
}

ColumnPtr runResize(const Call& call) {
    const TypePtr& element = call.type->child();
    const ArrayArgument arrays(castArgument(call.arguments[0], call.type, call.rows));
    const IntegerArgument lengths(call.column(1));
    const size_t own = arrays.elements()->size();
    ColumnPtr all;
    if (call.count() == 3) {
        const ColumnPtr parts[] = {arrays.elements(),
                                   full(castArgument(call.arguments[2], element, call.rows))};
        all = concatenateColumns(parts, element);
    } else {
        all = withDefaultBehind(arrays.elements(), element);
    }
    ArrayPicker picker(call.rows);
    for (size_t row = 0; row < call.rows; ++row) {
        const int64_t length = lengths[row];
        if (length > (1 << 30) || length < -(1 << 30))
            throw Error(ErrorCode::TOO_LARGE_ARRAY_SIZE, "Too large array size: {}", length);
        const auto wanted = static_cast<size_t>(length < 0 ? -length : length);
        const size_t kept = std::min(wanted, arrays.length(row));
        const size_t filler = call.count() == 3 ? own + row : own;
        if (length < 0)
            for (size_t i = kept; i < wanted; ++i) picker.pick(filler);
        const size_t from = length < 0 ? arrays.end(row) - kept : arrays.start(row);
        for (size_t i = 0; i < kept; ++i) picker.pick(from + i);
        if (length >= 0)
            for (size_t i = kept; i < wanted; ++i) picker.pick(filler);
        picker.endRow();
    }
    return picker.finish(*all);
}

ColumnPtr runEmptyToSingle(const Call& call) {
    const ArrayArgument arrays(call.column(0));
    const ColumnPtr all = withDefaultBehind(arrays.elements(), call.type->child());
    ArrayPicker picker(call.rows);
    for (size_t row = 0; row < call.rows; ++row) {
        if (arrays.length(row) == 0) picker.pick(arrays.elements()->size());
        for (size_t at = arrays.start(row); at < arrays.end(row); ++at) picker.pick(at);
        picker.endRow();
    }
    return picker.finish(*all);
}

// -- zip, flatten, enumerate ----------------------------------------------------------------------

template <bool kUnaligned>
TypePtr typeOfZip(const Signature& call) {
    std::vector<TypePtr> elements;
    for (size_t i = 0; i < call.count(); ++i) {
        const TypePtr element = elementOf(call, i);
        elements.push_back(kUnaligned ? makeNullable(element) : element);
    }
    return types::array(types::tuple(std::move(elements)));
}

ColumnPtr runZip(const Call& call) {
    if (call.count() == 0) return createConstColumn(*call.type, Value(ArrayValue{}), call.rows);
    std::vector<ColumnPtr> holders;
    std::vector<ArrayArgument> arrays;
    for (const NamedColumn& argument : call.arguments) holders.push_back(full(argument.column));
    for (const ColumnPtr& holder : holders) arrays.emplace_back(holder);
    needSameLengths(call, arrays);
    std::vector<ColumnPtr> elements;
    for (const ArrayArgument& array : arrays) elements.push_back(array.elements());
    const size_t count = elements[0]->size();
    return std::make_shared<ArrayColumn>(std::make_shared<TupleColumn>(std::move(elements), count),
                                         arrays[0].arrays().ends());
}

ColumnPtr runZipUnaligned(const Call& call) {
    std::vector<ArrayArgument> arrays;
    for (const NamedColumn& argument : call.arguments) arrays.emplace_back(argument.column);
    PodVector<uint64_t> ends(call.rows);
    uint64_t total = 0;
    for (size_t row = 0; row < call.rows; ++row) {
        size_t longest = 0;
        for (const ArrayArgument& array : arrays) longest = std::max(longest, array.length(row));
        ends[row] = total += longest;
    }
    std::vector<ColumnPtr> elements;
    for (size_t i = 0; i < arrays.size(); ++i) {
        const TypePtr& type = call.type->child()->child(i);
        const NamedColumn argument{"", call.argumentType(i)->child(), arrays[i].elements()};
        const ColumnPtr all =
            withDefaultBehind(full(castArgument(argument, type, argument.column->size())), type);
        PodVector<RowIndex> places;
        places.reserve(total);
        for (size_t row = 0; row < call.rows; ++row) {
            const size_t length = ends[row] - (row ? ends[row - 1] : 0);
            for (size_t at = 0; at < length; ++at)
                places.push_back(static_cast<RowIndex>(at < arrays[i].length(row) ? arrays[i].start(row) + at
                                                                                  : all->size() - 1));
        }
        elements.push_back(all->gather(places.span()));
    }
    return std::make_shared<ArrayColumn>(std::make_shared<TupleColumn>(std::move(elements), total),
                                         std::move(ends));
}

TypePtr typeOfFlatten(const Signature& call) {
    needCount(call, 1);
    TypePtr type = elementOf(call, 0);
    while (type->kind() == TypeKind::Array) type = type->child();
    return types::array(type);
}

ColumnPtr runFlatten(const Call& call) {
    const ColumnPtr column = full(call.column(0));
    const auto* array = &as<ArrayColumn>(*column);
    PodVector<uint64_t> ends = array->ends();
    while (array->elements()->kind() == ColumnKind::Array) {
        array = &as<ArrayColumn>(*array->elements());
        for (uint64_t& end : ends) end = end == 0 ? 0 : array->ends()[end - 1];
    }
    return std::make_shared<ArrayColumn>(array->elements(), std::move(ends));
}

TypePtr typeOfEnumerate(const Signature& call) {
    needCount(call, 1);
    needArray(call, 0);
    return types::array(types::simple(TypeKind::UInt32));
}

ColumnPtr runEnumerate(const Call& call) {
    const ColumnPtr column = full(call.column(0));
    const PodVector<uint64_t>& ends = as<ArrayColumn>(*column).ends();
    PodVector<uint32_t> numbers(ends.empty() ? 0 : ends.back());
    uint64_t start = 0;
    for (const uint64_t end : ends) {
        for (uint64_t i = start; i < end; ++i) numbers[i] = static_cast<uint32_t>(i - start + 1);
        start = end;
    }
    return std::make_shared<ArrayColumn>(fixedColumn(std::move(numbers)), ends);
}

#define EMPTY_ARRAY(kind)                                                                                \
    define<"emptyArray" #kind, typeOfEmptyArray<TypeKind::kind>, runEmptyArray>("emptyArray" #kind "()", \
                                                                                "An empty array.")

}  // namespace

std::span<const FunctionInfo> arrayBuildFunctions() {
    static const FunctionInfo kList[] = {
        define<"array", typeOfArray, runArray, kSeesNulls | kSeesDictionaries>(
            "array(x, …)", "An array of the arguments, converted to their common type.", "array(1, 2)",
            "[1,2]"),
        define<"range", typeOfRange, runRange, kSeesNulls | kMayThrow>(
            "range([start, ]end[, step])", "Numbers from start up to, without, end.", "range(2, 5)",
            "[2,3,4]"),
        EMPTY_ARRAY(UInt8),
        EMPTY_ARRAY(UInt16),
        EMPTY_ARRAY(UInt32),
        EMPTY_ARRAY(UInt64),
        EMPTY_ARRAY(Int8),
        EMPTY_ARRAY(Int16),
        EMPTY_ARRAY(Int32),
        EMPTY_ARRAY(Int64),
        EMPTY_ARRAY(Float32),
        EMPTY_ARRAY(Float64),
        EMPTY_ARRAY(Date),
        EMPTY_ARRAY(DateTime),
        EMPTY_ARRAY(String),
        define<"arrayWithConstant", typeOfWithConstant, runWithConstant, kSeesNulls | kMayThrow>(
            "arrayWithConstant(length, x)", "x, length times.", "arrayWithConstant(2, 'a')", "['a','a']"),
        define<"replicate", typeOfReplicate, runReplicate, kSeesNulls>(
            "replicate(x, array)", "x once for each element of the array.", "replicate('x', [1, 2])",
            "['x','x']"),
        define<"arrayConcat", typeOfConcat, runConcat, kSeesNulls>(
            "arrayConcat(a, b, …)", "Arrays one after another.", "arrayConcat([1], [2, 3])", "[1,2,3]"),
        define<"arrayPushBack", typeOfPush, runPush<false>, kSeesNulls>(
            "arrayPushBack(array, x)", "The array with x behind it.", "arrayPushBack([1], 2)", "[1,2]"),
        define<"arrayPushFront", typeOfPush, runPush<true>, kSeesNulls>(
            "arrayPushFront(array, x)", "The array with x before it.", "arrayPushFront([1], 2)", "[2,1]"),
        define<"arrayPopBack", typeOfSameArray, runPop<false>>(
            "arrayPopBack(array)", "All but the last element.", "arrayPopBack([1, 2])", "[1]"),
        define<"arrayPopFront", typeOfSameArray, runPop<true>>(
            "arrayPopFront(array)", "All but the first element.", "arrayPopFront([1, 2])", "[2]"),
        define<"arrayResize", typeOfResize, runResize, kSeesNulls | kMayThrow>(
            "arrayResize(array, length[, x])",
            "Cut or filled up to a length, on the left when it is negative.", "arrayResize([1, 2], 3)",
            "[1,2,0]"),
        define<"emptyArrayToSingle", typeOfSameArray, runEmptyToSingle>(
            "emptyArrayToSingle(array)", "An empty array becomes one with a default in it.",
            "emptyArrayToSingle(emptyArrayInt8())", "[0]"),
        define<"arrayZip", typeOfZip<false>, runZip, kMayThrow>("arrayZip(a, b, …)", "An array of tuples.",
                                                                "arrayZip([1], ['a'])", "[(1,'a')]"),
        define<"arrayZipUnaligned", typeOfZip<true>, runZipUnaligned>(
            "arrayZipUnaligned(a, b, …)",
            "arrayZip of arrays of different lengths; NULL where one has ended.",
            "arrayZipUnaligned([1, 2], ['a'])", "[(1,'a'),(2,NULL)]"),
        define<"arrayFlatten", typeOfFlatten, runFlatten>("arrayFlatten(array)",
                                                          "Arrays of arrays as one array.",
                                                          "arrayFlatten([[1], [2, 3]])", "[1,2,3]"),
        define<"arrayEnumerate", typeOfEnumerate, runEnumerate>("arrayEnumerate(array)", "1, 2, 3, …",
                                                                "arrayEnumerate([5, 6])", "[1,2]"),
    };
    return kList;
}

}  // namespace shardd::functions
