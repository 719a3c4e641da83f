#pragma once

#include <vector>

#include "common/base/reader.h"
#include "common/base/writer.h"
#include "common/protocol/packet_codec.h"
#include "common/protocol/packets.h"

namespace shardd::protocol {

/// The list of settings of a Query, in its two encodings. An empty name ends either.

/// (name, flags, value as text): revisions from gate::kSettingsAsText, and parameters at any revision.
void encodeTextSettings(const std::vector<SettingChange>& settings, Writer& out);
std::vector<SettingChange> decodeTextSettings(Reader& in, const DecodeLimits& limits);

/// (name, value in the setting's own binary form): older revisions. The form is not told on the wire, so only
/// the settings of the table in settings_codec.cpp can be read. Errors: decoding an unknown name is
/// UNKNOWN_SETTING (115); encoding leaves unknown names out, since an old peer would refuse them.
void encodeBinarySettings(const std::vector<SettingChange>& settings, Writer& out);
std::vector<SettingChange> decodeBinarySettings(Reader& in, const DecodeLimits& limits);

}  // namespace shardd::protocol
