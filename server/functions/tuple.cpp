// Tuples: made, taken apart, computed with element by element.

#include "common/columns/create_column.h"
#include "common/columns/tuple_column.h"
#include "server/functions/array_support.h"

namespace shardd::functions {

namespace {

// -- tuple, tupleElement --------------------------------------------------------------------------

TypePtr typeOfTuple(const Signature& call) {
    std::vector<TypePtr> elements;
    for (size_t i = 0; i < call.count(); ++i) elements.push_back(call.type(i));
    return types::tuple(std::move(elements));
}

ColumnPtr runTuple(const Call& call) {
    std::vector<ColumnPtr> elements;
    for (const NamedColumn& argument : call.arguments) elements.push_back(full(argument.column));
    return std::make_shared<TupleColumn>(std::move(elements), call.rows);
}

/// Which element is meant, by number or by name; nothing when there is a default and no such element.
std::optional<size_t> elementIndex(std::string_view function,
                                   const Type& tuple,
                                   const NamedColumn& index,
                                   bool has_default) {
    const auto value = constantValue(index);
    if (!value || value->isNull())
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    "Second argument of {} with a tuple must be a constant number or name", function);
    const size_t count = tuple.children().size();
    if (value->kind() == Value::Kind::String) {
        const auto& names = tuple.elementNames();
        const std::string& name = value->get<std::string>();
        const auto found = std::find(names.begin(), names.end(), name);
        if (found != names.end()) return static_cast<size_t>(found - names.begin());
        if (has_default) return std::nullopt;
        throw Error(ErrorCode::BAD_ARGUMENTS, "Tuple doesn't have element with name '{}'", name);
    }
    if (!index.type->isInteger())
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, "Second argument of {} must be an integer or a name",
                    function);
    auto number = value->to<int64_t>();
    if (number < 0 && -number <= static_cast<int64_t>(count)) number += static_cast<int64_t>(count) + 1;
    if (number >= 1 && number <= static_cast<int64_t>(count)) return static_cast<size_t>(number) - 1;
    if (has_default) return std::nullopt;
    if (number == 0) throw Error(ErrorCode::ARGUMENT_OUT_OF_BOUND, "Indices in tuples are 1-based");
    throw Error(ErrorCode::ARGUMENT_OUT_OF_BOUND, "Tuple doesn't have element with index '{}'", number);
}

/// The tuple under arrays: tupleElement([(1, 'a')], 1) takes the element of each.
TypePtr typeOfElement(const Signature& call) {
    needCount(call, 2, 3);
    size_t arrays = 0;
    TypePtr tuple = call.type(0);
    for (; tuple->kind() == TypeKind::Array; ++arrays) tuple = tuple->child();
    if (tuple->isNullable() && tuple->child()->kind() == TypeKind::Tuple) tuple = tuple->child();
    if (tuple->kind() == TypeKind::Map) tuple = types::tuple(tuple->children(), {"keys", "values"});
    if (tuple->kind() != TypeKind::Tuple) illegalArgument(call, 0, "Tuple or Array of Tuple");
    const auto index = elementIndex(call.name, *tuple, call.arguments[1], call.count() == 3);
    TypePtr type = index ? tuple->child(*index) : call.type(2);
    for (; arrays > 0 && index; --arrays) type = types::array(type);
    return type;
}

ColumnPtr takeElement(const ColumnPtr& column, const Type& type, const NamedColumn& index, bool has_default) {
    if (type.kind() == TypeKind::Array) {
        const auto& arrays = as<ArrayColumn>(*column);
        ColumnPtr elements = takeElement(arrays.elements(), *type.child(), index, has_default);
        return elements ? std::make_shared<ArrayColumn>(std::move(elements), arrays.ends()) : nullptr;
    }
    const auto element = elementIndex("tupleElement", type, index, has_default);
    return element ? full(as<TupleColumn>(*column).element(*element)) : nullptr;
}

ColumnPtr runElement(const Call& call) {
    ColumnPtr column = call.column(0);
    const bool constant = column->kind() == ColumnKind::Const;
    if (constant) column = as<ConstColumn>(*column).one();
    NamedColumn index = call.arguments[1];
    if (index.column->kind() != ColumnKind::Const)
        index.column = std::make_shared<ConstColumn>(index.column->slice(0, 1), call.rows);
    ColumnPtr result = takeElement(column, *call.argumentType(0), index, call.count() == 3);
    if (!result) return call.column(2);
    if (constant) return std::make_shared<ConstColumn>(std::move(result), call.rows);
    return result;
}

// -- whole tuples ---------------------------------------------------------------------------------

TypePtr typeOfConcat(const Signature& call) {
    needCount(call, 1, SIZE_MAX);
    std::vector<TypePtr> elements;
    for (size_t i = 0; i < call.count(); ++i) {
        needTuple(call, i);
        elements.insert(elements.end(), call.type(i)->children().begin(), call.type(i)->children().end());
    }
    return types::tuple(std::move(elements));
}

ColumnPtr runConcat(const Call& call) {
    std::vector<ColumnPtr> elements;
    for (const NamedColumn& argument : call.arguments) {
        const ColumnPtr column = full(argument.column);
        for (const ColumnPtr& element : as<TupleColumn>(*column).elements())
            elements.push_back(full(element));
    }
    return std::make_shared<TupleColumn>(std::move(elements), call.rows);
}

std::vector<std::string> namesOf(const Type& tuple) {
    if (!tuple.elementNames().empty()) return tuple.elementNames();
    std::vector<std::string> names;
    for (size_t i = 1; i <= tuple.children().size(); ++i) names.push_back(std::to_string(i));
    return names;
}

TypePtr typeOfNames(const Signature& call) {
    needCount(call, 1);
    needTuple(call, 0);
    return types::array(types::string());
}

ColumnPtr runNames(const Call& call) {
    ArrayValue names;
    for (const std::string& name : namesOf(*call.argumentType(0))) names.elements.emplace_back(Value(name));
    return createConstColumn(*call.type, Value(std::move(names)), call.rows);
}

TypePtr typeOfPairs(const Signature& call) {
    needCount(call, 1);
    needTuple(call, 0);
    const auto& elements = call.type(0)->children();
    if (elements.empty()) illegalArgument(call, 0, "a tuple that is not empty");
    for (const TypePtr& element : elements)
        if (!sameType(element, elements[0])) illegalArgument(call, 0, "a tuple of one type");
    return types::array(types::tuple({types::string(), elements[0]}));
}

ColumnPtr runPairs(const Call& call) {
    const ColumnPtr column = full(call.column(0));
    const auto& tuple = as<TupleColumn>(*column);
    const std::vector<std::string> names = namesOf(*call.argumentType(0));
    const size_t count = names.size();
    std::vector<ColumnPtr> elements;
    for (const ColumnPtr& element : tuple.elements()) elements.push_back(full(element));
    const ColumnPtr all = concatenateColumns(elements, call.argumentType(0)->child(0));
    PodVector<RowIndex> places(call.rows * count);
    PodVector<uint64_t> ends(call.rows);
    TextBuilder keys(call.rows * count);
    for (size_t row = 0; row < call.rows; ++row) {
        for (size_t i = 0; i < count; ++i) {
            keys.add(names[i]);
            places[row * count + i] = static_cast<RowIndex>(i * call.rows + row);
        }
        ends[row] = (row + 1) * count;
    }
    std::vector<ColumnPtr> pair{keys.finish(), all->gather(places.span())};
    return std::make_shared<ArrayColumn>(std::make_shared<TupleColumn>(std::move(pair), call.rows * count),
                                         std::move(ends));
}

void flatten(const Type& type,
             const std::string& prefix,
             std::vector<TypePtr>& types,
             std::vector<std::string>& names) {
    for (size_t i = 0; i < type.children().size(); ++i) {
        const std::string name =
            prefix.empty() ? type.elementNames()[i] : prefix + "." + type.elementNames()[i];
        const TypePtr& child = type.child(i);
        if (child->kind() == TypeKind::Tuple && !child->elementNames().empty()) {
            flatten(*child, name, types, names);
        } else {
            types.push_back(child);
            names.push_back(name);
        }
    }
}

TypePtr typeOfFlatten(const Signature& call) {
    needCount(call, 1);
    needTuple(call, 0);
    if (call.type(0)->elementNames().empty())
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    "Tuple argument for function '{}' must be named. Got '{}'", call.name,
                    call.type(0)->name());
    std::vector<TypePtr> elements;
    std::vector<std::string> names;
    flatten(*call.type(0), "", elements, names);
    return types::tuple(std::move(elements), std::move(names));
}

void flattenColumns(const Type& type, const ColumnPtr& column, std::vector<ColumnPtr>& out) {
    const ColumnPtr whole = full(column);
    for (size_t i = 0; i < type.children().size(); ++i) {
        const TypePtr& child = type.child(i);
        const ColumnPtr element = full(as<TupleColumn>(*whole).element(i));
        if (child->kind() == TypeKind::Tuple && !child->elementNames().empty())
            flattenColumns(*child, element, out);
        else
            out.push_back(element);
    }
}

ColumnPtr runFlatten(const Call& call) {
    std::vector<ColumnPtr> elements;
    flattenColumns(*call.argumentType(0), call.column(0), elements);
    return std::make_shared<TupleColumn>(std::move(elements), call.rows);
}

// -- element by element ---------------------------------------------------------------------------

NamedColumn elementOf(const NamedColumn& argument, size_t i) {
    if (!argument.column) return {"", argument.type->child(i), nullptr};
    const ColumnPtr column = full(argument.column);
    return {"", argument.type->child(i), full(as<TupleColumn>(*column).element(i))};
}

/// The arguments of the inner function for element i: elements of tuples, and the other arguments as they
/// are.
std::vector<NamedColumn> argumentsAt(Arguments arguments, size_t i) {
    std::vector<NamedColumn> result;
    for (const NamedColumn& argument : arguments)
        result.push_back(argument.type->kind() == TypeKind::Tuple ? elementOf(argument, i) : argument);
    return result;
}

template <size_t kTuples, size_t kOthers>
void needTuples(const Signature& call) {
    needCount(call, kTuples + kOthers);
    for (size_t i = 0; i < kTuples; ++i) needTuple(call, i);
    if (kTuples == 2 && call.type(0)->children().size() != call.type(1)->children().size())
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    "Expected tuples of the same size as arguments 0 and 1 of function {}, got {} and {}",
                    call.name, call.type(0)->name(), call.type(1)->name());
    if (kOthers == 1) needNumber(call, kTuples);
}

template <FixedName kFunction, size_t kTuples, size_t kOthers>
TypePtr typeOfEach(const Signature& call) {
    needTuples<kTuples, kOthers>(call);
    std::vector<TypePtr> elements;
    for (size_t i = 0; i < call.type(0)->children().size(); ++i)
        elements.push_back(
            resolveFunction(kFunction.view(), argumentsAt(call.arguments, i), nullptr)->resultType());
    return types::tuple(std::move(elements));
}

template <FixedName kFunction>
ColumnPtr runEach(const Call& call) {
    std::vector<ColumnPtr> elements;
    for (size_t i = 0; i < call.argumentType(0)->children().size(); ++i) {
        const std::vector<NamedColumn> arguments = argumentsAt(call.arguments, i);
        elements.push_back(
            full(resolveFunction(kFunction.view(), arguments, nullptr)->execute(arguments, call.rows)));
    }
    return std::make_shared<TupleColumn>(std::move(elements), call.rows);
}

/// How many elements differ: the sum of notEqual(a, b) over the elements.
ColumnPtr differences(std::string_view, Arguments arguments, size_t rows, TypePtr& type) {
    NamedColumn sum;
    for (size_t i = 0; i < arguments[0].type->children().size(); ++i) {
        const std::vector<NamedColumn> pair{elementOf(arguments[0], i), elementOf(arguments[1], i)};
        const auto differs = resolveFunction("notEquals", pair, nullptr);
        NamedColumn next{"", differs->resultType(), pair[0].column ? differs->execute(pair, rows) : nullptr};
        if (!sum.type) {
            sum = std::move(next);
            continue;
        }
        const NamedColumn both[] = {sum, next};
        const auto plus = resolveFunction("plus", both, nullptr);
        sum = {"", plus->resultType(), sum.column ? plus->execute(both, rows) : nullptr};
    }
    type = sum.type ? sum.type : types::uint8();
    return sum.column;
}

TypePtr typeOfHamming(const Signature& call) {
    needTuples<2, 0>(call);
    TypePtr type;
    std::vector<NamedColumn> bare(call.arguments.begin(), call.arguments.end());
    for (NamedColumn& argument : bare) argument.column = nullptr;
    differences(call.name, bare, 0, type);
    return type;
}

ColumnPtr runHamming(const Call& call) {
    TypePtr type;
    ColumnPtr result = differences(call.name, call.arguments, call.rows, type);
    return result ? full(result) : createConstColumn(*call.type, Value(uint64_t{0}), call.rows);
}

#define EACH_PAIR(name, function)                                           \
    define<name, typeOfEach<function, 2, 0>, runEach<function>, kMayThrow>( \
        name "(a, b)", function " of the elements at each place.")
#define EACH_BY_NUMBER(name, function)                                      \
    define<name, typeOfEach<function, 1, 1>, runEach<function>, kMayThrow>( \
        name "(tuple, n)", function " of each element and n.")

}  // namespace

std::span<const FunctionInfo> tupleFunctions() {
    constexpr uint32_t kSeesAll = kSeesNulls | kSeesDictionaries;
    static const FunctionInfo kList[] = {
        define<"tuple", typeOfTuple, runTuple, kSeesAll | kInjective>("tuple(x, …)", "A tuple.",
                                                                      "tuple(1, 'a')", "(1,'a')"),
        define<"tupleElement", typeOfElement, runElement, kSeesAll, 2>(
            "tupleElement(tuple, number or name[, default])", "One element of a tuple.",
            "tupleElement((1, 'a'), 2)", "a"),
        define<"tupleConcat", typeOfConcat, runConcat>("tupleConcat(tuple, …)", "Tuples one after another.",
                                                       "tupleConcat((1, 2), ('a',))", "(1,2,'a')"),
        define<"tupleNames", typeOfNames, runNames, kSeesAll>("tupleNames(tuple)",
                                                              "The names of the elements."),
        define<"tupleToNameValuePairs", typeOfPairs, runPairs>(
            "tupleToNameValuePairs(tuple)", "An array of (name, value).", "tupleToNameValuePairs((1, 2))",
            "[('1',1),('2',2)]"),
        define<"flattenTuple", typeOfFlatten, runFlatten, kSeesAll>("flattenTuple(tuple)",
                                                                    "Tuples in a tuple as one."),
        define<"tupleNegate", typeOfEach<"negate", 1, 0>, runEach<"negate">>(
            "tupleNegate(tuple)", "Every element negated.", "tupleNegate((1, -2))", "(-1,2)"),
        EACH_PAIR("tuplePlus", "plus"),
        EACH_PAIR("tupleMinus", "minus"),
        EACH_PAIR("tupleMultiply", "multiply"),
        EACH_PAIR("tupleDivide", "divide"),
        EACH_PAIR("tupleModulo", "modulo"),
        EACH_PAIR("tupleIntDiv", "intDiv"),
        EACH_PAIR("tupleIntDivOrZero", "intDivOrZero"),
        EACH_BY_NUMBER("tupleMultiplyByNumber", "multiply"),
        EACH_BY_NUMBER("tupleDivideByNumber", "divide"),
        EACH_BY_NUMBER("tupleModuloByNumber", "modulo"),
        EACH_BY_NUMBER("tupleIntDivByNumber", "intDiv"),
        EACH_BY_NUMBER("tupleIntDivOrZeroByNumber", "intDivOrZero"),
        define<"tupleHammingDistance", typeOfHamming, runHamming>(
            "tupleHammingDistance(a, b)", "In how many places two tuples differ.",
            "tupleHammingDistance((1, 2, 3), (1, 5, 3))", "1"),
    };
    return kList;
}

}  // namespace shardd::functions
