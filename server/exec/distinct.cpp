#include <algorithm>
#include <atomic>
#include <cstring>

#include "common/columns/create_column.h"
#include "common/columns/dictionary_column.h"
#include "server/exec/float_keys.h"
#include "server/exec/operators.h"
#include "server/exec/pipeline.h"
#include "server/exec/shared_keys.h"

namespace shardd::exec {

namespace {

std::vector<TypePtr> plainTypes(const Block& header, const std::vector<std::string>& names) {
    std::vector<TypePtr> types;
    for (const std::string& name : names) types.push_back(removeLowCardinality(header.get(name).type));
    if (types.empty()) types.push_back(types::uint8());  // all rows have the one key
    return types;
}

std::vector<ColumnPtr> plainColumns(const Block& block, const std::vector<std::string>& names) {
    std::vector<ColumnPtr> columns;
    for (const std::string& name : names) columns.push_back(fullPlain(block.get(name).column));
    if (columns.empty())
        columns.push_back(fullPlain(createConstColumn(*types::uint8(), Value(uint64_t{0}), block.rows)));
    return columns;
}

/// DISTINCT: rows go on the moment their key is met for the first time. A worker first leaves out what it
/// met itself lately, and only asks about the rest.
class DistinctSink final : public ForwardingSink {
public:
    DistinctSink(const plan::DistinctStep& step, const StepPlace& place, bool by_value, Sink& next)
        : ForwardingSink(next),
          step_(step),
          by_value_(by_value),
          context_(place.context),
          seen_(plainTypes(step.input->header, step.columns), 0) {
        for (size_t i = 0; i < place.context.settings.max_threads; ++i)
            workers_.push_back(std::make_unique<Worker>(seen_.layout()));
    }

    Flow consume(size_t worker_number, Block block) override {
        context_.check();
        if (isComplete()) return Flow::Enough;
        Worker& worker = *workers_[worker_number];
        const PodVector<RowIndex> fresh = takeNew(worker, block);
        checkLimit();
        if (!fresh.empty()) {
            Block rows = fresh.size() == block.rows ? std::move(block) : block.gather(fresh.span());
            if (next_.consume(worker_number, std::move(rows)) == Flow::Enough) return Flow::Enough;
        }
        return isComplete() ? Flow::Enough : Flow::More;
    }

private:
    struct Worker {
        explicit Worker(const KeyLayout& layout) : recent(layout) {}

        RecentKeys recent;
        SharedKeys::Scratch scratch;
        KeyBatch keys;
        PodVector<RowIndex> candidates;
        ColumnPtr dictionary;  // whose codes these are
        Mask met_codes;
    };

    /// The rows whose keys nobody met before, in order.
    PodVector<RowIndex> takeNew(Worker& worker, const Block& block) {
        worker.candidates.clear();
        if (const DictionaryColumn* dictionary = onlyDictionary(block)) {
            takeNewCodes(worker, *dictionary);
            if (worker.candidates.empty()) return {};
            ColumnPtr keys = fullPlain(dictionary->gather(worker.candidates.span()));
            if (by_value_) keys = withOneZeroAndOneNan(keys);
            seen_.layout().pack({&keys, 1}, 0, keys->size(), worker.scratch.keys);
            return visit(worker);
        }
        std::vector<ColumnPtr> columns = plainColumns(block, step_.columns);
        if (by_value_)
            for (ColumnPtr& column : columns) column = withOneZeroAndOneNan(column);
        seen_.layout().pack(columns, 0, block.rows, worker.keys);
        worker.recent.takeNew(worker.keys, worker.candidates);
        if (worker.candidates.empty()) return {};
        selectKeys(seen_.layout(), worker.keys, worker.candidates.span(), worker.scratch.keys);
        return visit(worker);
    }

    PodVector<RowIndex> visit(Worker& worker) {
        PodVector<RowIndex> fresh;
        seen_.visit(worker.scratch, [&](RowIndex i, char* /*state*/, bool is_new) {
            if (is_new) fresh.push_back(worker.candidates[i]);
        });
        std::sort(fresh.begin(), fresh.end());
        rows_.fetch_add(fresh.size());
        return fresh;
    }

    const DictionaryColumn* onlyDictionary(const Block& block) const {
        if (step_.columns.size() != 1) return nullptr;
        const ColumnPtr& column = block.get(step_.columns[0]).column;
        return column->kind() == ColumnKind::Dictionary ? static_cast<const DictionaryColumn*>(column.get())
                                                        : nullptr;
    }

    static void takeNewCodes(Worker& worker, const DictionaryColumn& dictionary) {
        if (worker.dictionary != dictionary.keys()) {
            worker.dictionary = dictionary.keys();
            worker.met_codes.assign(dictionary.keys()->size(), 0);
        }
        const auto& codes = dictionary.codes();
        for (size_t i = 0; i < codes.size(); ++i) {
            if (worker.met_codes[codes[i]]) continue;
            worker.met_codes[codes[i]] = 1;
            worker.candidates.push_back(static_cast<RowIndex>(i));
        }
    }

    bool isComplete() const {
        return (step_.limit_rows != 0 && rows_.load() >= step_.limit_rows) || overflown_.load();
    }

    void checkLimit() {
        const uint64_t limit = context_.settings.max_rows_in_distinct;
        const uint64_t rows = rows_.load();
        if (limit == 0 || rows <= limit) return;
        if (context_.settings.distinct_overflow_throws)
            throw Error(ErrorCode::SET_SIZE_LIMIT_EXCEEDED,
                        "Limit for DISTINCT rows (controlled by 'max_rows_in_distinct' setting) exceeded, "
                        "max rows: {}, current rows: {}",
                        limit, rows);
        overflown_.store(true);
    }

    const plan::DistinctStep& step_;
    const bool by_value_;
    QueryContext& context_;
    SharedKeys seen_;
    std::vector<std::unique_ptr<Worker>> workers_;
    std::atomic<uint64_t> rows_ = 0;
    std::atomic<bool> overflown_ = false;
};

/// LIMIT n BY: beside each key lies how many rows it had.
class LimitBySink final : public ForwardingSink {
public:
    LimitBySink(const plan::LimitByStep& step, const StepPlace& place, Sink& next)
        : ForwardingSink(next),
          step_(step),
          context_(place.context),
          end_(step.limit > UINT64_MAX - step.offset ? UINT64_MAX : step.limit + step.offset),
          seen_(plainTypes(step.input->header, step.columns), sizeof(uint64_t)),
          scratch_(place.context.settings.max_threads) {}

    Flow consume(size_t worker, Block block) override {
        context_.check();
        SharedKeys::Scratch& scratch = scratch_[worker];
        const std::vector<ColumnPtr> columns = plainColumns(block, step_.columns);
        seen_.layout().pack(columns, 0, block.rows, scratch.keys);
        Mask mask(block.rows);
        size_t kept = 0;
        seen_.visit(scratch, [&](RowIndex row, char* state, bool /*is_new*/) {
            uint64_t number = 0;
            std::memcpy(&number, state, sizeof(number));
            mask[row] = number >= step_.offset && number < end_;
            kept += mask[row];
            ++number;
            std::memcpy(state, &number, sizeof(number));
        });
        if (kept == 0) return Flow::More;
        if (kept == block.rows) return next_.consume(worker, std::move(block));
        return next_.consume(worker, block.filter(mask.span(), kept));
    }

private:
    const plan::LimitByStep& step_;
    QueryContext& context_;
    const uint64_t end_;
    SharedKeys seen_;
    std::vector<SharedKeys::Scratch> scratch_;
};

}  // namespace

void run(const plan::DistinctStep& step, const StepPlace& place, Sink& sink) {
    DistinctSink distinct(step, place, false, sink);
    runStep(*step.input, place.context, distinct);
}

void runDistinctByValue(const plan::DistinctStep& step, const StepPlace& place, Sink& sink) {
    DistinctSink distinct(step, place, true, sink);
    runStep(*step.input, place.context, distinct);
}

void run(const plan::LimitByStep& step, const StepPlace& place, Sink& sink) {
    LimitBySink limit(step, place, sink);
    runStep(*step.input, place.context, limit);
}

}  // namespace shardd::exec
