#pragma once

#include <cstdint>

#include "common/base/reader.h"
#include "common/base/writer.h"
#include "common/protocol/packets.h"
#include "common/protocol/revision.h"

namespace shardd::protocol {

/// Packets to bytes and back at the revision in use, in both roles. encode() writes the packet's number and
/// its body; decode…() reads the body behind a number that was read before. Blocks are wire/native's. Errors:
/// decode throws Error for what no honest peer sends (a string beyond its limit, too many entries, an unknown
/// setting in the binary form), and whatever the Reader throws where its bytes end.
/// Threads: pure functions.

/// The most that one field may hold, so that a packet is bounded before its end is seen.
struct DecodeLimits {
    size_t hello_string_bytes = 4096;
    size_t password_rules = 256;
    size_t query_text_bytes = size_t{64} << 20;
    size_t string_bytes = size_t{1} << 20;
    size_t settings = 16384;
    size_t tables = 65536;
    size_t roles = 4096;
    size_t nested_exceptions = 16;
    size_t exception_bytes = size_t{16} << 20;
};

void encode(const ClientHello& packet, Writer& out);
ClientHello decodeClientHello(Reader& in, const DecodeLimits& limits = {});

/// `announced` is the revision that the client told; what travels is gated by the lower of it and
/// packet.revision.
void encode(const ServerHello& packet, Revision announced, Writer& out);
ServerHello decodeServerHello(Reader& in, Revision announced, const DecodeLimits& limits = {});

/// Without a packet number. Nothing travels below gate::kAddendum.
void encode(const Addendum& packet, Revision revision, Writer& out);
Addendum decodeAddendum(Reader& in, Revision revision, const DecodeLimits& limits = {});

void encode(const Query& packet, Revision revision, Writer& out);
Query decodeQuery(Reader& in, Revision revision, const DecodeLimits& limits = {});

/// The number of a packet that has no body (Ping, Pong, Cancel, EndOfStream).
void encode(ClientPacket packet, Writer& out);
void encode(ServerPacket packet, Writer& out);

/// The number and the name before a block; the block itself follows, in compressed frames or plain.
void encode(ClientPacket packet, const DataHeader& header, Writer& out);
void encode(ServerPacket packet, const DataHeader& header, Writer& out);
DataHeader decodeDataHeader(Reader& in, const DecodeLimits& limits = {});

void encode(const TablesStatusRequest& packet, Writer& out);
TablesStatusRequest decodeTablesStatusRequest(Reader& in, const DecodeLimits& limits = {});

void encode(const TablesStatusResponse& packet, Revision revision, Writer& out);
TablesStatusResponse decodeTablesStatusResponse(Reader& in,
                                                Revision revision,
                                                const DecodeLimits& limits = {});

void encode(const Exception& packet, Writer& out);
Exception decodeException(Reader& in, const DecodeLimits& limits = {});

void encode(const Progress& packet, Revision revision, Writer& out);
Progress decodeProgress(Reader& in, Revision revision);

void encode(const ProfileInfo& packet, Revision revision, Writer& out);
ProfileInfo decodeProfileInfo(Reader& in, Revision revision);

/// The body alone: from gate::kCompressedLogs it may travel in compressed frames behind the packet's number.
void encodeBody(const TableColumns& packet, Writer& out);
TableColumns decodeTableColumns(Reader& in, const DecodeLimits& limits = {});

void encode(const TimezoneUpdate& packet, Writer& out);
TimezoneUpdate decodeTimezoneUpdate(Reader& in, const DecodeLimits& limits = {});

}  // namespace shardd::protocol
