#include <atomic>
#include <memory>
#include <mutex>

#include "common/columns/create_column.h"
#include "common/columns/nullable_column.h"
#include "server/exec/expression.h"
#include "server/exec/join_table.h"
#include "server/exec/operators.h"
#include "server/exec/pipeline.h"

namespace shardd::exec {

namespace {

using Kind = plan::JoinStep::Kind;
using Strictness = plan::JoinStep::Strictness;

/// Keeps every row: the right side, before the left one is read.
class KeepingSink final : public Sink {
public:
    Flow consume(size_t /*worker*/, Block block) override {
        block.makeFull();
        std::lock_guard lock(mutex_);
        blocks_.push_back(std::move(block));
        return Flow::More;
    }

    void totals(Block /*block*/) override {}

    void extremes(Block /*block*/) override {}

    void finish() override {}

    Block take(const Block& header) {
        if (blocks_.empty()) return header.header();
        return concatenate(std::move(blocks_));
    }

private:
    std::mutex mutex_;  // guards blocks_
    std::vector<Block> blocks_;
};

/// The column under the header's type: the same, or made Nullable.
ColumnPtr asHeaderType(const ColumnPtr& column, const TypePtr& from, const TypePtr& to) {
    if (sameType(from, to)) return column;
    if (to->isNullable() && sameType(from, to->child())) {
        Mask nulls;
        nulls.resizeZeroed(column->size());
        return std::make_shared<NullableColumn>(full(column), std::move(nulls));
    }
    // A dictionary that gets a NULL among its keys.
    MutableColumnPtr converted = createColumn(*to);
    for (size_t row = 0; row < column->size(); ++row) converted->insert(column->value(row));
    return converted;
}

class JoinSink final : public ForwardingSink {
public:
    JoinSink(const plan::JoinStep& step, const StepPlace& place, const JoinTable& table, Sink& next)
        : ForwardingSink(next), step_(step), place_(place), table_(table) {
        if (step_.kind == Kind::Full) right_matched_ = std::vector<std::atomic<uint8_t>>(table_.rows().rows);
        if (step_.strictness == Strictness::Any && step_.kind == Kind::Inner)
            key_taken_ = std::vector<std::atomic<uint8_t>>(table_.keys());
        prepareRight();
    }

    Flow consume(size_t worker, Block block) override;

    void totals(Block /*block*/) override {}

    void extremes(Block /*block*/) override {}

    void finish() override {
        if (step_.kind == Kind::Full) pushUnmatchedRight();
        next_.finish();
    }

private:
    /// Pairs of rows of the block and of the table.
    struct Pairs {
        PodVector<RowIndex> left, right;
    };

    void prepareRight();
    Flow push(size_t worker, const Block& block, const Pairs& pairs);
    void keepMatching(const Block& block, Pairs& pairs) const;
    void choose(const Block& block, Pairs& pairs, Mask& matched);

    bool onePairOnly() const {
        return step_.strictness != Strictness::All && step_.strictness != Strictness::Asof;
    }

    void pushUnmatchedRight();

    const plan::JoinStep& step_;
    const StepPlace& place_;
    const JoinTable& table_;
    std::vector<std::atomic<uint8_t>> right_matched_;
    std::vector<std::atomic<uint8_t>> key_taken_;
    /// The table's columns of the output, and one row of defaults at the end: for left rows that have no
    /// partner.
    std::vector<NamedColumn> right_columns_;
};

void JoinSink::prepareRight() {
    const size_t rows = table_.rows().rows;
    for (const NamedColumn& output : place_.header.columns) {
        const auto position = table_.rows().find(output.name);
        if (!position) continue;
        const NamedColumn& source = table_.rows().columns[*position];
        MutableColumnPtr column = createColumn(*output.type);
        column->reserve(rows + 1);
        column->insertRange(*asHeaderType(source.column, source.type, output.type), 0, rows);
        insertDefaults(*output.type, *column, 1);
        right_columns_.push_back({output.name, output.type, ColumnPtr(std::move(column))});
    }
}

/// Leaves the pairs for which the condition holds.
void JoinSink::keepMatching(const Block& block, Pairs& pairs) const {
    if (!step_.condition || pairs.left.empty()) return;
    Block candidates;
    candidates.rows = pairs.left.size();
    for (const NamedColumn& column : block.columns)
        candidates.columns.push_back({column.name, column.type, column.column->gather(pairs.left.span())});
    for (const NamedColumn& column : table_.rows().columns)
        if (!candidates.find(column.name))
            candidates.columns.push_back(
                {column.name, column.type, column.column->gather(pairs.right.span())});
    const Mask mask = evaluateCondition(step_.condition, candidates);
    size_t kept = 0;
    for (size_t i = 0; i < pairs.left.size(); ++i) {
        pairs.left[kept] = pairs.left[i];
        pairs.right[kept] = pairs.right[i];
        kept += mask[i] != 0;
    }
    pairs.left.resize(kept);
    pairs.right.resize(kept);
}

/// Notes which rows have a partner; of several pairs of a left row only the first stays where one is enough.
void JoinSink::choose(const Block& block, Pairs& pairs, Mask& matched) {
    keepMatching(block, pairs);
    if (!onePairOnly()) {
        for (size_t i = 0; i < pairs.left.size(); ++i) matched[pairs.left[i]] = 1;
    } else {
        size_t kept = 0;
        for (size_t i = 0; i < pairs.left.size(); ++i) {
            const RowIndex row = pairs.left[i];
            const bool first = !matched[row];
            matched[row] = 1;
            pairs.left[kept] = row;
            pairs.right[kept] = pairs.right[i];
            kept += first && step_.strictness != Strictness::Anti;
        }
        pairs.left.resize(kept);
        pairs.right.resize(kept);
    }
    if (step_.kind == Kind::Full)
        for (RowIndex row : pairs.right) right_matched_[row].store(1, std::memory_order_relaxed);
}

Flow JoinSink::push(size_t worker, const Block& block, const Pairs& pairs) {
    if (pairs.left.empty()) return Flow::More;
    Block output;
    output.rows = pairs.left.size();
    size_t right = 0;
    for (const NamedColumn& column : place_.header.columns) {
        if (right < right_columns_.size() && right_columns_[right].name == column.name) {
            output.columns.push_back(
                {column.name, column.type, right_columns_[right++].column->gather(pairs.right.span())});
            continue;
        }
        const NamedColumn& source = block.get(column.name);
        output.columns.push_back(
            {column.name, column.type,
             asHeaderType(source.column->gather(pairs.left.span()), source.type, column.type)});
    }
    return next_.consume(worker, std::move(output));
}

Flow JoinSink::consume(size_t worker, Block block) {
    place_.context.check();
    block.makeFull();
    PodVector<uint64_t> keys;
    table_.keysOf(block, keys);
    const ColumnPtr asof = step_.asof_left.empty() ? nullptr : fullPlain(block.get(step_.asof_left).column);
    Mask matched;
    matched.resizeZeroed(block.rows);
    const size_t most = std::max<size_t>(place_.context.settings.max_block_rows, 1);
    Pairs pairs;
    const auto flush = [&] {
        choose(block, pairs, matched);
        const Flow flow = push(worker, block, pairs);
        pairs.left.clear();
        pairs.right.clear();
        return flow;
    };
    for (size_t row = 0; row < block.rows; ++row) {
        if (keys[row] == JoinTable::kNoKey) continue;
        if (!key_taken_.empty() && !step_.condition && key_taken_[keys[row]].exchange(1)) continue;
        if (asof) {
            if (const auto partner = table_.nearest(keys[row], *asof, row)) {
                pairs.left.push_back(static_cast<RowIndex>(row));
                pairs.right.push_back(*partner);
            }
        } else {
            for (const RowIndex partner : table_.rowsOf(keys[row])) {
                pairs.left.push_back(static_cast<RowIndex>(row));
                pairs.right.push_back(partner);
                if (onePairOnly() && !step_.condition) break;
                if (pairs.left.size() < most) continue;
                place_.context.check();
                if (flush() == Flow::Enough) return Flow::Enough;
                if (onePairOnly() && matched[row]) break;
            }
        }
        if (pairs.left.size() >= most && flush() == Flow::Enough) return Flow::Enough;
    }
    if (flush() == Flow::Enough) return Flow::Enough;
    if (step_.kind == Kind::Inner || step_.strictness == Strictness::Semi) return Flow::More;
    const auto nobody = static_cast<RowIndex>(table_.rows().rows);
    for (size_t row = 0; row < block.rows; ++row) {
        if (matched[row]) continue;
        pairs.left.push_back(static_cast<RowIndex>(row));
        pairs.right.push_back(nobody);
    }
    return push(worker, block, pairs);
}

void JoinSink::pushUnmatchedRight() {
    PodVector<RowIndex> rows;
    for (size_t row = 0; row < right_matched_.size(); ++row)
        if (!right_matched_[row].load()) rows.push_back(static_cast<RowIndex>(row));
    if (rows.empty()) return;
    Block output;
    output.rows = rows.size();
    size_t right = 0;
    for (const NamedColumn& column : place_.header.columns) {
        if (right < right_columns_.size() && right_columns_[right].name == column.name)
            output.columns.push_back(
                {column.name, column.type, right_columns_[right++].column->gather(rows.span())});
        else
            output.columns.push_back(
                {column.name, column.type,
                 createConstColumn(*column.type, defaultValue(*column.type), rows.size())});
    }
    output.makeFull();
    pushInBlocks(output, place_.context.settings.max_block_rows, next_);
}

}  // namespace

void run(const plan::JoinStep& step, const StepPlace& place, Sink& sink) {
    KeepingSink right;
    runStep(*step.right, place.context, right);
    const JoinTable table(step, right.take(step.right->header));
    JoinSink join(step, place, table, sink);
    runStep(*step.left, place.context, join);
}

}  // namespace shardd::exec
