#pragma once

#include <string>

#include "server/sql/ast.h"

namespace shardd::sql {

/// How the parts of a name are told whose names only the binder knows. The defaults serve where there is
/// none.
struct ColumnNaming {
    virtual ~ColumnNaming() = default;

    /// `t.a` becomes `a` when the table is the only one with such a column.
    virtual std::string identifier(const Identifier& identifier) const;

    /// `_subquery_1`, `_subquery_2`, … in the order of the text.
    virtual std::string subquery(const Subquery& subquery) const;

    /// The analyzer of ClickHouse calls an array `[a, b]` and a tuple `(a, b)`; before it, and in the stages
    /// of the old one, they were `array(a, b)` and `tuple(a, b)`.
    bool brackets = true;
};

/// The name ClickHouse gives a column: its alias, or the expression with operators as functions
/// (`plus(a, 1)`, `count()`, `arrayMap(lambda(tuple(x), plus(x, 1)), arr)`).
std::string columnName(const Expression& expression, const ColumnNaming& naming = {});

/// The same for an expression whose own alias is not wanted; aliases inside still count.
std::string columnNameWithoutAlias(const Expression& expression, const ColumnNaming& naming = {});

/// `sum(v) OVER (…)`: what stands in the brackets.
std::string windowName(const WindowDefinition& window, const ColumnNaming& naming = {});

}  // namespace shardd::sql
