#pragma once

#include <simdjson.h>

#include "common/base/writer.h"

namespace shardd::functions {

/// A JSON value without blanks, numbers as ClickHouse writes them.
void writeJson(const simdjson::dom::element& element, Writer& out);

}  // namespace shardd::functions
