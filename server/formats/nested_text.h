#pragma once

#include "server/formats/value_text.h"

namespace shardd::formats {

/// The text of values made of others: Nullable, LowCardinality, Array, Tuple, Map.
ValueTextPtr nestedText(const TypePtr& type, const TextSettings& settings);

}  // namespace shardd::formats
