#include "server/exec/distinct_count.h"

#include "server/exec/pipeline.h"

namespace shardd::exec {

namespace {

bool isDistinctCount(const plan::AggregateCall& call) {
    return call.function->name() == "uniqExact" && call.arguments.size() == 1;
}

/// Types whose equal values have equal bytes.
bool comparesByBytes(const Type& type) {
    return type.kind() == TypeKind::String || (type.width() != 0 && type.width() <= 8 && !type.isFloat());
}

class DistinctCountSink final : public ForwardingSink {
public:
    DistinctCountSink(const plan::AggregateStep& step,
                      AggregationPlan plan,
                      const StepPlace& place,
                      Sink& next)
        : ForwardingSink(next) {
        for (size_t c = 0; c < step.calls.size(); ++c) {
            if (!isDistinctCount(step.calls[c])) continue;
            AggregationPlan pairs;
            pairs.keys = {step.calls[c].arguments[0]};
            Block header;
            header.columns.push_back(step.input->header.get(pairs.keys[0]));
            distinct_.push_back(
                {c, std::make_unique<Aggregator>(std::move(pairs), std::move(header), place.context)});
            plan.calls[c].function = aggregates::resolveAggregateFunction("count", {}, {});
            plan.calls[c].arguments.clear();
            plan.deferred_calls.push_back(c);
        }
        has_other_calls_ = plan.deferred_calls.size() < plan.calls.size();
        groups_ = std::make_unique<Aggregator>(std::move(plan), place.header, place.context);
    }

    void totals(Block /*block*/) override {}

    Flow consume(size_t worker, Block block) override {
        for (Distinct& distinct : distinct_) distinct.pairs->add(worker, block);
        if (has_other_calls_) groups_->add(worker, block);
        return Flow::More;
    }

    void finish() override {
        for (Distinct& distinct : distinct_) {
            CountingSink counting(*groups_, distinct.call);
            distinct.pairs->finish(counting);
            distinct.pairs.reset();
        }
        groups_->finish(next_);
        next_.finish();
    }

private:
    struct Distinct {
        size_t call;
        std::unique_ptr<Aggregator> pairs;
    };

    /// Counts rows into one call of the groups.
    class CountingSink final : public Sink {
    public:
        CountingSink(Aggregator& groups, size_t call) : groups_(groups), call_(call) {}

        Flow consume(size_t worker, Block block) override {
            groups_.addDeferred(worker, block, call_);
            return Flow::More;
        }

        void totals(Block /*block*/) override {}

        void extremes(Block /*block*/) override {}

        void finish() override {}

    private:
        Aggregator& groups_;
        const size_t call_;
    };

    std::vector<Distinct> distinct_;
    std::unique_ptr<Aggregator> groups_;
    bool has_other_calls_ = false;
};

}  // namespace

bool countsDistinctFlat(const plan::AggregateStep& step) {
    // With keys the sets of the groups are quicker, small where groups are many and fetched ahead: two million rows by 41,000
    // users take 167 ms instead of 511, by 64 systems 329 instead of 370.
    if (!step.keys.empty() || !step.grouping_sets.empty() || !step.finish || step.max_groups != 0 || step.limit_groups != 0)
        return false;
    size_t distinct = 0;
    for (const plan::AggregateCall& call : step.calls) {
        if (!isDistinctCount(call)) continue;
        ++distinct;
        if (!comparesByBytes(*step.input->header.get(call.arguments[0]).type)) return false;
    }
    return distinct == 1 || distinct == 2;
}

void runDistinctCount(const plan::AggregateStep& step,
                      AggregationPlan plan,
                      const StepPlace& place,
                      Sink& sink) {
    DistinctCountSink counts(step, std::move(plan), place, sink);
    runStep(*step.input, place.context, counts);
}

}  // namespace shardd::exec
