#include "server/formats/value_text.h"

#include <algorithm>

#include "common/columns/const_column.h"
#include "common/columns/create_column.h"
#include "common/columns/fixed_column.h"
#include "common/columns/state_column.h"
#include "server/formats/address_text.h"
#include "server/formats/nested_text.h"
#include "server/formats/number_text.h"
#include "server/formats/quoting.h"
#include "server/formats/time_text.h"

namespace shardd::formats {

namespace {

template <typename T>
const T& at(const Column& column, size_t row) {
    return static_cast<const FixedColumn<T>&>(column).values()[row];
}

constexpr TextResult kAssertion = ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED;

/// A value that is a word without quotes in SQL; JSON has it between quotes where `json_quotes`.
class BareText : public ValueText {
public:
    void write(const Column& column, size_t row, TextStyle, Writer& out) const override {
        writeBare(column, row, out);
    }

    TextResult read(TextInput& in, TextStyle style, Value& value) const override {
        // Numbers may stand between quotes too.
        const char quote = style == TextStyle::Quoted && in.peek() == '\''                             ? '\''
                           : (style == TextStyle::Json || style == TextStyle::Csv) && in.peek() == '"' ? '"'
                                                                                                       : 0;
        if (quote == 0) return readBare(in, value);
        ++in.position;
        if (const TextResult result = readBare(in, value); result != ErrorCode::OK) return result;
        return in.skip(quote) ? ErrorCode::OK : kAssertion;
    }

protected:
    virtual void writeBare(const Column& column, size_t row, Writer& out) const = 0;
    virtual TextResult readBare(TextInput& in, Value& value) const = 0;
};

/// A value that stands between quotes where its text is inside another.
class QuotedText : public ValueText {
public:
    void write(const Column& column, size_t row, TextStyle style, Writer& out) const override {
        const char quote = style == TextStyle::Quoted                            ? '\''
                           : style == TextStyle::Json || style == TextStyle::Csv ? '"'
                                                                                 : 0;
        if (quote) out.writeByte(static_cast<uint8_t>(quote));
        writeBare(column, row, out);
        if (quote) out.writeByte(static_cast<uint8_t>(quote));
    }

    TextResult read(TextInput& in, TextStyle style, Value& value) const override {
        char quote = style == TextStyle::Quoted ? '\'' : style == TextStyle::Json ? '"' : 0;
        if (style == TextStyle::Csv && (in.peek() == '"' || in.peek() == '\'')) quote = in.peek();
        if (quote && !in.skip(quote)) return readUnquoted(in, value);
        // What is read must not see the closing quote as part of it.
        TextInput inside = in;
        if (quote) {
            const auto* close = static_cast<const char*>(std::memchr(in.position, quote, in.left()));
            if (!close) return ErrorCode::CANNOT_PARSE_QUOTED_STRING;
            inside.end = close;
        } else if (style == TextStyle::Escaped || style == TextStyle::Csv) {
            const char delimiter = style == TextStyle::Csv ? ',' : '\t';
            inside.end = std::find_if(in.position, in.end,
                                      [&](char c) { return c == delimiter || c == '\n' || c == '\r'; });
        }
        const TextResult result = readBare(inside, value);
        in.position = inside.position;
        if (result != ErrorCode::OK) return result;
        return !quote || in.skip(quote) ? ErrorCode::OK : kAssertion;
    }

protected:
    virtual void writeBare(const Column& column, size_t row, Writer& out) const = 0;
    virtual TextResult readBare(TextInput& in, Value& value) const = 0;

    virtual TextResult readUnquoted(TextInput&, Value&) const { return kAssertion; }
};

template <typename T>
class IntegerText final : public BareText {
    void writeBare(const Column& column, size_t row, Writer& out) const override {
        writeInteger(at<T>(column, row), out);
    }

    TextResult readBare(TextInput& in, Value& value) const override {
        T number{};
        // As ClickHouse's: true and false are numbers too inside others.
        if (in.skip("true")) {
            number = T(1);
        } else if (!in.skip("false")) {
            if (const TextResult result = readInteger(in, number); result != ErrorCode::OK) return result;
        }
        using Wide =
            std::conditional_t<sizeof(T) <= 8, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>, T>;
        value = Value(static_cast<Wide>(number));
        return ErrorCode::OK;
    }
};

template <typename T>
class FloatText final : public ValueText {
    void write(const Column& column, size_t row, TextStyle style, Writer& out) const override {
        if constexpr (std::is_same_v<T, BFloat16>) {
            writeFloat(at<T>(column, row).toFloat(), out);
        } else {
            const T number = at<T>(column, row);
            if (style == TextStyle::Json && !(number - number == 0)) return out.writeBytes("null");
            writeFloat(number, out);
        }
    }

    TextResult read(TextInput& in, TextStyle style, Value& value) const override {
        const char quote = style == TextStyle::Quoted                            ? '\''
                           : style == TextStyle::Json || style == TextStyle::Csv ? '"'
                                                                                 : 0;
        const bool quoted = quote && in.skip(quote);
        double number = 0;
        TextResult result;
        if constexpr (std::is_same_v<T, float>) {
            float narrow = 0;
            result = readFloat(in, narrow);
            number = narrow;
        } else {
            result = readFloat(in, number);
        }
        if (result != ErrorCode::OK) return result;
        value = Value(number);
        return !quoted || in.skip(quote) ? ErrorCode::OK : kAssertion;
    }
};

class BoolText final : public BareText {
    void writeBare(const Column& column, size_t row, Writer& out) const override {
        out.writeBytes(at<uint8_t>(column, row) ? "true" : "false");
    }

    TextResult readBare(TextInput& in, Value& value) const override {
        size_t length = 0;
        while (isLetter(in.peek(length)) || isDigit(in.peek(length))) ++length;
        std::string word(in.position, length);
        for (char& c : word) c = toLower(c);
        const bool yes = word == "true" || word == "1" || word == "t" || word == "y" || word == "yes" ||
                         word == "on" || word == "enable" || word == "enabled";
        const bool no = word == "false" || word == "0" || word == "f" || word == "n" || word == "no" ||
                        word == "off" || word == "disable" || word == "disabled";
        if (!yes && !no) return ErrorCode::CANNOT_PARSE_BOOL;
        in.position += length;
        value = Value(uint64_t{yes});
        return ErrorCode::OK;
    }
};

/// Integers of any width by their type, as a wide one.
Int256 wideAt(const Column& column, size_t row) {
    switch (column.bytesAt(row).size()) {
        case 4:
            return Int256(at<int32_t>(column, row));
        case 8:
            return Int256(at<int64_t>(column, row));
        case 16:
            return Int256(at<Int128>(column, row));
        default:
            return at<Int256>(column, row);
    }
}

class DecimalText final : public BareText {
public:
    explicit DecimalText(const Type& type)
        : precision_(type.precision()), scale_(type.scale()), width_(type.width()) {}

private:
    void writeBare(const Column& column, size_t row, Writer& out) const override {
        writeDecimal(wideAt(column, row), scale_, out);
    }

    TextResult readBare(TextInput& in, Value& value) const override {
        Int256 number;
        if (const TextResult result = readDecimal(in, precision_, scale_, number); result != ErrorCode::OK)
            return result;
        if (width_ <= 8)
            value = Value(static_cast<int64_t>(number.low()));
        else if (width_ == 16)
            value = Value(static_cast<Int128>(number.low()));
        else
            value = Value(number);
        return ErrorCode::OK;
    }

    unsigned precision_;
    unsigned scale_;
    size_t width_;
};

class DateText final : public QuotedText {
public:
    explicit DateText(bool wide) : wide_(wide) {}

private:
    void writeBare(const Column& column, size_t row, Writer& out) const override {
        writeDate(wide_ ? at<int32_t>(column, row) : at<uint16_t>(column, row), out);
    }

    TextResult readBare(TextInput& in, Value& value) const override {
        int32_t days = 0;
        bool valid = false;
        if (const TextResult result = readDate(in, days, valid); result != ErrorCode::OK) return result;
        if (wide_)
            value = Value(int64_t{valid ? std::clamp(days, kFirstDate32, kLastDate32) : kFirstDate32});
        else
            value = Value(static_cast<uint64_t>(std::clamp(days, 0, 65535)));
        return ErrorCode::OK;
    }

    bool wide_;
};

class DateTimeText final : public QuotedText {
public:
    explicit DateTimeText(const TimeZone& zone) : zone_(zone) {}

private:
    void writeBare(const Column& column, size_t row, Writer& out) const override {
        writeDateTime(at<uint32_t>(column, row), zone_, out);
    }

    TextResult readBare(TextInput& in, Value& value) const override {
        ParsedMoment moment;
        if (const TextResult result = readMoment(in, zone_, moment, false); result != ErrorCode::OK)
            return result;
        value = Value(static_cast<uint64_t>(std::clamp<int64_t>(moment.seconds, 0, UINT32_MAX)));
        return ErrorCode::OK;
    }

    TextResult readUnquoted(TextInput& in, Value& value) const override {
        uint32_t seconds = 0;
        const TextResult result = readInteger(in, seconds);
        value = Value(uint64_t{seconds});
        return result;
    }

    const TimeZone& zone_;
};

int64_t scaled(int64_t seconds, uint32_t nanoseconds, unsigned scale) {
    int64_t unit = 1;
    uint32_t divisor = 1000000000;
    for (unsigned i = 0; i < scale; ++i) {
        unit *= 10;
        divisor /= 10;
    }
    int64_t result = 0;
    if (__builtin_mul_overflow(seconds, unit, &result)) return seconds < 0 ? INT64_MIN : INT64_MAX;
    return result + nanoseconds / divisor;
}

class DateTime64Text final : public QuotedText {
public:
    DateTime64Text(const TimeZone& zone, unsigned scale) : zone_(zone), scale_(scale) {}

private:
    void writeBare(const Column& column, size_t row, Writer& out) const override {
        writeDateTime64(at<int64_t>(column, row), scale_, zone_, out);
    }

    TextResult readBare(TextInput& in, Value& value) const override {
        ParsedMoment moment;
        if (const TextResult result = readMoment(in, zone_, moment, true); result != ErrorCode::OK)
            return result;
        value = Value(scaled(moment.seconds, moment.nanoseconds, scale_));
        return ErrorCode::OK;
    }

    TextResult readUnquoted(TextInput& in, Value& value) const override {
        Int256 number;
        const TextResult result = readDecimal(in, 18, scale_, number);
        value = Value(static_cast<int64_t>(number.low()));
        return result;
    }

    const TimeZone& zone_;
    unsigned scale_;
};

class TimeText final : public QuotedText {
    void writeBare(const Column& column, size_t row, Writer& out) const override {
        writeTime(at<int32_t>(column, row), out);
    }

    TextResult readBare(TextInput& in, Value& value) const override {
        int64_t seconds = 0;
        bool negative = false;
        if (const TextResult result = readTime(in, seconds, nullptr, negative); result != ErrorCode::OK)
            return result;
        value = Value(negative ? -seconds : seconds);
        return ErrorCode::OK;
    }
};

class Time64Text final : public QuotedText {
public:
    explicit Time64Text(unsigned scale) : scale_(scale) {}

private:
    void writeBare(const Column& column, size_t row, Writer& out) const override {
        writeTime64(at<int64_t>(column, row), scale_, out);
    }

    TextResult readBare(TextInput& in, Value& value) const override {
        int64_t seconds = 0;
        uint32_t nanoseconds = 0;
        bool negative = false;
        if (const TextResult result = readTime(in, seconds, &nanoseconds, negative); result != ErrorCode::OK)
            return result;
        const int64_t number = scaled(seconds, nanoseconds, scale_);
        value = Value(negative ? -number : number);
        return ErrorCode::OK;
    }

    unsigned scale_;
};

class UuidText final : public QuotedText {
    void writeBare(const Column& column, size_t row, Writer& out) const override {
        writeUuid(at<UInt128>(column, row), out);
    }

    TextResult readBare(TextInput& in, Value& value) const override {
        UInt128 number = 0;
        const TextResult result = readUuid(in, number);
        value = Value(number);
        return result;
    }
};

class IPv4Text final : public QuotedText {
    void writeBare(const Column& column, size_t row, Writer& out) const override {
        writeIPv4(at<uint32_t>(column, row), out);
    }

    TextResult readBare(TextInput& in, Value& value) const override {
        uint32_t number = 0;
        const TextResult result = readIPv4(in, number);
        value = Value(uint64_t{number});
        return result;
    }
};

class IPv6Text final : public QuotedText {
    void writeBare(const Column& column, size_t row, Writer& out) const override {
        writeIPv6(at<IPv6Bytes>(column, row).bytes.data(), out);
    }

    TextResult readBare(TextInput& in, Value& value) const override {
        std::string bytes(16, '\0');
        const TextResult result = readIPv6(in, reinterpret_cast<uint8_t*>(bytes.data()));
        value = Value(std::move(bytes));
        return result;
    }
};

/// Values whose text may hold anything: strings, states, names of an enum.
class AnyText : public ValueText {
public:
    void write(const Column& column, size_t row, TextStyle style, Writer& out) const override {
        std::string held;
        const std::string_view text = textAt(column, row, held);
        switch (style) {
            case TextStyle::Plain:
                return out.writeBytes(text);
            case TextStyle::Escaped:
                return writeEscaped(text, out);
            case TextStyle::Quoted:
                return writeQuoted(text, out);
            case TextStyle::Csv:
                return writeCsv(text, out);
            case TextStyle::Json:
                return writeJson(text, out);
        }
    }

    TextResult read(TextInput& in, TextStyle style, Value& value) const override {
        std::string text;
        TextResult result = ErrorCode::OK;
        switch (style) {
            case TextStyle::Plain:
                text = in.rest();
                in.position = in.end;
                break;
            case TextStyle::Escaped:
                result = readEscaped(in, text);
                break;
            case TextStyle::Quoted:
                result = readQuotedOrNumber(in, text, value);
                if (result == ErrorCode::OK && !value.isNull()) return result;
                break;
            case TextStyle::Csv:
                result = readCsv(in, text);
                break;
            case TextStyle::Json:
                result = readJson(in, text);
                break;
        }
        return result == ErrorCode::OK ? accept(std::move(text), value) : result;
    }

protected:
    virtual std::string_view textAt(const Column& column, size_t row, std::string& held) const = 0;
    virtual TextResult accept(std::string text, Value& value) const = 0;

    /// Enums may be given by number: then `value` is set.
    virtual TextResult readQuotedOrNumber(TextInput& in, std::string& text, Value&) const {
        return readQuoted(in, text);
    }
};

class StringText final : public AnyText {
    std::string_view textAt(const Column& column, size_t row, std::string&) const override {
        return column.bytesAt(row);
    }

    TextResult accept(std::string text, Value& value) const override {
        value = Value(std::move(text));
        return ErrorCode::OK;
    }
};

class FixedStringText final : public AnyText {
public:
    explicit FixedStringText(size_t size) : size_(size) {}

private:
    std::string_view textAt(const Column& column, size_t row, std::string&) const override {
        return column.bytesAt(row);
    }

    TextResult accept(std::string text, Value& value) const override {
        if (text.size() > size_) return ErrorCode::TOO_LARGE_STRING_SIZE;
        text.resize(size_);
        value = Value(std::move(text));
        return ErrorCode::OK;
    }

    size_t size_;
};

class StateText final : public AnyText {
    std::string_view textAt(const Column& column, size_t row, std::string& held) const override {
        return held = column.value(row).get<std::string>();
    }

    TextResult accept(std::string text, Value& value) const override {
        value = Value(std::move(text));
        return ErrorCode::OK;
    }
};

class EnumText final : public AnyText {
public:
    explicit EnumText(TypePtr type) : type_(std::move(type)) {}

private:
    std::string_view textAt(const Column& column, size_t row, std::string&) const override {
        const int16_t number =
            type_->kind() == TypeKind::Enum8 ? at<int8_t>(column, row) : at<int16_t>(column, row);
        const std::string* name = type_->enumName(number);
        if (!name) throw Error(ErrorCode::UNKNOWN_ELEMENT_OF_ENUM, "Unexpected value {} in enum", number);
        return *name;
    }

    TextResult accept(std::string text, Value& value) const override {
        if (const auto number = type_->enumNumber(text)) {
            value = Value(int64_t{*number});
            return ErrorCode::OK;
        }
        return acceptNumber(text, value);
    }

    TextResult acceptNumber(std::string_view text, Value& value) const {
        TextInput in(text);
        int16_t number = 0;
        if (readInteger(in, number, true) != ErrorCode::OK || !in.atEnd() || !type_->enumName(number))
            return ErrorCode::UNKNOWN_ELEMENT_OF_ENUM;
        value = Value(int64_t{number});
        return ErrorCode::OK;
    }

    TextResult readQuotedOrNumber(TextInput& in, std::string& text, Value& value) const override {
        if (in.peek() == '\'') return readQuoted(in, text);
        const char* begin = in.position;
        if (in.peek() == '-') ++in.position;
        while (isDigit(in.peek())) ++in.position;
        return acceptNumber({begin, static_cast<size_t>(in.position - begin)}, value);
    }

    TypePtr type_;
};

class NothingText final : public ValueText {
    void write(const Column&, size_t, TextStyle, Writer&) const override {}

    TextResult read(TextInput&, TextStyle, Value&) const override { return ErrorCode::CANNOT_PARSE_TEXT; }
};

}  // namespace

const TimeZone& zoneOf(const Type& type, const TextSettings& settings) {
    return type.timeZone().empty() ? *settings.time_zone : TimeZone::get(type.timeZone());
}

ValueTextPtr valueText(const TypePtr& type, const TextSettings& settings) {
    switch (type->kind()) {
        case TypeKind::Nothing:
            return std::make_shared<NothingText>();
        case TypeKind::Bool:
            return std::make_shared<BoolText>();
#define INTEGER(kind, cpp) \
    case TypeKind::kind:   \
        return std::make_shared<IntegerText<cpp>>();
            INTEGER(UInt8, uint8_t)
            INTEGER(UInt16, uint16_t)
            INTEGER(UInt32, uint32_t)
            INTEGER(UInt64, uint64_t)
            INTEGER(UInt128, UInt128)
            INTEGER(UInt256, UInt256)
            INTEGER(Int8, int8_t)
            INTEGER(Int16, int16_t)
            INTEGER(Int32, int32_t)
            INTEGER(Int64, int64_t)
            INTEGER(Interval, int64_t)
            INTEGER(Int128, Int128)
            INTEGER(Int256, Int256)
#undef INTEGER
        case TypeKind::BFloat16:
            return std::make_shared<FloatText<BFloat16>>();
        case TypeKind::Float32:
            return std::make_shared<FloatText<float>>();
        case TypeKind::Float64:
            return std::make_shared<FloatText<double>>();
        case TypeKind::Decimal32:
        case TypeKind::Decimal64:
        case TypeKind::Decimal128:
        case TypeKind::Decimal256:
            return std::make_shared<DecimalText>(*type);
        case TypeKind::Date:
            return std::make_shared<DateText>(false);
        case TypeKind::Date32:
            return std::make_shared<DateText>(true);
        case TypeKind::DateTime:
            return std::make_shared<DateTimeText>(zoneOf(*type, settings));
        case TypeKind::DateTime64:
            return std::make_shared<DateTime64Text>(zoneOf(*type, settings), type->scale());
        case TypeKind::Time:
            return std::make_shared<TimeText>();
        case TypeKind::Time64:
            return std::make_shared<Time64Text>(type->scale());
        case TypeKind::Enum8:
        case TypeKind::Enum16:
            return std::make_shared<EnumText>(type);
        case TypeKind::UUID:
            return std::make_shared<UuidText>();
        case TypeKind::IPv4:
            return std::make_shared<IPv4Text>();
        case TypeKind::IPv6:
            return std::make_shared<IPv6Text>();
        case TypeKind::String:
            return std::make_shared<StringText>();
        case TypeKind::FixedString:
            return std::make_shared<FixedStringText>(type->fixedSize());
        case TypeKind::AggregateFunction:
            return std::make_shared<StateText>();
        case TypeKind::Nullable:
        case TypeKind::LowCardinality:
        case TypeKind::Array:
        case TypeKind::Tuple:
        case TypeKind::Map:
            return nestedText(type, settings);
        case TypeKind::Lambda:
        case TypeKind::Set:
            break;
    }
    throw Error(ErrorCode::NOT_IMPLEMENTED, "Values of type {} have no text", type->name());
}

void failText(TextResult result, std::string_view text, size_t stopped_at, const std::string& type) {
    switch (result) {
        case ErrorCode::OK:
        case ErrorCode::CANNOT_PARSE_TEXT:
            throw Error(ErrorCode::CANNOT_PARSE_TEXT,
                        "Cannot parse string '{}' as {}: syntax error at position {} (parsed just '{}')",
                        text, type, stopped_at, text.substr(0, stopped_at));
        case ErrorCode::ATTEMPT_TO_READ_AFTER_EOF:
            throw Error(result,
                        "Attempt to read after eof: Cannot parse {} from String, because value is too short",
                        type);
        case ErrorCode::UNKNOWN_ELEMENT_OF_ENUM:
            throw Error(result, "Unknown element '{}' for enum {}", text, type);
        case ErrorCode::TOO_LARGE_STRING_SIZE:
            throw Error(result, "String too long for type {}: '{}'", type, text);
        case ErrorCode::ARGUMENT_OUT_OF_BOUND:
            throw Error(result, "Decimal value is too big: '{}' does not fit {}", text, type);
        case ErrorCode::CANNOT_PARSE_BOOL:
            throw Error(result, "Cannot parse boolean value here: '{}', should be 'true' or 'false'", text);
        default:
            throw Error(result, "Cannot parse '{}' at position {}: Cannot parse {} from String", text,
                        stopped_at, type);
    }
}

Value parseValue(const TypePtr& type, std::string_view text, TextStyle style, const TextSettings& settings) {
    const ValueTextPtr reader = valueText(type, settings);
    TextInput in(text);
    Value value;
    const TextResult result = reader->read(in, style, value);
    if (result != ErrorCode::OK || !in.atEnd())
        failText(result, text, static_cast<size_t>(in.position - text.data()), type->name());
    return value;
}

std::string textOf(
    const Column& column, size_t row, const TypePtr& type, TextStyle style, const TextSettings& settings) {
    Writer out;
    if (column.kind() == ColumnKind::Const)
        valueText(type, settings)->write(*as<ConstColumn>(column).one(), 0, style, out);
    else
        valueText(type, settings)->write(column, row, style, out);
    return std::string(out.view());
}

}  // namespace shardd::formats
