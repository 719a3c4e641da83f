#include "server/sql/lexer.h"

#include <vector>

#include <gtest/gtest.h>

namespace shardd::sql {
namespace {

using Kinds = std::vector<TokenKind>;

Kinds kinds(std::string_view text) {
    Lexer lexer(text);
    Kinds list;
    while (true) {
        const Token token = lexer.next();
        list.push_back(token.kind);
        if (token.kind == TokenKind::EndOfQuery || token.kind == TokenKind::Error) return list;
    }
}

struct LexerCase {
    std::string_view text;
    Kinds kinds;

    friend void PrintTo(const LexerCase& row, std::ostream* out) { *out << row.text; }
};

class LexerTest : public testing::TestWithParam<LexerCase> {};

TEST_P(LexerTest, Kinds) { EXPECT_EQ(kinds(GetParam().text), GetParam().kinds); }

using enum TokenKind;

INSTANTIATE_TEST_SUITE_P(
    Tokens,
    LexerTest,
    testing::Values(
        LexerCase{"", {EndOfQuery}},
        LexerCase{"  -- nothing\n# nothing\n/* nor here */", {EndOfQuery}},
        LexerCase{"a.b", {Word, Dot, Word, EndOfQuery}},
        LexerCase{"t.1.2", {Word, Dot, Number, Dot, Number, EndOfQuery}},
        LexerCase{"1.2, .5 5. 1e3 1_000 0x1F 0b101 1e-3",
                  {Number, Comma, Number, Number, Number, Number, Number, Number, Number, EndOfQuery}},
        LexerCase{"'it''s' 'a\\'b' `a``b` \"c\"",
                  {String, String, QuotedIdentifier, QuotedIdentifier, EndOfQuery}},
        LexerCase{"$$a'b$$ $x$ y $x$", {Heredoc, Heredoc, EndOfQuery}},
        LexerCase{"a::b->c||d==e<>f<=>g@@h?1:2",
                  {Word, DoubleColon, Word, Arrow,    Word, Concat,   Word,   Equals, Word,   NotEquals,
                   Word, Spaceship,   Word, Variable, Word, Question, Number, Colon,  Number, EndOfQuery}},
        LexerCase{"<= >= < > != = ( ) [ ] { } , ; * / % + -",
                  {LessOrEquals, GreaterOrEquals, Less,        Greater,   NotEquals,  Equals,    OpenRound,
                   CloseRound,   OpenSquare,      CloseSquare, OpenCurly, CloseCurly, Comma,     Semicolon,
                   Asterisk,     Slash,           Percent,     Plus,      Minus,      EndOfQuery}},
        LexerCase{"2024_data", {Word, EndOfQuery}},
        LexerCase{"x'4142' b'01'", {String, String, EndOfQuery}},
        LexerCase{"'open", {Error}},
        LexerCase{"`open", {Error}},
        LexerCase{"\"open", {Error}},
        LexerCase{"/* open", {Error}},
        LexerCase{"a ! b", {Word, Error}},
        LexerCase{"a & b", {Word, Error}},
        LexerCase{"|", {Error}},
        LexerCase{"'ends with \\", {Error}},
        LexerCase{"\x01", {Error}}));

struct UnquoteCase {
    std::string_view token;
    std::string value;

    friend void PrintTo(const UnquoteCase& row, std::ostream* out) { *out << row.token; }
};

class UnquoteTest : public testing::TestWithParam<UnquoteCase> {};

TEST_P(UnquoteTest, Value) { EXPECT_EQ(unquote(GetParam().token), GetParam().value); }

INSTANTIATE_TEST_SUITE_P(Strings,
                         UnquoteTest,
                         testing::Values(UnquoteCase{"''", ""},
                                         UnquoteCase{"'a''b'", "a'b"},
                                         UnquoteCase{"'a\\'b'", "a'b"},
                                         UnquoteCase{"'\\n\\t\\\\'", "\n\t\\"},
                                         UnquoteCase{"'\\x41\\x4'", "A\\x4"},
                                         UnquoteCase{"'\\%\\q'", "\\%\\q"},
                                         UnquoteCase{"`a``b`", "a`b"},
                                         UnquoteCase{"`a\\`b`", "a`b"},
                                         UnquoteCase{"x'414'", "\x04\x14"},
                                         UnquoteCase{"b'01000001'", "A"}));

}  // namespace
}  // namespace shardd::sql
