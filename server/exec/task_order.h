#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <vector>

#include "server/exec/operator.h"

namespace shardd::exec {

/// Tasks that workers end in any order, and whose blocks go on in the order of the tasks: 0, 1, 2 … Every
/// number must come to its end, or stop() be called. Threads: any; a worker takes its tasks in ascending
/// order, so that the next one is always somebody's.
class TaskOrder {
public:
    /// Up to `most_waiting` tasks may have ended before their turn; who ends one still later waits.
    TaskOrder(Sink& sink, size_t most_waiting) : sink_(sink), most_waiting_(most_waiting) {}

    /// The end of a task, with what it made. Whoever brings the next one in order pushes it and all that wait
    /// behind it.
    Flow end(size_t worker, size_t task, std::vector<Block> blocks);

    /// A block of a task that has not ended: waits for the task's turn.
    Flow push(size_t worker, size_t task, Block block);

    /// Nothing goes on any more, and nobody waits.
    void stop();

private:
    Flow pushAll(std::unique_lock<std::mutex>& lock, size_t worker, std::vector<Block> blocks);

    Sink& sink_;
    const size_t most_waiting_;
    std::mutex mutex_;  // guards what follows
    std::condition_variable changed_;
    std::map<size_t, std::vector<Block>> waiting_;
    size_t next_ = 0;       // the task whose turn it is
    bool pushing_ = false;  // somebody pushes what waited
    bool stopped_ = false;
};

}  // namespace shardd::exec
