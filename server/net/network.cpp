#include "server/net/network.h"

#include <optional>
#include <thread>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

namespace shardd::net {

struct Network::Impl {
    explicit Impl(unsigned thread_count)
        : threads_wanted(thread_count), context(static_cast<int>(thread_count)) {}

    unsigned threads_wanted;
    boost::asio::io_context context;
    std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>> work;
    std::vector<std::jthread> threads;
};

Network::Network(unsigned threads) : impl_(std::make_unique<Impl>(threads)) {}

Network::~Network() { stop(); }

boost::asio::io_context& Network::context() { return impl_->context; }

void Network::start() {
    impl_->work.emplace(impl_->context.get_executor());
    for (unsigned i = 0; i < impl_->threads_wanted; ++i)
        impl_->threads.emplace_back([context = &impl_->context] { context->run(); });
}

void Network::stop() {
    impl_->work.reset();
    impl_->context.stop();
    impl_->threads.clear();
}

}  // namespace shardd::net
