#pragma once

#include "common/protocol/revision.h"
#include "common/wire/native.h"

namespace shardd::protocol {

/// How blocks are written and read on a connection of `revision`.
inline NativeOptions nativeOptionsAt(Revision revision) {
    return {.block_info = revision >= gate::kBlockInfo,
            .out_of_order_buckets = revision >= gate::kOutOfOrderBuckets,
            .column_kinds = revision >= gate::kCustomSerialization,
            .low_cardinality = revision >= gate::kLowCardinality,
            .time_zones = revision >= gate::kTimezoneInTypeName,
            .aggregate_versions = revision >= gate::kAggregateVersions};
}

}  // namespace shardd::protocol
