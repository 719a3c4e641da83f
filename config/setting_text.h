#pragma once

#include <string>
#include <string_view>

#include "config/settings.h"

namespace shardd {

/// How the values of a setting are read and written; what differs between enums is in SettingEnumInfo.
enum class SettingKind : uint8_t {
    Bool,
    UInt64,
    NonZeroUInt64,
    Int64,
    Int32,
    Float,
    Double,
    String,
    URI,
    Timezone,
    Map,
    Char,
    Seconds,
    Milliseconds,
    MaxThreads,
    UInt64Auto,
    FloatAuto,
    BoolAuto,
    Enum,
    EnumList,
};

struct SettingEnumInfo {
    std::string_view type;
    int error_code;
    std::vector<std::string_view> members;
};

/// What reading and writing needs to know of one setting.
struct SettingFormat {
    SettingKind kind;
    const SettingEnumInfo* enum_info;  ///< for Enum and EnumList, else null
};

SettingFormat settingFormat(std::string_view type);

/// Reads `text` or `literal` into `field`, which is of the C++ type of the setting's type.
/// Errors: ClickHouse's code and text for a value it cannot take.
void readSetting(const SettingFormat& format, std::string_view text, void* field);
void readSettingLiteral(const SettingFormat& format, const SettingLiteral& literal, void* field);

std::string printSetting(const SettingFormat& format, const void* field);

/// The field as a number for comparing, or nothing for texts and enums.
bool settingAsNumber(const SettingFormat& format, const void* field, long double& number);

}  // namespace shardd
