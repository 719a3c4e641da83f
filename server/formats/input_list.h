#pragma once

#include <span>

#include "server/formats/heading.h"
#include "server/formats/input_format.h"

namespace shardd::formats {

/// A format is one row of a family's list, and its family is one name in input_format.cpp.
struct InputFormatInfo {
    std::string_view name;
    InputFormatPtr (*make)(const Block& header,
                           std::shared_ptr<ByteSource> source,
                           const InputSettings& settings);
};

}  // namespace shardd::formats
