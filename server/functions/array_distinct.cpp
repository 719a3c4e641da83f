// Equal elements of arrays: arrayDistinct, arrayUniq, arrayEnumerateUniq, arrayIntersect, arrayUnion,
// arrayExcept …

#include "common/columns/create_column.h"
#include "server/functions/array_support.h"

namespace shardd::functions {

namespace {

// -- one array ------------------------------------------------------------------------------------

TypePtr typeOfDistinct(const Signature& call) {
    needCount(call, 1);
    needArray(call, 0);
    return types::array(removeNullable(call.type(0)->child()));
}

ColumnPtr runDistinct(const Call& call) {
    const ArrayArgument arrays(call.column(0));
    const Column& elements = *arrays.elements();
    PlaceIndex index({&elements});
    ArrayPicker picker(call.rows);
    for (size_t row = 0; row < call.rows; ++row) {
        index.begin(arrays.length(row));
        for (size_t place = arrays.start(row); place < arrays.end(row); ++place)
            if (!elements.isNullAt(place) && index.add(place) == place) picker.pick(place);
        picker.endRow();
    }
    const bool nullable = call.argumentType(0)->child()->isNullable();
    return picker.finish(nullable ? *as<NullableColumn>(elements).values() : elements);
}

/// One or more arrays of equal lengths; their elements at one place count as one tuple.
void needArrays(const Signature& call) {
    needCount(call, 1, SIZE_MAX);
    for (size_t i = 0; i < call.count(); ++i)
        if (call.type(i)->kind() != TypeKind::Array)
            throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                        "All arguments for function {} must be arrays but argument {} has type {}", call.name,
                        i + 1, call.type(i)->name());
}

TypePtr typeOfUniq(const Signature& call) {
    needArrays(call);
    return types::simple(TypeKind::UInt32);
}

TypePtr typeOfEnumerateUniq(const Signature& call) {
    needArrays(call);
    return types::array(types::simple(TypeKind::UInt32));
}

/// `take(row, place, first place equal to it)` for all places of all rows.
template <typename BeginRow, typename Take>
PodVector<uint64_t> eachPlace(const Call& call, BeginRow&& begin_row, Take&& take) {
    std::vector<ColumnPtr> holders;
    std::vector<ArrayArgument> arrays;
    std::vector<const Column*> elements;
    for (const NamedColumn& argument : call.arguments) holders.push_back(full(argument.column));
    for (const ColumnPtr& holder : holders) {
        arrays.emplace_back(holder);
        elements.push_back(arrays.back().elements().get());
    }
    needSameLengths(call, arrays);
    PlaceIndex index(elements);
    for (size_t row = 0; row < call.rows; ++row) {
        index.begin(arrays[0].length(row));
        begin_row(row);
        for (size_t place = arrays[0].start(row); place < arrays[0].end(row); ++place)
            take(row, place, index.add(place));
    }
    return arrays[0].arrays().ends();
}

ColumnPtr runUniq(const Call& call) {
    PodVector<uint32_t> result(call.rows, 0);
    eachPlace(
        call, [](size_t) {}, [&](size_t row, size_t place, size_t first) { result[row] += place == first; });
    return fixedColumn(std::move(result));
}

/// kDense: the number of the distinct value; otherwise how often it has come up to here.
template <bool kDense>
ColumnPtr runEnumerateUniq(const Call& call) {
    PodVector<uint32_t> numbers;
    std::vector<uint32_t> counts;  // by the first place
    uint32_t distinct = 0;
    PodVector<uint64_t> ends = eachPlace(
        call, [&](size_t) { distinct = 0; },
        [&](size_t, size_t place, size_t first) {
            if (counts.size() <= place) counts.resize(place + 1024, 0);
            if (kDense)
                numbers.push_back(place == first ? counts[first] = ++distinct : counts[first]);
            else
                numbers.push_back(++counts[first]);
        });
    return std::make_shared<ArrayColumn>(fixedColumn(std::move(numbers)), std::move(ends));
}

// -- several arrays -------------------------------------------------------------------------------

enum class SetOperation { Intersect, Union, SymmetricDifference, Except };

TypePtr elementTypeOf(const Signature& call, size_t i) {
    needArray(call, i);
    return removeLowCardinalityRecursively(call.type(i)->child());
}

/// arrayIntersect answers in the narrowest integer type among its arguments; the values common to all fit it.
TypePtr narrowest(const std::vector<TypePtr>& all) {
    const bool integers =
        std::all_of(all.begin(), all.end(), [](const TypePtr& t) { return removeNullable(t)->isInteger(); });
    if (!integers) return nullptr;
    const bool nullable =
        std::all_of(all.begin(), all.end(), [](const TypePtr& t) { return t->isNullable(); });
    TypePtr least = removeNullable(all[0]);
    for (const TypePtr& type : all) {
        const TypePtr bare = removeNullable(type);
        if (bare->width() < least->width() ||
            (bare->width() == least->width() && bare->isUnsigned() && !least->isUnsigned()))
            least = bare;
    }
    return nullable ? types::nullable(least) : least;
}

template <SetOperation kOperation>
TypePtr typeOfSetOperation(const Signature& call) {
    if (kOperation == SetOperation::Except)
        needCount(call, 2);
    else
        needCount(call, 1, SIZE_MAX);
    std::vector<TypePtr> all;
    for (size_t i = 0; i < call.count(); ++i) all.push_back(elementTypeOf(call, i));
    const auto nothing = [](const TypePtr& t) { return t->kind() == TypeKind::Nothing; };
    if (kOperation == SetOperation::Except) {
        if (!nothing(all[0]) && !nothing(all[1])) comparableType(all[0], all[1]);
        return types::array(all[0]);
    }
    if (kOperation == SetOperation::Intersect) {
        if (std::any_of(all.begin(), all.end(), nothing))
            return types::array(types::simple(TypeKind::Nothing));
        if (const TypePtr least = narrowest(all)) return types::array(least);
        const TypePtr common = commonType(all);
        const bool nullable =
            std::all_of(all.begin(), all.end(), [](const TypePtr& t) { return t->isNullable(); });
        return types::array(nullable ? common : removeNullable(common));
    }
    return types::array(commonType(std::move(all)));
}

/// All arrays in one column of their common type.
struct Gathered {
    TypePtr element;
    std::vector<ArrayArgument> arrays;
    std::vector<size_t> offsets;
    ColumnPtr elements;
};

Gathered gather(const Call& call) {
    Gathered all;
    std::vector<TypePtr> element_types;
    for (const NamedColumn& argument : call.arguments) {
        const TypePtr element = removeLowCardinalityRecursively(argument.type->child());
        if (element->kind() != TypeKind::Nothing) element_types.push_back(element);
    }
    all.element = element_types.empty() ? types::simple(TypeKind::Nothing) : element_types[0];
    for (const TypePtr& type : element_types) all.element = comparableType(all.element, type);
    std::vector<ColumnPtr> parts;
    size_t total = 0;
    for (const NamedColumn& argument : call.arguments) {
        const NamedColumn plain{"", removeLowCardinalityRecursively(argument.type),
                                writeOutDictionaries(argument.column, argument.type)};
        all.arrays.emplace_back(castArgument(plain, types::array(all.element), call.rows));
        parts.push_back(all.arrays.back().elements());
        all.offsets.push_back(total);
        total += parts.back()->size();
    }
    all.elements = concatenateColumns(parts, all.element);
    return all;
}

/// Bits of the arguments in which a value lies, by its first place.
template <SetOperation kOperation>
bool keeps(uint32_t seen_count, bool in_first, size_t arrays) {
    switch (kOperation) {
        case SetOperation::Intersect:
            return seen_count == arrays;
        case SetOperation::Union:
            return true;
        case SetOperation::SymmetricDifference:
            return seen_count != arrays;
        case SetOperation::Except:
            return in_first && seen_count == 1;
    }
    return false;
}

template <SetOperation kOperation>
ColumnPtr runSetOperation(const Call& call) {
    if (call.type->child()->kind() == TypeKind::Nothing)
        return createConstColumn(*call.type, Value(ArrayValue{}), call.rows);
    const Gathered all = gather(call);
    PlaceIndex index({all.elements.get()});
    ArrayPicker picker(call.rows);
    std::vector<size_t> order;
    PodVector<uint32_t> counts(all.elements->size() + 1, 0);
    PodVector<uint32_t> last_seen(all.elements->size() + 1, 0);
    for (size_t row = 0; row < call.rows; ++row) {
        size_t expected = 0;
        for (const ArrayArgument& array : all.arrays) expected += array.length(row);
        index.begin(expected);
        order.clear();
        for (uint32_t i = 0; i < all.arrays.size(); ++i) {
            for (size_t at = all.arrays[i].start(row); at < all.arrays[i].end(row); ++at) {
                const size_t place = all.offsets[i] + at;
                const size_t first = index.add(place);
                if (first == place) {
                    order.push_back(place);
                    counts[place] = 1;
                    last_seen[place] = i;
                } else if (last_seen[first] != i) {
                    ++counts[first];
                    last_seen[first] = i;
                }
            }
        }
        const size_t first_end = all.arrays[0].elements()->size();
        for (const size_t place : order)
            if (keeps<kOperation>(counts[place], place < first_end, all.arrays.size())) picker.pick(place);
        picker.endRow();
    }
    const NamedColumn result{"", types::array(all.element), picker.finish(*all.elements)};
    return castArgument(result, call.type, call.rows);
}

/// The first array without the elements of the second; repeated ones stay repeated.
ColumnPtr runExcept(const Call& call) {
    const Gathered all = gather(call);
    PlaceIndex index({all.elements.get()});
    ArrayPicker picker(call.rows);
    for (size_t row = 0; row < call.rows; ++row) {
        index.begin(all.arrays[1].length(row));
        for (size_t at = all.arrays[1].start(row); at < all.arrays[1].end(row); ++at)
            index.add(all.offsets[1] + at);
        for (size_t at = all.arrays[0].start(row); at < all.arrays[0].end(row); ++at)
            if (index.find(at) == SIZE_MAX) picker.pick(at);
        picker.endRow();
    }
    const NamedColumn result{"", types::array(all.element), picker.finish(*all.elements)};
    return castArgument(result, call.type, call.rows);
}

TypePtr typeOfJaccard(const Signature& call) {
    needCount(call, 2);
    needArray(call, 0);
    needArray(call, 1);
    return types::float64();
}

ColumnPtr runJaccard(const Call& call) {
    const Gathered all = gather(call);
    PlaceIndex index({all.elements.get()});
    return eachRow<double>(call.rows, [&](size_t row) {
        index.begin(all.arrays[0].length(row) + all.arrays[1].length(row));
        size_t distinct = 0;
        size_t common = 0;
        const size_t border = all.offsets[1];
        std::vector<size_t> counted;
        for (size_t i = 0; i < 2; ++i) {
            for (size_t at = all.arrays[i].start(row); at < all.arrays[i].end(row); ++at) {
                const size_t place = all.offsets[i] + at;
                const size_t first = index.add(place);
                if (first == place) {
                    ++distinct;
                } else if (i == 1 && first < border &&
                           std::find(counted.begin(), counted.end(), first) == counted.end()) {
                    ++common;
                    counted.push_back(first);
                }
            }
        }
        return static_cast<double>(common) / static_cast<double>(distinct);
    });
}

}  // namespace

std::span<const FunctionInfo> arrayDistinctFunctions() {
    static const FunctionInfo kList[] = {
        define<"arrayDistinct", typeOfDistinct, runDistinct>(
            "arrayDistinct(array)", "Every value once, without NULL.", "arrayDistinct([1, 2, 1])", "[1,2]"),
        define<"arrayUniq", typeOfUniq, runUniq, kMayThrow>("arrayUniq(array, …)",
                                                            "How many different values, or tuples of values.",
                                                            "arrayUniq([1, 2, 1])", "2"),
        define<"arrayEnumerateUniq", typeOfEnumerateUniq, runEnumerateUniq<false>, kMayThrow>(
            "arrayEnumerateUniq(array, …)", "For each element how often it has come up to here.",
            "arrayEnumerateUniq([1, 2, 1])", "[1,1,2]"),
        define<"arrayEnumerateDense", typeOfEnumerateUniq, runEnumerateUniq<true>, kMayThrow>(
            "arrayEnumerateDense(array, …)", "For each element the number of its value.",
            "arrayEnumerateDense([10, 20, 10])", "[1,2,1]"),
        define<"arrayIntersect", typeOfSetOperation<SetOperation::Intersect>,
               runSetOperation<SetOperation::Intersect>>("arrayIntersect(a, …)",
                                                         "The values that are in all arrays.",
                                                         "arrayIntersect([1, 2], [2, 3])", "[2]"),
        define<"arrayUnion", typeOfSetOperation<SetOperation::Union>, runSetOperation<SetOperation::Union>>(
            "arrayUnion(a, …)", "The values that are in any array."),
        define<"arraySymmetricDifference", typeOfSetOperation<SetOperation::SymmetricDifference>,
               runSetOperation<SetOperation::SymmetricDifference>>("arraySymmetricDifference(a, …)",
                                                                   "The values that are not in all arrays."),
        define<"arrayExcept", typeOfSetOperation<SetOperation::Except>, runExcept>(
            "arrayExcept(a, b)", "The elements of a that are not in b.", "arrayExcept([1, 2, 3], [2])",
            "[1,3]"),
        define<"arrayJaccardIndex", typeOfJaccard, runJaccard>("arrayJaccardIndex(a, b)",
                                                               "The share of common values.",
                                                               "arrayJaccardIndex([1, 2], [1, 2])", "1"),
    };
    return kList;
}

}  // namespace shardd::functions
