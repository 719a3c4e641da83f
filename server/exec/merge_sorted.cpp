#include <algorithm>

#include "server/exec/expression.h"
#include "server/exec/operators.h"
#include "server/exec/pipeline.h"
#include "server/exec/scan.h"
#include "server/exec/sort_order.h"

namespace shardd::exec {

namespace {

/// The steps between the merge and the shards, applied to each stream alone; nothing when the input is
/// something else.
struct StreamChain {
    const plan::RemoteScanStep* remote = nullptr;
    std::vector<const plan::Step*> above;  // Filter and Project, the lowest last

    static StreamChain find(const plan::Step& step) {
        StreamChain chain;
        const plan::Step* at = &step;
        for (;;) {
            if (const auto* remote = std::get_if<plan::RemoteScanStep>(&at->node)) {
                chain.remote = remote;
                return chain;
            }
            chain.above.push_back(at);
            if (const auto* filter = std::get_if<plan::FilterStep>(&at->node))
                at = filter->input.get();
            else if (const auto* project = std::get_if<plan::ProjectStep>(&at->node))
                at = project->input.get();
            else
                return chain;
        }
    }

    Block apply(Block block) const {
        for (size_t i = above.size(); i-- > 0 && block.rows != 0;) {
            if (const auto* filter = std::get_if<plan::FilterStep>(&above[i]->node)) {
                const Condition condition = conditionOf(filter->condition, block);
                block = block.filter(condition.mask.span(), condition.kept);
            } else {
                block = evaluate(std::get<plan::ProjectStep>(above[i]->node).columns, block);
            }
        }
        return block;
    }

    Block applyToTotals(Block block) const {
        for (size_t i = above.size(); i-- > 0;)
            if (const auto* project = std::get_if<plan::ProjectStep>(&above[i]->node))
                block = evaluate(project->columns, block);
        return block;
    }
};

/// One stream's current block and row.
class Cursor {
public:
    Cursor(BlockSource& stream, const StreamChain& chain, const std::vector<plan::SortKey>& keys)
        : stream_(&stream), chain_(&chain), keys_(&keys) {}

    bool nextBlock() {
        for (;;) {
            std::optional<Block> block = stream_->next();
            if (!block) return false;
            block_ = chain_->apply(std::move(*block));
            if (block_.rows == 0) continue;
            block_.makeFull();
            columns_.emplace(*keys_, block_);
            row_ = 0;
            return true;
        }
    }

    int compare(const Cursor& other) const { return columns_->compare(row_, *other.columns_, other.row_); }

    /// The first row from the current one on that does not come before `other`'s (or beside it, when we come
    /// first).
    size_t runEnd(const Cursor* other, bool we_come_first) const {
        if (!other) return block_.rows;
        size_t end = row_ + 1;
        while (end < block_.rows) {
            const int order = columns_->compare(end, *other->columns_, other->row_);
            if (order > 0 || (order == 0 && !we_come_first)) break;
            ++end;
        }
        return end;
    }

    const Block& block() const { return block_; }

    size_t row() const { return row_; }

    void advance(size_t row) { row_ = row; }

    bool atEnd() const { return row_ >= block_.rows; }

private:
    BlockSource* stream_;
    const StreamChain* chain_;
    const std::vector<plan::SortKey>* keys_;
    Block block_;
    std::optional<SortColumns> columns_;
    size_t row_ = 0;
};

/// Collects merged rows and pushes them on; ends after the limit.
class MergedRows {
public:
    MergedRows(const plan::MergeSortedStep& step, QueryContext& context, Sink& sink)
        : step_(step), context_(context), sink_(sink) {}

    /// Rows of `block`; false when nothing more is wanted.
    bool add(const Block& block, size_t from, size_t to) {
        if (step_.limit != 0 && rows_ >= step_.limit) return addTies(block, from, to);
        if (step_.limit != 0 && rows_ + (to - from) >= step_.limit) {
            const size_t end = from + (step_.limit - rows_);
            append(block, from, end);
            if (!step_.with_ties) return flush() && false;
            last_ = block.slice(end - 1, 1);
            return end == to || addTies(block, end, to);
        }
        append(block, from, to);
        return pending_rows_ < context_.settings.max_block_rows || flush();
    }

    bool flush() {
        if (pending_rows_ == 0) return true;
        Block block;
        block.rows = pending_rows_;
        for (size_t i = 0; i < pending_.size(); ++i)
            block.columns.push_back(
                {names_.columns[i].name, names_.columns[i].type, ColumnPtr(std::move(pending_[i]))});
        pending_.clear();
        pending_rows_ = 0;
        context_.check();
        return sink_.consume(0, std::move(block)) == Flow::More;
    }

private:
    bool addTies(const Block& block, size_t from, size_t to) {
        size_t end = from;
        while (end < to && equalBy(step_.keys, block, end, last_, 0)) ++end;
        if (end > from) append(block, from, end);
        return end == to;
    }

    void append(const Block& block, size_t from, size_t to) {
        if (pending_.empty()) {
            names_ = block.header();
            for (const NamedColumn& column : block.columns) pending_.push_back(column.column->cloneEmpty());
        }
        for (size_t i = 0; i < pending_.size(); ++i)
            pending_[i]->insertRange(*block.columns[i].column, from, to - from);
        pending_rows_ += to - from;
        rows_ += to - from;
    }

    const plan::MergeSortedStep& step_;
    QueryContext& context_;
    Sink& sink_;
    Block names_;
    std::vector<MutableColumnPtr> pending_;
    size_t pending_rows_ = 0;
    uint64_t rows_ = 0;
    Block last_;
};

/// A block that did not come from a shard, as one more stream.
class OneBlock final : public BlockSource {
public:
    explicit OneBlock(Block block) : header_(block.header()), block_(std::move(block)) {}

    const Block& header() const override { return header_; }

    std::optional<Block> next() override { return std::exchange(block_, std::nullopt); }

private:
    const Block header_;
    std::optional<Block> block_;
};

std::vector<Cursor*> openAll(std::vector<Cursor>& cursors) {
    std::vector<Cursor*> open;
    for (Cursor& cursor : cursors)
        if (cursor.nextBlock()) open.push_back(&cursor);
    return open;
}

void merge(std::vector<Cursor*> open, MergedRows& out) {
    while (!open.empty()) {
        // Few streams: a scan over them is as quick as a heap. Equal rows: the earlier stream's first.
        size_t best = 0;
        for (size_t i = 1; i < open.size(); ++i)
            if (open[i]->compare(*open[best]) < 0) best = i;
        const Cursor* second = nullptr;
        size_t second_place = 0;
        for (size_t i = 0; i < open.size(); ++i)
            if (i != best && (!second || open[i]->compare(*second) < 0)) {
                second = open[i];
                second_place = i;
            }
        Cursor& first = *open[best];
        const size_t end = first.runEnd(second, best < second_place);
        const bool more = out.add(first.block(), first.row(), end);
        if (!more) return;
        first.advance(end);
        if (first.atEnd() && !first.nextBlock()) open.erase(open.begin() + static_cast<ptrdiff_t>(best));
    }
    out.flush();
}

/// Applies a chain to the totals that come from shards.
class ChainedTotals final : public ForwardingSink {
public:
    ChainedTotals(const StreamChain& chain, Sink& next) : ForwardingSink(next), chain_(chain) {}

    Flow consume(size_t worker, Block block) override { return next_.consume(worker, std::move(block)); }

    void totals(Block block) override { next_.totals(chain_.applyToTotals(std::move(block))); }

private:
    const StreamChain& chain_;
};

}  // namespace

void run(const plan::MergeSortedStep& step, const StepPlace& place, Sink& sink) {
    const StreamChain chain = StreamChain::find(*step.input);
    if (!chain.remote) {
        // Not streams of their own: order it like anything else.
        run(plan::SortStep{step.input, step.keys, step.limit, step.with_ties}, place, sink);
        return;
    }
    RemoteScan scan = openRemote(*chain.remote, place.context);
    std::vector<Cursor> cursors;
    for (const storage::RemoteStreamPtr& stream : scan.streams)
        cursors.emplace_back(*stream, chain, step.keys);
    std::vector<Cursor*> open = openAll(cursors);
    // Sorted shards know their states before their first row, and send them so.
    MergedTotals merged;
    if (chain.remote->exact_totals) merged = mergeTotals(*chain.remote->exact_totals, scan.streams, place.context);
    OneBlock grand_total(merged.row ? *merged.row : Block());
    Cursor grand_total_cursor(grand_total, chain, step.keys);
    if (grand_total_cursor.nextBlock()) open.push_back(&grand_total_cursor);
    MergedRows out(step, place.context, sink);
    merge(std::move(open), out);
    if (chain.remote->to_the_end)
        for (const storage::RemoteStreamPtr& stream : scan.streams)
            while (stream->next()) place.context.check();
    scan.stop->request_stop();
    ChainedTotals totals(chain, sink);
    finishRemote(*chain.remote, scan.streams, place.context, merged, totals);
    sink.finish();
}

}  // namespace shardd::exec
