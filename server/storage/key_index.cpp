#include "server/storage/key_index.h"

#include <algorithm>
#include <numeric>

#include "common/base/error.h"
#include "common/columns/create_column.h"

namespace shardd::storage {

namespace {

/// A column of these values as the index has them; nothing when they are not of the type.
ColumnPtr makeColumn(const Type& type, const std::vector<Value>& values) {
    try {
        MutableColumnPtr column = createColumn(type);
        for (const Value& value : values) column->insert(value);
        return column;
    } catch (const Error&) {
        return nullptr;
    }
}

ColumnPtr sorted(const ColumnPtr& column) {
    PodVector<RowIndex> order(column->size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](RowIndex a, RowIndex b) { return column->compareAt(a, *column, b, 1) < 0; });
    return column->gather(order.span());
}

/// The values as the key element sees them: the column's own, or through a function that never falls.
ColumnPtr keyValues(const KeyElement& element,
                    const TypePtr& column_type,
                    const std::string& name,
                    const std::vector<Value>& values) {
    if (!element.column.empty()) return makeColumn(*removeLowCardinalityRecursively(column_type), values);
    ColumnPtr plain = makeColumn(*column_type, values);
    if (!plain) return nullptr;
    Block block;
    block.rows = values.size();
    block.columns.push_back({name, column_type, std::move(plain)});
    try {
        return fullPlain(element.evaluate(block));
    } catch (const Error&) {
        return nullptr;
    }
}

}  // namespace

KeyCondition::KeyCondition(const KeyDescription& key,
                           const std::vector<PartColumn>& columns,
                           const std::vector<ColumnRange>& ranges) {
    for (size_t position = 0; position < key.elements.size(); ++position) {
        const KeyElement& element = key.elements[position];
        descending_.push_back(element.descending);
        const bool usable = !element.column.empty() || (element.monotonic && element.columns.size() == 1);
        if (!usable) continue;
        const std::string& name = element.column.empty() ? element.columns[0] : element.column;
        const auto column =
            std::find_if(columns.begin(), columns.end(), [&](const PartColumn& c) { return c.name == name; });
        if (column == columns.end()) continue;
        const bool exact = !element.column.empty();
        for (const ColumnRange& range : ranges) {
            if (range.column != name) continue;
            Bounds bounds;
            bounds.position = position;
            if (range.lower) bounds.lower = keyValues(element, column->type, name, {*range.lower});
            if (range.upper) bounds.upper = keyValues(element, column->type, name, {*range.upper});
            // A function may send the bound and values behind it to one key.
            bounds.lower_open = range.lower_open && exact;
            bounds.upper_open = range.upper_open && exact;
            if (!range.values.empty()) bounds.values = keyValues(element, column->type, name, range.values);
            if (bounds.values) bounds.values = sorted(bounds.values);
            if (bounds.lower || bounds.upper || bounds.values) bounds_.push_back(std::move(bounds));
        }
    }
}

bool KeyCondition::mayMatchColumn(const Bounds& bounds,
                                  const Column* least,
                                  size_t least_row,
                                  const Column* greatest,
                                  size_t greatest_row) {
    if (bounds.lower && greatest) {
        const int order = greatest->compareAt(greatest_row, *bounds.lower, 0, 1);
        if (order < 0 || (order == 0 && bounds.lower_open)) return false;
    }
    if (bounds.upper && least) {
        const int order = least->compareAt(least_row, *bounds.upper, 0, 1);
        if (order > 0 || (order == 0 && bounds.upper_open)) return false;
    }
    if (!bounds.values) return true;
    // The first value that is not below the least must not be above the greatest.
    size_t low = 0;
    size_t high = bounds.values->size();
    while (low < high && least) {
        const size_t middle = (low + high) / 2;
        if (bounds.values->compareAt(middle, *least, least_row, 1) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == bounds.values->size()) return false;
    return !greatest || bounds.values->compareAt(low, *greatest, greatest_row, 1) <= 0;
}

bool KeyCondition::mayMatch(const std::vector<ColumnPtr>& left,
                            size_t left_row,
                            const std::vector<ColumnPtr>& right,
                            size_t right_row) const {
    const size_t last_position = bounds_.empty() ? 0 : bounds_.back().position;
    size_t next = 0;
    for (size_t position = 0; position <= last_position; ++position) {
        const Column* first = left_row == SIZE_MAX ? nullptr : left[position].get();
        const Column* last = right_row == SIZE_MAX ? nullptr : right[position].get();
        const Column* least = descending_[position] ? last : first;
        const Column* greatest = descending_[position] ? first : last;
        const size_t least_row = descending_[position] ? right_row : left_row;
        const size_t greatest_row = descending_[position] ? left_row : right_row;
        for (; next < bounds_.size() && bounds_[next].position == position; ++next)
            if (!mayMatchColumn(bounds_[next], least, least_row, greatest, greatest_row)) return false;
        // Later key columns are bound only while the earlier ones are one value.
        if (!first || !last || first->compareAt(left_row, *last, right_row, 1) != 0) break;
    }
    return true;
}

std::vector<std::pair<size_t, size_t>> selectGranules(const Part& part, const KeyCondition& condition) {
    const PartIndex& index = part.index();
    const size_t granules = index.granules();
    if (granules == 0) return {};
    if (condition.alwaysTrue() || index.keys.empty()) return {{0, granules}};
    const size_t entries = index.keys[0]->size();
    std::vector<std::pair<size_t, size_t>> ranges;
    for (size_t granule = 0; granule < granules; ++granule) {
        const size_t end = granule + 1 < entries ? granule + 1 : SIZE_MAX;
        if (!condition.mayMatch(index.keys, granule, index.keys, end)) continue;
        if (!ranges.empty() && ranges.back().second == granule)
            ranges.back().second = granule + 1;
        else
            ranges.emplace_back(granule, granule + 1);
    }
    return ranges;
}

bool mayMatchPart(const Part& part,
                  const std::vector<PartColumn>& columns,
                  const std::vector<ColumnRange>& ranges) {
    for (size_t i = 0; i < part.minmax().size(); ++i) {
        KeyDescription key;
        key.elements.push_back({.text = columns[i].name,
                                .type = columns[i].type,
                                .column = columns[i].name,
                                .columns = {columns[i].name},
                                .evaluate = {}});
        const KeyCondition condition(key, columns, ranges);
        const std::vector<ColumnPtr> bounds{part.minmax()[i]};
        if (!condition.alwaysTrue() && !condition.mayMatch(bounds, 0, bounds, 1)) return false;
    }
    return true;
}

}  // namespace shardd::storage
