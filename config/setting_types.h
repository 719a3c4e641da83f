#pragma once

#include <chrono>
#include <cstdint>
#include <string>

/// The C++ types of the settings, under the names that system.settings shows in its column `type`.
namespace shardd::setting_types {

using Bool = bool;
using UInt64 = uint64_t;
using NonZeroUInt64 = uint64_t;
using Int64 = int64_t;
using Int32 = int32_t;
using Float = float;
using Double = double;
using String = std::string;
using URI = std::string;
using Timezone = std::string;
using Map = std::string;  ///< kept as ClickHouse's text of a map
using Char = char;
using Seconds = std::chrono::microseconds;  ///< written in seconds, kept with six decimals
using Milliseconds = std::chrono::milliseconds;

/// A number that may also say "auto"; `value` then holds what was found to fit, else 0.
template <typename T>
struct Auto {
    T value = 0;
    bool is_auto = true;

    operator T() const { return value; }  // NOLINT(google-explicit-constructor): it is the number
};

using UInt64Auto = Auto<uint64_t>;
using FloatAuto = Auto<float>;
using BoolAuto = Auto<bool>;

/// Text "auto(8)"; `value` is always the number of threads to use.
struct MaxThreads {
    uint64_t value = 0;
    bool is_auto = true;

    operator uint64_t() const { return value; }  // NOLINT(google-explicit-constructor): it is the number
};

#define MEMBER(cpp_name, text) cpp_name,
#define SETTING_ENUM(type, error_code, ...) enum class type : uint8_t { __VA_ARGS__ };
#define SETTING_ENUM_LIST(type, error_code, ...) using type = std::string;
#include "config/setting_enums.inc"
#undef SETTING_ENUM_LIST
#undef SETTING_ENUM
#undef MEMBER

}  // namespace shardd::setting_types
