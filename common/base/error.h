#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

namespace shardd {

/// ClickHouse's numbers under ClickHouse's names. They travel to clients: never renumber.
/// Source: system.errors of ClickHouse 26.7; the table is error_codes.inc.
enum class ErrorCode : int {
#define X(number, name) name = number,
#include "common/base/error_codes.inc"
#undef X
};

/// "UNKNOWN_TABLE" for ErrorCode::UNKNOWN_TABLE; "UNKNOWN_EXCEPTION_<n>" for a number we do not know.
std::string errorName(int code);

/// Every number with its name, ascending: the rows of system.errors.
struct ErrorCodeInfo {
    int code;
    std::string_view name;
};

std::pair<const ErrorCodeInfo*, size_t> errorCodes();

/// What ends a query, a connection or the start of the daemon. The message says the fixed words first,
/// the values last, the mend when there is one; it carries no "DB::Exception: " prefix.
class Error : public std::exception {
public:
    template <typename... Args>
    Error(ErrorCode code, fmt::format_string<Args...> format, Args&&... args)
        : code_(static_cast<int>(code)), message_(fmt::format(format, std::forward<Args>(args)...)) {}

    /// An error that came from elsewhere (a shard, a file), whose text is already complete.
    static Error foreign(int code, std::string message) { return Error(code, std::move(message), Foreign{}); }

    const char* what() const noexcept override { return message_.c_str(); }

    int code() const noexcept { return code_; }

    bool is(ErrorCode code) const noexcept { return code_ == static_cast<int>(code); }

    const std::string& message() const noexcept { return message_; }

    /// Says more about where it happened, e.g. " while reading column x"; rethrow afterwards.
    void append(std::string_view text) { message_.append(text); }

private:
    struct Foreign {};

    Error(int code, std::string message, Foreign) : code_(code), message_(std::move(message)) {}

    int code_;
    std::string message_;
};

[[noreturn]] void checkFailed(const char* condition, const char* file, int line);

/// For our own mistakes only (error 49, LOGICAL_ERROR). What a peer or a user can cause is an Error.
#define SHARDD_CHECK(condition) \
    do {                        \
        if (!(condition)) [[unlikely]] ::shardd::checkFailed(#condition, __FILE__, __LINE__); \
    } while (false)

}  // namespace shardd
