#include "server/http/http_request.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "common/base/error.h"

namespace shardd::http {

namespace {

bool isTrue(std::string_view text) { return text == "1" || text == "true"; }

HttpRequest::Compression encodingOf(std::string_view name) {
    if (name == "gzip" || name == "x-gzip") return HttpRequest::Compression::Gzip;
    if (name == "deflate") return HttpRequest::Compression::Deflate;
    return HttpRequest::Compression::None;
}

/// Of "gzip;q=1.0, br" the first that is offered here.
HttpRequest::Compression acceptedOf(std::string_view list) {
    while (!list.empty()) {
        const size_t comma = std::min(list.find(','), list.size());
        std::string_view word = list.substr(0, std::min(comma, list.find(';')));
        while (word.starts_with(' ')) word.remove_prefix(1);
        while (word.ends_with(' ')) word.remove_suffix(1);
        if (const auto found = encodingOf(word); found != HttpRequest::Compression::None) return found;
        list.remove_prefix(std::min(comma + 1, list.size()));
    }
    return HttpRequest::Compression::None;
}

/// A value as settings and parameters travel: between quotes, so that it is never taken for another type's
/// dump.
std::string dumpOf(std::string_view text) {
    std::string dump = "'";
    for (const char c : text) {
        if (c == '\'' || c == '\\') dump += '\\';
        dump += c;
    }
    return dump + "'";
}

/// Where the credentials come from: one place only.
void readCredentials(const UrlParameters& parameters,
                     const HeaderLookup& header,
                     const std::optional<std::pair<std::string, std::string>>& basic,
                     HttpRequest& request) {
    const auto user_header = header("X-ClickHouse-User");
    const auto key_header = header("X-ClickHouse-Key");
    std::optional<std::string> user;
    std::optional<std::string> password;
    for (const auto& [name, value] : parameters) {
        if (name == "user") user = value;
        if (name == "password") password = value;
    }
    const bool by_headers = user_header || key_header;
    const bool by_url = user || password;
    if (by_headers && (basic || by_url))
        throw Error(ErrorCode::AUTHENTICATION_FAILED,
                    "Invalid authentication: it is not allowed to use X-ClickHouse HTTP headers and other "
                    "authentication methods simultaneously");
    if (basic && by_url)
        throw Error(
            ErrorCode::AUTHENTICATION_FAILED,
            "Invalid authentication: it is not allowed to use Authorization HTTP header and authentication "
            "via parameters simultaneously");
    if (by_headers) {
        request.user = user_header.value_or("");
        request.password = key_header.value_or("");
    } else if (basic) {
        request.user = basic->first;
        request.password = basic->second;
    } else {
        request.user = user.value_or("");
        request.password = password.value_or("");
    }
    if (request.user.empty()) request.user = "default";
}

void readParameter(const std::string& name, const std::string& value, HttpRequest& request) {
    constexpr std::string_view kParameter = "param_";
    if (name == "user" || name == "password") return;
    if (name == "query") {
        request.query = value;
    } else if (name == "database") {
        request.database = value;
    } else if (name == "query_id") {
        request.query_id = value;
    } else if (name == "session_id") {
        request.session_id = value;
    } else if (name == "session_timeout") {
        const auto [end, status] =
            std::from_chars(value.data(), value.data() + value.size(), request.session_timeout_s);
        if (status != std::errc() || end != value.data() + value.size() || request.session_timeout_s < 0)
            throw Error(ErrorCode::INVALID_SESSION_TIMEOUT, "Invalid session timeout: '{}'", value);
    } else if (name == "session_check") {
        request.session_check = isTrue(value);
    } else if (name == "default_format") {
        request.default_format = value;
    } else if (name == "quota_key") {
        request.quota_key = value;
    } else if (name == "wait_end_of_query") {
        request.wait_end_of_query = isTrue(value);
    } else if (name == "compress") {
        request.frames_out = isTrue(value);
    } else if (name == "decompress") {
        request.frames_in = isTrue(value);
    } else if (name.starts_with(kParameter)) {
        request.parameters.push_back({.name = name.substr(kParameter.size()), .value = dumpOf(value)});
    } else if (name != "buffer_size" && name != "stacktrace" && name != "role" &&
               name != "client_protocol_version" && !name.empty()) {
        request.settings.push_back(
            {.name = name, .flags = protocol::setting_flag::kImportant, .value = value});
    }
}

}  // namespace

std::optional<std::string> HttpRequest::setting(std::string_view name) const {
    const auto found = std::find_if(settings.rbegin(), settings.rend(),
                                    [&](const auto& change) { return change.name == name; });
    return found == settings.rend() ? std::nullopt : std::optional(found->value);
}

bool HttpRequest::flag(std::string_view name, bool otherwise) const {
    const auto value = setting(name);
    return value ? isTrue(*value) : otherwise;
}

HttpRequest readRequest(const UrlParameters& parameters,
                        const HeaderLookup& header,
                        const std::optional<std::pair<std::string, std::string>>& basic) {
    HttpRequest request;
    readCredentials(parameters, header, basic, request);
    request.database = header("X-ClickHouse-Database").value_or("");
    request.quota_key = header("X-ClickHouse-Quota").value_or("");
    if (const auto format = header("X-ClickHouse-Format")) request.default_format = *format;
    for (const auto& [name, value] : parameters) readParameter(name, value, request);
    if (request.flag("http_wait_end_of_query", false)) request.wait_end_of_query = true;
    if (request.flag("enable_http_compression", true))
        request.accepted = acceptedOf(header("Accept-Encoding").value_or(""));
    if (const auto encoding = header("Content-Encoding");
        encoding && !encoding->empty() && *encoding != "identity") {
        request.encoded = encodingOf(*encoding);
        if (request.encoded == HttpRequest::Compression::None)
            throw Error(ErrorCode::NOT_IMPLEMENTED,
                        "Unknown compression method {}: gzip and deflate are offered", *encoding);
    }
    return request;
}

int statusOf(int error_code) {
    using enum ErrorCode;
    static constexpr std::array kBadRequest{BAD_ARGUMENTS,
                                            CANNOT_COMPILE_REGEXP,
                                            CANNOT_PARSE_TEXT,
                                            CANNOT_PARSE_ESCAPE_SEQUENCE,
                                            CANNOT_PARSE_QUOTED_STRING,
                                            CANNOT_PARSE_DATE,
                                            CANNOT_PARSE_DATETIME,
                                            CANNOT_PARSE_NUMBER,
                                            CANNOT_PARSE_DOMAIN_VALUE_FROM_STRING,
                                            CANNOT_PARSE_IPV4,
                                            CANNOT_PARSE_IPV6,
                                            CANNOT_PARSE_INPUT_ASSERTION_FAILED,
                                            CANNOT_PARSE_UUID,
                                            DUPLICATE_COLUMN,
                                            ILLEGAL_COLUMN,
                                            UNKNOWN_ELEMENT_IN_AST,
                                            UNKNOWN_TYPE_OF_AST_NODE,
                                            THERE_IS_NO_COLUMN,
                                            TOO_DEEP_AST,
                                            TOO_BIG_AST,
                                            UNEXPECTED_AST_STRUCTURE,
                                            SYNTAX_ERROR,
                                            INCORRECT_DATA,
                                            TYPE_MISMATCH,
                                            VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE};
    static constexpr std::array kNotFound{
        UNKNOWN_TABLE,   UNKNOWN_FUNCTION,           UNKNOWN_IDENTIFIER,      UNKNOWN_TYPE,
        UNKNOWN_STORAGE, UNKNOWN_DATABASE,           UNKNOWN_SETTING,         UNKNOWN_DIRECTION_OF_SORTING,
        UNKNOWN_FORMAT,  UNKNOWN_AGGREGATE_FUNCTION, UNKNOWN_DATABASE_ENGINE, UNKNOWN_TYPE_OF_QUERY,
        UNKNOWN_ROLE};
    static constexpr std::array kForbidden{UNKNOWN_USER, WRONG_PASSWORD, AUTHENTICATION_FAILED,
                                           SET_NON_GRANTED_ROLE, ACCESS_DENIED};
    static constexpr std::array kUnavailable{SOCKET_TIMEOUT, CANNOT_OPEN_FILE, CANNOT_SCHEDULE_TASK};
    const auto code = static_cast<ErrorCode>(error_code);
    const auto isOne = [code](const auto& list) {
        return std::find(list.begin(), list.end(), code) != list.end();
    };
    if (code == REQUIRED_PASSWORD) return 401;
    if (isOne(kForbidden)) return 403;
    if (isOne(kBadRequest)) return 400;
    if (isOne(kNotFound)) return 404;
    if (code == QUERY_IS_TOO_LARGE) return 413;
    if (code == NOT_IMPLEMENTED) return 501;
    if (isOne(kUnavailable)) return 503;
    if (code == HTTP_LENGTH_REQUIRED) return 411;
    if (code == TIMEOUT_EXCEEDED) return 408;
    return 500;
}

std::string errorText(int code, std::string_view message, std::string_view version) {
    if (message.ends_with('.')) message.remove_suffix(1);
    return fmt::format("Code: {}. DB::Exception: {}. ({}) (version {})\n", code, message, errorName(code),
                       version);
}

}  // namespace shardd::http
