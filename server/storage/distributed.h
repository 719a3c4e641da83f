#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/columns/block_stream.h"
#include "server/storage/distributed_activity.h"
#include "server/storage/pollable_stream.h"

namespace shardd::storage {

/// How far a shard takes a query before it answers. Travels in the Query packet: never renumber.
enum class Stage : uint8_t {
    FetchColumns = 0,
    WithMergeableState = 1,
    Complete = 2,
    WithMergeableStateAfterAggregation = 3,
    WithMergeableStateAfterAggregationAndLimit = 4,
};

/// Who looks whether finished groups are where they belong (verify_disjoint_groups).
enum class GroupCheck : uint8_t { Nobody, Initiator, Shards };

/// What a server is asked that understands neither the texts nor the stages of today, for the same columns.
struct LegacyQuery {
    std::string text;
    Stage stage = Stage::Complete;
};

/// What an initiator asks of shards.
struct RemoteQuery {
    std::string text;
    /// Of shards that are asked something else than `text`, by their position.
    std::map<size_t, std::string> own_texts = {};
    /// For a shard that is such an old server; called when there is one, may be missing.
    std::function<LegacyQuery(size_t shard)> legacy = {};
    Stage stage = Stage::Complete;
    /// Names and texts of the settings that differ from the defaults.
    std::vector<std::pair<std::string, std::string>> settings;
    /// More of them for shards that are shardd too: nobody else knows their names.
    std::vector<std::pair<std::string, std::string>> own_settings;
    /// The revision whose form of blocks they may send, to be passed on unread (distributed_block_revision); 0: the
    /// connection's.
    uint64_t block_revision = 0;
    /// The hash by which shards that are shardd may send states bucket by bucket (distributed_group_buckets); empty: none.
    std::string_view group_buckets;
    /// Shards: those that cannot (they are no shardd) leave it to the initiator.
    GroupCheck group_check = GroupCheck::Nobody;
    /// Every shard must be shardd; asked before any of them is sent the query. Error UNSUPPORTED_METHOD (1) with `needs_own_for`
    /// as the setting to change.
    std::string needs_own_for;
    /// The columns of the answer. A shard's columns are matched by name and converted to these types; a missing
    /// one is error 10.
    Block header;
    /// The columns of its totals, where they are not those of the answer.
    std::optional<Block> totals_header;
    /// Tables sent with the query (GLOBAL IN): name and rows.
    std::vector<std::pair<std::string, std::vector<Block>>> external_tables;
    /// Positions of the shards to ask (0-based); the others are left out.
    std::vector<size_t> shards;
    std::stop_token stop;
    /// What becomes of each shard is told here; may be missing.
    std::shared_ptr<RemoteReport> report;
    /// Told of the rows and bytes that shards read, from the network's threads; what it throws (limits) ends the query.
    /// Not called any more once a stream of the answer is destroyed.
    std::function<void(uint64_t rows, uint64_t bytes)> progress;

    // Whose query this is, for the ClientInfo.
    std::string initial_user;
    std::string initial_query_id;
    std::string initial_address;
    int64_t initial_start_microseconds = 0;
    uint64_t distributed_depth = 0;  // of the asking query; shards get one more

    const std::string& textFor(size_t shard) const {
        const auto own = own_texts.find(shard);
        return own == own_texts.end() ? text : own->second;
    }
};

/// Sharded tables over sharded tables: whether one more level may be asked. `most` is max_distributed_depth (0: any).
/// Errors: TOO_LARGE_DISTRIBUTED_DEPTH (581).
void checkDistributedDepth(uint64_t depth, uint64_t most);

/// One shard's answer. Its totals and extremes are there when next() has said the end.
class RemoteStream : public BlockSource, public PollableStream {
public:
    virtual const std::optional<Block>& totals() const = 0;
    virtual const std::optional<Block>& extremes() const = 0;
    /// Rows before the shard's LIMIT, when it said so.
    virtual std::optional<uint64_t> rowsBeforeLimit() const = 0;
    /// The shard has said that it checks the places of its groups itself; known with its first block.
    virtual bool checksGroups() const { return false; }
    /// Position in the cluster, 0-based.
    virtual size_t shard() const = 0;
};

using RemoteStreamPtr = std::unique_ptr<RemoteStream>;

/// A cluster's shards seen as the source of one table's rows. Implemented by server/cluster.
class DistributedSource {
public:
    virtual ~DistributedSource() = default;

    virtual const std::string& clusterName() const = 0;
    /// The servers know the user who asks (the cluster has a secret).
    virtual bool knowsUser() const { return false; }
    virtual size_t shardCount() const = 0;
    /// Of each shard; slots of the sharding key are shared out by them.
    virtual std::vector<uint32_t> shardWeights() const = 0;

    /// Of one shard, for people: "host:port", replicas divided by |. Empty when there is nothing to say.
    virtual std::string shardAddress(size_t /*shard*/) const { return ""; }

    /// What stands in FROM of the shards' text: a table, or a table function kept as SQL text.
    virtual const std::string& remoteDatabase() const = 0;
    virtual const std::string& remoteTable() const = 0;
    virtual const std::string& remoteTableFunction() const = 0;

    /// SQL text of the sharding key; empty when there is none.
    virtual const std::string& shardingKey() const = 0;

    /// Asks all shards of the query at once and answers one stream a shard, in the order of query.shards. Streams fill
    /// bounded queues by themselves; the first error of one ends the others with it.
    virtual std::vector<RemoteStreamPtr> query(const RemoteQuery& query) const = 0;
};

}  // namespace shardd::storage
