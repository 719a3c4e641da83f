#include <mutex>

#include "server/exec/operators.h"
#include "server/exec/pipeline.h"
#include "server/exec/row_set.h"

namespace shardd::exec {

namespace {

std::vector<ColumnPtr> fullColumns(const Block& block, const std::vector<std::string>& names) {
    std::vector<ColumnPtr> columns;
    for (const std::string& name : names) columns.push_back(full(block.get(name).column));
    return columns;
}

class DistinctSink final : public ForwardingSink {
public:
    DistinctSink(const plan::DistinctStep& step, QueryContext& context, Sink& next)
        : ForwardingSink(next), step_(step), context_(context) {}

    Flow consume(size_t worker, Block block) override {
        const std::vector<ColumnPtr> columns = fullColumns(block, step_.columns);
        PodVector<RowIndex> fresh;
        bool enough = false;
        {
            std::lock_guard lock(mutex_);
            if (isComplete()) return Flow::Enough;
            const size_t before = seen_.size();
            PodVector<uint64_t> numbers;
            seen_.insert(columns, block.rows, numbers);
            size_t next = before;
            for (size_t i = 0; i < block.rows; ++i)
                if (numbers[i] == next) {
                    fresh.push_back(static_cast<RowIndex>(i));
                    ++next;
                }
            checkLimit();
            enough = isComplete();
        }
        if (fresh.empty()) return enough ? Flow::Enough : Flow::More;
        Block rows = fresh.size() == block.rows ? std::move(block) : block.gather(fresh.span());
        if (next_.consume(worker, std::move(rows)) == Flow::Enough) return Flow::Enough;
        return enough ? Flow::Enough : Flow::More;
    }

private:
    bool isComplete() const {
        return (step_.limit_rows != 0 && seen_.size() >= step_.limit_rows) || overflown_;
    }

    void checkLimit() {
        const uint64_t limit = context_.settings.max_rows_in_distinct;
        if (limit == 0 || seen_.size() <= limit) return;
        if (context_.settings.distinct_overflow_throws)
            throw Error(ErrorCode::SET_SIZE_LIMIT_EXCEEDED,
                        "Limit for DISTINCT rows (controlled by 'max_rows_in_distinct' setting) exceeded, "
                        "max rows: {}, current rows: {}",
                        limit, seen_.size());
        overflown_ = true;
    }

    const plan::DistinctStep& step_;
    QueryContext& context_;
    std::mutex mutex_;  // guards seen_ and overflown_
    RowSet seen_;
    bool overflown_ = false;
};

class LimitBySink final : public ForwardingSink {
public:
    LimitBySink(const plan::LimitByStep& step, Sink& next) : ForwardingSink(next), step_(step) {}

    Flow consume(size_t worker, Block block) override {
        const std::vector<ColumnPtr> columns = fullColumns(block, step_.columns);
        const uint64_t end =
            step_.limit > UINT64_MAX - step_.offset ? UINT64_MAX : step_.limit + step_.offset;
        Mask mask(block.rows);
        size_t kept = 0;
        {
            std::lock_guard lock(mutex_);
            PodVector<uint64_t> numbers;
            seen_.insert(columns, block.rows, numbers);
            counts_.resizeZeroed(seen_.size());
            for (size_t i = 0; i < block.rows; ++i) {
                const uint64_t place = counts_[numbers[i]]++;
                mask[i] = place >= step_.offset && place < end;
                kept += mask[i];
            }
        }
        if (kept == 0) return Flow::More;
        if (kept == block.rows) return next_.consume(worker, std::move(block));
        return next_.consume(worker, block.filter(mask.span(), kept));
    }

private:
    const plan::LimitByStep& step_;
    std::mutex mutex_;  // guards seen_ and counts_
    RowSet seen_;
    PodVector<uint64_t> counts_;  // by the number in seen_
};

}  // namespace

void run(const plan::DistinctStep& step, const StepPlace& place, Sink& sink) {
    DistinctSink distinct(step, place.context, sink);
    runStep(*step.input, place.context, distinct);
}

void run(const plan::LimitByStep& step, const StepPlace& place, Sink& sink) {
    LimitBySink limit(step, sink);
    runStep(*step.input, place.context, limit);
}

}  // namespace shardd::exec
