#pragma once

#include "common/columns/column.h"
#include "common/types/type.h"
#include "server/formats/value_text.h"
#include "server/functions/function.h"

/// The parts of castColumn(), one file a kind of types. All take full columns without NULLs and dictionaries.
namespace shardd::functions {

/// How a value that its target cannot hold is met.
struct ConvertRules {
    /// Refuse values that change; otherwise integers wrap, fractions are cut off.
    bool accurate = false;
    /// Rows that cannot be converted get 1 here and a default value; without it they throw.
    Mask* bad = nullptr;
    /// Moments in text have one form only, or are unix timestamps; no best effort.
    bool plain_moments = false;
    formats::TextSettings text = {};
    /// Names the function in errors.
    std::string_view function = "CAST";

    explicit ConvertRules(const FunctionContext& context) : text{&TimeZone::get(context.time_zone)} {}
};

/// Integers, floats, Bool, Enums as numbers, Decimals among each other.
/// Errors: CANNOT_CONVERT_TYPE (NaN to an integer, or anything that changes when accurate), DECIMAL_OVERFLOW.
ColumnPtr convertNumbers(const ColumnPtr& column,
                         const Type& from,
                         const Type& to,
                         const ConvertRules& rules);
bool canConvertNumbers(const Type& from, const Type& to);

/// Dates and times among each other and with numbers.
ColumnPtr convertTimes(const ColumnPtr& column, const Type& from, const Type& to, const ConvertRules& rules);
bool canConvertTimes(const Type& from, const Type& to);

/// Text to a value of any type that is no Array, Tuple or Map; the errors of the type's reader.
ColumnPtr parseColumn(const ColumnPtr& column,
                      const TypePtr& from,
                      const TypePtr& to,
                      const ConvertRules& rules);

/// Values of any type as text.
ColumnPtr printColumn(const ColumnPtr& column, const TypePtr& from, const ConvertRules& rules);

/// Marks the row, or throws `code` with the text.
template <typename... Args>
void refuseRow(const ConvertRules& rules,
               size_t row,
               ErrorCode code,
               fmt::format_string<Args...> format,
               Args&&... args) {
    if (!rules.bad) throw Error(code, format, std::forward<Args>(args)...);
    (*rules.bad)[row] = 1;
}

}  // namespace shardd::functions
