// Maps: made, taken apart, searched, united.

#include "common/columns/create_column.h"
#include "common/columns/tuple_column.h"
#include "server/functions/map_support.h"

namespace shardd::functions {

namespace {

// -- making ---------------------------------------------------------------------------------------

TypePtr checkedMap(TypePtr key, TypePtr value) {
    if (isNullableOrLowCardinalityNullable(key))
        throw Error(ErrorCode::BAD_ARGUMENTS, "Map cannot have a key of type {}", key->name());
    return types::map(std::move(key), std::move(value));
}

TypePtr typeOfMap(const Signature& call) {
    if (call.count() % 2 != 0)
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Function {} requires even number of arguments, but {} given", call.name, call.count());
    if (call.count() == 0)
        return types::map(types::simple(TypeKind::Nothing), types::simple(TypeKind::Nothing));
    std::vector<TypePtr> keys;
    std::vector<TypePtr> values;
    for (size_t i = 0; i < call.count(); i += 2) {
        keys.push_back(call.type(i));
        values.push_back(call.type(i + 1));
    }
    return checkedMap(commonType(std::move(keys)), commonType(std::move(values)));
}

/// Columns of equal length turned into one: row by row.
ColumnPtr interleave(const std::vector<ColumnPtr>& columns, const TypePtr& type, size_t rows) {
    const ColumnPtr all = concatenateColumns(columns, type);
    PodVector<RowIndex> places(rows * columns.size());
    for (size_t row = 0; row < rows; ++row)
        for (size_t i = 0; i < columns.size(); ++i)
            places[row * columns.size() + i] = static_cast<RowIndex>(i * rows + row);
    return all->gather(places.span());
}

ColumnPtr runMap(const Call& call) {
    if (call.count() == 0) return createConstColumn(*call.type, Value(ArrayValue{}), call.rows);
    std::vector<ColumnPtr> keys;
    std::vector<ColumnPtr> values;
    for (size_t i = 0; i < call.count(); i += 2) {
        keys.push_back(full(castArgument(call.arguments[i], call.type->child(0), call.rows)));
        values.push_back(full(castArgument(call.arguments[i + 1], call.type->child(1), call.rows)));
    }
    PodVector<uint64_t> ends(call.rows);
    for (size_t row = 0; row < call.rows; ++row) ends[row] = (row + 1) * keys.size();
    return makeMap(interleave(keys, call.type->child(0), call.rows),
                   interleave(values, call.type->child(1), call.rows), std::move(ends));
}

NamedColumn asArray(const NamedColumn& argument) {
    if (argument.type->kind() != TypeKind::Map) return argument;
    return {argument.name, types::array(types::tuple(argument.type->children())), argument.column};
}

TypePtr typeOfFromArrays(const Signature& call) {
    needCount(call, 2);
    for (size_t i = 0; i < 2; ++i)
        if (call.type(i)->kind() != TypeKind::Array && call.type(i)->kind() != TypeKind::Map)
            illegalArgument(call, i, "Array or Map");
    return checkedMap(asArray(call.arguments[0]).type->child(), asArray(call.arguments[1]).type->child());
}

ColumnPtr runFromArrays(const Call& call) {
    const ColumnPtr keys = full(call.column(0));
    const ColumnPtr values = full(call.column(1));
    const ArrayArgument arrays[] = {ArrayArgument(keys), ArrayArgument(values)};
    for (size_t row = 0; row < call.rows; ++row)
        if (arrays[0].length(row) != arrays[1].length(row))
            throw Error(ErrorCode::SIZES_OF_ARRAYS_DONT_MATCH,
                        "Two arguments of function {} must have equal sizes", call.name);
    return makeMap(arrays[0].elements(), arrays[1].elements(), arrays[0].arrays().ends());
}

// -- parts ----------------------------------------------------------------------------------------

template <size_t kPart>
TypePtr typeOfPart(const Signature& call) {
    needCount(call, 1);
    needMap(call, 0);
    return types::array(call.type(0)->child(kPart));
}

template <size_t kPart>
ColumnPtr runPart(const Call& call) {
    return (kPart == 0 ? mapKeysArgument : mapValuesArgument)(call.arguments[0]).column;
}

/// Keys (0) or values (1) of the map, looked through by the function `has` or by LIKE.
template <size_t kPart>
TypePtr typeOfContains(const Signature& call) {
    needCount(call, 2);
    needMap(call, 0);
    const NamedColumn arguments[] = {{"", types::array(call.type(0)->child(kPart)), nullptr},
                                     call.arguments[1]};
    resolveFunction("has", arguments, nullptr);
    return types::uint8();
}

template <size_t kPart>
ColumnPtr runContains(const Call& call) {
    const NamedColumn arguments[] = {(kPart == 0 ? mapKeysArgument : mapValuesArgument)(call.arguments[0]),
                                     call.arguments[1]};
    return resolveFunction("has", arguments, nullptr)->execute(arguments, call.rows);
}

template <size_t kPart, bool kExtract>
TypePtr typeOfLike(const Signature& call) {
    needCount(call, 2);
    needMap(call, 0);
    if (!removeLowCardinality(call.type(0)->child(kPart))->isString())
        illegalArgument(call, 0, "a map of strings");
    needString(call, 1);
    return kExtract ? call.type(0) : types::uint8();
}

/// Which entries of the maps have a key or value like the pattern.
template <size_t kPart>
Mask likeEntries(const Call& call, const NamedColumn& map) {
    const NamedColumn part = (kPart == 0 ? mapKeysArgument : mapValuesArgument)(map);
    const ArrayArgument arrays(part.column);
    const size_t rows = arrays.elements()->size();
    const ColumnPtr pattern = full(call.column(1))->replicate(arrays.arrays().ends().span());
    const NamedColumn arguments[] = {{"", part.type->child(), arrays.elements()},
                                     {"", types::string(), pattern}};
    const auto like = resolveFunction("like", arguments, nullptr);
    const ColumnPtr marks = fullPlain(like->execute(arguments, rows));
    Mask mask(rows);
    for (size_t i = 0; i < rows; ++i) mask[i] = marks->isNullAt(i) ? 0 : marks->value(i).to<uint8_t>();
    return mask;
}

template <size_t kPart>
ColumnPtr runContainsLike(const Call& call) {
    const NamedColumn map{"", call.argumentType(0), full(call.column(0))};
    const Mask mask = likeEntries<kPart>(call, map);
    const auto& arrays = as<ArrayColumn>(*map.column);
    return eachRow<uint8_t>(call.rows, [&](size_t row) {
        return std::any_of(mask.begin() + arrays.startAt(row), mask.begin() + arrays.ends()[row],
                           [](uint8_t bit) { return bit != 0; });
    });
}

ColumnPtr keepEntries(const ArrayColumn& maps, const Mask& mask) {
    PodVector<uint64_t> ends(maps.size());
    uint64_t kept = 0;
    for (size_t row = 0; row < maps.size(); ++row) {
        for (size_t i = maps.startAt(row); i < maps.ends()[row]; ++i) kept += mask[i];
        ends[row] = kept;
    }
    return std::make_shared<ArrayColumn>(maps.elements()->filter(mask.span(), kept), std::move(ends));
}

template <size_t kPart>
ColumnPtr runExtractLike(const Call& call) {
    const NamedColumn map{"", call.argumentType(0), full(call.column(0))};
    return keepEntries(as<ArrayColumn>(*map.column), likeEntries<kPart>(call, map));
}

// -- uniting --------------------------------------------------------------------------------------

TypePtr typeOfUnited(const Signature& call) {
    needCount(call, 1, SIZE_MAX);
    for (size_t i = 0; i < call.count(); ++i) {
        needMap(call, i);
        if (call.name == "mapUpdate" && !sameType(call.type(i), call.type(0)))
            throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                        "The arguments of function {} must have the same type, got {} and {}", call.name,
                        call.type(0)->name(), call.type(i)->name());
    }
    std::vector<TypePtr> all;
    for (size_t i = 0; i < call.count(); ++i) all.push_back(call.type(i));
    return commonType(std::move(all));
}

/// All entries of all maps of a row in one column; `take(row, argument, place)` for each in turn.
struct Entries {
    std::vector<ArrayArgument> maps;
    std::vector<size_t> offsets;
    ColumnPtr keys;
    ColumnPtr values;
};

Entries entriesOf(const Call& call, const TypePtr& type, std::span<const NamedColumn> arguments) {
    Entries entries;
    std::vector<ColumnPtr> keys;
    std::vector<ColumnPtr> values;
    size_t total = 0;
    for (const NamedColumn& argument : arguments) {
        entries.maps.emplace_back(castArgument(argument, type, call.rows));
        const auto& tuple = as<TupleColumn>(*entries.maps.back().elements());
        keys.push_back(tuple.element(0));
        values.push_back(tuple.element(1));
        entries.offsets.push_back(total);
        total += tuple.size();
    }
    entries.keys = concatenateColumns(keys, type->child(0));
    entries.values = concatenateColumns(values, type->child(1));
    return entries;
}

/// mapUpdate and mapConcat. The later value of a key counts in mapUpdate; mapConcat keeps all entries.
template <bool kUpdate>
ColumnPtr runUnited(const Call& call) {
    const Entries entries = entriesOf(call, call.type, call.arguments);
    PlaceIndex index({entries.keys.get()});
    PodVector<RowIndex> keys;
    PodVector<RowIndex> values;
    PodVector<uint64_t> ends(call.rows);
    PodVector<RowIndex> position(entries.keys->size() + 1);
    for (size_t row = 0; row < call.rows; ++row) {
        size_t expected = 0;
        for (const ArrayArgument& map : entries.maps) expected += map.length(row);
        index.begin(expected);
        for (size_t i = 0; i < entries.maps.size(); ++i) {
            for (size_t at = entries.maps[i].start(row); at < entries.maps[i].end(row); ++at) {
                const size_t place = entries.offsets[i] + at;
                const size_t first = kUpdate ? index.add(place) : place;
                if (first == place) {
                    position[place] = static_cast<RowIndex>(keys.size());
                    keys.push_back(static_cast<RowIndex>(place));
                    values.push_back(static_cast<RowIndex>(place));
                } else {
                    values[position[first]] = static_cast<RowIndex>(place);
                }
            }
        }
        ends[row] = keys.size();
    }
    return makeMap(entries.keys->gather(keys.span()), entries.values->gather(values.span()), std::move(ends));
}

// -- adding ---------------------------------------------------------------------------------------

/// Sums are as wide as their kind goes.
TypePtr promoted(const Signature& call, const TypePtr& type) {
    if (type->isInteger() || type->kind() == TypeKind::Bool) {
        if (type->width() > 8) return type;
        return type->isUnsigned() ? types::uint64() : types::int64();
    }
    if (type->isFloat()) return types::float64();
    if (type->isDecimal())
        return types::decimal(type->kind() == TypeKind::Decimal256 ? 76 : 38, type->scale());
    throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, "{} cannot add values of type {}", call.name,
                type->name());
}

TypePtr typeOfMapAdd(const Signature& call) {
    needCount(call, 1, SIZE_MAX);
    const bool maps = call.type(0)->kind() == TypeKind::Map;
    std::vector<TypePtr> keys;
    std::vector<TypePtr> values;
    for (size_t i = 0; i < call.count(); ++i) {
        const Type& type = *call.type(i);
        if (maps && type.kind() == TypeKind::Map) {
            keys.push_back(type.child(0));
            values.push_back(type.child(1));
        } else if (!maps && type.kind() == TypeKind::Tuple && type.children().size() == 2 &&
                   type.child(0)->kind() == TypeKind::Array && type.child(1)->kind() == TypeKind::Array) {
            keys.push_back(type.child(0)->child());
            values.push_back(type.child(1)->child());
        } else {
            throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, "{} accepts only maps, or tuples of two arrays",
                        call.name);
        }
    }
    const TypePtr key = commonType(std::move(keys));
    const TypePtr value = promoted(call, commonType(std::move(values)));
    return maps ? types::map(key, value) : types::tuple({types::array(key), types::array(value)});
}

/// A tuple of keys and values in arrays as a map.
NamedColumn mapOfTuple(const Call& call, const NamedColumn& argument) {
    if (argument.type->kind() == TypeKind::Map) return argument;
    const ColumnPtr tuple = full(argument.column);
    const NamedColumn arguments[] = {{"", argument.type->child(0), as<TupleColumn>(*tuple).element(0)},
                                     {"", argument.type->child(1), as<TupleColumn>(*tuple).element(1)}};
    const TypePtr type = types::map(argument.type->child(0)->child(), argument.type->child(1)->child());
    return {"", type, runFromArrays(Call{call.name, arguments, type, call.rows, call.context})};
}

template <int kSign>
ColumnPtr runMapAdd(const Call& call) {
    const bool maps = call.type->kind() == TypeKind::Map;
    const TypePtr type =
        maps ? call.type : types::map(call.type->child(0)->child(), call.type->child(1)->child());
    std::vector<NamedColumn> arguments;
    for (const NamedColumn& argument : call.arguments) arguments.push_back(mapOfTuple(call, argument));
    const Entries entries = entriesOf(call, type, arguments);
    PlaceIndex index({entries.keys.get()});
    const bool floats = type->child(1)->isFloat();
    std::vector<Int256> sums(entries.keys->size());
    std::vector<double> float_sums(floats ? entries.keys->size() : 0);
    PodVector<RowIndex> order;
    PodVector<uint64_t> ends(call.rows);
    for (size_t row = 0; row < call.rows; ++row) {
        size_t expected = 0;
        for (const ArrayArgument& map : entries.maps) expected += map.length(row);
        index.begin(expected);
        const size_t begin = order.size();
        for (size_t i = 0; i < entries.maps.size(); ++i) {
            for (size_t at = entries.maps[i].start(row); at < entries.maps[i].end(row); ++at) {
                const size_t place = entries.offsets[i] + at;
                const size_t first = index.add(place);
                if (first == place) {
                    order.push_back(static_cast<RowIndex>(place));
                    sums[place] = Int256{};
                    if (floats) float_sums[place] = 0;
                }
                const bool negative = kSign < 0 && i > 0;
                if (floats) {
                    const double value = entries.values->value(place).to<double>();
                    float_sums[first] += negative ? -value : value;
                } else {
                    const auto value = entries.values->value(place).to<Int256>();
                    sums[first] = negative ? sums[first] - value : sums[first] + value;
                }
            }
        }
        std::sort(order.begin() + begin, order.end(), [&](RowIndex a, RowIndex b) {
            return entries.keys->compareAt(a, *entries.keys, b, 1) < 0;
        });
        ends[row] = order.size();
    }
    MutableColumnPtr values = createColumn(*type->child(1));
    for (const RowIndex place : order) values->insert(floats ? Value(float_sums[place]) : Value(sums[place]));
    ColumnPtr keys = entries.keys->gather(order.span());
    if (maps) return makeMap(std::move(keys), std::move(values), std::move(ends));
    ColumnPtr key_arrays = std::make_shared<ArrayColumn>(std::move(keys), ends);
    ColumnPtr value_arrays = std::make_shared<ArrayColumn>(ColumnPtr(std::move(values)), std::move(ends));
    return std::make_shared<TupleColumn>(
        std::vector<ColumnPtr>{std::move(key_arrays), std::move(value_arrays)}, call.rows);
}

}  // namespace

std::span<const FunctionInfo> mapFunctions() {
    constexpr uint32_t kSeesAll = kSeesNulls | kSeesDictionaries;
    static const FunctionInfo kList[] = {
        define<"map", typeOfMap, runMap, kSeesAll>("map(key, value, …)", "A map.", "map('a', 1)", "{'a':1}"),
        define<"mapFromArrays", typeOfFromArrays, runFromArrays, kMayThrow>(
            "mapFromArrays(keys, values)", "A map of two arrays.", "mapFromArrays(['a'], [1])", "{'a':1}"),
        define<"mapKeys", typeOfPart<0>, runPart<0>, kSeesDictionaries>("mapKeys(map)", "The keys.",
                                                                        "mapKeys(map('a', 1))", "['a']"),
        define<"mapValues", typeOfPart<1>, runPart<1>, kSeesDictionaries>("mapValues(map)", "The values.",
                                                                          "mapValues(map('a', 1))", "[1]"),
        define<"mapContainsKey", typeOfContains<0>, runContains<0>, kSeesAll>(
            "mapContainsKey(map, key)", "Whether there is such a key.", "mapContainsKey(map('a', 1), 'a')",
            "1"),
        define<"mapContainsValue", typeOfContains<1>, runContains<1>, kSeesAll>(
            "mapContainsValue(map, value)", "Whether there is such a value.",
            "mapContainsValue(map('a', 1), 1)", "1"),
        define<"mapContainsKeyLike", typeOfLike<0, false>, runContainsLike<0>>(
            "mapContainsKeyLike(map, pattern)", "Whether a key is like the pattern.",
            "mapContainsKeyLike(map('abc', 1), 'a%')", "1"),
        define<"mapContainsValueLike", typeOfLike<1, false>, runContainsLike<1>>(
            "mapContainsValueLike(map, pattern)", "Whether a value is like the pattern.",
            "mapContainsValueLike(map('a', 'xyz'), 'x%')", "1"),
        define<"mapExtractKeyLike", typeOfLike<0, true>, runExtractLike<0>>(
            "mapExtractKeyLike(map, pattern)", "The entries whose key is like the pattern.",
            "mapExtractKeyLike(map('abc', 1, 'x', 2), 'a%')", "{'abc':1}"),
        define<"mapExtractValueLike", typeOfLike<1, true>, runExtractLike<1>>(
            "mapExtractValueLike(map, pattern)", "The entries whose value is like the pattern.",
            "mapExtractValueLike(map('a', 'xyz'), 'x%')", "{'a':'xyz'}"),
        define<"mapUpdate", typeOfUnited, runUnited<true>>(
            "mapUpdate(map, map)", "The first map with the entries of the second set in it.",
            "mapUpdate(map('a', 1), map('a', 2))", "{'a':2}"),
        define<"mapConcat", typeOfUnited, runUnited<true>>("mapConcat(map, …)", "Maps one after another.",
                                                           "mapConcat(map('a', 1), map('b', 2))",
                                                           "{'a':1,'b':2}"),
        define<"mapAdd", typeOfMapAdd, runMapAdd<1>>("mapAdd(map, …)", "Values of equal keys added.",
                                                     "mapAdd(map('a', 1), map('a', 2))", "{'a':3}"),
        define<"mapSubtract", typeOfMapAdd, runMapAdd<-1>>(
            "mapSubtract(map, …)", "Values of equal keys subtracted.",
            "mapSubtract(map('a', 3), map('a', 2))", "{'a':1}"),
    };
    return kList;
}

}  // namespace shardd::functions
