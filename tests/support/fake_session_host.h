#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/columns/fixed_column.h"
#include "server/session/query.h"

namespace shardd::session {

struct FakeSession : ClientSession {
    std::string name;
    std::map<std::string, std::string, std::less<>> settings;

    const std::string& user() const override { return name; }

    std::optional<std::string> setting(std::string_view setting_name) const override {
        const auto found = settings.find(setting_name);
        return found == settings.end() ? std::nullopt : std::optional(found->second);
    }
};

/// Runs `answer` on a thread of its own for each query.
class FakeHost : public SessionHost {
public:
    using Answer = std::function<void(const QueryRequest&, QueryChannel&)>;

    explicit FakeHost(Answer answer) : answer_(std::move(answer)) {}

    ~FakeHost() override {
        for (std::thread& thread : threads_) thread.join();
    }

    std::shared_ptr<ClientSession> login(const LoginRequest& request) override {
        if (!request.trusted && request.password == "wrong")
            throw Error(ErrorCode::AUTHENTICATION_FAILED, "{}: Authentication failed", request.user);
        auto session = std::make_shared<FakeSession>();
        session->name = request.user;
        session->settings = user_settings;
        return session;
    }

    std::optional<std::string> clusterSecret(std::string_view cluster) override {
        if (cluster == "sec") return "topsecret";
        return std::nullopt;
    }

    protocol::TablesStatusResponse tablesStatus(ClientSession&,
                                                const protocol::TablesStatusRequest& request) override {
        protocol::TablesStatusResponse response;
        for (const protocol::TableName& name : request.tables)
            if (name.table == "t") response.tables.push_back({.name = name});
        return response;
    }

    void start(QueryRequest request, std::shared_ptr<QueryChannel> channel) override {
        threads_.emplace_back([answer = answer_, request = std::move(request), channel] {
            try {
                answer(request, *channel);
                channel->output.close();
            } catch (...) {
                channel->output.fail(std::current_exception());
            }
        });
    }

    /// Of every user who logs in.
    std::map<std::string, std::string, std::less<>> user_settings;

private:
    Answer answer_;
    std::vector<std::thread> threads_;
};

inline Block numbers(const std::string& name, std::vector<uint8_t> values) {
    auto column = std::make_unique<FixedColumn<uint8_t>>();
    for (const uint8_t value : values) column->values().push_back(value);
    Block block;
    block.add({name, types::uint8(), std::move(column)});
    return block;
}

inline void put(QueryChannel& channel, QueryOutput::Kind kind, Block block) {
    QueryOutput output;
    output.kind = kind;
    output.block = std::move(block);
    const size_t weight = output.weight();
    channel.output.push(std::move(output), weight);
}

}  // namespace shardd::session
