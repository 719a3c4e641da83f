#pragma once

#include <map>
#include <string>
#include <string_view>

#include "config/config.h"
#include "config/constraints.h"
#include "server/exec/query_context.h"
#include "server/session/query.h"

namespace shardd::daemon {

/// Takes the settings that came with a query over into `settings`.
/// Rules:  an unknown name that is important, or custom without an allowed prefix, is UNKNOWN_SETTING; an
/// unknown one
///         that is neither is left out. A person's query may not pass the constraints (452, 164); a query of
///         an initiator keeps within them in silence, since its user asked elsewhere.
void applyQuerySettings(const session::QueryRequest& request,
                        const SettingConstraints& constraints,
                        const Config& config,
                        Settings& settings);

/// The values of {name:Type}: the text inside the quotes that travel.
std::map<std::string, std::string> queryParameters(const session::QueryRequest& request);

/// What operators need to know.
exec::ExecSettings execSettings(const Settings& settings);

/// How temporary files are compressed. Errors: UNKNOWN_CODEC (432).
FrameOptions temporaryCodec(const Settings& settings);

/// The text of a value as it travels under the flag "custom": 'it\'s', UInt64_7, Bool_1.
std::string textOfDump(std::string_view dump);

}  // namespace shardd::daemon
