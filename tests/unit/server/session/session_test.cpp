#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/protocol/chunked.h"
#include "common/protocol/interserver.h"
#include "common/protocol/native_options.h"
#include "common/protocol/packet_codec.h"
#include "common/wire/native.h"
#include "server/net/network.h"
#include "server/session/session_server.h"
#include "tests/support/fake_session_host.h"

namespace shardd::session {
namespace {

using protocol::ServerPacket;

/// What the fake server answers to the texts of these tests.
void answer(const QueryRequest& request, QueryChannel& channel) {
    if (request.text == "SELECT 1") {
        put(channel, QueryOutput::Kind::Header, numbers("1", {}));
        put(channel, QueryOutput::Kind::Data, numbers("1", {1}));
        QueryOutput profile;
        profile.kind = QueryOutput::Kind::ProfileInfo;
        profile.profile = {.rows = 1, .blocks = 1, .bytes = 9};
        channel.progress.rows = 1;
        channel.progress.bytes = 1;
        channel.output.push(std::move(profile));
    } else if (request.text == "FAIL") {
        throw Error(ErrorCode::UNKNOWN_TABLE, "Table default.x does not exist");
    } else if (request.text == "ENDLESS") {
        put(channel, QueryOutput::Kind::Header, numbers("1", {}));
        while (!channel.stop.stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
        throw Error(ErrorCode::QUERY_WAS_CANCELLED, "Query was cancelled");
    } else if (request.text == "FLOOD") {
        put(channel, QueryOutput::Kind::Header, numbers("1", {}));
        const Block block = numbers("1", std::vector<uint8_t>(60000, 7));
        while (!channel.stop.stop_requested()) put(channel, QueryOutput::Kind::Data, block);
    } else if (request.text == "INSERT" || request.text == "INSERT BADLY") {
        put(channel, QueryOutput::Kind::InsertSample, numbers("1", {}));
        size_t rows = 0;
        while (std::optional<Block> block = channel.input.pop()) {
            rows += block->rows;
            if (request.text == "INSERT BADLY") throw Error(ErrorCode::INCORRECT_DATA, "Bad rows");
        }
        channel.progress.written_rows = rows;
    } else if (request.text == "IN A HURRY") {
        channel.setting = [](std::string_view name) {
            return name == "idle_connection_timeout" ? std::optional<std::string>("0.05") : std::nullopt;
        };
        put(channel, QueryOutput::Kind::Header, numbers("1", {}));
    } else if (request.text == "USER") {
        put(channel, QueryOutput::Kind::Header, numbers(request.session->user(), {}));
    } else if (request.text == "TABLES") {
        for (const NamedBlocks& table : request.external_tables)
            put(channel, QueryOutput::Kind::Header, numbers(table.name, {}));
    } else {
        throw Error(ErrorCode::SYNTAX_ERROR, "Syntax error");
    }
}

/// A server in this process, and raw sockets to it.
class SessionTest : public testing::Test {
protected:
    void SetUp() override { start({}); }

    void start(SessionOptions options) {
        options.display_name = "h1";
        server_.reset();
        server_ = std::make_unique<SessionServer>(network_.context(), net::ListenerOptions(), host_, options);
        server_->start();
        if (!running_) network_.start();
        running_ = true;
    }

    void TearDown() override {
        server_->stopAccepting();
        server_->finish(std::chrono::milliseconds(100));
        server_.reset();
        network_.stop();
    }

    net::Network network_{2};
    bool running_ = false;
    std::shared_ptr<FakeHost> host_ = std::make_shared<FakeHost>(answer);
    std::unique_ptr<SessionServer> server_;
};

/// The client's side over a blocking socket.
class RawClient : public Reader {
public:
    explicit RawClient(uint16_t port) : Reader(nullptr, 0) {
        socket_ = ::socket(AF_INET, SOCK_STREAM, 0);
        const int no_delay = 1;
        ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &no_delay, sizeof(no_delay));
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0)
            ADD_FAILURE() << "connect";
    }

    ~RawClient() override { end(); }

    void end() {
        if (socket_ >= 0) ::close(socket_);
        socket_ = -1;
    }

    void send(std::string_view bytes) {
        EXPECT_EQ(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(bytes.size()));
    }

    void send(const Writer& out) { send(out.view()); }

    ServerPacket next() { return static_cast<ServerPacket>(readVarUInt()); }

    bool silentFor(int milliseconds) {
        pollfd wait{.fd = socket_, .events = POLLIN, .revents = 0};
        return available() == 0 && ::poll(&wait, 1, milliseconds) == 0;
    }

    /// Hello of revision 54460, which has an addendum and no chunks.
    void hello(const std::string& user = "default", const std::string& password = "") {
        protocol::ClientHello packet;
        packet.client_name = "test";
        packet.revision = kRevision;
        packet.user = user;
        packet.password = password;
        Writer out;
        encode(packet, out);
        send(out);
    }

    void greet() {
        hello();
        EXPECT_EQ(next(), ServerPacket::Hello);
        server = protocol::decodeServerHello(*this, kRevision);
        Writer out;
        encode(protocol::Addendum(), kRevision, out);
        send(out);
    }

    void query(const std::string& text, std::vector<protocol::SettingChange> settings = {}) {
        protocol::Query packet;
        packet.client_info.kind = protocol::QueryKind::Initial;
        packet.text = text;
        packet.settings = std::move(settings);
        Writer out;
        encode(packet, kRevision, out);
        writeData(Block(), out);
        send(out);
    }

    static void writeData(const Block& block, Writer& out, const std::string& name = "") {
        encode(protocol::ClientPacket::Data, protocol::DataHeader{name}, out);
        writeBlock(block, protocol::nativeOptionsAt(kRevision), out);
    }

    Block readData(ServerPacket kind = ServerPacket::Data) {
        EXPECT_EQ(next(), kind);
        protocol::decodeDataHeader(*this);
        BlockReader blocks(protocol::nativeOptionsAt(kRevision));
        return blocks.read(*this);
    }

    protocol::ExceptionRecord readException() {
        EXPECT_EQ(next(), ServerPacket::Exception);
        return protocol::decodeException(*this).chain.at(0);
    }

    /// Skips Progress.
    void expectEndOfStream() {
        ServerPacket packet = next();
        while (packet == ServerPacket::Progress) {
            protocol::decodeProgress(*this, kRevision);
            packet = next();
        }
        EXPECT_EQ(packet, ServerPacket::EndOfStream);
    }

    static constexpr protocol::Revision kRevision = 54460;
    protocol::ServerHello server;

protected:
    bool refill() override {
        const ssize_t size = ::recv(socket_, buffer_, sizeof(buffer_), 0);
        if (size <= 0) return false;
        position_ = buffer_;
        end_ = buffer_ + size;
        return true;
    }

private:
    int socket_ = -1;
    char buffer_[65536];
};

std::string fromHex(std::string_view hex) {
    std::string bytes;
    for (size_t i = 0; i + 1 < hex.size(); i += 2)
        bytes.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
    return bytes;
}

std::vector<std::string> captured(const std::string& name) {
    std::vector<std::string> packets;
    std::ifstream file(SHARDD_TESTS_WIRE_DIR "/" + name);
    std::string line;
    while (std::getline(file, line))
        if (!line.empty() && line[0] != '#') packets.push_back(fromHex(line));
    return packets;
}

TEST_F(SessionTest, AnswersACapturedClientAsTheRealServerDid) {
    for (const std::string name : {"client-18.16-select1-uncompressed", "client-18.16-select1"}) {
        RawClient client(server_->port());
        for (const std::string& packet : captured(name + ".c2s.hex")) client.send(packet);
        EXPECT_EQ(client.next(), ServerPacket::Hello);
        const protocol::ServerHello hello = protocol::decodeServerHello(client, 54412);
        EXPECT_EQ(hello.display_name, "h1");
        EXPECT_EQ(hello.revision, protocol::kServerRevision);
        const std::vector<std::string> answers = captured(name + ".s2c.hex");
        for (size_t i = 1; i < answers.size(); ++i) {
            std::string bytes(answers[i].size(), '\0');
            client.readBytes(bytes.data(), bytes.size());
            // The real server's Progress says a total of 0, and so do we.
            EXPECT_EQ(bytes, answers[i]) << name << ", packet " << i;
        }
    }
}

TEST_F(SessionTest, QueriesOneAfterAnotherAlsoBehindAnError) {
    RawClient client(server_->port());
    client.greet();
    for (int i = 0; i < 3; ++i) {
        client.query("FAIL");
        const protocol::ExceptionRecord error = client.readException();
        EXPECT_EQ(error.code, 60);
        EXPECT_EQ(error.name, "DB::Exception");
        EXPECT_EQ(error.message, "DB::Exception: Table default.x does not exist");
        client.query("SELECT 1");
        EXPECT_EQ(client.readData().rows, 0U);
        EXPECT_EQ(client.readData().rows, 1U);
        EXPECT_EQ(client.next(), ServerPacket::ProfileInfo);
        EXPECT_EQ(protocol::decodeProfileInfo(client, RawClient::kRevision).bytes, 9U);
        EXPECT_EQ(client.next(), ServerPacket::Progress);
        EXPECT_EQ(protocol::decodeProgress(client, RawClient::kRevision).rows, 1U);
        EXPECT_TRUE(client.readData().columns.empty());
        EXPECT_EQ(client.next(), ServerPacket::EndOfStream);
    }
}

TEST_F(SessionTest, RefusesAWrongPassword) {
    RawClient client(server_->port());
    client.hello("u", "wrong");
    EXPECT_EQ(client.readException().code, 516);
    EXPECT_TRUE(client.atEnd());
}

TEST_F(SessionTest, TellsHttpClientsWhereToGo) {
    RawClient client(server_->port());
    client.send("GET / HTTP/1.1\r\n\r\n");
    std::string line(15, '\0');
    client.readBytes(line.data(), line.size());
    EXPECT_EQ(line, "HTTP/1.0 400 Ba");
}

TEST_F(SessionTest, CancelEndsAQueryAndKeepsTheConnection) {
    RawClient client(server_->port());
    client.greet();
    client.query("ENDLESS");
    client.readData();
    client.send(std::string("\x03"));
    EXPECT_TRUE(client.readData().columns.empty());
    client.expectEndOfStream();
    client.send(std::string("\x03\x04"));  // too late a Cancel, and a Ping
    EXPECT_EQ(client.next(), ServerPacket::Pong);
}

TEST_F(SessionTest, AVanishedClientEndsItsQuery) {
    {
        RawClient client(server_->port());
        client.greet();
        client.query("ENDLESS");
        client.readData();
        RawClient flooded(server_->port());
        flooded.greet();
        flooded.query("FLOOD");
        flooded.readData();
    }
    for (int i = 0; i < 1000 && server_->openConnections() > 0; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_EQ(server_->openConnections(), 0U);
}

TEST_F(SessionTest, InsertTakesRowsUntilTheEmptyBlock) {
    RawClient client(server_->port());
    client.greet();
    client.query("INSERT");
    EXPECT_EQ(client.readData().columns.at(0).name, "1");
    Writer out;
    RawClient::writeData(numbers("1", {1, 2}), out);
    RawClient::writeData(numbers("1", {3}), out);
    client.send(out);
    EXPECT_TRUE(client.silentFor(50));
    out.clear();
    RawClient::writeData(Block(), out);
    client.send(out);
    EXPECT_EQ(client.next(), ServerPacket::Progress);
    EXPECT_EQ(protocol::decodeProgress(client, RawClient::kRevision).written_rows, 3U);
    EXPECT_EQ(client.next(), ServerPacket::EndOfStream);
}

TEST_F(SessionTest, InsertThatFailsTellsAtOnceAndDropsTheRest) {
    RawClient client(server_->port());
    client.greet();
    client.query("INSERT BADLY");
    client.readData();
    Writer out;
    RawClient::writeData(numbers("1", {1, 2}), out);
    client.send(out);
    EXPECT_EQ(client.readException().code, 117);
    RawClient::writeData(Block(), out);
    client.send(out);
    client.query("SELECT 1");
    EXPECT_EQ(client.readData().rows, 0U);
    EXPECT_EQ(client.readData().rows, 1U);
}

TEST_F(SessionTest, ExternalTablesCarryTheirNames) {
    RawClient client(server_->port());
    client.greet();
    protocol::Query packet;
    packet.text = "TABLES";
    Writer out;
    encode(packet, RawClient::kRevision, out);
    RawClient::writeData(numbers("n", {1}), out, "_data_1");
    RawClient::writeData(numbers("n", {2}), out, "_data_1");
    RawClient::writeData(Block(), out);
    client.send(out);
    EXPECT_EQ(client.readData().columns.at(0).name, "_data_1");
}

TEST_F(SessionTest, TablesStatusLeavesUnknownTablesOut) {
    RawClient client(server_->port());
    client.greet();
    Writer out;
    encode(protocol::TablesStatusRequest{.tables = {{"db", "t"}, {"db", "none"}}}, out);
    client.send(out);
    EXPECT_EQ(client.next(), ServerPacket::TablesStatusResponse);
    const auto response = protocol::decodeTablesStatusResponse(client, RawClient::kRevision);
    ASSERT_EQ(response.tables.size(), 1U);
    EXPECT_EQ(response.tables[0].name.table, "t");
}

TEST_F(SessionTest, UnknownPacketsEndTheConnectionWithAnError) {
    RawClient client(server_->port());
    client.greet();
    client.send(std::string("\x0d"));
    EXPECT_EQ(client.readException().code, 101);
    EXPECT_TRUE(client.atEnd());
}

TEST_F(SessionTest, AnInterserverSecretStandsForThePassword) {
    for (const bool good : {true, false}) {
        RawClient client(server_->port());
        protocol::ClientHello hello;
        hello.revision = 54486;
        hello.user = protocol::kInterserverUser;
        hello.cluster = "sec";
        hello.salt = std::string(32, 's');
        Writer out;
        encode(hello, out);
        client.send(out);
        ASSERT_EQ(client.next(), ServerPacket::Hello);
        const protocol::ServerHello server = protocol::decodeServerHello(client, 54486);
        EXPECT_EQ(server.chunked_send, "notchunked_optional");
        out.clear();
        encode(protocol::Addendum(), 54486, out);
        protocol::Query query;
        query.client_info.kind = protocol::QueryKind::Secondary;
        query.client_info.initial_user = "alice";
        query.text = "USER";
        query.interserver_hash = protocol::interserverHash(
            {.salt = hello.salt, .nonce = server.nonce, .secret = good ? "topsecret" : "guess"}, query,
            54486);
        encode(query, 54486, out);
        encode(protocol::ClientPacket::Data, protocol::DataHeader(), out);
        writeBlock(Block(), protocol::nativeOptionsAt(54486), out);
        client.send(out);
        if (good) {
            ASSERT_EQ(client.next(), ServerPacket::Data);
            protocol::decodeDataHeader(client);
            BlockReader blocks(protocol::nativeOptionsAt(54486));
            EXPECT_EQ(blocks.read(client).columns.at(0).name, "alice");
        } else {
            EXPECT_EQ(client.readException().code, 516);
            EXPECT_TRUE(client.atEnd());
        }
    }
}

TEST_F(SessionTest, IdleAndSilentConnectionsAreClosed) {
    SessionOptions options;
    options.handshake_timeout = std::chrono::milliseconds(50);
    options.connection.idle_timeout = std::chrono::milliseconds(50);
    options.connection.receive_timeout = std::chrono::milliseconds(50);
    start(options);
    RawClient silent(server_->port());
    EXPECT_EQ(silent.readException().code, 209);
    EXPECT_TRUE(silent.atEnd());
    RawClient idle(server_->port());
    idle.greet();
    EXPECT_TRUE(idle.atEnd());
    RawClient stuck(server_->port());
    stuck.greet();
    stuck.send(std::string("\x01\x05"));  // the beginning of a query
    EXPECT_EQ(stuck.readException().code, 209);
}

TEST_F(SessionTest, TimesAreTheUsersAndThenTheQuerys) {
    host_->user_settings = {{"idle_connection_timeout", "0.05"}};
    RawClient idle(server_->port());
    idle.greet();
    EXPECT_TRUE(idle.atEnd());
    host_->user_settings = {{"receive_timeout", "0.05"}};
    RawClient silent(server_->port());
    silent.greet();
    silent.query("INSERT");
    silent.readData();
    EXPECT_EQ(silent.readException().code, 209);
    host_->user_settings.clear();
    RawClient hasty(server_->port());
    hasty.greet();
    hasty.query("INSERT", {{.name = "receive_timeout", .value = "0.05"}});
    hasty.readData();
    EXPECT_EQ(hasty.readException().code, 209);
    RawClient patient(server_->port());
    patient.greet();
    patient.query("INSERT", {{.name = "receive_timeout", .value = "0"}});
    patient.readData();
    EXPECT_TRUE(patient.silentFor(50));
    RawClient told(server_->port());
    told.greet();
    told.query("IN A HURRY");
    told.readData();
    EXPECT_TRUE(told.readData().columns.empty());
    told.expectEndOfStream();
    EXPECT_TRUE(told.atEnd());
}

TEST_F(SessionTest, StopsInTwoSteps) {
    RawClient idle(server_->port());
    idle.greet();
    RawClient busy(server_->port());
    busy.greet();
    busy.query("ENDLESS");
    busy.readData();
    server_->stopAccepting();
    EXPECT_TRUE(idle.atEnd());
    EXPECT_TRUE(busy.silentFor(50));
    server_->finish(std::chrono::milliseconds(20));
    EXPECT_EQ(server_->openConnections(), 0U);
    EXPECT_EQ(busy.readException().code, 394);
}

}  // namespace
}  // namespace shardd::session
