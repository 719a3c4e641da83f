#include <gtest/gtest.h>

#include "common/columns/create_column.h"
#include "common/columns/string_column.h"
#include "common/protocol/native_options.h"
#include "common/wire/encoded_block.h"
#include "common/wire/frame.h"
#include "server/cluster/cluster_engines.h"
#include "server/cluster/distributed_sink.h"
#include "server/cluster/distributed_table.h"
#include "server/cluster/initiator.h"
#include "server/net/network.h"
#include "server/net/tls.h"
#include "server/session/session_server.h"
#include "tests/support/fake_session_host.h"
#include "tests/support/fake_shard.h"
#include "tests/support/self_signed.h"

namespace shardd::cluster {
namespace {

using session::numbers;
using session::QueryRequest;
using test::FakeShard;

class RemoteTest : public testing::Test {
protected:
    void SetUp() override { network_.start(); }

    void TearDown() override {
        // Who asks a shard holds the service, also when nobody wants the answer any more.
        for (int i = 0; i < 1000 && service_.use_count() > 1; ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        EXPECT_EQ(service_.use_count(), 1);
        service_->pool.clear();
        first_.stop();
        second_.stop();
        network_.stop();
    }

    ClusterPtr both() {
        return clusterFromAddresses(fmt::format("127.0.0.1:{},127.0.0.1:{}", first_.port(), second_.port()),
                                    {});
    }

    /// The first address is a port where nobody listens.
    ClusterPtr withDeadShard() {
        return clusterFromAddresses(fmt::format("127.0.0.1:1,127.0.0.1:{}", second_.port()), {});
    }

    static storage::RemoteQuery query(const std::string& text) {
        storage::RemoteQuery query;
        query.text = text;
        query.header = makeHeader({{"v", types::uint8()}});
        query.shards = {0, 1};
        query.initial_user = "alice";
        query.initial_query_id = "id-1";
        query.initial_address = "127.0.0.1:1";
        return query;
    }

    static std::vector<uint64_t> drain(storage::RemoteStream& stream) {
        std::vector<uint64_t> values;
        while (std::optional<Block> block = stream.next())
            for (size_t row = 0; row < block->rows; ++row)
                values.push_back(block->columns[0].column->value(row).to<uint64_t>());
        return values;
    }

    static int drainForError(storage::RemoteStream& stream) {
        try {
            drain(stream);
        } catch (const Error& error) {
            last_error = error.message();
            return error.code();
        }
        return 0;
    }

    net::Network network_{2};
    FakeShard first_{network_, 10};
    FakeShard second_{network_, 20};
    ClusterServicePtr service_ = std::make_shared<ClusterService>(
        network_.context(), std::make_shared<Topology>(std::map<std::string, ClusterConfig>(), uint16_t{9}));
    static inline std::string last_error;
};

TEST_F(RemoteTest, EveryShardAnswersItsStream) {
    for (int round = 0; round < 3; ++round) {
        std::atomic<uint64_t> progress = 0;
        storage::RemoteQuery asked = query("VALUES");
        asked.progress = [&](uint64_t rows, uint64_t) { progress += rows; };
        asked.settings = {{"max_threads", "3"}, {"network_compression_method", round == 1 ? "ZSTD" : "NONE"}};
        std::vector<storage::RemoteStreamPtr> streams = startQuery(service_, both(), asked);
        ASSERT_EQ(streams.size(), 2U);
        EXPECT_EQ(drain(*streams[0]), (std::vector<uint64_t>{10, 11}));
        EXPECT_EQ(drain(*streams[1]), (std::vector<uint64_t>{20, 21}));
        EXPECT_EQ(streams[1]->totals()->columns[0].column->value(0).to<uint64_t>(), 120U);
        EXPECT_EQ(streams[0]->rowsBeforeLimit(), 42U);
        EXPECT_EQ(streams[1]->shard(), 1U);
        EXPECT_EQ(progress, 14U);
    }
    const std::vector<QueryRequest> requests = first_.requests();
    ASSERT_EQ(requests.size(), 3U);
    EXPECT_EQ(requests[0].client_info.kind, protocol::QueryKind::Secondary);
    EXPECT_EQ(requests[0].client_info.initial_user, "alice");
    EXPECT_EQ(requests[0].client_info.initial_query_id, "id-1");
    EXPECT_EQ(requests[0].client_info.distributed_depth, 1U);
    EXPECT_EQ(requests[0].settings.at(0).name, "max_threads");
    ASSERT_EQ(requests[0].scalars.size(), 2U);
    EXPECT_EQ(requests[0].scalars[1].name, "_shard_num");
    EXPECT_EQ(second_.requests()[0].scalars[1].blocks[0].columns[0].column->value(0).to<uint64_t>(), 2U);
    EXPECT_EQ(first_.connections(), 1U);  // one connection served all three
}

TEST_F(RemoteTest, TheFirstErrorEndsAllStreams) {
    std::vector<storage::RemoteStreamPtr> streams = startQuery(service_, both(), query("FAIL ON 1"));
    second_.waitUntilAsked();
    first_.fail();
    EXPECT_EQ(drainForError(*streams[1]), 153);
    EXPECT_EQ(last_error,
              fmt::format("Received from 127.0.0.1:{}. DB::Exception: Division by zero", first_.port()));
    EXPECT_EQ(drainForError(*streams[0]), 153);
    for (int i = 0; i < 1000 && !second_.wasCancelled(); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_TRUE(second_.wasCancelled());
}

TEST_F(RemoteTest, DroppedStreamsCancelTheirShardsAndKeepTheConnections) {
    {
        std::vector<storage::RemoteStreamPtr> streams = startQuery(service_, both(), query("ENDLESS"));
        EXPECT_TRUE(streams[0]->next());
        second_.waitUntilAsked();
    }
    for (int i = 0;
         i < 1000 && !(first_.wasCancelled() && second_.wasCancelled() && service_->pool.idleClients() == 2);
         ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_TRUE(first_.wasCancelled());
    EXPECT_TRUE(second_.wasCancelled());
    EXPECT_EQ(service_->pool.idleClients(), 2U);
    std::vector<storage::RemoteStreamPtr> streams = startQuery(service_, both(), query("VALUES"));
    EXPECT_EQ(drain(*streams[0]), (std::vector<uint64_t>{10, 11}));
}

TEST_F(RemoteTest, AStopTokenEndsTheStreams) {
    std::stop_source stop;
    storage::RemoteQuery asked = query("ENDLESS");
    asked.stop = stop.get_token();
    std::vector<storage::RemoteStreamPtr> streams = startQuery(service_, both(), asked);
    EXPECT_TRUE(streams[0]->next());
    stop.request_stop();
    EXPECT_FALSE(streams[0]->next());
    EXPECT_FALSE(streams[1]->next());
}

TEST_F(RemoteTest, LimitsOfReadingEndTheQuery) {
    storage::RemoteQuery asked = query("VALUES");
    asked.progress = [](uint64_t, uint64_t) { throw Error(ErrorCode::TOO_MANY_ROWS, "Limit for rows"); };
    std::vector<storage::RemoteStreamPtr> streams = startQuery(service_, both(), asked);
    EXPECT_EQ(drainForError(*streams[0]), 158);
}

TEST_F(RemoteTest, AShardThatCannotBeReached) {
    std::vector<storage::RemoteStreamPtr> streams = startQuery(service_, withDeadShard(), query("VALUES"));
    EXPECT_EQ(drainForError(*streams[0]), 279);
    storage::RemoteQuery skipping = query("VALUES");
    skipping.settings = {{"skip_unavailable_shards", "1"}};
    streams = startQuery(service_, withDeadShard(), skipping);
    EXPECT_EQ(drain(*streams[0]), std::vector<uint64_t>());
    EXPECT_EQ(drain(*streams[1]), (std::vector<uint64_t>{20, 21}));
    skipping.settings.emplace_back("max_skip_unavailable_shards_ratio", "0.4");
    streams = startQuery(service_, withDeadShard(), skipping);
    EXPECT_EQ(drainForError(*streams[0]), 904);
}

TEST_F(RemoteTest, AnotherReplicaAnswersForADeadOne) {
    const ClusterPtr cluster =
        clusterFromAddresses(fmt::format("127.0.0.1:1|127.0.0.1:{}", second_.port()), {});
    storage::RemoteQuery asked = query("VALUES");
    asked.shards = {0};
    asked.settings = {{"load_balancing", "in_order"}};
    std::vector<storage::RemoteStreamPtr> streams = startQuery(service_, cluster, asked);
    EXPECT_EQ(drain(*streams[0]), (std::vector<uint64_t>{20, 21}));
    EXPECT_EQ(cluster->shards[0].replicas[0]->health().counts(std::chrono::seconds(60)).errors, 1U);
}

TEST_F(RemoteTest, AMissingTableIsTheShardsError) {
    std::vector<storage::RemoteStreamPtr> streams = startQuery(service_, both(), query("NO SUCH TABLE"));
    EXPECT_EQ(drainForError(*streams[0]), 60);
}

TEST_F(RemoteTest, ColumnsAreMatchedByName) {
    storage::RemoteQuery asked = query("VALUES");
    asked.header = makeHeader({{"w", types::uint8()}});
    std::vector<storage::RemoteStreamPtr> streams = startQuery(service_, both(), asked);
    EXPECT_EQ(drainForError(*streams[0]), 10);
}

TEST_F(RemoteTest, WarmConnectionsThatDiedAreReplaced) {
    session::SessionOptions impatient;
    impatient.connection.idle_timeout = std::chrono::milliseconds(20);
    FakeShard shard(network_, 30, impatient);
    const ClusterPtr cluster = clusterFromAddresses(fmt::format("127.0.0.1:{}", shard.port()), {});
    storage::RemoteQuery asked = query("VALUES");
    asked.shards = {0};
    for (int round = 0; round < 3; ++round) {
        EXPECT_EQ(drain(*startQuery(service_, cluster, asked)[0]), (std::vector<uint64_t>{30, 31}));
        for (int i = 0; i < 1000 && shard.connections() > 0; ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_EQ(cluster->shards[0].replicas[0]->health().counts(std::chrono::seconds(60)).errors, 0U);
}

TEST_F(RemoteTest, FinishedBlocksRememberTheirFrames) {
    storage::RemoteQuery asked = query("VALUES");
    std::vector<storage::RemoteStreamPtr> streams = startQuery(service_, both(), asked);
    const std::optional<Block> block = streams[0]->next();
    ASSERT_TRUE(block);
    const NativeOptions same = protocol::nativeOptionsAt(protocol::kServerRevision);
    const EncodedBlock* encoded = findEncoded(*block, same);
    ASSERT_TRUE(encoded);
    Reader bytes(encoded->frames.data(), encoded->frames.size());
    FrameReader frames(bytes);
    BlockReader blocks(same);
    EXPECT_EQ(blocks.read(frames).columns[0].column->value(1), block->columns[0].column->value(1));

    EXPECT_FALSE(findEncoded(*block, protocol::nativeOptionsAt(54412)));  // other bytes for older clients
    Block renamed = *block;
    renamed.columns[0].name = "w";
    EXPECT_FALSE(findEncoded(renamed, same));
    EXPECT_FALSE(findEncoded(block->slice(0, 1), same));
    Block wider = *block;
    wider.add(numbers("x", {1, 2}).columns[0]);
    EXPECT_FALSE(findEncoded(wider, same));

    asked.stage = storage::Stage::WithMergeableState;
    streams = startQuery(service_, both(), asked);
    EXPECT_FALSE(findEncoded(*streams[0]->next(), same));
}

TEST_F(RemoteTest, ShardsBehindTls) {
    const std::string certificate = testing::TempDir() + "/shard.crt";
    const std::string key = testing::TempDir() + "/shard.key";
    tests::writeSelfSigned(certificate, key);
    net::TlsOptions own;
    own.certificate_file = certificate;
    own.private_key_file = key;
    const auto server_tls = std::make_shared<net::Tls>(net::Tls::Side::Server, own);
    FakeShard shard(network_, 40, {}, server_tls);
    net::TlsOptions believed;
    believed.ca_path = certificate;
    service_->login.tls = std::make_shared<net::Tls>(net::Tls::Side::Client, believed);
    storage::RemoteQuery asked = query("VALUES");
    asked.shards = {0};
    AddressDefaults secure;
    secure.secure = true;
    const std::string address = fmt::format("127.0.0.1:{}", shard.port());
    for (int round = 0; round < 2; ++round)
        EXPECT_EQ(drain(*startQuery(service_, clusterFromAddresses(address, secure), asked)[0]),
                  (std::vector<uint64_t>{40, 41}));
    // A client that does not speak TLS gets nowhere, and nobody is harmed.
    EXPECT_EQ(drainForError(*startQuery(service_, clusterFromAddresses(address, {}), asked)[0]), 279);
}

TEST_F(RemoteTest, DescribesATable) {
    const auto columns = describeRemote(service_, both(), "db.t");
    ASSERT_EQ(columns.size(), 1U);
    EXPECT_EQ(columns[0].name, "v");
    EXPECT_EQ(columns[0].type->name(), "UInt8");
    const ClusterPtr dead = clusterFromAddresses("127.0.0.1:1", {});
    try {
        describeRemote(service_, dead, "db.t");
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), 519);
    }
}

std::shared_ptr<DistributedTable> makeTable(const ClusterServicePtr& service, const ClusterPtr& cluster) {
    storage::TableSchema schema;
    schema.name = "d";
    schema.columns = {{.name = "v", .type = types::uint8()}};
    service->hooks.compile_key = [](const std::string& text, const auto&) {
        storage::KeyElement element;
        element.text = text;
        element.column = text;
        element.columns = {text};
        element.type = types::uint8();
        return element;
    };
    return std::make_shared<DistributedTable>(
        service, RemoteTarget{.cluster = cluster, .database = "db", .table = "t", .sharding_key = "v"},
        schema);
}

TEST_F(RemoteTest, InsertsGoToTheShardOfTheirKey) {
    const auto table = makeTable(service_, both());
    BlockSinkPtr sink = table->write({.columns = {"v"}});
    sink->write(numbers("v", {1, 2, 3, 4}));
    sink->write(numbers("v", {6}));
    sink->finish();
    EXPECT_EQ(first_.inserted(), (std::vector<uint64_t>{2, 4, 6}));
    EXPECT_EQ(second_.inserted(), (std::vector<uint64_t>{1, 3}));
    EXPECT_EQ(first_.requests().at(0).text, "INSERT INTO db.t (v) VALUES");
}

TEST_F(RemoteTest, AFailedInsertIsToldAtTheLatestAtTheEnd) {
    const auto table = makeTable(service_, both());
    BlockSinkPtr sink = table->write({.columns = {"v"}});
    sink->write(numbers("v", {99}));
    try {
        sink->finish();
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), 117);
    }
}

TEST_F(RemoteTest, AnAbandonedInsertEnds) {
    const auto table = makeTable(service_, both());
    {
        BlockSinkPtr sink = table->write({.columns = {"v"}});
        sink->write(numbers("v", {1}));
    }
    for (int i = 0; i < 1000 && second_.connections() > 0; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_EQ(second_.connections(), 0U);
}

TEST_F(RemoteTest, ATableFunctionAsksForItsColumns) {
    const std::vector<storage::TableFunctionInfo> functions = clusterTableFunctions(service_);
    ASSERT_EQ(functions[0].name, "remote");
    storage::TableFunctionRequest request;
    request.name = "remote";
    storage::Argument address;
    address.value = Value(fmt::format("127.0.0.1:{}", first_.port()));
    storage::Argument name;
    name.identifier = {"db", "t"};
    request.arguments = {address, name};
    const storage::TablePtr table = functions[0].create(request);
    EXPECT_EQ(table->schema()->columns.at(0).name, "v");
    ASSERT_TRUE(table->distributed());
    EXPECT_EQ(table->distributed()->remoteDatabase(), "db");
    EXPECT_EQ(table->distributed()->shardCount(), 1U);
}

TEST(Sharding, NegativeKeysCountAsUnsignedOfTheirWidth) {
    const TypePtr type = types::simple(TypeKind::Int8);
    MutableColumnPtr column = createColumn(*type);
    for (const int value : {-1, 0, 1, 5}) column->insert(Value(static_cast<int64_t>(value)));
    EXPECT_EQ(shardOfRows({"k", type, std::move(column)}, storage::ShardSlots(std::vector<uint32_t>{1, 1, 1})), (std::vector<size_t>{0, 0, 1, 2}));
    EXPECT_THROW(shardOfRows({"k", types::string(), createColumn(*types::string())}, storage::ShardSlots(std::vector<uint32_t>{1, 1})), Error);
}

}  // namespace
}  // namespace shardd::cluster
