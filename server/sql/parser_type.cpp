#include "common/base/error.h"
#include "server/sql/parser_impl.h"

/// Names of types. They are kept as text with the blanks normalised; what they mean is not known here.
namespace shardd::sql {

namespace {

/// Types of standard SQL that are more than one word.
constexpr std::string_view kManyWords[] = {
    "DOUBLE PRECISION",
    "CHAR LARGE OBJECT",
    "CHAR VARYING",
    "CHARACTER LARGE OBJECT",
    "CHARACTER VARYING",
    "NCHAR LARGE OBJECT",
    "NCHAR VARYING",
    "NATIONAL CHARACTER LARGE OBJECT",
    "NATIONAL CHARACTER VARYING",
    "NATIONAL CHAR VARYING",
    "NATIONAL CHARACTER",
    "NATIONAL CHAR",
    "BINARY LARGE OBJECT",
    "BINARY VARYING",
    "TINYINT SIGNED",
    "TINYINT UNSIGNED",
    "SMALLINT SIGNED",
    "SMALLINT UNSIGNED",
    "MEDIUMINT SIGNED",
    "MEDIUMINT UNSIGNED",
    "INT SIGNED",
    "INT UNSIGNED",
    "INTEGER SIGNED",
    "INTEGER UNSIGNED",
    "BIGINT SIGNED",
    "BIGINT UNSIGNED",
};

}  // namespace

std::string Parser::type() {
    DepthGuard guard(*this);
    std::string name;
    for (auto words : kManyWords) {
        if (!isKeyword(words)) continue;
        keyword(words);
        name = words;
        break;
    }
    if (name.empty()) {
        expected("data type");
        name = identifier();
    }
    if (peek().kind != TokenKind::OpenRound) return name;
    advance();
    name += "(";
    for (bool first = true; !accept(TokenKind::CloseRound); first = false) {
        if (!first) {
            expect(TokenKind::Comma);
            name += ", ";
        }
        name += typeArgument();
    }
    return name + ")";
}

/// Inside the brackets: a type, `name Type`, 'text' = number, a number, name = number.
std::string Parser::typeArgument() {
    const Token token = peek();
    if (token.kind == TokenKind::String) {
        std::string text = quoteString(stringLiteral());
        if (accept(TokenKind::Equals)) {
            text += " = ";
            if (peek().kind == TokenKind::Minus) {
                advance();
                text += "-";
            }
            text += std::to_string(unsignedNumber());
        }
        return text;
    }
    const bool negative = token.kind == TokenKind::Minus;
    if (negative) advance();
    if (negative || token.kind == TokenKind::Number) {
        if (peek().kind != TokenKind::Number) fail();
        return toText(static_cast<LiteralExpression&>(*numberLiteral(negative, token.begin)).value);
    }
    const Token next = peek(1);
    if (next.kind == TokenKind::Equals) {  // JSON(max_dynamic_paths = 3)
        std::string text = identifier();
        advance();
        return text + " = " + std::to_string(unsignedNumber());
    }
    const bool named = (next.kind == TokenKind::Word || next.kind == TokenKind::QuotedIdentifier ||
                        next.kind == TokenKind::Dot);
    bool many_words = false;
    for (auto words : kManyWords) many_words = many_words || isKeyword(words);
    if (!named || many_words) {
        // quantile(0.5) of AggregateFunction(quantile(0.5), UInt8) has the form of a type as well.
        return type();
    }
    std::string name;
    if (token.kind == TokenKind::QuotedIdentifier) {
        name = textOf(token).front() == '`' ? std::string(textOf(token)) : identifier();
        if (textOf(token).front() == '`') advance();
    } else {
        name = identifier();
    }
    while (accept(TokenKind::Dot)) name += "." + identifier();
    return name + " " + type();
}

std::shared_ptr<Parameter> Parser::parameter() {
    auto node = std::make_shared<Parameter>();
    node->position = peek().begin;
    expect(TokenKind::OpenCurly);
    if (peek().kind != TokenKind::Word) {
        expected("substitution name (identifier)");
        fail();
    }
    node->name = identifier();
    expect(TokenKind::Colon);
    node->type = type();
    expect(TokenKind::CloseCurly);
    return node;
}

}  // namespace shardd::sql
