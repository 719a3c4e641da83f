#pragma once

#include "tests/unit/server/exec/exec_fixture.h"
#include "tests/unit/server/storage/merge_tree_fixture.h"

/// Plans over tables that are sorted by a key, as those that may be read key range by key range.
namespace shardd::exec {

class OrderedTable {
public:
    OrderedTable(FileSystem& disk,
                 const std::vector<std::pair<std::string, std::string>>& columns,
                 const std::vector<std::string>& order,
                 size_t granule_rows,
                 bool descending = false) {
        storage::TableDefinition made = storage::definition(columns, order);
        made.settings.emplace_back("index_granularity", std::to_string(granule_rows));
        made.settings.emplace_back("allow_nullable_key", "1");
        for (storage::KeyElement& element : made.sorting_key.elements) element.descending = descending;
        table_ = storage::makeTable(made, disk);
        for (const auto& [name, type] : columns)
            header_.columns.push_back({name, parseType(type), createColumn(*parseType(type))});
    }

    /// One part.
    void insert(const Block& block) { storage::insert(*table_, block); }

    plan::StepPtr scan() const {
        plan::ScanStep step;
        step.table = table_;
        for (const NamedColumn& column : header_.columns) step.columns.push_back(column.name);
        return plan::makeStep(std::move(step), header_);
    }

private:
    std::shared_ptr<storage::MergeTree> table_;
    Block header_;
};

/// The aggregation `step` with rows range by range of the key.
inline plan::StepPtr inKeyOrder(const plan::StepPtr& step,
                                const std::vector<std::string>& keys,
                                bool descending = false) {
    auto aggregate = std::get<plan::AggregateStep>(step->node);
    aggregate.key_order.clear();
    for (const std::string& key : keys) aggregate.key_order.push_back({key, descending, key});
    return plan::makeStep(std::move(aggregate), step->header);
}

}  // namespace shardd::exec
