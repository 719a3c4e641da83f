#include "server/daemon/system_tables.h"

#include <algorithm>
#include <mutex>

#include "common/base/error.h"
#include "common/columns/create_column.h"
#include "common/types/type_parser.h"
#include "server/storage/memory_table.h"

namespace shardd::daemon {

namespace {

struct SystemTableColumns {
    std::string_view name;
    std::string_view columns;  ///< "name Type, …"
    std::string_view aliases;  ///< "alias=column,…"
};

constexpr SystemTableColumns kTables[] = {
#define SYSTEM_TABLE(name, columns, aliases) {#name, columns, aliases},
#include "server/daemon/system_table_list.inc"
#undef SYSTEM_TABLE
};

// "a UInt8, b Map(String, String)" at its outer commas.
std::vector<std::string_view> splitColumns(std::string_view text) {
    std::vector<std::string_view> parts;
    int depth = 0;
    bool quoted = false;
    size_t begin = 0;
    for (size_t i = 0; i <= text.size(); ++i) {
        const char letter = i < text.size() ? text[i] : ',';
        if (letter == '\'') quoted = !quoted;
        if (quoted) continue;
        if (letter == '(') ++depth;
        if (letter == ')') --depth;
        if (letter != ',' || depth != 0) continue;
        if (i > begin) parts.push_back(text.substr(begin, i - begin));
        begin = i + 1;
        while (begin < text.size() && text[begin] == ' ') ++begin;
    }
    return parts;
}

storage::TableSchema makeSchema(const SystemTableColumns& table) {
    storage::TableSchema schema;
    schema.database = "system";
    schema.name = table.name;
    schema.engine = "System";
    for (const std::string_view part : splitColumns(table.columns)) {
        const size_t space = part.find(' ');
        storage::ColumnDefinition column;
        column.name = part.substr(0, space);
        column.type = parseType(part.substr(space + 1));
        schema.columns.push_back(std::move(column));
    }
    for (const std::string_view part : splitColumns(table.aliases)) {
        const size_t equals = part.find('=');
        const storage::ColumnDefinition* target = schema.find(part.substr(equals + 1));
        SHARDD_CHECK(target != nullptr);
        storage::ColumnDefinition column;
        column.name = part.substr(0, equals);
        column.type = target->type;
        column.default_kind = storage::DefaultKind::Alias;
        column.default_expression = target->name;
        schema.columns.push_back(std::move(column));
    }
    return schema;
}

// Rows are made when the scan begins, as one block of the columns asked for.
class SystemTable final : public storage::NamedTable {
public:
    SystemTable(storage::TableSchema schema, SystemSources sources, FillSystemTable fill)
        : NamedTable(std::move(schema)), sources_(std::move(sources)), fill_(std::move(fill)) {}

    std::vector<BlockSourcePtr> scan(const storage::ScanRequest& request) const override {
        Block header = headerFor(request.columns);
        std::vector<Block> blocks;
        if (fill_) {
            const SystemRows rows = fill_(sources_);
            if (!rows.empty()) blocks.push_back(makeBlock(header, rows));
        }
        std::vector<BlockSourcePtr> list;
        list.push_back(std::make_unique<storage::BlocksSource>(std::move(header), std::move(blocks)));
        return list;
    }

private:
    static Block makeBlock(const Block& header, const SystemRows& rows) {
        Block block;
        for (const NamedColumn& wanted : header.columns) {
            MutableColumnPtr column = createColumn(*wanted.type);
            for (const SystemRow& row : rows) {
                const auto found =
                    std::find_if(row.values().begin(), row.values().end(),
                                 [&](const auto& entry) { return entry.first == wanted.name; });
                if (found != row.values().end())
                    column->insert(found->second);
                else
                    insertDefaults(*wanted.type, *column, 1);
            }
            block.add({wanted.name, wanted.type, std::move(column)});
        }
        block.rows = rows.size();
        return block;
    }

    SystemSources sources_;
    FillSystemTable fill_;
};

}  // namespace

void SystemRow::set(std::string_view column, std::string_view text) { set(column, Value(std::string(text))); }

void SystemRow::set(std::string_view column, const std::vector<std::string>& texts) {
    ArrayValue array;
    for (const auto& text : texts) array.elements.emplace_back(std::string(text));
    set(column, Value(std::move(array)));
}

void SystemRow::setUuid(std::string_view column, std::string_view uuid) {
    UInt128 number = 0;
    for (const char letter : uuid) {
        if (letter == '-') continue;
        const int digit = letter <= '9' ? letter - '0' : (letter | 0x20) - 'a' + 10;
        number = number * 16 + static_cast<unsigned>(digit & 15);
    }
    set(column, Value(number));
}

std::vector<storage::TablePtr> makeSystemTables(const SystemSources& sources) {
    std::vector<SystemTableFiller> fillers = catalogFillers();
    for (auto& filler : serverFillers()) fillers.push_back(std::move(filler));
    for (auto& filler : distributedFillers()) fillers.push_back(std::move(filler));
    for (auto& filler : clusterFillers()) fillers.push_back(std::move(filler));
    std::vector<storage::TablePtr> tables;
    for (const SystemTableColumns& table : kTables) {
        const auto filler = std::find_if(fillers.begin(), fillers.end(),
                                         [&](const auto& candidate) { return candidate.name == table.name; });
        tables.push_back(std::make_shared<SystemTable>(
            makeSchema(table), sources, filler == fillers.end() ? FillSystemTable() : filler->fill));
    }
    return tables;
}

}  // namespace shardd::daemon
