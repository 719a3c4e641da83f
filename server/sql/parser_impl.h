#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "server/sql/ast.h"
#include "server/sql/lexer.h"
#include "server/sql/parser.h"

namespace shardd::sql {

/// Recursive descent over tokens that are read when first looked at. One parser, one text, one thread.
/// Decisions are taken by looking a bounded number of tokens ahead; where the parser must try and go back
/// (INTERVAL, types), it remembers what failed, so that the time stays linear for every text.
class Parser {
public:
    Parser(std::string_view text, size_t position, const ParserLimits& limits);

    StatementPtr statement();
    QueryPtr query();

    ExpressionPtr expression() { return expressionWithAlias(AliasStyle::Explicit); }

    Expressions expressionList(bool implicit_alias = false);
    std::vector<ColumnDeclaration> columns();

    bool atEnd() { return peek().kind == TokenKind::EndOfQuery; }

    void expectEnd();
    bool skipSemicolons();

    size_t offset() { return peek().begin; }

private:
    static constexpr int kAboveAnd = 5;  // precedence of an operand of AND

    enum class AliasStyle { None, Explicit, Optional };  // Optional: `a b` as well as `a AS b`

    friend struct DepthGuard;

    struct DepthGuard {
        explicit DepthGuard(Parser& parser);

        ~DepthGuard() { --parser_.depth_; }

        DepthGuard(const DepthGuard&) = delete;
        DepthGuard& operator=(const DepthGuard&) = delete;

    private:
        Parser& parser_;
    };

    // parser.cpp: tokens, errors, names
    Token peek(size_t ahead = 0);

    std::string_view textOf(const Token& token) const {
        return text_.substr(token.begin, token.end - token.begin);
    }

    void advance() { ++position_; }

    bool isWord(size_t ahead, std::string_view word);
    bool isKeyword(std::string_view words);
    bool keyword(std::string_view words);
    std::string_view anyKeyword(std::initializer_list<std::string_view> words);
    void expectKeyword(std::string_view words);
    bool accept(TokenKind kind, const char* name);
    bool accept(TokenKind kind);
    void expect(TokenKind kind);
    bool isQueryStart(size_t ahead);
    void expected(std::string_view what);
    [[noreturn]] void fail();
    [[noreturn]] void fail(const Token& token);
    void checkBrackets(const Token& token);
    std::optional<std::string> identifierIf();
    std::string identifier();
    std::string identifierOrString();
    std::string stringLiteral();
    uint64_t unsignedNumber();
    QualifiedName qualifiedName();
    std::string cluster();
    std::vector<std::string> identifierListInParentheses();
    bool isAliasWord(size_t ahead);

    template <typename Element>
    void commaList(Element element) {
        do element();
        while (accept(TokenKind::Comma));
    }

    // Builders keep depth, elements and position.
    template <typename Node>
    std::shared_ptr<Node> measured(std::shared_ptr<Node> node,
                                   uint32_t position,
                                   std::initializer_list<const Expressions*> lists);
    ExpressionPtr function(std::string name,
                           Expressions arguments,
                           uint32_t position,
                           bool is_operator = false);
    ExpressionPtr literal(Literal value, uint32_t position);

    // parser_expression.cpp: precedence
    ExpressionPtr expressionWithAlias(AliasStyle style);

    ExpressionPtr plainExpression() { return expressionWithAlias(AliasStyle::None); }

    bool parseAlias(AliasStyle style, std::string& alias);
    ExpressionPtr lambdaOrTernary();
    ExpressionPtr binary(int minimum);
    struct Operator;
    bool binaryOperator(Operator& op);
    bool wordOperator(Operator& op);
    ExpressionPtr chain(ExpressionPtr first, const Operator& op);
    ExpressionPtr applyOperator(ExpressionPtr left, const Operator& op);
    ExpressionPtr isOperator(ExpressionPtr left, uint32_t position);
    ExpressionPtr between(ExpressionPtr left, bool negated, uint32_t position);
    ExpressionPtr inOperator(ExpressionPtr left, const Operator& op);
    ExpressionPtr quantified(ExpressionPtr left, const Operator& op);
    ExpressionPtr unary();
    ExpressionPtr postfix();
    ExpressionPtr accessByName(ExpressionPtr left, uint32_t position);

    // parser_primary.cpp: what stands between operators
    ExpressionPtr primary();
    ExpressionPtr wordPrimary();
    ExpressionPtr keywordPrimary(bool& matched);
    ExpressionPtr identifierOrCall();
    ExpressionPtr roundBrackets();
    ExpressionPtr squareBrackets();
    ExpressionPtr parameterPrimary();
    ExpressionPtr variable();
    ExpressionPtr castLiteral();
    ExpressionPtr numberLiteral(bool negative, uint32_t position);
    ExpressionPtr call(std::string name, uint32_t position);
    ExpressionPtr specialCall(std::string& name, uint32_t position);
    void callArguments(Expressions& arguments, bool& distinct);
    void viewArguments(Expressions& arguments);
    ExpressionPtr finishCall(std::shared_ptr<Function> call, bool distinct, uint32_t position);
    void over(Function& call);
    ExpressionPtr castCall(uint32_t position);
    ExpressionPtr extractCall(uint32_t position);
    ExpressionPtr substringCall(uint32_t position);
    ExpressionPtr trimCall(std::string_view side, uint32_t position);
    ExpressionPtr positionCall(const std::string& name, uint32_t position);
    ExpressionPtr dateArithmeticCall(std::string_view operation, uint32_t position);
    ExpressionPtr overlayCall(uint32_t position);
    ExpressionPtr caseExpression(uint32_t position);
    ExpressionPtr interval(uint32_t position);
    ExpressionPtr intervalFromText(const std::string& text, uint32_t position);
    ExpressionPtr exists(uint32_t position);
    /// `otherwise` takes the expression behind an ELSE at the end: viewIfPermitted(SELECT … ELSE null('x String')).
    ExpressionPtr subqueryUntilClose(uint32_t position, ExpressionPtr* otherwise = nullptr);
    ExpressionPtr subqueryOf(QueryPtr query, uint32_t position);
    ExpressionPtr asterisk(std::vector<std::string> qualifier, uint32_t position);
    ExpressionPtr columnsMatcher(std::vector<std::string> qualifier, uint32_t position);
    std::vector<ColumnTransformer> transformers();
    ColumnTransformer applyTransformer();
    void exceptTransformer(ColumnTransformer& transformer);
    std::string_view intervalUnit(size_t ahead);

    // parser_type.cpp
    std::string type();
    std::string typeArgument();
    std::shared_ptr<Parameter> parameter();

    // parser_select.cpp
    QueryPtr intersection();
    QueryPtr queryOperand();
    QueryPtr setOperators(QueryPtr first);
    bool setOperator(bool intersect, SetOperator& op);
    std::shared_ptr<Select> select();
    void withClause(Select& select);
    bool isCommonTableExpression();
    void selectList(Select& select);
    void fromClause(Select& select);
    bool joinedElement(Select& select);
    bool arrayJoin(Select& select);
    bool joinHead(Join& join);
    void joinCondition(Join& join);
    TableExpression tableExpression();
    void groupBy(Select& select);
    void windowClause(Select& select);
    std::shared_ptr<WindowDefinition> windowDefinition();
    FrameBound frameBound();
    void orderBy(Select& select);
    OrderElement orderElement();
    void orderModifiers(OrderElement& element);
    void interpolate(Select& select);
    void limits(Select& select);
    void fetch(Select& select);
    SettingChanges settingChanges();
    SettingChange settingChange();
    Literal settingValue();

    // parser_create.cpp
    StatementPtr create(bool attach);
    StatementPtr createDatabase(std::shared_ptr<Create> create);
    StatementPtr createFunction(bool or_replace);
    void createTail(Create& create);
    void createColumns(Create& create);
    ColumnDeclaration columnDeclaration();
    bool columnProperty(ColumnDeclaration& column);
    IndexDeclaration indexDeclaration();
    ConstraintDeclaration constraintDeclaration();
    ProjectionDeclaration projectionDeclaration();
    Expressions codecList();
    std::vector<TtlElement> ttlList();
    TtlElement ttlElement();
    bool storageClause(Create& create);
    void storageOrderBy(std::vector<OrderElement>& elements, bool& parenthesized);
    std::shared_ptr<Function> engine();
    void asClause(Create& create);

    // parser_alter.cpp
    StatementPtr alter();
    AlterCommand alterCommand();
    bool columnCommand(AlterCommand& command, std::string_view verb);
    bool indexCommand(AlterCommand& command, std::string_view verb);
    bool partitionCommand(AlterCommand& command);
    bool modifyCommand(AlterCommand& command);
    void modifyColumn(AlterCommand& command);
    void movePartition(AlterCommand& command);
    PartitionReference partition();
    std::vector<std::pair<std::string, ExpressionPtr>> assignments();

    // parser_statement.cpp
    StatementPtr statementBody();
    void outputOptions(Statement& statement);
    StatementPtr insert();
    void insertTarget(Insert& insert);
    void insertData(Insert& insert);
    StatementPtr drop(Drop::Verb verb);
    StatementPtr rename(bool exchange);
    StatementPtr deleteFrom();
    StatementPtr update();
    StatementPtr describe();
    StatementPtr existsStatement();
    StatementPtr show();
    bool showTarget(Show& show);
    StatementPtr set();
    StatementPtr kill();
    StatementPtr explain();
    StatementPtr system();
    StatementPtr optimize();
    StatementPtr check();
    StatementPtr access();
    ObjectKind objectKind();

    std::string_view text_;
    ParserLimits limits_;
    size_t start_;
    Lexer lexer_;
    std::vector<Token> tokens_;
    size_t position_ = 0;  // index in tokens_

    size_t depth_ = 0;
    bool in_partition_ends_ = false;  // IN PARTITION belongs to the command, not to the expression
    bool negative_number_ = false;    // the sign before the number that comes is part of it
    uint32_t deepest_ = 0;            // of the expressions built since the last reset: what a subquery holds
    uint32_t most_ = 0;               // elements of the same

    size_t expected_at_ = 0;  // index of the furthest token something was expected at
    std::vector<std::string_view> expected_;

    std::unordered_set<size_t> no_interval_;  // tokens INTERVAL that turned out to be names
};

/// ASCII only, as keywords are.
bool equalsIgnoringCase(std::string_view left, std::string_view right);
std::string upperCase(std::string_view text);

}  // namespace shardd::sql
