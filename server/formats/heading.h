#pragma once

#include <cstdint>

namespace shardd::formats {

/// What stands before the rows.
enum class Heading : uint8_t { None, Names, NamesAndTypes };

}  // namespace shardd::formats
