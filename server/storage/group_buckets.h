#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>

#include "common/columns/block.h"

/// States of groups that travel bucket by bucket between nodes of this kind.
namespace shardd::storage {

/// Buckets of a two-level block: Block::bucket is 0 … kGroupBuckets - 1.
inline constexpr size_t kGroupBuckets = 256;

/// The hash that numbers buckets, by the name under which an initiator asks its shards for them (the setting
/// distributed_group_buckets): bits 40..47 of exec/key_hash.h over keys packed as exec/key_layout.h does.
/// Another hash or another packing must have another name: nodes of different versions then send each other
/// blocks without buckets.
inline constexpr std::string_view kGroupBucketHash = "packed_keys_1";

/// Whether the rows of a block keep their buckets when its columns become those of `wanted`, by name: values of
/// another type have another hash.
inline bool keepsBuckets(const Block& block, const Block& wanted) {
    const auto keeps = [&](const NamedColumn& column) {
        const std::optional<size_t> found = block.find(column.name);
        if (!found) return false;
        const TypePtr& type = block.columns[*found].type;
        return type->kind() == TypeKind::AggregateFunction ||
               sameType(removeLowCardinality(type), removeLowCardinality(column.type));
    };
    return std::all_of(wanted.columns.begin(), wanted.columns.end(), keeps);
}

}  // namespace shardd::storage
