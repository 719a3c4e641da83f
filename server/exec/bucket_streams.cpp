#include "server/exec/bucket_streams.h"

#include <algorithm>

#include "server/exec/scan.h"
#include "server/exec/stream_drain.h"
#include "server/storage/group_buckets.h"

namespace shardd::exec {

namespace {

void checkBucket(const Block& block, size_t shard) {
    if (block.bucket >= 0 && block.bucket < static_cast<int32_t>(storage::kGroupBuckets)) return;
    throw Error(ErrorCode::INCORRECT_DATA,
                "Shard {} sent a block of bucket {}: buckets of groups are 0 to {}. "
                "distributed_aggregation_memory_efficient = 0 asks for blocks without buckets",
                shard + 1, block.bucket, storage::kGroupBuckets - 1);
}

}  // namespace

storage::PollableStream::Polled BucketStreams::Parking::poll() {
    Polled polled = stream_.poll();
    if (!polled.block || polled.block->rows == 0 || polled.block->bucket == Block::kNoBucket) return polled;
    checkBucket(*polled.block, stream_.shard());
    has_other_buckets_ = has_other_buckets_ || !all_.has_its_keys_(*polled.block);
    if (has_other_buckets_) {
        polled.block->bucket = Block::kNoBucket;
        return polled;
    }
    parked = std::move(polled.block);
    all_.wantAll();
    return {.block = std::nullopt, .ended = true};
}

BucketStreams::BucketStreams(const std::vector<storage::RemoteStreamPtr>& streams,
                             ScanStop& stop,
                             QueryContext& context,
                             const std::function<bool(const Block&)>& has_its_keys)
    : stop_(stop), context_(context), has_its_keys_(has_its_keys) {
    for (const storage::RemoteStreamPtr& stream : streams)
        streams_.emplace_back(*stream, *this);
}

/// A stream that waits with its bucket keeps its place among those that are asked at once
/// (max_distributed_connections), and waits for all others.
void BucketStreams::wantAll() {
    for (Parking& stream : streams_) stream.want();
}

void BucketStreams::drainOthers(Sink& sink) {
    std::vector<storage::PollableStream*> streams;
    for (Parking& stream : streams_) streams.push_back(&stream);
    drainStreams(streams, stop_, context_, sink);
}

bool BucketStreams::haveBuckets() const {
    return std::any_of(streams_.begin(), streams_.end(),
                       [](const Parking& stream) { return stream.parked.has_value(); });
}

std::vector<ShardBlock> BucketStreams::read(size_t bucket) {
    std::vector<ShardBlock> blocks;
    for (Parking& stream : streams_) readOne(stream, bucket, blocks);
    return blocks;
}

/// A stream without a parked block has ended: every other one is read until it is past the bucket.
void BucketStreams::readOne(Parking& stream, size_t bucket, std::vector<ShardBlock>& blocks) {
    const size_t shard = stream.stream().shard();
    while (stream.parked) {
        Block& block = *stream.parked;
        if (!block.is_overflows) {
            checkBucket(block, shard);
            const auto its_bucket = static_cast<size_t>(block.bucket);
            if (its_bucket > bucket) return;
            if (its_bucket < bucket)
                throw Error(ErrorCode::INCORRECT_DATA,
                            "Shard {} sent a block of bucket {} when it was past bucket {}: buckets of "
                            "groups come in "
                            "ascending order. distributed_aggregation_memory_efficient = 0 asks for blocks "
                            "without buckets",
                            shard + 1, its_bucket, bucket);
        }
        blocks.push_back({shard, std::move(block)});
        do {
            stream.parked = nextBlock(stream.stream(), stop_, context_);
        } while (stream.parked && stream.parked->rows == 0);
    }
}

}  // namespace shardd::exec
