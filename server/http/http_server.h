#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "server/session/query.h"

namespace shardd::http {

struct HttpOptions {
    std::string host = "127.0.0.1";
    uint16_t port = 0;
    int backlog = 4096;
    size_t max_connections = 4096;
    std::chrono::seconds keep_alive_timeout{30};
    std::chrono::seconds receive_timeout{30};
    std::chrono::seconds send_timeout{30};
    std::string display_name = "shardd";
    std::string version;  ///< of the server, as errors tell it
    std::string time_zone = "UTC";
};

/// ClickHouse's HTTP interface on one address: queries in the URL or the body, rows as text, `/ping`.
/// Threads: one for each connection, of its own; the members below from the thread that owns it.
class HttpServer {
public:
    /// Listens at once. Errors: NETWORK_ERROR (210) naming the address.
    HttpServer(HttpOptions options, std::shared_ptr<session::SessionHost> host);
    ~HttpServer();
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

    void start();

    /// No new connections and no new requests.
    void stopAccepting();

    /// Waits up to `patience` for running requests, then ends their connections.
    void finish(std::chrono::milliseconds patience);

    uint16_t port() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace shardd::http
