#include "server/exec/range_aggregate.h"

#include <algorithm>

#include "server/exec/pipeline.h"

namespace shardd::exec {

namespace {

/// A worker with fewer groups takes the next range too: blocks of a few rows cost more than they hold.
constexpr size_t kFewGroups = 1024;
/// … but not more ranges than these, as few groups may have large states.
constexpr size_t kMostRanges = 16;
constexpr size_t kMostExpectedGroups = size_t{1} << 20;

/// Groups on their way to the next operator, by the worker whose range they are from.
class GroupsSink final : public ForwardingSink {
public:
    GroupsSink(Sink& next, std::atomic<bool>& enough, std::optional<size_t> worker)
        : ForwardingSink(next), enough_(enough), worker_(worker) {}

    Flow consume(size_t worker, Block block) override {
        const Flow flow = next_.consume(worker_.value_or(worker), std::move(block));
        if (flow == Flow::Enough) enough_.store(true);
        return flow;
    }

    TopHint topHint() override { return next_.topHint(); }

private:
    std::atomic<bool>& enough_;
    const std::optional<size_t> worker_;
};

class RangeAggregateSink final : public ForwardingSink, public KeyRangeSink {
public:
    RangeAggregateSink(const plan::AggregateStep& step,
                       AggregationPlan plan,
                       const StepPlace& place,
                       Sink& next)
        : ForwardingSink(next),
          order_(step.key_order),
          plan_(std::move(plan)),
          place_(place),
          few_groups_(plan_.limit_groups == 0 ? kFewGroups
                                              : std::min<uint64_t>(kFewGroups, plan_.limit_groups)),
          workers_(std::max<size_t>(1, place.context.settings.max_threads)) {
        findRankedKey();
        RangeAggregateSink::startRanges(true);
    }

    KeyRangeSink* keyRanges() override { return this; }

    size_t keyElements() const override { return order_.size(); }

    bool fromTheEnd() const override {
        return ranked_.filter && ranked_.filter->key().descending != order_[0].descending;
    }

    bool mayMatterFrom(const ColumnPtr& key) const override {
        if (!ranked_.filter || !ranked_.filter->active()) return true;
        Block block;
        block.add({ranked_.column, removeLowCardinality(place_.header.get(ranked_.column).type), key});
        plan::SortKey sort_key = ranked_.filter->key();
        sort_key.column = ranked_.column;
        const std::vector<plan::SortKey> keys{sort_key};
        return sortPrefixes(SortColumns(keys, block), 1).values[0] <= ranked_.filter->bound();
    }

    void startRanges(bool shared) override {
        shared_.reset();
        if (shared) shared_ = std::make_unique<Aggregator>(plan_, place_.header, place_.context);
    }

    Flow consume(size_t number, Block block) override {
        if (shared_) return shared_->add(number, block);
        Worker& worker = workers_[number];
        if (!worker.aggregator) worker.aggregator = makeAggregator(worker);
        return worker.aggregator->add(0, block);
    }

    Flow endRange(size_t number) override {
        if (shared_) {
            finishShared();
            startRanges(true);
            return flow();
        }
        Worker& worker = workers_[number];
        if (!worker.aggregator) return flow();
        const size_t groups = worker.aggregator->groupsOf(0);
        if (groups >= few_groups_ || ++worker.ranges == kMostRanges) {
            worker.expected_groups = std::min(groups, kMostExpectedGroups);
            finishWorker(number);
        }
        return flow();
    }

    /// Totals of a subquery are no rows.
    void totals(Block /*block*/) override {}

    void finish() override {
        if (shared_) finishShared();
        for (size_t number = 0; number < workers_.size(); ++number)
            if (workers_[number].aggregator) finishWorker(number);
        next_.finish();
    }

private:
    struct Worker {
        std::unique_ptr<Aggregator> aggregator;
        size_t ranges = 0;  // that it took in
        size_t expected_groups = 1;
    };

    /// ORDER BY … LIMIT by the key that ranges are of: once there are enough groups the ranges behind theirs
    /// are not read.
    void findRankedKey() {
        const TopHint hint = next_.topHint();
        if (!hint.filter || hint.column != order_[0].key) return;
        // In the table's order NULL and NaN are the greatest.
        const TypePtr type = removeLowCardinality(place_.header.get(hint.column).type);
        const bool has_greatest = type->isNullable() || type->isFloat();
        if (has_greatest && hint.filter->key().nulls_direction != 1) return;
        ranked_ = hint;
        few_groups_ = 1;
    }

    Flow flow() const { return enough_.load() ? Flow::Enough : Flow::More; }

    /// Any group of any range will do for a LIMIT: that ends the reading when enough have come.
    std::unique_ptr<Aggregator> makeAggregator(const Worker& worker) const {
        AggregationPlan plan = plan_;
        plan.limit_groups = 0;
        plan.workers = 1;
        plan.groups_in_table = worker.expected_groups;
        return std::make_unique<Aggregator>(std::move(plan), place_.header, place_.context);
    }

    void finishShared() {
        if (enough_.load()) return;
        GroupsSink groups(next_, enough_, std::nullopt);
        shared_->finish(groups);
    }

    void finishWorker(size_t number) {
        const std::unique_ptr<Aggregator> aggregator = std::move(workers_[number].aggregator);
        workers_[number].ranges = 0;
        if (enough_.load()) return;
        GroupsSink groups(next_, enough_, number);
        aggregator->finish(groups);
    }

    const std::vector<plan::KeyOrderElement>& order_;
    const AggregationPlan plan_;
    const StepPlace place_;
    size_t few_groups_;
    TopHint ranked_;
    std::vector<Worker> workers_;
    std::unique_ptr<Aggregator> shared_;
    std::atomic<bool> enough_ = false;
};

}  // namespace

void runRangeAggregate(const plan::AggregateStep& step,
                       AggregationPlan plan,
                       const StepPlace& place,
                       Sink& sink) {
    RangeAggregateSink aggregate(step, std::move(plan), place, sink);
    runStep(*step.input, place.context, aggregate);
}

}  // namespace shardd::exec
