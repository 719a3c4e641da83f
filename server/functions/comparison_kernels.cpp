#include <algorithm>
#include <cstring>

#include "common/types/time_zone.h"
#include "server/formats/number_text.h"
#include "server/functions/arithmetic.h"
#include "server/functions/comparison.h"
#include "server/functions/definition.h"
#include "server/functions/numbers.h"

namespace shardd::functions {

bool isComparedAsNumber(const Type& type) {
    if (type.isDecimal() || type.kind() == TypeKind::UUID) return false;
    const Physical physical = type.physical();
    return physical != Physical::None && physical != Physical::IPv6;
}

namespace {

ColumnPtr mask(PodVector<uint8_t> values) {
    return std::make_shared<FixedColumn<uint8_t>>(std::move(values));
}

/// The op with its sides exchanged.
CompareOp mirrored(CompareOp op) {
    switch (op) {
        case CompareOp::Less:
            return CompareOp::Greater;
        case CompareOp::Greater:
            return CompareOp::Less;
        case CompareOp::LessOrEquals:
            return CompareOp::GreaterOrEquals;
        case CompareOp::GreaterOrEquals:
            return CompareOp::LessOrEquals;
        default:
            return op;
    }
}

template <typename T>
ColumnPtr compareAs(CompareOp op, const NamedColumn& left, const NamedColumn& right, size_t rows) {
    if (op == CompareOp::Greater || op == CompareOp::GreaterOrEquals)
        return compareAs<T>(mirrored(op), right, left, rows);
    Operand<T> a(*left.column, left.type->physical());
    Operand<T> b(*right.column, right.type->physical());
    PodVector<uint8_t> out(rows);
    switch (op) {
        case CompareOp::Equals:
            runBinary(a, b, out.data(), rows,
                      [](const T& x, const T& y) { return static_cast<uint8_t>(x == y); });
            break;
        case CompareOp::NotEquals:
            runBinary(a, b, out.data(), rows,
                      [](const T& x, const T& y) { return static_cast<uint8_t>(x != y); });
            break;
        case CompareOp::Less:
            runBinary(a, b, out.data(), rows,
                      [](const T& x, const T& y) { return static_cast<uint8_t>(x < y); });
            break;
        default:
            runBinary(a, b, out.data(), rows,
                      [](const T& x, const T& y) { return static_cast<uint8_t>(x <= y); });
    }
    return mask(std::move(out));
}

struct Shape {
    bool is_float;
    bool is_signed;
    size_t bytes;
};

Shape shapeOfPhysical(const Type& type) {
    switch (type.physical()) {
        case Physical::BFloat16:
        case Physical::Float32:
        case Physical::Float64:
            return {true, true, type.width()};
        case Physical::Int8:
        case Physical::Int16:
        case Physical::Int32:
        case Physical::Int64:
        case Physical::Int128:
        case Physical::Int256:
            return {false, true, type.width()};
        default:
            return {false, false, type.width()};
    }
}

/// 64-bit integers with floats: the 64 bits of a long double's mantissa hold both.
ColumnPtr compareWithFloat(CompareOp op, const NamedColumn& integer, const NamedColumn& other, size_t rows) {
    static_assert(std::numeric_limits<long double>::digits >= 64);
    const bool is_signed = shapeOfPhysical(*integer.type).is_signed;
    Operand<int64_t> a(*integer.column, integer.type->physical());
    Operand<double> b(*other.column, other.type->physical());
    PodVector<uint8_t> out(rows);
    for (size_t from = 0; from < rows; from += kChunkRows) {
        const size_t count = std::min(kChunkRows, rows - from);
        const int64_t* left = a.constant() ? nullptr : a.chunk(from, count);
        const double* right = b.constant() ? nullptr : b.chunk(from, count);
        for (size_t i = 0; i < count; ++i) {
            const int64_t whole = left ? left[i] : a.value();
            const long double x = is_signed ? static_cast<long double>(whole)
                                            : static_cast<long double>(static_cast<uint64_t>(whole));
            const long double y = right ? right[i] : b.value();
            const bool comparable = x < y || x >= y;
            out[from + i] = comparable ? holds(op, x < y ? -1 : x > y) : op == CompareOp::NotEquals;
        }
    }
    return mask(std::move(out));
}

}  // namespace

ColumnPtr compareNumbers(CompareOp op, const NamedColumn& left, const NamedColumn& right, size_t rows) {
    const Shape a = shapeOfPhysical(*left.type);
    const Shape b = shapeOfPhysical(*right.type);
    if (a.is_float || b.is_float) {
        if (a.is_float && b.is_float && a.bytes <= 4 && b.bytes <= 4)
            return compareAs<float>(op, left, right, rows);
        if (!a.is_float && a.bytes == 8) return compareWithFloat(op, left, right, rows);
        if (!b.is_float && b.bytes == 8) return compareWithFloat(mirrored(op), right, left, rows);
        return compareAs<double>(op, left, right, rows);
    }
    size_t bytes = std::max(a.bytes, b.bytes);
    bool is_signed = a.is_signed;
    if (a.is_signed != b.is_signed) {
        is_signed = true;
        const size_t unsigned_bytes = a.is_signed ? b.bytes : a.bytes;
        if (unsigned_bytes >= bytes) bytes = std::min<size_t>(bytes * 2, 32);
    }
    switch (bytes) {
        case 1:
            return is_signed ? compareAs<int8_t>(op, left, right, rows)
                             : compareAs<uint8_t>(op, left, right, rows);
        case 2:
            return is_signed ? compareAs<int16_t>(op, left, right, rows)
                             : compareAs<uint16_t>(op, left, right, rows);
        case 4:
            return is_signed ? compareAs<int32_t>(op, left, right, rows)
                             : compareAs<uint32_t>(op, left, right, rows);
        case 8:
            return is_signed ? compareAs<int64_t>(op, left, right, rows)
                             : compareAs<uint64_t>(op, left, right, rows);
        case 16:
            return is_signed ? compareAs<Int128>(op, left, right, rows)
                             : compareAs<UInt128>(op, left, right, rows);
        default:
            return is_signed ? compareAs<Int256>(op, left, right, rows)
                             : compareAs<UInt256>(op, left, right, rows);
    }
}

namespace {

/// Both sides on one scale in `W`.
template <typename W>
ColumnPtr compareScaled(CompareOp op, const NamedColumn& left, const NamedColumn& right, size_t rows) {
    const unsigned left_scale = left.type->isDecimal() ? left.type->scale() : 0;
    const unsigned right_scale = right.type->isDecimal() ? right.type->scale() : 0;
    const unsigned scale = std::max(left_scale, right_scale);
    W left_factor{};
    W right_factor{};
    if constexpr (sizeof(W) == 32) {
        left_factor = formats::powerOfTen(scale - left_scale);
        right_factor = formats::powerOfTen(scale - right_scale);
    } else {
        left_factor = static_cast<W>(formats::powerOfTen(scale - left_scale).low());
        right_factor = static_cast<W>(formats::powerOfTen(scale - right_scale).low());
    }
    auto a = std::make_unique<Operand<W>>(*left.column, left.type->physical());
    auto b = std::make_unique<Operand<W>>(*right.column, right.type->physical());
    PodVector<uint8_t> out(rows);
    // In 128 bits nothing of 64 overflows; ClickHouse, which computes in the wider of both types, says that it does.
    bool overflow = false;
    const size_t bytes = std::max(left.type->width(), right.type->width());
    const W limit = sizeof(W) == 16 ? W(1) << static_cast<unsigned>(bytes * 8 - 1) : W(0);
    runBinary(*a, *b, out.data(), rows, [&](const W& x, const W& y) {
        const W p = x * left_factor;
        const W q = y * right_factor;
        if constexpr (sizeof(W) == 16) overflow |= p >= limit || p < -limit || q >= limit || q < -limit;
        return static_cast<uint8_t>(holds(op, p < q ? -1 : q < p ? 1 : 0));
    });
    if (overflow) throw Error(ErrorCode::DECIMAL_OVERFLOW, "Can't compare decimal number due to overflow");
    return mask(std::move(out));
}

}  // namespace

ColumnPtr compareDecimals(CompareOp op, const NamedColumn& left, const NamedColumn& right, size_t rows) {
    if (left.type->isFloat() || right.type->isFloat()) {
        NamedColumn a = left;
        NamedColumn b = right;
        for (NamedColumn* side : {&a, &b})
            if (side->type->isDecimal())
                *side = {"", types::float64(), decimalToFloat(side->column, *side->type)};
        return compareAs<double>(op, a, b, rows);
    }
    const size_t bytes = std::max(left.type->width(), right.type->width());
    const bool same_scale =
        left.type->scale() == right.type->scale() && left.type->isDecimal() && right.type->isDecimal();
    if (same_scale) {
        if (bytes == 4) return compareAs<int32_t>(op, left, right, rows);
        if (bytes == 8) return compareAs<int64_t>(op, left, right, rows);
    }
    return bytes <= 8 ? compareScaled<Int128>(op, left, right, rows)
                      : compareScaled<Int256>(op, left, right, rows);
}

namespace {

/// Length without the zero bytes at the end.
std::string_view withoutPadding(std::string_view text) {
    size_t size = text.size();
    while (size > 0 && text[size - 1] == '\0') --size;
    return text.substr(0, size);
}

int order(std::string_view a, std::string_view b) {
    const int result = std::memcmp(a.data(), b.data(), std::min(a.size(), b.size()));
    if (result != 0) return result;
    return a.size() < b.size() ? -1 : a.size() > b.size();
}

/// `column` (String) = `text` in every row.
ColumnPtr equalsConstant(const StringColumn& column, std::string_view text, bool negate) {
    const size_t rows = column.size();
    const char* chars = column.chars().data();
    const uint64_t* ends = column.ends().data();
    PodVector<uint8_t> out(rows);
    uint64_t start = 0;
    if (text.empty()) {
        const uint8_t when_empty = !negate;
        out[0] = (ends[0] == 0) == (when_empty != 0);
        for (size_t i = 1; i < rows; ++i) out[i] = static_cast<uint8_t>(ends[i] != ends[i - 1]) ^ when_empty;
        return mask(std::move(out));
    }
    for (size_t i = 0; i < rows; ++i) {
        const bool same =
            ends[i] - start == text.size() && std::memcmp(chars + start, text.data(), text.size()) == 0;
        out[i] = same != negate;
        start = ends[i];
    }
    return mask(std::move(out));
}

}  // namespace

ColumnPtr compareTexts(CompareOp op, const NamedColumn& left, const NamedColumn& right, size_t rows) {
    const TextArgument a(left.column);
    const TextArgument b(right.column);
    const bool padded =
        left.type->kind() == TypeKind::FixedString || right.type->kind() == TypeKind::FixedString;
    const bool equality = op == CompareOp::Equals || op == CompareOp::NotEquals;
    if (!padded && equality && rows != 0) {
        if (b.constant() && left.column->kind() == ColumnKind::String)
            return equalsConstant(as<StringColumn>(*left.column), b[0], op == CompareOp::NotEquals);
        if (a.constant() && right.column->kind() == ColumnKind::String)
            return equalsConstant(as<StringColumn>(*right.column), a[0], op == CompareOp::NotEquals);
    }
    PodVector<uint8_t> out(rows);
    for (size_t i = 0; i < rows; ++i) {
        std::string_view x = a[i];
        std::string_view y = b[i];
        if (padded) {
            x = withoutPadding(x);
            y = withoutPadding(y);
        }
        out[i] = equality ? (x == y) == (op == CompareOp::Equals) : holds(op, order(x, y));
    }
    return mask(std::move(out));
}

namespace {

/// Moments on a scale of nanoseconds, which 64 bits cannot hold.
PodVector<Int128> nanoseconds(const NamedColumn& side, const TimeZone& zone, size_t rows) {
    constexpr int64_t kSecond = 1000000000;
    PodVector<Int128> result(rows);
    const ColumnPtr column = full(side.column);
    switch (side.type->kind()) {
        case TypeKind::Date: {
            const auto& days = as<FixedColumn<uint16_t>>(*column).values();
            for (size_t i = 0; i < rows; ++i) result[i] = Int128(zone.dayStart(days[i])) * kSecond;
            break;
        }
        case TypeKind::Date32: {
            const auto& days = as<FixedColumn<int32_t>>(*column).values();
            for (size_t i = 0; i < rows; ++i) result[i] = Int128(zone.dayStart(days[i])) * kSecond;
            break;
        }
        case TypeKind::DateTime: {
            const auto& seconds = as<FixedColumn<uint32_t>>(*column).values();
            for (size_t i = 0; i < rows; ++i) result[i] = Int128(seconds[i]) * kSecond;
            break;
        }
        default: {
            int64_t factor = 1;
            for (unsigned i = side.type->scale(); i < 9; ++i) factor *= 10;
            const auto& ticks = as<FixedColumn<int64_t>>(*column).values();
            for (size_t i = 0; i < rows; ++i) result[i] = Int128(ticks[i]) * factor;
        }
    }
    return result;
}

}  // namespace

ColumnPtr compareMoments(CompareOp op,
                         const NamedColumn& left,
                         const NamedColumn& right,
                         size_t rows,
                         const std::string& session_zone) {
    // Two dates meet as days, whatever the zone.
    if (left.type->isDate() && right.type->isDate()) return compareNumbers(op, left, right, rows);
    const std::string& written =
        left.type->timeZone().empty() ? right.type->timeZone() : left.type->timeZone();
    const TimeZone& zone = TimeZone::get(written.empty() ? session_zone : written);
    const PodVector<Int128> a = nanoseconds(left, zone, rows);
    const PodVector<Int128> b = nanoseconds(right, zone, rows);
    PodVector<uint8_t> out(rows);
    for (size_t i = 0; i < rows; ++i) out[i] = holds(op, a[i] < b[i] ? -1 : a[i] > b[i]);
    return mask(std::move(out));
}

ColumnPtr compareAny(CompareOp op, const ColumnPtr& left, const ColumnPtr& right, size_t rows) {
    const ColumnPtr a = full(left);
    const ColumnPtr b = full(right);
    PodVector<uint8_t> out(rows);
    for (size_t i = 0; i < rows; ++i) out[i] = holds(op, a->compareAt(i, *b, i, 1));
    return mask(std::move(out));
}

}  // namespace shardd::functions
