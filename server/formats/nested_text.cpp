#include "server/formats/nested_text.h"

#include "common/columns/array_column.h"
#include "common/columns/create_column.h"
#include "common/columns/dictionary_column.h"
#include "common/columns/nullable_column.h"
#include "common/columns/tuple_column.h"
#include "server/formats/quoting.h"

namespace shardd::formats {

namespace {

constexpr TextResult kAssertion = ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED;

class NullableText final : public ValueText {
public:
    explicit NullableText(ValueTextPtr inner) : inner_(std::move(inner)) {}

    void write(const Column& column, size_t row, TextStyle style, Writer& out) const override {
        const auto& nullable = static_cast<const NullableColumn&>(column);
        if (!nullable.nulls()[row]) return inner_->write(*nullable.values(), row, style, out);
        out.writeBytes(style == TextStyle::Json                                 ? "null"
                       : style == TextStyle::Escaped || style == TextStyle::Csv ? "\\N"
                                                                                : "NULL");
    }

    TextResult read(TextInput& in, TextStyle style, Value& value) const override {
        TextInput ahead = in;
        bool null = false;
        if (style == TextStyle::Escaped || style == TextStyle::Csv)
            null = ahead.skip("\\N");
        else
            null =
                ahead.skip("NULL") || ahead.skip("null") || (style == TextStyle::Plain && ahead.skip("\\N"));
        if (style == TextStyle::Plain) null = null && ahead.atEnd();
        if (!null) return inner_->read(in, style, value);
        in = ahead;
        value = Value();
        return ErrorCode::OK;
    }

private:
    ValueTextPtr inner_;
};

class DictionaryText final : public ValueText {
public:
    /// `inner` writes what the dictionary stands for, `key` one of its keys (which are never NULL).
    DictionaryText(ValueTextPtr inner, ValueTextPtr key) : inner_(std::move(inner)), key_(std::move(key)) {}

    void write(const Column& column, size_t row, TextStyle style, Writer& out) const override {
        if (column.kind() != ColumnKind::Dictionary) return inner_->write(column, row, style, out);
        const auto& dictionary = static_cast<const DictionaryColumn&>(column);
        if (dictionary.isNullAt(row)) {
            out.writeBytes(style == TextStyle::Json                                 ? "null"
                           : style == TextStyle::Escaped || style == TextStyle::Csv ? "\\N"
                                                                                    : "NULL");
            return;
        }
        key_->write(*dictionary.keys(), dictionary.codes()[row], style, out);
    }

    TextResult read(TextInput& in, TextStyle style, Value& value) const override {
        return inner_->read(in, style, value);
    }

private:
    ValueTextPtr inner_;
    ValueTextPtr key_;
};

/// A list between brackets; CSV puts it between quotes as a whole.
class NestedText : public ValueText {
public:
    void write(const Column& column, size_t row, TextStyle style, Writer& out) const final {
        if (style != TextStyle::Csv)
            return writeNested(column, row, style == TextStyle::Json ? style : TextStyle::Quoted, out);
        Writer text;
        writeNested(column, row, TextStyle::Quoted, text);
        writeCsv(text.view(), out);
    }

    TextResult read(TextInput& in, TextStyle style, Value& value) const final {
        if (style == TextStyle::Csv) {
            std::string text;
            if (const TextResult result = readCsv(in, text); result != ErrorCode::OK) return result;
            TextInput inside(text);
            return readNested(inside, TextStyle::Quoted, value);
        }
        return readNested(in, style == TextStyle::Json ? style : TextStyle::Quoted, value);
    }

protected:
    virtual void writeNested(const Column& column, size_t row, TextStyle style, Writer& out) const = 0;
    virtual TextResult readNested(TextInput& in, TextStyle style, Value& value) const = 0;
};

/// An element that is not Nullable takes a NULL as its default.
TextResult readElement(
    const ValueText& element, const Type& type, TextInput& in, TextStyle style, Value& value) {
    in.skipSpace();
    const bool nullable = type.isNullable() || (type.isLowCardinality() && type.child()->isNullable());
    if (!nullable && (in.peek() == 'N' || in.peek() == 'n')) {
        TextInput ahead = in;
        if (ahead.skip("NULL") || ahead.skip("null")) {
            in = ahead;
            value = defaultValue(type);
            return ErrorCode::OK;
        }
    }
    const TextResult result = element.read(in, style, value);
    if (result == ErrorCode::OK) in.skipSpace();
    return result;
}

class ArrayText final : public NestedText {
public:
    ArrayText(TypePtr element_type, ValueTextPtr element)
        : element_type_(std::move(element_type)), element_(std::move(element)) {}

private:
    void writeNested(const Column& column, size_t row, TextStyle style, Writer& out) const override {
        const auto& array = static_cast<const ArrayColumn&>(column);
        out.writeByte('[');
        const size_t begin = array.startAt(row);
        const size_t end = array.ends()[row];
        for (size_t i = begin; i < end; ++i) {
            if (i > begin) out.writeByte(',');
            element_->write(*array.elements(), i, style, out);
        }
        out.writeByte(']');
    }

    TextResult readNested(TextInput& in, TextStyle style, Value& value) const override {
        if (!in.skip('[')) return ErrorCode::CANNOT_READ_ARRAY_FROM_TEXT;
        ArrayValue array;
        in.skipSpace();
        while (!in.atEnd() && in.peek() != ']') {
            if (!array.elements.empty()) {
                if (!in.skip(',')) return ErrorCode::CANNOT_READ_ARRAY_FROM_TEXT;
                in.skipSpace();
                if (in.peek() == ']') break;
            }
            Value element;
            if (const TextResult result = readElement(*element_, *element_type_, in, style, element);
                result != ErrorCode::OK)
                return result;
            array.elements.push_back(std::move(element));
        }
        if (!in.skip(']')) return kAssertion;
        value = Value(std::move(array));
        return ErrorCode::OK;
    }

    TypePtr element_type_;
    ValueTextPtr element_;
};

class TupleText final : public NestedText {
public:
    TupleText(TypePtr type, std::vector<ValueTextPtr> elements)
        : type_(std::move(type)), elements_(std::move(elements)) {}

private:
    void writeNested(const Column& column, size_t row, TextStyle style, Writer& out) const override {
        const auto& tuple = static_cast<const TupleColumn&>(column);
        const bool json = style == TextStyle::Json;
        const bool named = json && !type_->elementNames().empty();
        out.writeByte(named ? '{' : json ? '[' : '(');
        for (size_t i = 0; i < elements_.size(); ++i) {
            if (i > 0) out.writeByte(',');
            if (named) {
                writeJson(type_->elementNames()[i], out);
                out.writeByte(':');
            }
            elements_[i]->write(*tuple.element(i), row, style, out);
        }
        out.writeByte(named ? '}' : json ? ']' : ')');
    }

    TextResult readNested(TextInput& in, TextStyle style, Value& value) const override {
        const bool json = style == TextStyle::Json;
        if (!in.skip(json ? '[' : '(')) return kAssertion;
        TupleValue tuple;
        for (size_t i = 0; i < elements_.size(); ++i) {
            in.skipSpace();
            if (i > 0 && !in.skip(',')) return kAssertion;
            Value element;
            if (const TextResult result = readElement(*elements_[i], *type_->child(i), in, style, element);
                result != ErrorCode::OK)
                return result;
            tuple.elements.push_back(std::move(element));
        }
        in.skipSpace();
        if (elements_.size() == 1 && in.skip(',')) in.skipSpace();
        if (!in.skip(json ? ']' : ')')) return kAssertion;
        value = Value(std::move(tuple));
        return ErrorCode::OK;
    }

    TypePtr type_;
    std::vector<ValueTextPtr> elements_;
};

class MapText final : public NestedText {
public:
    MapText(TypePtr type, ValueTextPtr key, ValueTextPtr mapped)
        : type_(std::move(type)), key_(std::move(key)), mapped_(std::move(mapped)) {}

private:
    void writeNested(const Column& column, size_t row, TextStyle style, Writer& out) const override {
        const auto& array = static_cast<const ArrayColumn&>(column);
        const auto& pairs = static_cast<const TupleColumn&>(*array.elements());
        out.writeByte('{');
        const size_t begin = array.startAt(row);
        const size_t end = array.ends()[row];
        for (size_t i = begin; i < end; ++i) {
            if (i > begin) out.writeByte(',');
            writeKey(*pairs.element(0), i, style, out);
            out.writeByte(':');
            mapped_->write(*pairs.element(1), i, style, out);
        }
        out.writeByte('}');
    }

    /// JSON's keys are strings.
    void writeKey(const Column& keys, size_t row, TextStyle style, Writer& out) const {
        if (style != TextStyle::Json) return key_->write(keys, row, style, out);
        Writer text;
        key_->write(keys, row, TextStyle::Plain, text);
        writeJson(text.view(), out);
    }

    TextResult readNested(TextInput& in, TextStyle style, Value& value) const override {
        if (!in.skip('{')) return kAssertion;
        ArrayValue array;
        in.skipSpace();
        while (!in.atEnd() && in.peek() != '}') {
            if (!array.elements.empty() && !in.skip(',')) return ErrorCode::CANNOT_READ_MAP_FROM_TEXT;
            TupleValue pair;
            pair.elements.resize(2);
            if (const TextResult result = readElement(*key_, *type_->child(0), in, style, pair.elements[0]);
                result != ErrorCode::OK)
                return result;
            if (!in.skip(':')) return kAssertion;
            if (const TextResult result =
                    readElement(*mapped_, *type_->child(1), in, style, pair.elements[1]);
                result != ErrorCode::OK)
                return result;
            array.elements.push_back(Value(std::move(pair)));
        }
        if (!in.skip('}')) return kAssertion;
        value = Value(std::move(array));
        return ErrorCode::OK;
    }

    TypePtr type_;
    ValueTextPtr key_;
    ValueTextPtr mapped_;
};

}  // namespace

ValueTextPtr nestedText(const TypePtr& type, const TextSettings& settings) {
    switch (type->kind()) {
        case TypeKind::Nullable:
            return std::make_shared<NullableText>(valueText(type->child(), settings));
        case TypeKind::LowCardinality:
            return std::make_shared<DictionaryText>(valueText(type->child(), settings),
                                                    valueText(removeNullable(type->child()), settings));
        case TypeKind::Array:
            return std::make_shared<ArrayText>(type->child(), valueText(type->child(), settings));
        case TypeKind::Tuple: {
            std::vector<ValueTextPtr> elements;
            for (const TypePtr& child : type->children()) elements.push_back(valueText(child, settings));
            return std::make_shared<TupleText>(type, std::move(elements));
        }
        case TypeKind::Map:
            return std::make_shared<MapText>(type, valueText(type->child(0), settings),
                                             valueText(type->child(1), settings));
        default:
            throw Error(ErrorCode::LOGICAL_ERROR, "Type {} is not made of others", type->name());
    }
}

}  // namespace shardd::formats
