#include "server/exec/stream_drain.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>

#include "server/exec/thread_pool.h"

namespace shardd::exec {

namespace {

/// Which streams have something to be taken, in the order in which they got it.
/// Threads: any.
class ReadyStreams {
public:
    explicit ReadyStreams(size_t count) : states_(count, State::Waiting), open_(count) {}

    /// The next one, which is the caller's until it is given back; nothing when all have ended.
    std::optional<size_t> take() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return stopped_ || open_ == 0 || !ready_.empty(); });
        if (stopped_ || open_ == 0) return std::nullopt;
        const size_t stream = ready_.front();
        ready_.pop_front();
        states_[stream] = State::Taken;
        return stream;
    }

    /// It may have more already.
    void giveBack(size_t stream) {
        const std::lock_guard lock(mutex_);
        makeReady(stream);
    }

    /// It had nothing. What was notified meanwhile counts.
    void await(size_t stream) {
        const std::lock_guard lock(mutex_);
        if (states_[stream] == State::TakenAndNotified) return makeReady(stream);
        states_[stream] = State::Waiting;
    }

    void end(size_t stream) {
        const std::lock_guard lock(mutex_);
        states_[stream] = State::Ended;
        if (--open_ == 0) changed_.notify_all();
    }

    void notify(size_t stream) {
        const std::lock_guard lock(mutex_);
        if (states_[stream] == State::Waiting) makeReady(stream);
        if (states_[stream] == State::Taken) states_[stream] = State::TakenAndNotified;
    }

    /// Nobody is to take any more.
    void stop() {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
        changed_.notify_all();
    }

private:
    enum class State { Waiting, Ready, Taken, TakenAndNotified, Ended };

    void makeReady(size_t stream) {
        states_[stream] = State::Ready;
        ready_.push_back(stream);
        changed_.notify_one();
    }

    std::mutex mutex_;  // guards what follows
    std::condition_variable changed_;
    std::vector<State> states_;
    std::deque<size_t> ready_;
    size_t open_;
    bool stopped_ = false;
};

/// What a stream has at the moment; its end when the scan was stopped.
storage::PollableStream::Polled poll(storage::PollableStream& stream, ScanStop& stop, QueryContext& context) {
    context.check();
    if (stop.ended()) return {.block = std::nullopt, .ended = true};
    try {
        return stream.poll();
    } catch (const Error& error) {
        context.check();
        if (stop.isOurDoing(error)) return {.block = std::nullopt, .ended = true};
        throw;
    }
}

void work(const std::vector<storage::PollableStream*>& streams,
          size_t worker,
          ReadyStreams& ready,
          ScanStop& stop,
          QueryContext& context,
          Sink& sink) {
    while (const std::optional<size_t> stream = ready.take()) {
        storage::PollableStream::Polled polled = poll(*streams[*stream], stop, context);
        if (polled.ended) {
            ready.end(*stream);
        } else if (!polled.block) {
            ready.await(*stream);
        } else {
            const bool is_enough =
                polled.block->rows > 0 && sink.consume(worker, std::move(*polled.block)) == Flow::Enough;
            if (is_enough) {
                stop.enough();
                ready.stop();
                return;
            }
            ready.giveBack(*stream);
        }
    }
}

}  // namespace

void drainStreams(const std::vector<storage::PollableStream*>& streams,
                  ScanStop& stop,
                  QueryContext& context,
                  Sink& sink) {
    if (streams.empty()) return;
    // Streams may still call when this has returned.
    const auto ready = std::make_shared<ReadyStreams>(streams.size());
    const std::stop_callback on_stop(stop.token(), [&streams, ready] {
        for (size_t i = 0; i < streams.size(); ++i) ready->notify(i);
    });
    for (size_t i = 0; i < streams.size(); ++i) streams[i]->onReadable([ready, i] { ready->notify(i); });
    const auto forget = [&streams](void*) {
        for (storage::PollableStream* stream : streams) stream->onReadable(nullptr);
    };
    int scope = 0;
    const std::unique_ptr<void, decltype(forget)> at_the_end(&scope, forget);
    context.pool.parallel(std::min(streams.size(), context.settings.max_threads), [&](size_t worker) {
        const MemoryScope memory(context.memory.get());
        try {
            work(streams, worker, *ready, stop, context, sink);
        } catch (...) {
            ready->stop();
            stop.enough();
            throw;
        }
    });
}

std::vector<storage::PollableStream*> pollable(const std::vector<storage::RemoteStreamPtr>& streams) {
    std::vector<storage::PollableStream*> result;
    for (const storage::RemoteStreamPtr& stream : streams) result.push_back(stream.get());
    return result;
}

}  // namespace shardd::exec
