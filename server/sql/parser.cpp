#include "server/sql/parser.h"

#include <algorithm>
#include <charconv>

#include "common/base/error.h"
#include "common/base/stack_guard.h"
#include "server/sql/parser_impl.h"

namespace shardd::sql {

namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

/// Words that cannot be an alias without AS, since they begin the next clause or operator.
constexpr std::string_view kNotAlias[] = {
    "ALL",      "AND",      "ANTI",      "ANY",    "ARRAY",  "AS",         "ASC",    "ASCENDING", "ASOF",
    "AT",       "BETWEEN",  "COLLATE",   "CROSS",  "DESC",   "DESCENDING", "DIV",    "ELSE",      "EXCEPT",
    "FETCH",    "FINAL",    "FORMAT",    "FROM",   "FULL",   "GLOBAL",     "GROUP",  "HAVING",    "ILIKE",
    "IN",       "INNER",    "INTERSECT", "INTO",   "IS",     "JOIN",       "LEFT",   "LIKE",      "LIMIT",
    "LOCAL",    "MOD",      "NATURAL",   "NOT",    "OFFSET", "ON",         "OR",     "ORDER",     "PARALLEL",
    "PASTE",    "PREWHERE", "QUALIFY",   "REGEXP", "RIGHT",  "RLIKE",      "SAMPLE", "SELECT",    "SEMI",
    "SETTINGS", "UNION",    "USING",     "WHERE",  "WINDOW", "WITH",
};

}  // namespace

bool equalsIgnoringCase(std::string_view left, std::string_view right) {
    if (left.size() != right.size()) return false;
    for (size_t i = 0; i < left.size(); ++i)
        if (lower(left[i]) != lower(right[i])) return false;
    return true;
}

std::string upperCase(std::string_view text) {
    std::string upper(text);
    for (char& c : upper)
        if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
    return upper;
}

Parser::Parser(std::string_view text, size_t position, const ParserLimits& limits)
    : text_(text), limits_(limits), start_(position), lexer_(text, position) {
    if (text.size() >= UINT32_MAX)
        throw Error(ErrorCode::SYNTAX_ERROR, "Query is too long: {} bytes", text.size());
}

Parser::DepthGuard::DepthGuard(Parser& parser) : parser_(parser) {
    checkStack();
    if (parser.limits_.max_parser_depth && parser.depth_ >= parser.limits_.max_parser_depth)
        throw Error(ErrorCode::TOO_DEEP_RECURSION,
                    "Maximum parse depth ({}) exceeded. Consider raising max_parser_depth parameter.",
                    parser.limits_.max_parser_depth);
    ++parser.depth_;
}

Token Parser::peek(size_t ahead) {
    while (tokens_.size() <= position_ + ahead) {
        if (!tokens_.empty() &&
            (tokens_.back().kind == TokenKind::EndOfQuery || tokens_.back().kind == TokenKind::Error)) {
            return tokens_.back();
        }
        tokens_.push_back(lexer_.next());
        if (limits_.max_query_size && tokens_.back().end - start_ > limits_.max_query_size &&
            tokens_.back().kind != TokenKind::EndOfQuery)
            throw Error(
                ErrorCode::SYNTAX_ERROR,
                "Syntax error: failed at position {}: Max query size exceeded (can be increased with the "
                "`max_query_size` setting, now {} bytes)",
                limits_.max_query_size, limits_.max_query_size);
    }
    return tokens_[position_ + ahead];
}

bool Parser::isWord(size_t ahead, std::string_view word) {
    const Token token = peek(ahead);
    return token.kind == TokenKind::Word && equalsIgnoringCase(textOf(token), word);
}

bool Parser::isKeyword(std::string_view words) {
    size_t ahead = 0;
    while (true) {
        const size_t blank = words.find(' ');
        if (!isWord(ahead++, words.substr(0, blank))) return false;
        if (blank == std::string_view::npos) return true;
        words.remove_prefix(blank + 1);
    }
}

bool Parser::keyword(std::string_view words) {
    if (!isKeyword(words)) {
        expected(words);
        return false;
    }
    position_ += 1 + static_cast<size_t>(std::count(words.begin(), words.end(), ' '));
    return true;
}

std::string_view Parser::anyKeyword(std::initializer_list<std::string_view> words) {
    for (auto word : words)
        if (keyword(word)) return word;
    return {};
}

void Parser::expectKeyword(std::string_view words) {
    if (!keyword(words)) fail();
}

bool Parser::accept(TokenKind kind) {
    static constexpr std::pair<TokenKind, const char*> kNames[] = {
        {TokenKind::Comma, "Comma"},
        {TokenKind::OpenRound, "OpeningRoundBracket"},
        {TokenKind::CloseRound, "ClosingRoundBracket"},
        {TokenKind::OpenSquare, "OpeningSquareBracket"},
        {TokenKind::CloseSquare, "ClosingSquareBracket"},
        {TokenKind::CloseCurly, "ClosingCurlyBrace"},
        {TokenKind::Equals, "Equals"},
        {TokenKind::Dot, "Dot"},
        {TokenKind::DoubleColon, "DoubleColon"},
        {TokenKind::Colon, "Colon"},
    };
    if (peek().kind == kind) {
        advance();
        return true;
    }
    for (const auto& [named, name] : kNames)
        if (named == kind) expected(name);
    return false;
}

void Parser::expect(TokenKind kind) {
    if (!accept(kind)) fail();
}

bool Parser::isQueryStart(size_t ahead) {
    if (isWord(ahead, "SELECT")) return true;
    // FROM t SELECT …; a column may be called `from` only in quotes.
    if (isWord(ahead, "FROM")) return true;
    if (!isWord(ahead, "WITH")) return false;
    const TokenKind next = peek(ahead + 1).kind;
    return next != TokenKind::CloseRound && next != TokenKind::Comma && next != TokenKind::Dot;
}

void Parser::expected(std::string_view what) {
    if (position_ < expected_at_) return;
    if (position_ > expected_at_) {
        expected_at_ = position_;
        expected_.clear();
    }
    if (expected_.size() < 200) expected_.push_back(what);
}

void Parser::checkBrackets(const Token& token) {
    // An unbalanced bracket explains more than whatever was met at the end.
    std::vector<Token> open;
    for (const Token& each : tokens_) {
        switch (each.kind) {
            case TokenKind::OpenRound:
            case TokenKind::OpenSquare:
                open.push_back(each);
                break;
            case TokenKind::CloseRound:
            case TokenKind::CloseSquare: {
                const auto partner =
                    each.kind == TokenKind::CloseRound ? TokenKind::OpenRound : TokenKind::OpenSquare;
                if (open.empty() || open.back().kind != partner) return;
                open.pop_back();
                break;
            }
            default:
                break;
        }
    }
    if (token.kind != TokenKind::EndOfQuery || open.empty()) return;
    const auto rest = text_.substr(open.front().begin);
    throw Error(ErrorCode::SYNTAX_ERROR,
                "Syntax error: failed at position {} ({}): {}. Unmatched parentheses: {}",
                open.front().begin + 1, textOf(open.front()), rest.substr(0, 160), textOf(open.back()));
}

void Parser::fail() {
    position_ = std::max(position_, expected_at_);
    peek();
    fail(tokens_[std::min(position_, tokens_.size() - 1)]);
}

void Parser::fail(const Token& token) {
    checkBrackets(token);
    std::string where = fmt::format("failed at position {} (", token.begin + 1);
    where +=
        token.kind == TokenKind::EndOfQuery ? std::string_view("end of query") : textOf(token).substr(0, 80);
    where += ")";
    const auto before = text_.substr(0, token.begin);
    if (text_.find('\n') != std::string_view::npos && text_.find('\n') + 1 < text_.size()) {
        const size_t line = before.rfind('\n');
        where += fmt::format(" (line {}, col {})", 1 + std::count(before.begin(), before.end(), '\n'),
                             token.begin - (line == std::string_view::npos ? 0 : line + 1) + 1);
    }
    constexpr size_t kShown = 160;
    auto rest = text_.substr(token.begin, kShown);
    where += fmt::format(": {}{}", rest, token.begin + kShown < text_.size() ? "..." : "");
    if (token.kind == TokenKind::Error)
        throw Error(ErrorCode::SYNTAX_ERROR, "{}: Syntax error: {}. ", token.error, where);
    std::string wanted;
    std::vector<std::string_view> seen;
    for (auto what : expected_) {
        if (std::find(seen.begin(), seen.end(), what) != seen.end()) continue;
        if (!seen.empty()) wanted += ", ";
        wanted += what;
        seen.push_back(what);
    }
    if (seen.empty()) throw Error(ErrorCode::SYNTAX_ERROR, "Syntax error: {}. ", where);
    throw Error(ErrorCode::SYNTAX_ERROR, "Syntax error: {}. Expected {}{}", where,
                seen.size() > 1 ? "one of: " : "", wanted);
}

std::optional<std::string> Parser::identifierIf() {
    const Token token = peek();
    if (token.kind == TokenKind::Word) {
        advance();
        return std::string(textOf(token));
    }
    if (token.kind == TokenKind::QuotedIdentifier) {
        std::string name = unquote(textOf(token));
        if (name.empty()) fail(token);
        advance();
        return name;
    }
    expected("identifier");
    return std::nullopt;
}

std::string Parser::identifier() {
    auto name = identifierIf();
    if (!name) fail();
    return *std::move(name);
}

std::string Parser::identifierOrString() {
    const Token token = peek();
    if (token.kind != TokenKind::String) return identifier();
    std::string name = stringLiteral();
    if (name.empty()) fail(token);
    return name;
}

std::string Parser::stringLiteral() {
    const Token token = peek();
    if (token.kind != TokenKind::String && token.kind != TokenKind::Heredoc) {
        expected("string literal");
        fail();
    }
    advance();
    return token.kind == TokenKind::String ? unquote(textOf(token)) : std::string(heredocBody(textOf(token)));
}

uint64_t Parser::unsignedNumber() {
    const Token token = peek();
    uint64_t value = 0;
    const auto digits = textOf(token);
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (token.kind != TokenKind::Number || result.ec != std::errc() ||
        result.ptr != digits.data() + digits.size()) {
        expected("unsigned integer");
        fail();
    }
    advance();
    return value;
}

QualifiedName Parser::qualifiedName() {
    QualifiedName name;
    name.table = identifierOrString();
    if (accept(TokenKind::Dot)) {
        name.database = std::move(name.table);
        name.table = identifier();
    }
    return name;
}

std::string Parser::cluster() {
    if (!keyword("ON CLUSTER")) return {};
    return identifierOrString();
}

std::vector<std::string> Parser::identifierListInParentheses() {
    std::vector<std::string> names;
    expect(TokenKind::OpenRound);
    commaList([&] { names.push_back(identifier()); });
    expect(TokenKind::CloseRound);
    return names;
}

bool Parser::isAliasWord(size_t ahead) {
    const Token token = peek(ahead);
    if (token.kind == TokenKind::QuotedIdentifier) return true;
    if (token.kind != TokenKind::Word) return false;
    const auto word = textOf(token);
    for (auto reserved : kNotAlias)
        if (equalsIgnoringCase(word, reserved)) return false;
    return true;
}

void Parser::expectEnd() {
    if (atEnd()) return;
    expected("end of query");
    fail();
}

bool Parser::skipSemicolons() {
    bool any = false;
    while (peek().kind == TokenKind::Semicolon) {
        advance();
        any = true;
    }
    return any;
}

StatementPtr parseStatement(std::string_view text, const ParserLimits& limits) {
    Parser parser(text, 0, limits);
    auto statement = parser.statement();
    auto* insert = as<Insert>(statement);
    if (insert && insert->has_data) return statement;
    parser.skipSemicolons();
    if (!parser.atEnd() && parser.offset() > statement->end) {
        const auto between = text.substr(statement->end, parser.offset() - statement->end);
        if (between.find(';') != std::string_view::npos)
            throw Error(
                ErrorCode::SYNTAX_ERROR,
                "Syntax error (Multi-statements are not allowed): failed at position {} (end of query): {}. ",
                statement->end + 1, text.substr(statement->end, 160));
    }
    parser.expectEnd();
    return statement;
}

std::optional<SplitStatement> parseNextStatement(std::string_view text,
                                                 size_t position,
                                                 const ParserLimits& limits) {
    Parser parser(text, position, limits);
    parser.skipSemicolons();
    if (parser.atEnd()) return std::nullopt;
    SplitStatement split;
    split.statement = parser.statement();
    auto* insert = as<Insert>(split.statement);
    if (insert && insert->has_data) {
        split.next = text.size();
        return split;
    }
    if (!parser.skipSemicolons()) parser.expectEnd();
    split.next = parser.offset();
    return split;
}

std::vector<StatementPtr> parseStatements(std::string_view text, const ParserLimits& limits) {
    std::vector<StatementPtr> statements;
    size_t position = 0;
    while (auto split = parseNextStatement(text, position, limits)) {
        statements.push_back(std::move(split->statement));
        position = split->next;
    }
    return statements;
}

namespace {

template <typename Result>
Result parseWhole(std::string_view text, const ParserLimits& limits, Result (*parse)(Parser&)) {
    Parser parser(text, 0, limits);
    Result result = parse(parser);
    parser.expectEnd();
    return result;
}

}  // namespace

ExpressionPtr parseExpression(std::string_view text, const ParserLimits& limits) {
    return parseWhole<ExpressionPtr>(text, limits, [](Parser& parser) { return parser.expression(); });
}

Expressions parseExpressionList(std::string_view text, const ParserLimits& limits) {
    return parseWhole<Expressions>(text, limits, [](Parser& parser) { return parser.expressionList(); });
}

QueryPtr parseQuery(std::string_view text, const ParserLimits& limits) {
    return parseWhole<QueryPtr>(text, limits, [](Parser& parser) { return parser.query(); });
}

std::vector<ColumnDeclaration> parseColumns(std::string_view text, const ParserLimits& limits) {
    return parseWhole<std::vector<ColumnDeclaration>>(text, limits,
                                                      [](Parser& parser) { return parser.columns(); });
}

}  // namespace shardd::sql
