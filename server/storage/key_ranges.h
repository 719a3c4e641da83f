#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "server/storage/key.h"
#include "server/storage/part.h"
#include "server/storage/part_reader.h"

namespace shardd::storage {

/// What a scan reads of one part.
struct ChosenGranules {
    PartPtr part;
    GranuleRanges granules;

    uint64_t rows() const;
};

/// Cuts the rows of several parts, each sorted by the key, into ranges of keys: range i holds, of every part,
/// the rows whose key is not less than boundary i and less than boundary i + 1. Boundaries are keys of
/// granules' first rows, as the primary index has them; where a boundary falls within a granule, the exact
/// row is found by looking into it. Threads: any.
class KeyRanges {
public:
    /// The order is that of the key's first `elements`, which the primary index must have: see canCut(). A
    /// range ends where a granule begins before which it has `target_rows`, but not within the rows of the
    /// key that it began with.
    KeyRanges(std::vector<ChosenGranules> parts,
              const KeyDescription& primary_key,
              const std::vector<PartColumn>& key_columns,
              size_t elements,
              uint64_t target_rows);

    /// Whether every part has what is needed.
    static bool canCut(const std::vector<ChosenGranules>& parts);

    const std::vector<ChosenGranules>& parts() const { return parts_; }

    /// At least one; the first begins and the last ends with the table.
    size_t count() const { return boundaries_.size() + 1; }

    /// Rows of the granules that begin in the range: about as many as it has.
    uint64_t rowsAbout(size_t range) const { return rows_[range]; }

    /// The value of the key's first element where the range begins, for all but the first: one row.
    ColumnPtr boundary(size_t range) const;

    /// The first row of the part that is not before the range. Of granules that the scan does not read, any.
    uint64_t firstRow(size_t range, size_t part) const;

    /// The first row behind the range.
    uint64_t endRow(size_t range, size_t part) const;

private:
    /// The key of a granule's first row.
    struct Entry {
        size_t part;
        size_t granule;
    };

    struct Boundary {
        Entry key;
        std::once_flag once;
        std::vector<uint64_t> rows;  // of each part, when it was looked for
    };

    void cut(const std::vector<Entry>& entries, uint64_t target_rows);
    int compare(const std::vector<ColumnPtr>& keys, size_t row, const Entry& other) const;
    const std::vector<uint64_t>& rowsOf(Boundary& boundary) const;
    uint64_t lowerBound(const ChosenGranules& chosen, const Entry& key) const;
    uint64_t lowerBoundWithin(const PartPtr& part, size_t granule, const Entry& key) const;
    std::vector<Entry> sortedEntries() const;

    std::vector<ChosenGranules> parts_;
    std::vector<KeyElement> elements_;
    std::vector<PartColumn> key_columns_;  // that the elements are computed from
    std::vector<std::unique_ptr<Boundary>> boundaries_;
    std::vector<uint64_t> rows_;
};

}  // namespace shardd::storage
