#include "server/cluster/insert_queues.h"

#include <algorithm>
#include <condition_variable>
#include <utility>

#include "common/base/log.h"
#include "common/base/plain_numbers.h"

namespace shardd::cluster {

namespace {

constexpr Log kLog("cluster");

Error tooManyBytes(uint64_t bytes, std::string_view setting, uint64_t limit) {
    return Error(ErrorCode::DISTRIBUTED_TOO_MANY_PENDING_BYTES,
                 "Too many bytes pending for async INSERT: {} ({}={})", readableBytes(bytes), setting,
                 readableBytes(limit));
}

}  // namespace

InsertQueues::InsertQueues(std::shared_ptr<QueueContext> context) : context_(std::move(context)) {}

InsertQueues::~InsertQueues() { close(); }

void InsertQueues::load() {
    FileSystem& files = context_->files;
    if (!files.exists(context_->path)) return;
    if (context_->durable_names) syncParents(context_->path + "/");
    // What was being written when the process ended was never acknowledged.
    files.removeRecursively(context_->path + "/tmp");
    for (const FileSystem::Entry& entry : files.list(context_->path)) {
        const std::optional<QueueTarget> target = QueueTarget::parse(entry.name);
        if (!target || !entry.is_directory || target->name() != entry.name) {
            kLog.warning("{}/{} does not belong there and is left alone", context_->path, entry.name);
            continue;
        }
        const auto found = std::make_shared<InsertQueue>(context_, *target);
        const uint64_t highest = found->load();
        {
            const std::lock_guard lock(mutex_);
            last_number_ = std::max(last_number_, highest);
            queues_[entry.name] = found;
        }
        found->wake();
    }
}

void InsertQueues::makeDirectory(const std::string& path) {
    if (context_->files.exists(path)) return;
    context_->files.createDirectories(path);
    if (context_->durable_names) syncParents(path);
}

/// Up to the folder of all tables' folders (store/): whatever of them is new has its name on the disk then.
void InsertQueues::syncParents(const std::string& path) {
    const std::string top = parentPath(parentPath(context_->path));
    for (std::string parent = parentPath(path); parent.size() >= top.size(); parent = parentPath(parent)) {
        context_->files.syncDirectory(parent);
        if (parent.empty()) break;
    }
}

std::shared_ptr<InsertQueue> InsertQueues::queue(const QueueTarget& target) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<InsertQueue>& found = queues_[target.name()];
    if (!found) found = std::make_shared<InsertQueue>(context_, target);
    return found;
}

void InsertQueues::add(const std::vector<QueueTarget>& targets,
                       const QueueFileHeader& header,
                       const Block& block,
                       FrameOptions frames,
                       std::chrono::milliseconds pause) {
    FileSystem& files = context_->files;
    const std::shared_lock directory(directory_);
    // Another table object may rule over the directory by now.
    if (closed_) throw Error(ErrorCode::TABLE_IS_DROPPED, "Table is dropped or detached");
    uint64_t number = 0;
    {
        const std::lock_guard lock(mutex_);
        number = ++last_number_;
    }
    const std::string name = fmt::format("{}.bin", number);
    const std::string written = context_->path + "/tmp/" + name;
    std::vector<std::string> linked;
    uint64_t bytes = 0;
    try {
        makeDirectory(context_->path + "/tmp");
        writeQueueFile(files, written, header, block, frames, context_->durable_files);
        bytes = files.fileSize(written);
        for (const QueueTarget& target : targets) {
            const std::string folder = queue(target)->path();
            makeDirectory(folder);
            files.link(written, folder + "/" + name);
            linked.push_back(folder + "/" + name);
            if (context_->durable_names) files.syncDirectory(folder);
        }
        files.removeFile(written);
    } catch (const Error&) {
        linked.push_back(written);
        for (const std::string& path : linked) {
            try {
                files.removeFile(path);
            } catch (const Error&) {
                // It was not there, or the disk fails altogether: the first error is the one to tell.
            }
        }
        throw;
    }
    for (const QueueTarget& target : targets) queue(target)->added(number, bytes, pause);
}

uint64_t InsertQueues::pendingBytes() const {
    uint64_t bytes = 0;
    for (const auto& each : all()) bytes += each->pendingBytes();
    return bytes;
}

void InsertQueues::delayOrThrow(const std::stop_token& stop) const {
    const DistributedSettings& settings = context_->settings;
    const uint64_t throws_at = settings.bytes_to_throw_insert;
    const uint64_t delays_at = settings.bytes_to_delay_insert;
    if (throws_at == 0 && delays_at == 0) return;
    uint64_t bytes = pendingBytes();
    if (throws_at && bytes > throws_at) throw tooManyBytes(bytes, "bytes_to_throw_insert", throws_at);
    if (delays_at == 0 || bytes <= delays_at) return;
    constexpr std::chrono::milliseconds kStep{20};
    const auto deadline = std::chrono::steady_clock::now() + settings.max_delay_to_insert;
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    while (bytes > delays_at && std::chrono::steady_clock::now() < deadline && !stop.stop_requested()) {
        stopped.wait_for(lock, stop, kStep, [] { return false; });
        bytes = pendingBytes();
    }
    if (bytes > delays_at) throw tooManyBytes(bytes, "bytes_to_delay_insert", delays_at);
}

void InsertQueues::flush(InsertQueue::Deadline deadline, const std::stop_token& stop) {
    std::optional<Error> first;
    for (const std::shared_ptr<InsertQueue>& each : all()) {
        if (stop.stop_requested()) throw Error(ErrorCode::QUERY_WAS_CANCELLED, "Query was cancelled");
        const std::stop_callback on_stop(stop, [&each] { each->cancelAttempt(); });
        try {
            each->flush(deadline);
        } catch (const Error& error) {
            if (!first) first = error;
        }
    }
    if (first) throw *first;
}

void InsertQueues::setBlocked(bool blocked) {
    context_->blocked = blocked;
    if (blocked) return;
    for (const std::shared_ptr<InsertQueue>& each : all()) each->wake();
}

std::vector<QueueStatus> InsertQueues::statuses() const {
    std::vector<QueueStatus> statuses;
    for (const std::shared_ptr<InsertQueue>& each : all()) statuses.push_back(each->status());
    return statuses;
}

InsertQueues::Queues InsertQueues::all() const {
    const std::lock_guard lock(mutex_);
    Queues queues;
    for (const auto& [name, each] : queues_) queues.push_back(each);
    return queues;
}

InsertQueues::Queues InsertQueues::takeAll() {
    Queues queues = all();
    const std::lock_guard lock(mutex_);
    queues_.clear();
    return queues;
}

void InsertQueues::clear() {
    const std::unique_lock directory(directory_);
    for (const std::shared_ptr<InsertQueue>& each : takeAll()) {
        each->stop();
        context_->files.removeRecursively(each->path());
    }
}

void InsertQueues::close() {
    {
        const std::unique_lock directory(directory_);
        if (std::exchange(closed_, true)) return;
    }
    for (const std::shared_ptr<InsertQueue>& each : all()) each->stop();
}

void InsertQueues::drop() {
    close();
    const std::unique_lock directory(directory_);
    context_->files.removeRecursively(context_->path);
}

}  // namespace shardd::cluster
