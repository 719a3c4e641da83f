#include <algorithm>
#include <deque>

#include "common/columns/fixed_column.h"
#include "common/columns/nullable_column.h"
#include "server/formats/time_text.h"
#include "server/formats/value_text.h"
#include "server/functions/definition.h"
#include "server/functions/simple_function.h"

/// parseDateTimeBestEffort() and its kin.
namespace shardd::functions {

namespace {

enum class OnBadText : uint8_t { Throw, Null, Zero };

struct Variant {
    std::string_view name;
    formats::DateOrder order;
    bool ticks;  // DateTime64
    OnBadText on_bad;
};

constexpr Variant kVariants[] = {
#define ALL(name, order, ticks)                                               \
    {name, formats::DateOrder::order, ticks, OnBadText::Throw},               \
        {name "OrNull", formats::DateOrder::order, ticks, OnBadText::Null}, { \
        name "OrZero", formats::DateOrder::order, ticks, OnBadText::Zero      \
    }
    ALL("parseDateTimeBestEffort", DayFirst, false),      ALL("parseDateTimeBestEffortUS", MonthFirst, false),
    ALL("parseDateTime32BestEffort", DayFirst, false),    ALL("parseDateTime64BestEffort", DayFirst, true),
    ALL("parseDateTime64BestEffortUS", MonthFirst, true),
#undef ALL
};

class ParseBestEffort final : public SimpleFunction {
public:
    ParseBestEffort(const Variant& variant, std::shared_ptr<const FunctionContext> context)
        : SimpleFunction(std::string(variant.name),
                         Traits{.may_throw = variant.on_bad == OnBadText::Throw, .sees_constants = true}),
          variant_(variant),
          context_(context ? std::move(context) : std::make_shared<FunctionContext>()) {}

    TypePtr resultType(Arguments arguments) const override {
        checkArgumentCount(name_, arguments, 1, variant_.ticks ? 3 : 2);
        if (!arguments[0].type->isString()) failArgumentType(name_, arguments, 0);
        const size_t zone_at = variant_.ticks ? 2 : 1;
        const std::string zone =
            arguments.size() > zone_at ? constantText(name_, arguments, zone_at) : std::string();
        if (!zone.empty()) TimeZone::get(zone);
        TypePtr type = variant_.ticks ? types::dateTime64(scaleOf(arguments), zone) : types::dateTime(zone);
        return variant_.on_bad == OnBadText::Null ? types::nullable(type) : type;
    }

    ColumnPtr execute(Arguments arguments, const TypePtr& result_type, size_t rows) const override {
        const TypePtr type = removeNullable(result_type);
        const TextArgument texts(arguments[0].column);
        const TimeZone& zone =
            TimeZone::get(type->timeZone().empty() ? context_->time_zone : type->timeZone());
        Mask bad(rows, 0);
        ColumnPtr values =
            variant_.ticks ? parseTicks(texts, *type, zone, rows, bad) : parseSeconds(texts, zone, rows, bad);
        return variant_.on_bad == OnBadText::Null
                   ? std::make_shared<NullableColumn>(std::move(values), std::move(bad))
                   : values;
    }

private:
    unsigned scaleOf(Arguments arguments) const {
        if (arguments.size() < 2) return 3;
        const auto scale = constantValue(arguments[1]);
        if (!scale)
            throw Error(ErrorCode::ILLEGAL_COLUMN, "Scale argument of function {} must be a constant", name_);
        if (!arguments[1].type->isInteger()) failArgumentType(name_, arguments, 1);
        return static_cast<unsigned>(std::min<uint64_t>(scale->to<uint64_t>(), 100));
    }

    bool parse(std::string_view text, const TimeZone& zone, formats::ParsedMoment& moment) const {
        formats::TextInput in(text);
        const formats::TextResult result =
            formats::readMomentBestEffort(in, zone, moment, variant_.order, variant_.ticks);
        if (result == ErrorCode::OK && in.atEnd()) return true;
        if (variant_.on_bad == OnBadText::Throw)
            formats::failText(result, text, static_cast<size_t>(in.position - text.data()),
                              variant_.ticks ? "DateTime64" : "DateTime");
        return false;
    }

    ColumnPtr parseSeconds(const TextArgument& texts, const TimeZone& zone, size_t rows, Mask& bad) const {
        return eachRow<uint32_t>(rows, [&](size_t i) {
            formats::ParsedMoment moment;
            if (parse(texts[i], zone, moment))
                return static_cast<uint32_t>(std::clamp<int64_t>(moment.seconds, 0, UINT32_MAX));
            bad[i] = 1;
            return uint32_t{0};
        });
    }

    ColumnPtr parseTicks(
        const TextArgument& texts, const Type& type, const TimeZone& zone, size_t rows, Mask& bad) const {
        int64_t unit = 1;
        for (unsigned i = 0; i < type.scale(); ++i) unit *= 10;
        return eachRow<int64_t>(rows, [&](size_t i) {
            formats::ParsedMoment moment;
            if (parse(texts[i], zone, moment))
                return moment.seconds * unit + moment.nanoseconds / (1000000000 / unit);
            bad[i] = 1;
            return int64_t{0};
        });
    }

    Variant variant_;
    std::shared_ptr<const FunctionContext> context_;
};

template <size_t kIndex>
FunctionPtr createVariant(const std::shared_ptr<const FunctionContext>& context) {
    return std::make_shared<ParseBestEffort>(kVariants[kIndex], context);
}

template <size_t... kIndexes>
std::vector<FunctionInfo> listVariants(std::index_sequence<kIndexes...>) {
    return {FunctionInfo{.name = kVariants[kIndexes].name,
                         .create = createVariant<kIndexes>,
                         .syntax = "parseDateTimeBestEffort(text[, scale][, zone])",
                         .description = "A moment written in nearly any way."}...};
}

}  // namespace

std::span<const FunctionInfo> parseMomentFunctions() {
    static const std::vector<FunctionInfo> list =
        listVariants(std::make_index_sequence<std::size(kVariants)>());
    return list;
}

}  // namespace shardd::functions
