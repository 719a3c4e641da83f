#pragma once

#include <string>
#include <vector>

#include "common/columns/block.h"
#include "server/storage/distributed_activity.h"

/// What a shard says of its work in ProfileEvents and Log packets. The same names are written by daemon/query_trailer.
namespace shardd::cluster {

/// Names of ClickHouse's where it has them.
namespace shard_event {

/// A gauge: the query's memory on the shard at its highest.
inline constexpr const char* kPeakMemory = "MemoryTrackerPeakUsage";
/// Groups that the shard's aggregations made.
inline constexpr const char* kGroups = "ShardGroups";
/// Of them, those that are not the shard's own.
inline constexpr const char* kMisplacedGroups = "ShardMisplacedGroups";
/// Before the first block: the shard checks itself that its groups are its own.
inline constexpr const char* kChecksGroups = "ShardChecksGroups";

}  // namespace shard_event

/// The source of log lines that tell of groups in the wrong place.
inline constexpr const char* kTruthSource = "verify_disjoint_groups";

/// Takes what is known of a ProfileEvents block over into `answer`; other events and strange blocks do not count.
void noteProfileEvents(const Block& events, storage::ShardAnswer& answer);

bool saysThatGroupsAreChecked(const Block& events);

/// The texts of a Log block that come from the check of groups.
std::vector<std::string> truthWarnings(const Block& lines);

}  // namespace shardd::cluster
