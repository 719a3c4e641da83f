#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "server/exec/operator.h"
#include "server/exec/scan_stop.h"
#include "server/storage/distributed.h"
#include "server/storage/pollable_stream.h"

namespace shardd::exec {

/// A block of states, and who sent it.
struct ShardBlock {
    size_t shard;  // from 0
    Block block;
};

/// The answers of shards to a query that asked for states bucket by bucket: some come that way, in ascending
/// order, others (of few groups, of other servers) without buckets. First the latter are read to their end,
/// while the former wait with the first block of a bucket; then these are read side by side, one bucket at a
/// time. What a shard sends ahead waits in its bounded queue, and whoever reads waits only for a shard whose
/// queue is empty: no order of arrival stands still.
class BucketStreams {
public:
    /// `has_its_keys`: whether the keys of a block are of the bucket that it names, by our own hash. A stream
    /// that begins with one whose keys are not is taken as one without buckets.
    BucketStreams(const std::vector<storage::RemoteStreamPtr>& streams,
                  ScanStop& stop,
                  QueryContext& context,
                  const std::function<bool(const Block&)>& has_its_keys);

    /// Pushes what has no bucket into `sink`, from several workers, until every stream has ended or come to
    /// its buckets. Errors: of the streams; INCORRECT_DATA for a bucket that there is not.
    void drainOthers(Sink& sink);

    /// Some stream has come to its buckets.
    bool haveBuckets() const;

    /// The blocks of one bucket from all streams, and overflow rows that come between; for 0, 1 … in turn.
    /// Waits until every stream is past the bucket. Behind the last bucket every stream has ended. Threads:
    /// one at a time. Errors: of the streams; INCORRECT_DATA naming the shard whose buckets do not ascend.
    std::vector<ShardBlock> read(size_t bucket);

    /// Nobody wants more.
    void stop() { stop_.enough(); }

private:
    /// One stream: up to its first block of a bucket it is what it was, there it pretends to end.
    class Parking final : public storage::PollableStream {
    public:
        Parking(storage::RemoteStream& stream, BucketStreams& all) : stream_(stream), all_(all) {}

        Polled poll() override;

        void onReadable(std::function<void()> callback) override {
            stream_.onReadable(std::move(callback));
        }

        void want() override { stream_.want(); }

        storage::RemoteStream& stream() const { return stream_; }

        /// The block at which it stopped.
        std::optional<Block> parked;

    private:
        storage::RemoteStream& stream_;
        BucketStreams& all_;
        bool has_other_buckets_ = false;
    };

    void wantAll();
    void readOne(Parking& stream, size_t bucket, std::vector<ShardBlock>& blocks);

    ScanStop& stop_;
    QueryContext& context_;
    const std::function<bool(const Block&)>& has_its_keys_;
    std::deque<Parking> streams_;
};

}  // namespace shardd::exec
