#include "server/cluster/remote_source.h"

#include "common/columns/adapt_block.h"
#include "common/protocol/native_options.h"
#include "common/wire/encoded_block.h"
#include "common/wire/passed_frames.h"
#include "server/cluster/legacy_name.h"
#include "server/storage/group_buckets.h"

namespace shardd::cluster {

RemoteSource::RemoteSource(std::shared_ptr<ShardTask> task)
    : task_(std::move(task)), asked_for_buckets_(!task_->group()->query.group_buckets.empty()) {}

RemoteSource::~RemoteSource() {
    task_->stop();
    task_->group()->streamGone();
}

/// Columns by the names that were asked for, or by those that a server without the analyzer gives them.
Block RemoteSource::convert(const Block& block, const Block& wanted) const {
    Block result = adaptBlock(block, wanted, task_->group()->service->hooks.convert, legacyName);
    // Other servers number buckets by hashes of their own, and values of another type have other ones.
    if (!asked_for_buckets_ || !task_->is_shardd || !storage::keepsBuckets(block, wanted)) result.bucket = Block::kNoBucket;
    return result;
}

bool RemoteSource::isAsWanted(const Block& header) const {
    const Block& wanted = this->header();
    if (header.columns.size() != wanted.columns.size()) return false;
    for (size_t i = 0; i < wanted.columns.size(); ++i)
        if (header.columns[i].name != wanted.columns[i].name ||
            !sameType(header.columns[i].type, wanted.columns[i].type))
            return false;
    return true;
}

bool RemoteSource::groupsAreLookedAt() const {
    const storage::GroupCheck check = task_->group()->query.group_check;
    return check == storage::GroupCheck::Initiator || (check == storage::GroupCheck::Shards && !checksGroups());
}

/// A block from the queue as whoever reads wants it; nothing when it has no rows.
std::optional<Block> RemoteSource::take(Block block) {
    takeTotals();
    if (block.rows == 0) same_columns_ = isAsWanted(block);
    if (const PassedFrames* passed = passedFrames(block)) {
        if (same_columns_ && !groupsAreLookedAt()) return block;
        Block looked_at = net::decoded(block);
        // Who only looks at the rows may still hand their frames on.
        PodVector<char> frames;
        frames.append(passed->frames.data(), passed->frames.size());
        attachEncoded(looked_at, protocol::nativeOptionsAt(passed->revision), std::move(frames));
        block = std::move(looked_at);
    }
    Block converted = convert(block, header());
    if (converted.rows == 0) return std::nullopt;
    return converted;
}

std::optional<Block> RemoteSource::next() {
    task_->want();
    while (std::optional<Block> block = task_->queue.pop())
        if (std::optional<Block> taken = take(std::move(*block))) return taken;
    takeRest();
    return std::nullopt;
}

RemoteSource::Polled RemoteSource::poll() {
    while (true) {
        auto popped = task_->queue.tryPop();
        if (popped.ended) takeRest();
        if (!popped.value) return {.block = std::nullopt, .ended = popped.ended};
        if (std::optional<Block> taken = take(std::move(*popped.value)))
            return {.block = std::move(taken), .ended = false};
    }
}

/// Some shards know their totals before their first row.
void RemoteSource::takeTotals() {
    const std::optional<Block>& own_header = task_->group()->query.totals_header;
    if (task_->has_totals && !totals_) totals_ = convert(*task_->totals, own_header ? *own_header : header());
}

/// What comes behind the rows.
void RemoteSource::takeRest() {
    if (task_->queue.cancelled()) return;  // it may still be written, and nobody wants it
    takeTotals();
    if (task_->extremes && !extremes_) extremes_ = convert(*task_->extremes, header());
}

}  // namespace shardd::cluster
