#include <ctime>
#include <iterator>

#include "server/formats/time_text.h"

/// Moments as people write them.
namespace shardd::formats {

namespace {

constexpr std::string_view kMonths[] = {"jan", "feb", "mar", "apr", "may", "jun",
                                        "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::string_view kWeekDays[] = {"mon", "tue", "wed", "thu", "fri", "sat", "sun"};

constexpr TextResult kFailed = ErrorCode::CANNOT_PARSE_DATETIME;

unsigned number(const char* digits, unsigned count) {
    unsigned result = 0;
    for (unsigned i = 0; i < count; ++i) result = result * 10 + static_cast<unsigned>(digits[i] - '0');
    return result;
}

/// One run over a text; the parts found so far.
class BestEffort {
public:
    BestEffort(TextInput& in, const TimeZone& zone, DateOrder order, bool with_fraction)
        : in_(in), zone_(zone), order_(order), with_fraction_(with_fraction) {}

    TextResult run(ParsedMoment& moment);

private:
    enum class Step : uint8_t { Continue, Done, Failed };

    unsigned takeDigits(char* digits, unsigned most);
    Step takeNumber();
    Step takeTimestamp(const char* digits, unsigned count);
    bool takeAfterYear();
    bool takeShortNumber(unsigned first, unsigned count);
    bool takeClock(unsigned hour);
    bool takeDayMonth(unsigned first);
    void takeFraction();
    bool takeOffset();
    bool takeWord();
    TextResult finish(ParsedMoment& moment);

    bool swapsFirst() const { return order_ == DateOrder::MonthFirst; }

    TextInput& in_;
    const TimeZone& zone_;
    DateOrder order_;
    bool with_fraction_;
    unsigned year_ = 0;
    unsigned month_ = 0;
    unsigned day_ = 0;
    unsigned hour_ = 0;
    unsigned minute_ = 0;
    unsigned second_ = 0;
    uint32_t nanoseconds_ = 0;
    bool has_time_ = false;
    bool has_offset_ = false;
    int offset_seconds_ = 0;
    bool is_am_ = false;
    bool is_pm_ = false;
    ParsedMoment stamp_;
};

unsigned BestEffort::takeDigits(char* digits, unsigned most) {
    unsigned count = 0;
    while (count < most && isDigit(in_.peek())) digits[count++] = *in_.position++;
    return count;
}

TextResult BestEffort::run(ParsedMoment& moment) {
    while (!in_.atEnd()) {
        if ((year_ != 0) != has_time_ && in_.skip('T')) continue;
        if (isDigit(in_.peek())) {
            if (year_ != 0 && has_time_) break;  // the caller finds the rest unread
            switch (takeNumber()) {
                case Step::Continue:
                    continue;
                case Step::Done:
                    moment = stamp_;
                    return ErrorCode::OK;
                case Step::Failed:
                    return kFailed;
            }
        }
        const char c = in_.peek();
        if (c == ' ' || c == ',' || (c == 'T' && !isLetter(in_.peek(1)))) {
            ++in_.position;
        } else if (c == 'Z') {
            ++in_.position;
            has_offset_ = true;
        } else if (c == '.') {
            return kFailed;
        } else if (c == '+' || c == '-') {
            if (!takeOffset()) return kFailed;
        } else if (isLetter(c)) {
            if (!takeWord()) return kFailed;
        } else {
            return kFailed;
        }
    }
    return finish(moment);
}

BestEffort::Step BestEffort::takeTimestamp(const char* digits, unsigned count) {
    int64_t value = 0;
    for (unsigned i = 0; i < count; ++i) value = value * 10 + (digits[i] - '0');
    stamp_.seconds = value;
    if (count > 10) {
        const unsigned extra = count - 10;
        int64_t unit = 1;
        for (unsigned i = 0; i < extra; ++i) unit *= 10;
        stamp_.seconds = value / unit;
        stamp_.nanoseconds = static_cast<uint32_t>(value % unit * (1000000000 / unit));
    } else if (with_fraction_ && in_.peek() == '.' && isDigit(in_.peek(1))) {
        takeFraction();
        stamp_.nanoseconds = nanoseconds_;
    }
    return Step::Done;
}

BestEffort::Step BestEffort::takeNumber() {
    char digits[20];
    const unsigned count = takeDigits(digits, sizeof(digits));
    const bool nothing_yet = year_ == 0 && !has_time_;
    switch (count) {
        case 9:
        case 10:
        case 13:
        case 16:
        case 19:
            if (!nothing_yet) return Step::Failed;
            return takeTimestamp(digits, count);
        case 14:
            if (!nothing_yet) return Step::Failed;
            hour_ = number(digits + 8, 2);
            minute_ = number(digits + 10, 2);
            second_ = number(digits + 12, 2);
            has_time_ = true;
            if (in_.peek() == '.') takeFraction();
            [[fallthrough]];
        case 8:
            if (year_ != 0) return Step::Failed;
            year_ = number(digits, 4);
            month_ = number(digits + 4, 2);
            day_ = number(digits + 6, 2);
            return Step::Continue;
        case 6:
            if (year_ == 0 && month_ == 0) {
                year_ = number(digits, 4);
                month_ = number(digits + 4, 2);
            } else if (!has_time_) {
                hour_ = number(digits, 2);
                minute_ = number(digits + 2, 2);
                second_ = number(digits + 4, 2);
                has_time_ = true;
                if (in_.peek() == '.') takeFraction();
            } else {
                return Step::Failed;
            }
            return Step::Continue;
        case 4:
            if (year_ != 0) return Step::Failed;
            year_ = number(digits, 4);
            return takeAfterYear() ? Step::Continue : Step::Failed;
        case 1:
        case 2:
            return takeShortNumber(number(digits, count), count) ? Step::Continue : Step::Failed;
        default:
            return Step::Failed;
    }
}

/// Behind YYYY: -MM and -DD with the same delimiter. A space may also stand before a month's name or the
/// time.
bool BestEffort::takeAfterYear() {
    if (in_.atEnd() || month_ != 0) return true;
    const char delimiter = in_.peek();
    if (isDigit(delimiter) || isLetter(delimiter)) return true;
    ++in_.position;
    char digits[20];
    const unsigned month_digits = takeDigits(digits, sizeof(digits));
    if (month_digits == 0 && delimiter == ' ') return true;
    if (month_digits != 1 && month_digits != 2) return false;
    month_ = number(digits, month_digits);
    if (in_.atEnd() || in_.peek() != delimiter) return true;
    ++in_.position;
    const unsigned day_digits = takeDigits(digits, sizeof(digits));
    if (day_digits != 1 && day_digits != 2) return false;
    day_ = number(digits, day_digits);
    return true;
}

/// One or two digits: a clock, a day with a month, a day alone, or an hour.
bool BestEffort::takeShortNumber(unsigned first, unsigned) {
    const char delimiter = in_.peek();
    if (delimiter == ':' && !in_.atEnd()) return takeClock(first);
    const bool date_delimiter = delimiter == '/' || delimiter == '.' || delimiter == '-';
    if (date_delimiter && !in_.atEnd() && day_ == 0) return takeDayMonth(first);
    if (day_ != 0) {
        if (has_time_) return false;
        hour_ = first;
        has_time_ = true;
        return true;
    }
    day_ = first;
    return true;
}

/// hh has been read and a colon follows.
bool BestEffort::takeClock(unsigned hour) {
    if (has_time_) return false;
    hour_ = hour;
    has_time_ = true;
    char digits[20];
    ++in_.position;
    unsigned count = takeDigits(digits, sizeof(digits));
    if (count != 1 && count != 2) return false;
    minute_ = number(digits, count);
    if (in_.skip(':')) {
        count = takeDigits(digits, sizeof(digits));
        if (count != 1 && count != 2) return false;
        second_ = number(digits, count);
    }
    if (in_.peek() == '.') takeFraction();
    return true;
}

/// DD has been read and / . or - follows: MM or a month's name, and perhaps a year.
bool BestEffort::takeDayMonth(unsigned first) {
    const char delimiter = *in_.position++;
    char digits[20];
    unsigned count = takeDigits(digits, sizeof(digits));
    day_ = first;
    if (count == 1 || count == 2) {
        month_ = number(digits, count);
        if (swapsFirst()) std::swap(day_, month_);
        if (month_ > 12) std::swap(day_, month_);
    } else if (count == 0 && isLetter(in_.peek())) {
        if (!takeWord() || month_ == 0) return false;
    } else {
        return false;
    }
    if (in_.atEnd() || in_.peek() != delimiter) return true;
    ++in_.position;
    count = takeDigits(digits, sizeof(digits));
    if (count == 4)
        year_ = number(digits, 4);
    else if (count == 2 || count == 1)
        year_ = number(digits, count) + (count == 2 && number(digits, count) >= 70 ? 1900 : 2000);
    else
        return false;
    return true;
}

void BestEffort::takeFraction() {
    ++in_.position;
    uint32_t value = 0;
    unsigned digits = 0;
    for (; isDigit(in_.peek()); ++in_.position, ++digits)
        if (digits < 9) value = value * 10 + static_cast<uint32_t>(in_.peek() - '0');
    for (; digits < 9; ++digits) value *= 10;
    nanoseconds_ = value;
}

bool BestEffort::takeOffset() {
    const bool negative = *in_.position++ == '-';
    char digits[20];
    const unsigned count = takeDigits(digits, sizeof(digits));
    unsigned hours = 0;
    unsigned minutes = 0;
    if (count == 4 || count == 3) {
        hours = number(digits, count - 2);
        minutes = number(digits + count - 2, 2);
    } else if (count == 1 || count == 2) {
        hours = number(digits, count);
        if (in_.skip(':')) {
            if (takeDigits(digits, sizeof(digits)) != 2) return false;
            minutes = number(digits, 2);
        }
    } else {
        return false;
    }
    has_offset_ = true;
    offset_seconds_ = static_cast<int>(hours * 3600 + minutes * 60) * (negative ? -1 : 1);
    return true;
}

bool BestEffort::takeWord() {
    char word[4] = {0, 0, 0, 0};
    unsigned count = 0;
    while (count < 3 && isLetter(in_.peek())) word[count++] = toLower(*in_.position++);
    const std::string_view text(word, count);
    if (count == 2 && (text == "am" || text == "pm")) {
        (text == "am" ? is_am_ : is_pm_) = true;
        return true;
    }
    if (count < 3) return false;
    bool known = false;
    for (unsigned i = 0; i < 12; ++i) {
        if (kMonths[i] != text) continue;
        month_ = i + 1;
        known = true;
    }
    for (const std::string_view day : kWeekDays) known |= day == text;
    if (text == "utc" || text == "gmt" || text == "msk" || text == "msd") {
        has_offset_ = known = true;
        offset_seconds_ = text == "msk" ? 3 * 3600 : text == "msd" ? 4 * 3600 : 0;
    }
    while (isLetter(in_.peek())) ++in_.position;
    return known;
}

TextResult BestEffort::finish(ParsedMoment& moment) {
    if (year_ == 0 && month_ == 0 && day_ == 0 && !has_time_) return kFailed;
    const std::time_t now = std::time(nullptr);
    if (day_ == 0) day_ = 1;
    if (month_ == 0) month_ = 1;
    if (year_ == 0) {
        // The latest such day that is not in the future.
        const CivilDate today = civilFromDays(zone_.localTime(now).days);
        year_ = static_cast<unsigned>(today.year);
        if (month_ > today.month || (month_ == today.month && day_ > today.day)) --year_;
    }
    if (month_ > 12 || day_ > daysInMonth(static_cast<int32_t>(year_), month_)) return kFailed;
    if (is_am_ && hour_ == 12) hour_ = 0;
    if (is_pm_ && hour_ < 12) hour_ += 12;
    const TimeZone& zone = has_offset_ ? TimeZone::utc() : zone_;
    moment.seconds =
        zone.moment(static_cast<int32_t>(year_), month_, day_, hour_, minute_, second_) - offset_seconds_;
    moment.nanoseconds = nanoseconds_;
    return ErrorCode::OK;
}

}  // namespace

TextResult readMomentBestEffort(
    TextInput& in, const TimeZone& zone, ParsedMoment& moment, DateOrder order, bool with_fraction) {
    return BestEffort(in, zone, order, with_fraction).run(moment);
}

}  // namespace shardd::formats
