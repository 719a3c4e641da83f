#include "common/protocol/packet_codec.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "common/protocol/chunked.h"
#include "common/protocol/interserver.h"
#include "common/wire/byte_window.h"

namespace shardd::protocol {
namespace {

std::string fromHex(std::string_view hex) {
    std::string bytes;
    for (size_t i = 0; i + 1 < hex.size(); i += 2)
        bytes.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
    return bytes;
}

std::string toHex(std::string_view bytes) {
    std::string hex;
    for (const char byte : bytes) hex += fmt::format("{:02x}", static_cast<uint8_t>(byte));
    return hex;
}

/// One direction of a captured conversation: what each packet is said to be, and its bytes without chunk
/// framing.
struct Captured {
    std::string what;
    std::string bytes;
};

struct Capture {
    Revision revision = 0;
    std::vector<Captured> packets;
};

Capture readCapture(const std::filesystem::path& path) {
    Capture capture;
    std::ifstream file(path);
    std::string line;
    std::string what;
    while (std::getline(file, line)) {
        if (line.empty()) continue;
        if (line[0] != '#') {
            std::string bytes = fromHex(line);
            if (what.starts_with("[chunk-framed] ")) {
                ByteWindow window;
                ChunkDecoder().feed(bytes, window);
                bytes = window.view();
                what = what.substr(15);
            }
            capture.packets.push_back({what, bytes});
        } else {
            what = line.substr(2);
            const size_t place = what.find("revision in use ");
            if (place != std::string::npos) capture.revision = std::stoull(what.substr(place + 16));
        }
    }
    return capture;
}

std::vector<std::string> captureNames() {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(SHARDD_TESTS_WIRE_DIR)) {
        const std::string name = entry.path().filename().string();
        if (name.ends_with(".c2s.hex")) names.insert(name.substr(0, name.size() - 8));
    }
    return {names.begin(), names.end()};
}

/// Decodes one client packet from `in` and encodes it again; blocks are left as bytes (wire/native has its
/// own test). `announced` learns what the Hello told.
void recodeClient(Reader& in, std::string_view what, const Capture& capture, Writer& out) {
    if (what.starts_with("Addendum"))
        return encode(decodeAddendum(in, capture.revision), capture.revision, out);
    const auto number = static_cast<ClientPacket>(in.readVarUInt());
    switch (number) {
        case ClientPacket::Hello:
            return encode(decodeClientHello(in), out);
        case ClientPacket::Query:
            return encode(decodeQuery(in, capture.revision), capture.revision, out);
        case ClientPacket::Data:
        case ClientPacket::Scalar: {
            encode(number, decodeDataHeader(in), out);
            const std::string block(in.position(), in.available());
            if (block.size() < 10) in.skip(10);  // the shortest block of all; ends like any short packet
            in.skip(block.size());
            return out.writeBytes(block);
        }
        case ClientPacket::TablesStatusRequest:
            return encode(decodeTablesStatusRequest(in), out);
        case ClientPacket::Cancel:
        case ClientPacket::Ping:
            return encode(number, out);
        default:
            throw Error(ErrorCode::UNKNOWN_PACKET_FROM_CLIENT, "{}", packetName(number));
    }
}

void recodeServer(Reader& in, const Capture& capture, Revision announced, Writer& out) {
    const auto number = static_cast<ServerPacket>(in.readVarUInt());
    switch (number) {
        case ServerPacket::Hello:
            return encode(decodeServerHello(in, announced), announced, out);
        case ServerPacket::Exception:
            return encode(decodeException(in), out);
        case ServerPacket::Progress:
            return encode(decodeProgress(in, capture.revision), capture.revision, out);
        case ServerPacket::ProfileInfo:
            return encode(decodeProfileInfo(in, capture.revision), capture.revision, out);
        case ServerPacket::TablesStatusResponse:
            return encode(decodeTablesStatusResponse(in, capture.revision), capture.revision, out);
        case ServerPacket::Data:
        case ServerPacket::Totals:
        case ServerPacket::Extremes: {
            encode(number, decodeDataHeader(in), out);
            const std::string block(in.position(), in.available());
            if (block.size() < 10) in.skip(10);
            in.skip(block.size());
            return out.writeBytes(block);
        }
        case ServerPacket::Pong:
        case ServerPacket::EndOfStream:
            return encode(number, out);
        default:
            throw Error(ErrorCode::UNKNOWN_PACKET_FROM_SERVER, "{}", packetName(number));
    }
}

class Captures : public testing::TestWithParam<std::string> {
protected:
    Capture read(const char* direction) const {
        return readCapture(std::filesystem::path(SHARDD_TESTS_WIRE_DIR) / (GetParam() + direction));
    }

    static Revision announcedBy(const Capture& client) {
        Reader in(client.packets.at(0).bytes);
        in.readVarUInt();
        return decodeClientHello(in).revision;
    }
};

TEST_P(Captures, EveryClientPacketDecodesAndEncodesToItsBytes) {
    const Capture capture = read(".c2s.hex");
    ASSERT_FALSE(capture.packets.empty());
    for (const Captured& packet : capture.packets) {
        Reader in(packet.bytes);
        Writer out;
        recodeClient(in, packet.what, capture, out);
        EXPECT_TRUE(in.atEnd()) << packet.what;
        EXPECT_EQ(toHex(out.view()), toHex(packet.bytes)) << packet.what;
    }
}

TEST_P(Captures, EveryServerPacketDecodesAndEncodesToItsBytes) {
    const Revision announced = announcedBy(read(".c2s.hex"));
    const Capture capture = read(".s2c.hex");
    ASSERT_FALSE(capture.packets.empty());
    for (const Captured& packet : capture.packets) {
        Reader in(packet.bytes);
        Writer out;
        recodeServer(in, capture, announced, out);
        EXPECT_TRUE(in.atEnd()) << packet.what;
        EXPECT_EQ(toHex(out.view()), toHex(packet.bytes)) << packet.what;
    }
}

TEST_P(Captures, EveryPrefixOfEveryPacketAsksForMore) {
    const Capture client = read(".c2s.hex");
    const Capture server = read(".s2c.hex");
    const Revision announced = announcedBy(client);
    const auto check = [&](const Captured& packet, auto recode) {
        const bool carries_block = packet.what.find("column(s)") != std::string::npos;
        const size_t checked = carries_block ? 10 : packet.bytes.size();
        for (size_t size = 0; size < checked; ++size) {
            WindowReader in(std::string_view(packet.bytes).substr(0, size));
            EXPECT_THROW(recode(in), NeedMoreBytes) << packet.what << " cut at " << size;
        }
    };
    Writer out;
    for (const Captured& packet : client.packets)
        check(packet, [&](Reader& in) { recodeClient(in, packet.what, client, out); });
    for (const Captured& packet : server.packets)
        check(packet, [&](Reader& in) { recodeServer(in, server, announced, out); });
}

INSTANTIATE_TEST_SUITE_P(All, Captures, testing::ValuesIn(captureNames()), [](const auto& tested) {
    std::string name = tested.param;
    std::ranges::replace_if(
        name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
    return name;
});

TEST(PacketCodec, EveryFieldOfAQuerySurvives) {
    Query query;
    query.query_id = "id";
    query.client_info.kind = QueryKind::Secondary;
    query.client_info.initial_user = "u";
    query.client_info.initial_query_id = "first";
    query.client_info.initial_start_time_us = 77;
    query.client_info.client_interface = 2;
    query.client_info.http_method = 2;
    query.client_info.http_user_agent = "agent";
    query.client_info.forwarded_for = "1.2.3.4";
    query.client_info.http_referer = "ref";
    query.client_info.distributed_depth = 3;
    query.client_info.trace = TraceContext{.trace_id = {1, 2}, .span_id = {3}, .state = "s", .flags = 1};
    query.client_info.jwt = "token";
    query.client_info.current_roles = std::vector<std::string>{"a", "b"};
    query.settings = {{"max_threads", 1, "2"}};
    query.external_roles = {"r"};
    query.interserver_hash = std::string(32, 'h');
    query.stage = 1;
    query.compression = true;
    query.text = "SELECT 1";
    query.parameters = {{"p", 2, "'x'"}};
    for (const Revision revision : {Revision{54488}, Revision{54486}, Revision{54460}, Revision{54448}}) {
        Writer first;
        encode(query, revision, first);
        Reader in(first.view());
        in.readVarUInt();
        const Query back = decodeQuery(in, revision);
        EXPECT_TRUE(in.atEnd());
        Writer second;
        encode(back, revision, second);
        EXPECT_EQ(toHex(second.view()), toHex(first.view())) << revision;
        EXPECT_EQ(back.client_info.trace, query.client_info.trace);
        EXPECT_EQ(back.text, "SELECT 1");
    }
}

TEST(PacketCodec, NestedExceptions) {
    Exception exception;
    exception.chain = {{60, "DB::Exception", "outer", ""}, {241, "DB::Exception", "inner", "trace"}};
    Writer out;
    encode(exception, out);
    Reader in(out.view());
    in.readVarUInt();
    const Exception back = decodeException(in);
    ASSERT_EQ(back.chain.size(), 2U);
    EXPECT_EQ(back.chain[1].code, 241);
    EXPECT_EQ(back.chain[1].stack_trace, "trace");
}

TEST(PacketCodec, HostileLengthsEndInErrorsWithoutMemory) {
    struct Row {
        const char* what;
        const char* hex;
    };

    const std::string huge = "ffffffffffffffff7f";
    const auto refuses = [](const std::string& hex, auto decode) {
        const std::string bytes = fromHex(hex);
        WindowReader in(bytes);
        EXPECT_THROW(decode(in), Error) << hex;
    };
    refuses(huge, [](Reader& in) { decodeClientHello(in); });
    refuses("00" + huge, [](Reader& in) { decodeQuery(in, 54486); });
    refuses("0003", [](Reader& in) { decodeQuery(in, 54486); });  // a kind of query that does not exist
    refuses(huge, [](Reader& in) { decodeTablesStatusRequest(in); });
    refuses(huge, [](Reader& in) { decodeTablesStatusResponse(in, 54486); });
    refuses("00000000" + huge, [](Reader& in) { decodeException(in); });
    refuses(huge, [](Reader& in) { decodeDataHeader(in); });
    refuses("ffffffffffffffffffffff", [](Reader& in) { decodeProgress(in, 54486); });
    // 20 exceptions, each saying that one more is nested in it
    std::string nest;
    for (int i = 0; i < 20; ++i) nest += "0000000000000001";
    refuses(nest, [](Reader& in) { decodeException(in); });
}

TEST(PacketCodec, AnUnknownBinarySettingIsError115) {
    Writer out;
    out.writeString("no_such_setting");
    Writer query;
    query.writeString("");
    query.writeByte(0);
    query.writeBytes(out.view());
    Reader in(query.view());
    try {
        decodeQuery(in, 54412);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), 115);
    }
}

TEST(PacketCodec, BinarySettingsKeepTheirForms) {
    Query query;
    query.settings = {{"max_threads", 0, "8"},
                      {"network_zstd_compression_level", 0, "-3"},
                      {"totals_auto_threshold", 0, "0.25"},
                      {"unknown_is_left_out", 0, "1"}};
    Writer out;
    encode(query, 54412, out);
    Reader in(out.view());
    in.readVarUInt();
    const Query back = decodeQuery(in, 54412);
    query.settings.pop_back();
    EXPECT_EQ(back.settings, query.settings);
}

TEST(Chunked, AnySplitGivesTheSamePayload) {
    Writer framed;
    writeChunked("hello", framed);
    writeChunked(std::string(300, 'x'), framed);
    for (size_t step = 1; step < framed.size(); step += 3) {
        ByteWindow window;
        ChunkDecoder decoder;
        for (size_t offset = 0; offset < framed.size(); offset += step)
            decoder.feed(framed.view().substr(offset, step), window);
        EXPECT_EQ(window.view(), "hello" + std::string(300, 'x'));
    }
}

TEST(Chunked, Agreement) {
    struct Row {
        const char* client;
        const char* server;
        std::optional<bool> outcome;
    };

    const Row rows[] = {
        {"notchunked", "notchunked_optional", false}, {"chunked", "notchunked_optional", true},
        {"notchunked", "chunked_optional", false},    {"chunked_optional", "notchunked", false},
        {"notchunked_optional", "chunked", true},     {"chunked", "chunked", true},
        {"notchunked", "chunked", std::nullopt},      {"chunked", "notchunked", std::nullopt},
    };
    for (const Row& row : rows)
        EXPECT_EQ(agreeChunked(row.client, row.server), row.outcome) << row.client << row.server;
}

TEST(Interserver, TheHashOfACapturedInitiator) {
    const std::filesystem::path dir = SHARDD_TESTS_WIRE_DIR;
    const Capture capture = readCapture(dir / "initiator-26.7-groupby-interserver-secret-54486.c2s.hex");
    Reader hello_in(capture.packets.at(0).bytes);
    hello_in.readVarUInt();
    const ClientHello hello = decodeClientHello(hello_in);
    EXPECT_EQ(hello.cluster, "sec");
    EXPECT_EQ(hello.salt.size(), 32U);
    int queries = 0;
    for (const Captured& packet : capture.packets) {
        if (!packet.what.starts_with("Query")) continue;
        Reader in(packet.bytes);
        in.readVarUInt();
        const Query query = decodeQuery(in, capture.revision);
        const InterserverSecret secret = {
            .salt = hello.salt, .nonce = 0x1122334455667788, .secret = "topsecret"};
        EXPECT_EQ(toHex(interserverHash(secret, query, capture.revision)), toHex(query.interserver_hash));
        EXPECT_TRUE(
            equalInConstantTime(interserverHash(secret, query, capture.revision), query.interserver_hash));
        ++queries;
    }
    EXPECT_EQ(queries, 2);
}

// RFC 4231, test case 2.
TEST(InterserverTest, hmac) {
    EXPECT_EQ(toHex(hmacSha256("Jefe", "what do ya want for nothing?")),
              "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

}  // namespace
}  // namespace shardd::protocol
