#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/protocol/packets.h"

namespace shardd::http {

/// Pairs of the query of a URL, decoded, in their order.
using UrlParameters = std::vector<std::pair<std::string, std::string>>;

/// What a request says beside its body, sorted out. No sockets: made from what a library has parsed.
struct HttpRequest {
    enum class Compression : uint8_t { None, Gzip, Deflate };

    std::string user;
    std::string password;
    std::string database;
    std::string query;  ///< of the URL
    std::string query_id;
    std::string session_id;
    int64_t session_timeout_s = 60;
    bool session_check = false;
    std::string default_format = "TabSeparated";
    std::string quota_key;
    bool wait_end_of_query = false;
    std::vector<protocol::SettingChange> settings;
    std::vector<protocol::SettingChange> parameters;  ///< param_…
    Compression accepted = Compression::None;         ///< by the client, as Accept-Encoding says
    Compression encoded = Compression::None;          ///< of the body, as Content-Encoding says
    bool frames_in = false;   ///< decompress=1: the body is in frames of the native protocol
    bool frames_out = false;  ///< compress=1

    /// Of a setting of the URL; `otherwise` where it is not there.
    bool flag(std::string_view setting, bool otherwise) const;
    std::optional<std::string> setting(std::string_view name) const;
};

/// Looks a header up; nothing when it is not there. Names are those of ClickHouse's documentation.
using HeaderOf = std::optional<std::string> (*)(const void* headers, std::string_view name);

struct HeaderLookup {
    const void* headers = nullptr;
    HeaderOf find = nullptr;

    std::optional<std::string> operator()(std::string_view name) const { return find(headers, name); }
};

/// `basic` is what stands in an Authorization header of the scheme Basic, decoded: name and password.
/// Errors: BAD_ARGUMENTS for two ways to log in at once, for an encoding that is not offered.
HttpRequest readRequest(const UrlParameters& parameters,
                        const HeaderLookup& header,
                        const std::optional<std::pair<std::string, std::string>>& basic);

/// ClickHouse's choice of a status for an error.
int statusOf(int error_code);

/// "Code: 60. DB::Exception: … (UNKNOWN_TABLE) (version 26.7.1.1)\n"
std::string errorText(int code, std::string_view message, std::string_view version);

}  // namespace shardd::http
