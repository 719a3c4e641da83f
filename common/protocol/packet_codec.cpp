#include "common/protocol/packet_codec.h"

#include "common/protocol/settings_codec.h"

namespace shardd::protocol {

namespace {

uint64_t readCount(Reader& in, size_t limit, const char* what) {
    const uint64_t count = in.readVarUInt();
    if (count > limit)
        throw Error(ErrorCode::TOO_LARGE_ARRAY_SIZE, "Too many {} in a packet: {}, at most {} are taken",
                    what, count, limit);
    return count;
}

bool readBool(Reader& in) { return in.readByte() != 0; }

void writeNumber(ClientPacket packet, Writer& out) { out.writeVarUInt(static_cast<uint64_t>(packet)); }

void writeNumber(ServerPacket packet, Writer& out) { out.writeVarUInt(static_cast<uint64_t>(packet)); }

std::vector<std::string> decodeNames(Reader& in, const DecodeLimits& limits) {
    std::vector<std::string> names;
    for (uint64_t rest = readCount(in, limits.roles, "roles"); rest > 0; --rest)
        names.push_back(in.readString(limits.string_bytes));
    return names;
}

}  // namespace

std::string packetName(ClientPacket packet) {
    static constexpr const char* kNames[] = {"Hello",
                                             "Query",
                                             "Data",
                                             "Cancel",
                                             "Ping",
                                             "TablesStatusRequest",
                                             "KeepAlive",
                                             "Scalar",
                                             "IgnoredPartUUIDs",
                                             "ReadTaskResponse",
                                             "MergeTreeReadTaskResponse",
                                             "SSHChallengeRequest",
                                             "SSHChallengeResponse",
                                             "QueryPlan",
                                             "MergeTreeAllRangesAnnouncementResponse"};
    const auto number = static_cast<uint64_t>(packet);
    if (number < std::size(kNames)) return kNames[number];
    return fmt::format("unknown packet {}", number);
}

std::string packetName(ServerPacket packet) {
    static constexpr const char* kNames[] = {"Hello",
                                             "Data",
                                             "Exception",
                                             "Progress",
                                             "Pong",
                                             "EndOfStream",
                                             "ProfileInfo",
                                             "Totals",
                                             "Extremes",
                                             "TablesStatusResponse",
                                             "Log",
                                             "TableColumns",
                                             "PartUUIDs",
                                             "ReadTaskRequest",
                                             "ProfileEvents",
                                             "MergeTreeAllRangesAnnouncement",
                                             "MergeTreeReadTaskRequest",
                                             "TimezoneUpdate",
                                             "SSHChallenge",
                                             "PreviewData"};
    const auto number = static_cast<uint64_t>(packet);
    if (number < std::size(kNames)) return kNames[number];
    return fmt::format("unknown packet {}", number);
}

void encode(const ClientHello& packet, Writer& out) {
    writeNumber(ClientPacket::Hello, out);
    out.writeString(packet.client_name);
    out.writeVarUInt(packet.version_major);
    out.writeVarUInt(packet.version_minor);
    out.writeVarUInt(packet.revision);
    out.writeString(packet.database);
    out.writeString(packet.user);
    out.writeString(packet.password);
    if (packet.user == kInterserverUser) {
        out.writeString(packet.cluster);
        out.writeString(packet.salt);
    }
}

ClientHello decodeClientHello(Reader& in, const DecodeLimits& limits) {
    const size_t limit = limits.hello_string_bytes;
    ClientHello packet;
    packet.client_name = in.readString(limit);
    packet.version_major = in.readVarUInt();
    packet.version_minor = in.readVarUInt();
    packet.revision = in.readVarUInt();
    packet.database = in.readString(limit);
    packet.user = in.readString(limit);
    packet.password = in.readString(limit);
    if (packet.user == kInterserverUser) {
        packet.cluster = in.readString(limit);
        packet.salt = in.readString(limit);
    }
    return packet;
}

void encode(const ServerHello& packet, Revision announced, Writer& out) {
    const Revision revision = revisionInUse(packet.revision, announced);
    writeNumber(ServerPacket::Hello, out);
    out.writeString(packet.server_name);
    out.writeVarUInt(packet.version_major);
    out.writeVarUInt(packet.version_minor);
    out.writeVarUInt(packet.revision);
    if (revision >= gate::kParallelReplicasVersion) out.writeVarUInt(packet.parallel_replicas_version);
    if (revision >= gate::kServerTimezone) out.writeString(packet.time_zone);
    if (revision >= gate::kServerDisplayName) out.writeString(packet.display_name);
    if (revision >= gate::kVersionPatch) out.writeVarUInt(packet.version_patch);
    if (revision >= gate::kChunkedPackets) {
        out.writeString(packet.chunked_send);
        out.writeString(packet.chunked_receive);
    }
    if (revision >= gate::kPasswordRules) {
        out.writeVarUInt(packet.password_rules.size());
        for (const PasswordRule& rule : packet.password_rules) {
            out.writeString(rule.pattern);
            out.writeString(rule.message);
        }
    }
    if (revision >= gate::kNonce) out.writeFixed(packet.nonce);
    if (revision >= gate::kServerSettings) encodeTextSettings(packet.settings, out);
    if (revision >= gate::kQueryPlanVersion) out.writeVarUInt(packet.query_plan_version);
    if (revision >= gate::kClusterFunctionVersion) out.writeVarUInt(packet.cluster_function_version);
}

ServerHello decodeServerHello(Reader& in, Revision announced, const DecodeLimits& limits) {
    const size_t limit = limits.hello_string_bytes;
    ServerHello packet;
    packet.server_name = in.readString(limit);
    packet.version_major = in.readVarUInt();
    packet.version_minor = in.readVarUInt();
    packet.revision = in.readVarUInt();
    const Revision revision = revisionInUse(packet.revision, announced);
    if (revision >= gate::kParallelReplicasVersion) packet.parallel_replicas_version = in.readVarUInt();
    if (revision >= gate::kServerTimezone) packet.time_zone = in.readString(limit);
    if (revision >= gate::kServerDisplayName) packet.display_name = in.readString(limit);
    if (revision >= gate::kVersionPatch) packet.version_patch = in.readVarUInt();
    if (revision >= gate::kChunkedPackets) {
        packet.chunked_send = in.readString(limit);
        packet.chunked_receive = in.readString(limit);
    }
    if (revision >= gate::kPasswordRules) {
        for (uint64_t rest = readCount(in, limits.password_rules, "password rules"); rest > 0; --rest) {
            PasswordRule& rule = packet.password_rules.emplace_back();
            rule.pattern = in.readString(limit);
            rule.message = in.readString(limit);
        }
    }
    if (revision >= gate::kNonce) packet.nonce = in.readFixed<uint64_t>();
    if (revision >= gate::kServerSettings) packet.settings = decodeTextSettings(in, limits);
    if (revision >= gate::kQueryPlanVersion) packet.query_plan_version = in.readVarUInt();
    if (revision >= gate::kClusterFunctionVersion) packet.cluster_function_version = in.readVarUInt();
    return packet;
}

void encode(const Addendum& packet, Revision revision, Writer& out) {
    if (revision < gate::kAddendum) return;
    out.writeString(packet.quota_key);
    if (revision >= gate::kChunkedPackets) {
        out.writeString(packet.chunked_send);
        out.writeString(packet.chunked_receive);
    }
    if (revision >= gate::kParallelReplicasVersion) out.writeVarUInt(packet.parallel_replicas_version);
}

Addendum decodeAddendum(Reader& in, Revision revision, const DecodeLimits& limits) {
    Addendum packet;
    if (revision < gate::kAddendum) return packet;
    packet.quota_key = in.readString(limits.hello_string_bytes);
    if (revision >= gate::kChunkedPackets) {
        packet.chunked_send = in.readString(limits.hello_string_bytes);
        packet.chunked_receive = in.readString(limits.hello_string_bytes);
    }
    if (revision >= gate::kParallelReplicasVersion) packet.parallel_replicas_version = in.readVarUInt();
    return packet;
}

namespace {

void encodeInterface(const ClientInfo& info, Revision revision, Writer& out) {
    out.writeByte(info.client_interface);
    if (info.client_interface == static_cast<uint8_t>(ClientInterface::Tcp)) {
        out.writeString(info.os_user);
        out.writeString(info.host_name);
        out.writeString(info.client_name);
        out.writeVarUInt(info.version_major);
        out.writeVarUInt(info.version_minor);
        out.writeVarUInt(info.revision);
    } else if (info.client_interface == static_cast<uint8_t>(ClientInterface::Http)) {
        out.writeByte(info.http_method);
        out.writeString(info.http_user_agent);
        if (revision >= gate::kForwardedFor) out.writeString(info.forwarded_for);
        if (revision >= gate::kReferer) out.writeString(info.http_referer);
        if (revision >= gate::kHttpHandler) out.writeString(info.http_handler);
    }
}

void decodeInterface(ClientInfo& info, Reader& in, Revision revision, const DecodeLimits& limits) {
    const size_t limit = limits.string_bytes;
    info.client_interface = in.readByte();
    if (info.client_interface == static_cast<uint8_t>(ClientInterface::Tcp)) {
        info.os_user = in.readString(limit);
        info.host_name = in.readString(limit);
        info.client_name = in.readString(limit);
        info.version_major = in.readVarUInt();
        info.version_minor = in.readVarUInt();
        info.revision = in.readVarUInt();
    } else if (info.client_interface == static_cast<uint8_t>(ClientInterface::Http)) {
        info.http_method = in.readByte();
        info.http_user_agent = in.readString(limit);
        if (revision >= gate::kForwardedFor) info.forwarded_for = in.readString(limit);
        if (revision >= gate::kReferer) info.http_referer = in.readString(limit);
        if (revision >= gate::kHttpHandler) info.http_handler = in.readString(limit);
    }
}

void encodeTrace(const std::optional<TraceContext>& trace, Writer& out) {
    out.writeByte(trace ? 1 : 0);
    if (!trace) return;
    out.writeFixed(trace->trace_id);
    out.writeFixed(trace->span_id);
    out.writeString(trace->state);
    out.writeByte(trace->flags);
}

std::optional<TraceContext> decodeTrace(Reader& in, const DecodeLimits& limits) {
    if (in.readByte() == 0) return std::nullopt;
    TraceContext trace;
    in.readFixed(trace.trace_id);
    in.readFixed(trace.span_id);
    trace.state = in.readString(limits.string_bytes);
    trace.flags = in.readByte();
    return trace;
}

void encodeClientInfo(const ClientInfo& info, Revision revision, Writer& out) {
    out.writeByte(static_cast<uint8_t>(info.kind));
    if (info.kind == QueryKind::None) return;
    out.writeString(info.initial_user);
    out.writeString(info.initial_query_id);
    out.writeString(info.initial_address);
    if (revision >= gate::kInitialStartTime) out.writeFixed(info.initial_start_time_us);
    encodeInterface(info, revision, out);
    if (revision >= gate::kQuotaKeyInClientInfo) out.writeString(info.quota_key);
    if (revision >= gate::kDistributedDepth) out.writeVarUInt(info.distributed_depth);
    if (revision >= gate::kVersionPatch &&
        info.client_interface == static_cast<uint8_t>(ClientInterface::Tcp))
        out.writeVarUInt(info.version_patch);
    if (revision >= gate::kOpenTelemetry) encodeTrace(info.trace, out);
    if (revision >= gate::kParallelReplicas) {
        out.writeVarUInt(info.collaborate_with_initiator);
        out.writeVarUInt(info.participating_replicas);
        out.writeVarUInt(info.current_replica);
    }
    if (revision >= gate::kScriptPosition) {
        out.writeVarUInt(info.script_query_number);
        out.writeVarUInt(info.script_line_number);
    }
    if (revision >= gate::kJwt) {
        out.writeByte(info.jwt ? 1 : 0);
        if (info.jwt) out.writeString(*info.jwt);
    }
    if (revision >= gate::kClientAgent) out.writeString(info.client_agent);
    if (revision >= gate::kInternalQuery) out.writeByte(info.is_internal ? 1 : 0);
    if (revision >= gate::kCurrentRoles) {
        out.writeByte(info.current_roles ? 1 : 0);
        if (!info.current_roles) return;
        out.writeVarUInt(info.current_roles->size());
        for (const std::string& role : *info.current_roles) out.writeString(role);
    }
}

/// What new revisions put at the end of the client info.
void decodeClientInfoTail(ClientInfo& info, Reader& in, Revision revision, const DecodeLimits& limits) {
    if (revision >= gate::kParallelReplicas) {
        info.collaborate_with_initiator = in.readVarUInt();
        info.participating_replicas = in.readVarUInt();
        info.current_replica = in.readVarUInt();
    }
    if (revision >= gate::kScriptPosition) {
        info.script_query_number = in.readVarUInt();
        info.script_line_number = in.readVarUInt();
    }
    if (revision >= gate::kJwt && readBool(in)) info.jwt = in.readString(limits.string_bytes);
    if (revision >= gate::kClientAgent) info.client_agent = in.readString(limits.string_bytes);
    if (revision >= gate::kInternalQuery) info.is_internal = readBool(in);
    if (revision >= gate::kCurrentRoles && readBool(in)) info.current_roles = decodeNames(in, limits);
}

ClientInfo decodeClientInfo(Reader& in, Revision revision, const DecodeLimits& limits) {
    const size_t limit = limits.string_bytes;
    ClientInfo info;
    const uint8_t kind = in.readByte();
    if (kind > static_cast<uint8_t>(QueryKind::Secondary))
        throw Error(ErrorCode::INCORRECT_DATA, "Unknown kind of query {} in the client info", kind);
    info.kind = static_cast<QueryKind>(kind);
    if (info.kind == QueryKind::None) return info;
    info.initial_user = in.readString(limit);
    info.initial_query_id = in.readString(limit);
    info.initial_address = in.readString(limit);
    if (revision >= gate::kInitialStartTime) info.initial_start_time_us = in.readFixed<int64_t>();
    decodeInterface(info, in, revision, limits);
    if (revision >= gate::kQuotaKeyInClientInfo) info.quota_key = in.readString(limit);
    if (revision >= gate::kDistributedDepth) info.distributed_depth = in.readVarUInt();
    if (revision >= gate::kVersionPatch &&
        info.client_interface == static_cast<uint8_t>(ClientInterface::Tcp))
        info.version_patch = in.readVarUInt();
    if (revision >= gate::kOpenTelemetry) info.trace = decodeTrace(in, limits);
    decodeClientInfoTail(info, in, revision, limits);
    return info;
}

/// The list of roles travels as a string that holds the list.
void encodeRoles(const std::vector<std::string>& roles, Writer& out) {
    Writer blob;
    blob.writeVarUInt(roles.size());
    for (const std::string& role : roles) blob.writeString(role);
    out.writeString(blob.view());
}

std::vector<std::string> decodeRoles(Reader& in, const DecodeLimits& limits) {
    const std::string blob = in.readString(limits.string_bytes);
    if (blob.empty()) return {};
    Reader inner(blob);
    return decodeNames(inner, limits);
}

}  // namespace

void encode(const Query& packet, Revision revision, Writer& out) {
    writeNumber(ClientPacket::Query, out);
    out.writeString(packet.query_id);
    if (revision >= gate::kClientInfo) encodeClientInfo(packet.client_info, revision, out);
    if (revision >= gate::kSettingsAsText)
        encodeTextSettings(packet.settings, out);
    else
        encodeBinarySettings(packet.settings, out);
    if (revision >= gate::kExternalRoles) encodeRoles(packet.external_roles, out);
    if (revision >= gate::kInterserverHash) out.writeString(packet.interserver_hash);
    out.writeVarUInt(packet.stage);
    out.writeVarUInt(packet.compression ? 1 : 0);
    out.writeString(packet.text);
    if (revision >= gate::kParameters) encodeTextSettings(packet.parameters, out);
}

Query decodeQuery(Reader& in, Revision revision, const DecodeLimits& limits) {
    Query packet;
    packet.query_id = in.readString(limits.string_bytes);
    if (revision >= gate::kClientInfo) packet.client_info = decodeClientInfo(in, revision, limits);
    packet.settings =
        revision >= gate::kSettingsAsText ? decodeTextSettings(in, limits) : decodeBinarySettings(in, limits);
    if (revision >= gate::kExternalRoles) packet.external_roles = decodeRoles(in, limits);
    if (revision >= gate::kInterserverHash) packet.interserver_hash = in.readString(limits.string_bytes);
    packet.stage = in.readVarUInt();
    packet.compression = in.readVarUInt() != 0;
    packet.text = in.readString(limits.query_text_bytes);
    if (revision >= gate::kParameters) packet.parameters = decodeTextSettings(in, limits);
    return packet;
}

void encode(ClientPacket packet, Writer& out) { writeNumber(packet, out); }

void encode(ServerPacket packet, Writer& out) { writeNumber(packet, out); }

void encode(ClientPacket packet, const DataHeader& header, Writer& out) {
    writeNumber(packet, out);
    out.writeString(header.name);
}

void encode(ServerPacket packet, const DataHeader& header, Writer& out) {
    writeNumber(packet, out);
    out.writeString(header.name);
}

DataHeader decodeDataHeader(Reader& in, const DecodeLimits& limits) {
    return {.name = in.readString(limits.string_bytes)};
}

void encode(const TablesStatusRequest& packet, Writer& out) {
    writeNumber(ClientPacket::TablesStatusRequest, out);
    out.writeVarUInt(packet.tables.size());
    for (const TableName& name : packet.tables) {
        out.writeString(name.database);
        out.writeString(name.table);
    }
}

TablesStatusRequest decodeTablesStatusRequest(Reader& in, const DecodeLimits& limits) {
    TablesStatusRequest packet;
    for (uint64_t rest = readCount(in, limits.tables, "tables"); rest > 0; --rest) {
        TableName& name = packet.tables.emplace_back();
        name.database = in.readString(limits.hello_string_bytes);
        name.table = in.readString(limits.hello_string_bytes);
    }
    return packet;
}

void encode(const TablesStatusResponse& packet, Revision revision, Writer& out) {
    writeNumber(ServerPacket::TablesStatusResponse, out);
    out.writeVarUInt(packet.tables.size());
    for (const TableStatus& status : packet.tables) {
        out.writeString(status.name.database);
        out.writeString(status.name.table);
        out.writeByte(status.is_replicated ? 1 : 0);
        if (!status.is_replicated) continue;
        out.writeVarUInt(status.absolute_delay_s);
        if (revision >= gate::kTableReadOnly) out.writeVarUInt(status.is_read_only);
    }
}

TablesStatusResponse decodeTablesStatusResponse(Reader& in, Revision revision, const DecodeLimits& limits) {
    TablesStatusResponse packet;
    for (uint64_t rest = readCount(in, limits.tables, "tables"); rest > 0; --rest) {
        TableStatus& status = packet.tables.emplace_back();
        status.name.database = in.readString(limits.hello_string_bytes);
        status.name.table = in.readString(limits.hello_string_bytes);
        status.is_replicated = readBool(in);
        if (!status.is_replicated) continue;
        status.absolute_delay_s = in.readVarUInt();
        if (revision >= gate::kTableReadOnly) status.is_read_only = in.readVarUInt();
    }
    return packet;
}

void encode(const Exception& packet, Writer& out) {
    writeNumber(ServerPacket::Exception, out);
    for (size_t i = 0; i < packet.chain.size(); ++i) {
        const ExceptionRecord& record = packet.chain[i];
        out.writeFixed(record.code);
        out.writeString(record.name);
        out.writeString(record.message);
        out.writeString(record.stack_trace);
        out.writeByte(i + 1 < packet.chain.size() ? 1 : 0);
    }
}

Exception decodeException(Reader& in, const DecodeLimits& limits) {
    Exception packet;
    do {
        if (packet.chain.size() == limits.nested_exceptions)
            throw Error(ErrorCode::INCORRECT_DATA, "An exception packet nests more than {} exceptions",
                        limits.nested_exceptions);
        ExceptionRecord& record = packet.chain.emplace_back();
        record.code = in.readFixed<int32_t>();
        record.name = in.readString(limits.string_bytes);
        record.message = in.readString(limits.exception_bytes);
        record.stack_trace = in.readString(limits.exception_bytes);
    } while (readBool(in));
    return packet;
}

void encode(const Progress& packet, Revision revision, Writer& out) {
    writeNumber(ServerPacket::Progress, out);
    out.writeVarUInt(packet.rows);
    out.writeVarUInt(packet.bytes);
    if (revision >= gate::kTotalRowsInProgress) out.writeVarUInt(packet.total_rows);
    if (revision >= gate::kTotalBytesInProgress) out.writeVarUInt(packet.total_bytes);
    if (revision >= gate::kWrittenInProgress) {
        out.writeVarUInt(packet.written_rows);
        out.writeVarUInt(packet.written_bytes);
    }
    if (revision >= gate::kElapsedInProgress) out.writeVarUInt(packet.elapsed_ns);
}

Progress decodeProgress(Reader& in, Revision revision) {
    Progress packet;
    packet.rows = in.readVarUInt();
    packet.bytes = in.readVarUInt();
    if (revision >= gate::kTotalRowsInProgress) packet.total_rows = in.readVarUInt();
    if (revision >= gate::kTotalBytesInProgress) packet.total_bytes = in.readVarUInt();
    if (revision >= gate::kWrittenInProgress) {
        packet.written_rows = in.readVarUInt();
        packet.written_bytes = in.readVarUInt();
    }
    if (revision >= gate::kElapsedInProgress) packet.elapsed_ns = in.readVarUInt();
    return packet;
}

void encode(const ProfileInfo& packet, Revision revision, Writer& out) {
    writeNumber(ServerPacket::ProfileInfo, out);
    out.writeVarUInt(packet.rows);
    out.writeVarUInt(packet.blocks);
    out.writeVarUInt(packet.bytes);
    out.writeByte(packet.applied_limit ? 1 : 0);
    out.writeVarUInt(packet.rows_before_limit);
    out.writeByte(packet.calculated ? 1 : 0);
    if (revision >= gate::kRowsBeforeAggregation) {
        out.writeByte(packet.applied_aggregation ? 1 : 0);
        out.writeVarUInt(packet.rows_before_aggregation);
    }
}

ProfileInfo decodeProfileInfo(Reader& in, Revision revision) {
    ProfileInfo packet;
    packet.rows = in.readVarUInt();
    packet.blocks = in.readVarUInt();
    packet.bytes = in.readVarUInt();
    packet.applied_limit = readBool(in);
    packet.rows_before_limit = in.readVarUInt();
    packet.calculated = readBool(in);
    if (revision >= gate::kRowsBeforeAggregation) {
        packet.applied_aggregation = readBool(in);
        packet.rows_before_aggregation = in.readVarUInt();
    }
    return packet;
}

void encodeBody(const TableColumns& packet, Writer& out) {
    out.writeString(packet.table);
    out.writeString(packet.description);
}

TableColumns decodeTableColumns(Reader& in, const DecodeLimits& limits) {
    TableColumns packet;
    packet.table = in.readString(limits.string_bytes);
    packet.description = in.readString(limits.exception_bytes);
    return packet;
}

void encode(const TimezoneUpdate& packet, Writer& out) {
    writeNumber(ServerPacket::TimezoneUpdate, out);
    out.writeString(packet.time_zone);
}

TimezoneUpdate decodeTimezoneUpdate(Reader& in, const DecodeLimits& limits) {
    return {.time_zone = in.readString(limits.hello_string_bytes)};
}

}  // namespace shardd::protocol
