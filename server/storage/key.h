#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/columns/block.h"

namespace shardd::storage {

/// One expression of a key. Storage knows no SQL: the planner made the function from the text.
struct KeyElement {
    /// The canonical text: "k", "toYYYYMM(d)".
    std::string text;
    TypePtr type;
    /// The column that it is, when it is nothing but a column; empty otherwise.
    std::string column;
    /// The columns that it is computed from.
    std::vector<std::string> columns;
    /// From a block that has `columns` to one value a row. Not used when `column` is set.
    std::function<ColumnPtr(const Block&)> evaluate;
    /// Of one column, and never falling while the column rises: bounds of the column become bounds of the
    /// key.
    bool monotonic = false;
    bool descending = false;

    /// The values for the rows of `block`, written out (no constant; a dictionary stays).
    ColumnPtr compute(const Block& block) const;
};

/// PARTITION BY, ORDER BY or PRIMARY KEY.
struct KeyDescription {
    std::vector<KeyElement> elements;

    bool empty() const { return elements.empty(); }

    /// All columns that the elements use, each once, in order of first use.
    std::vector<std::string> usedColumns() const;
};

}  // namespace shardd::storage
