#pragma once

#include <memory>

#include "server/http/http_server.h"

namespace Poco::Net {
class HTTPServerRequest;
class HTTPServerResponse;
}  // namespace Poco::Net

namespace shardd::http {

class SessionStore;

/// Runs the query of one request on the host and writes its answer. Throws nothing.
/// Threads: the connection's; waits for the query.
void serveQuery(Poco::Net::HTTPServerRequest& request,
                Poco::Net::HTTPServerResponse& response,
                session::SessionHost& host,
                SessionStore& sessions,
                const HttpOptions& options);

}  // namespace shardd::http
