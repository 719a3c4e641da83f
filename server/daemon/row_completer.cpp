#include "server/daemon/row_completer.h"

#include <algorithm>

#include "common/base/error.h"
#include "common/columns/create_column.h"
#include "common/columns/nullable_column.h"
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
        if (column->default_kind == DefaultKind::Materialized &&
            !context_.settings->insert_allow_materialized_columns)
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

ColumnPtr RowCompleter::withoutNulls(const NamedColumn& source,
                                     const storage::ColumnDefinition& target) const {
    const ColumnPtr plain = fullPlain(source.column);
    const size_t rows = plain->size();
    MutableColumnPtr defaults = createColumn(*target.type);
    insertDefaults(*target.type, *defaults, 1);
    if (!target.default_expression.empty()) {
        // Only a default without other columns: ClickHouse's rows are not there yet either.
        const auto node = plan::bindExpression(sql::parseExpression(target.default_expression), {}, context_);
        const Block none{.columns = {}, .rows = 1};
        plan::Compiler compiler(none, context_, true);
        const auto expression = plan::castExpression(compiler.compile(node), target.type, context_);
        defaults = target.type->isLowCardinality() ? createColumn(*target.type) : defaults->cloneEmpty();
        defaults->insertFrom(*full(exec::evaluate(expression, none)), 0);
    }
    const TypePtr bare = removeNullable(removeLowCardinality(source.type));
    const auto* nullable = dynamic_cast<const NullableColumn*>(plain.get());
    SHARDD_CHECK(nullable);
    const auto& nulls = nullable->nulls();
    if (std::none_of(nulls.begin(), nulls.end(), [](uint8_t byte) { return byte != 0; }))
        return full(castColumn(nullable->values(), bare, target.type, rows, context_.functions));
    // The values that are there, then the default; each row takes one of them.
    PodVector<RowIndex> valued;
    PodVector<RowIndex> from(rows, 0);
    for (size_t row = 0; row < rows; ++row) {
        if (nulls[row] == 0) {
            from[row] = static_cast<RowIndex>(valued.size());
            valued.push_back(static_cast<RowIndex>(row));
        }
    }
    for (size_t row = 0; row < rows; ++row)
        if (nulls[row] != 0) from[row] = static_cast<RowIndex>(valued.size());
    MutableColumnPtr pool = createColumn(*target.type);
    if (!valued.empty()) {
        const ColumnPtr values = nullable->values()->gather(valued.span());
        const ColumnPtr cast = full(castColumn(values, bare, target.type, valued.size(), context_.functions));
        pool->insertRange(*cast, 0, cast->size());
    }
    pool->insertFrom(*defaults, 0);
    return pool->gather(from.span());
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
        const storage::ColumnDefinition& target = *schema_->find(given_[i]);
        const bool loses_nulls = isNullableOrLowCardinalityNullable(source.type) &&
                                 !isNullableOrLowCardinalityNullable(target.type);
        ColumnPtr values;
        if (match == ColumnMatch::ByPosition && loses_nulls && context_.settings->insert_null_as_default)
            values = withoutNulls(source, target);
        else
            values = castColumn(source.column, source.type, target.type, block.rows, context_.functions);
        converted.add({given_[i], target.type, std::move(values)});
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
