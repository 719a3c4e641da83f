#include <algorithm>

#include "common/columns/create_column.h"
#include "common/columns/fixed_column.h"
#include "common/columns/fixed_string_column.h"
#include "common/columns/string_column.h"
#include "server/formats/number_text.h"
#include "server/formats/time_text.h"
#include "server/functions/convert_kernels.h"
#include "server/functions/definition.h"

/// Text to values and values to text.
namespace shardd::functions {

namespace {

/// FixedString's zero bytes at the end are no part of the text.
class Texts {
public:
    Texts(const ColumnPtr& column, const Type& type)
        : texts_(column), padded_(type.kind() == TypeKind::FixedString) {}

    std::string_view operator[](size_t row) const {
        std::string_view text = texts_[row];
        if (padded_)
            while (!text.empty() && text.back() == '\0') text.remove_suffix(1);
        return text;
    }

private:
    TextArgument texts_;
    bool padded_;
};

/// Behind a date " hh:mm:ss" is passed over, with a fraction or without.
void skipTimeOfDay(formats::TextInput& in) {
    constexpr std::string_view kShape = "?dd:dd:dd";
    if (in.left() < kShape.size() || (in.peek() != ' ' && in.peek() != 'T')) return;
    for (size_t i = 1; i < kShape.size(); ++i)
        if (kShape[i] == 'd' ? !formats::isDigit(in.peek(i)) : in.peek(i) != ':') return;
    in.position += kShape.size();
    if (in.peek() != '.') return;
    ++in.position;
    while (formats::isDigit(in.peek())) ++in.position;
}

void refuseText(const ConvertRules& rules,
                size_t row,
                formats::TextResult result,
                std::string_view text,
                const formats::TextInput& in,
                const Type& to) {
    if (!rules.bad)
        formats::failText(result, text, static_cast<size_t>(in.position - text.data()), to.name());
    (*rules.bad)[row] = 1;
}

template <typename T, typename Read>
ColumnPtr parseNumbers(
    const Texts& texts, size_t rows, const Type& to, const ConvertRules& rules, Read read) {
    PodVector<T> out(rows);
    for (size_t i = 0; i < rows; ++i) {
        if (rules.bad && (*rules.bad)[i]) {
            out[i] = T{};
            continue;
        }
        const std::string_view text = texts[i];
        formats::TextInput in(text);
        const formats::TextResult result = read(in, out[i]);
        if (result == ErrorCode::OK && in.atEnd() && !text.empty()) continue;
        out[i] = T{};
        refuseText(rules, i, result, text, in, to);
    }
    return std::make_shared<FixedColumn<T>>(std::move(out));
}

ColumnPtr parseByReader(const Texts& texts, size_t rows, const TypePtr& to, const ConvertRules& rules) {
    const formats::ValueTextPtr reader = formats::valueText(to, rules.text);
    MutableColumnPtr out = createColumn(*to);
    out->reserve(rows);
    for (size_t i = 0; i < rows; ++i) {
        if (rules.bad && (*rules.bad)[i]) {
            insertDefaults(*to, *out, 1);
            continue;
        }
        const std::string_view text = texts[i];
        formats::TextInput in(text);
        Value value;
        const formats::TextResult result = reader->read(in, formats::TextStyle::Plain, value);
        if (result == ErrorCode::OK && to->isDate()) skipTimeOfDay(in);
        if (result == ErrorCode::OK && in.atEnd()) {
            out->insert(value);
            continue;
        }
        refuseText(rules, i, to->kind() == TypeKind::Bool ? ErrorCode::CANNOT_PARSE_BOOL : result, text, in,
                   *to);
        insertDefaults(*to, *out, 1);
    }
    return out;
}

/// DateTime and DateTime64 without best effort.
ColumnPtr parsePlainMoments(const Texts& texts, size_t rows, const Type& to, const ConvertRules& rules) {
    const TimeZone& zone = formats::zoneOf(to, rules.text);
    const bool seconds_only = to.kind() == TypeKind::DateTime;
    int64_t unit = 1;
    for (unsigned i = 0; i < to.scale(); ++i) unit *= 10;
    const auto read = [&](formats::TextInput& in, int64_t& value) {
        formats::ParsedMoment moment;
        std::optional<int64_t> ticks;
        const formats::TextResult result = formats::readMomentPlain(in, zone, moment, ticks, !seconds_only);
        if (result != ErrorCode::OK) return result;
        value = seconds_only ? std::clamp<int64_t>(moment.seconds, 0, UINT32_MAX)
                : ticks      ? *ticks
                             : moment.seconds * unit + moment.nanoseconds / (1000000000 / unit);
        return ErrorCode::OK;
    };
    const ColumnPtr wide = parseNumbers<int64_t>(texts, rows, to, rules, read);
    if (!seconds_only) return wide;
    const auto& values = as<FixedColumn<int64_t>>(*wide).values();
    return eachRow<uint32_t>(rows, [&](size_t i) { return static_cast<uint32_t>(values[i]); });
}

ColumnPtr toFixedString(const ColumnPtr& column, const Type& to, const ConvertRules& rules) {
    const TextArgument texts(column);
    auto out = std::make_shared<FixedStringColumn>(to.fixedSize());
    out->reserve(column->size());
    for (size_t i = 0; i < column->size(); ++i) {
        std::string_view text = texts[i];
        if (text.size() > to.fixedSize()) {
            refuseRow(rules, i, ErrorCode::TOO_LARGE_STRING_SIZE, "String too long for type {}", to.name());
            text = {};
        }
        out->insertText(text);
    }
    return out;
}

ColumnPtr withoutPadding(const ColumnPtr& column, const Type& from) {
    const Texts texts(column, from);
    return eachText(column->size(), column->dataBytes(),
                    [&](size_t row, TextBuilder& out) { out.append(texts[row]); });
}

}  // namespace

ColumnPtr parseColumn(const ColumnPtr& column,
                      const TypePtr& from,
                      const TypePtr& to,
                      const ConvertRules& rules) {
    const size_t rows = column->size();
    const Texts texts(column, *from);
    const bool checked = rules.accurate || rules.bad != nullptr;
    switch (to->kind()) {
        case TypeKind::String:
            return from->kind() == TypeKind::String ? column : withoutPadding(column, *from);
        case TypeKind::FixedString:
            return toFixedString(column, *to, rules);
#define INTEGER(kind, cpp)                                                                          \
    case TypeKind::kind:                                                                            \
        return parseNumbers<cpp>(texts, rows, *to, rules, [&](formats::TextInput& in, cpp& value) { \
            return formats::readInteger(in, value, checked);                                        \
        });
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
        case TypeKind::Float32:
            return parseNumbers<float>(texts, rows, *to, rules, [](formats::TextInput& in, float& value) {
                return formats::readFloat(in, value);
            });
        case TypeKind::Float64:
            return parseNumbers<double>(texts, rows, *to, rules, [](formats::TextInput& in, double& value) {
                return formats::readFloat(in, value);
            });
        case TypeKind::DateTime:
        case TypeKind::DateTime64:
            return rules.plain_moments ? parsePlainMoments(texts, rows, *to, rules) : parseByReader(texts, rows, to, rules);
        default:
            return parseByReader(texts, rows, to, rules);
    }
}

ColumnPtr printColumn(const ColumnPtr& column, const TypePtr& from, const ConvertRules& rules) {
    if (from->kind() == TypeKind::String) return column;
    if (from->kind() == TypeKind::FixedString) return withoutPadding(column, *from);
    const size_t rows = column->size();
    const formats::ValueTextPtr writer = formats::valueText(from, rules.text);
    Writer out;
    PodVector<uint64_t> ends(rows);
    for (size_t i = 0; i < rows; ++i) {
        writer->write(*column, i, formats::TextStyle::Plain, out);
        ends[i] = out.size();
    }
    return std::make_shared<StringColumn>(out.take(), std::move(ends));
}

}  // namespace shardd::functions
