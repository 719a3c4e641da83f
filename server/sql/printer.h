#pragma once

#include <string>
#include <string_view>

#include "server/sql/ast.h"

namespace shardd::sql {

struct PrintOptions {
    enum class Quoting : uint8_t {
        WhenNeeded,  // for people, and for SHOW CREATE
        Always,      // for shards: what ClickHouse sends between servers
    };

    bool multi_line = false;
    Quoting quoting = Quoting::WhenNeeded;
};

/// The tree as text, in the form ClickHouse prints; parsing it again gives an equal tree.
std::string toText(const Expression& expression, const PrintOptions& options = {});
std::string toText(const Query& query, const PrintOptions& options = {});
std::string toText(const Select& select, const PrintOptions& options = {});
std::string toText(const Statement& statement, const PrintOptions& options = {});

/// `name` when it is no plain word, or one that would be read as something else.
std::string quoteIdentifierIfNeeded(std::string_view name);
std::string quoteIdentifier(std::string_view name);

}  // namespace shardd::sql
