// Looking into arrays: arrayElement, has, indexOf, countEqual, hasAny, hasAll, hasSubstr, arrayRemove.

#include "common/columns/create_column.h"
#include "server/functions/array_support.h"
#include "server/functions/map_support.h"

namespace shardd::functions {

namespace {

NamedColumn withoutDictionary(const NamedColumn& argument) {
    return {argument.name, removeLowCardinalityRecursively(argument.type),
            argument.column ? writeOutDictionaries(argument.column, argument.type) : nullptr};
}

// -- has, indexOf, countEqual ---------------------------------------------------------------------

/// An array and a value made comparable, and how to compare element `place` with the value of `row`.
class Comparison {
public:
    Comparison(const Call& call, size_t array_argument, size_t value_argument) {
        const NamedColumn array = withoutDictionary(call.arguments[array_argument]);
        const NamedColumn value = withoutDictionary(call.arguments[value_argument]);
        type_ = comparableType(array.type->child(), value.type);
        arrays_.emplace(castArgument(array, types::array(type_), call.rows));
        value_ = castArgument(value, type_, call.rows);
        if (value_->kind() == ColumnKind::Const) {
            value_ = as<ConstColumn>(*value_).one();
            mask_ = 0;
        }
    }

    const ArrayArgument& arrays() const { return *arrays_; }

    /// `take(row, place)` for every element equal to the value of its row, in order, until it returns false.
    template <typename Take>
    void eachEqual(size_t rows, Take&& take) const {
        const Column& elements = *arrays_->elements();
        const bool plain = dispatchPhysical(type_->physical(), [&](auto tag) {
            using T = typename decltype(tag)::Type;
            const auto& items = as<FixedColumn<T>>(elements).values();
            const auto& wanted = as<FixedColumn<T>>(*value_).values();
            search(rows, take, [&](size_t place, size_t row) { return items[place] == wanted[row & mask_]; });
        });
        if (plain) return;
        if (type_->kind() == TypeKind::String) {
            const auto& items = as<StringColumn>(elements);
            search(rows, take, [&](size_t place, size_t row) {
                return items.bytesAt(place) == value_->bytesAt(row & mask_);
            });
            return;
        }
        search(rows, take, [&](size_t place, size_t row) {
            return elements.compareAt(place, *value_, row & mask_, 1) == 0;
        });
    }

private:
    template <typename Take, typename Equal>
    void search(size_t rows, Take& take, Equal&& equal) const {
        for (size_t row = 0; row < rows; ++row) {
            const size_t end = arrays_->end(row);
            for (size_t place = arrays_->start(row); place < end; ++place)
                if (equal(place, row) && !take(row, place)) break;
        }
    }

    TypePtr type_;
    std::optional<ArrayArgument> arrays_;
    ColumnPtr value_;
    size_t mask_ = ~size_t{0};
};

bool isNothingNull(const TypePtr& type) {
    return type->isNullable() && type->child()->kind() == TypeKind::Nothing;
}

/// Whether there can be an equal element at all: not in an array of nothing, and no NULL in an array that has
/// none.
bool canHold(const Call& call) {
    const TypePtr& element = call.argumentType(0)->child();
    if (element->kind() == TypeKind::Nothing) return false;
    return !isNothingNull(call.argumentType(1)) || isNullableOrLowCardinalityNullable(element);
}

template <TypeKind kResult>
TypePtr typeOfSearch(const Signature& call) {
    needCount(call, 2);
    if (isNothingNull(call.type(0))) return types::nullable(types::simple(TypeKind::Nothing));
    if (call.type(0)->kind() == TypeKind::Map && call.name == "has") {
        comparableType(removeLowCardinality(call.type(0)->child(0)), removeLowCardinality(call.type(1)));
        return types::uint8();
    }
    needArray(call, 0);
    const TypePtr element = removeLowCardinalityRecursively(call.type(0)->child());
    if (element->kind() != TypeKind::Nothing && !isNothingNull(call.type(1)))
        comparableType(element, removeLowCardinalityRecursively(call.type(1)));
    return types::simple(kResult);
}

ColumnPtr runHas(const Call& call) {
    if (call.type->isNullable()) return createConstColumn(*call.type, Value(), call.rows);
    if (call.argumentType(0)->kind() == TypeKind::Map) {
        const NamedColumn arguments[] = {mapKeysArgument(call.arguments[0]), call.arguments[1]};
        return runHas(Call{call.name, arguments, call.type, call.rows, call.context});
    }
    PodVector<uint8_t> result(call.rows, 0);
    if (canHold(call))
        Comparison(call, 0, 1).eachEqual(call.rows, [&](size_t row, size_t) {
            result[row] = 1;
            return false;
        });
    return fixedColumn(std::move(result));
}

template <bool kCount>
ColumnPtr runIndexOf(const Call& call) {
    if (call.type->isNullable()) return createConstColumn(*call.type, Value(), call.rows);
    PodVector<uint64_t> result(call.rows, 0);
    if (canHold(call)) {
        const Comparison comparison(call, 0, 1);
        comparison.eachEqual(call.rows, [&](size_t row, size_t place) {
            result[row] = kCount ? result[row] + 1 : place - comparison.arrays().start(row) + 1;
            return kCount;
        });
    }
    return fixedColumn(std::move(result));
}

TypePtr typeOfRemove(const Signature& call) {
    needCount(call, 2);
    needArray(call, 0);
    const TypePtr element = removeLowCardinalityRecursively(call.type(0)->child());
    if (element->kind() != TypeKind::Nothing && !isNothingNull(call.type(1)))
        comparableType(element, removeLowCardinalityRecursively(call.type(1)));
    return types::array(element);
}

ColumnPtr runRemove(const Call& call) {
    const ArrayArgument arrays(withoutDictionary(call.arguments[0]).column);
    ArrayPicker picker(call.rows);
    PodVector<uint8_t> removed(arrays.elements()->size() * (arrays.constant() ? call.rows : 1) + 1, 0);
    auto flag = [&](size_t row, size_t place) -> uint8_t& {
        return removed[arrays.constant() ? row * arrays.elements()->size() + place : place];
    };
    if (canHold(call))
        Comparison(call, 0, 1).eachEqual(call.rows, [&](size_t row, size_t place) {
            flag(row, place) = 1;
            return true;
        });
    for (size_t row = 0; row < call.rows; ++row) {
        for (size_t place = arrays.start(row); place < arrays.end(row); ++place)
            if (!flag(row, place)) picker.pick(place);
        picker.endRow();
    }
    return picker.finish(*arrays.elements());
}

// -- arrays in arrays -----------------------------------------------------------------------------

TypePtr typeOfArraysIn(const Signature& call) {
    needCount(call, 2);
    needArray(call, 0);
    needArray(call, 1);
    const TypePtr a = removeLowCardinalityRecursively(call.type(0)->child());
    const TypePtr b = removeLowCardinalityRecursively(call.type(1)->child());
    if (a->kind() != TypeKind::Nothing && b->kind() != TypeKind::Nothing) comparableType(a, b);
    return types::uint8();
}

/// Both arrays in one column: the places of the second follow those of the first.
struct TwoArrays {
    ArrayArgument first;
    ArrayArgument second;
    ColumnPtr elements;
    size_t offset;
};

TwoArrays bringTogether(const Call& call) {
    const NamedColumn a = withoutDictionary(call.arguments[0]);
    const NamedColumn b = withoutDictionary(call.arguments[1]);
    const bool a_empty = a.type->child()->kind() == TypeKind::Nothing;
    const bool b_empty = b.type->child()->kind() == TypeKind::Nothing;
    const TypePtr element = a_empty   ? b.type->child()
                            : b_empty ? a.type->child()
                                      : comparableType(a.type->child(), b.type->child());
    TwoArrays both{ArrayArgument(castArgument(a, types::array(element), call.rows)),
                   ArrayArgument(castArgument(b, types::array(element), call.rows)), nullptr, 0};
    both.offset = both.first.elements()->size();
    const ColumnPtr parts[] = {both.first.elements(), both.second.elements()};
    both.elements = concatenateColumns(parts, element);
    return both;
}

template <bool kAll>
ColumnPtr runHasArray(const Call& call) {
    const TwoArrays both = bringTogether(call);
    PlaceIndex index({both.elements.get()});
    bool ready = false;
    return eachRow<uint8_t>(call.rows, [&](size_t row) -> uint8_t {
        if (!ready || !both.first.constant()) {
            index.begin(both.first.length(row));
            for (size_t place = both.first.start(row); place < both.first.end(row); ++place) index.add(place);
            ready = true;
        }
        for (size_t place = both.second.start(row); place < both.second.end(row); ++place)
            if ((index.find(both.offset + place) != SIZE_MAX) != kAll) return !kAll;
        return kAll;
    });
}

ColumnPtr runHasRun(const Call& call) {
    const TwoArrays both = bringTogether(call);
    return eachRow<uint8_t>(call.rows, [&](size_t row) -> uint8_t {
        const size_t length = both.second.length(row);
        if (length > both.first.length(row)) return 0;
        const size_t first = both.first.start(row);
        const size_t last = both.first.end(row) - length;
        for (size_t from = first; from <= last; ++from) {
            size_t same = 0;
            while (same < length &&
                   both.elements->compareAt(from + same, *both.elements,
                                            both.offset + both.second.start(row) + same, 1) == 0)
                ++same;
            if (same == length) return 1;
        }
        return 0;
    });
}

// -- arrayElement ---------------------------------------------------------------------------------

template <bool kOrNull>
TypePtr typeOfElement(const Signature& call) {
    needCount(call, 2);
    TypePtr element;
    if (call.type(0)->kind() == TypeKind::Map) {
        const TypePtr& key = call.type(0)->child(0);
        try {
            comparableType(removeLowCardinality(key), removeNullable(removeLowCardinality(call.type(1))));
        } catch (const Error&) {
            illegalArgument(call, 1, key->name());
        }
        element = call.type(0)->child(1);
    } else {
        needArray(call, 0);
        if (!call.type(1)->isInteger())
            throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                        "Second argument for function '{}' must be integer, got '{}' instead", call.name,
                        call.type(1)->name());
        element = call.type(0)->child();
    }
    return kOrNull ? makeNullable(element) : element;
}

/// The place of each row's element in the elements, or their number for none.
PodVector<RowIndex> placesOfElements(const Call& call, const ArrayArgument& arrays, bool& any_missing) {
    const IntegerArgument indexes(call.column(1));
    const size_t missing = arrays.elements()->size();
    PodVector<RowIndex> places(call.rows);
    for (size_t row = 0; row < call.rows; ++row) {
        const int64_t index = indexes[row];
        const auto length = static_cast<int64_t>(arrays.length(row));
        size_t place = missing;
        if (index > 0 && index <= length) place = arrays.start(row) + static_cast<size_t>(index) - 1;
        if (index < 0 && index >= -length) place = arrays.end(row) - static_cast<size_t>(-index);
        any_missing |= place == missing;
        places[row] = static_cast<RowIndex>(place);
    }
    return places;
}

template <bool kOrNull>
ColumnPtr pickElements(const Call& call,
                       const ColumnPtr& elements,
                       const TypePtr& element,
                       const PodVector<RowIndex>& places,
                       bool any_missing) {
    const size_t missing = elements->size();
    if (!kOrNull || element->isNullable() || !sameType(makeNullable(element), call.type)) {
        if (!any_missing) return elements->gather(places.span());
        return withDefaultBehind(elements, element)->gather(places.span());
    }
    Mask nulls(places.size());
    for (size_t i = 0; i < places.size(); ++i) nulls[i] = places[i] == missing;
    return std::make_shared<NullableColumn>(withDefaultBehind(elements, element)->gather(places.span()),
                                            std::move(nulls));
}

template <bool kOrNull>
ColumnPtr runElement(const Call& call) {
    const TypePtr& type = call.argumentType(0);
    if (type->kind() == TypeKind::Map) {
        const NamedColumn keys = mapKeysArgument(call.arguments[0]);
        const NamedColumn values = mapValuesArgument(call.arguments[0]);
        const NamedColumn arguments[] = {keys, call.arguments[1]};
        const ArrayArgument arrays(values.column);
        PodVector<RowIndex> places(call.rows);
        places.assign(call.rows, static_cast<RowIndex>(arrays.elements()->size()));
        Comparison(Call{call.name, arguments, call.type, call.rows, call.context}, 0, 1)
            .eachEqual(call.rows, [&](size_t row, size_t place) {
                places[row] = static_cast<RowIndex>(place);
                return false;
            });
        return pickElements<kOrNull>(call, arrays.elements(), type->child(1), places, true);
    }
    const ArrayArgument arrays(call.column(0));
    if (type->child()->kind() == TypeKind::Nothing)
        return createConstColumn(*call.type, defaultValue(*call.type), call.rows);
    bool any_missing = false;
    const PodVector<RowIndex> places = placesOfElements(call, arrays, any_missing);
    return pickElements<kOrNull>(call, arrays.elements(), type->child(), places, any_missing);
}

}  // namespace

std::span<const FunctionInfo> arraySearchFunctions() {
    constexpr uint32_t kSeesAll = kSeesNulls | kSeesDictionaries;
    static const FunctionInfo kList[] = {
        define<"has", typeOfSearch<TypeKind::UInt8>, runHas, kSeesAll>(
            "has(array, x)", "Whether x is in the array, or a key of the map.", "has([1, 2], 2)", "1"),
        define<"indexOf", typeOfSearch<TypeKind::UInt64>, runIndexOf<false>, kSeesAll>(
            "indexOf(array, x)", "The place of the first x, from 1; 0 when there is none.",
            "indexOf([1, 3], 3)", "2"),
        define<"indexOfAssumeSorted", typeOfSearch<TypeKind::UInt64>, runIndexOf<false>, kSeesAll>(
            "indexOfAssumeSorted(array, x)", "indexOf for sorted arrays.",
            "indexOfAssumeSorted([1, 3, 5], 3)", "2"),
        define<"countEqual", typeOfSearch<TypeKind::UInt64>, runIndexOf<true>, kSeesAll>(
            "countEqual(array, x)", "How often x is in the array.", "countEqual([1, 2, 1], 1)", "2"),
        define<"arrayRemove", typeOfRemove, runRemove, kSeesAll>(
            "arrayRemove(array, x)", "The array without any x.", "arrayRemove([1, 2, 1], 1)", "[2]"),
        define<"hasAny", typeOfArraysIn, runHasArray<false>>(
            "hasAny(a, b)", "Whether any element of b is in a.", "hasAny([1, 2], [2, 9])", "1"),
        define<"hasAll", typeOfArraysIn, runHasArray<true>>(
            "hasAll(a, b)", "Whether all elements of b are in a.", "hasAll([1, 2], [2, 9])", "0"),
        define<"hasSubstr", typeOfArraysIn, runHasRun>(
            "hasSubstr(a, b)", "Whether b lies in a, in one piece.", "hasSubstr([1, 2, 3], [2, 3])", "1"),
        define<"arrayElement", typeOfElement<false>, runElement<false>>(
            "arrayElement(array, n)", "Element n, from 1, or from the end when negative; the value of a key.",
            "arrayElement([10, 20], 2)", "20"),
        define<"arrayElementOrNull", typeOfElement<true>, runElement<true>>(
            "arrayElementOrNull(array, n)", "The same, NULL when there is none.",
            "arrayElementOrNull([10, 20], 5)", "NULL"),
    };
    return kList;
}

}  // namespace shardd::functions
