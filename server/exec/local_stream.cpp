#include "server/exec/local_stream.h"

#include <condition_variable>
#include <mutex>

#include "common/base/bounded_queue.h"
#include "common/columns/adapt_block.h"
#include "server/exec/operator.h"
#include "server/exec/pipeline.h"
#include "server/exec/thread_pool.h"
#include "server/functions/definition.h"
#include "server/storage/group_buckets.h"

namespace shardd::exec {

namespace {

/// As much as waits of another shard's answer.
constexpr size_t kQueueBytes = size_t{8} << 20;

class LocalStream final : public storage::RemoteStream {
public:
    LocalStream(LocalRun run, const storage::RemoteQuery& query, size_t shard)
        : plan_(std::move(run.plan)),
          header_(query.header),
          shard_(shard),
          report_(query.report),
          context_(run.pool, std::move(run.memory), run.settings) {
        context_.temporary = std::move(run.temporary);
        context_.on_progress = query.progress;
        queue_.onReadable([this] { readable(); });
        on_stop_.emplace(query.stop, [this] { end(); });
        run.pool.submit([this] { work(); });
    }

    ~LocalStream() override {
        on_stop_.reset();
        end();
        std::unique_lock lock(mutex_);
        ended_.wait(lock, [this] { return has_ended_; });
    }

    const Block& header() const override { return header_; }

    std::optional<Block> next() override { return queue_.pop(); }

    Polled poll() override {
        auto popped = queue_.tryPop();
        return {.block = std::move(popped.value), .ended = popped.ended};
    }

    void onReadable(std::function<void()> callback) override {
        {
            const std::lock_guard lock(mutex_);
            on_readable_ = callback;
        }
        if (callback) callback();
    }

    const std::optional<Block>& totals() const override { return totals_; }

    const std::optional<Block>& extremes() const override { return extremes_; }

    std::optional<uint64_t> rowsBeforeLimit() const override { return context_.rowsBeforeLimit(); }

    size_t shard() const override { return shard_; }

private:
    class Output final : public ResultSink {
    public:
        explicit Output(LocalStream& stream) : stream_(stream) {}

        void header(const Block&) override {}

        bool data(Block block) override {
            Block converted = stream_.convert(std::move(block));
            if (stream_.report_)
                stream_.report_->update(stream_.shard_, [&](storage::ShardAnswer& answer) {
                    answer.state = storage::ShardAnswer::State::Answering;
                    answer.is_shardd = true;
                    answer.rows += converted.rows;
                    answer.blocks += 1;
                });
            const size_t weight = converted.allocatedBytes() + 1;
            return stream_.queue_.push(std::move(converted), weight);
        }

        void totals(Block block) override { stream_.totals_ = stream_.convert(std::move(block)); }

        void extremes(Block block) override { stream_.extremes_ = stream_.convert(std::move(block)); }

    private:
        LocalStream& stream_;
    };

    void work() {
        {
            const MemoryScope scope(context_.memory.get());
            using State = storage::ShardAnswer::State;
            if (report_) report_->asked(shard_);
            try {
                Output output(*this);
                execute(plan_(context_), context_, output);
                if (report_) report_->ended(shard_, State::Answered);
                queue_.close();
            } catch (const Error& error) {
                const State state = context_.cancelled() ? State::Stopped : State::Failed;
                if (report_) report_->ended(shard_, state, error.message());
                queue_.fail(std::current_exception());
            } catch (...) {
                queue_.fail(std::current_exception());
            }
        }
        const std::lock_guard lock(mutex_);
        has_ended_ = true;
        ended_.notify_all();
    }

    /// Nobody wants more rows.
    void end() {
        context_.cancel(Error(ErrorCode::QUERY_WAS_CANCELLED, "Query was cancelled"));
        queue_.cancel();
    }

    void readable() {
        std::function<void()> callback;
        {
            const std::lock_guard lock(mutex_);
            callback = on_readable_;
        }
        if (callback) callback();
    }

    Block convert(Block block) const {
        block.makeFull();
        const auto cast = [](const ColumnPtr& column, const TypePtr& from, const TypePtr& to) {
            return full(functions::castArgument({"", from, column}, to, column->size()));
        };
        Block result = adaptBlock(block, header_, cast);
        if (!storage::keepsBuckets(block, header_)) result.bucket = Block::kNoBucket;
        return result;
    }

    const std::function<plan::StepPtr(QueryContext&)> plan_;
    const Block header_;
    const size_t shard_;
    const std::shared_ptr<storage::RemoteReport> report_;  // may be missing
    QueryContext context_;
    BoundedQueue<Block> queue_{kQueueBytes};
    std::optional<Block> totals_, extremes_;
    std::mutex mutex_;  // guards the three below
    std::condition_variable ended_;
    bool has_ended_ = false;
    std::function<void()> on_readable_;
    std::optional<std::stop_callback<std::function<void()>>> on_stop_;
};

}  // namespace

storage::RemoteStreamPtr makeLocalStream(LocalRun run, const storage::RemoteQuery& query, size_t shard) {
    return std::make_unique<LocalStream>(std::move(run), query, shard);
}

}  // namespace shardd::exec
