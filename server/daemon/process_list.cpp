#include "server/daemon/process_list.h"

#include <algorithm>

namespace shardd::daemon {

ProcessList::ProcessList(std::shared_ptr<MemoryBudget> server_memory, Limits limits)
    : server_memory_(std::move(server_memory)), limits_(limits) {}

std::shared_ptr<MemoryBudget> ProcessList::makeBudget(const std::string& user,
                                                      const std::string& query_id,
                                                      const Settings& settings) {
    std::shared_ptr<MemoryBudget> parent;
    {
        const std::lock_guard lock(mutex_);
        auto& slot = user_memory_[user];
        if (!slot) slot = MemoryBudget::create("user " + user, 0, server_memory_);
        parent = slot;
    }
    parent->setLimit(settings->max_memory_usage_for_user);
    return MemoryBudget::create("query " + query_id, settings->max_memory_usage, parent);
}

std::optional<uint64_t> ProcessList::bytesLeft(const std::string& user) const {
    std::optional<uint64_t> least;
    const auto take = [&](const MemoryBudget& budget) {
        const uint64_t limit = budget.limitBytes();
        if (limit == 0) return;
        const uint64_t used = std::min(limit, budget.usedBytes());
        least = std::min(least.value_or(limit), limit - used);
    };
    take(*server_memory_);
    const std::lock_guard lock(mutex_);
    if (const auto found = user_memory_.find(user); found != user_memory_.end()) take(*found->second);
    return least;
}

std::shared_ptr<exec::DiskQuota> ProcessList::makeDiskQuota(const std::string& user,
                                                            const Settings& settings) {
    std::shared_ptr<exec::DiskQuota> parent;
    {
        const std::lock_guard lock(mutex_);
        auto& slot = user_disk_[user];
        if (!slot) slot = std::make_shared<exec::DiskQuota>(0);
        parent = slot;
    }
    parent->setLimit(settings->max_temporary_data_on_disk_size_for_user);
    return std::make_shared<exec::DiskQuota>(settings->max_temporary_data_on_disk_size_for_query, parent);
}

void ProcessList::add(const RunningQueryPtr& query) {
    RunningQueryPtr replaced;
    {
        const std::lock_guard lock(mutex_);
        const uint64_t for_all = query->settings->max_concurrent_queries_for_all_users;
        const uint64_t limit = limits_.max_queries && for_all ? std::min(limits_.max_queries, for_all)
                                                              : std::max(limits_.max_queries, for_all);
        if (limit && queries_.size() >= limit)
            throw Error(ErrorCode::TOO_MANY_SIMULTANEOUS_QUERIES,
                        "Too many simultaneous queries. Maximum: {}", limit);
        uint64_t of_user = 0;
        for (const auto& other : queries_) {
            if (other->user != query->user) continue;
            ++of_user;
            // A shard gets its own id for each query, so only people's ids can meet.
            if (other->query_id != query->query_id) continue;
            if (!query->settings->replace_running_query)
                throw Error(ErrorCode::QUERY_WITH_SAME_ID_IS_ALREADY_RUNNING,
                            "Query with id = {} is already running.", query->query_id);
            replaced = other;
        }
        const uint64_t user_limit = query->settings->max_concurrent_queries_for_user;
        if (user_limit && of_user >= user_limit)
            throw Error(ErrorCode::TOO_MANY_SIMULTANEOUS_QUERIES,
                        "Too many simultaneous queries for user {}. Current: {}, maximum: {}", query->user,
                        of_user, user_limit);
        queries_.push_back(query);
    }
    if (replaced) cancel(*replaced, Error(ErrorCode::QUERY_WAS_CANCELLED, "Query was cancelled"));
}

void ProcessList::remove(const RunningQueryPtr& query) {
    const std::lock_guard lock(mutex_);
    std::erase(queries_, query);
}

std::vector<RunningQueryPtr> ProcessList::all() const {
    const std::lock_guard lock(mutex_);
    return queries_;
}

size_t ProcessList::size() const {
    const std::lock_guard lock(mutex_);
    return queries_.size();
}

bool ProcessList::kill(std::string_view query_id) {
    bool found = false;
    for (const auto& query : all()) {
        if (query->query_id != query_id) continue;
        cancel(*query, Error(ErrorCode::QUERY_WAS_CANCELLED, "Query was cancelled"));
        found = true;
    }
    return found;
}

void ProcessList::cancelAll(const Error& reason) {
    for (const auto& query : all()) cancel(*query, reason);
}

void ProcessList::cancel(RunningQuery& query, Error reason) {
    if (query.is_cancelled.exchange(true)) return;
    // The query takes its way of being ended back, under the same lock, before it is gone.
    const std::lock_guard lock(query.mutex);
    if (query.cancel) query.cancel(std::move(reason));
}

RunningQueryPtr ProcessList::current() const {
    const MemoryBudget* budget = currentMemoryBudget();
    if (!budget) return nullptr;
    for (const auto& query : all())
        if (query->memory.get() == budget) return query;
    return nullptr;
}

}  // namespace shardd::daemon
