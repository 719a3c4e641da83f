#include <algorithm>
#include <atomic>
#include <optional>

#include "server/exec/operators.h"
#include "server/exec/pipeline.h"
#include "server/exec/sort_order.h"
#include "server/exec/top_rows.h"

namespace shardd::exec {

namespace {

void checkSortLimits(const QueryContext& context, uint64_t rows) {
    const uint64_t limit = context.settings.max_rows_to_sort;
    if (limit != 0 && rows > limit && context.settings.sort_overflow_throws)
        throw Error(ErrorCode::TOO_MANY_ROWS_OR_BYTES,
                    "Limit for rows to sort (controlled by 'max_rows_to_sort' setting) exceeded, max rows: "
                    "{}, current rows: {}",
                    limit, rows);
}

class SortSink final : public ForwardingSink {
public:
    SortSink(const plan::SortStep& step, const StepPlace& place, Sink& next)
        : ForwardingSink(next), step_(step), place_(place) {
        if (step.limit != 0 && !step.keys.empty()) filter_.emplace(step.keys[0]);
        const size_t workers = std::max<size_t>(1, place.context.settings.max_threads);
        for (size_t i = 0; i < workers; ++i)
            parts_.emplace_back(step.keys, step.limit, step.with_ties, filter_ ? &*filter_ : nullptr);
    }

    Flow consume(size_t worker, Block block) override {
        const uint64_t rows = rows_.fetch_add(block.rows) + block.rows;
        checkSortLimits(place_.context, rows);
        parts_[worker].add(std::move(block));
        return Flow::More;
    }

    void finish() override {
        QueryContext& context = place_.context;
        if (place_.counts_rows_before_limit)
            context.addRowsBeforeLimit(rows_.load() + (filter_ ? filter_->droppedRows() : 0));
        context.memory->setPhase("MergeSortingTransform");
        std::vector<Block> blocks;
        for (TopRows& part : parts_)
            for (Block& block : part.take()) blocks.push_back(std::move(block));
        Block all = concatenate(std::move(blocks));
        if (all.rows != 0) push(all, sortedRows(step_.keys, all, step_.limit, step_.with_ties));
        next_.finish();
    }

    /// Rows that nobody made do not count for max_rows_to_sort, so then all of them are asked for.
    TopHint topHint() override {
        if (!filter_ || place_.context.settings.max_rows_to_sort != 0) return {};
        return {&*filter_, step_.keys[0].column};
    }

private:
    void push(const Block& all, const PodVector<RowIndex>& rows) {
        const size_t most = place_.context.settings.max_block_rows;
        for (size_t from = 0; from < rows.size(); from += most) {
            place_.context.check();
            const size_t count = std::min(most, rows.size() - from);
            if (next_.consume(0, all.gather({rows.data() + from, count})) == Flow::Enough) return;
        }
    }

    const plan::SortStep& step_;
    const StepPlace place_;
    std::optional<TopFilter> filter_;
    std::vector<TopRows> parts_;  // one a worker
    std::atomic<uint64_t> rows_ = 0;
};

}  // namespace

namespace {

/// The first keys of the order are exactly the columns that must differ.
bool sortsByAllOf(const plan::SortStep& sort, const plan::DistinctStep& distinct) {
    const size_t columns = distinct.columns.size();
    if (sort.keys.size() < columns) return false;
    return std::all_of(distinct.columns.begin(), distinct.columns.end(), [&](const std::string& name) {
        return std::any_of(sort.keys.begin(), sort.keys.begin() + static_cast<ptrdiff_t>(columns),
                           [&](const plan::SortKey& key) { return key.column == name; });
    });
}

}  // namespace

void run(const plan::SortStep& step, const StepPlace& place, Sink& sink) {
    SortSink sort(step, place, sink);
    const auto* distinct = std::get_if<plan::DistinctStep>(&step.input->node);
    if (distinct && sortsByAllOf(step, *distinct)) {
        runDistinctByValue(*distinct, {step.input->header, place.context, false}, sort);
        return;
    }
    runStep(*step.input, place.context, sort);
}

}  // namespace shardd::exec
