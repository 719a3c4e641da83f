#pragma once

#include "common/types/type_parser.h"
#include "server/storage/merge_tree.h"

/// MergeTree tables in few words.
namespace shardd::storage {

inline KeyElement plainKey(const std::string& name, const TypePtr& type) {
    return {.text = name, .type = type, .column = name, .columns = {name}, .evaluate = {}};
}

inline TableDefinition definition(const std::vector<std::pair<std::string, std::string>>& columns,
                                  const std::vector<std::string>& order_by,
                                  const std::vector<std::string>& partition_by = {}) {
    TableDefinition made;
    made.schema.database = "default";
    made.schema.name = "t";
    made.schema.engine = "MergeTree";
    made.schema.uuid = "11111111-2222-3333-4444-555555555555";
    for (const auto& [name, type] : columns)
        made.schema.columns.push_back({.name = name, .type = parseType(type)});
    made.settings = {{"min_bytes_for_wide_part", "0"}};
    for (const std::string& name : order_by)
        made.sorting_key.elements.push_back(plainKey(name, made.schema.find(name)->type));
    for (const std::string& name : partition_by)
        made.partition_key.elements.push_back(plainKey(name, made.schema.find(name)->type));
    return made;
}

inline std::shared_ptr<MergeTree> makeTable(TableDefinition made, FileSystem& files, bool attach = false) {
    made.attach = attach;
    if (!attach) {
        // What the catalog has done before there are tables.
        files.createDirectories("/data/store");
        for (const char* directory : {"/", "/data"}) files.syncDirectory(directory);
    }
    return std::make_shared<MergeTree>(
        made, EngineContext{.files = &files, .data_path = "/data/store/111/t", .decoded_cache = nullptr});
}

inline void insert(Table& table, const Block& block) {
    const BlockSinkPtr sink = table.write({});
    sink->write(block);
    sink->finish();
}

}  // namespace shardd::storage
