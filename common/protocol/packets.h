#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shardd::protocol {

/// One plain struct a packet, its fields in the order of the wire. Which of them travel depends on the
/// revision in use (revision.h); the others keep their defaults. Packets that carry a block hold here what
/// precedes the block. Source: docs/protocol.md.

/// Packet numbers. They travel: never renumber.
enum class ClientPacket : uint64_t {
    Hello = 0,
    Query = 1,
    Data = 2,
    Cancel = 3,
    Ping = 4,
    TablesStatusRequest = 5,
    KeepAlive = 6,
    Scalar = 7,
    IgnoredPartUuids = 8,
    ReadTaskResponse = 9,
    MergeTreeReadTaskResponse = 10,
    SshChallengeRequest = 11,
    SshChallengeResponse = 12,
    QueryPlan = 13,
    MergeTreeAllRangesResponse = 14,
};

enum class ServerPacket : uint64_t {
    Hello = 0,
    Data = 1,
    Exception = 2,
    Progress = 3,
    Pong = 4,
    EndOfStream = 5,
    ProfileInfo = 6,
    Totals = 7,
    Extremes = 8,
    TablesStatusResponse = 9,
    Log = 10,
    TableColumns = 11,
    PartUuids = 12,
    ReadTaskRequest = 13,
    ProfileEvents = 14,
    MergeTreeAllRanges = 15,
    MergeTreeReadTaskRequest = 16,
    TimezoneUpdate = 17,
    SshChallenge = 18,
    PreviewData = 19,
};

/// "Query", "unknown packet 77".
std::string packetName(ClientPacket packet);
std::string packetName(ServerPacket packet);

/// The user of a connection that proves itself by the secret of its cluster.
inline constexpr const char* kInterserverUser = " INTERSERVER SECRET ";
inline constexpr const char* kSshUserPrefix = " SSH KEY AUTHENTICATION ";
inline constexpr const char* kJwtUser = " JWT AUTHENTICATION ";

/// The flags of a setting on the wire: never renumber.
namespace setting_flag {

/// An unknown name must be an error.
inline constexpr uint64_t kImportant = 1;
/// A name that only the two ends know; also the flag of query parameters.
inline constexpr uint64_t kCustom = 2;

}  // namespace setting_flag

struct SettingChange {
    std::string name;
    uint64_t flags = 0;
    std::string value;

    friend bool operator==(const SettingChange&, const SettingChange&) = default;
};

struct ClientHello {
    std::string client_name;
    uint64_t version_major = 0;
    uint64_t version_minor = 0;
    uint64_t revision = 0;
    std::string database;
    std::string user;
    std::string password;
    /// These two only when user is kInterserverUser.
    std::string cluster;
    std::string salt;
};

/// The wishes and outcomes of chunked framing.
inline constexpr const char* kChunked = "chunked";
inline constexpr const char* kNotChunked = "notchunked";
inline constexpr const char* kChunkedOptional = "chunked_optional";
inline constexpr const char* kNotChunkedOptional = "notchunked_optional";

struct PasswordRule {
    std::string pattern;
    std::string message;
};

struct ServerHello {
    std::string server_name;
    uint64_t version_major = 0;
    uint64_t version_minor = 0;
    uint64_t revision = 0;
    uint64_t parallel_replicas_version = 0;
    std::string time_zone;
    std::string display_name;
    uint64_t version_patch = 0;
    /// Wishes for server to client, then for client to server.
    std::string chunked_send = kNotChunked;
    std::string chunked_receive = kNotChunked;
    std::vector<PasswordRule> password_rules;
    uint64_t nonce = 0;
    std::vector<SettingChange> settings;
    uint64_t query_plan_version = 0;
    uint64_t cluster_function_version = 0;
};

/// Follows the hellos, without a packet number.
struct Addendum {
    std::string quota_key;
    /// What was agreed, from the client's point of view.
    std::string chunked_send = kNotChunked;
    std::string chunked_receive = kNotChunked;
    uint64_t parallel_replicas_version = 0;
};

enum class QueryKind : uint8_t { None = 0, Initial = 1, Secondary = 2 };

enum class ClientInterface : uint8_t { Tcp = 1, Http = 2 };

struct TraceContext {
    std::array<uint8_t, 16> trace_id{};
    std::array<uint8_t, 8> span_id{};
    std::string state;
    uint8_t flags = 0;

    friend bool operator==(const TraceContext&, const TraceContext&) = default;
};

/// Who asked at first, passed on from server to server.
struct ClientInfo {
    QueryKind kind = QueryKind::None;
    std::string initial_user;
    std::string initial_query_id;
    std::string initial_address = "0.0.0.0:0";
    int64_t initial_start_time_us = 0;
    /// A value we do not know (6 is the embedded engine) carries neither of the two branches below.
    uint8_t client_interface = static_cast<uint8_t>(ClientInterface::Tcp);
    // ClientInterface::Tcp
    std::string os_user;
    std::string host_name;
    std::string client_name;
    uint64_t version_major = 0;
    uint64_t version_minor = 0;
    uint64_t revision = 0;
    // ClientInterface::Http
    uint8_t http_method = 0;
    std::string http_user_agent;
    std::string forwarded_for;
    std::string http_referer;
    std::string http_handler;
    // every interface
    std::string quota_key;
    uint64_t distributed_depth = 0;
    uint64_t version_patch = 0;
    std::optional<TraceContext> trace;
    uint64_t collaborate_with_initiator = 0;
    uint64_t participating_replicas = 0;
    uint64_t current_replica = 0;
    uint64_t script_query_number = 0;
    uint64_t script_line_number = 0;
    std::optional<std::string> jwt;
    std::string client_agent;
    bool is_internal = false;
    std::optional<std::vector<std::string>> current_roles;
};

/// How far a query is taken before its blocks are sent: never renumber.
enum class Stage : uint8_t {
    FetchColumns = 0,
    WithMergeableState = 1,
    Complete = 2,
    WithMergeableStateAfterAggregation = 3,
    WithMergeableStateAfterAggregationAndLimit = 4,
    QueryPlan = 7,
};

struct Query {
    std::string query_id;
    ClientInfo client_info;
    std::vector<SettingChange> settings;
    std::vector<std::string> external_roles;
    std::string interserver_hash;
    uint64_t stage = static_cast<uint64_t>(Stage::Complete);
    /// Whether the blocks of this query travel in compressed frames, both ways.
    bool compression = false;
    std::string text;
    std::vector<SettingChange> parameters;
};

/// Precedes the block of Data, Scalar, Totals, Extremes, Log, ProfileEvents: the name of an external table or
/// scalar.
struct DataHeader {
    std::string name;
};

struct TableName {
    std::string database;
    std::string table;

    friend bool operator==(const TableName&, const TableName&) = default;
};

struct TablesStatusRequest {
    std::vector<TableName> tables;
};

struct TableStatus {
    TableName name;
    bool is_replicated = false;
    uint64_t absolute_delay_s = 0;
    uint64_t is_read_only = 0;
};

/// A table that does not exist is left out.
struct TablesStatusResponse {
    std::vector<TableStatus> tables;
};

struct ExceptionRecord {
    int32_t code = 0;
    std::string name = "DB::Exception";
    std::string message;
    std::string stack_trace;
};

/// The exception, then the ones nested in it, outermost first; never empty.
struct Exception {
    std::vector<ExceptionRecord> chain;
};

/// Increments since the last Progress of the query.
struct Progress {
    uint64_t rows = 0;
    uint64_t bytes = 0;
    uint64_t total_rows = 0;
    uint64_t total_bytes = 0;
    uint64_t written_rows = 0;
    uint64_t written_bytes = 0;
    uint64_t elapsed_ns = 0;

    friend bool operator==(const Progress&, const Progress&) = default;
};

struct ProfileInfo {
    uint64_t rows = 0;
    uint64_t blocks = 0;
    uint64_t bytes = 0;
    bool applied_limit = false;
    uint64_t rows_before_limit = 0;
    bool calculated = true;
    bool applied_aggregation = false;
    uint64_t rows_before_aggregation = 0;

    friend bool operator==(const ProfileInfo&, const ProfileInfo&) = default;
};

/// Before the sample block of an INSERT by a user's client; never for a secondary query.
struct TableColumns {
    std::string table;
    std::string description;
};

struct TimezoneUpdate {
    std::string time_zone;
};

}  // namespace shardd::protocol
