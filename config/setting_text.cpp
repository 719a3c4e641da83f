#include "config/setting_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <thread>

#include <sys/stat.h>

#include "common/base/error.h"

namespace shardd {

using namespace setting_types;

namespace {

const std::vector<SettingEnumInfo>& enumList() {
#define MEMBER(cpp_name, text) std::string_view(text),
#define SETTING_ENUM(type, error_code, ...) \
    SettingEnumInfo{#type, static_cast<int>(ErrorCode::error_code), {__VA_ARGS__}},
#define SETTING_ENUM_LIST(type, error_code, ...) SETTING_ENUM(type, error_code, __VA_ARGS__)
    static const std::vector<SettingEnumInfo> list{
#include "config/setting_enums.inc"
    };
#undef SETTING_ENUM_LIST
#undef SETTING_ENUM
#undef MEMBER
    return list;
}

[[noreturn]] void notAtEnd(std::string_view rest) {
    throw Error(ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED,
                "Cannot parse input: expected 'eof' before: '{}'", rest);
}

uint64_t suffixFactor(std::string_view& rest) {
    if (rest.empty()) return 1;
    int power = 0;
    switch (rest[0]) {
        case 'k':
        case 'K':
            power = 1;
            break;
        case 'm':
        case 'M':
            power = 2;
            break;
        case 'g':
        case 'G':
            power = 3;
            break;
        case 't':
        case 'T':
            power = 4;
            break;
        default:
            return 1;
    }
    rest.remove_prefix(1);
    uint64_t base = 1000;
    if (!rest.empty() && rest[0] == 'i') {
        base = 1024;
        rest.remove_prefix(1);
    }
    uint64_t factor = 1;
    for (int i = 0; i < power; ++i) factor *= base;
    return factor;
}

// As ClickHouse reads it: too large a number wraps round, and a suffix multiplies.
uint64_t readInteger(std::string_view text, bool is_signed) {
    if (text.empty()) throw Error(ErrorCode::ATTEMPT_TO_READ_AFTER_EOF, "Attempt to read after eof");
    std::string_view rest = text;
    bool negative = false;
    if (rest[0] == '-' || rest[0] == '+') {
        if (rest[0] == '-' && !is_signed)
            throw Error(ErrorCode::CANNOT_PARSE_NUMBER, "Unsigned type must not contain '-' symbol");
        negative = rest[0] == '-';
        rest.remove_prefix(1);
        if (rest.empty()) notAtEnd(text);
    }
    uint64_t number = 0;
    while (!rest.empty() && rest[0] >= '0' && rest[0] <= '9') {
        number = number * 10 + static_cast<uint64_t>(rest[0] - '0');
        rest.remove_prefix(1);
    }
    number *= rest.size() == text.size() ? 1 : suffixFactor(rest);
    if (!rest.empty()) notAtEnd(rest);
    return negative ? 0 - number : number;
}

template <typename T>
T finite(T number) {
    if (!std::isfinite(number)) {
        const char* shown = std::isnan(number) ? "nan" : number < 0 ? "-inf" : "inf";
        throw Error(ErrorCode::CANNOT_PARSE_NUMBER, "Float setting value must be finite, got {}", shown);
    }
    return number;
}

template <typename T>
T readFloat(std::string_view text) {
    double number = 0;
    std::string_view digits = text;
    if (!digits.empty() && digits[0] == '+') digits.remove_prefix(1);
    const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (status == std::errc::invalid_argument)
        throw Error(ErrorCode::CANNOT_PARSE_NUMBER, "Cannot read floating point value here: {}", text);
    if (status == std::errc::result_out_of_range) number = std::numeric_limits<double>::infinity();
    const auto rest = std::string_view(end, static_cast<size_t>(digits.data() + digits.size() - end));
    if (!rest.empty()) notAtEnd(rest);
    return finite(static_cast<T>(number));
}

bool readBool(std::string_view text) {
    const auto same = [text](std::string_view word) {
        return std::equal(text.begin(), text.end(), word.begin(), word.end(),
                          [](char a, char b) { return (a | 0x20) == b; });
    };
    if (text == "1" || same("true")) return true;
    if (text == "0" || same("false")) return false;
    throw Error(ErrorCode::CANNOT_PARSE_BOOL, "Cannot parse bool from string '{}'", text);
}

Seconds toSeconds(double seconds) {
    constexpr double kLimit = 9.2e12;  // microseconds that an int64 holds
    return Seconds(static_cast<int64_t>(std::clamp(seconds, -kLimit, kLimit) * 1e6));
}

uint64_t automaticThreads() { return std::max(1U, std::thread::hardware_concurrency()); }

MaxThreads toMaxThreads(uint64_t threads) {
    return threads == 0 ? MaxThreads{automaticThreads(), true} : MaxThreads{threads, false};
}

template <typename T>
Auto<T> given(T value) {
    return Auto<T>{value, false};
}

[[noreturn]] void unexpectedMember(const SettingEnumInfo& info, std::string_view text) {
    std::string members;
    for (const auto member : info.members)
        members += fmt::format("{}'{}'", members.empty() ? "" : ", ", member);
    throw Error::foreign(info.error_code, fmt::format("Unexpected value of {}: '{}'. Must be one of [{}]",
                                                      info.type, text, members));
}

uint8_t readEnum(const SettingEnumInfo& info, std::string_view text) {
    const auto found = std::find(info.members.begin(), info.members.end(), text);
    if (found == info.members.end()) unexpectedMember(info, text);
    return static_cast<uint8_t>(found - info.members.begin());
}

std::string readEnumList(const SettingEnumInfo& info, std::string_view text) {
    std::string joined;
    while (!text.empty()) {
        const size_t comma = std::min(text.find(','), text.size());
        std::string_view word = text.substr(0, comma);
        text.remove_prefix(std::min(comma + 1, text.size()));
        while (!word.empty() && word.front() == ' ') word.remove_prefix(1);
        while (!word.empty() && word.back() == ' ') word.remove_suffix(1);
        if (word.empty()) continue;
        joined += fmt::format("{}{}", joined.empty() ? "" : ",", info.members[readEnum(info, word)]);
    }
    return joined;
}

std::string readTimezone(std::string_view text) {
    struct stat status {};

    const bool plain = text.find("..") == std::string_view::npos && text.find('\0') == std::string_view::npos;
    if (text.empty() || text == "UTC") return std::string(text);
    const std::string path = fmt::format("/usr/share/zoneinfo/{}", text);
    if (!plain || text[0] == '/' || ::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode))
        throw Error(ErrorCode::BAD_ARGUMENTS, "Invalid time zone: {}", text);
    return std::string(text);
}

std::string readMap(std::string_view text) {
    if (text.empty()) return "{}";
    if (text[0] != '{')
        throw Error(ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED,
                    "Cannot parse input: expected '{{' before: '{}'", text);
    return std::string(text);
}

char readChar(std::string_view text) {
    if (text.size() > 1)
        throw Error(ErrorCode::SIZE_OF_FIXED_STRING_DOESNT_MATCH,
                    "A setting's value string has to be an exactly one character long");
    return text.empty() ? '\0' : text[0];
}

uint64_t nonZero(uint64_t number) {
    if (number == 0) throw Error(ErrorCode::BAD_ARGUMENTS, "A setting's value has to be greater than 0");
    return number;
}

template <typename T>
void store(void* field, T value) {
    *static_cast<T*>(field) = std::move(value);
}

// ---- literals

std::string_view literalType(const SettingLiteral& literal) {
    constexpr std::string_view kNames[] = {"Null", "Bool", "UInt64", "Int64", "Float64", "String"};
    return kNames[literal.index()];
}

template <typename T>
constexpr std::string_view kCppName = std::is_same_v<T, bool>       ? "bool"
                                      : std::is_same_v<T, uint64_t> ? "unsigned long"
                                      : std::is_same_v<T, int64_t>  ? "long"
                                                                    : "int";

template <typename To, typename From>
To checkedInteger(From number) {
    if (!std::in_range<To>(number))
        throw Error(ErrorCode::CANNOT_CONVERT_TYPE, "Field value {} is out of range of {} type", number,
                    kCppName<To>);
    return static_cast<To>(number);
}

template <typename To>
To integerFrom(const SettingLiteral& literal) {
    if (const auto* flag = std::get_if<bool>(&literal)) return static_cast<To>(*flag);
    if (const auto* number = std::get_if<uint64_t>(&literal)) return checkedInteger<To>(*number);
    if (const auto* number = std::get_if<int64_t>(&literal)) return checkedInteger<To>(*number);
    const double number = std::get<double>(literal);
    const double low = static_cast<double>(std::numeric_limits<To>::min());
    const double high = std::ldexp(1.0, std::numeric_limits<To>::digits);
    if (!(number >= low && number < high))
        throw Error(ErrorCode::CANNOT_CONVERT_TYPE,
                    "Cannot convert out of range floating point value to integer type");
    return static_cast<To>(number);
}

bool boolFrom(const SettingLiteral& literal) {
    const auto check = [](auto number) {
        if (number != 0 && number != 1)
            throw Error(ErrorCode::CANNOT_CONVERT_TYPE, "Field value {} is out of range of bool type",
                        number);
        return number == 1;
    };
    if (const auto* flag = std::get_if<bool>(&literal)) return *flag;
    if (const auto* number = std::get_if<uint64_t>(&literal)) return check(*number);
    if (const auto* number = std::get_if<int64_t>(&literal)) return check(*number);
    return std::get<double>(literal) != 0;
}

double floatFrom(const SettingLiteral& literal) {
    if (const auto* flag = std::get_if<bool>(&literal)) return *flag ? 1 : 0;
    if (const auto* number = std::get_if<uint64_t>(&literal)) return static_cast<double>(*number);
    if (const auto* number = std::get_if<int64_t>(&literal)) return static_cast<double>(*number);
    return std::get<double>(literal);
}

std::string_view wantedName(SettingKind kind) {
    switch (kind) {
        case SettingKind::Bool:
        case SettingKind::BoolAuto:
            return "bool";
        case SettingKind::Int64:
            return "long";
        case SettingKind::Int32:
            return "int";
        case SettingKind::Float:
        case SettingKind::FloatAuto:
            return "float";
        case SettingKind::Double:
        case SettingKind::Seconds:
            return "double";
        default:
            return "unsigned long";
    }
}

template <typename T>
std::string printFloat(T number) {
    // ClickHouse writes all digits up to 1e21; fmt changes to an exponent at 1e16.
    const double magnitude = std::fabs(static_cast<double>(number));
    if (magnitude >= 1e16 && magnitude < 1e21) return fmt::format("{:.0f}", number);
    return fmt::format("{}", number);
}

std::string printSeconds(Seconds seconds) {
    const int64_t micros = seconds.count();
    const uint64_t magnitude = micros < 0 ? 0 - static_cast<uint64_t>(micros) : static_cast<uint64_t>(micros);
    std::string text = fmt::format("{}{}", micros < 0 ? "-" : "", magnitude / 1000000);
    if (const uint64_t rest = magnitude % 1000000) {
        std::string decimals = fmt::format("{:06}", rest);
        decimals.erase(decimals.find_last_not_of('0') + 1);
        text += "." + decimals;
    }
    return text;
}

}  // namespace

SettingFormat settingFormat(std::string_view type) {
    static constexpr std::pair<std::string_view, SettingKind> kKinds[] = {
        {"Bool", SettingKind::Bool},
        {"UInt64", SettingKind::UInt64},
        {"NonZeroUInt64", SettingKind::NonZeroUInt64},
        {"Int64", SettingKind::Int64},
        {"Int32", SettingKind::Int32},
        {"Float", SettingKind::Float},
        {"Double", SettingKind::Double},
        {"String", SettingKind::String},
        {"URI", SettingKind::URI},
        {"Timezone", SettingKind::Timezone},
        {"Map", SettingKind::Map},
        {"Char", SettingKind::Char},
        {"Seconds", SettingKind::Seconds},
        {"Milliseconds", SettingKind::Milliseconds},
        {"MaxThreads", SettingKind::MaxThreads},
        {"UInt64Auto", SettingKind::UInt64Auto},
        {"FloatAuto", SettingKind::FloatAuto},
        {"BoolAuto", SettingKind::BoolAuto},
        {"JoinAlgorithm", SettingKind::EnumList},
        {"MySQLDataTypesSupport", SettingKind::EnumList},
    };
    SettingFormat format{SettingKind::Enum, nullptr};
    for (const auto& [name, kind] : kKinds)
        if (name == type) format.kind = kind;
    for (const auto& info : enumList())
        if (info.type == type) format.enum_info = &info;
    SHARDD_CHECK(format.enum_info || format.kind < SettingKind::Enum);
    return format;
}

void readSetting(const SettingFormat& format, std::string_view text, void* field) {
    switch (format.kind) {
        case SettingKind::Bool:
            return store(field, readBool(text));
        case SettingKind::UInt64:
            return store(field, readInteger(text, false));
        case SettingKind::NonZeroUInt64:
            return store(field, nonZero(readInteger(text, false)));
        case SettingKind::Int64:
            return store(field, static_cast<int64_t>(readInteger(text, true)));
        case SettingKind::Int32:
            return store(field, static_cast<int32_t>(readInteger(text, true)));
        case SettingKind::Float:
            return store(field, readFloat<float>(text));
        case SettingKind::Double:
            return store(field, readFloat<double>(text));
        case SettingKind::String:
        case SettingKind::URI:
            return store(field, std::string(text));
        case SettingKind::Timezone:
            return store(field, readTimezone(text));
        case SettingKind::Map:
            return store(field, readMap(text));
        case SettingKind::Char:
            return store(field, readChar(text));
        case SettingKind::Seconds:
            return store(field, toSeconds(readFloat<double>(text)));
        case SettingKind::Milliseconds:
            return store(field, Milliseconds(static_cast<int64_t>(readInteger(text, false))));
        case SettingKind::MaxThreads:
            return store(field, toMaxThreads(text.starts_with("auto") ? 0 : readInteger(text, false)));
        case SettingKind::UInt64Auto:
            return store(field, text == "auto" ? UInt64Auto{} : given(readInteger(text, false)));
        case SettingKind::FloatAuto:
            return store(field, text == "auto" ? FloatAuto{} : given(readFloat<float>(text)));
        case SettingKind::BoolAuto:
            return store(field, text == "auto" ? BoolAuto{} : given(readBool(text)));
        case SettingKind::Enum:
            return store(field, readEnum(*format.enum_info, text));
        case SettingKind::EnumList:
            return store(field, readEnumList(*format.enum_info, text));
    }
}

void readSettingLiteral(const SettingFormat& format, const SettingLiteral& literal, void* field) {
    if (const auto* text = std::get_if<std::string>(&literal)) return readSetting(format, *text, field);
    if (std::holds_alternative<std::monostate>(literal))
        throw Error(ErrorCode::CANNOT_CONVERT_TYPE, "Invalid value NULL of the setting, which needs {}",
                    wantedName(format.kind));
    switch (format.kind) {
        case SettingKind::Bool:
            return store(field, boolFrom(literal));
        case SettingKind::UInt64:
            return store(field, integerFrom<uint64_t>(literal));
        case SettingKind::NonZeroUInt64:
            return store(field, nonZero(integerFrom<uint64_t>(literal)));
        case SettingKind::Int64:
            return store(field, integerFrom<int64_t>(literal));
        case SettingKind::Int32:
            return store(field, integerFrom<int32_t>(literal));
        case SettingKind::Float:
            return store(field, finite(static_cast<float>(floatFrom(literal))));
        case SettingKind::Double:
            return store(field, finite(floatFrom(literal)));
        case SettingKind::Seconds:
            return store(field, toSeconds(finite(floatFrom(literal))));
        case SettingKind::Milliseconds:
            return store(field, Milliseconds(static_cast<int64_t>(integerFrom<uint64_t>(literal))));
        case SettingKind::MaxThreads:
            return store(field, toMaxThreads(integerFrom<uint64_t>(literal)));
        case SettingKind::UInt64Auto:
            return store(field, given(integerFrom<uint64_t>(literal)));
        case SettingKind::FloatAuto:
            return store(field, given(finite(static_cast<float>(floatFrom(literal)))));
        case SettingKind::BoolAuto:
            return store(field, given(boolFrom(literal)));
        default:
            throw Error(ErrorCode::BAD_GET, "Bad get: has {}, requested {}", literalType(literal),
                        format.kind == SettingKind::Map ? "Map" : "String");
    }
}

std::string printSetting(const SettingFormat& format, const void* field) {
    const auto as = [field]<typename T>(T*) -> const T& { return *static_cast<const T*>(field); };
    const auto automatic = [](const auto& value) {
        return value.is_auto ? std::string("auto") : fmt::format("{}", value.value + 0);
    };
    switch (format.kind) {
        case SettingKind::Bool:
            return as(static_cast<bool*>(nullptr)) ? "1" : "0";
        case SettingKind::UInt64:
        case SettingKind::NonZeroUInt64:
            return fmt::format("{}", as(static_cast<uint64_t*>(nullptr)));
        case SettingKind::Int64:
            return fmt::format("{}", as(static_cast<int64_t*>(nullptr)));
        case SettingKind::Int32:
            return fmt::format("{}", as(static_cast<int32_t*>(nullptr)));
        case SettingKind::Float:
            return printFloat(as(static_cast<float*>(nullptr)));
        case SettingKind::Double:
            return printFloat(as(static_cast<double*>(nullptr)));
        case SettingKind::Char:
            return std::string(1, as(static_cast<char*>(nullptr)));
        case SettingKind::Seconds:
            return printSeconds(as(static_cast<Seconds*>(nullptr)));
        case SettingKind::Milliseconds:
            return fmt::format("{}", as(static_cast<Milliseconds*>(nullptr)).count());
        case SettingKind::MaxThreads: {
            const auto& threads = as(static_cast<MaxThreads*>(nullptr));
            return threads.is_auto ? fmt::format("auto({})", threads.value)
                                   : fmt::format("{}", threads.value);
        }
        case SettingKind::UInt64Auto:
            return automatic(as(static_cast<UInt64Auto*>(nullptr)));
        case SettingKind::FloatAuto: {
            const auto& number = as(static_cast<FloatAuto*>(nullptr));
            return number.is_auto ? "auto" : printFloat(number.value);
        }
        case SettingKind::BoolAuto:
            return automatic(as(static_cast<BoolAuto*>(nullptr)));
        case SettingKind::Enum:
            return std::string(format.enum_info->members[as(static_cast<uint8_t*>(nullptr))]);
        default:
            return as(static_cast<std::string*>(nullptr));
    }
}

bool settingAsNumber(const SettingFormat& format, const void* field, long double& number) {
    switch (format.kind) {
        case SettingKind::Bool:
            number = *static_cast<const bool*>(field) ? 1 : 0;
            return true;
        case SettingKind::UInt64:
        case SettingKind::NonZeroUInt64:
            number = static_cast<long double>(*static_cast<const uint64_t*>(field));
            return true;
        case SettingKind::Int64:
            number = static_cast<long double>(*static_cast<const int64_t*>(field));
            return true;
        case SettingKind::Int32:
            number = *static_cast<const int32_t*>(field);
            return true;
        case SettingKind::Float:
            number = *static_cast<const float*>(field);
            return true;
        case SettingKind::Double:
            number = *static_cast<const double*>(field);
            return true;
        case SettingKind::Seconds:
            number = static_cast<long double>(static_cast<const Seconds*>(field)->count());
            return true;
        case SettingKind::Milliseconds:
            number = static_cast<long double>(static_cast<const Milliseconds*>(field)->count());
            return true;
        case SettingKind::MaxThreads:
            number = static_cast<long double>(static_cast<const MaxThreads*>(field)->value);
            return true;
        default:
            return false;
    }
}

}  // namespace shardd
