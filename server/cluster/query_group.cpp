#include "server/cluster/query_group.h"

#include <algorithm>

#include "server/cluster/shard_query.h"
#include "server/cluster/shard_task.h"

namespace shardd::cluster {

QueryGroup::QueryGroup(ClusterServicePtr cluster_service,
                       ClusterPtr asked,
                       storage::RemoteQuery remote_query,
                       std::optional<protocol::TableName> table)
    : service(std::move(cluster_service)),
      cluster(std::move(asked)),
      query(std::move(remote_query)),
      checked_table(std::move(table)),
      settings(settingsOf(query.settings)),
      network(settings->max_network_bytes, settings->max_network_bandwidth),
      deadline(service->hooks.deadline ? service->hooks.deadline() : std::nullopt),
      budget(currentMemoryBudget()),
      progress_(query.progress) {
    if (budget) budget->addReference();
}

QueryGroup::~QueryGroup() {
    if (budget) budget->dropReference();
}

void QueryGroup::setTasks(const std::vector<std::shared_ptr<ShardTask>>& tasks) {
    streams_ = tasks.size();
    {
        const std::lock_guard lock(mutex_);
        tasks_.assign(tasks.begin(), tasks.end());
    }
    on_stop_.emplace(query.stop, [weak = weak_from_this()] {
        if (const std::shared_ptr<QueryGroup> alive = weak.lock()) alive->stop();
    });
}

std::vector<std::shared_ptr<ShardTask>> QueryGroup::liveTasks() {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<ShardTask>> tasks;
    for (const std::weak_ptr<ShardTask>& weak : tasks_)
        if (std::shared_ptr<ShardTask> task = weak.lock()) tasks.push_back(std::move(task));
    return tasks;
}

void QueryGroup::fail(const Error& error) {
    if (failed_.exchange(true)) return;
    stopped_ = true;
    for (const std::shared_ptr<ShardTask>& task : liveTasks()) {
        task->queue.fail(std::make_exception_ptr(error));
        task->stop();
    }
}

void QueryGroup::stop() {
    stopped_ = true;
    for (const std::shared_ptr<ShardTask>& task : liveTasks()) task->stop();
}

void QueryGroup::skipShard() {
    const size_t skipped = ++skipped_;
    const size_t asked = query.shards.size();
    const uint64_t most = settings->max_skip_unavailable_shards_num;
    if (most != 0 && skipped > most)
        throw Error(ErrorCode::TOO_MANY_UNAVAILABLE_SHARDS,
                    "Too many unavailable shards: {} out of {} total shards are unavailable, "
                    "max_skip_unavailable_shards_num is set to {}",
                    skipped, asked, most);
    const auto ratio = static_cast<double>(settings->max_skip_unavailable_shards_ratio);
    const double part = static_cast<double>(skipped) / static_cast<double>(asked);
    if (ratio > 0 && part > ratio)
        throw Error(ErrorCode::TOO_MANY_UNAVAILABLE_SHARDS,
                    "Too many unavailable shards: {} out of {} total shards are unavailable ({:.1f}%), "
                    "max_skip_unavailable_shards_ratio is set to {}",
                    skipped, asked, 100 * part, ratio);
}

void QueryGroup::progress(uint64_t rows, uint64_t bytes) {
    const std::lock_guard lock(progress_mutex_);
    if (progress_) progress_(rows, bytes);
}

void QueryGroup::streamGone() {
    if (--streams_ > 0) return;
    const std::lock_guard lock(progress_mutex_);
    progress_ = nullptr;
}

size_t QueryGroup::queueBytes() const {
    constexpr size_t kAllShards = size_t{128} << 20;
    constexpr size_t kLeast = size_t{256} << 10;
    constexpr size_t kMost = size_t{8} << 20;
    return std::clamp(kAllShards / std::max<size_t>(query.shards.size(), 1), kLeast, kMost);
}

std::string QueryGroup::shardText(size_t shard) const {
    const std::string number = fmt::format("shard {}", cluster->shards.at(shard).number);
    return cluster->name.empty() ? number : fmt::format("{} of cluster {}", number, cluster->name);
}

}  // namespace shardd::cluster
