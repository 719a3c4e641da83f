#include "server/exec/task_order.h"

namespace shardd::exec {

Flow TaskOrder::pushAll(std::unique_lock<std::mutex>& lock, size_t worker, std::vector<Block> blocks) {
    lock.unlock();
    Flow flow = Flow::More;
    for (Block& block : blocks) {
        flow = sink_.consume(worker, std::move(block));
        if (flow == Flow::Enough) break;
    }
    lock.lock();
    return flow;
}

Flow TaskOrder::end(size_t worker, size_t task, std::vector<Block> blocks) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stopped_ || task <= next_ + most_waiting_; });
    if (stopped_) return Flow::Enough;
    waiting_.emplace(task, std::move(blocks));
    if (pushing_) return Flow::More;
    pushing_ = true;
    while (!stopped_ && !waiting_.empty() && waiting_.begin()->first == next_) {
        std::vector<Block> ready = std::move(waiting_.begin()->second);
        waiting_.erase(waiting_.begin());
        const Flow flow = pushAll(lock, worker, std::move(ready));
        stopped_ = stopped_ || flow == Flow::Enough;
        ++next_;
        changed_.notify_all();
    }
    pushing_ = false;
    changed_.notify_all();
    return stopped_ ? Flow::Enough : Flow::More;
}

Flow TaskOrder::push(size_t worker, size_t task, Block block) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stopped_ || (task == next_ && !pushing_); });
    if (stopped_) return Flow::Enough;
    std::vector<Block> blocks;
    blocks.push_back(std::move(block));
    if (pushAll(lock, worker, std::move(blocks)) == Flow::More) return Flow::More;
    stopped_ = true;
    changed_.notify_all();
    return Flow::Enough;
}

void TaskOrder::stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
}

}  // namespace shardd::exec
