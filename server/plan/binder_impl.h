#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "server/plan/binder.h"

namespace shardd::plan {

/// An expression and what its column is called when it has no alias.
struct Bound {
    NodePtr node;
    std::string name;
};

/// Names that one SELECT can see; the enclosing query's WITH names come after its own.
struct Scope {
    const Scope* parent = nullptr;
    std::shared_ptr<QueryNode> query;
    const sql::Select* select = nullptr;

    struct CommonTable {
        sql::QueryPtr query;
        std::vector<std::string> column_aliases;
    };

    std::map<std::string, CommonTable> common_tables;
    std::unordered_map<std::string, sql::ExpressionPtr> aliases;
    std::unordered_map<std::string, Bound> resolved_aliases;
    std::unordered_set<std::string> resolving;
    /// What ARRAY JOIN put in place of columns and under aliases.
    std::map<std::string, NodePtr> array_join_names;
    /// What JOIN USING made of a name: for the name alone, and for a source's own column of it (by id).
    std::map<std::string, NodePtr> using_columns;
    std::vector<std::string> using_order;
    std::map<std::pair<std::string, std::string>, NodePtr> shown_columns;
    /// Parameters of the lambdas around, the innermost last.
    std::vector<std::pair<std::string, NodePtr>> parameters;
    /// What a parameter that stands for an expression is called in names of columns.
    std::map<std::string, std::string> parameter_names;
    bool inside_aggregate = false;
    /// Set for the clauses that know no aggregates: "WHERE", "GROUP BY", …
    const char* no_aggregates_in = nullptr;
};

class Binder {
public:
    explicit Binder(const PlannerContext& context) : context_(context) {}

    QueryTreePtr bindQuery(const sql::Query& query, const Scope* parent, const Settings& settings);
    NodePtr bindStandalone(const sql::ExpressionPtr& expression, const std::vector<std::pair<std::string, TypePtr>>& columns);

private:
    // -- binder.cpp: queries -----------------------------------------------------------------------
    QueryTreePtr bindSetOperation(const sql::Query& query, const Scope* parent, const Settings& settings);
    QueryTreePtr combine(std::vector<QueryTreePtr> operands, SetOperation operation);
    QueryTreePtr bindSelect(const sql::Select& select, const Scope* parent, const Settings& settings);
    void bindWith(const sql::Select& select, Scope& scope);
    void bindFrom(const sql::Select& select, Scope& scope);
    // -- binder_join.cpp ---------------------------------------------------------------------------
    void bindJoin(const sql::Join& written, TableSourcePtr source, Scope& scope);
    void bindJoinCondition(const sql::ExpressionPtr& expression, JoinNode& join, Scope& scope);
    void bindUsing(const std::vector<std::string>& names, JoinNode& join, Scope& scope);
    void makeSidesNullable(Scope& scope);
    void showUsingColumns(const std::vector<std::string>& names, Scope& scope);
    NodePtr columnOf(const TableSourcePtr& source, const std::string& name, Scope& scope);
    NodePtr castNode(NodePtr node, const TypePtr& type);
    std::optional<Bound> findUnqualified(const std::vector<std::string>& parts, Scope& scope, bool throw_ambiguous);
    std::string nameInJoin(const TableSource& source, const NodePtr& node, const std::vector<std::string>& parts, Scope& scope);

    sql::Expressions expandNested(const sql::Expressions& written, Scope& scope);
    void bindArrayJoin(const sql::TableElement& element, Scope& scope);
    TableSourcePtr bindTable(const sql::TableExpression& table, Scope& scope);
    TableSourcePtr bindNamedTable(const sql::TableExpression& table, Scope& scope);
    TableSourcePtr bindTableFunction(const sql::TableExpression& table, Scope& scope);
    TableSourcePtr subquerySource(QueryTreePtr tree, const sql::TableExpression& table);
    void finishSource(TableSource& source, const sql::TableExpression& table);
    void fillColumns(TableSource& source);
    storage::TablePtr findTable(const std::string& database, const std::string& table, const Scope& scope);
    const Scope::CommonTable* findCommonTable(const std::string& name, const Scope& scope) const;

    // -- binder_select.cpp: clauses ----------------------------------------------------------------
    void bindProjection(const sql::Select& select, Scope& scope);
    void bindGroupBy(const sql::Select& select, Scope& scope);
    void addGroupKey(const sql::ExpressionPtr& expression, Scope& scope, std::vector<size_t>* set);
    void addGroupKeyNode(const NodePtr& node, QueryNode& query, std::vector<size_t>* set);
    void collectKeysOfAll(const NodePtr& node, QueryNode& query);
    void bindOrderBy(const sql::Select& select, Scope& scope);
    void makeKeysNullable(QueryNode& query);
    NodePtr withNullableKeys(const NodePtr& node, const QueryNode& query);
    void foldLimitSettings(QueryNode& query);
    OrderItem bindOrderElement(const sql::OrderElement& element, Scope& scope);
    void bindLimits(const sql::Select& select, Scope& scope);
    NodePtr bindLimit(const sql::ExpressionPtr& expression, Scope& scope, const char* clause);
    void checkAggregation(const QueryNode& query);
    /// projection[n-1] for a literal n, where positions count; nothing otherwise.
    std::optional<NodePtr> positional(const sql::ExpressionPtr& expression, Scope& scope, const char* clause);
    void collectAliases(const sql::Select& select, Scope& scope);
    void collectAliases(const sql::ExpressionPtr& expression, Scope& scope);
    Bound bindClause(const sql::ExpressionPtr& expression, Scope& scope, const char* no_aggregates_in);

    // -- binder_matcher.cpp: *, COLUMNS, untuple ---------------------------------------------------
    std::vector<Projection> expandMatcher(const sql::Expression& matcher, Scope& scope);
    std::vector<Projection> expandUntuple(const sql::Function& call, Scope& scope);
    std::vector<Projection> transformColumns(std::vector<Projection> columns, const std::vector<sql::ColumnTransformer>& transformers, Scope& scope);

    // -- binder_expression.cpp ---------------------------------------------------------------------
    Bound bind(const sql::ExpressionPtr& expression, Scope& scope);
    Bound bindWithoutAlias(const sql::Expression& expression, Scope& scope);
    Bound bindIdentifier(const sql::Identifier& identifier, Scope& scope);
    std::optional<Bound> findColumn(const std::vector<std::string>& parts, Scope& scope);
    std::optional<Bound> findInSource(const TableSourcePtr& source, const std::vector<std::string>& parts, size_t from, Scope& scope);
    std::optional<Bound> findVirtualColumn(const TableSource& source, const std::string& name, Scope& scope);
    Bound subcolumn(Bound base, const std::vector<std::string>& parts, size_t from, Scope& scope);
    Bound bindAlias(const std::string& name, const sql::ExpressionPtr& expression, Scope& scope);
    Bound bindLiteral(const sql::Literal& literal);
    Bound bindParameter(const sql::Parameter& parameter, Scope& scope);
    Bound bindScalarSubquery(const sql::Subquery& subquery, Scope& scope);
    NodePtr scalarValue(const QueryTreePtr& tree);

    // -- binder_function.cpp -----------------------------------------------------------------------
    Bound bindFunction(const sql::Function& call, Scope& scope);
    Bound bindOrdinary(const sql::Function& call, Scope& scope);
    Bound bindAggregate(const sql::Function& call, Scope& scope, bool window);
    Bound bindWindow(const sql::Function& call, Scope& scope);
    std::shared_ptr<const Node::WindowInfo> bindWindowDefinition(const sql::Function& call, Scope& scope);
    void fillWindow(const sql::WindowDefinition& definition, Node::WindowInfo& info, Scope& scope);
    Bound bindArrayJoinFunction(const sql::Function& call, Scope& scope);
    Bound bindGrouping(const sql::Function& call, Scope& scope);
    /// `WITH x -> x + 1 AS inc`: the lambda behind a name; nullptr when it is none.
    const sql::Lambda* lambdaAlias(const std::string& name, const Scope& scope) const;
    Bound callLambda(const sql::Lambda& lambda, const sql::Function& call, Scope& scope);
    Bound bindExists(const sql::Function& call, Scope& scope);
    Bound bindLambda(const sql::Lambda& lambda, const std::vector<TypePtr>& types, Scope& scope);
    /// The call over nodes that are bound; folded when all of them are constants.
    NodePtr makeFunction(const std::string& name, std::vector<NodePtr> arguments);
    std::vector<Value> parameterValues(const std::vector<NodePtr>& nodes, const std::string& function);

    // -- binder_in.cpp -----------------------------------------------------------------------------
    Bound bindIn(const sql::Function& call, Scope& scope);
    NodePtr bindSet(const sql::ExpressionPtr& right, const NodePtr& left, Scope& scope, std::string& name);
    /// `right`: the whole right side as one constant.
    NodePtr literalSet(std::vector<NodePtr> elements, const NodePtr& left, const NodePtr& right, const std::string& text);
    NodePtr subquerySet(QueryTreePtr tree, const std::string& table);
    QueryTreePtr selectAll(const TableSourcePtr& source);

    [[noreturn]] void failUnknownIdentifier(const sql::Identifier& identifier, const Scope& scope);

    const PlannerContext& context_;
    size_t next_table_ = 1;
    size_t next_subquery_ = 1;
    size_t next_array_join_ = 1;
    size_t next_set_ = 1;
    size_t query_depth_ = 0;
};

/// The node finished: its names, and what stands anywhere below it.
NodePtr finishNode(std::shared_ptr<Node> node);

}  // namespace shardd::plan
