#include "server/exec/shifted_sums.h"

#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "common/columns/create_column.h"
#include "common/columns/fixed_column.h"

namespace shardd::exec {

namespace {

using plan::Expression;
using plan::ExpressionPtr;

bool isPlainInteger(const Type& type) { return type.isInteger() && type.width() <= 8; }

/// sum(x + shift).
struct Shifted {
    ExpressionPtr base;
    uint64_t shift = 0;
};

std::optional<Shifted> shiftedOf(const ExpressionPtr& expression) {
    if (expression->kind != Expression::Kind::Function || expression->arguments.size() != 2)
        return std::nullopt;
    const std::string& name = expression->function->name();
    if (name != "plus" && name != "minus") return std::nullopt;
    const auto& [left, right] = std::tie(expression->arguments[0], expression->arguments[1]);
    if (!isPlainInteger(*expression->type) || !isPlainInteger(*left->type) || !isPlainInteger(*right->type))
        return std::nullopt;
    const auto shiftBy = [](const Expression& constant) {
        return static_cast<uint64_t>(constant.constant->value(0).to<int64_t>());
    };
    if (right->kind == Expression::Kind::Constant && left->kind == Expression::Kind::Input)
        return Shifted{left, name == "plus" ? shiftBy(*right) : 0 - shiftBy(*right)};
    if (left->kind == Expression::Kind::Constant && right->kind == Expression::Kind::Input && name == "plus")
        return Shifted{right, shiftBy(*left)};
    return std::nullopt;
}

/// Where the results of the simpler aggregation go.
struct Target {
    std::string base;  // the column with the sum of x
    uint64_t shift;
};

class ShiftingSink final : public ForwardingSink {
public:
    ShiftingSink(const Block& header, std::map<std::string, Target> targets, Sink& next)
        : ForwardingSink(next), header_(header), targets_(std::move(targets)) {}

    Flow consume(size_t worker, Block block) override {
        Block result;
        result.rows = block.rows;
        result.is_overflows = block.is_overflows;
        const auto& counts = as<FixedColumn<uint64_t>>(*block.get("__count").column).values();
        for (const NamedColumn& column : header_.columns) {
            const auto target = targets_.find(column.name);
            if (target == targets_.end()) {
                result.columns.push_back(block.get(column.name));
                continue;
            }
            const Column& sums = *block.get(target->second.base).column;
            MutableColumnPtr shifted = createColumn(*column.type);
            const bool done = dispatchPhysical(column.type->physical(), [&]<typename T>(Tag<T>) {
                if constexpr (std::is_same_v<T, uint64_t> || std::is_same_v<T, int64_t>) {
                    auto& out = static_cast<FixedColumn<T>&>(*shifted).values();
                    out.resize(block.rows);
                    for (size_t i = 0; i < block.rows; ++i) {
                        uint64_t sum = 0;
                        std::memcpy(&sum, sums.bytesAt(i).data(), sizeof(sum));
                        out[i] = static_cast<T>(sum + target->second.shift * counts[i]);
                    }
                }
            });
            SHARDD_CHECK(done && shifted->size() == block.rows);
            result.columns.push_back({column.name, column.type, ColumnPtr(std::move(shifted))});
        }
        return next_.consume(worker, std::move(result));
    }

private:
    const Block& header_;
    std::map<std::string, Target> targets_;
};

}  // namespace

bool runShiftedSums(const plan::AggregateStep& step, const StepPlace& place, Sink& sink) {
    const auto* project = std::get_if<plan::ProjectStep>(&step.input->node);
    if (!project || !step.finish || !step.grouping_sets.empty() || step.overflow_row) return false;
    std::map<std::string, ExpressionPtr> expressions;
    for (const auto& [name, expression] : project->columns) expressions[name] = expression;

    std::map<std::string, Target> targets;
    std::map<std::string, ExpressionPtr> bases;
    plan::AggregateStep simpler = step;
    simpler.calls.clear();
    for (const plan::AggregateCall& call : step.calls) {
        std::optional<Shifted> shifted;
        if (call.function->name() == "sum" && call.arguments.size() == 1)
            shifted = shiftedOf(expressions[call.arguments[0]]);
        if (!shifted) {
            simpler.calls.push_back(call);
            continue;
        }
        const std::string base = "__sum_of_" + shifted->base->name;
        bases.emplace(base, shifted->base);
        targets[call.name] = {base, shifted->shift};
    }
    if (targets.size() < 2 * bases.size() || targets.empty()) return false;

    Block header;
    for (const std::string& key : step.keys) header.columns.push_back(place.header.get(key));
    for (const plan::AggregateCall& call : simpler.calls)
        header.columns.push_back(place.header.get(call.name));
    plan::ProjectStep inputs;
    inputs.input = project->input;
    Block input_header;
    const auto keep = [&](const std::string& name, const ExpressionPtr& expression) {
        if (input_header.find(name)) return;
        inputs.columns.push_back({name, expression});
        input_header.columns.push_back({name, expression->type, createColumn(*expression->type)});
    };
    for (const std::string& key : step.keys) keep(key, expressions[key]);
    for (const plan::AggregateCall& call : simpler.calls)
        for (const std::string& argument : call.arguments) keep(argument, expressions[argument]);
    for (const auto& [name, expression] : bases) {
        keep(name, expression);
        const auto sum = aggregates::resolveAggregateFunction("sum", {}, {expression->type});
        simpler.calls.push_back({sum, {name}, name});
        header.columns.push_back({name, sum->resultType(), createColumn(*sum->resultType())});
    }
    const auto count = aggregates::resolveAggregateFunction("count", {}, {});
    simpler.calls.push_back({count, {}, "__count"});
    header.columns.push_back({"__count", count->resultType(), createColumn(*count->resultType())});
    simpler.input = plan::makeStep(std::move(inputs), std::move(input_header));

    ShiftingSink shifting(place.header, std::move(targets), sink);
    run(simpler, StepPlace{header, place.context}, shifting);
    return true;
}

}  // namespace shardd::exec
