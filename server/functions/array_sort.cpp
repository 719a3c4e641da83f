// arraySort, arrayReverseSort, their partial forms and arrayTopK.

#include <numeric>

#include "server/functions/array_lambda.h"
#include "server/functions/numbers.h"

namespace shardd::functions {

namespace {

TypePtr typeOfSort(const LambdaSignature& call) { return types::array(call.elements[0]); }

/// A value of a row by what it is compared as, beside its place.
template <typename Key>
struct Placed {
    Key key;
    RowIndex place;
};

constexpr bool isNaN(double value) { return value != value; }

/// As the values themselves compare: unsigned, signed, or as floats with NaN last in either direction.
template <typename Key>
bool before(const Key& a, const Key& b) {
    if constexpr (std::is_same_v<Key, double>)
        if (isNaN(a) || isNaN(b)) return !isNaN(a) && isNaN(b);
    return a < b;
}

/// Sorts every row by numbers of one physical type, widened to `Key` so that all types share two or three
/// sorts.
template <typename Key>
void sortByKeys(const LambdaCall& call, const Column& values, bool descending, PodVector<RowIndex>& places) {
    Operand<Key> keys(values, call.value_type->physical());
    std::vector<Placed<Key>> row;
    for (size_t i = 0; i < call.rows; ++i) {
        const size_t start = call.start(i);
        const size_t length = call.ends[i] - start;
        row.resize(length);
        for (size_t from = 0; from < length; from += kChunkRows) {
            const size_t count = std::min(kChunkRows, length - from);
            const Key* chunk = keys.chunk(start + from, count);
            for (size_t j = 0; j < count; ++j)
                row[from + j] = {chunk[j], static_cast<RowIndex>(start + from + j)};
        }
        if (descending)
            std::stable_sort(row.begin(), row.end(), [](const auto& a, const auto& b) {
                if constexpr (std::is_same_v<Key, double>)
                    if (isNaN(a.key) || isNaN(b.key)) return before(a.key, b.key);
                return before(b.key, a.key);
            });
        else
            std::stable_sort(row.begin(), row.end(),
                             [](const auto& a, const auto& b) { return before(a.key, b.key); });
        for (size_t j = 0; j < length; ++j) places[start + j] = row[j].place;
    }
}

/// False when the values are no numbers of a word at most.
bool sortNumbers(const LambdaCall& call, const Column& values, bool descending, PodVector<RowIndex>& places) {
    if (values.kind() != ColumnKind::Fixed) return false;
    switch (call.value_type->physical()) {
        case Physical::UInt8:
        case Physical::UInt16:
        case Physical::UInt32:
        case Physical::UInt64:
            sortByKeys<uint64_t>(call, values, descending, places);
            return true;
        case Physical::Int8:
        case Physical::Int16:
        case Physical::Int32:
        case Physical::Int64:
            sortByKeys<int64_t>(call, values, descending, places);
            return true;
        case Physical::Float32:
        case Physical::Float64:
            sortByKeys<double>(call, values, descending, places);
            return true;
        default:
            return false;
    }
}

/// Places of every row, ordered by the values at them; NULL and NaN last in either direction.
PodVector<RowIndex> sortedPlaces(const LambdaCall& call, bool descending) {
    const Column& values = *call.values;
    PodVector<RowIndex> places(values.size());
    if (sortNumbers(call, values, descending, places)) return places;
    std::iota(places.begin(), places.end(), RowIndex{0});
    for (size_t row = 0; row < call.rows; ++row)
        std::stable_sort(places.begin() + call.start(row), places.begin() + call.ends[row],
                         [&](RowIndex a, RowIndex b) {
                             return descending ? values.compareAt(b, values, a, -1) < 0
                                               : values.compareAt(a, values, b, 1) < 0;
                         });
    return places;
}

template <bool kDescending>
ColumnPtr runSort(const LambdaCall& call) {
    const PodVector<RowIndex> places = sortedPlaces(call, kDescending);
    return std::make_shared<ArrayColumn>(call.elements[0]->gather(places.span()), call.ends);
}

/// The greatest `limit` elements.
ColumnPtr runTopK(const LambdaCall& call) {
    const PodVector<RowIndex> places = sortedPlaces(call, true);
    ArrayPicker picker(call.rows);
    for (size_t row = 0; row < call.rows; ++row) {
        const auto limit = static_cast<size_t>(std::max<int64_t>((*call.limits)[row], 0));
        const size_t length = call.ends[row] - call.start(row);
        for (size_t i = 0; i < std::min(limit, length); ++i) picker.pick(places[call.start(row) + i]);
        picker.endRow();
    }
    return picker.finish(*call.elements[0]);
}

}  // namespace

std::span<const FunctionInfo> arraySortFunctions() {
    static const FunctionInfo kList[] = {
        defineLambda<"arraySort", typeOfSort, runSort<false>>(
            "arraySort([f, ]array, …)", "Sorted, by f of the elements when it is given.",
            "arraySort([3, 1, 2])", "[1,2,3]"),
        defineLambda<"arrayReverseSort", typeOfSort, runSort<true>>(
            "arrayReverseSort([f, ]array, …)", "Sorted downwards.", "arrayReverseSort([3, 1, 2])", "[3,2,1]"),
        defineLambda<"arrayPartialSort", typeOfSort, runSort<false>, kTakesLimit>(
            "arrayPartialSort([f, ]limit, array, …)",
            "At least the first `limit` elements as arraySort would have them."),
        defineLambda<"arrayPartialReverseSort", typeOfSort, runSort<true>, kTakesLimit>(
            "arrayPartialReverseSort([f, ]limit, array, …)", "The same downwards."),
        defineLambda<"arrayTopK", typeOfSort, runTopK, kTakesLimit>("arrayTopK(limit, array)",
                                                                    "The greatest elements, downwards.",
                                                                    "arrayTopK(2, [1, 5, 3])", "[5,3]"),
    };
    return kList;
}

}  // namespace shardd::functions
