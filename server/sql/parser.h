#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "server/sql/ast.h"

namespace shardd::sql {

/// The bounds within which a text is read; 0 lifts a bound. The names are those of ClickHouse's settings.
struct ParserLimits {
    size_t max_query_size = 262144;   // bytes before inline data; error 62
    size_t max_parser_depth = 1000;   // nested constructs in the text; error 306
    size_t max_ast_depth = 1000;      // levels of the tree; error 168
    size_t max_ast_elements = 50000;  // nodes of one expression; error 168
};

/// The one statement of `text`; a semicolon may follow it.
/// Errors: SYNTAX_ERROR "Syntax error: failed at position 8 (tok): rest. Expected one of: …", and the limits.
/// Threads: any; the time is linear in the size of the text.
StatementPtr parseStatement(std::string_view text, const ParserLimits& limits = {});

/// The first statement of `text` from `position` on, and where the next one begins: text.size() at the end.
/// After an INSERT with inline data, the data reach to the end of the text. Nothing when only blanks and
/// semicolons are left.
struct SplitStatement {
    StatementPtr statement;
    size_t next = 0;
};

std::optional<SplitStatement> parseNextStatement(std::string_view text,
                                                 size_t position,
                                                 const ParserLimits& limits = {});

/// All statements of a text with semicolons between them.
std::vector<StatementPtr> parseStatements(std::string_view text, const ParserLimits& limits = {});

/// A text that is one expression (a sharding key, a default), an expression list (`a, b`), one query,
/// a columns list (`a UInt8, b String DEFAULT 'x'`).
ExpressionPtr parseExpression(std::string_view text, const ParserLimits& limits = {});
Expressions parseExpressionList(std::string_view text, const ParserLimits& limits = {});
QueryPtr parseQuery(std::string_view text, const ParserLimits& limits = {});
std::vector<ColumnDeclaration> parseColumns(std::string_view text, const ParserLimits& limits = {});

}  // namespace shardd::sql
