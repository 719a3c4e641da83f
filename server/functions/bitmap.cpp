#include <algorithm>
#include <unordered_set>

#include "common/columns/create_column.h"
#include "common/columns/state_column.h"
#include "server/aggregates/aggregate.h"
#include "server/aggregates/bitmap_state.h"
#include "server/functions/definition.h"

/// Sets of integers as values: states of groupBitmap.
namespace shardd::functions {

namespace {

using aggregates::BitmapStates;
using aggregates::bitmapStatesOf;

constexpr std::string_view kOrdinals[] = {"First", "Second", "Third"};

// -- types ----------------------------------------------------------------------------------------

bool isNative(const Type& type) {
    return (type.isInteger() && type.width() <= 8) || type.kind() == TypeKind::Bool;
}

bool isNativeUnsigned(const Type& type) { return isNative(type) && !type.name().starts_with("Int"); }

void needBitmap(const Signature& call, size_t i) {
    if (!bitmapStatesOf(*call.type(i)))
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    "{} argument for function {} must be a bitmap but it has type {}", kOrdinals[i],
                    call.name, call.type(i)->name());
}

TypePtr bitmapOf(const TypePtr& element) {
    return aggregates::resolveAggregateFunction("groupBitmapState", {}, {element})->resultType();
}

const TypePtr& elementOf(const Type& bitmap) { return bitmap.aggregate()->argumentTypes()[0]; }

TypePtr typeOfBuild(const Signature& call) {
    needCount(call, 1);
    const TypePtr& array = call.type(0);
    if (array->kind() != TypeKind::Array)
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    "First argument for function {} must be an array but it has type {}", call.name,
                    array->name());
    if (!isNative(*array->child()))
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, "Unexpected type {} of argument of function {}",
                    array->name(), call.name);
    return bitmapOf(array->child());
}

TypePtr typeOfToArray(const Signature& call) {
    needCount(call, 1);
    needBitmap(call, 0);
    return types::array(elementOf(*call.type(0)));
}

TypePtr typeOfNumber(const Signature& call) {
    needCount(call, 1);
    needBitmap(call, 0);
    return types::uint64();
}

TypePtr typeOfContains(const Signature& call) {
    needCount(call, 2);
    needBitmap(call, 0);
    if (!isNative(*call.type(1)))
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    "Second argument for function {} must be an native integer type but it has type {}",
                    call.name, call.type(1)->name());
    return types::uint8();
}

void needTwoBitmaps(const Signature& call) {
    needCount(call, 2);
    needBitmap(call, 0);
    needBitmap(call, 1);
    if (!sameType(elementOf(*call.type(0)), elementOf(*call.type(1))))
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    "The nested type in bitmaps must be the same, but one is {}, and the other is {}",
                    elementOf(*call.type(0))->name(), elementOf(*call.type(1))->name());
}

TypePtr typeOfTwo(const Signature& call) {
    needTwoBitmaps(call);
    return call.type(0);
}

TypePtr typeOfTwoToNumber(const Signature& call) {
    needTwoBitmaps(call);
    return types::uint64();
}

TypePtr typeOfTwoToFlag(const Signature& call) {
    needTwoBitmaps(call);
    return types::uint8();
}

TypePtr typeOfPart(const Signature& call) {
    needCount(call, 3);
    needBitmap(call, 0);
    if (!isNativeUnsigned(*call.type(1)) || !isNativeUnsigned(*call.type(2)))
        throw Error(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            "The second and third arguments for function {} must be one of [UInt8, UInt16, UInt32, UInt64] "
            "but one of them has type {}",
            call.name, call.type(isNativeUnsigned(*call.type(1)) ? 2 : 1)->name());
    return call.type(0);
}

TypePtr typeOfTransform(const Signature& call) {
    needCount(call, 3);
    needBitmap(call, 0);
    for (const size_t i : {1, 2})
        if (call.type(i)->kind() != TypeKind::Array || !isNativeUnsigned(*call.type(i)->child()))
            throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                        "The second and third arguments for function {} must be an one of [Array(UInt8), "
                        "Array(UInt16), Array(UInt32), Array(UInt64)] but one of them has type {}",
                        call.name, call.type(i)->name());
    return call.type(0);
}

// -- reading and making ---------------------------------------------------------------------------

/// The bitmaps of an argument.
class Bitmaps {
public:
    Bitmaps(const Call& call, size_t i)
        : column_(full(call.column(i))),
          places_(as<StateColumn>(*column_).states()),
          states_(*bitmapStatesOf(*call.argumentType(i))) {}

    size_t count(size_t row) const { return states_.count(places_[row]); }

    bool small(size_t row) const { return count(row) <= aggregates::kSmallBitmap; }

    bool contains(size_t row, uint64_t value) const { return states_.contains(places_[row], value); }

    uint64_t mostSmall() const { return states_.mostSmall(); }

    /// Good until the next call.
    std::span<const uint64_t> values(size_t row) {
        values_.clear();
        states_.appendValues(places_[row], values_);
        return {values_.data(), values_.size()};
    }

private:
    ColumnPtr column_;
    const PodVector<char*>& places_;
    const BitmapStates& states_;
    PodVector<uint64_t> values_;
};

/// Bitmaps in the making.
class BitmapBuilder {
public:
    explicit BitmapBuilder(const Type& type)
        : column_(createColumn(type)),
          states_(static_cast<StateColumn&>(*column_)),
          bitmaps_(*bitmapStatesOf(type)) {}

    void startRow() { place_ = states_.addState(); }

    void add(uint64_t value) { bitmaps_.insertValue(place_, value, states_.arena()); }

    ColumnPtr finish() { return std::move(column_); }

private:
    MutableColumnPtr column_;
    StateColumn& states_;
    const BitmapStates& bitmaps_;
    char* place_ = nullptr;
};

/// The elements of an array of integers, as their unsigned bits.
class IntegerArrays {
public:
    explicit IntegerArrays(const ColumnPtr& column)
        : column_(full(column)), arrays_(as<ArrayColumn>(*column_)), elements_(arrays_.elements()) {}

    size_t length(size_t row) const { return arrays_.lengthAt(row); }

    uint64_t operator()(size_t row, size_t i) const {
        return static_cast<uint64_t>(elements_[arrays_.startAt(row) + i]);
    }

private:
    ColumnPtr column_;
    const ArrayColumn& arrays_;
    IntegerArgument elements_;
};

ColumnPtr runBuild(const Call& call) {
    const IntegerArrays arrays(call.column(0));
    BitmapBuilder out(*call.type);
    for (size_t row = 0; row < call.rows; ++row) {
        out.startRow();
        for (size_t i = 0; i < arrays.length(row); ++i) out.add(arrays(row, i));
    }
    return out.finish();
}

ColumnPtr runToArray(const Call& call) {
    Bitmaps bitmaps(call, 0);
    MutableColumnPtr result = createColumn(*call.type);
    auto& array = static_cast<ArrayColumn&>(*result);
    const bool is_signed = call.type->child()->name().starts_with("Int");
    const size_t unused = 64 - 8 * call.type->child()->width();
    for (size_t row = 0; row < call.rows; ++row) {
        for (const uint64_t value : bitmaps.values(row))
            array.mutableElements().insert(is_signed ? Value(static_cast<int64_t>(value << unused) >> unused)
                                                     : Value(value));
        array.endRow();
    }
    return result;
}

// -- numbers --------------------------------------------------------------------------------------

ColumnPtr runCardinality(const Call& call) {
    const Bitmaps bitmaps(call, 0);
    return eachRow<uint64_t>(call.rows, [&](size_t row) { return bitmaps.count(row); });
}

/// The least of nothing is what is greater than all; the greatest is 0.
ColumnPtr runMin(const Call& call) {
    Bitmaps bitmaps(call, 0);
    return eachRow<uint64_t>(call.rows, [&](size_t row) {
        const auto values = bitmaps.values(row);
        if (!values.empty()) return *std::ranges::min_element(values);
        return std::max<uint64_t>(bitmaps.mostSmall(), std::numeric_limits<uint32_t>::max());
    });
}

ColumnPtr runMax(const Call& call) {
    Bitmaps bitmaps(call, 0);
    return eachRow<uint64_t>(call.rows, [&](size_t row) {
        const auto values = bitmaps.values(row);
        return values.empty() ? 0 : *std::ranges::max_element(values);
    });
}

ColumnPtr runContains(const Call& call) {
    const Bitmaps bitmaps(call, 0);
    const IntegerArgument wanted(call.column(1));
    return eachRow<uint8_t>(
        call.rows, [&](size_t row) { return bitmaps.contains(row, static_cast<uint64_t>(wanted[row])); });
}

// -- of two ---------------------------------------------------------------------------------------

size_t countCommon(Bitmaps& a, Bitmaps& b, size_t row) {
    Bitmaps& fewer = a.count(row) <= b.count(row) ? a : b;
    const Bitmaps& others = &fewer == &a ? b : a;
    return static_cast<size_t>(std::ranges::count_if(
        fewer.values(row), [&](uint64_t value) { return others.contains(row, value); }));
}

/// A number of what both have, and of what each has.
template <auto kResult, typename T>
ColumnPtr runCounts(const Call& call) {
    Bitmaps a(call, 0);
    Bitmaps b(call, 1);
    return eachRow<T>(call.rows, [&](size_t row) {
        return static_cast<T>(kResult(countCommon(a, b, row), a.count(row), b.count(row)));
    });
}

constexpr auto kAnd = [](size_t both, size_t, size_t) { return both; };
constexpr auto kOr = [](size_t both, size_t a, size_t b) { return a + b - both; };
constexpr auto kXor = [](size_t both, size_t a, size_t b) { return a + b - 2 * both; };
constexpr auto kAndnot = [](size_t both, size_t a, size_t) { return a - both; };
constexpr auto kHasAny = [](size_t both, size_t, size_t) { return both > 0; };
constexpr auto kHasAll = [](size_t both, size_t, size_t b) { return both == b; };

/// A bitmap of each row: `take(a, b, row, out)` adds what it has.
template <typename Take>
ColumnPtr eachOfTwo(const Call& call, Take&& take) {
    Bitmaps a(call, 0);
    Bitmaps b(call, 1);
    BitmapBuilder out(*call.type);
    for (size_t row = 0; row < call.rows; ++row) {
        out.startRow();
        take(a, b, row, out);
    }
    return out.finish();
}

/// Small ones keep the order of the values, as ClickHouse's do.
ColumnPtr runAnd(const Call& call) {
    return eachOfTwo(call, [](Bitmaps& a, Bitmaps& b, size_t row, BitmapBuilder& out) {
        const bool by_second = !a.small(row) && (b.small(row) || b.count(row) < a.count(row));
        Bitmaps& some = by_second ? b : a;
        const Bitmaps& others = by_second ? a : b;
        for (const uint64_t value : some.values(row))
            if (others.contains(row, value)) out.add(value);
    });
}

ColumnPtr runOr(const Call& call) {
    return eachOfTwo(call, [](Bitmaps& a, Bitmaps& b, size_t row, BitmapBuilder& out) {
        for (Bitmaps* one : {&a, &b})
            for (const uint64_t value : one->values(row)) out.add(value);
    });
}

ColumnPtr runXor(const Call& call) {
    return eachOfTwo(call, [](Bitmaps& a, Bitmaps& b, size_t row, BitmapBuilder& out) {
        std::vector<uint64_t> values;
        for (const uint64_t value : a.values(row))
            if (!b.contains(row, value)) values.push_back(value);
        for (const uint64_t value : b.values(row))
            if (!a.contains(row, value)) values.push_back(value);
        std::ranges::sort(values);
        for (const uint64_t value : values) out.add(value);
    });
}

ColumnPtr runAndnot(const Call& call) {
    return eachOfTwo(call, [](Bitmaps& a, const Bitmaps& b, size_t row, BitmapBuilder& out) {
        for (const uint64_t value : a.values(row))
            if (!b.contains(row, value)) out.add(value);
    });
}

// -- parts ----------------------------------------------------------------------------------------

/// Rows of a bitmap and two numbers: `take(values, first, second, out)` adds what stays.
template <typename Take>
ColumnPtr eachPart(const Call& call, Take&& take) {
    Bitmaps bitmaps(call, 0);
    const IntegerArgument first(call.column(1));
    const IntegerArgument second(call.column(2));
    BitmapBuilder out(*call.type);
    for (size_t row = 0; row < call.rows; ++row) {
        out.startRow();
        take(bitmaps.values(row), static_cast<uint64_t>(first[row]), static_cast<uint64_t>(second[row]), out);
    }
    return out.finish();
}

ColumnPtr runSubsetInRange(const Call& call) {
    return eachPart(call,
                    [](std::span<const uint64_t> values, uint64_t from, uint64_t until, BitmapBuilder& out) {
                        for (const uint64_t value : values)
                            if (value >= from && value < until) out.add(value);
                    });
}

/// The least ones from `from` on; all of them stay in their order.
ColumnPtr runSubsetLimit(const Call& call) {
    return eachPart(call, [](std::span<const uint64_t> values, uint64_t from, uint64_t limit,
                             BitmapBuilder& out) {
        std::vector<uint64_t> kept;
        std::ranges::copy_if(values, std::back_inserter(kept), [&](uint64_t value) { return value >= from; });
        if (kept.size() > limit) {
            std::ranges::sort(kept);
            kept.resize(limit);
        }
        for (const uint64_t value : kept) out.add(value);
    });
}

ColumnPtr runSubBitmap(const Call& call) {
    return eachPart(
        call, [](std::span<const uint64_t> values, uint64_t offset, uint64_t limit, BitmapBuilder& out) {
            const size_t from = std::min<uint64_t>(offset, values.size());
            for (const uint64_t value : values.subspan(from, std::min<uint64_t>(limit, values.size() - from)))
                out.add(value);
        });
}

/// One replacement after the other: what one made, a later one may replace again.
ColumnPtr runTransform(const Call& call) {
    Bitmaps bitmaps(call, 0);
    const IntegerArrays from(call.column(1));
    const IntegerArrays to(call.column(2));
    BitmapBuilder out(*call.type);
    for (size_t row = 0; row < call.rows; ++row) {
        if (from.length(row) != to.length(row))
            throw Error(ErrorCode::BAD_ARGUMENTS, "From array size and to array size mismatch");
        const auto before = bitmaps.values(row);
        std::unordered_set<uint64_t> values(before.begin(), before.end());
        for (size_t i = 0; i < from.length(row); ++i)
            if (from(row, i) != to(row, i) && values.erase(from(row, i)) > 0) values.insert(to(row, i));
        std::vector<uint64_t> sorted(values.begin(), values.end());
        std::ranges::sort(sorted);
        out.startRow();
        for (const uint64_t value : sorted) out.add(value);
    }
    return out.finish();
}

}  // namespace

std::span<const FunctionInfo> bitmapFunctions() {
    static const FunctionInfo kInfos[] = {
        define<"bitmapBuild", typeOfBuild, runBuild>("bitmapBuild(array)", "A bitmap of the integers.",
                                                     "bitmapToArray(bitmapBuild([3, 1]))", "[3,1]"),
        define<"bitmapToArray", typeOfToArray, runToArray>("bitmapToArray(bitmap)",
                                                           "The integers of a bitmap.",
                                                           "bitmapToArray(bitmapBuild([3, 1]))", "[3,1]"),
        define<"bitmapCardinality", typeOfNumber, runCardinality>(
            "bitmapCardinality(bitmap)", "How many there are.", "bitmapCardinality(bitmapBuild([3, 1, 3]))",
            "2"),
        define<"bitmapMin", typeOfNumber, runMin>("bitmapMin(bitmap)", "The least.",
                                                  "bitmapMin(bitmapBuild([3, 1]))", "1"),
        define<"bitmapMax", typeOfNumber, runMax>("bitmapMax(bitmap)", "The greatest.",
                                                  "bitmapMax(bitmapBuild([3, 1]))", "3"),
        define<"bitmapContains", typeOfContains, runContains>("bitmapContains(bitmap, x)",
                                                              "Whether x is in it.",
                                                              "bitmapContains(bitmapBuild([3, 1]), 3)", "1"),
        define<"bitmapHasAny", typeOfTwoToFlag, runCounts<kHasAny, uint8_t>>(
            "bitmapHasAny(a, b)", "Whether they share one.",
            "bitmapHasAny(bitmapBuild([1, 2]), bitmapBuild([2, 3]))", "1"),
        define<"bitmapHasAll", typeOfTwoToFlag, runCounts<kHasAll, uint8_t>>(
            "bitmapHasAll(a, b)", "Whether a has all of b.",
            "bitmapHasAll(bitmapBuild([1, 2]), bitmapBuild([2, 3]))", "0"),
        define<"bitmapAnd", typeOfTwo, runAnd>(
            "bitmapAnd(a, b)", "What both have.",
            "bitmapToArray(bitmapAnd(bitmapBuild([1, 2]), bitmapBuild([2, 3])))", "[2]"),
        define<"bitmapOr", typeOfTwo, runOr>(
            "bitmapOr(a, b)", "What one of them has.",
            "bitmapToArray(bitmapOr(bitmapBuild([1, 2]), bitmapBuild([2, 3])))", "[1,2,3]"),
        define<"bitmapXor", typeOfTwo, runXor>(
            "bitmapXor(a, b)", "What just one of them has.",
            "bitmapToArray(bitmapXor(bitmapBuild([1, 2]), bitmapBuild([2, 3])))", "[1,3]"),
        define<"bitmapAndnot", typeOfTwo, runAndnot>(
            "bitmapAndnot(a, b)", "What a has and b has not.",
            "bitmapToArray(bitmapAndnot(bitmapBuild([1, 2]), bitmapBuild([2, 3])))", "[1]"),
        define<"bitmapAndCardinality", typeOfTwoToNumber, runCounts<kAnd, uint64_t>>(
            "bitmapAndCardinality(a, b)", "How many both have."),
        define<"bitmapOrCardinality", typeOfTwoToNumber, runCounts<kOr, uint64_t>>(
            "bitmapOrCardinality(a, b)", "How many one of them has."),
        define<"bitmapXorCardinality", typeOfTwoToNumber, runCounts<kXor, uint64_t>>(
            "bitmapXorCardinality(a, b)", "How many just one of them has."),
        define<"bitmapAndnotCardinality", typeOfTwoToNumber, runCounts<kAndnot, uint64_t>>(
            "bitmapAndnotCardinality(a, b)", "How many a has and b has not."),
        define<"bitmapSubsetInRange", typeOfPart, runSubsetInRange>(
            "bitmapSubsetInRange(bitmap, from, until)", "Those from `from` to before `until`.",
            "bitmapToArray(bitmapSubsetInRange(bitmapBuild([1, 5, 9]), 2, 9))", "[5]"),
        define<"bitmapSubsetLimit", typeOfPart, runSubsetLimit>(
            "bitmapSubsetLimit(bitmap, from, limit)", "At most `limit` from `from` on, the least.",
            "bitmapToArray(bitmapSubsetLimit(bitmapBuild([1, 5, 9]), 2, 1))", "[5]"),
        define<"subBitmap", typeOfPart, runSubBitmap>(
            "subBitmap(bitmap, offset, limit)", "At most `limit` behind the first `offset`.",
            "bitmapToArray(subBitmap(bitmapBuild([1, 5, 9]), 1, 5))", "[5,9]"),
        define<"bitmapTransform", typeOfTransform, runTransform>(
            "bitmapTransform(bitmap, from_array, to_array)", "Replaces values by others.",
            "bitmapToArray(bitmapTransform(bitmapBuild([1, 5]), [5], [7]))", "[1,7]"),
    };
    return kInfos;
}

}  // namespace shardd::functions
