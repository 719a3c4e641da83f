#include "server/functions/map_support.h"

#include "common/columns/tuple_column.h"

namespace shardd::functions {

namespace {

NamedColumn mapPart(const NamedColumn& map, size_t part) {
    const TypePtr type = types::array(map.type->child(part));
    if (!map.column) return {map.name, type, nullptr};
    const bool constant = map.column->kind() == ColumnKind::Const;
    const ColumnPtr column = constant ? as<ConstColumn>(*map.column).one() : map.column;
    const auto& arrays = as<ArrayColumn>(*column);
    ColumnPtr result =
        std::make_shared<ArrayColumn>(as<TupleColumn>(*arrays.elements()).element(part), arrays.ends());
    if (constant) result = std::make_shared<ConstColumn>(std::move(result), map.column->size());
    return {map.name, type, std::move(result)};
}

}  // namespace

NamedColumn mapKeysArgument(const NamedColumn& map) { return mapPart(map, 0); }

NamedColumn mapValuesArgument(const NamedColumn& map) { return mapPart(map, 1); }

ColumnPtr makeMap(ColumnPtr keys, ColumnPtr values, PodVector<uint64_t> ends) {
    const size_t rows = keys->size();
    return std::make_shared<ArrayColumn>(
        std::make_shared<TupleColumn>(std::vector<ColumnPtr>{std::move(keys), std::move(values)}, rows),
        std::move(ends));
}

}  // namespace shardd::functions
