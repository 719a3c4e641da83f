#pragma once

#include <memory>
#include <vector>

#include "common/columns/block.h"

namespace shardd::functions {

/// The right side of IN: distinct rows of one or several columns, looked up by hash. Made once, read by many threads.
/// NULLs: a NULL on the left is never in the set unless `transform_null_in`; NULLs on the right are left out.
class Set {
public:
    virtual ~Set() = default;

    /// The types of its columns; what is looked up is converted to them before.
    virtual const std::vector<TypePtr>& types() const = 0;

    virtual size_t rows() const = 0;

    /// mask[i] = 1 where row i of `columns` (full, plain, of types()) is in the set.
    virtual void contains(std::span<const ColumnPtr> columns, size_t rows, Mask& mask) const = 0;

    /// Its distinct rows as columns, in the order of insertion: for index analysis and for sending it to shards.
    virtual const std::vector<ColumnPtr>& columns() const = 0;
};

using SetPtr = std::shared_ptr<const Set>;

/// Builds a set from blocks (GLOBAL IN, IN (SELECT …)) or literal rows.
class SetBuilder {
public:
    explicit SetBuilder(std::vector<TypePtr> types, bool transform_null_in = false);
    ~SetBuilder();
    /// Columns are cast to the types; a row whose value does not fit its type exactly is left out, as it can equal nothing.
    void add(const Block& block);
    SetPtr finish();

private:
    struct Rows;
    std::unique_ptr<Rows> rows_;
};

/// A set as the second argument of in(), notIn(), globalIn() …: ColumnKind::Other, type kind Set, inside a ConstColumn or alone.
/// Get it with setOf().
ColumnPtr makeSetColumn(SetPtr set, size_t rows);
const SetPtr& setOf(const Column& column);

}  // namespace shardd::functions
