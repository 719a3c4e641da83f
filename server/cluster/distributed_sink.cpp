#include "server/cluster/distributed_sink.h"

#include <algorithm>
#include <random>

#include "common/columns/dictionary_column.h"
#include "common/columns/fixed_column.h"
#include "server/cluster/remote_sink.h"
#include "server/cluster/replica_choice.h"
#include "server/cluster/shard_query.h"

namespace shardd::cluster {

namespace {

/// Cuts blocks by the sharding key and gives each shard its rows: to a table of this server, to the queue on
/// the disk, or to the other server itself.
class DistributedSink final : public BlockSink {
public:
    explicit DistributedSink(DistributedInsert insert)
        : insert_(std::move(insert)),
          slots_(insert_.cluster->weights()),
          network_(std::make_shared<NetworkLimits>(insert_.settings->max_network_bytes, insert_.settings->max_network_bandwidth)),
          shards_(insert_.cluster->shards.size()) {
        chooseShards();
        constexpr uint64_t kMostSeconds = 1'000'000'000;
        if (const uint64_t timeout = insert_.settings->distributed_background_insert_timeout; timeout > 0)
            deadline_ = net::Clock::now() + std::chrono::seconds(std::min(timeout, kMostSeconds));
        on_stop_.emplace(insert_.request.stop, [this] { cancelRemote(); });
    }

    ~DistributedSink() override {
        on_stop_.reset();
        cancelRemote();
    }

    void write(Block block) override {
        if (block.rows == 0) return;
        block.makeFull();
        if (insert_.queues && !checked_pending_) insert_.queues->delayOrThrow(insert_.request.stop);
        checked_pending_ = true;
        if (only_shard_) return send(*only_shard_, sentColumns(block));
        if (any_shard_) return send(randomShard(), sentColumns(block));
        const std::vector<size_t> shard_of =
            shardOfRows({insert_.key->text, insert_.key->type, insert_.key->compute(block)}, slots_);
        std::vector<PodVector<RowIndex>> rows(shards_.size());
        for (size_t row = 0; row < shard_of.size(); ++row)
            rows[shard_of[row]].push_back(static_cast<RowIndex>(row));
        const Block sent = sentColumns(block);
        for (size_t shard = 0; shard < rows.size(); ++shard)
            if (!rows[shard].empty()) send(shard, sent.gather({rows[shard].data(), rows[shard].size()}));
    }

    void finish() override {
        for (const Outputs& outputs : shards_) {
            for (const std::shared_ptr<RemoteSink>& sink : outputs.remote) sink->finish(deadline_);
            for (const BlockSinkPtr& sink : outputs.local) sink->finish();
        }
    }

private:
    /// Where the rows of one shard go. Opened with its first row.
    struct Outputs {
        bool opened = false;
        std::vector<BlockSinkPtr> local;
        std::vector<std::shared_ptr<RemoteSink>> remote;
        std::vector<QueueTarget> queues;
    };

    void chooseShards() {
        const Settings& settings = insert_.settings;
        storage::checkDistributedDepth(insert_.request.origin.distributed_depth,
                                       settings->max_distributed_depth);
        const uint64_t wanted = settings->insert_shard_id;
        if (wanted > shards_.size())
            throw Error(ErrorCode::INVALID_SHARD_ID, "Shard id should be range from 1 to shard number");
        if (wanted != 0) {
            only_shard_ = wanted - 1;
        } else if (shards_.size() == 1) {
            only_shard_ = 0;
        } else if (!insert_.key && settings->insert_distributed_one_random_shard) {
            any_shard_ = true;
        } else if (!insert_.key) {
            throw Error(
                ErrorCode::STORAGE_REQUIRES_PARAMETER,
                "Method write is not supported by storage Distributed with more than one shard and no "
                "sharding key provided");
        }
        if (!only_shard_ && slots_.total() == 0)
            throw Error(ErrorCode::BAD_ARGUMENTS,
                        "All shards of cluster {} have weight 0: no row can be placed",
                        insert_.cluster->name);
    }

    size_t randomShard() const {
        static thread_local std::mt19937_64 random{std::random_device()()};
        return slots_.shardOf(random() % slots_.total());
    }

    /// Those that the text names; a block may have others, which the sharding key needs.
    Block sentColumns(const Block& block) const {
        Block sent;
        sent.rows = block.rows;
        for (const std::string& name : insert_.columns) sent.columns.push_back(block.get(name));
        return sent;
    }

    void send(size_t position, const Block& block) {
        Outputs& outputs = shards_[position];
        if (!outputs.opened) open(position);
        for (const std::shared_ptr<RemoteSink>& sink : outputs.remote) sink->write(block, deadline_);
        if (!outputs.queues.empty()) queue(outputs.queues, block);
        for (const BlockSinkPtr& sink : outputs.local) sink->write(block);
    }

    void queue(const std::vector<QueueTarget>& targets, const Block& block) {
        QueueFileHeader header;
        header.text = insert_.text;
        header.settings = insert_.request.changed_settings;
        header.origin = insert_.request.origin;
        const auto pause = std::chrono::duration_cast<std::chrono::milliseconds>(
            insert_.settings->distributed_background_insert_sleep_time_ms);
        insert_.queues->add(targets, header, block, framesOf(insert_.settings, true).value_or(FrameOptions()),
                            pause);
    }

    void open(size_t position) {
        const Shard& shard = insert_.cluster->shards[position];
        Outputs& outputs = shards_[position];
        outputs.opened = true;
        const bool prefers_here = insert_.settings->prefer_localhost_replica &&
                                  insert_.service->hooks.insert_here && !insert_.table.empty();
        std::vector<size_t> others;
        for (size_t i = 0; i < shard.replicas.size(); ++i) {
            if (prefers_here && shard.replicas[i]->isLocal())
                outputs.local.push_back(openHere(shard.replicas[i]->config()));
            else
                others.push_back(i);
        }
        if (shard.internal_replication && !outputs.local.empty()) return;  // it passes the rows on
        if (insert_.queues) {
            if (shard.internal_replication)
                outputs.queues.push_back({.shard = position, .replica = std::nullopt});
            else
                for (const size_t replica : others)
                    outputs.queues.push_back({.shard = position, .replica = replica});
        } else if (shard.internal_replication) {
            openRemote(outputs, orderReplicas(shard, insert_.settings));
        } else {
            for (const size_t replica : others) openRemote(outputs, {shard.replicas[replica]});
        }
    }

    BlockSinkPtr openHere(const ReplicaConfig& replica) const {
        LocalInsert local;
        local.database = insert_.database.empty() ? replica.default_database : insert_.database;
        local.table = insert_.table;
        local.columns = insert_.columns;
        local.settings = insert_.request.changed_settings;
        local.origin = insert_.request.origin;
        ++local.origin.distributed_depth;
        local.stop = insert_.request.stop;
        return insert_.service->hooks.insert_here(local);
    }

    void openRemote(Outputs& outputs, std::vector<std::shared_ptr<Replica>> replicas) {
        RemoteSink::Request request;
        request.service = insert_.service;
        request.login = insert_.service->loginFor(*insert_.cluster);
        request.replicas = std::move(replicas);
        request.text = insert_.text;
        request.settings = insert_.request.changed_settings;
        request.origin = insert_.request.origin;
        request.network = network_;
        auto sink = std::make_shared<RemoteSink>(std::move(request));
        sink->start();
        outputs.remote.push_back(sink);
        {
            const std::lock_guard lock(mutex_);
            open_sinks_.push_back(sink);
        }
        // A stop that came before that has not found it.
        if (insert_.request.stop.stop_requested()) sink->cancel();
    }

    void cancelRemote() {
        const std::lock_guard lock(mutex_);
        for (const std::shared_ptr<RemoteSink>& sink : open_sinks_) sink->cancel();
    }

    const DistributedInsert insert_;
    const storage::ShardSlots slots_;
    const std::shared_ptr<NetworkLimits> network_;
    std::vector<Outputs> shards_;
    std::optional<size_t> only_shard_;
    bool any_shard_ = false;
    bool checked_pending_ = false;
    RemoteSink::Deadline deadline_ = RemoteSink::kNever;
    std::mutex mutex_;  // guards open_sinks_
    std::vector<std::shared_ptr<RemoteSink>> open_sinks_;
    std::optional<std::stop_callback<std::function<void()>>> on_stop_;
};

}  // namespace

BlockSinkPtr makeDistributedSink(DistributedInsert insert) {
    return std::make_unique<DistributedSink>(std::move(insert));
}

std::vector<size_t> shardOfRows(const NamedColumn& keys, const storage::ShardSlots& slots) {
    const TypePtr type = removeLowCardinality(keys.type);
    if (!storage::isShardingType(*type))
        throw Error(ErrorCode::TYPE_MISMATCH,
                    "Sharding key expression does not evaluate to an integer type, but to {}",
                    keys.type->name());
    PodVector<uint64_t> slot_of;
    slots.slotsOf(*type, *fullPlain(keys.column), slot_of);
    std::vector<size_t> shards;
    shards.reserve(slot_of.size());
    for (const uint64_t slot : slot_of) shards.push_back(slots.shardOf(slot));
    return shards;
}

}  // namespace shardd::cluster
