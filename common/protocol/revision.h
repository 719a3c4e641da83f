#pragma once

#include <algorithm>
#include <cstdint>

namespace shardd::protocol {

/// The revision in use on a connection is the lower of the two announced ones; a field with a gate is on the
/// wire exactly when the revision in use is at least the gate, in both directions.
using Revision = uint64_t;

/// What our server announces. From 54487 on a connection with an interserver secret carries a hash in
/// TablesStatusRequest whose formula is not public, so do not go beyond.
inline constexpr Revision kServerRevision = 54486;

/// What our initiator announces: every column kind that this revision allows is read by wire/native.
inline constexpr Revision kInitiatorRevision = 54486;

/// Every gate with what it added. The numbers travel: never renumber.
namespace gate {

inline constexpr Revision kTotalRowsInProgress = 51554;
inline constexpr Revision kBlockInfo = 51903;
inline constexpr Revision kClientInfo = 54032;
inline constexpr Revision kServerTimezone = 54058;
inline constexpr Revision kQuotaKeyInClientInfo = 54060;
inline constexpr Revision kTablesStatus = 54226;
/// Below: `DateTime('tz')` is sent as `DateTime`.
inline constexpr Revision kTimezoneInTypeName = 54337;
inline constexpr Revision kServerDisplayName = 54372;
inline constexpr Revision kVersionPatch = 54401;
/// Below: LowCardinality(T) is sent as T, name and data.
inline constexpr Revision kLowCardinality = 54405;
inline constexpr Revision kServerLogs = 54406;
inline constexpr Revision kTableColumns = 54410;
inline constexpr Revision kWrittenInProgress = 54420;
/// Settings as (name, flags, text); below as (name, binary value). Scalar packets are allowed from here too.
inline constexpr Revision kSettingsAsText = 54429;
inline constexpr Revision kScalars = 54429;
inline constexpr Revision kInterserverHash = 54441;
inline constexpr Revision kOpenTelemetry = 54442;
inline constexpr Revision kForwardedFor = 54443;
inline constexpr Revision kReferer = 54447;
inline constexpr Revision kDistributedDepth = 54448;
inline constexpr Revision kInitialStartTime = 54449;
inline constexpr Revision kProfileEvents = 54451;
/// Version number inside `AggregateFunction(1, sumMap, ...)`.
inline constexpr Revision kAggregateVersions = 54452;
inline constexpr Revision kParallelReplicas = 54453;
inline constexpr Revision kCustomSerialization = 54454;
/// Progress and ProfileEvents may come while an INSERT waits for its end; older clients (18.16) stop at them.
inline constexpr Revision kProgressInInsert = 54456;
inline constexpr Revision kAddendum = 54458;
inline constexpr Revision kParameters = 54459;
inline constexpr Revision kElapsedInProgress = 54460;
inline constexpr Revision kPasswordRules = 54461;
/// Nonce in the server's hello; the interserver hash covers it.
inline constexpr Revision kNonce = 54462;
inline constexpr Revision kTotalBytesInProgress = 54463;
inline constexpr Revision kTimezoneUpdate = 54464;
inline constexpr Revision kSparse = 54465;
inline constexpr Revision kTableReadOnly = 54467;
inline constexpr Revision kRowsBeforeAggregation = 54469;
inline constexpr Revision kChunkedPackets = 54470;
inline constexpr Revision kParallelReplicasVersion = 54471;
inline constexpr Revision kExternalRoles = 54472;
inline constexpr Revision kServerSettings = 54474;
inline constexpr Revision kScriptPosition = 54475;
inline constexpr Revision kJwt = 54476;
inline constexpr Revision kQueryPlanVersion = 54477;
inline constexpr Revision kDetachedColumns = 54478;
inline constexpr Revision kClusterFunctionVersion = 54479;
inline constexpr Revision kOutOfOrderBuckets = 54480;
/// Log, ProfileEvents and TableColumns go through the compressed frames of the query.
inline constexpr Revision kCompressedLogs = 54481;
inline constexpr Revision kReplicatedColumns = 54482;
inline constexpr Revision kSparseNullable = 54483;
inline constexpr Revision kClientAgent = 54485;
inline constexpr Revision kInternalQuery = 54486;
inline constexpr Revision kTablesStatusHash = 54487;
inline constexpr Revision kCurrentRoles = 54488;
inline constexpr Revision kHttpHandler = 54490;

}  // namespace gate

/// The version of the parallel replicas protocol that is announced; none of its packets is ever sent.
inline constexpr uint64_t kParallelReplicasVersion = 8;
inline constexpr uint64_t kQueryPlanVersion = 0;
inline constexpr uint64_t kClusterFunctionVersion = 0;

inline Revision revisionInUse(Revision ours, Revision theirs) { return std::min(ours, theirs); }

}  // namespace shardd::protocol
