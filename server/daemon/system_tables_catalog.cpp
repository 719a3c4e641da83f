#include <algorithm>

#include "common/types/type_list.h"
#include "server/daemon/system_tables.h"
#include "server/formats/value_text.h"
#include "server/storage/merge_tree.h"

/// The system tables that show what the catalog holds.
namespace shardd::daemon {

namespace {

SystemRows databases(const SystemSources& sources) {
    SystemRows rows;
    for (const auto& info : sources.catalog->databases()) {
        SystemRow row;
        row.set("name", info.name);
        row.set("engine", info.engine);
        row.set("engine_full", info.engine);
        row.set("data_path", sources.path + "/store/");
        row.setUuid("uuid", info.uuid);
        row.set("comment", info.comment);
        rows.push_back(std::move(row));
    }
    return rows;
}

template <typename Visit>
void forEachTable(const SystemSources& sources, const Visit& visit) {
    for (const auto& info : sources.catalog->databases())
        for (const auto& [name, table] : sources.catalog->tables(info.name)) visit(info.name, name, *table);
}

void setSize(SystemRow& row, std::string_view column, std::optional<uint64_t> size) {
    if (size) row.setNumber(column, *size);
}

SystemRows tables(const SystemSources& sources) {
    SystemRows rows;
    forEachTable(sources, [&](const std::string& database, const std::string& name,
                              const storage::Table& table) {
        const auto schema = table.schema();
        SystemRow row;
        row.set("database", database);
        row.set("name", name);
        row.setUuid("uuid", schema->uuid);
        row.set("engine", schema->engine);
        row.set("engine_full", schema->engine_full);
        row.set("create_table_query", schema->create_query);
        row.set("partition_key", schema->partition_key);
        row.set("sorting_key", schema->sorting_key);
        row.set("primary_key", schema->primary_key);
        row.set("sampling_key", schema->sampling_key);
        row.set("comment", schema->comment);
        if (schema->engine.ends_with("MergeTree")) {
            row.set("storage_policy", "default");
            row.set("data_paths", std::vector<std::string>{sources.catalog->dataPath(schema->uuid) + "/"});
        }
        row.setNumber("has_own_data", schema->engine != "Distributed" && database != "system" ? 1 : 0);
        setSize(row, "total_rows", table.totalRows());
        setSize(row, "total_bytes", table.totalBytes());
        rows.push_back(std::move(row));
    });
    return rows;
}

// 202401, 2024-01-02, ('a',1), tuple().
std::string partitionText(const storage::MergeTree& table, const storage::Part& part) {
    const auto& elements = table.partitionKey().elements;
    if (elements.empty()) return "tuple()";
    const bool single = elements.size() == 1;
    std::string text;
    for (size_t i = 0; i < elements.size(); ++i)
        text += (i == 0 ? "" : ",") + formats::textOf(*part.partitionValues()[i], 0, removeLowCardinality(elements[i].type),
                                                      single ? formats::TextStyle::Plain : formats::TextStyle::Quoted);
    return single ? text : "(" + text + ")";
}

SystemRows parts(const SystemSources& sources) {
    SystemRows rows;
    forEachTable(sources, [&](const std::string& database, const std::string& name, const storage::Table& table) {
        const auto* merge_tree = dynamic_cast<const storage::MergeTree*>(&table);
        if (!merge_tree) return;
        for (const storage::PartPtr& part : merge_tree->parts()) {
            const storage::PartInfo& info = part->info();
            SystemRow row;
            row.set("database", database);
            row.set("table", name);
            row.set("engine", table.schema()->engine);
            row.set("name", part->name());
            row.set("partition", partitionText(*merge_tree, *part));
            row.set("partition_id", info.partition_id);
            row.set("part_type", part->compact() ? "Compact" : "Wide");
            row.setNumber("active", 1);
            row.setNumber("visible", 1);
            row.setNumber("rows", part->rows());
            row.setNumber("marks", part->index().granules() + 1);
            row.setNumber("files", part->checksums().files.size());
            row.setNumber("bytes_on_disk", part->checksums().totalBytes());
            row.setNumber("data_compressed_bytes", part->checksums().totalBytes());
            row.setNumber("data_uncompressed_bytes", part->dataBytes());
            row.setNumber("refcount", 1);
            row.setSigned("min_block_number", info.min_block);
            row.setSigned("max_block_number", info.max_block);
            row.setNumber("level", info.level);
            row.setNumber("data_version", static_cast<uint64_t>(info.mutation == 0 ? info.min_block : info.mutation));
            row.set("disk_name", "default");
            row.set("path", part->path() + "/");
            row.set("default_compression_codec", "LZ4");
            row.setNumber("has_lightweight_delete", part->hasRowMask() ? 1 : 0);
            rows.push_back(std::move(row));
        }
    });
    return rows;
}

std::string_view kindName(storage::DefaultKind kind) {
    constexpr std::string_view kNames[] = {"", "DEFAULT", "MATERIALIZED", "ALIAS", "EPHEMERAL"};
    return kNames[static_cast<size_t>(kind)];
}

// "a, toDate(t)" names the column a: a key's expressions, each by its text.
bool keyHasColumn(std::string_view key, std::string_view column) {
    size_t begin = 0;
    int depth = 0;
    for (size_t i = 0; i <= key.size(); ++i) {
        if (i < key.size() && key[i] == '(') ++depth;
        if (i < key.size() && key[i] == ')') --depth;
        if (i < key.size() && (key[i] != ',' || depth > 0)) continue;
        std::string_view part = key.substr(begin, i - begin);
        while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
        if (part == column) return true;
        begin = i + 1;
    }
    return false;
}

// What information_schema says of a number type: its bits, and the base of the digits.
void setPrecision(SystemRow& row, std::string_view type) {
    const bool is_unsigned = type.starts_with("UInt");
    if (is_unsigned || type.starts_with("Int")) {
        const std::string_view digits = type.substr(is_unsigned ? 4 : 3);
        if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) return;
        uint64_t bits = 0;
        for (const char digit : digits) bits = bits * 10 + static_cast<uint64_t>(digit - '0');
        row.setNumber("numeric_precision", bits);
        row.setNumber("numeric_precision_radix", 2);
        row.setNumber("numeric_scale", 0);
    } else if (type == "Float32" || type == "Float64") {
        row.setNumber("numeric_precision", type == "Float32" ? 32 : 64);
        row.setNumber("numeric_precision_radix", 2);
    } else if (type == "DateTime" || type.starts_with("DateTime(")) {
        row.setNumber("datetime_precision", 0);
    }
}

SystemRow columnRow(const storage::TableSchema& schema, const storage::ColumnDefinition& column) {
    SystemRow row;
    row.set("name", column.name);
    row.set("type", column.type->name());
    row.set("default_kind", kindName(column.default_kind));
    row.set("default_expression", column.default_expression);
    row.set("comment", column.comment);
    row.set("compression_codec", column.codec);
    row.setNumber("is_in_partition_key", keyHasColumn(schema.partition_key, column.name) ? 1 : 0);
    row.setNumber("is_in_sorting_key", keyHasColumn(schema.sorting_key, column.name) ? 1 : 0);
    row.setNumber("is_in_primary_key", keyHasColumn(schema.primary_key, column.name) ? 1 : 0);
    row.setNumber("is_in_sampling_key", keyHasColumn(schema.sampling_key, column.name) ? 1 : 0);
    setPrecision(row, column.type->name());
    return row;
}

SystemRows columns(const SystemSources& sources) {
    SystemRows rows;
    forEachTable(sources,
                 [&](const std::string& database, const std::string& name, const storage::Table& table) {
                     const auto schema = table.schema();
                     uint64_t position = 0;
                     for (const auto& column : schema->columns) {
                         SystemRow row = columnRow(*schema, column);
                         row.set("database", database);
                         row.set("table", name);
                         row.setNumber("position", ++position);
                         rows.push_back(std::move(row));
                     }
                 });
    return rows;
}

SystemRows tableEngines(const SystemSources& sources) {
    SystemRows rows;
    for (const storage::EngineInfo* engine : sources.catalog->engines()) {
        SystemRow row;
        row.set("name", engine->name);
        row.setNumber("supports_settings", engine->takes_settings);
        row.setNumber("supports_sort_order", engine->takes_keys);
        row.setNumber("supports_ttl", engine->takes_ttl);
        row.setNumber("supports_skipping_indices", engine->takes_indices);
        row.setNumber("supports_parallel_insert", 1);
        rows.push_back(std::move(row));
    }
    return rows;
}

SystemRows tableFunctions(const SystemSources& sources) {
    SystemRows rows;
    for (const storage::TableFunctionInfo* function : sources.catalog->tableFunctions()) {
        SystemRow row;
        row.set("name", function->name);
        row.setNumber("allow_readonly", 1);
        rows.push_back(std::move(row));
    }
    return rows;
}

}  // namespace

std::vector<SystemTableFiller> catalogFillers() {
    return {
        {"databases", databases},
        {"tables", tables},
        {"columns", columns},
        {"parts", parts},
        {"table_engines", tableEngines},
        {"table_functions", tableFunctions},
    };
}

}  // namespace shardd::daemon
