#include "server/plan/key_order.h"

#include <algorithm>
#include <optional>

#include "server/plan/binder.h"
#include "server/plan/compile.h"
#include "server/sql/parser.h"
#include "server/storage/merge_tree.h"

namespace shardd::plan {

namespace {

/// The expression over what the projection reads; nullptr where that is not worth following.
ExpressionPtr below(const ExpressionPtr& expression, const ProjectStep& project) {
    switch (expression->kind) {
        case Expression::Kind::Constant:
            return expression;
        case Expression::Kind::Lambda:
            return nullptr;
        case Expression::Kind::Input: {
            const auto made =
                std::find_if(project.columns.begin(), project.columns.end(),
                             [&](const NamedExpression& column) { return column.name == expression->name; });
            return made == project.columns.end() ? nullptr : made->expression;
        }
        case Expression::Kind::Function:
            break;
    }
    auto result = std::make_shared<Expression>(*expression);
    for (ExpressionPtr& argument : result->arguments)
        if (argument = below(argument, project); !argument) return nullptr;
    return result;
}

bool sameConstant(const Expression& a, const Expression& b) {
    return a.constant->compareAt(0, *b.constant, 0, 1) == 0;
}

bool sameExpression(const Expression& a, const Expression& b) {
    if (a.kind != b.kind || !sameType(a.type, b.type)) return false;
    switch (a.kind) {
        case Expression::Kind::Input:
            return a.name == b.name;
        case Expression::Kind::Constant:
            return sameConstant(a, b);
        case Expression::Kind::Lambda:
            return false;
        case Expression::Kind::Function:
            break;
    }
    return a.function->name() == b.function->name() &&
           std::equal(a.arguments.begin(), a.arguments.end(), b.arguments.begin(), b.arguments.end(),
                      [](const ExpressionPtr& left, const ExpressionPtr& right) {
                          return sameExpression(*left, *right);
                      });
}

/// Types whose order in the primary index is that of the column, dictionary or not.
bool hasPlainOrder(const TypePtr& type) {
    return removeNullable(removeLowCardinality(type))->children().empty();
}

struct GroupKey {
    std::string name;
    ExpressionPtr expression;  // over the table's columns
};

class KeyMatch {
public:
    KeyMatch(const storage::MergeTree& table, std::vector<GroupKey> keys, const PlannerContext& context)
        : keys_(std::move(keys)), context_(context) {
        for (const storage::ColumnDefinition& column : table.schema()->columns)
            columns_.emplace_back(column.name, column.type);
    }

    /// Nothing when groups may have several values of the element.
    std::optional<KeyOrderElement> match(const storage::KeyElement& element) const {
        if (!hasPlainOrder(element.type)) return std::nullopt;
        const GroupKey* same =
            element.column.empty() ? keyOfExpression(element) : keyOfColumn(element.column);
        if (same) return KeyOrderElement{element.text, element.descending, same->name};
        const bool follows = std::all_of(element.columns.begin(), element.columns.end(),
                                         [&](const std::string& column) { return keyOfColumn(column); });
        if (!follows) return std::nullopt;
        return KeyOrderElement{element.text, element.descending, ""};
    }

private:
    const GroupKey* keyOfColumn(const std::string& column) const {
        const auto found = std::find_if(keys_.begin(), keys_.end(), [&](const GroupKey& key) {
            return key.expression->kind == Expression::Kind::Input && key.expression->name == column;
        });
        return found == keys_.end() ? nullptr : &*found;
    }

    /// Keys of tables are computed in the time zone of the server.
    const GroupKey* keyOfExpression(const storage::KeyElement& element) const {
        if (!context_.functions || context_.functions->time_zone != context_.functions->server_time_zone)
            return nullptr;
        const NodePtr node = bindExpression(sql::parseExpression(element.text), columns_, context_);
        const Block nothing;
        const ExpressionPtr expression = Compiler(nothing, context_, true).compile(node);
        const auto found = std::find_if(keys_.begin(), keys_.end(), [&](const GroupKey& key) {
            return sameExpression(*key.expression, *expression);
        });
        return found == keys_.end() ? nullptr : &*found;
    }

    std::vector<GroupKey> keys_;
    const PlannerContext& context_;
    std::vector<std::pair<std::string, TypePtr>> columns_;
};

}  // namespace

std::vector<KeyOrderElement> keyOrderOf(const StepPtr& input,
                                        const std::vector<std::string>& keys,
                                        const PlannerContext& context) {
    std::vector<GroupKey> known;
    for (const std::string& key : keys)
        known.push_back({key, inputExpression(key, input->header.get(key).type)});
    const Step* step = input.get();
    while (true) {
        if (const auto* filter = std::get_if<FilterStep>(&step->node)) {
            step = filter->input.get();
            continue;
        }
        const auto* project = std::get_if<ProjectStep>(&step->node);
        if (!project) break;
        for (GroupKey& key : known) key.expression = below(key.expression, *project);
        std::erase_if(known, [](const GroupKey& key) { return !key.expression; });
        step = project->input.get();
    }
    const auto* scan = std::get_if<ScanStep>(&step->node);
    const auto* table = scan ? dynamic_cast<const storage::MergeTree*>(scan->table.get()) : nullptr;
    if (!table) return {};
    const KeyMatch matches(*table, std::move(known), context);
    std::vector<KeyOrderElement> order;
    for (const storage::KeyElement& element : table->primaryKey().elements) {
        std::optional<KeyOrderElement> match = matches.match(element);
        if (!match) break;
        order.push_back(std::move(*match));
    }
    return order;
}

}  // namespace shardd::plan
