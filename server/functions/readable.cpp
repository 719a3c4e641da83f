// Numbers for people: formatReadable*, bar.

#include <array>
#include <cmath>

#include "server/formats/number_text.h"
#include "server/functions/definition.h"

namespace shardd::functions {

namespace {

TypePtr typeOfReadable(const Signature& call) {
    needCount(call, 1);
    if (!call.type(0)->isNumber()) illegalArgument(call, 0, "a number");
    return types::string();
}

constexpr std::array<std::string_view, 9> kBinaryUnits = {" B",   " KiB", " MiB", " GiB", " TiB",
                                                          " PiB", " EiB", " ZiB", " YiB"};
constexpr std::array<std::string_view, 9> kDecimalUnits = {" B",  " KB", " MB", " GB", " TB",
                                                           " PB", " EB", " ZB", " YB"};
constexpr std::array<std::string_view, 12> kQuantities = {"",
                                                          " thousand",
                                                          " million",
                                                          " billion",
                                                          " trillion",
                                                          " quadrillion",
                                                          " quintillion",
                                                          " sextillion",
                                                          " septillion",
                                                          " octillion",
                                                          " nonillion",
                                                          " decillion"};

template <int kBase, const auto& kUnits>
ColumnPtr runReadable(const Call& call) {
    const DoubleArgument values(call.column(0), call.argumentType(0));
    const bool is_unsigned = call.argumentType(0)->kind() == TypeKind::UInt64;
    return eachText(call.rows, call.rows * 10, [&](size_t row, TextBuilder& out) {
        double value = values[row];
        if (is_unsigned && value < 0) value += 18446744073709551616.0;
        size_t unit = 0;
        while (std::abs(value) >= kBase && unit + 1 < kUnits.size()) {
            value /= kBase;
            ++unit;
        }
        if (std::abs(value) < 1e60) {
            out.append(fmt::format("{:.2f}", value));
        } else {  // also nan and inf
            Writer text;
            formats::writeFloat(value, text);
            out.append(text.view());
        }
        out.append(kUnits[unit]);
    });
}

// -- durations ------------------------------------------------------------------------------------

struct DurationUnit {
    std::string_view plural;
    double seconds;
};

constexpr DurationUnit kDurations[] = {{"years", 31536000},    {"months", 2635200},    {"days", 86400},
                                       {"hours", 3600},        {"minutes", 60},        {"seconds", 1},
                                       {"milliseconds", 1e-3}, {"microseconds", 1e-6}, {"nanoseconds", 1e-9}};
constexpr size_t kSecondsIndex = 5;

std::optional<size_t> durationIndex(std::string_view name) {
    for (size_t i = 0; i < std::size(kDurations); ++i)
        if (kDurations[i].plural == name) return i;
    return std::nullopt;
}

TypePtr typeOfDuration(const Signature& call) {
    needCount(call, 1, 3);
    if (!call.type(0)->isNumber()) illegalArgument(call, 0, "a number");
    for (size_t i = 1; i < call.count(); ++i) {
        needString(call, i);
        needConstant(call, i);
    }
    return types::string();
}

size_t unitArgument(const Call& call, size_t i, size_t usual, std::string_view what) {
    if (i >= call.count()) return usual;
    const std::string_view name = TextArgument(call.column(i))[0];
    const auto index = durationIndex(name);
    if (!index)
        throw Error(ErrorCode::BAD_ARGUMENTS,
                    "Unexpected value of {} unit argument ({}) for function {}, the only allowed values are: "
                    "'nanoseconds', 'microseconds', "
                    "'milliseconds', 'seconds', 'minutes', 'hours', 'days', 'months', 'years'",
                    what, name, call.name);
    return *index;
}

void writeDuration(double seconds, size_t largest, size_t smallest, TextBuilder& out) {
    double rest = seconds;
    std::vector<std::string> parts;
    for (size_t i = largest; i <= smallest; ++i) {
        double count = std::floor(rest / kDurations[i].seconds + (i > kSecondsIndex ? 1e-6 : 0));
        if (i == smallest && i > kSecondsIndex) count = std::floor(rest / kDurations[i].seconds + 1e-6);
        rest = std::max(0.0, rest - count * kDurations[i].seconds);
        if (count == 0 && !(i == smallest && parts.empty()) &&
            !(i == kSecondsIndex && parts.empty() && smallest > kSecondsIndex))
            continue;
        const std::string_view name = count == 1
                                          ? kDurations[i].plural.substr(0, kDurations[i].plural.size() - 1)
                                          : kDurations[i].plural;
        parts.push_back(fmt::format("{:.0f} {}", count, name));
    }
    for (size_t i = 0; i < parts.size(); ++i) {
        if (i > 0) out.append(i + 1 == parts.size() ? " and " : ", ");
        out.append(parts[i]);
    }
}

ColumnPtr runDuration(const Call& call) {
    const DoubleArgument values(call.column(0), call.argumentType(0));
    const size_t largest = unitArgument(call, 1, 0, "maximum");
    const size_t smallest = unitArgument(call, 2, std::max(kSecondsIndex, largest), "minimum");
    if (largest > smallest)
        throw Error(ErrorCode::BAD_ARGUMENTS,
                    "Explicit minimum unit value must not be greater than maximum unit");
    return eachText(call.rows, call.rows * 20, [&](size_t row, TextBuilder& out) {
        const double value = values[row];
        if (!std::isfinite(value)) return out.append(std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        if (value < 0) {
            // The sign stands right before the first number.
            TextBuilder positive(1);
            writeDuration(-value, largest, smallest, positive);
            out.append('-');
            out.append(std::string_view(positive.chars().data(), positive.chars().size()));
            return;
        }
        writeDuration(value, largest, smallest, out);
    });
}

// -- bar ------------------------------------------------------------------------------------------

TypePtr typeOfBar(const Signature& call) {
    needCount(call, 3, 4);
    for (size_t i = 0; i < call.count(); ++i)
        if (!call.type(i)->isNumber()) illegalArgument(call, i, "a number");
    return types::string();
}

/// Of blocks an eighth wide each.
void writeBar(double value, double least, double greatest, double width, TextBuilder& out) {
    static constexpr std::string_view kParts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    if (std::isnan(value) || value <= least || greatest <= least) return;
    const double eighths =
        value >= greatest ? width * 8 : std::floor((value - least) * width / (greatest - least) * 8 + 1e-9);
    auto count = static_cast<size_t>(eighths);
    for (; count >= 8; count -= 8) out.append("█");
    out.append(kParts[count]);
}

ColumnPtr runBar(const Call& call) {
    const DoubleArgument values(call.column(0), call.argumentType(0));
    const DoubleArgument least(call.column(1), call.argumentType(1));
    const DoubleArgument greatest(call.column(2), call.argumentType(2));
    std::optional<DoubleArgument> widths;
    if (call.count() == 4) widths.emplace(call.column(3), call.argumentType(3));
    return eachText(call.rows, call.rows * 40, [&](size_t row, TextBuilder& out) {
        const double width = widths ? (*widths)[row] : 80;
        if (width < 1) throw Error(ErrorCode::ARGUMENT_OUT_OF_BOUND, "Argument 4 (max_width) must be >= 1");
        if (width > 1000)
            throw Error(ErrorCode::ARGUMENT_OUT_OF_BOUND, "Argument 4 (max_width) must be <= 1000");
        writeBar(values[row], least[row], greatest[row], width, out);
    });
}

}  // namespace

std::span<const FunctionInfo> readableFunctions() {
    static const FunctionInfo kList[] = {
        define<"formatReadableSize", typeOfReadable, runReadable<1024, kBinaryUnits>>(
            "formatReadableSize(bytes)", "A size in units of 1024.", "formatReadableSize(1536)", "1.50 KiB"),
        define<"formatReadableDecimalSize", typeOfReadable, runReadable<1000, kDecimalUnits>>(
            "formatReadableDecimalSize(bytes)", "A size in units of 1000.", "formatReadableDecimalSize(1500)",
            "1.50 KB"),
        define<"formatReadableQuantity", typeOfReadable, runReadable<1000, kQuantities>>(
            "formatReadableQuantity(n)", "A number with a word.", "formatReadableQuantity(1234)",
            "1.23 thousand"),
        define<"formatReadableTimeDelta", typeOfDuration, runDuration, kMayThrow, 6>(
            "formatReadableTimeDelta(seconds[, largest unit[, smallest unit]])", "A duration in words.",
            "formatReadableTimeDelta(61)", "1 minute and 1 second"),
        define<"bar", typeOfBar, runBar, kMayThrow>("bar(x, least, greatest[, width])",
                                                    "A bar as long as x is great.", "bar(5, 0, 10, 4)", "██"),
    };
    return kList;
}

}  // namespace shardd::functions
