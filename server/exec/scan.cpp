#include "server/exec/scan.h"

#include <algorithm>
#include <optional>

#include "common/base/bounded_queue.h"
#include "server/exec/expression.h"
#include "server/exec/operators.h"
#include "server/exec/remote_groups.h"
#include "server/exec/stream_drain.h"
#include "server/exec/thread_pool.h"
#include "server/exec/top_condition.h"
#include "server/storage/merge_tree.h"

namespace shardd::exec {

std::optional<Block> nextBlock(BlockSource& source, ScanStop& stop, QueryContext& context) {
    context.check();
    if (stop.ended()) return std::nullopt;
    try {
        return source.next();
    } catch (const Error& error) {
        context.check();
        if (stop.isOurDoing(error)) return std::nullopt;
        throw;
    }
}

void drain(BlockSource& source, size_t worker, ScanStop& stop, QueryContext& context, Sink& sink) {
    while (std::optional<Block> block = nextBlock(source, stop, context)) {
        if (block->rows == 0) continue;
        if (sink.consume(worker, std::move(*block)) == Flow::Enough) {
            stop.enough();
            return;
        }
    }
}

namespace {

/// Many streams, few workers: each stream has a thread that waits for it, workers take whatever came first.
void drainThroughQueue(std::vector<BlockSourcePtr>& sources,
                       ScanStop& stop,
                       QueryContext& context,
                       Sink& sink) {
    BoundedQueue<Block> queue(sources.size() + context.settings.max_threads);
    std::atomic<size_t> open = sources.size();
    const size_t workers = context.settings.max_threads;
    context.pool.parallel(sources.size() + workers, [&](size_t i) {
        const MemoryScope scope(context.memory.get());
        try {
            // Sources come first, so that they are not left behind workers who wait for them.
            if (i < sources.size()) {
                while (std::optional<Block> block = nextBlock(*sources[i], stop, context))
                    if (!queue.push(std::move(*block))) break;
                if (open.fetch_sub(1) == 1) queue.close();
                return;
            }
            while (std::optional<Block> block = queue.pop()) {
                context.check();
                if (block->rows == 0) continue;
                if (sink.consume(i - sources.size(), std::move(*block)) == Flow::Enough) {
                    stop.enough();
                    queue.cancel();
                    return;
                }
            }
        } catch (...) {
            queue.fail(std::current_exception());
            stop.enough();
            throw;
        }
    });
}

void drainAll(std::vector<BlockSourcePtr>& sources, ScanStop& stop, QueryContext& context, Sink& sink) {
    if (sources.size() > context.settings.max_threads) {
        drainThroughQueue(sources, stop, context, sink);
        return;
    }
    parallel(context, sources.size(), [&](size_t i) { drain(*sources[i], i, stop, context, sink); });
}

/// What is known of the rows that matter, for tables whose rows may be left out one by one (FINAL may not: a row that
/// is left out would let an older one stay).
TopHint hintFor(const plan::ScanStep& step, Sink& sink) {
    return dynamic_cast<const storage::MergeTree*>(step.table.get()) ? sink.topHint() : TopHint{};
}

/// What a table that can do it evaluates before it reads the rest; nothing when there is no condition.
std::optional<storage::Prewhere> prewhereOf(const plan::ScanStep& step, const TopHint& hint) {
    if (!step.prewhere && !hint.filter) return std::nullopt;
    storage::Prewhere prewhere;
    if (step.prewhere) prewhere.columns = step.prewhere_columns;
    if (hint.filter && std::find(prewhere.columns.begin(), prewhere.columns.end(), hint.column) == prewhere.columns.end())
        prewhere.columns.push_back(hint.column);
    prewhere.condition = [condition = step.prewhere, hint](const Block& block) {
        Mask mask = condition ? evaluateCondition(condition, block) : Mask(block.rows, 1);
        if (hint.filter) dropHopeless(hint, block, mask);
        return mask;
    };
    return prewhere;
}

/// Filters by a prewhere that the table does not evaluate, and leaves out the columns that only it needed.
class PrewhereSink final : public ForwardingSink {
public:
    PrewhereSink(const plan::ScanStep& step, Sink& next) : ForwardingSink(next), step_(step) {}

    Flow consume(size_t worker, Block block) override {
        const Condition condition = conditionOf(step_.prewhere, block);
        if (condition.kept == 0) return Flow::More;
        Block result;
        result.rows = block.rows;
        for (const std::string& name : step_.columns) result.columns.push_back(block.get(name));
        if (condition.kept < block.rows) result = result.filter(condition.mask.span(), condition.kept);
        return next_.consume(worker, std::move(result));
    }

private:
    const plan::ScanStep& step_;
};

/// Minima and maxima of the shards to those of the whole.
class ExtremesUnion {
public:
    void add(const Block& block) {
        all_.push_back(block);
        all_.back().makeFull();
    }

    std::optional<Block> result() {
        if (all_.empty()) return std::nullopt;
        return extremesOf(concatenate(std::move(all_)));
    }

private:
    std::vector<Block> all_;
};

}  // namespace

void run(const plan::ScanStep& step, const StepPlace& place, Sink& sink) {
    QueryContext& context = place.context;
    ScanStop stop(context);
    storage::ScanRequest request;
    request.columns = step.columns;
    request.ranges = step.ranges;
    request.max_streams = context.settings.max_threads;
    request.max_block_rows = context.settings.max_block_rows;
    request.limit_rows = step.limit_rows;
    request.stop = stop.token();
    request.progress = [&context](uint64_t rows, uint64_t bytes) { context.countLocalRead(rows, bytes); };
    std::optional<PrewhereSink> prewhere;
    if (step.table->supportsPrewhere()) {
        request.prewhere = prewhereOf(step, hintFor(step, sink));
    } else if (step.prewhere) {
        for (const std::string& name : step.prewhere_columns)
            if (std::find(request.columns.begin(), request.columns.end(), name) == request.columns.end())
                request.columns.push_back(name);
        request.limit_rows = 0;
        prewhere.emplace(step, sink);
    }
    Sink& target = prewhere ? static_cast<Sink&>(*prewhere) : sink;
    if (!scanKeyRanges(step, request, stop, context, target)) {
        std::vector<BlockSourcePtr> sources = step.table->scan(request);
        drainAll(sources, stop, context, target);
    }
    context.check();
    target.finish();
}

void run(const plan::SourceStep& step, const StepPlace& place, Sink& sink) {
    ScanStop stop(place.context);
    std::vector<BlockSourcePtr> sources;
    sources.push_back(step.open());
    drainAll(sources, stop, place.context, sink);
    place.context.check();
    sink.finish();
}

void finishRemote(const plan::RemoteScanStep& step,
                  std::vector<storage::RemoteStreamPtr>& streams,
                  QueryContext& context,
                  const MergedTotals& merged,
                  Sink& sink) {
    context.check();
    ExtremesUnion extremes;
    bool has_totals = step.exact_totals.has_value();
    bool limited = false;
    for (const storage::RemoteStreamPtr& stream : streams) {
        const auto rows = stream->rowsBeforeLimit();
        if (rows) context.addRemoteRowsBeforeLimit(*rows);
        limited = limited || rows;
        if (!step.take_totals) continue;
        if (!has_totals && stream->totals() && stream->totals()->rows > 0) {
            has_totals = true;
            sink.totals(*stream->totals());
        }
        if (stream->extremes() && stream->extremes()->rows > 0) extremes.add(*stream->extremes());
    }
    if (limited && merged.row) context.addRemoteRowsBeforeLimit(1);
    if (merged.totals) sink.totals(*merged.totals);
    if (std::optional<Block> block = extremes.result()) sink.extremes(std::move(*block));
}

std::vector<storage::RemoteStreamPtr> askShards(const plan::RemoteScanStep& step,
                                                QueryContext& context,
                                                std::stop_token stop) {
    storage::RemoteQuery query = step.query;
    query.stop = std::move(stop);
    query.progress = [&context](uint64_t rows, uint64_t bytes) { context.countRead(rows, bytes); };
    return withCheckedGroups(step, step.table->distributed()->query(query));
}

RemoteScan openRemote(const plan::RemoteScanStep& step, QueryContext& context) {
    RemoteScan scan;
    scan.stop = std::make_shared<std::stop_source>();
    scan.forward = std::make_shared<std::stop_callback<std::function<void()>>>(
        context.readingToken(), [stop = scan.stop] { stop->request_stop(); });
    scan.streams = askShards(step, context, scan.stop->get_token());
    return scan;
}

void run(const plan::RemoteScanStep& step, const StepPlace& place, Sink& sink) {
    ScanStop stop(place.context);
    std::vector<storage::RemoteStreamPtr> streams = askShards(step, place.context, stop.token());
    drainStreams(pollable(streams), stop, place.context, sink);
    MergedTotals merged;
    if (step.exact_totals) merged = mergeTotals(*step.exact_totals, streams, place.context);
    if (merged.row && !stop.ended()) sink.consume(0, *merged.row);
    finishRemote(step, streams, place.context, merged, sink);
    sink.finish();
}

}  // namespace shardd::exec
