#include "server/exec/values_function.h"

#include "common/base/error.h"
#include "common/columns/create_column.h"
#include "server/functions/convert.h"
#include "server/functions/supertype.h"
#include "server/storage/memory_table.h"

namespace shardd::exec {

namespace {

struct Cell {
    Value value;
    TypePtr type;
};

using Row = std::vector<Cell>;

Row rowOf(const storage::Argument& argument, size_t width) {
    if (!argument.value || !argument.type)
        throw Error(ErrorCode::BAD_ARGUMENTS, "Table function VALUES requires constant rows, not {}",
                    argument.text);
    const bool is_tuple = argument.type->kind() == TypeKind::Tuple;
    Row row;
    if (is_tuple && width != 1)
        for (size_t i = 0; i < argument.type->children().size(); ++i)
            row.push_back({argument.value->elements()[i], argument.type->child(i)});
    else
        row.push_back({*argument.value, argument.type});
    return row;
}

/// The columns of the first argument when it is a structure; nothing when it is a row.
std::vector<storage::ColumnDefinition> structureOf(const storage::TableFunctionRequest& request) {
    const storage::Argument& first = request.arguments[0];
    if (request.arguments.size() < 2 || !first.value || first.value->kind() != Value::Kind::String ||
        !request.parse_structure)
        return {};
    try {
        return request.parse_structure(first.value->get<std::string>());
    } catch (const Error&) {
        return {};
    }
}

ColumnPtr makeColumn(const std::vector<Row>& rows, size_t position, const TypePtr& type) {
    MutableColumnPtr column = createColumn(*type);
    for (const Row& row : rows) {
        const Cell& cell = row[position];
        MutableColumnPtr one = createColumn(*cell.type);
        one->insert(cell.value);
        try {
            column->insertFrom(
                *full(functions::castColumn({"value", cell.type, ColumnPtr(std::move(one))}, type)), 0);
        } catch (const Error& error) {
            if (cell.type->isString())
                throw Error(ErrorCode::TYPE_MISMATCH, "Cannot convert string to type {}: {}", type->name(),
                            error.message());
            throw;
        }
    }
    return column;
}

storage::TablePtr createValues(const storage::TableFunctionRequest& request) {
    if (request.arguments.empty())
        throw Error(ErrorCode::TOO_FEW_ARGUMENTS_FOR_FUNCTION,
                    "Table function 'values' requires at least 1 argument");
    storage::TableSchema schema;
    schema.database = "_table_function";
    schema.name = "values";
    schema.engine = "Values";
    schema.columns = structureOf(request);
    const size_t first_row = schema.columns.empty() ? 0 : 1;
    size_t width = schema.columns.size();
    if (width == 0) {
        const TypePtr& type = request.arguments[0].type;
        width = type && type->kind() == TypeKind::Tuple ? type->children().size() : 1;
    }
    std::vector<Row> rows;
    for (size_t i = first_row; i < request.arguments.size(); ++i) {
        rows.push_back(rowOf(request.arguments[i], width));
        if (rows.back().size() != width)
            throw Error(ErrorCode::BAD_ARGUMENTS,
                        "Table function VALUES requires all but the first argument (rows specification) to "
                        "be either tuples or single values");
    }
    if (schema.columns.empty()) {
        for (size_t position = 0; position < width; ++position) {
            std::vector<TypePtr> types;
            for (const Row& row : rows) types.push_back(row[position].type);
            schema.columns.push_back(
                {.name = "c" + std::to_string(position + 1), .type = functions::leastSupertype(types)});
        }
    }
    Block block;
    block.rows = rows.size();
    for (size_t position = 0; position < width; ++position) {
        const storage::ColumnDefinition& column = schema.columns[position];
        block.columns.push_back({column.name, column.type, makeColumn(rows, position, column.type)});
    }
    auto table = std::make_shared<storage::MemoryTable>(std::move(schema));
    std::vector<Block> blocks;
    blocks.push_back(std::move(block));
    table->append(std::move(blocks));
    return table;
}

}  // namespace

storage::TableFunctionInfo valuesFunction() {
    return {.name = "values", .create = createValues, .case_insensitive = true};
}

storage::TableFunctionInfo viewFunction() {
    return {.name = "view", .create = [](const storage::TableFunctionRequest&) -> storage::TablePtr {
                throw Error(ErrorCode::BAD_ARGUMENTS, "Table function 'view' requires a query argument");
            }};
}

}  // namespace shardd::exec
