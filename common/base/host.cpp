#include "common/base/host.h"

#include <fmt/format.h>
#include <unistd.h>

namespace shardd {

const std::string& hostName() {
    static const std::string name = [] {
        char text[256] = {};
        return std::string(::gethostname(text, sizeof(text) - 1) == 0 ? text : "localhost");
    }();
    return name;
}

std::string addressText(std::string_view host, uint16_t port) {
    const bool is_v6 = host.find(':') != std::string_view::npos;
    return is_v6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

}  // namespace shardd
