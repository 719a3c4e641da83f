#include <algorithm>

#include <re2/re2.h>

#include "server/aggregates/aggregate.h"
#include "server/plan/binder_impl.h"
#include "server/plan/node_name.h"
#include "server/sql/printer.h"

namespace shardd::plan {

namespace {

/// Whether `t.*` or `db.t.*` means this source.
bool qualifies(const TableSource& source, const std::vector<std::string>& qualifier) {
    if (qualifier.empty()) return true;
    if (qualifier.size() == 1) return qualifier[0] == source.alias || (source.alias.empty() && qualifier[0] == source.table) || qualifier[0] == source.id;
    return qualifier.size() == 2 && qualifier[0] == source.database && qualifier[1] == source.table;
}

}  // namespace

std::vector<Projection> Binder::expandMatcher(const sql::Expression& matcher, Scope& scope) {
    const auto* asterisk = sql::as<sql::Asterisk>(&matcher);
    const auto* columns = sql::as<sql::Columns>(&matcher);
    const std::vector<std::string>& qualifier = asterisk ? asterisk->qualifier : columns->qualifier;
    std::vector<Projection> result;

    if (columns && !columns->pattern) {
        for (const sql::ExpressionPtr& expression : columns->list) {
            Bound bound = bind(expression, scope);
            result.push_back({std::move(bound.node), std::move(bound.name)});
        }
        return transformColumns(std::move(result), columns->transformers, scope);
    }
    std::optional<re2::RE2> pattern;
    if (columns) {
        pattern.emplace(*columns->pattern, re2::RE2::Quiet);
        if (!pattern->ok())
            throw Error(ErrorCode::CANNOT_COMPILE_REGEXP, "COLUMNS pattern {} cannot be compiled: {}", *columns->pattern, pattern->error());
    }
    bool matched = false;
    // `*` shows what JOIN USING made one column of first, and once.
    const bool shared_first = qualifier.empty() && asterisk;
    if (shared_first)
        for (const std::string& name : scope.using_order) result.push_back({scope.using_columns.at(name), name});
    for (const TableSourcePtr& source : scope.query->sources) {
        if (!qualifies(*source, qualifier)) continue;
        matched = true;
        for (const std::string& name : source->visible_columns) {
            if (pattern && !re2::RE2::PartialMatch(name, *pattern)) continue;
            // `*` under ARRAY JOIN shows the elements in place of the arrays.
            if (auto joined = scope.array_join_names.find(name); joined != scope.array_join_names.end()) {
                result.push_back({joined->second, name});
                continue;
            }
            if (shared_first && scope.using_columns.contains(name)) continue;
            auto found = findInSource(source, {name}, 0, scope);
            result.push_back({found->node, nameInJoin(*source, found->node, {name}, scope)});
        }
    }
    if (!matched && !qualifier.empty()) {
        // tu.*: the elements of a tuple
        if (auto base = findColumn(qualifier, scope); base && base->node->type->kind() == TypeKind::Tuple) {
            for (size_t i = 0; i < base->node->type->children().size(); ++i) {
                const auto& names = base->node->type->elementNames();
                Bound element = subcolumn(*base, {names.empty() ? std::to_string(i + 1) : names[i]}, 0, scope);
                result.push_back({std::move(element.node), std::move(element.name)});
            }
        } else {
            throw Error(ErrorCode::UNKNOWN_IDENTIFIER, "Qualified matcher {} does not find table", sql::toText(matcher));
        }
    }
    return transformColumns(std::move(result), asterisk ? asterisk->transformers : columns->transformers, scope);
}

std::vector<Projection> Binder::transformColumns(std::vector<Projection> columns,
                                                 const std::vector<sql::ColumnTransformer>& transformers,
                                                 Scope& scope) {
    for (const sql::ColumnTransformer& transformer : transformers) {
        switch (transformer.kind) {
            case sql::ColumnTransformer::Kind::Except: {
                std::optional<re2::RE2> pattern;
                if (transformer.pattern) pattern.emplace(*transformer.pattern, re2::RE2::Quiet);
                for (const std::string& name : transformer.names)
                    if (transformer.strict && std::none_of(columns.begin(), columns.end(), [&](const Projection& p) { return p.alias == name; }))
                        throw Error(ErrorCode::BAD_ARGUMENTS, "Columns transformer EXCEPT expects following column : {}", name);
                std::erase_if(columns, [&](const Projection& p) {
                    if (pattern) return re2::RE2::PartialMatch(p.alias, *pattern);
                    return std::find(transformer.names.begin(), transformer.names.end(), p.alias) != transformer.names.end();
                });
                break;
            }
            case sql::ColumnTransformer::Kind::Replace:
                for (const sql::ExpressionPtr& replacement : transformer.replacements)
                    for (Projection& projection : columns)
                        if (projection.alias == replacement->alias) projection.node = bindWithoutAlias(*replacement, scope).node;
                break;
            case sql::ColumnTransformer::Kind::Apply:
                for (Projection& projection : columns) {
                    if (transformer.lambda) {
                        const std::string& parameter = transformer.lambda->arguments.at(0);
                        scope.parameters.emplace_back(parameter, projection.node);
                        scope.parameter_names[parameter] = projection.alias;
                        Bound bound = bind(transformer.lambda->body, scope);
                        scope.parameter_names.erase(parameter);
                        scope.parameters.pop_back();
                        projection = {std::move(bound.node), std::move(bound.name)};
                        continue;
                    }
                    sql::Function call(transformer.function);
                    call.parameters = transformer.parameters;
                    call.has_parameters = !transformer.parameters.empty();
                    // The column itself stands for the argument, under a name that nobody can write.
                    const std::string argument = "\x01" + projection.alias;
                    scope.parameters.emplace_back(argument, projection.node);
                    call.arguments.push_back(std::make_shared<sql::Identifier>(std::vector<std::string>{argument}));
                    Bound bound = bindFunction(call, scope);
                    scope.parameters.pop_back();
                    projection = {std::move(bound.node), transformer.function + "(" + projection.alias + ")"};
                }
                break;
        }
    }
    return columns;
}

std::vector<Projection> Binder::expandUntuple(const sql::Function& call, Scope& scope) {
    if (call.arguments.size() != 1)
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, "Function 'untuple' must have 1 argument. Actual {}", call.arguments.size());
    const Bound tuple = bind(call.arguments[0], scope);
    if (tuple.node->type->kind() != TypeKind::Tuple)
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, "Function 'untuple' argument must have compound type. Actual type {}", tuple.node->type->name());
    std::vector<Projection> result;
    const auto& names = tuple.node->type->elementNames();
    for (size_t i = 0; i < tuple.node->type->children().size(); ++i) {
        const std::string element = names.empty() ? std::to_string(i + 1) : names[i];
        NodePtr position = bindLiteral(names.empty() ? sql::Literal{uint64_t{i + 1}} : sql::Literal{names[i]}).node;
        NodePtr node = makeFunction("tupleElement", {tuple.node, position});
        const std::string name = call.alias.empty() ? "tupleElement(" + tuple.name + ", " + quoteString(element) + ")" : call.alias + "." + element;
        result.push_back({std::move(node), name});
    }
    return result;
}

}  // namespace shardd::plan
