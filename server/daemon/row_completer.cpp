#include "server/daemon/row_completer.h"

#include <algorithm>

#include "common/base/error.h"
#include "common/columns/create_column.h"
#include "server/daemon/query_planning.h"
#include "server/exec/expression.h"
#include "server/plan/binder.h"
#include "server/plan/compile.h"
#include "server/sql/parser.h"

namespace shardd::daemon {

using storage::DefaultKind;

std::vector<std::string> insertableColumns(const storage::TableSchema& schema) {
    std::vector<std::string> names;
    for (const auto& column : schema.columns)
        if (column.default_kind == DefaultKind::None || column.default_kind == DefaultKind::Default)
            names.push_back(column.name);
    return names;
}

RowCompleter::RowCompleter(std::shared_ptr<const storage::TableSchema> schema,
                           std::vector<std::string> given,
                           plan::PlannerContext context)
    : schema_(std::move(schema)), given_(std::move(given)), context_(std::move(context)) {
    for (const std::string& name : given_) {
        const storage::ColumnDefinition* column = schema_->find(name);
        if (!column)
            throw Error(ErrorCode::NO_SUCH_COLUMN_IN_TABLE, "No such column {} in table {}.{}", name,
                        schema_->database, schema_->name);
        if (column->default_kind == DefaultKind::Materialized)
            throw Error(ErrorCode::ILLEGAL_COLUMN,
                        "Cannot insert column {}, because it is MATERIALIZED column", name);
        if (column->default_kind == DefaultKind::Alias)
            throw Error(ErrorCode::ILLEGAL_COLUMN, "Cannot insert column {}, because it is ALIAS column",
                        name);
    }
    for (const auto& column : schema_->columns)
        if (column.default_kind != DefaultKind::Alias && column.default_kind != DefaultKind::Ephemeral)
            stored_.push_back(column.name);
    planDefaults();
    planConstraints();
}

void RowCompleter::planDefaults() {
    std::vector<std::pair<std::string, TypePtr>> known;
    std::vector<const storage::ColumnDefinition*> waiting;
    for (const auto& column : schema_->columns) {
        const bool is_given = std::find(given_.begin(), given_.end(), column.name) != given_.end();
        if (is_given)
            known.emplace_back(column.name, column.type);
        else if (column.default_kind != DefaultKind::Alias && !column.default_expression.empty())
            waiting.push_back(&column);
        else if (column.default_kind != DefaultKind::Alias)
            computed_.push_back({column.name, column.type, nullptr}),
                known.emplace_back(column.name, column.type);
    }
    // A default may use other defaults: those that can be computed come first, until nothing moves any more.
    while (!waiting.empty()) {
        const size_t before = waiting.size();
        std::optional<Error> failure;
        for (size_t i = 0; i < waiting.size();) {
            const storage::ColumnDefinition& column = *waiting[i];
            try {
                const auto node =
                    plan::bindExpression(sql::parseExpression(column.default_expression), known, context_);
                const Block header = makeHeader(known);
                plan::Compiler compiler(header, context_, true);
                computed_.push_back({column.name, column.type,
                                     plan::castExpression(compiler.compile(node), column.type, context_)});
            } catch (const Error& error) {
                failure = error;
                ++i;
                continue;
            }
            known.emplace_back(column.name, column.type);
            waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(i));
        }
        if (waiting.size() == before) throw *failure;
    }
}

void RowCompleter::planConstraints() {
    std::vector<std::pair<std::string, TypePtr>> columns;
    for (const auto& name : stored_) columns.emplace_back(name, schema_->find(name)->type);
    const Block header = makeHeader(columns);
    for (const auto& [name, text] : schema_->constraints) {
        plan::Compiler compiler(header, context_, true);
        constraints_.push_back(
            {name, text,
             compiler.compile(plan::bindExpression(sql::parseExpression(text), columns, context_))});
    }
}

void RowCompleter::checkConstraints(const Block& block) const {
    for (const Constraint& constraint : constraints_) {
        const Mask holds = exec::evaluateCondition(constraint.expression, block);
        for (size_t row = 0; row < holds.size(); ++row)
            if (holds[row] == 0)
                throw Error(ErrorCode::VIOLATED_CONSTRAINT,
                            "Constraint `{}` for table {}.{} is violated at row {}. Expression: ({})",
                            constraint.name, schema_->database, schema_->name, row + 1, constraint.text);
    }
}

Block RowCompleter::sample() const {
    std::vector<std::pair<std::string, TypePtr>> columns;
    for (const auto& name : given_) columns.emplace_back(name, schema_->find(name)->type);
    return makeHeader(columns);
}

Block RowCompleter::convert(Block block, ColumnMatch match) const {
    if (block.columns.size() != given_.size())
        throw Error(ErrorCode::NUMBER_OF_COLUMNS_DOESNT_MATCH, "Wanted {} columns for the table, found {}",
                    given_.size(), block.columns.size());
    const bool by_name =
        match == ColumnMatch::ByName &&
        std::all_of(given_.begin(), given_.end(), [&](const auto& name) { return block.find(name); });
    Block converted;
    for (size_t i = 0; i < given_.size(); ++i) {
        const NamedColumn& source = by_name ? block.get(given_[i]) : block.columns[i];
        const TypePtr& type = schema_->find(given_[i])->type;
        converted.add(
            {given_[i], type, castColumn(source.column, source.type, type, block.rows, context_.functions)});
    }
    converted.rows = block.rows;
    return converted;
}

Block RowCompleter::complete(Block block, ColumnMatch match) const {
    Block whole = convert(std::move(block), match);
    for (const Computed& column : computed_) {
        if (column.expression) {
            whole.add({column.column, column.type, exec::evaluate(column.expression, whole)});
            continue;
        }
        MutableColumnPtr defaults = createColumn(*column.type);
        insertDefaults(*column.type, *defaults, whole.rows);
        whole.add({column.column, column.type, std::move(defaults)});
    }
    checkConstraints(whole);
    Block result;
    for (const auto& name : stored_) result.add(whole.get(name));
    result.rows = whole.rows;
    result.makeFull();
    return result;
}

}  // namespace shardd::daemon
