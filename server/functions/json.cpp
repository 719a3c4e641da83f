// Values out of JSON texts: JSONExtract*, JSONHas, JSONLength, JSONType … over simdjson.

#include <simdjson.h>

#include "common/columns/create_column.h"
#include "common/columns/nullable_column.h"
#include "common/columns/tuple_column.h"
#include "common/types/type_parser.h"
#include "server/formats/number_text.h"
#include "server/formats/value_text.h"
#include "server/functions/definition.h"
#include "server/functions/json_support.h"

namespace shardd::functions {

namespace {

using Element = simdjson::dom::element;
using ElementType = simdjson::dom::element_type;

// -- finding --------------------------------------------------------------------------------------

bool sameFolded(std::string_view a, std::string_view b) {
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) {
               return std::tolower(static_cast<unsigned char>(x)) ==
                      std::tolower(static_cast<unsigned char>(y));
           });
}

/// The texts of argument 0 parsed row by row, and the way to a value in them: names and numbers (from 1, or
/// from the end) in the arguments [1, path_end).
class JsonRows {
public:
    JsonRows(const Call& call, size_t path_end, bool fold_case)
        : texts_(call.column(0)), fold_case_(fold_case) {
        for (size_t i = 1; i < path_end; ++i) {
            Step step;
            if (call.argumentType(i)->isString())
                step.names.emplace(call.column(i));
            else
                step.numbers.emplace(call.column(i));
            path_.push_back(std::move(step));
        }
    }

    /// Nothing when the text is no JSON or has nothing at the end of the path. `key` is the last name on the
    /// way.
    std::optional<Element> find(size_t row, std::string_view* key = nullptr) {
        Element element;
        if (parse(row).get(element) != simdjson::SUCCESS) return std::nullopt;
        for (const Step& step : path_)
            if (!walk(step, row, element, key)) return std::nullopt;
        return element;
    }

    bool valid(size_t row) {
        Element element;
        return parse(row).get(element) == simdjson::SUCCESS;
    }

private:
    struct Step {
        std::optional<TextArgument> names;
        std::optional<IntegerArgument> numbers;
    };

    simdjson::simdjson_result<Element> parse(size_t row) {
        const std::string_view text = texts_[row];
        static_assert(PodVector<char>::kPadding >= simdjson::SIMDJSON_PADDING);
        return parser_.parse(text.data(), text.size(), false);
    }

    bool walk(const Step& step, size_t row, Element& element, std::string_view* key) const {
        if (step.names) return walkName((*step.names)[row], element, key);
        return walkNumber((*step.numbers)[row], element, key);
    }

    bool walkName(std::string_view name, Element& element, std::string_view* key) const {
        simdjson::dom::object object;
        if (element.get_object().get(object) != simdjson::SUCCESS) return false;
        for (const auto field : object) {
            if (fold_case_ ? !sameFolded(field.key, name) : field.key != name) continue;
            if (key) *key = field.key;
            element = field.value;
            return true;
        }
        return false;
    }

    static bool walkNumber(int64_t number, Element& element, std::string_view* key) {
        simdjson::dom::array array;
        if (element.get_array().get(array) == simdjson::SUCCESS) {
            if (number < 0) number += static_cast<int64_t>(array.size()) + 1;
            for (const Element child : array)
                if (--number == 0) {
                    element = child;
                    return true;
                }
            return false;
        }
        simdjson::dom::object object;
        if (element.get_object().get(object) != simdjson::SUCCESS) return false;
        if (number < 0) number += static_cast<int64_t>(object.size()) + 1;
        for (const auto field : object)
            if (--number == 0) {
                if (key) *key = field.key;
                element = field.value;
                return true;
            }
        return false;
    }

    TextArgument texts_;
    std::vector<Step> path_;
    simdjson::dom::parser parser_;
    bool fold_case_;
};

// -- writing --------------------------------------------------------------------------------------

void writeEscaped(std::string_view text, Writer& out) {
    out.writeByte('"');
    for (const char c : text) {
        switch (c) {
            case '"':
                out.writeBytes("\\\"");
                break;
            case '\\':
                out.writeBytes("\\\\");
                break;
            case '\b':
                out.writeBytes("\\b");
                break;
            case '\f':
                out.writeBytes("\\f");
                break;
            case '\n':
                out.writeBytes("\\n");
                break;
            case '\r':
                out.writeBytes("\\r");
                break;
            case '\t':
                out.writeBytes("\\t");
                break;
            default:
                if (static_cast<unsigned char>(c) < 0x20)
                    out.writeBytes(fmt::format("\\u{:04X}", static_cast<unsigned>(c)));
                else
                    out.writeByte(static_cast<uint8_t>(c));
        }
    }
    out.writeByte('"');
}

/// Without blanks, numbers as ClickHouse writes them.
void writeRaw(const Element& element, Writer& out) {
    switch (element.type()) {
        case ElementType::ARRAY: {
            out.writeByte('[');
            bool first = true;
            for (const Element child : simdjson::dom::array(element)) {
                if (!std::exchange(first, false)) out.writeByte(',');
                writeRaw(child, out);
            }
            out.writeByte(']');
            break;
        }
        case ElementType::OBJECT: {
            out.writeByte('{');
            bool first = true;
            for (const auto field : simdjson::dom::object(element)) {
                if (!std::exchange(first, false)) out.writeByte(',');
                writeEscaped(field.key, out);
                out.writeByte(':');
                writeRaw(field.value, out);
            }
            out.writeByte('}');
            break;
        }
        case ElementType::INT64:
            formats::writeInteger(int64_t(element), out);
            break;
        case ElementType::UINT64:
            formats::writeInteger(uint64_t(element), out);
            break;
        case ElementType::DOUBLE:
            formats::writeFloat(double(element), out);
            break;
        case ElementType::STRING:
            writeEscaped(std::string_view(element), out);
            break;
        case ElementType::BOOL:
            out.writeBytes(bool(element) ? "true" : "false");
            break;
        case ElementType::NULL_VALUE:
            out.writeBytes("null");
            break;
    }
}

/// A string without its quotes, anything else as it stands; nothing for null.
bool writeText(const Element& element, Writer& out) {
    if (element.is_null()) return false;
    if (element.is_string())
        out.writeBytes(std::string_view(element));
    else
        writeRaw(element, out);
    return true;
}

// -- to typed values ------------------------------------------------------------------------------

/// Integers from numbers and from texts of numbers; false when the value does not fit.
template <typename T>
bool toInteger(const Element& element, T& value, bool from_bool = false) {
    switch (element.type()) {
        case ElementType::INT64: {
            const int64_t number(element);
            if (!std::in_range<T>(number)) return false;
            value = static_cast<T>(number);
            return true;
        }
        case ElementType::UINT64: {
            const uint64_t number(element);
            if (!std::in_range<T>(number)) return false;
            value = static_cast<T>(number);
            return true;
        }
        case ElementType::DOUBLE: {
            const double number(element);
            if (!(number > static_cast<double>(std::numeric_limits<T>::min()) - 1 &&
                  number < static_cast<double>(std::numeric_limits<T>::max()) + 1))
                return false;
            value = static_cast<T>(number);
            return true;
        }
        case ElementType::BOOL:
            value = static_cast<T>(bool(element));
            return from_bool;
        case ElementType::STRING: {
            formats::TextInput in{std::string_view(element)};
            return formats::readInteger(in, value, true) == ErrorCode::OK && in.atEnd();
        }
        default:
            return false;
    }
}

bool toDouble(const Element& element, double& value) {
    switch (element.type()) {
        case ElementType::INT64:
            value = static_cast<double>(int64_t(element));
            return true;
        case ElementType::UINT64:
            value = static_cast<double>(uint64_t(element));
            return true;
        case ElementType::DOUBLE:
            value = double(element);
            return true;
        case ElementType::STRING: {
            formats::TextInput in{std::string_view(element)};
            return formats::readFloat(in, value) == ErrorCode::OK && in.atEnd();
        }
        default:
            return false;
    }
}

template <typename T>
std::optional<Value> integerValue(const Element& element) {
    T value = 0;
    if (!toInteger(element, value, true)) return std::nullopt;
    if constexpr (std::is_signed_v<T>)
        return Value(static_cast<int64_t>(value));
    else
        return Value(static_cast<uint64_t>(value));
}

/// The element as a value of the type; nothing when it cannot be one.
std::optional<Value> typedValue(const Element& element, const TypePtr& type, unsigned depth = 0);

std::optional<Value> tupleValue(const Element& element, const Type& type, unsigned depth) {
    TupleValue tuple;
    for (const TypePtr& child : type.children()) tuple.elements.push_back(defaultValue(*child));
    bool any = false;
    if (element.is_array()) {
        size_t i = 0;
        for (const Element child : simdjson::dom::array(element)) {
            if (i >= tuple.elements.size()) break;
            if (auto value = typedValue(child, type.child(i), depth)) {
                tuple.elements[i] = std::move(*value);
                any = true;
            }
            ++i;
        }
    } else if (element.is_object()) {
        size_t position = 0;
        for (const auto field : simdjson::dom::object(element)) {
            size_t i = position++;
            if (!type.elementNames().empty()) {
                const auto found =
                    std::find(type.elementNames().begin(), type.elementNames().end(), field.key);
                if (found == type.elementNames().end()) continue;
                i = static_cast<size_t>(found - type.elementNames().begin());
            }
            if (i >= tuple.elements.size()) break;
            if (auto value = typedValue(field.value, type.child(i), depth)) {
                tuple.elements[i] = std::move(*value);
                any = true;
            }
        }
    }
    if (!any) return std::nullopt;
    return Value(std::move(tuple));
}

std::optional<Value> arrayValue(const Element& element, const Type& type, unsigned depth) {
    simdjson::dom::array array;
    if (element.get_array().get(array) != simdjson::SUCCESS) return std::nullopt;
    ArrayValue values;
    bool any = false;
    for (const Element child : array) {
        auto value = typedValue(child, type.child(), depth);
        any |= value.has_value();
        values.elements.push_back(value ? std::move(*value) : defaultValue(*type.child()));
    }
    return any || values.elements.empty() ? std::optional(Value(std::move(values))) : std::nullopt;
}

std::optional<Value> mapValue(const Element& element, const Type& type, unsigned depth) {
    simdjson::dom::object object;
    if (element.get_object().get(object) != simdjson::SUCCESS) return std::nullopt;
    ArrayValue entries;
    for (const auto field : object) {
        auto value = typedValue(field.value, type.child(1), depth);
        TupleValue entry;
        entry.elements.emplace_back(Value(std::string(field.key)));
        entry.elements.push_back(value ? std::move(*value) : defaultValue(*type.child(1)));
        entries.elements.emplace_back(Value(std::move(entry)));
    }
    return Value(std::move(entries));
}

/// Dates, enums, UUIDs and others as their texts say.
std::optional<Value> parsedValue(const Element& element, const TypePtr& type) {
    Writer text;
    if (!element.is_string() && type->isString()) {
        if (!writeText(element, text)) return std::nullopt;
        return Value(std::string(text.view()));
    }
    if (!element.is_string() && !type->isDecimal() && !type->isEnum()) return std::nullopt;
    if (!writeText(element, text)) return std::nullopt;
    if (type->kind() == TypeKind::String) return Value(std::string(text.view()));
    if (type->isEnum() && !element.is_string()) {
        int16_t number = 0;
        if (!toInteger(element, number) || !type->enumName(number)) return std::nullopt;
        return Value(int64_t{number});
    }
    try {
        return formats::parseValue(type, text.view());
    } catch (const Error&) {
        return std::nullopt;
    }
}

std::optional<Value> typedValue(const Element& element, const TypePtr& type, unsigned depth) {
    if (depth > 100)
        throw Error(ErrorCode::TOO_DEEP_RECURSION, "The type of JSONExtract is nested too deeply");
    switch (type->kind()) {
        case TypeKind::UInt8:
            return integerValue<uint8_t>(element);
        case TypeKind::UInt16:
            return integerValue<uint16_t>(element);
        case TypeKind::UInt32:
            return integerValue<uint32_t>(element);
        case TypeKind::UInt64:
            return integerValue<uint64_t>(element);
        case TypeKind::Int8:
            return integerValue<int8_t>(element);
        case TypeKind::Int16:
            return integerValue<int16_t>(element);
        case TypeKind::Int32:
            return integerValue<int32_t>(element);
        case TypeKind::Int64:
            return integerValue<int64_t>(element);
        case TypeKind::Bool:
            if (element.is_bool()) return Value(uint64_t{bool(element)});
            return integerValue<uint8_t>(element);
        case TypeKind::Float32:
        case TypeKind::Float64: {
            double value = 0;
            if (element.is_bool()) return Value(bool(element) ? 1.0 : 0.0);
            if (!toDouble(element, value)) return std::nullopt;
            return Value(value);
        }
        case TypeKind::Nullable: {
            if (element.is_null()) return Value();
            auto value = typedValue(element, type->child(), depth + 1);
            return value ? value : std::optional(Value());
        }
        case TypeKind::LowCardinality:
            return typedValue(element, type->child(), depth + 1);
        case TypeKind::Array:
            return arrayValue(element, *type, depth + 1);
        case TypeKind::Tuple:
            return tupleValue(element, *type, depth + 1);
        case TypeKind::Map:
            return mapValue(element, *type, depth + 1);
        default:
            return parsedValue(element, type);
    }
}

// -- rules ----------------------------------------------------------------------------------------

void needPath(const Signature& call, size_t end) {
    if (call.count() == 0) needCount(call, 1, SIZE_MAX);
    needText(call, 0);
    for (size_t i = 1; i < end; ++i)
        if (!call.type(i)->isString() && !call.type(i)->isInteger())
            illegalArgument(call, i, "String or an integer");
}

template <TypeKind kResult>
TypePtr typeOfPath(const Signature& call) {
    needPath(call, call.count());
    return types::simple(kResult);
}

TypePtr typeOfTexts(const Signature& call) {
    needPath(call, call.count());
    return types::array(types::string());
}

/// The type named by the last argument.
TypePtr namedType(const Signature& call) {
    if (call.count() < 2) {
        if (call.count() == 0) needCount(call, 2, SIZE_MAX);
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Function {} requires at least two arguments", call.name);
    }
    needPath(call, call.count() - 1);
    if (call.type(call.count() - 1)->kind() != TypeKind::String)
        illegalArgument(call, call.count() - 1, "const String: a type");
    needConstant(call, call.count() - 1);
    return parseType(constantValue(call.arguments[call.count() - 1])->get<std::string>());
}

TypePtr typeOfExtract(const Signature& call) { return namedType(call); }

TypePtr typeOfKeysAndValues(const Signature& call) {
    return types::array(types::tuple({types::string(), namedType(call)}));
}

TypePtr typeOfKeysAndValuesRaw(const Signature& call) {
    needPath(call, call.count());
    return types::array(types::tuple({types::string(), types::string()}));
}

const TypePtr& jsonTypes() {
    static const TypePtr type = types::enumeration(TypeKind::Enum8, {{"Null", 0},
                                                                     {"String", '"'},
                                                                     {"Array", '['},
                                                                     {"Bool", 'b'},
                                                                     {"Double", 'd'},
                                                                     {"Int64", 'i'},
                                                                     {"UInt64", 'u'},
                                                                     {"Object", '{'}});
    return type;
}

TypePtr typeOfType(const Signature& call) {
    needPath(call, call.count());
    return jsonTypes();
}

// -- kernels --------------------------------------------------------------------------------------

template <bool kFold>
ColumnPtr runHas(const Call& call) {
    JsonRows rows(call, call.count(), kFold);
    return eachRow<uint8_t>(call.rows, [&](size_t row) { return rows.find(row).has_value(); });
}

ColumnPtr runValid(const Call& call) {
    JsonRows rows(call, 1, false);
    return eachRow<uint8_t>(call.rows, [&](size_t row) { return rows.valid(row); });
}

template <bool kFold>
ColumnPtr runLength(const Call& call) {
    JsonRows rows(call, call.count(), kFold);
    return eachRow<uint64_t>(call.rows, [&](size_t row) -> uint64_t {
        const auto element = rows.find(row);
        if (!element) return 0;
        if (element->is_array()) return simdjson::dom::array(*element).size();
        return element->is_object() ? simdjson::dom::object(*element).size() : 0;
    });
}

template <bool kFold>
ColumnPtr runKey(const Call& call) {
    JsonRows rows(call, call.count(), kFold);
    return eachText(call.rows, 0, [&](size_t row, TextBuilder& out) {
        std::string_view key;
        if (rows.find(row, &key)) out.append(key);
    });
}

template <bool kFold>
ColumnPtr runType(const Call& call) {
    JsonRows rows(call, call.count(), kFold);
    return eachRow<int8_t>(call.rows, [&](size_t row) -> int8_t {
        const auto element = rows.find(row);
        if (!element) return 0;
        switch (element->type()) {
            case ElementType::STRING:
                return '"';
            case ElementType::ARRAY:
                return '[';
            case ElementType::BOOL:
                return 'b';
            case ElementType::DOUBLE:
                return 'd';
            case ElementType::INT64:
                return 'i';
            case ElementType::UINT64:
                return 'u';
            case ElementType::OBJECT:
                return '{';
            default:
                return 0;
        }
    });
}

template <typename T, bool kFold>
ColumnPtr runInteger(const Call& call) {
    JsonRows rows(call, call.count(), kFold);
    return eachRow<T>(call.rows, [&](size_t row) -> T {
        T value = 0;
        const auto element = rows.find(row);
        return element && toInteger(*element, value) ? value : 0;
    });
}

template <bool kFold>
ColumnPtr runFloat(const Call& call) {
    JsonRows rows(call, call.count(), kFold);
    return eachRow<double>(call.rows, [&](size_t row) {
        double value = 0;
        const auto element = rows.find(row);
        return element && toDouble(*element, value) ? value : 0;
    });
}

template <bool kFold>
ColumnPtr runBool(const Call& call) {
    JsonRows rows(call, call.count(), kFold);
    return eachRow<uint8_t>(call.rows, [&](size_t row) -> uint8_t {
        const auto element = rows.find(row);
        if (!element) return 0;
        if (element->is_bool()) return bool(*element);
        if (element->is_int64()) return int64_t(*element) != 0;
        return element->is_uint64() && uint64_t(*element) != 0;
    });
}

template <bool kRaw, bool kFold>
ColumnPtr runText(const Call& call) {
    JsonRows rows(call, call.count(), kFold);
    Writer text;
    return eachText(call.rows, 0, [&](size_t row, TextBuilder& out) {
        const auto element = rows.find(row);
        if (!element) return;
        text.clear();
        if (kRaw)
            writeRaw(*element, text);
        else
            writeText(*element, text);
        out.append(text.view());
    });
}

template <bool kFold>
ColumnPtr runExtract(const Call& call) {
    JsonRows rows(call, call.count() - 1, kFold);
    MutableColumnPtr result = createColumn(*call.type);
    const Value usual = defaultValue(*call.type);
    for (size_t row = 0; row < call.rows; ++row) {
        const auto element = rows.find(row);
        const auto value = element ? typedValue(*element, call.type) : std::nullopt;
        result->insert(value ? *value : usual);
    }
    return result;
}

/// An array of what `add(element, array)` puts in for the element found; empty for none.
template <typename Add>
ColumnPtr collect(const Call& call, size_t path_end, bool fold, Add&& add) {
    JsonRows rows(call, path_end, fold);
    MutableColumnPtr result = createColumn(*call.type);
    for (size_t row = 0; row < call.rows; ++row) {
        ArrayValue values;
        if (const auto element = rows.find(row)) add(*element, values.elements);
        result->insert(Value(std::move(values)));
    }
    return result;
}

std::string rawText(const Element& element) {
    Writer text;
    writeRaw(element, text);
    return std::string(text.view());
}

template <bool kFold>
ColumnPtr runArrayRaw(const Call& call) {
    return collect(call, call.count(), kFold, [](const Element& element, std::vector<Value>& out) {
        if (element.is_array())
            for (const Element child : simdjson::dom::array(element)) out.emplace_back(Value(rawText(child)));
    });
}

template <bool kFold>
ColumnPtr runKeys(const Call& call) {
    return collect(call, call.count(), kFold, [](const Element& element, std::vector<Value>& out) {
        if (element.is_object())
            for (const auto field : simdjson::dom::object(element))
                out.emplace_back(Value(std::string(field.key)));
    });
}

template <bool kRaw, bool kFold>
ColumnPtr runKeysAndValues(const Call& call) {
    const TypePtr& type = call.type->child()->child(1);
    return collect(call, kRaw ? call.count() : call.count() - 1, kFold,
                   [&](const Element& element, std::vector<Value>& out) {
                       if (!element.is_object()) return;
                       for (const auto field : simdjson::dom::object(element)) {
                           auto value = kRaw ? std::optional(Value(rawText(field.value)))
                                             : typedValue(field.value, type);
                           if (!value) continue;
                           TupleValue entry;
                           entry.elements.emplace_back(Value(std::string(field.key)));
                           entry.elements.push_back(std::move(*value));
                           out.emplace_back(Value(std::move(entry)));
                       }
                   });
}

// -- writing JSON ---------------------------------------------------------------------------------

TypePtr typeOfToJson(const Signature& call) {
    needCount(call, 1);
    return types::string();
}

/// JSON of values, 64-bit and wider numbers, Decimals and what is no number in quotes.
class JsonText {
public:
    JsonText(const TypePtr& type, const formats::TextSettings& settings) : type_(type) {
        const bool quoted = (type->isInteger() && type->width() >= 8) || type->isDecimal();
        if (type->isNullable() || type->kind() == TypeKind::Array) {
            children_.emplace_back(type->child(), settings);
        } else if (type->kind() == TypeKind::Tuple) {
            for (const TypePtr& child : type->children()) children_.emplace_back(child, settings);
        } else {
            quoted_ = quoted;
            plain_ = formats::valueText(type, settings);
        }
    }

    void write(const Column& column, size_t row, Writer& out) const {
        if (type_->isNullable()) {
            if (column.isNullAt(row)) return out.writeBytes("null");
            return children_[0].write(*as<NullableColumn>(column).values(), row, out);
        }
        if (type_->kind() == TypeKind::Array) return writeArray(as<ArrayColumn>(column), row, out);
        if (type_->kind() == TypeKind::Tuple) return writeTuple(as<TupleColumn>(column), row, out);
        const size_t before = out.size();
        plain_->write(column, row, formats::TextStyle::Json, out);
        if (type_->isFloat() && out.view().substr(before) == "null") {
            out.shrink(before);
            out.writeByte('"');
            plain_->write(column, row, formats::TextStyle::Plain, out);
            out.writeByte('"');
        } else if (quoted_) {
            const std::string text(out.view().substr(before));
            out.shrink(before);
            out.writeByte('"');
            out.writeBytes(text);
            out.writeByte('"');
        }
    }

private:
    void writeArray(const ArrayColumn& arrays, size_t row, Writer& out) const {
        out.writeByte('[');
        for (size_t i = arrays.startAt(row); i < arrays.ends()[row]; ++i) {
            if (i > arrays.startAt(row)) out.writeByte(',');
            children_[0].write(*arrays.elements(), i, out);
        }
        out.writeByte(']');
    }

    void writeTuple(const TupleColumn& tuple, size_t row, Writer& out) const {
        const bool named = !type_->elementNames().empty();
        out.writeByte(named ? '{' : '[');
        for (size_t i = 0; i < children_.size(); ++i) {
            if (i > 0) out.writeByte(',');
            if (named) {
                writeEscaped(type_->elementNames()[i], out);
                out.writeByte(':');
            }
            children_[i].write(*full(tuple.element(i)), row, out);
        }
        out.writeByte(named ? '}' : ']');
    }

    TypePtr type_;
    std::vector<JsonText> children_;
    formats::ValueTextPtr plain_;
    bool quoted_ = false;
};

ColumnPtr runToJson(const Call& call) {
    const ColumnPtr column = full(call.column(0));
    formats::TextSettings settings;
    settings.time_zone = &TimeZone::get(call.context.time_zone);
    const JsonText writer(call.argumentType(0), settings);
    Writer text;
    return eachText(call.rows, call.rows * 8, [&](size_t row, TextBuilder& out) {
        text.clear();
        writer.write(*column, row, text);
        out.append(text.view());
    });
}

void writePretty(const Element& element, size_t depth, Writer& out) {
    const std::string indent((depth + 1) * 4, ' ');
    if (element.is_array() && simdjson::dom::array(element).size() > 0) {
        bool first = true;
        for (const Element child : simdjson::dom::array(element)) {
            out.writeBytes(std::exchange(first, false) ? "[\n" : ",\n");
            out.writeBytes(indent);
            writePretty(child, depth + 1, out);
        }
        out.writeBytes("\n" + std::string(depth * 4, ' ') + "]");
    } else if (element.is_object() && simdjson::dom::object(element).size() > 0) {
        bool first = true;
        for (const auto field : simdjson::dom::object(element)) {
            out.writeBytes(std::exchange(first, false) ? "{\n" : ",\n");
            out.writeBytes(indent);
            writeEscaped(field.key, out);
            out.writeBytes(": ");
            writePretty(field.value, depth + 1, out);
        }
        out.writeBytes("\n" + std::string(depth * 4, ' ') + "}");
    } else {
        writeRaw(element, out);
    }
}

ColumnPtr runPretty(const Call& call) {
    JsonRows rows(call, 1, false);
    const TextArgument texts(call.column(0));
    Writer text;
    return eachText(call.rows, texts.totalBytes() * 2, [&](size_t row, TextBuilder& out) {
        const auto element = rows.find(row);
        if (!element) throw Error(ErrorCode::BAD_ARGUMENTS, "The text is not valid JSON: {}", texts[row]);
        text.clear();
        writePretty(*element, 0, text);
        out.append(text.view());
    });
}

/// A function and its form that ignores the case of names.
#define JSON(name, rule, kernel, words)                                \
    define<name, rule, kernel(false)>(name "(json[, path …])", words), \
        define<name "CaseInsensitive", rule, kernel(true)>(name "CaseInsensitive(json[, path …])", words)

#define HAS(fold) runHas<fold>
#define LENGTH(fold) runLength<fold>
#define KEY(fold) runKey<fold>
#define TYPE(fold) runType<fold>
#define INT(fold) runInteger<int64_t, fold>
#define UINT(fold) runInteger<uint64_t, fold>
#define FLOAT(fold) runFloat<fold>
#define BOOL(fold) runBool<fold>
#define STRING(fold) runText<false, fold>
#define RAW(fold) runText<true, fold>
#define EXTRACT(fold) runExtract<fold>
#define ARRAY_RAW(fold) runArrayRaw<fold>
#define KEYS(fold) runKeys<fold>
#define KEYS_AND_VALUES(fold) runKeysAndValues<false, fold>
#define KEYS_AND_VALUES_RAW(fold) runKeysAndValues<true, fold>

}  // namespace

void writeJson(const Element& element, Writer& out) { writeRaw(element, out); }

std::span<const FunctionInfo> jsonFunctions() {
    static const FunctionInfo kList[] = {
        JSON("JSONHas", typeOfPath<TypeKind::UInt8>, HAS, "Whether there is a value."),
        JSON("JSONLength", typeOfPath<TypeKind::UInt64>, LENGTH, "Elements of an array or object."),
        JSON("JSONKey", typeOfPath<TypeKind::String>, KEY, "The name of a member."),
        JSON("JSONType", typeOfType, TYPE, "The type of a value."),
        JSON("JSONExtractInt", typeOfPath<TypeKind::Int64>, INT, "A value as Int64."),
        JSON("JSONExtractUInt", typeOfPath<TypeKind::UInt64>, UINT, "A value as UInt64."),
        JSON("JSONExtractFloat", typeOfPath<TypeKind::Float64>, FLOAT, "A value as Float64."),
        JSON("JSONExtractBool", typeOfPath<TypeKind::UInt8>, BOOL, "A value as UInt8, 0 or 1."),
        JSON("JSONExtractString", typeOfPath<TypeKind::String>, STRING, "A value as text."),
        JSON("JSONExtractRaw", typeOfPath<TypeKind::String>, RAW, "A value as JSON."),
        JSON("JSONExtract", typeOfExtract, EXTRACT, "A value of the type that the last argument names."),
        JSON("JSONExtractArrayRaw", typeOfTexts, ARRAY_RAW, "The elements of an array as JSON."),
        JSON("JSONExtractKeys", typeOfTexts, KEYS, "The names of an object's members."),
        JSON("JSONExtractKeysAndValues", typeOfKeysAndValues, KEYS_AND_VALUES,
             "Names and values of the type that the last argument names."),
        JSON("JSONExtractKeysAndValuesRaw", typeOfKeysAndValuesRaw, KEYS_AND_VALUES_RAW,
             "Names and values as JSON."),
        define<"isValidJSON", textsTo<TypeKind::UInt8, 1>, runValid>(
            "isValidJSON(text)", "Whether the text is JSON.", "isValidJSON('[1]')", "1"),
        define<"prettyPrintJSON", textsTo<TypeKind::String, 1>, runPretty, kMayThrow>(
            "prettyPrintJSON(text)", "JSON with line breaks and indents."),
        define<"toJSONString", typeOfToJson, runToJson>("toJSONString(x)", "A value as JSON.",
                                                        "toJSONString([1])", "[1]"),
    };
    return kList;
}

}  // namespace shardd::functions
