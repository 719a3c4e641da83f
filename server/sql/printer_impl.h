#pragma once

#include <string>
#include <string_view>

#include "server/sql/printer.h"

namespace shardd::sql {

/// Writes one tree; the members follow the grammar. Several lines or one: newLine() is the only difference.
class Printer {
public:
    explicit Printer(const PrintOptions& options) : options_(options) {}

    void expression(const Expression& node) { element(node); }

    void query(const Query& node);
    void select(const Select& node);
    void statement(const Statement& node);

    std::string take() { return std::move(out_); }

private:
    friend struct Indentation;

    struct Indentation {
        explicit Indentation(Printer& printer) : printer_(printer) { ++printer_.indent_; }

        ~Indentation() { --printer_.indent_; }

        Indentation(const Indentation&) = delete;
        Indentation& operator=(const Indentation&) = delete;

    private:
        Printer& printer_;
    };

    void write(std::string_view text) { out_.append(text); }

    void newLine();
    void identifier(std::string_view name);
    void name(const QualifiedName& name);
    void names(const std::vector<std::string>& list);
    void settings(const SettingChanges& changes);

    template <typename List, typename Element>
    void commaList(const List& list, Element element);
    /// Several elements go on lines of their own, one stays on this one.
    template <typename List, typename Element>
    void lines(const List& list, Element element);

    // expressions
    void element(const Expression& node);  // where an alias may stand open
    void operand(const Expression& node);  // beside an operator: brackets round other operators and aliases
    void body(const Expression& node);     // without alias and brackets
    void list(const Expressions& list);
    void function(const Function& node);
    bool operatorForm(const Function& node);
    bool unaryOperator(const Function& node);
    bool accessOperator(const Function& node);
    void inRightSide(const Expression& node);
    void call(const Function& node);
    void window(const WindowDefinition& window);
    void frameBound(const FrameBound& bound);
    void transformers(const std::vector<ColumnTransformer>& list);
    void transformer(const ColumnTransformer& transformer);
    void subquery(const Query& query);
    void parameter(const Parameter& parameter);

    // SELECT
    void with(const Select& node);
    void from(const Select& node);
    void join(const Join& join);
    void joinCondition(const Join& join);
    void tableExpression(const TableExpression& table);
    void groupBy(const Select& node);
    void orderBy(const Select& node);
    void orderElement(const OrderElement& element);
    void orderDirection(const OrderElement& element);
    void limits(const Select& node);
    void clause(std::string_view words, const ExpressionPtr& node);
    bool isOperatorNode(const Expression& node) const;

    // statements
    void insert(const Insert& node);
    void create(const Create& node);
    void createHead(const Create& node);
    void createColumns(const Create& node);
    void storage(const StorageDefinition& storage);
    void column(const ColumnDeclaration& column, bool quoted_name = true);
    void columnProperties(const ColumnDeclaration& column);
    void index(const IndexDeclaration& index);
    void projection(const ProjectionDeclaration& projection);
    void engine(const Function& engine);
    void sortingKey(const std::vector<OrderElement>& order_by, bool parenthesized);
    void ttl(const std::vector<TtlElement>& list);
    void ttlElement(const TtlElement& element);
    void drop(const Drop& node);
    void rename(const Rename& node);
    void alter(const Alter& node);
    void alterCommand(const AlterCommand& command);
    bool alterColumn(const AlterCommand& command);
    bool alterPartition(const AlterCommand& command);
    bool alterIndex(const AlterCommand& command);
    void alterRest(const AlterCommand& command);
    void partition(const PartitionReference& partition);
    void assignments(const std::vector<std::pair<std::string, ExpressionPtr>>& list);
    void show(const Show& node);
    void explain(const Explain& node);
    void system(const System& node);
    void rest(const Statement& node);
    void outputOptions(const Statement& node);
    void onCluster(const std::string& cluster);

    PrintOptions options_;
    std::string out_;
    size_t indent_ = 0;
};

std::string_view objectWord(ObjectKind kind);

template <typename List, typename Element>
void Printer::commaList(const List& list, Element element) {
    bool first = true;
    for (const auto& each : list) {
        if (!first) write(", ");
        first = false;
        element(each);
    }
}

template <typename List, typename Element>
void Printer::lines(const List& list, Element element) {
    if (!options_.multi_line || list.size() <= 1) {
        write(" ");
        commaList(list, element);
        return;
    }
    Indentation deeper(*this);
    bool first = true;
    for (const auto& each : list) {
        if (!first) write(",");
        first = false;
        newLine();
        element(each);
    }
}

}  // namespace shardd::sql
