#pragma once

#include <string_view>

#include "common/base/writer.h"
#include "common/types/type.h"

namespace shardd::formats {

/// The JSON text of one value of `type`, without blanks, as ClickHouse lays it out inside documents: tuples,
/// maps and arrays of nested values take a line an element, `depth` tabs in and one more.
void writePrettyJson(std::string_view compact, const Type& type, size_t depth, Writer& out);

void writeIndent(size_t depth, Writer& out);

/// Whether that makes a difference.
bool isLaidOut(const Type& type);

}  // namespace shardd::formats
