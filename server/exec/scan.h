#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

#include "server/exec/operator.h"
#include "server/exec/query_context.h"
#include "server/exec/remote_totals.h"
#include "server/exec/scan_stop.h"
#include "server/plan/plan.h"

namespace shardd::exec {

/// All rows of a source to `sink`, until nobody wants more.
void drain(BlockSource& source, size_t worker, ScanStop& stop, QueryContext& context, Sink& sink);

/// The rows of a table range by range, for an operator that wants them so. False when this table cannot, and
/// nothing was done.
bool scanKeyRanges(const plan::ScanStep& step,
                   const storage::ScanRequest& request,
                   ScanStop& stop,
                   QueryContext& context,
                   Sink& sink);

/// The next block of a source; nothing at the end or when the scan was stopped.
std::optional<Block> nextBlock(BlockSource& source, ScanStop& stop, QueryContext& context);

/// Asks the shards of a step, one stream each; `stop` ends them early.
std::vector<storage::RemoteStreamPtr> askShards(const plan::RemoteScanStep& step,
                                                QueryContext& context,
                                                std::stop_token stop);

/// The answers of shards, one stream each, for an operator that pulls from them itself.
struct RemoteScan {
    std::vector<storage::RemoteStreamPtr> streams;
    /// Ends the streams early.
    std::shared_ptr<std::stop_source> stop;
    std::shared_ptr<std::stop_callback<std::function<void()>>> forward;
};

RemoteScan openRemote(const plan::RemoteScanStep& step, QueryContext& context);

/// When all streams have ended: totals and extremes of the shards to `sink`, rows before the limit to
/// `context`. `merged` is what distributed_totals = 'exact' made of the shards' states; nothing without it.
void finishRemote(const plan::RemoteScanStep& step,
                  std::vector<storage::RemoteStreamPtr>& streams,
                  QueryContext& context,
                  const MergedTotals& merged,
                  Sink& sink);

/// Two rows, minima and maxima, of every column of `block` (which has rows).
Block extremesOf(const Block& block);

}  // namespace shardd::exec
