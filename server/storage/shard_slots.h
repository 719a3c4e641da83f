#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/pod_vector.h"
#include "common/columns/column.h"
#include "common/types/type.h"

/// Which shard a row belongs to: slot = value of the sharding key % sum of the weights, and a shard has as many
/// slots, one after another, as its weight says. INSERT, the choice of shards by WHERE and the proof of disjoint
/// groups all ask here. Source: ClickHouse's Distributed engine.
namespace shardd::storage {

class ShardSlots {
public:
    /// One weight a shard, in the cluster's order; all may be 0.
    explicit ShardSlots(std::span<const uint32_t> weights);

    /// How many slots there are.
    uint64_t total() const { return begins_.back(); }

    size_t shards() const { return begins_.size() - 1; }

    /// The first slot of a shard (from 0), and behind its last one.
    uint64_t begin(size_t shard) const { return begins_[shard]; }

    uint64_t end(size_t shard) const { return begins_[shard + 1]; }

    /// Of a slot below total().
    size_t shardOf(uint64_t slot) const;

    /// The slot of each value of a key of `type` (isShardingType without LowCardinality) in a full column. Negative
    /// values count as the unsigned number of their own width. total() is not 0.
    void slotsOf(const Type& type, const Column& values, PodVector<uint64_t>& slots) const;

private:
    std::vector<uint64_t> begins_;
};

/// Whether values of this type choose a shard: whole numbers up to 64 bits, and what is kept as such.
bool isShardingType(const Type& type);

}  // namespace shardd::storage
