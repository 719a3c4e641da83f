#pragma once

#include <memory>

namespace boost::asio {
class io_context;
}

namespace shardd::net {

/// The event loop of all sockets and its threads. Coroutines run here; nothing on these threads may block or
/// compute for longer than the encoding of a block takes.
class Network {
public:
    explicit Network(unsigned threads);
    ~Network();
    Network(const Network&) = delete;
    Network& operator=(const Network&) = delete;

    boost::asio::io_context& context();

    void start();

    /// Ends the loop; what still waits is dropped. Called by the destructor too.
    void stop();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace shardd::net
