#include "common/wire/frame_method.h"

#include <algorithm>

namespace shardd {

std::optional<FrameMethod> frameMethodNamed(std::string_view name) {
    const auto is = [&](std::string_view method) {
        return std::ranges::equal(name, method, [](char a, char b) { return (a | 0x20) == (b | 0x20); });
    };
    if (is("none")) return FrameMethod::None;
    if (is("lz4") || is("lz4hc")) return FrameMethod::Lz4;
    if (is("zstd")) return FrameMethod::Zstd;
    return std::nullopt;
}

}  // namespace shardd
