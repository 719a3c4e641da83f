#pragma once

namespace shardd::protocol {

/// What shardd calls itself towards another shardd, as client and as server: everybody else is told "ClickHouse". A server that
/// answers with this name knows our own settings (config/own_settings_list.inc) and tells of its groups.
inline constexpr const char* kOwnName = "shardd";

}  // namespace shardd::protocol
