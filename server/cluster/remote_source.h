#pragma once

#include <memory>
#include <optional>

#include "server/cluster/shard_task.h"

namespace shardd::cluster {

/// The reading end of a ShardTask: blocks with the columns and types that the query expects.
class RemoteSource final : public storage::RemoteStream {
public:
    explicit RemoteSource(std::shared_ptr<ShardTask> task);

    /// Nobody reads any longer: the shard is told to stop.
    ~RemoteSource() override;

    const Block& header() const override { return task_->group()->query.header; }

    std::optional<Block> next() override;

    Polled poll() override;

    void onReadable(std::function<void()> callback) override { task_->onReadable(std::move(callback)); }

    void want() override { task_->want(); }

    const std::optional<Block>& totals() const override { return totals_; }

    const std::optional<Block>& extremes() const override { return extremes_; }

    std::optional<uint64_t> rowsBeforeLimit() const override { return task_->rows_before_limit; }

    size_t shard() const override { return task_->shard(); }

    bool checksGroups() const override { return task_->checks_groups; }

private:
    Block convert(const Block& block, const Block& wanted) const;
    std::optional<Block> take(Block block);
    bool isAsWanted(const Block& header) const;
    /// By us: a block must be read before it is passed on.
    bool groupsAreLookedAt() const;
    void takeTotals();
    void takeRest();

    std::shared_ptr<ShardTask> task_;
    const bool asked_for_buckets_;
    std::optional<Block> totals_;
    std::optional<Block> extremes_;
    /// The shard's blocks have the wanted columns in their order: they may be passed on unread.
    bool same_columns_ = false;
};

}  // namespace shardd::cluster
