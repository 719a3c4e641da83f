#include <algorithm>

#include "server/exec/aggregator.h"
#include "server/exec/bucket_streams.h"
#include "server/exec/dependent_keys.h"
#include "server/exec/distinct_count.h"
#include "server/exec/grouping_sets.h"
#include "server/exec/operators.h"
#include "server/exec/pipeline.h"
#include "server/exec/range_aggregate.h"
#include "server/exec/scan.h"
#include "server/exec/shifted_sums.h"

namespace shardd::exec {

namespace {

/// One aggregation between its input and the next operator.
class AggregateSink final : public ForwardingSink {
public:
    AggregateSink(Aggregator& aggregator, Sink& next) : ForwardingSink(next), aggregator_(aggregator) {}

    Flow consume(size_t worker, Block block) override { return aggregator_.add(worker, block); }

    /// Totals of a subquery are no rows.
    void totals(Block /*block*/) override {}

    void finish() override {
        aggregator_.finish(next_);
        next_.finish();
    }

private:
    Aggregator& aggregator_;
};

class GroupingSetsSink final : public ForwardingSink {
public:
    GroupingSetsSink(const plan::AggregateStep& step,
                     const StepPlace& place,
                     AggregationPlan base,
                     Sink& next)
        : ForwardingSink(next), place_(place) {
        for (const std::vector<size_t>& set : step.grouping_sets) {
            AggregationPlan plan = base;
            plan.keys.clear();
            Block header;
            for (const size_t key : set) {
                plan.keys.push_back(step.keys[key]);
                header.columns.push_back(step.input->header.get(step.keys[key]));
            }
            for (const plan::AggregateCall& call : step.calls)
                header.columns.push_back(place.header.get(call.name));
            aggregators_.push_back(
                std::make_unique<Aggregator>(std::move(plan), std::move(header), place.context));
        }
    }

    void totals(Block /*block*/) override {}

    Flow consume(size_t worker, Block block) override {
        Flow flow = Flow::More;
        for (const auto& aggregator : aggregators_)
            if (aggregator->add(worker, block) == Flow::Enough) flow = Flow::Enough;
        return flow;
    }

    void finish() override {
        for (size_t set = 0; set < aggregators_.size(); ++set) {
            GroupingSetOutput output(place_.header, set, next_);
            aggregators_[set]->finish(output);
            aggregators_[set].reset();
        }
        next_.finish();
    }

private:
    const StepPlace place_;
    std::vector<std::unique_ptr<Aggregator>> aggregators_;
};

/// Takes groups in, and nothing else.
class AddingSink final : public Sink {
public:
    explicit AddingSink(Aggregator& aggregator) : aggregator_(aggregator) {}

    Flow consume(size_t worker, Block block) override { return aggregator_.add(worker, block); }

    void totals(Block /*block*/) override {}

    void extremes(Block /*block*/) override {}

    void finish() override {}

private:
    Aggregator& aggregator_;
};

/// The groups of shards that were asked for them bucket by bucket.
void mergeShards(const plan::RemoteScanStep& step,
                 Aggregator& aggregator,
                 QueryContext& context,
                 Sink& sink) {
    ScanStop stop(context);
    std::vector<storage::RemoteStreamPtr> streams = askShards(step, context, stop.token());
    AddingSink adding(aggregator);
    const std::function<bool(const Block&)> has_its_keys = [&](const Block& block) {
        return aggregator.hasKeysOfItsBucket(block);
    };
    BucketStreams buckets(streams, stop, context, has_its_keys);
    buckets.drainOthers(adding);
    context.check();
    if (buckets.haveBuckets())
        aggregator.mergeBuckets(buckets, sink);
    else
        aggregator.finish(sink);
    finishRemote(step, streams, context, {}, sink);
    sink.finish();
}

}  // namespace

void run(const plan::AggregateStep& step, const StepPlace& place, Sink& sink) {
    place.context.memory->setPhase("AggregatingTransform");
    AggregationPlan plan;
    plan.keys = step.keys;
    plan.calls = step.calls;
    plan.finish = step.finish;
    plan.empty_result_without_input = step.empty_result_without_input;
    plan.max_groups = step.max_groups;
    plan.overflow = step.overflow;
    plan.overflow_row = step.overflow_row;
    plan.limit_groups = step.limit_groups;
    plan.by_buckets = step.by_buckets && step.key_order.empty();  // ranges of keys have all buckets each
    if (!step.grouping_sets.empty()) {
        GroupingSetsSink sets(step, place, std::move(plan), sink);
        runStep(*step.input, place.context, sets);
        return;
    }
    if (runShiftedSums(step, place, sink) || runDependentKeys(step, place, sink)) return;
    if (countsDistinctFlat(step)) {
        runDistinctCount(step, std::move(plan), place, sink);
        return;
    }
    if (!step.key_order.empty()) {
        runRangeAggregate(step, std::move(plan), place, sink);
        return;
    }
    Aggregator aggregator(std::move(plan), place.header, place.context);
    AggregateSink aggregate(aggregator, sink);
    runStep(*step.input, place.context, aggregate);
}

void run(const plan::MergeStatesStep& step, const StepPlace& place, Sink& sink) {
    place.context.memory->setPhase("MergingAggregatedTransform");
    AggregationPlan plan;
    plan.keys = step.keys;
    if (step.has_grouping_set_column &&
        std::find(plan.keys.begin(), plan.keys.end(), "__grouping_set") == plan.keys.end())
        plan.keys.insert(plan.keys.begin(), "__grouping_set");
    plan.calls = step.calls;
    plan.merges_states = true;
    plan.finish = step.finish;
    plan.overflow_row = step.overflow_row;
    plan.by_buckets = step.by_buckets;
    // Every shard sends a row even when nothing matches: no row at all means that all of them were left out.
    plan.empty_result_without_input = true;
    Aggregator aggregator(std::move(plan), place.header, place.context);
    if (const auto* remote = std::get_if<plan::RemoteScanStep>(&step.input->node);
        remote && remote->by_buckets) {
        mergeShards(*remote, aggregator, place.context, sink);
        return;
    }
    AggregateSink aggregate(aggregator, sink);
    runStep(*step.input, place.context, aggregate);
}

}  // namespace shardd::exec
