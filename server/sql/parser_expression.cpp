#include <algorithm>

#include "common/base/error.h"
#include "server/sql/parser_impl.h"

/// Operators by precedence. The numbers are ClickHouse's order, the lowest binds last:
/// `->` 1, `? :` 2, OR 3, AND 4, NOT 5, IS 6, BETWEEN 7, comparisons, LIKE and IN 9, `||` 10, `+ -` 11, `* /
/// %` 12, unary minus 13, then `.`, `[]` and `::`.
namespace shardd::sql {

namespace {

constexpr int kOr = 3, kAnd = 4, kNot = 5, kIs = 6, kBetween = 7, kBetweenBounds = 9, kComparison = 9,
              kConcat = 10, kAdditive = 11, kMultiplicative = 12;

}  // namespace

struct Parser::Operator {
    enum class Form { Binary, Chain, In, Is, Between, NotBetween, TimeZone };

    int precedence = 0;
    Form form = Form::Binary;
    const char* name = "";
    TokenKind kind = TokenKind::Word;  // of its first token
    bool prints_as_function = false;
    size_t tokens = 1;
};

template <typename Node>
std::shared_ptr<Node> Parser::measured(std::shared_ptr<Node> node,
                                       uint32_t position,
                                       std::initializer_list<const Expressions*> lists) {
    uint32_t depth = 0;
    uint64_t elements = 1;
    for (const auto* list : lists) {
        for (const auto& child : *list) {
            if (!child) continue;
            depth = std::max(depth, child->depth);
            elements += child->elements;
        }
    }
    node->position = position;
    node->depth = depth + 1;
    if (limits_.max_ast_depth && node->depth > limits_.max_ast_depth)
        throw Error(ErrorCode::TOO_DEEP_AST, "AST is too deep. Maximum: {}.", limits_.max_ast_depth);
    if (elements > (limits_.max_ast_elements ? limits_.max_ast_elements : UINT32_MAX))
        throw Error(ErrorCode::TOO_BIG_AST, "AST is too big. Maximum: {}", limits_.max_ast_elements);
    node->elements = static_cast<uint32_t>(elements);
    deepest_ = std::max(deepest_, node->depth);
    most_ = std::max(most_, node->elements);
    return node;
}

template std::shared_ptr<Function> Parser::measured(std::shared_ptr<Function>,
                                                    uint32_t,
                                                    std::initializer_list<const Expressions*>);
template std::shared_ptr<Asterisk> Parser::measured(std::shared_ptr<Asterisk>,
                                                    uint32_t,
                                                    std::initializer_list<const Expressions*>);
template std::shared_ptr<Columns> Parser::measured(std::shared_ptr<Columns>,
                                                   uint32_t,
                                                   std::initializer_list<const Expressions*>);

ExpressionPtr Parser::function(std::string name, Expressions arguments, uint32_t position, bool is_operator) {
    auto node = std::make_shared<Function>(std::move(name), std::move(arguments));
    node->is_operator = is_operator;
    return measured(node, position, {&node->arguments});
}

ExpressionPtr Parser::literal(Literal value, uint32_t position) {
    auto node = std::make_shared<LiteralExpression>(std::move(value));
    node->position = position;
    return node;
}

Expressions Parser::expressionList(bool implicit_alias) {
    Expressions list;
    const auto style = implicit_alias ? AliasStyle::Optional : AliasStyle::Explicit;
    commaList([&] { list.push_back(expressionWithAlias(style)); });
    return list;
}

bool Parser::parseAlias(AliasStyle style, std::string& alias) {
    if (style == AliasStyle::None) return false;
    if (keyword("AS")) {
        alias = identifier();
        return true;
    }
    if (style != AliasStyle::Optional) return false;
    expected("identifier");
    if (!isAliasWord(0)) return false;
    alias = identifier();
    return true;
}

ExpressionPtr Parser::expressionWithAlias(AliasStyle style) {
    DepthGuard guard(*this);
    ExpressionPtr node = lambdaOrTernary();
    std::string alias;
    if (!parseAlias(style, alias)) return node;
    if (!node->alias.empty()) {  // (a AS x) AS y: the inner name stays inside
        fail();
    }
    node->alias = std::move(alias);
    return node;
}

namespace {

/// The argument names of a lambda when `node` can stand before `->`.
bool lambdaArguments(const Expression* node, std::vector<std::string>& names) {
    const auto addName = [&](const Expression* expression) {
        const auto* name = as<Identifier>(expression);
        if (!name || name->parts.size() != 1 || !name->alias.empty()) return false;
        names.push_back(name->parts[0]);
        return true;
    };
    if (const auto* tuple = as<Function>(node)) {
        if (tuple->name != "tuple") return false;
        return std::all_of(tuple->arguments.begin(), tuple->arguments.end(),
                           [&](const auto& argument) { return addName(argument.get()); });
    }
    return addName(node);
}

}  // namespace

ExpressionPtr Parser::lambdaOrTernary() {
    ExpressionPtr left = binary(0);
    const uint32_t position = left->position;
    if (peek().kind == TokenKind::Arrow) {
        auto lambda = std::make_shared<Lambda>();
        if (!lambdaArguments(left.get(), lambda->arguments)) fail();
        advance();
        DepthGuard guard(*this);
        lambda->body = lambdaOrTernary();
        lambda->position = position;
        lambda->depth = lambda->body->depth + 1;
        lambda->elements = lambda->body->elements + 1;
        deepest_ = std::max(deepest_, lambda->depth);
        return lambda;
    }
    if (peek().kind != TokenKind::Question) return left;
    advance();
    DepthGuard guard(*this);
    ExpressionPtr yes = lambdaOrTernary();
    expect(TokenKind::Colon);
    ExpressionPtr no = lambdaOrTernary();
    return function("if", {std::move(left), std::move(yes), std::move(no)}, position);
}

bool Parser::binaryOperator(Operator& op) {
    using Form = Operator::Form;
    const Token token = peek();
    op.kind = token.kind;
    const auto is = [&](int precedence, const char* name) {
        op.precedence = precedence;
        op.name = name;
        return true;
    };
    switch (token.kind) {
        case TokenKind::Plus:
            return is(kAdditive, "plus");
        case TokenKind::Minus:
            return is(kAdditive, "minus");
        case TokenKind::Asterisk:
            return is(kMultiplicative, "multiply");
        case TokenKind::Slash:
            return is(kMultiplicative, "divide");
        case TokenKind::Percent:
            return is(kMultiplicative, "modulo");
        case TokenKind::Equals:
            return is(kComparison, "equals");
        case TokenKind::NotEquals:
            return is(kComparison, "notEquals");
        case TokenKind::Less:
            return is(kComparison, "less");
        case TokenKind::Greater:
            return is(kComparison, "greater");
        case TokenKind::LessOrEquals:
            return is(kComparison, "lessOrEquals");
        case TokenKind::GreaterOrEquals:
            return is(kComparison, "greaterOrEquals");
        case TokenKind::Spaceship:
            return is(kComparison, "isNotDistinctFrom");
        case TokenKind::Concat:
            op.form = Form::Chain;
            op.prints_as_function = true;
            return is(kConcat, "concat");
        case TokenKind::Word:
            return wordOperator(op);
        default:
            for (auto name : {"OR", "AND", "IS NULL", "IS NOT NULL", "BETWEEN", "NOT BETWEEN", "LIKE",
                              "ILIKE", "NOT LIKE", "NOT ILIKE", "REGEXP", "IN", "NOT IN", "GLOBAL IN",
                              "GLOBAL NOT IN", "MOD", "DIV"})
                expected(name);
            return false;
    }
}

bool Parser::wordOperator(Operator& op) {
    using Form = Operator::Form;

    struct Word {
        const char* words;
        int precedence;
        Form form;
        const char* name;
        bool prints_as_function;
    };

    static constexpr Word kWords[] = {
        {"OR", kOr, Form::Chain, "or", false},
        {"AND", kAnd, Form::Chain, "and", false},
        {"IS", kIs, Form::Is, "", false},
        {"BETWEEN", kBetween, Form::Between, "", false},
        {"NOT BETWEEN", kBetween, Form::NotBetween, "", false},
        {"LIKE", kComparison, Form::Binary, "like", false},
        {"ILIKE", kComparison, Form::Binary, "ilike", false},
        {"NOT LIKE", kComparison, Form::Binary, "notLike", false},
        {"NOT ILIKE", kComparison, Form::Binary, "notILike", false},
        {"REGEXP", kComparison, Form::Binary, "match", true},
        {"RLIKE", kComparison, Form::Binary, "match", true},
        {"IN", kComparison, Form::In, "in", false},
        {"NOT IN", kComparison, Form::In, "notIn", false},
        {"GLOBAL IN", kComparison, Form::In, "globalIn", false},
        {"GLOBAL NOT IN", kComparison, Form::In, "globalNotIn", false},
        {"MOD", kMultiplicative, Form::Binary, "modulo", false},
        {"DIV", kMultiplicative, Form::Binary, "intDiv", true},
        {"AT TIME ZONE", kMultiplicative, Form::TimeZone, "toTimeZone", true},
    };
    for (const Word& word : kWords) {
        if (!isKeyword(word.words)) {
            expected(word.words);
            continue;
        }
        if (in_partition_ends_ && word.form == Form::In && isKeyword("IN PARTITION")) return false;
        const std::string_view words = word.words;
        op.precedence = word.precedence;
        op.form = word.form;
        op.name = word.name;
        op.prints_as_function = word.prints_as_function;
        op.tokens = 1 + static_cast<size_t>(std::count(words.begin(), words.end(), ' '));
        return true;
    }
    return false;
}

ExpressionPtr Parser::binary(int minimum) {
    ExpressionPtr left = unary();
    Operator op;
    while (binaryOperator(op) && op.precedence >= minimum) {
        left = applyOperator(std::move(left), op);
        op = {};
    }
    return left;
}

ExpressionPtr Parser::applyOperator(ExpressionPtr left, const Operator& op) {
    using Form = Operator::Form;
    const uint32_t position = left->position;
    if (op.form == Form::Chain) return chain(std::move(left), op);
    position_ += op.tokens;
    switch (op.form) {
        case Form::Is:
            return isOperator(std::move(left), position);
        case Form::Between:
            return between(std::move(left), false, position);
        case Form::NotBetween:
            return between(std::move(left), true, position);
        case Form::In:
            return inOperator(std::move(left), op);
        default:
            break;
    }
    if (op.precedence == kComparison && (isWord(0, "ANY") || isWord(0, "ALL")) &&
        peek(1).kind == TokenKind::OpenRound && isQueryStart(2))
        return quantified(std::move(left), op);
    ExpressionPtr right = binary(op.precedence + 1);
    return function(op.name, {std::move(left), std::move(right)}, position, !op.prints_as_function);
}

/// `a AND b AND c` is one and(a, b, c), however long; what stands in parentheses stays apart.
ExpressionPtr Parser::chain(ExpressionPtr first, const Operator& op) {
    const uint32_t position = first->position;
    Expressions operands{std::move(first)};
    Operator next = op;
    while (next.precedence == op.precedence && next.form == op.form) {
        position_ += next.tokens;
        operands.push_back(binary(op.precedence + 1));
        next = {};
        if (!binaryOperator(next)) break;
    }
    return function(op.name, std::move(operands), position, !op.prints_as_function);
}

ExpressionPtr Parser::isOperator(ExpressionPtr left, uint32_t position) {
    const bool negated = keyword("NOT");
    if (keyword("NULL") || keyword("UNKNOWN"))
        return function(negated ? "isNotNull" : "isNull", {std::move(left)}, position, true);
    if (keyword("DISTINCT FROM"))
        return function(negated ? "isNotDistinctFrom" : "isDistinctFrom", {std::move(left), binary(kIs + 1)},
                        position, true);
    const auto truth = anyKeyword({"TRUE", "FALSE"});
    if (truth.empty()) fail();
    return function(negated ? "isDistinctFrom" : "isNotDistinctFrom",
                    {std::move(left), literal({truth == "TRUE"}, position)}, position, true);
}

ExpressionPtr Parser::between(ExpressionPtr left, bool negated, uint32_t position) {
    ExpressionPtr low = binary(kBetweenBounds);
    expectKeyword("AND");
    ExpressionPtr high = binary(kBetweenBounds);
    ExpressionPtr above =
        function(negated ? "less" : "greaterOrEquals", {left, std::move(low)}, position, true);
    ExpressionPtr below =
        function(negated ? "greater" : "lessOrEquals", {left, std::move(high)}, position, true);
    return function(negated ? "or" : "and", {std::move(above), std::move(below)}, position, true);
}

ExpressionPtr Parser::inOperator(ExpressionPtr left, const Operator& op) {
    const uint32_t position = left->position;
    ExpressionPtr right = binary(op.precedence + 1);
    return function(op.name, {std::move(left), std::move(right)}, position, true);
}

/// `a = ANY (SELECT …)` is IN; `a > ALL (SELECT …)` compares with the extreme of the answer.
ExpressionPtr Parser::quantified(ExpressionPtr left, const Operator& op) {
    const uint32_t position = left->position;
    const bool any = isWord(0, "ANY");
    advance();
    ExpressionPtr subquery = roundBrackets();
    const std::string_view name = op.name;
    const bool equal = name == "equals", differ = name == "notEquals";
    if ((any && equal) || (!any && differ))
        return function(equal ? "in" : "notIn", {std::move(left), std::move(subquery)}, position, true);
    if (!equal && !differ && name != "less" && name != "lessOrEquals" && name != "greater" &&
        name != "greaterOrEquals")
        fail();
    const bool less = name.starts_with("less");
    const char* extreme = equal || differ ? "singleValueOrNull" : (less == any ? "max" : "min");
    auto select = std::make_shared<Select>();
    auto star = std::make_shared<Asterisk>();
    select->select = {function(extreme, {star}, position)};
    TableElement source;
    source.table.subquery = static_cast<Subquery&>(*subquery).query;
    select->from.push_back(std::move(source));
    auto query = std::make_shared<Query>();
    query->select = std::move(select);
    const std::string result = equal ? "in" : (differ ? "notIn" : std::string(name));
    return function(result, {std::move(left), subqueryOf(std::move(query), position)}, position, true);
}

ExpressionPtr Parser::unary() {
    const uint32_t position = peek().begin;
    if (peek().kind == TokenKind::Minus) {
        const bool constant = peek(1).kind == TokenKind::Number ||
                              ((isWord(1, "INF") || isWord(1, "INFINITY") || isWord(1, "NAN")) &&
                               peek(2).kind != TokenKind::OpenRound && peek(2).kind != TokenKind::Dot);
        advance();
        if (constant) {
            negative_number_ = true;
            return postfix();
        }
        DepthGuard guard(*this);
        return function("negate", {unary()}, position, true);
    }
    if (peek().kind == TokenKind::Plus) {
        advance();
        DepthGuard guard(*this);
        return unary();
    }
    const bool names_column = peek(1).kind == TokenKind::Dot;
    if (!names_column && keyword("NOT")) {
        DepthGuard guard(*this);
        return function("not", {binary(kNot + 1)}, position, true);
    }
    return postfix();
}

ExpressionPtr Parser::postfix() {
    ExpressionPtr left = primary();
    const uint32_t position = left->position;
    while (true) {
        const Token token = peek();
        if (token.kind == TokenKind::OpenSquare) {
            advance();
            ExpressionPtr index = expression();
            expect(TokenKind::CloseSquare);
            left = function("arrayElement", {std::move(left), std::move(index)}, position, true);
        } else if (token.kind == TokenKind::Dot) {
            advance();
            left = accessByName(std::move(left), position);
        } else if (token.kind == TokenKind::DoubleColon) {
            advance();
            ExpressionPtr target = literal({type()}, token.begin);
            left = function("CAST", {std::move(left), std::move(target)}, position);
        } else {
            return left;
        }
    }
}

/// Behind the dot: a number, or the name of a tuple's element.
ExpressionPtr Parser::accessByName(ExpressionPtr left, uint32_t position) {
    const Token token = peek();
    if (token.kind == TokenKind::Number) {
        const uint64_t index = unsignedNumber();
        return function("tupleElement", {std::move(left), literal({index}, token.begin)}, position, true);
    }
    if (token.kind == TokenKind::Minus && peek(1).kind == TokenKind::Number) {
        advance();
        const uint64_t from_end = unsignedNumber();
        if (from_end > uint64_t{1} << 63) fail(token);
        // t.-0 is t.0: there is no negative zero to print.
        ExpressionPtr index = from_end ? literal({static_cast<int64_t>(-from_end)}, token.begin)
                                       : literal({from_end}, token.begin);
        return function("tupleElement", {std::move(left), std::move(index)}, position, true);
    }
    return function("tupleElement", {std::move(left), literal({identifier()}, token.begin)}, position);
}

}  // namespace shardd::sql
