#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/columns/block.h"
#include "server/plan/planner_context.h"
#include "server/storage/table.h"

namespace shardd::daemon {

/// How columns of blocks find those of the table: a client names them, a SELECT counts them.
enum class ColumnMatch { ByName, ByPosition };

/// Makes the rows of an INSERT into the rows of a table: types as the table has them, the columns that were
/// not given from their defaults. Columns of ALIAS kind are never stored, those of EPHEMERAL kind only serve
/// others. Threads: one caller at a time.
class RowCompleter {
public:
    /// `given`: the columns that blocks will have, in order. Errors: NO_SUCH_COLUMN_IN_TABLE (16) for one
    /// that is not there, ILLEGAL_COLUMN (44) for one that may not be given; what a default expression has
    /// wrong.
    RowCompleter(std::shared_ptr<const storage::TableSchema> schema,
                 std::vector<std::string> given,
                 plan::PlannerContext context);

    /// What a client is asked for: the given columns with the table's types.
    Block sample() const;

    /// The columns that blocks have afterwards.
    const std::vector<std::string>& stored() const { return stored_; }

    /// By name also means by position where not all names are the table's.
    /// Errors: VIOLATED_CONSTRAINT (469).
    Block complete(Block block, ColumnMatch match = ColumnMatch::ByName) const;

private:
    struct Computed {
        std::string column;
        TypePtr type;
        plan::ExpressionPtr expression;
    };

    struct Constraint {
        std::string name;
        std::string text;
        plan::ExpressionPtr expression;
    };

    Block convert(Block block, ColumnMatch match) const;
    void planDefaults();
    void planConstraints();
    void checkConstraints(const Block& block) const;

    std::shared_ptr<const storage::TableSchema> schema_;
    std::vector<std::string> given_;
    plan::PlannerContext context_;
    std::vector<std::string> stored_;
    /// A NULL where the table's column knows none becomes the column's default (insert_null_as_default).
    ColumnPtr withoutNulls(const NamedColumn& source, const storage::ColumnDefinition& target) const;

    std::vector<Constraint> constraints_;
    std::vector<Computed> computed_;  ///< in an order in which each may use those before
};

/// The columns that an INSERT without a list gives: all that are neither MATERIALIZED, ALIAS nor EPHEMERAL.
std::vector<std::string> insertableColumns(const storage::TableSchema& schema);

}  // namespace shardd::daemon
