#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace shardd::sql {

enum class TokenKind : uint8_t {
    Word,              // identifier or keyword without quotes
    QuotedIdentifier,  // `a` or "a"
    Number,
    String,    // 'a'
    Heredoc,   // $tag$ ... $tag$
    Variable,  // @@name
    OpenRound,
    CloseRound,
    OpenSquare,
    CloseSquare,
    OpenCurly,
    CloseCurly,
    Comma,
    Semicolon,
    Dot,
    Asterisk,
    Plus,
    Minus,
    Slash,
    Percent,
    Arrow,  // ->
    Question,
    Colon,
    DoubleColon,  // ::
    Equals,       // = or ==
    NotEquals,    // != or <>
    Less,
    Greater,
    LessOrEquals,
    GreaterOrEquals,
    Spaceship,  // <=>
    Concat,     // ||
    At,         // @
    EndOfQuery,
    Error,  // not a token; Token::error says why
};

struct Token {
    TokenKind kind = TokenKind::EndOfQuery;
    uint32_t begin = 0;  // offsets in the text, in bytes
    uint32_t end = 0;
    const char* error = nullptr;
};

/// Text to tokens, one at a time; comments and white space fall away. It never throws and never reads
/// outside the text: what is no token becomes one of kind Error that ends the text.
class Lexer {
public:
    explicit Lexer(std::string_view text, size_t position = 0) : text_(text), position_(position) {}

    Token next();

private:
    bool skipSpaceAndComments(Token& error);
    Token number(size_t begin);
    Token quoted(size_t begin, char quote);
    Token heredoc(size_t begin);
    Token symbol(size_t begin);
    Token finish(TokenKind kind, size_t begin, size_t end);
    Token fail(size_t begin, const char* error);

    char at(size_t position) const { return position < text_.size() ? text_[position] : '\0'; }

    std::string_view text_;
    size_t position_ = 0;
    TokenKind previous_ = TokenKind::EndOfQuery;
};

/// The value of a quoted token's text, quotes included: escapes resolved, doubled quotes halved.
std::string unquote(std::string_view token);

/// The body of a heredoc token.
std::string_view heredocBody(std::string_view token);

bool isWordStart(char c);
bool isWordCharacter(char c);

}  // namespace shardd::sql
