#include "server/cluster/insert_queue.h"

#include <algorithm>

#include "common/base/log.h"
#include "common/base/plain_numbers.h"
#include "server/cluster/replica_choice.h"
#include "server/cluster/shard_query.h"

namespace shardd::cluster {

namespace {

constexpr Log kLog("cluster");
constexpr std::string_view kEnding = ".bin";
constexpr std::chrono::minutes kErrorsHalfLife{5};
constexpr uint64_t kMaxBatchFileBytes = uint64_t{16} << 20;

/// "17.bin"
std::optional<uint64_t> numberOfFile(std::string_view name) {
    if (!name.ends_with(kEnding)) return std::nullopt;
    return parseUnsigned(name.substr(0, name.size() - kEnding.size()));
}

/// After these the files of a batch may pass one by one.
bool mayPassSplit(const Error& error) {
    for (const ErrorCode code :
         {ErrorCode::MEMORY_LIMIT_EXCEEDED, ErrorCode::ARGUMENT_OUT_OF_BOUND, ErrorCode::TOO_MANY_PARTS,
          ErrorCode::TOO_MANY_BYTES, ErrorCode::TOO_MANY_ROWS_OR_BYTES, ErrorCode::TOO_MANY_PARTITIONS,
          ErrorCode::DISTRIBUTED_TOO_MANY_PENDING_BYTES})
        if (error.is(code)) return true;
    return false;
}

std::chrono::milliseconds milliseconds(std::chrono::microseconds duration) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(duration);
}

}  // namespace

std::string QueueTarget::name() const {
    return replica ? fmt::format("shard{}_replica{}", shard + 1, *replica + 1)
                   : fmt::format("shard{}_all_replicas", shard + 1);
}

std::optional<QueueTarget> QueueTarget::parse(std::string_view name) {
    constexpr std::string_view kShard = "shard";
    constexpr std::string_view kReplica = "replica";
    const size_t middle = name.find('_');
    if (!name.starts_with(kShard) || middle == std::string_view::npos) return std::nullopt;
    const std::optional<uint64_t> shard = parseUnsigned(name.substr(kShard.size(), middle - kShard.size()));
    if (!shard || *shard == 0) return std::nullopt;
    const std::string_view rest = name.substr(middle + 1);
    if (rest == "all_replicas") return QueueTarget{.shard = *shard - 1, .replica = std::nullopt};
    if (!rest.starts_with(kReplica)) return std::nullopt;
    const std::optional<uint64_t> replica = parseUnsigned(rest.substr(kReplica.size()));
    if (!replica || *replica == 0) return std::nullopt;
    return QueueTarget{.shard = *shard - 1, .replica = *replica - 1};
}

InsertQueue::InsertQueue(std::shared_ptr<QueueContext> context, QueueTarget target)
    : context_(std::move(context)), target_(target), path_(context_->path + "/" + target.name()) {}

std::string InsertQueue::filePath(uint64_t number) const {
    return fmt::format("{}/{}{}", path_, number, kEnding);
}

uint64_t InsertQueue::load() {
    FileSystem& files = context_->files;
    const std::lock_guard lock(mutex_);
    uint64_t highest = 0;
    for (const FileSystem::Entry& entry : files.list(path_)) {
        const std::optional<uint64_t> number = numberOfFile(entry.name);
        if (!entry.is_directory && number) {
            pending_[*number] = files.fileSize(path_ + "/" + entry.name);
            pending_bytes_ += pending_[*number];
            highest = std::max(highest, *number);
        } else if (entry.name == "current_batch.txt.tmp") {
            files.removeFile(path_ + "/" + entry.name);  // never came to be
        } else if (entry.name != "broken" && entry.name != "current_batch.txt") {
            kLog.warning("{}/{} does not belong there and is left alone", path_, entry.name);
        }
    }
    for (const FileSystem::Entry& entry : files.list(path_ + "/broken")) {
        highest = std::max(highest, numberOfFile(entry.name).value_or(0));
        ++status_.broken_files;
        status_.broken_bytes += files.fileSize(path_ + "/broken/" + entry.name);
    }
    return highest;
}

bool InsertQueue::empty() const {
    const std::lock_guard lock(mutex_);
    return pending_.empty() && status_.broken_files == 0;
}

void InsertQueue::added(uint64_t number, uint64_t bytes, std::chrono::milliseconds pause) {
    {
        const std::lock_guard lock(mutex_);
        pending_[number] = bytes;
        pending_bytes_ += bytes;
    }
    schedule(pause);
}

void InsertQueue::schedule(std::chrono::milliseconds pause) {
    const Time at = std::chrono::steady_clock::now() + pause;
    {
        const std::lock_guard lock(mutex_);
        if (stopped_ || (due_ && *due_ <= at)) return;
        due_ = at;
    }
    context_->service->senders.schedule(weak_from_this(), at);
}

void InsertQueue::wake() {
    {
        const std::lock_guard lock(mutex_);
        if (pending_.empty()) return;
    }
    schedule(std::chrono::milliseconds(0));
}

std::chrono::milliseconds InsertQueue::firstPause() const {
    if (context_->settings.background_insert_sleep_time)
        return *context_->settings.background_insert_sleep_time;
    return milliseconds((*context_->service->profile())->distributed_background_insert_sleep_time_ms);
}

/// Doubles with every error, up to the most.
std::chrono::milliseconds InsertQueue::pauseAfterErrors() const {
    std::chrono::milliseconds most =
        milliseconds((*context_->service->profile())->distributed_background_insert_max_sleep_time_ms);
    if (context_->settings.background_insert_max_sleep_time)
        most = *context_->settings.background_insert_max_sleep_time;
    std::chrono::milliseconds pause = std::max(firstPause(), std::chrono::milliseconds(1));
    for (uint64_t errors = status().error_count; errors > 0 && pause < most; --errors) pause *= 2;
    return std::min(pause, most);
}

bool InsertQueue::batches() const {
    return context_->settings.background_insert_batch.value_or(
        (*context_->service->profile())->distributed_background_insert_batch);
}

bool InsertQueue::splitsBatches() const {
    return context_->settings.background_insert_split_batch_on_failure.value_or(
        (*context_->service->profile())->distributed_background_insert_split_batch_on_failure);
}

void InsertQueue::run() {
    {
        const std::lock_guard lock(mutex_);
        due_.reset();
        if (stopped_ || pending_.empty()) return;
    }
    if (context_->blocked) return;  // START wakes us
    std::chrono::milliseconds pause = firstPause();
    {
        // Somebody flushes: what is left then is for later.
        const std::unique_lock sending(sending_, std::try_to_lock);
        if (sending) {
            try {
                sendAll(false, RemoteSink::kNever);
                succeeded();
            } catch (const Error& error) {
                failed(error);
                pause = pauseAfterErrors();
            } catch (const std::exception& error) {
                failed(Error(ErrorCode::STD_EXCEPTION, "{}", error.what()));
                pause = pauseAfterErrors();
            }
        }
    }
    {
        const std::lock_guard lock(mutex_);
        if (stopped_ || pending_.empty()) return;
    }
    schedule(pause);
}

void InsertQueue::flush(Deadline deadline) {
    const std::lock_guard sending(sending_);
    try {
        sendAll(true, deadline);
        succeeded();
    } catch (const Error& error) {
        failed(error);
        throw;
    }
}

void InsertQueue::cancelAttempt() {
    std::shared_ptr<RemoteSink> active;
    {
        const std::lock_guard lock(mutex_);
        active = active_;
    }
    if (active) active->cancel();
}

void InsertQueue::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
    }
    cancelAttempt();
    const std::lock_guard sending(sending_);
}

uint64_t InsertQueue::pendingBytes() const {
    const std::lock_guard lock(mutex_);
    return pending_bytes_;
}

QueueStatus InsertQueue::status() const {
    const std::lock_guard lock(mutex_);
    QueueStatus status = status_;
    status.path = path_ + "/";
    status.blocked = context_->blocked;
    status.files = pending_.size();
    status.bytes = pending_bytes_;
    return status;
}

void InsertQueue::failed(const Error& error) {
    {
        const std::lock_guard lock(mutex_);
        if (stopped_) return;
        ++status_.error_count;
        status_.last_exception = fmt::format("Code: {}. {}", error.code(), error.message());
        status_.last_exception_time = std::chrono::system_clock::now();
    }
    kLog.error("{}: Code: {}. {}", path_, error.code(), error.message());
}

void InsertQueue::succeeded() {
    const std::lock_guard lock(mutex_);
    status_.last_exception.clear();
    const auto now = std::chrono::steady_clock::now();
    if (now - errors_halved_at_ <= kErrorsHalfLife) return;
    status_.error_count /= 2;
    errors_halved_at_ = now;
}

bool InsertQueue::mayGoOn(bool even_if_blocked) const {
    if (context_->blocked && !even_if_blocked) return false;
    const std::lock_guard lock(mutex_);
    return !stopped_;
}

std::optional<uint64_t> InsertQueue::nextFile(uint64_t after) const {
    const std::lock_guard lock(mutex_);
    const auto found = pending_.upper_bound(after);
    return found == pending_.end() ? std::nullopt : std::optional(found->first);
}

void InsertQueue::sendAll(bool even_if_blocked, Deadline deadline) {
    if (batches()) return sendInBatches(even_if_blocked, deadline);
    while (mayGoOn(even_if_blocked)) {
        const std::optional<uint64_t> next = nextFile(0);
        if (!next) return;
        send({*next}, deadline);
    }
}

// ------------------------------------------------------------------------------------------- batches

void InsertQueue::sendInBatches(bool even_if_blocked, Deadline deadline) {
    // The same files once more: whoever remembers what it was sent knows the batch again.
    if (const Numbers unfinished = unfinishedBatch(); !unfinished.empty() && mayGoOn(even_if_blocked))
        sendBatch(unfinished, deadline);
    while (mayGoOn(even_if_blocked)) {
        const Numbers numbers = gatherBatch();
        if (numbers.empty()) return;
        sendBatch(numbers, deadline);
    }
}

/// Of current_batch.txt what is still there: files leave in order, so a missing one that has one before it
/// makes the list worthless.
InsertQueue::Numbers InsertQueue::unfinishedBatch() const {
    FileSystem& files = context_->files;
    if (!files.exists(batchPath())) return {};
    Numbers numbers;
    const std::string text = files.readFile(batchPath(), kMaxBatchFileBytes);
    const std::lock_guard lock(mutex_);
    for (size_t from = 0; from < text.size();) {
        const size_t end = std::min(text.find('\n', from), text.size());
        const std::optional<uint64_t> number = parseUnsigned(std::string_view(text).substr(from, end - from));
        if (!number || (!pending_.contains(*number) && !numbers.empty())) return {};
        if (pending_.contains(*number)) numbers.push_back(*number);
        from = end + 1;
    }
    return numbers;
}

/// The next files that go into one INSERT: the same text, settings, user and columns, up to the size of a
/// block.
InsertQueue::Numbers InsertQueue::gatherBatch() {
    const std::shared_ptr<const Settings> profile = context_->service->profile();
    const uint64_t most_rows = (*profile)->min_insert_block_size_rows;
    const uint64_t most_bytes = (*profile)->min_insert_block_size_bytes;
    Numbers numbers;
    std::optional<QueueFileHeader> first;
    uint64_t rows = 0;
    uint64_t bytes = 0;
    for (std::optional<uint64_t> next = nextFile(0); next; next = nextFile(*next)) {
        QueueFileHeader header;
        try {
            header = readQueueFileHeader(context_->files, filePath(*next));
        } catch (const BrokenQueueFile& broken) {
            moveToBroken(*next, broken.reason);
            continue;
        } catch (const Error& error) {
            forgetIfGone(*next, error);
            continue;
        }
        const bool fits = !first || (header.text == first->text && header.settings == first->settings &&
                                     header.structure == first->structure &&
                                     header.origin.initial_user == first->origin.initial_user);
        if (!fits) break;
        numbers.push_back(*next);
        rows += header.rows;
        bytes += header.bytes;
        if (!first) first = std::move(header);
        const bool unlimited = most_rows == 0 && most_bytes == 0;
        if (unlimited || (most_rows && rows >= most_rows) || (most_bytes && bytes >= most_bytes)) break;
    }
    return numbers;
}

void InsertQueue::sendBatch(const Numbers& numbers, Deadline deadline) {
    std::string text;
    for (const uint64_t number : numbers) text += fmt::format("{}\n", number);
    context_->files.replaceFile(batchPath(), text);
    try {
        send(numbers, deadline);
    } catch (const Error& error) {
        if (numbers.size() == 1 || !splitsBatches() || !mayPassSplit(error)) throw;
        kLog.warning("{}: {} files are sent one by one after: {}", path_, numbers.size(), error.message());
        for (const uint64_t number : numbers) send({number}, deadline);
    }
    context_->files.removeFile(batchPath());
}

// ------------------------------------------------------------------------------------------- sending

std::shared_ptr<RemoteSink> InsertQueue::openSink(const QueueFileHeader& header) {
    const ClusterPtr cluster = context_->cluster();
    if (target_.shard >= cluster->shards.size())
        throw Error(ErrorCode::INCORRECT_FILE_NAME, "No shard with shard_index={} ({}): cluster {} has {}",
                    target_.shard + 1, target_.name(), cluster->name, cluster->shards.size());
    const Shard& shard = cluster->shards[target_.shard];
    if (target_.replica.value_or(0) >= shard.replicas.size())
        throw Error(ErrorCode::INCORRECT_FILE_NAME, "No replica with replica_index={} ({})",
                    target_.replica.value_or(0) + 1, target_.name());
    RemoteSink::Request request;
    request.service = context_->service;
    request.login = context_->service->loginFor(*cluster);
    if (target_.replica)
        request.replicas = {shard.replicas[*target_.replica]};
    else
        request.replicas = orderReplicas(shard, settingsOf(header.settings));
    request.text = header.text;
    request.settings = header.settings;
    request.origin = header.origin;
    auto sink = std::make_shared<RemoteSink>(std::move(request));
    sink->start();  // before others know of it: they may cancel it only then
    bool stopped = false;
    {
        const std::lock_guard lock(mutex_);
        stopped = stopped_;
        if (!stopped) active_ = sink;
    }
    if (!stopped) return sink;
    sink->cancel();
    throw Error(ErrorCode::ABORTED, "The table is being stopped");
}

void InsertQueue::closeSink() {
    std::shared_ptr<RemoteSink> sink;
    {
        const std::lock_guard lock(mutex_);
        sink = std::move(active_);
        active_.reset();
    }
    if (sink) sink->cancel();  // of no effect on one that has finished
}

/// Throws on when the error is another: a file that somebody took away must not hold up those behind it.
void InsertQueue::forgetIfGone(uint64_t number, const Error& error) {
    if (!error.is(ErrorCode::FILE_DOESNT_EXIST)) throw error;
    kLog.error("{} is gone: its rows are not sent", filePath(number));
    forget(number);
}

uint64_t InsertQueue::forget(uint64_t number) {
    const std::lock_guard lock(mutex_);
    const auto found = pending_.find(number);
    if (found == pending_.end()) return 0;
    const uint64_t bytes = found->second;
    pending_bytes_ -= bytes;
    pending_.erase(found);
    return bytes;
}

std::optional<QueueFile> InsertQueue::read(uint64_t number) {
    try {
        return readQueueFile(context_->files, filePath(number));
    } catch (const Error& error) {
        forgetIfGone(number, error);
        return std::nullopt;
    }
}

void InsertQueue::send(const Numbers& numbers, Deadline deadline) {
    Numbers sent;
    try {
        std::shared_ptr<RemoteSink> sink;
        for (const uint64_t number : numbers) {
            try {
                const std::optional<QueueFile> file = read(number);
                if (!file) continue;
                if (!sink) sink = openSink(file->header);
                sink->write(file->block, deadline);
                sent.push_back(number);
            } catch (const BrokenQueueFile& broken) {
                moveToBroken(number, broken.reason);
            }
        }
        if (sink) sink->finish(deadline);
    } catch (...) {
        closeSink();
        throw;
    }
    closeSink();
    remove(sent);
}

void InsertQueue::remove(const Numbers& numbers) {
    if (numbers.empty()) return;
    for (const uint64_t number : numbers) {
        context_->files.removeFile(filePath(number));
        forget(number);
    }
    if (context_->durable_names) context_->files.syncDirectory(path_);
}

void InsertQueue::moveToBroken(uint64_t number, const std::string& reason) {
    FileSystem& files = context_->files;
    const std::string folder = path_ + "/broken";
    files.createDirectories(folder);
    files.rename(filePath(number), fmt::format("{}/{}{}", folder, number, kEnding));
    if (context_->durable_names) {
        files.syncDirectory(folder);
        files.syncDirectory(path_);
    }
    const uint64_t bytes = forget(number);
    {
        const std::lock_guard lock(mutex_);
        ++status_.broken_files;
        status_.broken_bytes += bytes;
    }
    kLog.error("{}: its rows cannot be sent, the file is kept as {}/{}{}: {}", filePath(number), folder,
               number, kEnding, reason);
}

}  // namespace shardd::cluster
