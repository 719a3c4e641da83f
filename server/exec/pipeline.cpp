#include "server/exec/pipeline.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <unordered_set>

#include "server/exec/operators.h"
#include "server/exec/thread_pool.h"

namespace shardd::exec {

namespace {

/// The way out: one caller at a time, no constants, counted.
class OutputSink final : public Sink {
public:
    OutputSink(QueryContext& context, ResultSink& result) : context_(context), result_(result) {}

    Flow consume(size_t /*worker*/, Block block) override {
        context_.check();
        block.makeFull();
        std::lock_guard lock(mutex_);
        if (ended_) return Flow::Enough;
        context_.progress.result_rows.fetch_add(block.rows);
        context_.progress.result_bytes.fetch_add(block.dataBytes());
        ended_ = !result_.data(std::move(block));
        return ended_ ? Flow::Enough : Flow::More;
    }

    /// Totals and extremes follow all rows.
    void totals(Block block) override {
        block.makeFull();
        totals_ = std::move(block);
    }

    void extremes(Block block) override {
        block.makeFull();
        extremes_ = std::move(block);
    }

    void finish() override {
        if (totals_) result_.totals(std::move(*totals_));
        if (extremes_) result_.extremes(std::move(*extremes_));
    }

private:
    QueryContext& context_;
    std::mutex mutex_;  // guards result_ and ended_ while workers push
    ResultSink& result_;
    bool ended_ = false;
    std::optional<Block> totals_;
    std::optional<Block> extremes_;
};

class CollectingSink final : public ResultSink {
public:
    explicit CollectingSink(uint64_t max_rows) : max_rows_(max_rows) {}

    void header(const Block& /*block*/) override {}

    bool data(Block block) override {
        rows_ += block.rows;
        blocks.push_back(std::move(block));
        return max_rows_ == 0 || rows_ <= max_rows_;
    }

    void totals(Block /*block*/) override {}

    void extremes(Block /*block*/) override {}

    std::vector<Block> blocks;

private:
    const uint64_t max_rows_;
    uint64_t rows_ = 0;
};

/// The steps whose incoming rows count as "before the limit": the lowest ones that limit rows in an unbroken
/// chain under the root, in each branch of a UNION.
void findCountingSteps(const plan::Step& step,
                       const plan::Step* limiting,
                       std::unordered_set<const plan::Step*>& found) {
    const auto below = [&](const plan::StepPtr& input, const plan::Step* known) {
        findCountingSteps(*input, known, found);
    };
    if (const auto* project = std::get_if<plan::ProjectStep>(&step.node))
        return below(project->input, limiting);
    if (const auto* limit = std::get_if<plan::LimitStep>(&step.node)) return below(limit->input, &step);
    if (const auto* sort = std::get_if<plan::SortStep>(&step.node); sort && sort->limit != 0)
        return below(sort->input, &step);
    if (const auto* extremes = std::get_if<plan::ExtremesStep>(&step.node))
        return below(extremes->input, limiting);
    if (const auto* limits = std::get_if<plan::LimitsStep>(&step.node)) return below(limits->input, limiting);
    if (const auto* merge = std::get_if<plan::MergeSortedStep>(&step.node))
        return below(merge->input, limiting);
    if (const auto* all = std::get_if<plan::UnionStep>(&step.node); all && !limiting) {
        for (const plan::StepPtr& input : all->inputs) below(input, nullptr);
        return;
    }
    if (limiting) found.insert(limiting);
}

}  // namespace

void runStep(const plan::Step& step, QueryContext& context, Sink& sink) {
    const StepPlace place{step.header, context, context.isCountingStep(&step)};
    std::visit([&](const auto& node) { run(node, place, sink); }, step.node);
}

void execute(const plan::StepPtr& root, QueryContext& context, ResultSink& result) {
    const MemoryScope scope(context.memory.get());
    std::unordered_set<const plan::Step*> counting;
    findCountingSteps(*root, nullptr, counting);
    context.setCountingSteps({counting.begin(), counting.end()});
    Block header = root->header;
    header.makeFull();
    result.header(header);
    OutputSink output(context, result);
    runStep(*root, context, output);
    context.check();
}

std::vector<Block> executeToBlocks(const plan::StepPtr& root, QueryContext& context, uint64_t max_rows) {
    const MemoryScope scope(context.memory.get());
    CollectingSink collected(max_rows);
    OutputSink output(context, collected);
    runStep(*root, context, output);
    context.check();
    return std::move(collected.blocks);
}

void parallel(QueryContext& context, size_t tasks, const std::function<void(size_t)>& task) {
    context.pool.parallel(tasks, [&](size_t i) {
        const MemoryScope scope(context.memory.get());
        context.check();
        task(i);
    });
}

Flow pushInBlocks(const Block& block, size_t max_block_rows, Sink& sink) {
    if (block.rows <= max_block_rows) return block.rows == 0 ? Flow::More : sink.consume(0, block);
    for (size_t from = 0; from < block.rows; from += max_block_rows)
        if (sink.consume(0, block.slice(from, std::min(max_block_rows, block.rows - from))) == Flow::Enough)
            return Flow::Enough;
    return Flow::More;
}

}  // namespace shardd::exec
