#include "server/bootstrap/member.h"

#include <fmt/core.h>

#include "common/protocol/interserver.h"

namespace shardd::bootstrap {

std::string describe(const Member& member) {
    const std::string host =
        member.host.find(':') == std::string::npos ? member.host : "[" + member.host + "]";
    return fmt::format("rank {} ({}:{}, node {})", member.rank, host, member.port, member.id);
}

std::string makeMemberId() {
    constexpr size_t kBytes = 16;
    std::string id;
    for (const char byte : protocol::randomBytes(kBytes))
        id += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    return id;
}

}  // namespace shardd::bootstrap
