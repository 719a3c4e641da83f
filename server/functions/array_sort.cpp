// arraySort, arrayReverseSort, their partial forms and arrayTopK.

#include <numeric>

#include "server/functions/array_lambda.h"

namespace shardd::functions {

namespace {

TypePtr typeOfSort(const LambdaSignature& call) { return types::array(call.elements[0]); }

/// Places of every row, ordered by the values at them; NULL and NaN last in either direction.
template <bool kDescending>
PodVector<RowIndex> sortedPlaces(const LambdaCall& call) {
    const Column& values = *call.values;
    PodVector<RowIndex> places(values.size());
    std::iota(places.begin(), places.end(), RowIndex{0});
    const bool plain = removeNullable(call.value_type)->physical() != Physical::None &&
                       values.kind() == ColumnKind::Fixed &&
                       dispatchPhysical(call.value_type->physical(), [&](auto tag) {
                           using T = typename decltype(tag)::Type;
                           const T* items = as<FixedColumn<T>>(values).data();
                           for (size_t row = 0; row < call.rows; ++row)
                               std::stable_sort(places.begin() + call.start(row),
                                                places.begin() + call.ends[row], [&](RowIndex a, RowIndex b) {
                                                    const T& x = items[a];
                                                    const T& y = items[b];
                                                    if constexpr (std::is_floating_point_v<T>) {
                                                        if (x != x || y != y) return x == x && y != y;
                                                    }
                                                    return kDescending ? y < x : x < y;
                                                });
                       });
    if (plain) return places;
    for (size_t row = 0; row < call.rows; ++row)
        std::stable_sort(places.begin() + call.start(row), places.begin() + call.ends[row],
                         [&](RowIndex a, RowIndex b) {
                             return kDescending ? values.compareAt(b, values, a, -1) < 0
                                                : values.compareAt(a, values, b, 1) < 0;
                         });
    return places;
}

template <bool kDescending>
ColumnPtr runSort(const LambdaCall& call) {
    const PodVector<RowIndex> places = sortedPlaces<kDescending>(call);
    return std::make_shared<ArrayColumn>(call.elements[0]->gather(places.span()), call.ends);
}

/// The greatest `limit` elements.
ColumnPtr runTopK(const LambdaCall& call) {
    const PodVector<RowIndex> places = sortedPlaces<true>(call);
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
