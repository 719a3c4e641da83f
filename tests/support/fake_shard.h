#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "common/columns/string_column.h"
#include "server/net/network.h"
#include "server/session/session_server.h"
#include "tests/support/fake_session_host.h"

namespace shardd::test {

using session::numbers;
using session::put;
using session::QueryChannel;
using session::QueryOutput;
using session::QueryRequest;

/// One shard: a server in this process, which remembers what it was asked and given.
class FakeShard {
public:
    FakeShard(net::Network& network,
              uint8_t first_value,
              session::SessionOptions options = {},
              std::shared_ptr<const net::Tls> tls = nullptr)
        : first_value_(first_value) {
        host_ = std::make_shared<session::FakeHost>(
            [this](const QueryRequest& request, QueryChannel& channel) { answer(request, channel); });
        net::ListenerOptions listener;
        listener.tls = std::move(tls);
        server_ =
            std::make_unique<session::SessionServer>(network.context(), listener, host_, std::move(options));
        server_->start();
    }

    ~FakeShard() { stop(); }

    void stop() {
        if (!server_) return;
        server_->stopAccepting();
        server_->finish(std::chrono::milliseconds(10));
        server_.reset();
    }

    uint16_t port() const { return server_->port(); }

    size_t connections() const { return server_->openConnections(); }

    std::vector<QueryRequest> requests() {
        const std::lock_guard lock(mutex_);
        return requests_;
    }

    /// A query is sent to its shards one by one, and what ends it on one may come before another was asked at all.
    void waitUntilAsked() {
        std::unique_lock lock(mutex_);
        asked_.wait(lock, [&] { return !requests_.empty(); });
    }

    std::vector<uint64_t> inserted() {
        const std::lock_guard lock(mutex_);
        return inserted_;
    }

    bool wasCancelled() const { return cancelled_; }

    /// "FAIL ON 1" fails only now.
    void fail() {
        may_fail_.test_and_set();
        may_fail_.notify_all();
    }

private:
    void answer(const QueryRequest& request, QueryChannel& channel) {
        {
            const std::lock_guard lock(mutex_);
            requests_.push_back(request);
        }
        asked_.notify_all();
        const auto first = first_value_;
        if (request.text == "VALUES") {
            put(channel, QueryOutput::Kind::Header, numbers("v", {}));
            put(channel, QueryOutput::Kind::Data, numbers("v", {first, static_cast<uint8_t>(first + 1)}));
            put(channel, QueryOutput::Kind::Totals, numbers("v", {static_cast<uint8_t>(first + 100)}));
            QueryOutput profile;
            profile.kind = QueryOutput::Kind::ProfileInfo;
            profile.profile = {.rows = 2, .applied_limit = true, .rows_before_limit = 42};
            channel.progress.rows = 7;
            channel.output.push(std::move(profile));
        } else if (request.text == "FAIL ON 1" && first == 10) {
            may_fail_.wait(false);
            throw Error(ErrorCode::ILLEGAL_DIVISION, "Division by zero");
        } else if (request.text == "FAIL ON 1" || request.text == "ENDLESS") {
            put(channel, QueryOutput::Kind::Header, numbers("v", {}));
            while (!channel.stop.stop_requested()) {
                put(channel, QueryOutput::Kind::Data, numbers("v", std::vector<uint8_t>(30000, 1)));
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
            cancelled_ = true;
        } else if (request.text.starts_with("INSERT")) {
            put(channel, QueryOutput::Kind::InsertSample, numbers("v", {}));
            while (std::optional<Block> block = channel.input.pop())
                for (size_t row = 0; row < block->rows; ++row) {
                    const auto value = block->columns[0].column->value(row).to<uint64_t>();
                    if (value == 99) throw Error(ErrorCode::INCORRECT_DATA, "Bad row");
                    const std::lock_guard lock(mutex_);
                    inserted_.push_back(value);
                }
        } else if (request.text.starts_with("DESC TABLE")) {
            describe(channel);
        } else {
            throw Error(ErrorCode::UNKNOWN_TABLE, "Table db.x does not exist");
        }
    }

    static void describe(QueryChannel& channel) {
        Block block;
        for (const auto& [name, text] :
             {std::pair("name", "v"), std::pair("type", "UInt8"), std::pair("default_type", ""),
              std::pair("default_expression", "")}) {
            auto column = std::make_unique<StringColumn>();
            column->insertText(text);
            block.add({name, types::string(), std::move(column)});
        }
        put(channel, QueryOutput::Kind::Header, block.header());
        put(channel, QueryOutput::Kind::Data, block);
    }

    const uint8_t first_value_;
    std::mutex mutex_;
    std::condition_variable asked_;
    std::vector<QueryRequest> requests_;
    std::vector<uint64_t> inserted_;
    std::atomic<bool> cancelled_ = false;
    std::atomic_flag may_fail_;
    std::shared_ptr<session::FakeHost> host_;
    std::unique_ptr<session::SessionServer> server_;
};

}  // namespace shardd::test
