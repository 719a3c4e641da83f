// What other nodes say while a cluster forms: frames, and the shared file.
#include <cstdint>
#include <string_view>

#include "common/base/error.h"
#include "server/bootstrap/board_file.h"
#include "server/bootstrap/messages.h"

namespace {

template <typename Decode>
void tryOne(std::string_view bytes, Decode decode) {
    try {
        shardd::Reader in(bytes);
        decode(in);
    } catch (const shardd::Error&) {
        return;  // refused, as it may be
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    namespace bootstrap = shardd::bootstrap;
    if (size == 0) return 0;
    const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
    switch (data[0] % 5) {
        case 0:
            tryOne(bytes, [](shardd::Reader& in) { bootstrap::decodeGreeting(in); });
            break;
        case 1:
            tryOne(bytes, [](shardd::Reader& in) { bootstrap::decodeHello(in); });
            break;
        case 2:
            tryOne(bytes, [](shardd::Reader& in) { bootstrap::decodeBeat(in); });
            break;
        case 3:
            tryOne(bytes, [](shardd::Reader& in) { bootstrap::decodeAnswer(in); });
            break;
        default:
            tryOne(bytes, [bytes](shardd::Reader&) { bootstrap::decodeBoardFile(bytes, ""); });
            break;
    }
    return 0;
}
