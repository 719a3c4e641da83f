#include <optional>
#include <string>
#include <vector>

#include "server/exec/expression.h"
#include "server/exec/expression_inputs.h"
#include "server/exec/operators.h"
#include "server/exec/pipeline.h"

namespace shardd::exec {

namespace {

class FilterSink final : public ForwardingSink {
public:
    /// `wanted`: the columns that the next operator looks at, when not all.
    FilterSink(const plan::FilterStep& step, std::optional<std::vector<std::string>> wanted, Sink& next)
        : ForwardingSink(next), step_(step), wanted_(std::move(wanted)) {}

    Flow consume(size_t worker, Block block) override {
        const Condition condition = conditionOf(step_.condition, block);
        if (condition.kept == 0) return Flow::More;
        if (wanted_) block = onlyColumns(block, *wanted_);
        if (condition.kept == block.rows) return next_.consume(worker, std::move(block));
        return next_.consume(worker, block.filter(condition.mask.span(), condition.kept));
    }

    KeyRangeSink* keyRanges() override { return next_.keyRanges(); }

private:
    const plan::FilterStep& step_;
    const std::optional<std::vector<std::string>> wanted_;
};

class ProjectSink final : public ForwardingSink {
public:
    ProjectSink(const plan::ProjectStep& step, Sink& next) : ForwardingSink(next), step_(step) {}

    Flow consume(size_t worker, Block block) override {
        return next_.consume(worker, evaluate(step_.columns, block));
    }

    void totals(Block block) override { next_.totals(evaluate(step_.columns, block)); }

    /// Only through columns that are passed on as they are.
    TopHint topHint() override {
        TopHint hint = next_.topHint();
        if (!hint.filter) return {};
        for (const auto& [name, expression] : step_.columns)
            if (name == hint.column && expression->kind == plan::Expression::Kind::Input)
                return {hint.filter, expression->name};
        return {};
    }

    KeyRangeSink* keyRanges() override { return next_.keyRanges(); }

private:
    const plan::ProjectStep& step_;
};

}  // namespace

void run(const plan::FilterStep& step, const StepPlace& place, Sink& sink) {
    FilterSink filter(step, std::nullopt, sink);
    runStep(*step.input, place.context, filter);
}

void run(const plan::ProjectStep& step, const StepPlace& place, Sink& sink) {
    ProjectSink project(step, sink);
    if (const auto* below = std::get_if<plan::FilterStep>(&step.input->node)) {
        FilterSink filter(*below, inputsOf(step.columns), project);
        runStep(*below->input, place.context, filter);
        return;
    }
    runStep(*step.input, place.context, project);
}

}  // namespace shardd::exec
