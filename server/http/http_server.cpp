#include "server/http/http_server.h"

#include <thread>

#include <Poco/Net/HTTPRequestHandler.h>
#include <Poco/Net/HTTPRequestHandlerFactory.h>
#include <Poco/Net/HTTPServer.h>
#include <Poco/Net/HTTPServerRequest.h>
#include <Poco/Net/HTTPServerResponse.h>
#include <Poco/Net/NetException.h>
#include <Poco/Net/ServerSocket.h>
#include <Poco/ThreadPool.h>
#include <Poco/URI.h>

#include "common/base/error.h"
#include "common/base/log.h"
#include "server/http/http_query.h"
#include "server/http/session_store.h"

namespace shardd::http {

namespace net = Poco::Net;

namespace {

constexpr Log kLog("http");

/// What all requests of a server share.
struct Shared {
    HttpOptions options;
    std::shared_ptr<session::SessionHost> host;
    SessionStore sessions;
};

void sendText(net::HTTPServerRequest& request,
              net::HTTPServerResponse& response,
              int status,
              const std::string& text) {
    response.setStatusAndReason(static_cast<net::HTTPResponse::HTTPStatus>(status));
    response.setContentType("text/html; charset=UTF-8");
    response.setContentLength64(static_cast<Poco::Int64>(text.size()));
    std::ostream& out = response.send();
    if (request.getMethod() != net::HTTPRequest::HTTP_HEAD) out << text;
}

class Handler final : public net::HTTPRequestHandler {
public:
    explicit Handler(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

    void handleRequest(net::HTTPServerRequest& request, net::HTTPServerResponse& response) override {
        try {
            answer(request, response);
        } catch (const Poco::Exception& exception) {
            kLog.debug("{}: {}", request.clientAddress().toString(), exception.displayText());
        } catch (const std::exception& exception) {
            kLog.debug("{}: {}", request.clientAddress().toString(), exception.what());
        }
    }

private:
    void answer(net::HTTPServerRequest& request, net::HTTPServerResponse& response) {
        const std::string& method = request.getMethod();
        const std::string& uri = request.getURI();
        const std::string path = uri.substr(0, uri.find('?'));
        const bool reads = method == net::HTTPRequest::HTTP_GET || method == net::HTTPRequest::HTTP_HEAD;
        response.set("X-ClickHouse-Server-Display-Name", shared_->options.display_name);
        if (response.getKeepAlive())
            response.set("Keep-Alive",
                         fmt::format("timeout={}", shared_->options.keep_alive_timeout.count()));
        if (reads && (path == "/ping" || path == "/replicas_status" || uri == "/"))
            return sendText(request, response, 200, "Ok.\n");
        if (path != "/")
            return sendText(
                request, response, 404,
                fmt::format("There is no handle {}\n\nUse / or /ping for health checks.\nSend queries "
                            "from your program with POST method or GET /?query=...\n",
                            path));
        if (!reads && method != net::HTTPRequest::HTTP_POST)
            return sendText(request, response, 501, fmt::format("Method {} is not offered here\n", method));
        serveQuery(request, response, *shared_->host, shared_->sessions, shared_->options);
    }

    const std::shared_ptr<Shared> shared_;
};

class HandlerFactory final : public net::HTTPRequestHandlerFactory {
public:
    explicit HandlerFactory(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

    net::HTTPRequestHandler* createRequestHandler(const net::HTTPServerRequest&) override {
        return new Handler(shared_);  // Poco owns it
    }

private:
    const std::shared_ptr<Shared> shared_;
};

Poco::Timespan toTimespan(std::chrono::seconds seconds) { return {static_cast<long>(seconds.count()), 0}; }

}  // namespace

struct HttpServer::Impl {
    net::ServerSocket socket;
    std::unique_ptr<Poco::ThreadPool> threads;
    std::unique_ptr<net::HTTPServer> server;
};

HttpServer::HttpServer(HttpOptions options, std::shared_ptr<session::SessionHost> host)
    : impl_(std::make_unique<Impl>()) {
    try {
        const std::string address = options.host == "localhost" ? "127.0.0.1" : options.host;
        const net::SocketAddress where(address, options.port);
        if (where.family() == net::SocketAddress::IPv6)
            impl_->socket.bind6(where, true, false, false);
        else
            impl_->socket.bind(where, true);
        impl_->socket.listen(options.backlog);
    } catch (const Poco::Exception& exception) {
        throw Error(ErrorCode::NETWORK_ERROR, "Cannot listen on {}:{} for HTTP: {}", options.host,
                    options.port, exception.displayText());
    }
    const int most = static_cast<int>(std::min<size_t>(options.max_connections, 16384));
    net::HTTPServerParams::Ptr params = new net::HTTPServerParams;
    params->setKeepAlive(true);
    params->setKeepAliveTimeout(toTimespan(options.keep_alive_timeout));
    params->setMaxKeepAliveRequests(0);
    params->setTimeout(toTimespan(options.receive_timeout));
    params->setMaxThreads(most);
    params->setMaxQueued(options.backlog);
    impl_->threads = std::make_unique<Poco::ThreadPool>("http", 1, most, 60);
    auto shared = std::make_shared<Shared>();
    shared->options = std::move(options);
    shared->host = std::move(host);
    impl_->server = std::make_unique<net::HTTPServer>(new HandlerFactory(std::move(shared)), *impl_->threads,
                                                      impl_->socket, params);
}

HttpServer::~HttpServer() { finish(std::chrono::milliseconds(0)); }

void HttpServer::start() { impl_->server->start(); }

void HttpServer::stopAccepting() { impl_->server->stop(); }

void HttpServer::finish(std::chrono::milliseconds patience) {
    if (!impl_->server) return;
    impl_->server->stop();
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (impl_->server->currentThreads() > 0 && std::chrono::steady_clock::now() < deadline)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    impl_->server->stopAll(true);
    impl_->threads->joinAll();
    impl_->server.reset();
}

uint16_t HttpServer::port() const { return impl_->socket.address().port(); }

}  // namespace shardd::http
