#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "server/http/http_request.h"

namespace Poco::Net {
class HTTPServerRequest;
class HTTPServerResponse;
}  // namespace Poco::Net

namespace shardd::http {

struct ResponseOptions {
    HttpRequest::Compression compression = HttpRequest::Compression::None;
    bool frames = false;  ///< in the frames of the native protocol
    /// Held back before the head is sent, so that an error in them still has a status of its own.
    size_t hold_bytes = size_t{1} << 20;
    std::string version;
    bool has_body = true;  ///< false for HEAD
};

/// One response: headers first, then a body of unknown length. What fails before the first byte has left is a
/// status and a text; afterwards the text is marked in the body, and the body is left without its end.
/// Errors: NETWORK_ERROR (210) when the client has gone. Threads: one.
class ResponseWriter {
public:
    ResponseWriter(Poco::Net::HTTPServerRequest& request,
                   Poco::Net::HTTPServerResponse& response,
                   ResponseOptions options);
    ~ResponseWriter();
    ResponseWriter(const ResponseWriter&) = delete;
    ResponseWriter& operator=(const ResponseWriter&) = delete;

    /// Before the head is sent.
    void header(const std::string& name, std::string value);

    /// A header X-ClickHouse-Progress, sent at once; afterwards the status is 200 whatever happens.
    void progress(const std::string& value);

    void write(std::string_view bytes);

    /// The head is sent.
    bool started() const;

    void finish();

    /// Ends the response with an error; `text` is what errorText() makes.
    void fail(int code, const std::string& text);

    /// The client does not listen any longer (it may still have sent more).
    bool clientGone();

    /// Ends the connection both ways: whoever reads the request's body gets its end.
    void abort();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace shardd::http
