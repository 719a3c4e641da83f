#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/columns/block.h"
#include "server/plan/plan.h"
#include "server/storage/shard_slots.h"

/// Whether groups are where they should be: for the shard that makes them and for the initiator that passes them on.
namespace shardd::exec {

using GroupLabels = std::vector<std::pair<std::string, std::string>>;

/// The shard of each group by its sharding key.
/// Threads: any.
class GroupPlaces {
public:
    explicit GroupPlaces(const plan::GroupSlots& groups);

    /// The rows of `block` whose group does not belong to `own_shard` (from 0).
    void findMisplaced(const Block& block, size_t own_shard, PodVector<RowIndex>& rows) const;

    /// From 0.
    size_t shardOf(const Block& block, size_t row) const;

private:
    /// The slot of each row.
    void slotsOf(const Block& block, PodVector<uint64_t>& slots) const;

    const plan::GroupSlots& groups_;
    const storage::ShardSlots slots_;
};

/// "(UserID = 5, URL = 'a')", long values cut.
std::string groupText(const Block& block, const GroupLabels& keys, size_t row);

/// Looks at the groups of `block`, which `own_shard` made: counts those that are not its own, with a few samples.
/// Errors: VIOLATED_CONSTRAINT (469) at the first of them when `throws`.
void checkPlaces(const GroupPlaces& places,
                 const std::string& sharding_key,
                 const Block& block,
                 const GroupLabels& keys,
                 size_t own_shard,
                 bool throws,
                 storage::GroupFindings& findings);

/// The error and the warning: what was found, what it means, what to do.
std::string notDisjointText(const std::string& what, const std::vector<std::string>& samples);

}  // namespace shardd::exec
