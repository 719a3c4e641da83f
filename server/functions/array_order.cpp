// The order of elements, and cuts by place: arrayReverse, arraySlice, arrayRotate*, arrayShift*,
// arrayTranspose …

#include <random>

#include "common/columns/create_column.h"
#include "server/functions/array_support.h"

namespace shardd::functions {

namespace {

TypePtr typeOfSameArray(const Signature& call) {
    needCount(call, 1);
    needArray(call, 0);
    return call.type(0);
}

ColumnPtr runReverse(const Call& call) {
    const ArrayArgument arrays(call.column(0));
    ArrayPicker picker(call.rows);
    for (size_t row = 0; row < call.rows; ++row) {
        for (size_t place = arrays.end(row); place > arrays.start(row); --place) picker.pick(place - 1);
        picker.endRow();
    }
    return picker.finish(*arrays.elements());
}

// -- slices ---------------------------------------------------------------------------------------

bool isOnlyNull(const TypePtr& type) {
    return type->isNullable() && type->child()->kind() == TypeKind::Nothing;
}

TypePtr typeOfSlice(const Signature& call) {
    needCount(call, 2, 3);
    if (isOnlyNull(call.type(0))) return call.type(0);
    needArray(call, 0);
    for (size_t i = 1; i < call.count(); ++i)
        if (!removeNullable(call.type(i))->isInteger() && !isOnlyNull(call.type(i)))
            illegalArgument(call, i, "an integer");
    return call.type(0);
}

/// An optional integer a row: NULL means that it was not given.
class MaybeInteger {
public:
    MaybeInteger(const Call& call, size_t i) {
        if (i >= call.count() || isOnlyNull(call.argumentType(i))) return;
        column_ = full(call.column(i));
        const ColumnPtr values =
            call.argumentType(i)->isNullable() ? as<NullableColumn>(*column_).values() : column_;
        values_.emplace(values);
    }

    std::optional<int64_t> operator[](size_t row) const {
        if (!values_ || column_->isNullAt(row)) return std::nullopt;
        return (*values_)[row];
    }

private:
    ColumnPtr column_;
    std::optional<IntegerArgument> values_;
};

ColumnPtr runSlice(const Call& call) {
    if (call.type->isNullable()) return createConstColumn(*call.type, Value(), call.rows);
    const ArrayArgument arrays(call.column(0));
    const MaybeInteger offsets(call, 1);
    const MaybeInteger lengths(call, 2);
    ArrayPicker picker(call.rows);
    for (size_t row = 0; row < call.rows; ++row) {
        const auto size = static_cast<int64_t>(arrays.length(row));
        const int64_t offset = offsets[row].value_or(1);
        const auto length = lengths[row];
        if (offset != 0) {
            int64_t from =
                offset > 0 ? std::min(offset - 1, size) : size + std::max(offset, -size - (int64_t{1} << 40));
            int64_t to = size;
            if (length)
                to = *length >= 0 ? from + std::min(*length, int64_t{1} << 40)
                                  : size + std::max(*length, -size);
            from = std::max<int64_t>(from, 0);
            to = std::min(to, size);
            for (int64_t at = from; at < to; ++at) picker.pick(arrays.start(row) + static_cast<size_t>(at));
        }
        picker.endRow();
    }
    return picker.finish(*arrays.elements());
}

// -- rotating and shifting ------------------------------------------------------------------------

TypePtr typeOfRotate(const Signature& call) {
    needCount(call, 2);
    needArray(call, 0);
    needInteger(call, 1);
    return call.type(0);
}

template <int kSign>
ColumnPtr runRotate(const Call& call) {
    const ArrayArgument arrays(call.column(0));
    const IntegerArgument steps(call.column(1));
    ArrayPicker picker(call.rows);
    for (size_t row = 0; row < call.rows; ++row) {
        const auto size = static_cast<int64_t>(arrays.length(row));
        if (size > 0) {
            const int64_t shift = ((kSign * (steps[row] % size)) % size + size) % size;
            for (int64_t i = 0; i < size; ++i)
                picker.pick(arrays.start(row) + static_cast<size_t>((i + shift) % size));
        }
        picker.endRow();
    }
    return picker.finish(*arrays.elements());
}

TypePtr typeOfShift(const Signature& call) {
    needCount(call, 2, 3);
    needArray(call, 0);
    needInteger(call, 1);
    if (call.count() == 2) return call.type(0);
    return types::array(commonType({call.type(0)->child(), call.type(2)}));
}

template <int kSign>
ColumnPtr runShift(const Call& call) {
    const TypePtr& element = call.type->child();
    const ArrayArgument arrays(castArgument(call.arguments[0], call.type, call.rows));
    const IntegerArgument steps(call.column(1));
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
        const auto size = static_cast<int64_t>(arrays.length(row));
        const int64_t shift = std::clamp(steps[row], -size, size) * kSign;
        for (int64_t i = 0; i < size; ++i) {
            const int64_t from = i + shift;
            if (from >= 0 && from < size)
                picker.pick(arrays.start(row) + static_cast<size_t>(from));
            else
                picker.pick(call.count() == 3 ? own + row : own);
        }
        picker.endRow();
    }
    return picker.finish(*all);
}

// -- transposing ----------------------------------------------------------------------------------

TypePtr typeOfTranspose(const Signature& call) {
    needCount(call, 1);
    needArray(call, 0);
    if (call.type(0)->child()->kind() != TypeKind::Array) illegalArgument(call, 0, "Array(Array(T))");
    return call.type(0);
}

ColumnPtr runTranspose(const Call& call) {
    const ArrayArgument outer(call.column(0));
    const auto& inner = as<ArrayColumn>(*outer.elements());
    ArrayPicker picker(call.rows);
    PodVector<uint64_t> ends(call.rows);
    uint64_t arrays = 0;
    for (size_t row = 0; row < call.rows; ++row) {
        const size_t columns = outer.length(row) == 0 ? 0 : inner.lengthAt(outer.start(row));
        for (size_t place = outer.start(row); place < outer.end(row); ++place)
            if (inner.lengthAt(place) != columns)
                throw Error(ErrorCode::SIZES_OF_ARRAYS_DONT_MATCH,
                            "The inner arrays of function {} must have equal size", call.name);
        for (size_t i = 0; i < columns; ++i, ++arrays) {
            for (size_t place = outer.start(row); place < outer.end(row); ++place)
                picker.pick(inner.startAt(place) + i);
            picker.endRow();
        }
        ends[row] = arrays;
    }
    return std::make_shared<ArrayColumn>(picker.finish(*inner.elements()), std::move(ends));
}

// -- compact, difference --------------------------------------------------------------------------

ColumnPtr runCompact(const Call& call) {
    const ArrayArgument arrays(call.column(0));
    ArrayPicker picker(call.rows);
    const Column& elements = *arrays.elements();
    for (size_t row = 0; row < call.rows; ++row) {
        for (size_t place = arrays.start(row); place < arrays.end(row); ++place)
            if (place == arrays.start(row) || elements.compareAt(place, elements, place - 1, 1) != 0)
                picker.pick(place);
        picker.endRow();
    }
    return picker.finish(elements);
}

// -- chance ---------------------------------------------------------------------------------------

TypePtr typeOfShuffle(const Signature& call) {
    needCount(call, 1, 2);
    needArray(call, 0);
    if (call.count() == 2) needInteger(call, 1);
    return call.type(0);
}

TypePtr typeOfSample(const Signature& call) {
    needCount(call, 2);
    needArray(call, 0);
    needInteger(call, 1);
    return call.type(0);
}

/// All elements in a random order, or `count` of them.
ColumnPtr pickAtRandom(const Call& call, std::mt19937_64 random, std::optional<size_t> count) {
    const ArrayArgument arrays(call.column(0));
    ArrayPicker picker(call.rows);
    std::vector<size_t> places;
    for (size_t row = 0; row < call.rows; ++row) {
        places.clear();
        for (size_t place = arrays.start(row); place < arrays.end(row); ++place) places.push_back(place);
        const size_t wanted = std::min(count.value_or(places.size()), places.size());
        for (size_t i = 0; i < wanted; ++i) {
            std::swap(places[i], places[i + random() % (places.size() - i)]);
            picker.pick(places[i]);
        }
        picker.endRow();
    }
    return picker.finish(*arrays.elements());
}

ColumnPtr runShuffle(const Call& call) {
    const bool seeded = call.count() == 2;
    std::mt19937_64 random(seeded ? static_cast<uint64_t>(IntegerArgument(call.column(1))[0])
                                  : std::random_device()());
    return pickAtRandom(call, random, std::nullopt);
}

ColumnPtr runSample(const Call& call) {
    const int64_t count = IntegerArgument(call.column(1))[0];
    if (count < 0)
        throw Error(ErrorCode::BAD_ARGUMENTS, "The number of samples of function {} must not be negative",
                    call.name);
    return pickAtRandom(call, std::mt19937_64(std::random_device()()), static_cast<size_t>(count));
}

}  // namespace

std::span<const FunctionInfo> arrayOrderFunctions() {
    static const FunctionInfo kList[] = {
        define<"arrayReverse", typeOfSameArray, runReverse>(
            "arrayReverse(array)", "The elements in the opposite order.", "arrayReverse([1, 2])", "[2,1]"),
        define<"arraySlice", typeOfSlice, runSlice, kSeesNulls>(
            "arraySlice(array, offset[, length])",
            "A part of the array; negative offsets count from the end.", "arraySlice([1, 2, 3], 2)", "[2,3]"),
        define<"arrayRotateLeft", typeOfRotate, runRotate<1>>(
            "arrayRotateLeft(array, n)", "Elements that leave on the left come back on the right.",
            "arrayRotateLeft([1, 2, 3], 1)", "[2,3,1]"),
        define<"arrayRotateRight", typeOfRotate, runRotate<-1>>("arrayRotateRight(array, n)",
                                                                "The same to the right.",
                                                                "arrayRotateRight([1, 2, 3], 1)", "[3,1,2]"),
        define<"arrayShiftLeft", typeOfShift, runShift<1>>("arrayShiftLeft(array, n[, x])",
                                                           "Shifted; x or the default fills up.",
                                                           "arrayShiftLeft([1, 2, 3], 1)", "[2,3,0]"),
        define<"arrayShiftRight", typeOfShift, runShift<-1>>("arrayShiftRight(array, n[, x])",
                                                             "The same to the right.",
                                                             "arrayShiftRight([1, 2, 3], 1)", "[0,1,2]"),
        define<"arrayTranspose", typeOfTranspose, runTranspose, kMayThrow>(
            "arrayTranspose(array)", "Rows of an array of arrays become columns.",
            "arrayTranspose([[1, 2], [3, 4]])", "[[1,3],[2,4]]"),
        define<"arrayCompact", typeOfSameArray, runCompact>("arrayCompact(array)",
                                                            "Runs of equal elements become one.",
                                                            "arrayCompact([1, 1, 2, 1])", "[1,2,1]"),
        define<"arrayShuffle", typeOfShuffle, runShuffle, kVaries | kSeesConstants, 2>(
            "arrayShuffle(array[, seed])", "The elements in a random order."),
        define<"arrayRandomSample", typeOfSample, runSample, kVaries | kSeesConstants, 2>(
            "arrayRandomSample(array, n)", "n elements chosen at random."),
    };
    return kList;
}

}  // namespace shardd::functions
