#include "server/exec/expression.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "common/base/stack_guard.h"
#include "common/columns/const_column.h"
#include "common/columns/create_column.h"
#include "common/columns/dictionary_column.h"
#include "common/columns/fixed_column.h"
#include "common/columns/nullable_column.h"
#include "common/columns/selection.h"
#include "server/exec/expression_inputs.h"

namespace shardd::exec {

using plan::Expression;
using plan::ExpressionPtr;

namespace {

/// Some function below may throw on values, so it must see only the rows that need it.
bool mayThrow(const Expression& expression) {
    if (expression.kind == Expression::Kind::Function && expression.function->traits().may_throw) return true;
    return std::any_of(expression.arguments.begin(), expression.arguments.end(),
                       [](const ExpressionPtr& argument) { return mayThrow(*argument); });
}

/// Searches every text: worth doing last. Throws only because of its pattern, whatever the rows are.
bool isTextSearch(const Expression& expression) {
    if (expression.kind != Expression::Kind::Function) return false;
    const std::string& name = expression.function->name();
    const auto& arguments = expression.arguments;
    if (name == "not") return isTextSearch(*arguments[0]);
    static const std::unordered_set<std::string> kSearches = {"like", "notLike", "ilike", "notILike",
                                                              "match"};
    return kSearches.contains(name) && arguments[1]->kind == Expression::Kind::Constant &&
           !mayThrow(*arguments[0]);
}

/// Evaluates over one block; remembers what it computed.
class Evaluation {
public:
    explicit Evaluation(const Block& block) : block_(block) {}

    ColumnPtr run(const ExpressionPtr& expression) {
        const auto known = done_.find(expression.get());
        if (known != done_.end()) return known->second;
        checkStack();
        ColumnPtr column = compute(expression);
        done_.emplace(expression.get(), column);
        return column;
    }

private:
    ColumnPtr compute(const ExpressionPtr& expression) {
        switch (expression->kind) {
            case Expression::Kind::Input:
                return block_.get(expression->name).column;
            case Expression::Kind::Constant:
                return constant(*expression);
            case Expression::Kind::Lambda:
                return lambda(expression);
            case Expression::Kind::Function:
                break;
        }
        const std::string& name = expression->function->name();
        const bool branches = name == "if" || name == "multiIf" || name == "and" || name == "or";
        if (branches && block_.rows > 0) {
            const auto lazy = std::any_of(expression->arguments.begin() + 1, expression->arguments.end(),
                                          [](const ExpressionPtr& argument) { return mayThrow(*argument); });
            if (lazy) return call(*expression, lazyArguments(*expression, name));
        }
        std::vector<ColumnPtr> arguments;
        for (const ExpressionPtr& argument : expression->arguments) arguments.push_back(run(argument));
        return call(*expression, std::move(arguments));
    }

    ColumnPtr call(const Expression& expression, std::vector<ColumnPtr> columns) const {
        std::vector<NamedColumn> arguments;
        arguments.reserve(columns.size());
        for (size_t i = 0; i < columns.size(); ++i)
            arguments.push_back(
                {expression.arguments[i]->name, expression.arguments[i]->type, std::move(columns[i])});
        return expression.function->execute(arguments, block_.rows);
    }

    ColumnPtr constant(const Expression& expression) const {
        const ColumnPtr& column = expression.constant;
        if (column->kind() == ColumnKind::Const)
            return std::make_shared<ConstColumn>(static_cast<const ConstColumn&>(*column).one(), block_.rows);
        return std::make_shared<ConstColumn>(column, block_.rows);
    }

    ColumnPtr lambda(const ExpressionPtr& expression) const {
        Block captured = onlyColumns(block_, inputsOf(*expression));
        auto prepare = [expression, captured = std::move(captured)](
                           std::span<const uint64_t> ends) -> functions::LambdaColumn::Body {
            auto inner = std::make_shared<Block>(captured);
            for (NamedColumn& column : inner->columns) column.column = column.column->replicate(ends);
            return [expression, inner](std::span<const ColumnPtr> parameters, size_t rows) {
                Block block = *inner;
                block.rows = rows;
                for (size_t i = 0; i < parameters.size(); ++i)
                    block.columns.insert(
                        block.columns.begin(),
                        {expression->parameters[i], expression->parameter_types[i], parameters[i]});
                return Evaluation(block).run(expression->arguments[0]);
            };
        };
        return std::make_shared<functions::LambdaColumn>(block_.rows, expression->parameter_types,
                                                         expression->arguments[0]->type, std::move(prepare));
    }

    /// `expression` where needed[row] != 0, defaults elsewhere.
    ColumnPtr runWhere(const ExpressionPtr& expression, const Mask& needed) {
        const auto wanted = static_cast<size_t>(
            std::count_if(needed.begin(), needed.end(), [](uint8_t bit) { return bit != 0; }));
        if (wanted == block_.rows || expression->kind != Expression::Kind::Function || !mayThrow(*expression))
            return run(expression);
        // Copying most of the texts takes longer than searching all of them.
        if (wanted * 2 > block_.rows && isTextSearch(*expression)) return run(expression);
        if (wanted == 0)
            return createConstColumn(*expression->type, defaultValue(*expression->type), block_.rows);
        const Block part = onlyColumns(block_, inputsOf(*expression)).filter(needed.span(), wanted);
        const ColumnPtr values = full(Evaluation(part).run(expression));
        MutableColumnPtr with_default = values->cloneEmpty();
        insertDefaults(*expression->type, *with_default, 1);
        with_default->insertRange(*values, 0, wanted);
        PodVector<RowIndex> rows(block_.rows);
        RowIndex next = 1;
        for (size_t i = 0; i < block_.rows; ++i) rows[i] = needed[i] ? next++ : 0;
        return with_default->gather(rows.span());
    }

    /// Arguments of and, or: each only where those before it leave the answer open. Searches of texts come
    /// last, unless another argument may throw: the order decides which rows that one sees.
    std::vector<ColumnPtr> lazyConditions(const std::vector<ExpressionPtr>& arguments, bool stops_at) {
        std::vector<size_t> order(arguments.size());
        std::iota(order.begin(), order.end(), size_t{0});
        const auto movable = [](const ExpressionPtr& argument) {
            return !mayThrow(*argument) || isTextSearch(*argument);
        };
        if (std::all_of(arguments.begin(), arguments.end(), movable))
            std::stable_partition(order.begin(), order.end(),
                                  [&](size_t i) { return !isTextSearch(*arguments[i]); });
        std::vector<ColumnPtr> columns(arguments.size());
        Mask open(block_.rows, 1);
        for (const size_t i : order) {
            columns[i] = runWhere(arguments[i], open);
            const ColumnPtr plain = fullPlain(columns[i]);
            const Mask truth = maskOf(*plain, *removeLowCardinality(arguments[i]->type));
            // NULL leaves it open: NULL and 0 is 0, NULL or 1 is 1.
            if (plain->kind() == ColumnKind::Nullable) {
                for (size_t row = 0; row < block_.rows; ++row)
                    if ((truth[row] != 0) == stops_at && !plain->isNullAt(row)) open[row] = 0;
            } else {
                const uint8_t closing = stops_at;
                for (size_t row = 0; row < block_.rows; ++row)
                    open[row] = open[row] & static_cast<uint8_t>(truth[row] ^ closing);
            }
        }
        return columns;
    }

    /// Arguments of if, multiIf: each only where those before it leave the answer open.
    std::vector<ColumnPtr> lazyArguments(const Expression& expression, const std::string& name) {
        const auto& arguments = expression.arguments;
        if (name == "and" || name == "or") return lazyConditions(arguments, name == "or");
        std::vector<ColumnPtr> columns;
        Mask open(block_.rows, 1);
        const size_t conditions = arguments.size() / 2;
        for (size_t k = 0; k < conditions; ++k) {
            columns.push_back(runWhere(arguments[2 * k], open));
            const Mask truth = maskOf(*columns.back(), *arguments[2 * k]->type);
            Mask chosen(block_.rows);
            for (size_t i = 0; i < block_.rows; ++i) {
                chosen[i] = open[i] & truth[i];
                open[i] = open[i] & static_cast<uint8_t>(truth[i] ^ 1);
            }
            columns.push_back(runWhere(arguments[2 * k + 1], chosen));
        }
        columns.push_back(runWhere(arguments.back(), open));
        return columns;
    }

    const Block& block_;
    std::unordered_map<const Expression*, ColumnPtr> done_;
};

template <typename T>
void truthOf(const PodVector<T>& values, Mask& mask) {
    for (size_t i = 0; i < values.size(); ++i) {
        if constexpr (std::is_same_v<T, BFloat16>)
            mask[i] = values[i].toFloat() != 0.0F;
        else if constexpr (std::is_same_v<T, IPv6Bytes>)
            mask[i] = 0;
        else
            mask[i] = values[i] != T(0);
    }
}

void maskOfFixed(const Column& column, const Type& type, Mask& mask) {
    const bool known = dispatchPhysical(
        type.physical(), [&]<typename T>(Tag<T>) { truthOf(as<FixedColumn<T>>(column).values(), mask); });
    if (!known || type.physical() == Physical::IPv6)
        throw Error(
            ErrorCode::ILLEGAL_TYPE_OF_COLUMN_FOR_FILTER,
            "Illegal type {} of column for filter. Must be UInt8 or Nullable(UInt8) or another number",
            type.name());
}

}  // namespace

ColumnPtr evaluate(const ExpressionPtr& expression, const Block& block) {
    return Evaluation(block).run(expression);
}

Block evaluate(const std::vector<plan::NamedExpression>& expressions, const Block& block) {
    Evaluation evaluation(block);
    Block result;
    result.rows = block.rows;
    result.bucket = block.bucket;
    result.is_overflows = block.is_overflows;
    result.columns.reserve(expressions.size());
    for (const auto& [name, expression] : expressions)
        result.columns.push_back({name, expression->type, evaluation.run(expression)});
    return result;
}

Mask maskOf(const Column& column, const Type& type) {
    const size_t rows = column.size();
    if (type.kind() == TypeKind::Nothing) return Mask(rows, 0);
    switch (column.kind()) {
        case ColumnKind::Const: {
            const Mask one = maskOf(*static_cast<const ConstColumn&>(column).one(), type);
            return Mask(rows, one[0]);
        }
        case ColumnKind::Dictionary: {
            const auto& dictionary = static_cast<const DictionaryColumn&>(column);
            const ColumnPtr keys = dictionary.keysWithNull();
            const Mask truth = maskOf(*keys, *type.child());
            Mask mask(rows);
            for (size_t i = 0; i < rows; ++i) mask[i] = truth[dictionary.codes()[i]];
            return mask;
        }
        case ColumnKind::Nullable: {
            const auto& nullable = static_cast<const NullableColumn&>(column);
            Mask mask = maskOf(*nullable.values(), *type.child());
            for (size_t i = 0; i < rows; ++i)
                mask[i] = mask[i] & static_cast<uint8_t>(nullable.nulls()[i] == 0);
            return mask;
        }
        default: {
            Mask mask(rows);
            maskOfFixed(column, type, mask);
            return mask;
        }
    }
}

Mask evaluateCondition(const ExpressionPtr& condition, const Block& block) {
    return maskOf(*evaluate(condition, block), *condition->type);
}

Condition conditionOf(const ExpressionPtr& condition, const Block& block) {
    Condition result{evaluateCondition(condition, block), 0};
    result.kept = countKept(result.mask.span());
    return result;
}

}  // namespace shardd::exec
