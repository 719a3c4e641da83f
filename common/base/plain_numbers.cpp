#include "common/base/plain_numbers.h"

#include <charconv>
#include <iterator>

#include <fmt/format.h>

namespace shardd {

std::string readableBytes(uint64_t bytes) {
    constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    auto value = static_cast<double>(bytes);
    size_t unit = 0;
    for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
    return fmt::format("{:.2f} {}", value, kUnits[unit]);
}

std::optional<uint64_t> parseUnsigned(std::string_view text) {
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

}  // namespace shardd
