#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/protocol/block_assembler.h"
#include "common/protocol/chunked.h"
#include "common/protocol/packet_codec.h"

using namespace shardd;
using namespace shardd::protocol;

namespace {

void readClientPacket(Reader& in, Revision revision) {
    switch (static_cast<ClientPacket>(in.readVarUInt())) {
        case ClientPacket::Hello: decodeClientHello(in); break;
        case ClientPacket::Query: decodeQuery(in, revision); break;
        case ClientPacket::TablesStatusRequest: decodeTablesStatusRequest(in); break;
        case ClientPacket::Data: decodeDataHeader(in); break;
        default: decodeAddendum(in, revision); break;
    }
}

void readServerPacket(Reader& in, Revision revision) {
    switch (static_cast<ServerPacket>(in.readVarUInt())) {
        case ServerPacket::Hello: decodeServerHello(in, revision); break;
        case ServerPacket::Exception: decodeException(in); break;
        case ServerPacket::Progress: decodeProgress(in, revision); break;
        case ServerPacket::ProfileInfo: decodeProfileInfo(in, revision); break;
        case ServerPacket::TablesStatusResponse: decodeTablesStatusResponse(in, revision); break;
        case ServerPacket::TableColumns: decodeTableColumns(in); break;
        default: decodeTimezoneUpdate(in); break;
    }
}

}  // namespace

/// The first bytes choose the role and the revision; the rest is a packet, or a block that arrives in two pieces.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 3) return 0;
    const Revision revision = 54000 + (data[1] | ((data[2] & 1U) << 8));
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 3, size - 3);
    try {
        ByteWindow window;
        if ((data[0] & 4U) != 0)
            ChunkDecoder().feed(bytes, window);
        else
            window.append(bytes);
        WindowReader in(window.view());
        switch (data[0] & 3U) {
            case 0: readClientPacket(in, revision); break;
            case 1: readServerPacket(in, revision); break;
            default: {
                BlockAssembler assembler(revision);
                ByteWindow first;
                first.append(bytes.substr(0, bytes.size() / 2));
                size_t wanted = 1;
                const bool compressed = (data[0] & 1U) != 0;
                if (!assembler.tryAssemble(first, compressed, wanted)) {
                    first.append(bytes.substr(bytes.size() / 2));
                    assembler.tryAssemble(first, compressed, wanted);
                }
            }
        }
    } catch (const Error&) {
        // refused
    } catch (const NeedMoreBytes&) {
        // cut short
    }
    return 0;
}
