#pragma once

#include <utility>
#include <vector>

#include "server/storage/key.h"
#include "server/storage/part.h"
#include "server/storage/table.h"

namespace shardd::storage {

/// Conditions of a scan turned to the order of the key's values. Made once a scan.
/// A value that cannot be turned (another type, a constant that does not fit) leaves its condition out: never
/// wrong, only slower.
class KeyCondition {
public:
    KeyCondition(const KeyDescription& key,
                 const std::vector<PartColumn>& columns,
                 const std::vector<ColumnRange>& ranges);

    /// No condition of the scan touches the key.
    bool alwaysTrue() const { return bounds_.empty(); }

    /// Whether rows with a key from left[…] at left_row to right[…] at right_row (both inclusive) may matter.
    /// An end that is not known is SIZE_MAX.
    bool mayMatch(const std::vector<ColumnPtr>& left,
                  size_t left_row,
                  const std::vector<ColumnPtr>& right,
                  size_t right_row) const;

private:
    /// What one key column must be within.
    struct Bounds {
        size_t position = 0;  // in the key
        ColumnPtr lower;      // one row, or nothing
        ColumnPtr upper;
        bool lower_open = false;
        bool upper_open = false;
        ColumnPtr values;  // ascending, or nothing
    };

    static bool mayMatchColumn(const Bounds& bounds,
                               const Column* least,
                               size_t least_row,
                               const Column* greatest,
                               size_t greatest_row);

    std::vector<bool> descending_;
    std::vector<Bounds> bounds_;
};

/// Granules [first, last) of the part that may hold rows that matter, ascending and not touching.
std::vector<std::pair<size_t, size_t>> selectGranules(const Part& part, const KeyCondition& condition);

/// Whether the part's least and greatest partition columns allow rows that matter. `columns` are the traits'
/// minmax columns.
bool mayMatchPart(const Part& part,
                  const std::vector<PartColumn>& columns,
                  const std::vector<ColumnRange>& ranges);

}  // namespace shardd::storage
