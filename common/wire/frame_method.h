#pragma once

#include <optional>
#include <string_view>

#include "common/wire/frame.h"

namespace shardd {

/// The method that a value of network_compression_method, in any case, means; nothing for a name that is none.
std::optional<FrameMethod> frameMethodNamed(std::string_view name);

}  // namespace shardd
