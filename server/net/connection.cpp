#include "server/net/connection.h"

#include <algorithm>
#include <optional>

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "common/base/error.h"
#include "common/base/host.h"
#include "common/protocol/chunked.h"
#include "server/net/connection_impl.h"
#include "server/net/interrupt.h"

namespace shardd::net {

namespace asio = boost::asio;
using boost::system::error_code;
using Tcp = asio::ip::tcp;

namespace {

/// What one read may bring: little for a connection with little to say, more as long as reads are full.
constexpr size_t kFirstReadBytes = size_t{16} << 10;
constexpr size_t kMostReadBytes = size_t{256} << 10;

std::string toText(const Tcp::endpoint& endpoint) {
    return addressText(endpoint.address().to_string(), endpoint.port());
}

/// Cancels `io` when the deadline passes; says afterwards whether it did. Lives on the stack of a coroutine.
template <typename Io>
class Watchdog {
public:
    Watchdog(asio::steady_timer& timer, Io& io, Clock::time_point deadline) : timer_(timer) {
        if (deadline == Clock::time_point::max()) return;
        fired_ = std::make_shared<bool>(false);
        timer_.expires_at(deadline);
        timer_.async_wait([fired = std::weak_ptr<bool>(fired_), &io](const error_code& error) {
            const std::shared_ptr<bool> alive = fired.lock();
            if (error || !alive) return;
            *alive = true;
            error_code ignored;
            io.cancel(ignored);
        });
    }

    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

    ~Watchdog() {
        if (fired_) timer_.cancel();
    }

    bool fired() const { return fired_ && *fired_; }

private:
    asio::steady_timer& timer_;
    std::shared_ptr<bool> fired_;
};

/// Over a plain socket or a TLS stream; the two differ in nothing but their type.
template <typename Stream>
class StreamConnection final : public Connection {
public:
    explicit StreamConnection(Stream stream)
        : stream_(std::move(stream)), wake_(stream_.get_executor()), write_timer_(stream_.get_executor()) {
        error_code ignored;
        socket().set_option(Tcp::no_delay(true), ignored);
        socket().set_option(asio::socket_base::keep_alive(true), ignored);
        const Tcp::endpoint peer = socket().remote_endpoint(ignored);
        if (!ignored) peer_address_ = toText(peer);
        const Tcp::endpoint local = socket().local_endpoint(ignored);
        if (!ignored) local_address_ = toText(local);
    }

    Stream& stream() { return stream_; }

    asio::any_io_executor executor() override { return stream_.get_executor(); }

    Awaitable<bool> readMore(Clock::time_point deadline) override {
        const uint64_t before = received_bytes_;
        while (received_bytes_ == before) {
            if (peer_gone_) co_return false;
            if (Clock::now() >= deadline)
                throw Error(ErrorCode::SOCKET_TIMEOUT, "Timeout exceeded while reading from socket ({})",
                            peer_address_);
            readAhead();
            co_await waitForEvent(deadline);
        }
        co_return true;
    }

    void readAhead() override {
        if (reading_ || peer_gone_) return;
        reading_ = true;
        auto self = std::static_pointer_cast<StreamConnection>(shared_from_this());
        if (buffer_.size() < wanted_read_bytes_) buffer_.resize(wanted_read_bytes_);
        stream_.async_read_some(
            asio::buffer(buffer_.data(), buffer_.size()),
            [self](const error_code& error, size_t size) { self->readDone(error, size); });
    }

    bool peerGone() const override { return peer_gone_; }

    Awaitable<void> waitForEvent(Clock::time_point deadline) override {
        if (!signaled_) {
            wake_.expires_at(deadline);
            error_code ignored;
            co_await wake_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
        }
        signaled_ = false;
    }

    void notify() override {
        asio::post(
            stream_.get_executor(),
            [self = std::static_pointer_cast<StreamConnection>(shared_from_this())] { self->signal(); });
    }

    Awaitable<void> write(std::string_view packets, Clock::time_point deadline) override {
        error_code error;
        {
            Watchdog<Tcp::socket::lowest_layer_type> watchdog(write_timer_, socket(), deadline);
            const asio::const_buffer bytes(packets.data(), packets.size());
            sent_bytes_ +=
                co_await asio::async_write(stream_, bytes, asio::redirect_error(asio::use_awaitable, error));
            if (watchdog.fired())
                throw Error(ErrorCode::SOCKET_TIMEOUT, "Timeout exceeded while writing to socket ({})",
                            peer_address_);
        }
        if (error)
            throw Error(ErrorCode::NETWORK_ERROR, "Cannot write to socket ({}): {}", peer_address_,
                        error.message());
    }

    void receiveChunked() override {
        chunks_.emplace();
        const std::string early(window_.view());
        window_.clear();
        chunks_->feed(early, window_);
    }

    void keepAliveAfter(std::chrono::seconds idle) override {
        constexpr std::chrono::seconds::rep kMost = 32767;  // of Linux
        const int seconds = static_cast<int>(std::clamp<std::chrono::seconds::rep>(idle.count(), 1, kMost));
        ::setsockopt(socket().native_handle(), IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof(seconds));
    }

    void close() override {
        peer_gone_ = true;
        error_code ignored;
        socket().shutdown(Tcp::socket::shutdown_both, ignored);
        socket().close(ignored);
        signal();
    }

private:
    Tcp::socket::lowest_layer_type& socket() { return stream_.lowest_layer(); }

    void signal() {
        signaled_ = true;
        wake_.cancel();
    }

    void readDone(const error_code& error, size_t size) {
        reading_ = false;
        if (size > 0) {
            received_bytes_ += size;
            if (size == buffer_.size()) wanted_read_bytes_ = std::min(2 * size, kMostReadBytes);
            const std::string_view bytes(buffer_.data(), size);
            if (chunks_)
                chunks_->feed(bytes, window_);
            else
                window_.append(bytes);
        }
        if (error) peer_gone_ = true;
        if (error && error != asio::error::eof && error != asio::error::operation_aborted)
            read_failure_ = error.message();
        signal();
    }

    Stream stream_;
    asio::steady_timer wake_;
    asio::steady_timer write_timer_;
    PodVector<char> buffer_;
    size_t wanted_read_bytes_ = kFirstReadBytes;
    std::optional<protocol::ChunkDecoder> chunks_;
    bool reading_ = false;
    bool peer_gone_ = false;
    bool signaled_ = false;
};

using PlainConnection = StreamConnection<Tcp::socket>;
using SecureStream = asio::ssl::stream<Tcp::socket>;

/// Says to the server, and to the verification of its certificate, whom we mean.
void nameHost(SSL* stream, const std::string& host, bool check) {
    error_code not_an_address;
    asio::ip::make_address(host, not_an_address);
    if (not_an_address) SSL_set_tlsext_host_name(stream, host.c_str());
    if (!check) return;
    X509_VERIFY_PARAM* wanted = SSL_get0_param(stream);
    if (not_an_address)
        X509_VERIFY_PARAM_set1_host(wanted, host.c_str(), host.size());
    else
        X509_VERIFY_PARAM_set1_ip_asc(wanted, host.c_str());
}

/// "certificate verify failed (self-signed certificate)"
std::string handshakeWords(SSL* stream, const error_code& error) {
    const long verified = SSL_get_verify_result(stream);
    if (verified == X509_V_OK) return error.message();
    return fmt::format("{} ({})", error.message(), X509_verify_cert_error_string(verified));
}

asio::awaitable<std::shared_ptr<Connection>> handshake(Tcp::socket socket,
                                                       Tls::State tls,
                                                       std::string host,
                                                       asio::ssl::stream_base::handshake_type side,
                                                       Clock::time_point deadline) {
    // The stream keeps OpenSSL's side of the context alive by itself.
    const auto made =
        std::make_shared<StreamConnection<SecureStream>>(SecureStream(std::move(socket), *tls.context));
    SecureStream& stream = made->stream();
    if (side == asio::ssl::stream_base::client) nameHost(stream.native_handle(), host, tls.check_host_name);
    asio::steady_timer timer(stream.get_executor());
    error_code error;
    Watchdog<SecureStream::lowest_layer_type> watchdog(timer, stream.lowest_layer(), deadline);
    co_await stream.async_handshake(side, asio::redirect_error(asio::use_awaitable, error));
    if (watchdog.fired())
        throw Error(ErrorCode::SOCKET_TIMEOUT, "Timeout exceeded in the TLS handshake with {}",
                    made->peerAddress());
    if (error)
        throw Error(ErrorCode::NETWORK_ERROR, "TLS handshake with {} failed: {}", made->peerAddress(),
                    handshakeWords(stream.native_handle(), error));
    co_return made;
}

void throwIfRaised(const Interrupt* interrupt) {
    if (interrupt && interrupt->raised()) throw Error(ErrorCode::QUERY_WAS_CANCELLED, "Query was cancelled");
}

asio::awaitable<Tcp::resolver::results_type> resolve(const Connection::Target& target,
                                                     Clock::time_point deadline,
                                                     Interrupt* interrupt) {
    Tcp::resolver resolver(co_await asio::this_coro::executor);
    // The common case, an address, needs no other thread.
    error_code error;
    const asio::ip::address address = asio::ip::make_address(target.host, error);
    if (!error)
        co_return Tcp::resolver::results_type::create(Tcp::endpoint(address, target.port), target.host, "");

    struct Cancel {
        Tcp::resolver& resolver;

        void cancel(error_code&) { resolver.cancel(); }
    } cancel{resolver};

    asio::steady_timer timer(resolver.get_executor());
    Watchdog<Cancel> watchdog(timer, cancel, deadline);
    const Interrupt::Wait wait(interrupt, resolver.get_executor(), [&resolver] { resolver.cancel(); });
    const std::string port = fmt::format("{}", target.port);
    error.clear();
    Tcp::resolver::results_type found =
        co_await resolver.async_resolve(target.host, port, asio::redirect_error(asio::use_awaitable, error));
    throwIfRaised(interrupt);
    if (watchdog.fired())
        throw Error(ErrorCode::SOCKET_TIMEOUT, "Timeout exceeded while resolving {}", target.host);
    if (error)
        throw Error(ErrorCode::DNS_ERROR, "Not found address of host: {} ({}:{})", target.host, target.host,
                    target.port);
    co_return found;
}

}  // namespace

asio::awaitable<std::shared_ptr<Connection>> Connection::connect(Target target,
                                                                 Clock::time_point deadline,
                                                                 Interrupt* interrupt) {
    const Tcp::resolver::results_type endpoints = co_await resolve(target, deadline, interrupt);
    Tcp::socket socket(co_await asio::this_coro::executor);
    asio::steady_timer timer(socket.get_executor());
    error_code error;
    {
        Watchdog<Tcp::socket> watchdog(timer, socket, deadline);
        const Interrupt::Wait wait(interrupt, socket.get_executor(), [&socket] {
            error_code ignored;
            socket.close(ignored);
        });
        co_await asio::async_connect(socket, endpoints, asio::redirect_error(asio::use_awaitable, error));
        throwIfRaised(interrupt);
        if (watchdog.fired())
            throw Error(ErrorCode::SOCKET_TIMEOUT, "Timeout: connect timed out: {}",
                        addressText(target.host, target.port));
    }
    if (error)
        throw Error(ErrorCode::NETWORK_ERROR, "{} ({})", error.message(),
                    addressText(target.host, target.port));
    if (!target.secure) co_return adoptPlain(std::move(socket));
    const Tls::State tls = (target.tls ? *target.tls : Tls::defaultClient()).current();
    std::shared_ptr<Connection> made =
        co_await handshake(std::move(socket), tls, target.host, asio::ssl::stream_base::client, deadline);
    co_return made;
}

std::shared_ptr<Connection> adoptPlain(Tcp::socket socket) {
    return std::make_shared<PlainConnection>(std::move(socket));
}

asio::awaitable<std::shared_ptr<Connection>> adoptSecure(Tcp::socket socket,
                                                         Tls::State tls,
                                                         Clock::time_point deadline) {
    return handshake(std::move(socket), std::move(tls), "", asio::ssl::stream_base::server, deadline);
}

}  // namespace shardd::net
