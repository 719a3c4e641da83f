#pragma once

#include <cstdint>
#include <optional>

#include "common/base/writer.h"
#include "common/types/time_zone.h"
#include "server/formats/text_input.h"

/// Dates and times as text and back, as ClickHouse writes and reads them.
namespace shardd::formats {

/// Bounds of Date32, and of what dates are clamped to: 1900-01-01 and 2299-12-31, in days.
constexpr int32_t kFirstDate32 = -25567;
constexpr int32_t kLastDate32 = 120529;

/// "2024-02-29".
void writeDate(int32_t days, Writer& out);
/// "2024-02-29 12:34:56".
void writeDateTime(int64_t moment, const TimeZone& zone, Writer& out);
/// With `scale` digits of a second; `value` counts 10^-scale seconds.
void writeDateTime64(int64_t value, unsigned scale, const TimeZone& zone, Writer& out);
/// "12:34:56", "-999:59:59".
void writeTime(int64_t seconds, Writer& out);
void writeTime64(int64_t value, unsigned scale, Writer& out);

/// YYYY-MM-DD with any delimiters and one-digit months and days, or YYYYMMDD. Days since 1970-01-01, not
/// clamped; an impossible month or day sets `valid` to false. Code: CANNOT_PARSE_DATE.
TextResult readDate(TextInput& in, int32_t& days, bool& valid);

/// What a text says of a moment.
struct ParsedMoment {
    int64_t seconds = 0;       // since the epoch
    uint32_t nanoseconds = 0;  // beyond those seconds
};

enum class DateOrder : uint8_t { DayFirst, MonthFirst };

/// Nearly every way that people write moments: ISO, RFC 822, unix timestamps, 5/6/2024 …; missing parts are
/// taken from the current year. Code: CANNOT_PARSE_DATETIME. Source: ClickHouse's documentation of
/// parseDateTimeBestEffort.
TextResult readMomentBestEffort(TextInput& in,
                                const TimeZone& zone,
                                ParsedMoment& moment,
                                DateOrder order = DateOrder::DayFirst,
                                bool with_fraction = false);

/// As a cast and an INSERT read a moment: "YYYY-MM-DD hh:mm:ss" (a day that the month does not have counts
/// on), else best effort. Code: CANNOT_PARSE_DATETIME.
TextResult readMoment(TextInput& in, const TimeZone& zone, ParsedMoment& moment, bool with_fraction);

/// One form only: "YYYY-MM-DD hh:mm:ss" with any delimiters (or the date alone), or a unix timestamp of five
/// digits and more. An impossible date is 1970. `ticks` gets a timestamp that is so great that it must count
/// ticks of its scale. Code: CANNOT_PARSE_DATETIME.
TextResult readMomentPlain(TextInput& in,
                           const TimeZone& zone,
                           ParsedMoment& moment,
                           std::optional<int64_t>& ticks,
                           bool with_fraction);

/// "12:34:56", hours up to 999; "12:34" is minutes and seconds. `fraction` gets nanoseconds when asked for.
/// Code: CANNOT_PARSE_DATETIME.
TextResult readTime(TextInput& in, int64_t& seconds, uint32_t* nanoseconds, bool& negative);

}  // namespace shardd::formats
