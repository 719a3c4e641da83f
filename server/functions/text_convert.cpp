#include <array>
#include <cmath>

#include "common/columns/nullable_column.h"
#include "common/columns/tuple_column.h"
#include "server/formats/number_text.h"
#include "server/formats/quoting.h"
#include "server/formats/value_text.h"
#include "server/functions/definition.h"
#include "server/functions/simple_function.h"

/// Values as text in a wished form, and words like "1 KiB" as numbers.
namespace shardd::functions {

namespace {

ColumnPtr runCutToZero(const Call& call) {
    const TextArgument texts(call.column(0));
    return eachText(call.rows, texts.totalBytes(),
                    [&](size_t i, TextBuilder& out) { out.append(texts[i].substr(0, texts[i].find('\0'))); });
}

// --- toDecimalString -------------------------------------------------------------------------------

TypePtr typeOfDecimalString(const Signature& call) {
    needCount(call, 2);
    if (!call.type(0)->isNumber()) illegalArgument(call, 0, "a number");
    needInteger(call, 1);
    return types::string();
}

void writeFixed(double value, int64_t digits, TextBuilder& out) {
    if (std::isnan(value)) return out.append("nan");
    if (std::isinf(value)) return out.append(value < 0 ? "-inf" : "inf");
    std::array<char, 512> text{};
    const int size = std::snprintf(text.data(), text.size(), "%.*f", static_cast<int>(digits), value);
    out.append({text.data(), static_cast<size_t>(size)});
}

/// The fraction is rounded half up, and as in ClickHouse what it carries is lost: 0.999 to two digits is 0.00.
void writeRounded(Int256 value, unsigned scale, int64_t digits, TextBuilder& out) {
    const bool negative = value.negative();
    if (negative) value = -value;
    auto wished = static_cast<unsigned>(digits);
    if (wished < scale) {
        const Int256& one = formats::powerOfTen(scale);
        const Int256& unit = formats::powerOfTen(scale - wished);
        const Int256 fraction = (value % one + unit / Int256(2)) / unit % formats::powerOfTen(wished);
        value = value / one * formats::powerOfTen(wished) + fraction;
    }
    Writer text;
    if (negative) text.writeByte('-');
    formats::writeDecimal(value, std::min(wished, scale), text, true);
    if (wished > scale) {
        if (scale == 0) text.writeByte('.');
        for (; wished > scale; --wished) text.writeByte('0');
    }
    out.append(text.view());
}

ColumnPtr runDecimalString(const Call& call) {
    const Type& type = *call.argumentType(0);
    const IntegerArgument digits(call.column(1));
    const ColumnPtr column = full(call.column(0));
    const int64_t most = type.isFloat() ? 60 : 77;
    return eachText(call.rows, call.rows * 16, [&](size_t i, TextBuilder& out) {
        if (digits[i] < 0 || digits[i] > most)
            throw Error(ErrorCode::CANNOT_PRINT_FLOAT_OR_DOUBLE_NUMBER,
                        "Too many fractional digits requested, shall not be more than {}", most);
        const Value value = column->value(i);
        if (type.isFloat())
            writeFixed(value.to<double>(), digits[i], out);
        else
            writeRounded(value.to<Int256>(), type.isDecimal() ? type.scale() : 0, digits[i], out);
    });
}

// --- formatRow -------------------------------------------------------------------------------------

/// Rows in one of the text formats.
class FormatRow final : public SimpleFunction {
public:
    FormatRow(std::string name, bool newline, std::shared_ptr<const FunctionContext> context)
        : SimpleFunction(
              std::move(name),
              Traits{.default_nulls = false, .default_low_cardinality = false, .constant_arguments = {0}}),
          newline_(newline),
          context_(context ? std::move(context) : std::make_shared<FunctionContext>()) {}

    TypePtr resultType(Arguments arguments) const override {
        if (arguments.size() < 2) checkArgumentCount(name_, arguments, 2);
        formatOf(constantText(name_, arguments, 0));
        return types::string();
    }

    ColumnPtr execute(Arguments arguments, const TypePtr&, size_t rows) const override {
        const Format format = formatOf(constantText(name_, arguments, 0));
        const formats::TextSettings settings{&TimeZone::get(context_->time_zone)};
        std::vector<formats::ValueTextPtr> writers;
        for (const NamedColumn& argument : arguments.subspan(1))
            writers.push_back(formats::valueText(argument.type, settings));
        Writer out;
        PodVector<uint64_t> ends(rows);
        for (size_t row = 0; row < rows; ++row) {
            out.writeBytes(format.begin);
            for (size_t i = 0; i < writers.size(); ++i) {
                if (i > 0) out.writeByte(static_cast<uint8_t>(format.delimiter));
                if (format.named) {
                    formats::writeJson(arguments[i + 1].name, out);
                    out.writeByte(':');
                }
                writers[i]->write(*arguments[i + 1].column, row, format.style, out);
            }
            out.writeBytes(format.end);
            if (newline_ && format.ends_line) out.writeByte('\n');
            ends[row] = out.size();
        }
        return std::make_shared<StringColumn>(out.take(), std::move(ends));
    }

private:
    struct Format {
        formats::TextStyle style;
        char delimiter;
        std::string_view begin = {};
        std::string_view end = {};
        bool named = false;
        bool ends_line = true;
    };

    static Format formatOf(const std::string& name) {
        if (name == "CSV") return {formats::TextStyle::Csv, ','};
        if (name == "TSV" || name == "TabSeparated") return {formats::TextStyle::Escaped, '\t'};
        if (name == "TSVRaw" || name == "TabSeparatedRaw") return {formats::TextStyle::Plain, '\t'};
        if (name == "JSONEachRow" || name == "NDJSON" || name == "JSONLines")
            return {formats::TextStyle::Json, ',', "{", "}", true};
        if (name == "JSONCompactEachRow") return {formats::TextStyle::Json, ',', "[", "]"};
        if (name == "Values") return {formats::TextStyle::Quoted, ',', "(", ")", false, false};
        throw Error(ErrorCode::UNKNOWN_FORMAT, "Unknown format {}", name);
    }

    bool newline_;
    std::shared_ptr<const FunctionContext> context_;
};

// --- words for numbers -----------------------------------------------------------------------------

struct SizeUnit {
    std::string_view name;
    double bytes;
};

constexpr SizeUnit kSizeUnits[] = {
    {"b", 1},
    {"kib", 1024.0},
    {"mib", 1048576.0},
    {"gib", 1073741824.0},
    {"tib", 1099511627776.0},
    {"pib", 1125899906842624.0},
    {"eib", 1152921504606846976.0},
    {"kb", 1e3},
    {"mb", 1e6},
    {"gb", 1e9},
    {"tb", 1e12},
    {"pb", 1e15},
    {"eb", 1e18},
};

ErrorCode readSize(std::string_view text, uint64_t& size) {
    formats::TextInput in(text);
    in.skipSpace();
    double number = 0;
    if (in.atEnd() ||
        (!formats::isDigit(in.peek()) && in.peek() != '-' && in.peek() != '.' && in.peek() != '+'))
        return ErrorCode::CANNOT_PARSE_NUMBER;
    if (formats::readFloat(in, number) != ErrorCode::OK) return ErrorCode::CANNOT_PARSE_NUMBER;
    if (!(number >= 0) || std::isinf(number)) return ErrorCode::BAD_ARGUMENTS;
    in.skipSpace();
    std::string unit;
    while (formats::isLetter(in.peek())) unit += formats::toLower(*in.position++);
    if (!in.atEnd()) return ErrorCode::UNEXPECTED_DATA_AFTER_PARSED_VALUE;
    for (const SizeUnit& known : kSizeUnits) {
        if (known.name != unit) continue;
        const double bytes = std::ceil(number * known.bytes);
        if (bytes >= 18446744073709551616.0) return ErrorCode::BAD_ARGUMENTS;
        size = static_cast<uint64_t>(bytes);
        return ErrorCode::OK;
    }
    return ErrorCode::CANNOT_PARSE_TEXT;
}

enum class OnBadText : uint8_t { Throw, Zero, Null };

template <OnBadText kOnBad>
TypePtr typeOfSize(const Signature& call) {
    needCount(call, 1);
    needString(call, 0);
    return kOnBad == OnBadText::Null ? types::nullable(types::uint64()) : types::uint64();
}

template <OnBadText kOnBad>
ColumnPtr runSize(const Call& call) {
    const TextArgument texts(call.column(0));
    Mask bad(call.rows, 0);
    ColumnPtr sizes = eachRow<uint64_t>(call.rows, [&](size_t i) {
        uint64_t size = 0;
        const ErrorCode code = readSize(texts[i], size);
        if (code == ErrorCode::OK) return size;
        if (kOnBad == OnBadText::Throw)
            throw Error(code, "Invalid expression for function {} - cannot read '{}' as a size", call.name,
                        texts[i]);
        bad[i] = 1;
        return uint64_t{0};
    });
    return kOnBad == OnBadText::Null ? std::make_shared<NullableColumn>(std::move(sizes), std::move(bad))
                                     : sizes;
}

/// A month counts 30.5 days, a year 365.
double secondsOfUnit(std::string_view unit) {
    struct Unit {
        std::string_view names[5];
        double seconds;
    };

    static constexpr Unit kUnits[] = {
        {{"years", "year", "yr", "y"}, 31536000},
        {{"months", "month", "mo"}, 2635200},
        {{"weeks", "week", "w"}, 604800},
        {{"days", "day", "d"}, 86400},
        {{"hours", "hour", "hr", "h"}, 3600},
        {{"minutes", "minute", "min", "m"}, 60},
        {{"seconds", "second", "sec", "s"}, 1},
        {{"milliseconds", "millisecond", "millisec", "ms"}, 1e-3},
        {{"microseconds", "microsecond", "microsec", "us"}, 1e-6},
        {{"nanoseconds", "nanosecond", "nanosec", "ns"}, 1e-9},
    };
    for (const Unit& known : kUnits)
        for (const std::string_view name : known.names)
            if (!name.empty() && name == unit) return known.seconds;
    return 0;
}

double readDelta(std::string_view text) {
    const auto fail = [&] {
        return Error(ErrorCode::BAD_ARGUMENTS, "Invalid argument of function parseTimeDelta, str: \"{}\"",
                     text);
    };
    formats::TextInput in(text);
    double sum = 0;
    in.skipSpace();
    if (in.atEnd()) throw fail();
    while (!in.atEnd()) {
        double number = 0;
        if (!formats::isDigit(in.peek()) && in.peek() != '.') throw fail();
        // Digits and a point only: an exponent would eat the unit.
        const char* end = in.position;
        while (end != in.end && (formats::isDigit(*end) || *end == '.')) ++end;
        formats::TextInput digits(std::string_view(in.position, static_cast<size_t>(end - in.position)));
        if (formats::readFloat(digits, number) != ErrorCode::OK) throw fail();
        in.position = end;
        in.skipSpace();
        std::string unit;
        while (formats::isLetter(in.peek())) unit += *in.position++;
        const double seconds = secondsOfUnit(unit);
        if (seconds == 0) throw fail();
        sum += number * seconds;
        while (in.peek() == ' ' || in.peek() == ';' || in.peek() == ',' || in.peek() == '+' ||
               in.peek() == '-' || in.peek() == ':')
            ++in.position;
        if (!in.atEnd() && !formats::isDigit(in.peek()) && in.peek() != '.') {
            if (in.skip("and"))
                in.skipSpace();
            else
                throw fail();
        }
    }
    return sum;
}

TypePtr typeOfDelta(const Signature& call) {
    needCount(call, 1);
    needString(call, 0);
    return types::float64();
}

ColumnPtr runDelta(const Call& call) {
    const TextArgument texts(call.column(0));
    return eachRow<double>(call.rows, [&](size_t i) { return readDelta(texts[i]); });
}

template <bool kNewline>
FunctionPtr createFormatRow(const std::shared_ptr<const FunctionContext>& context) {
    return std::make_shared<FormatRow>(kNewline ? "formatRow" : "formatRowNoNewline", kNewline, context);
}

}  // namespace

std::span<const FunctionInfo> textConvertFunctions() {
    static const FunctionInfo list[] = {
        define<"toStringCutToZero", textsTo<TypeKind::String, 1>, runCutToZero>(
            "toStringCutToZero(text)", "The text before its first zero byte.",
            "toStringCutToZero(toFixedString('ab', 5))", "ab"),
        define<"toDecimalString", typeOfDecimalString, runDecimalString>(
            "toDecimalString(number, digits)", "The number with that many digits after the point.",
            "toDecimalString(1.5, 2)", "1.50"),
        {.name = "formatRow",
         .create = createFormatRow<true>,
         .syntax = "formatRow('format', value, …)",
         .description = "Values as a row of a text format.",
         .example = "formatRow('CSV', 1, 'a')",
         .example_result = "1,\"a\"\n"},
        {.name = "formatRowNoNewline",
         .create = createFormatRow<false>,
         .syntax = "formatRowNoNewline('format', value, …)",
         .description = "As formatRow, without the end of line.",
         .example = "formatRowNoNewline('CSV', 1, 'a')",
         .example_result = "1,\"a\""},
        define<"parseReadableSize", typeOfSize<OnBadText::Throw>, runSize<OnBadText::Throw>, kMayThrow>(
            "parseReadableSize(text)", "Bytes of a size like '1 KiB'.", "parseReadableSize('1 KiB')", "1024"),
        define<"parseReadableSizeOrZero", typeOfSize<OnBadText::Zero>, runSize<OnBadText::Zero>>(
            "parseReadableSizeOrZero(text)", "Bytes of a size like '1 KiB', 0 for other texts.",
            "parseReadableSizeOrZero('x')", "0"),
        define<"parseReadableSizeOrNull", typeOfSize<OnBadText::Null>, runSize<OnBadText::Null>>(
            "parseReadableSizeOrNull(text)", "Bytes of a size like '1 KiB', NULL for other texts.",
            "parseReadableSizeOrNull('x')", "NULL"),
        define<"parseTimeDelta", typeOfDelta, runDelta, kMayThrow>(
            "parseTimeDelta(text)", "Seconds of a duration like '1 day 2 hours'.", "parseTimeDelta('5m30s')",
            "330"),
    };
    return list;
}

}  // namespace shardd::functions
