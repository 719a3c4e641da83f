#include "server/sql/printer.h"

#include <algorithm>

#include "server/sql/lexer.h"
#include "server/sql/parser_impl.h"
#include "server/sql/printer_impl.h"

namespace shardd::sql {

namespace {

/// Plain words that would be read as something else where a name stands.
constexpr std::string_view kQuoted[] = {"all", "case", "distinct", "false", "from", "inf",   "nan",
                                        "not", "null", "select",   "table", "true", "values"};

struct BinaryOperator {
    std::string_view function, text;
};

constexpr BinaryOperator kBinary[] = {
    {"plus", " + "},
    {"minus", " - "},
    {"multiply", " * "},
    {"divide", " / "},
    {"modulo", " % "},
    {"equals", " = "},
    {"notEquals", " != "},
    {"less", " < "},
    {"greater", " > "},
    {"lessOrEquals", " <= "},
    {"greaterOrEquals", " >= "},
    {"like", " LIKE "},
    {"ilike", " ILIKE "},
    {"notLike", " NOT LIKE "},
    {"notILike", " NOT ILIKE "},
    {"isNotDistinctFrom", " <=> "},
    {"isDistinctFrom", " IS DISTINCT FROM "},
};

constexpr BinaryOperator kIn[] = {
    {"in", " IN "}, {"notIn", " NOT IN "}, {"globalIn", " GLOBAL IN "}, {"globalNotIn", " GLOBAL NOT IN "}};

}  // namespace

std::string quoteIdentifier(std::string_view name) {
    std::string quoted = "`";
    for (char c : name) {
        switch (c) {
            case '\b':
                quoted += "\\b";
                break;
            case '\f':
                quoted += "\\f";
                break;
            case '\n':
                quoted += "\\n";
                break;
            case '\r':
                quoted += "\\r";
                break;
            case '\t':
                quoted += "\\t";
                break;
            case '\0':
                quoted += "\\0";
                break;
            case '\\':
                quoted += "\\\\";
                break;
            case '`':
                quoted += "\\`";
                break;
            default:
                quoted.push_back(c);
        }
    }
    return quoted + "`";
}

std::string quoteIdentifierIfNeeded(std::string_view name) {
    bool plain = !name.empty() && isWordStart(name[0]);
    for (char c : name) plain = plain && isWordCharacter(c) && c != '$';
    for (auto word : kQuoted) plain = plain && !equalsIgnoringCase(name, word);
    return plain ? std::string(name) : quoteIdentifier(name);
}

std::string toText(const Expression& expression, const PrintOptions& options) {
    Printer printer(options);
    printer.expression(expression);
    return printer.take();
}

std::string toText(const Query& query, const PrintOptions& options) {
    Printer printer(options);
    printer.query(query);
    return printer.take();
}

std::string toText(const Select& select, const PrintOptions& options) {
    Printer printer(options);
    printer.select(select);
    return printer.take();
}

std::string toText(const Statement& statement, const PrintOptions& options) {
    Printer printer(options);
    printer.statement(statement);
    return printer.take();
}

void Printer::newLine() {
    if (!options_.multi_line) {
        write(" ");
        return;
    }
    out_.push_back('\n');
    out_.append(4 * indent_, ' ');
}

void Printer::identifier(std::string_view name) {
    write(options_.quoting == PrintOptions::Quoting::Always ? quoteIdentifier(name)
                                                            : quoteIdentifierIfNeeded(name));
}

void Printer::name(const QualifiedName& name) {
    if (!name.database.empty()) {
        identifier(name.database);
        if (name.table.empty()) return;
        write(".");
    }
    identifier(name.table);
}

void Printer::names(const std::vector<std::string>& list) {
    commaList(list, [&](const std::string& each) { identifier(each); });
}

void Printer::settings(const SettingChanges& changes) {
    commaList(changes, [&](const SettingChange& change) {
        write(change.name);
        write(" = ");
        write(change.to_default ? "DEFAULT" : toText(change.value));
    });
}

// --------------------------------------------------------------------------- expressions

void Printer::list(const Expressions& list) {
    commaList(list, [&](const ExpressionPtr& node) { element(*node); });
}

void Printer::element(const Expression& node) {
    if (node.parenthesized) write("(");
    body(node);
    if (node.parenthesized) write(")");
    if (node.alias.empty()) return;
    write(" AS ");
    identifier(node.alias);
}

bool Printer::isOperatorNode(const Expression& node) const {
    if (node.kind == Expression::Kind::Lambda) return true;
    const auto* call = as<Function>(&node);
    if (!call || !call->is_operator) return false;
    return call->name != "array" && call->name != "tuple";
}

void Printer::operand(const Expression& node) {
    const bool brackets = node.parenthesized || !node.alias.empty() || isOperatorNode(node);
    if (brackets) write("(");
    body(node);
    if (!node.alias.empty()) {
        write(" AS ");
        identifier(node.alias);
    }
    if (brackets) write(")");
}

void Printer::body(const Expression& node) {
    switch (node.kind) {
        case Expression::Kind::Literal: {
            appendText(out_, static_cast<const LiteralExpression&>(node).value);
            return;
        }
        case Expression::Kind::Identifier: {
            const auto& parts = static_cast<const Identifier&>(node).parts;
            for (size_t i = 0; i < parts.size(); ++i) {
                if (i) write(".");
                identifier(parts[i]);
            }
            return;
        }
        case Expression::Kind::Function:
            return function(static_cast<const Function&>(node));
        case Expression::Kind::Lambda: {
            const auto& lambda = static_cast<const Lambda&>(node);
            const bool one = lambda.arguments.size() == 1;
            if (!one) write("(");
            names(lambda.arguments);
            write(one ? " -> " : ") -> ");
            return operand(*lambda.body);
        }
        case Expression::Kind::Asterisk: {
            const auto& star = static_cast<const Asterisk&>(node);
            for (const auto& part : star.qualifier) {
                identifier(part);
                write(".");
            }
            write("*");
            return transformers(star.transformers);
        }
        case Expression::Kind::Columns: {
            const auto& columns = static_cast<const Columns&>(node);
            for (const auto& part : columns.qualifier) {
                identifier(part);
                write(".");
            }
            write("COLUMNS(");
            if (columns.pattern)
                appendQuoted(out_, *columns.pattern);
            else
                list(columns.list);
            write(")");
            return transformers(columns.transformers);
        }
        case Expression::Kind::Subquery: {
            const auto& inner = static_cast<const Subquery&>(node);
            if (!inner.bare) return subquery(*inner.query);
            return query(*inner.query);
        }
        case Expression::Kind::Parameter:
            return parameter(static_cast<const Parameter&>(node));
    }
}

void Printer::parameter(const Parameter& parameter) {
    write("{");
    write(parameter.name);
    write(":");
    write(parameter.type);
    write("}");
}

void Printer::subquery(const Query& inner) {
    write("(");
    if (options_.multi_line) {
        Indentation deeper(*this);
        newLine();
        query(inner);
    } else {
        query(inner);
    }
    if (options_.multi_line) newLine();
    write(")");
}

void Printer::function(const Function& node) {
    if (node.is_operator && node.parameters.empty() && !node.is_window && operatorForm(node)) return;
    call(node);
}

bool Printer::operatorForm(const Function& node) {
    const auto& arguments = node.arguments;
    if (node.name == "array") {
        write("[");
        list(arguments);
        write("]");
        return true;
    }
    if (node.name == "tuple" && arguments.size() > 1) {
        write("(");
        list(arguments);
        write(")");
        return true;
    }
    if (arguments.size() == 1) return unaryOperator(node);
    if (arguments.size() >= 2 && (node.name == "and" || node.name == "or")) {
        for (size_t i = 0; i < arguments.size(); ++i) {
            if (i) write(node.name == "and" ? " AND " : " OR ");
            operand(*arguments[i]);
        }
        return true;
    }
    if (arguments.size() != 2) return false;
    for (const auto& [name, text] : kBinary) {
        if (node.name != name) continue;
        operand(*arguments[0]);
        write(text);
        operand(*arguments[1]);
        return true;
    }
    for (const auto& [name, text] : kIn) {
        if (node.name != name) continue;
        operand(*arguments[0]);
        write(text);
        inRightSide(*arguments[1]);
        return true;
    }
    return accessOperator(node);
}

bool Printer::unaryOperator(const Function& node) {
    const Expression& argument = *node.arguments[0];
    if (node.name == "isNull" || node.name == "isNotNull") {
        operand(argument);
        write(node.name == "isNull" ? " IS NULL" : " IS NOT NULL");
        return true;
    }
    if (node.name == "not") {
        write("NOT ");
        operand(argument);
        return true;
    }
    if (node.name != "negate") return false;
    write("-");
    const bool number =
        argument.kind == Expression::Kind::Literal && !argument.parenthesized && argument.alias.empty();
    if (number) write("(");  // -1 would be read as one literal
    operand(argument);
    if (number) write(")");
    return true;
}

bool Printer::accessOperator(const Function& node) {
    const bool element_of_array = node.name == "arrayElement";
    const auto* index = as<LiteralExpression>(node.arguments[1].get());
    const bool numbered =
        index && (index->value.is<uint64_t>() || index->value.is<int64_t>()) && index->alias.empty();
    if (!element_of_array && !(node.name == "tupleElement" && numbered)) return false;
    const Expression& base = *node.arguments[0];
    const auto* constant = as<LiteralExpression>(&base);
    const bool bare_number = constant && constant->alias.empty() && !constant->parenthesized &&
                             !constant->value.is<Literal::Array>() && !constant->value.is<Literal::Tuple>();
    if (bare_number) write("(");
    operand(base);
    if (bare_number) write(")");
    if (element_of_array) {
        write("[");
        element(*node.arguments[1]);
        write("]");
    } else {
        write(".");
        appendText(out_, index->value);
    }
    return true;
}

/// One constant or name is put in brackets, as `IN (1)`; a list, a subquery and a table are not.
void Printer::inRightSide(const Expression& node) {
    const auto* constant = as<LiteralExpression>(&node);
    const bool list_of_constants =
        constant && (constant->value.is<Literal::Tuple>() || constant->value.is<Literal::Array>());
    const bool one = (constant && !list_of_constants) || node.kind == Expression::Kind::Identifier;
    const bool wrap = one && node.alias.empty() && !node.parenthesized;
    if (wrap) write("(");
    operand(node);
    if (wrap) write(")");
}

void Printer::call(const Function& node) {
    // Names of functions are words in ClickHouse's own texts; anything else is quoted.
    const bool word = !node.name.empty() && isWordStart(node.name[0]) &&
                      std::all_of(node.name.begin(), node.name.end(), isWordCharacter);
    write(word ? node.name : quoteIdentifier(node.name));
    if (node.has_parameters || !node.parameters.empty()) {
        write("(");
        list(node.parameters);
        write(")");
    }
    write("(");
    const auto* view = node.arguments.size() == 2 ? as<Subquery>(node.arguments[0]) : nullptr;
    if (view && view->bare) {
        expression(*node.arguments[0]);
        write(" ELSE ");
        expression(*node.arguments[1]);
    } else {
        list(node.arguments);
    }
    write(")");
    if (node.nulls == Function::Nulls::Respect) write(" RESPECT NULLS");
    if (node.nulls == Function::Nulls::Ignore) write(" IGNORE NULLS");
    if (!node.is_window) return;
    write(" OVER ");
    if (!node.window) {
        identifier(node.window_name);
        return;
    }
    write("(");
    window(*node.window);
    write(")");
}

void Printer::frameBound(const FrameBound& bound) {
    if (bound.kind == FrameBound::Kind::CurrentRow) {
        write("CURRENT ROW");
        return;
    }
    if (bound.kind == FrameBound::Kind::Unbounded)
        write("UNBOUNDED");
    else
        operand(*bound.offset);
    write(bound.preceding ? " PRECEDING" : " FOLLOWING");
}

void Printer::window(const WindowDefinition& window) {
    std::string_view blank;
    const auto next = [&](std::string_view words) {
        write(blank);
        blank = " ";
        write(words);
    };
    if (!window.parent.empty()) {
        next("");
        identifier(window.parent);
    }
    if (!window.partition_by.empty()) {
        next("PARTITION BY ");
        list(window.partition_by);
    }
    if (!window.order_by.empty()) {
        next("ORDER BY ");
        commaList(window.order_by, [&](const OrderElement& each) { orderElement(each); });
    }
    if (window.frame == WindowDefinition::Frame::Default) return;
    static constexpr std::string_view kFrames[] = {"", "ROWS", "RANGE", "GROUPS"};
    next(kFrames[static_cast<size_t>(window.frame)]);
    write(" BETWEEN ");
    frameBound(window.begin);
    write(" AND ");
    frameBound(window.end);
}

void Printer::transformers(const std::vector<ColumnTransformer>& list) {
    for (const auto& each : list) transformer(each);
}

void Printer::transformer(const ColumnTransformer& transformer) {
    switch (transformer.kind) {
        case ColumnTransformer::Kind::Except: {
            write(transformer.strict ? " EXCEPT STRICT " : " EXCEPT ");
            if (transformer.pattern) {
                appendQuoted(out_, *transformer.pattern);
                return;
            }
            const bool brackets = transformer.names.size() > 1;
            if (brackets) write("(");
            names(transformer.names);
            if (brackets) write(")");
            return;
        }
        case ColumnTransformer::Kind::Replace:
            write(transformer.strict ? " REPLACE STRICT (" : " REPLACE (");
            list(transformer.replacements);
            write(")");
            return;
        case ColumnTransformer::Kind::Apply:
            write(" APPLY ");
            if (transformer.lambda) {
                write("(");
                body(*transformer.lambda);
                write(")");
                return;
            }
            write(transformer.function);
            if (transformer.parameters.empty()) return;
            write("(");
            list(transformer.parameters);
            write(")");
            return;
    }
}

// -------------------------------------------------------------------------------- SELECT

namespace {

std::string_view setOperatorWords(SetOperator op) {
    static constexpr std::string_view kWords[] = {"UNION",     "UNION ALL",     "UNION DISTINCT",
                                                  "INTERSECT", "INTERSECT ALL", "INTERSECT DISTINCT",
                                                  "EXCEPT",    "EXCEPT ALL",    "EXCEPT DISTINCT"};
    return kWords[static_cast<size_t>(op)];
}

}  // namespace

void Printer::query(const Query& node) {
    if (node.select) return select(*node.select);
    const bool has_except = std::any_of(node.operators.begin(), node.operators.end(),
                                        [](SetOperator op) { return op >= SetOperator::ExceptDefault; });
    for (size_t i = 0; i < node.operands.size(); ++i) {
        if (i) {
            newLine();
            write(setOperatorWords(node.operators[i - 1]));
            newLine();
        }
        const Query& inner = *node.operands[i];
        // INTERSECT binds tighter by itself; everything else that is nested needs its brackets.
        const bool intersection = !inner.operands.empty() &&
                                  inner.operators[0] >= SetOperator::IntersectDefault &&
                                  inner.operators[0] <= SetOperator::IntersectDistinct;
        const bool nested = !inner.operands.empty() && !intersection;
        if (nested || has_except)
            subquery(inner);
        else
            query(inner);
    }
}

void Printer::clause(std::string_view words, const ExpressionPtr& node) {
    if (!node) return;
    newLine();
    write(words);
    write(" ");
    element(*node);
}

void Printer::select(const Select& node) {
    if (!node.with.empty()) with(node);
    write("SELECT");
    if (!node.distinct_on.empty()) {
        write(" DISTINCT ON (");
        list(node.distinct_on);
        write(")");
    } else if (node.distinct) {
        write(" DISTINCT");
    }
    lines(node.select, [&](const ExpressionPtr& each) { element(*each); });
    if (!node.from.empty()) from(node);
    clause("PREWHERE", node.prewhere);
    clause("WHERE", node.where);
    groupBy(node);
    clause("HAVING", node.having);
    if (!node.windows.empty()) {
        newLine();
        write("WINDOW");
        lines(node.windows, [&](const auto& each) {
            identifier(each->name);
            write(" AS (");
            window(*each);
            write(")");
        });
    }
    clause("QUALIFY", node.qualify);
    orderBy(node);
    limits(node);
    if (node.settings.empty()) return;
    newLine();
    write("SETTINGS ");
    settings(node.settings);
}

void Printer::with(const Select& node) {
    write(node.with_recursive ? "WITH RECURSIVE" : "WITH");
    lines(node.with, [&](const WithElement& each) {
        if (each.expression) return element(*each.expression);
        identifier(each.name);
        if (!each.column_aliases.empty()) {
            write("(");
            names(each.column_aliases);
            write(")");
        }
        write(" AS");
        if (each.materialized) write(*each.materialized ? " MATERIALIZED" : " NOT MATERIALIZED");
        if (node.with.size() > 1 || !options_.multi_line) {
            newLine();
            subquery(*each.query);
            return;
        }
        Indentation deeper(*this);
        newLine();
        subquery(*each.query);
    });
    newLine();
}

void Printer::tableExpression(const TableExpression& table) {
    if (table.subquery) {
        newLine();
        subquery(*table.subquery);
    } else {
        write(" ");
        if (table.function)
            body(*table.function);
        else if (table.parameter)
            parameter(*table.parameter);
        else
            name(table.table);
    }
    if (!table.alias.empty()) {
        write(" AS ");
        identifier(table.alias);
        if (!table.column_aliases.empty()) {
            write("(");
            names(table.column_aliases);
            write(")");
        }
    }
    if (table.final) write(" FINAL");
    if (!table.sample_size) return;
    write(" SAMPLE ");
    element(*table.sample_size);
    if (!table.sample_offset) return;
    write(" OFFSET ");
    element(*table.sample_offset);
}

void Printer::join(const Join& join) {
    if (join.kind == Join::Kind::Comma) {
        write(",");
        return;
    }
    newLine();
    if (join.locality == Join::Locality::Global) write("GLOBAL ");
    if (join.locality == Join::Locality::Local) write("LOCAL ");
    static constexpr std::string_view kStrictness[] = {"", "ANY ", "ALL ", "SEMI ", "ANTI ", "ASOF "};
    static constexpr std::string_view kKinds[] = {"",           "CROSS JOIN",      "INNER JOIN", "LEFT JOIN",
                                                  "RIGHT JOIN", "FULL OUTER JOIN", "PASTE JOIN"};
    if (join.natural) write("NATURAL ");
    write(kStrictness[static_cast<size_t>(join.strictness)]);
    write(kKinds[static_cast<size_t>(join.kind)]);
}

void Printer::joinCondition(const Join& join) {
    if (!join.using_columns.empty()) {
        write(" USING (");
        list(join.using_columns);
        write(")");
    } else if (join.on) {
        write(" ON ");
        element(*join.on);
    }
}

void Printer::from(const Select& node) {
    newLine();
    write("FROM");
    for (const TableElement& each : node.from) {
        if (each.is_array_join) {
            newLine();
            write(each.is_left_array_join ? "LEFT ARRAY JOIN" : "ARRAY JOIN");
            lines(each.array_join, [&](const ExpressionPtr& node_of) { element(*node_of); });
        } else {
            if (each.join) join(*each.join);
            tableExpression(each.table);
            if (each.join) joinCondition(*each.join);
        }
    }
}

void Printer::groupBy(const Select& node) {
    const auto modifier = [&](std::string_view words) {
        Indentation deeper(*this);
        newLine();
        write(words);
    };
    if (node.group_by_all) {
        newLine();
        write("GROUP BY ALL");
    } else if (node.group_by_grouping_sets) {
        newLine();
        write("GROUP BY");
        Indentation deeper(*this);
        newLine();
        write("GROUPING SETS (");
        Indentation twice(*this);
        bool first = true;
        for (const auto& set : node.grouping_sets) {
            if (!first) write(options_.multi_line ? "," : ", ");
            first = false;
            if (options_.multi_line) newLine();
            write("(");
            list(set);
            write(")");
        }
        write(")");
    } else if (!node.group_by.empty()) {
        newLine();
        write("GROUP BY");
        lines(node.group_by, [&](const ExpressionPtr& each) { element(*each); });
    }
    if (node.rollup) modifier("WITH ROLLUP");
    if (node.cube) modifier("WITH CUBE");
    if (node.totals) modifier("WITH TOTALS");
}

void Printer::orderDirection(const OrderElement& each) {
    write(each.descending ? " DESC" : " ASC");
    if (each.nulls_first) write(*each.nulls_first ? " NULLS FIRST" : " NULLS LAST");
}

void Printer::orderElement(const OrderElement& each) {
    element(*each.expression);
    orderDirection(each);
    if (!each.collation.empty()) {
        write(" COLLATE ");
        appendQuoted(out_, each.collation);
    }
    if (!each.with_fill) return;
    write(" WITH FILL");
    const auto part = [&](std::string_view words, const ExpressionPtr& node) {
        if (!node) return;
        write(words);
        element(*node);
    };
    part(" FROM ", each.fill_from);
    part(" TO ", each.fill_to);
    part(" STEP ", each.fill_step);
    part(" STALENESS ", each.fill_staleness);
}

void Printer::orderBy(const Select& node) {
    if (node.order_by.empty()) return;
    newLine();
    write("ORDER BY");
    if (node.order_by_all) {
        write(" ALL");
        orderDirection(node.order_by[0]);
    } else {
        lines(node.order_by, [&](const OrderElement& each) { orderElement(each); });
    }
    if (!node.has_interpolate) return;
    newLine();
    write("INTERPOLATE");
    if (node.interpolate.empty()) return;
    write(" (");
    commaList(node.interpolate, [&](const InterpolateElement& each) {
        write(quoteIdentifier(each.column));
        write(" AS ");
        element(*each.expression);
    });
    write(")");
}

void Printer::limits(const Select& node) {
    if (node.limit_by_length) {
        newLine();
        write("LIMIT ");
        if (node.limit_by_offset) {
            element(*node.limit_by_offset);
            write(", ");
        }
        element(*node.limit_by_length);
        write(" BY");
        if (node.limit_by_all)
            write(" ALL");
        else
            lines(node.limit_by, [&](const ExpressionPtr& each) { element(*each); });
    }
    if (node.limit) {
        newLine();
        write("LIMIT ");
        if (node.offset) {
            element(*node.offset);
            write(", ");
        }
        element(*node.limit);
        if (node.limit_with_ties) {
            newLine();
            write(" WITH TIES");
        }
    } else if (node.offset) {
        clause("OFFSET", node.offset);
    }
}

}  // namespace shardd::sql
