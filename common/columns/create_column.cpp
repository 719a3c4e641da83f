#include "common/columns/create_column.h"

#include "common/base/error.h"
#include "common/columns/array_column.h"
#include "common/columns/const_column.h"
#include "common/columns/dictionary_column.h"
#include "common/columns/fixed_column.h"
#include "common/columns/fixed_string_column.h"
#include "common/columns/nullable_column.h"
#include "common/columns/state_column.h"
#include "common/columns/string_column.h"
#include "common/columns/tuple_column.h"

namespace shardd {

namespace {

MutableColumnPtr createTuple(const std::vector<TypePtr>& types) {
    std::vector<ColumnPtr> elements;
    elements.reserve(types.size());
    for (const TypePtr& type : types) elements.push_back(createColumn(*type));
    return std::make_unique<TupleColumn>(std::move(elements), 0);
}

}  // namespace

MutableColumnPtr createColumn(const Type& type) {
    MutableColumnPtr column;
    if (dispatchPhysical(type.physical(), [&](auto tag) { column = std::make_unique<FixedColumn<typename decltype(tag)::Type>>(); }))
        return column;
    switch (type.kind()) {
        case TypeKind::String:
            return std::make_unique<StringColumn>();
        case TypeKind::FixedString:
            return std::make_unique<FixedStringColumn>(type.fixedSize());
        case TypeKind::Nullable:
            return std::make_unique<NullableColumn>(ColumnPtr(createColumn(*type.child())), Mask());
        case TypeKind::LowCardinality: {
            const bool nullable = type.child()->isNullable();
            return DictionaryColumn::create(*createColumn(nullable ? *type.child()->child() : *type.child()), nullable);
        }
        case TypeKind::Array:
            return std::make_unique<ArrayColumn>(ColumnPtr(createColumn(*type.child())));
        case TypeKind::Map:
            return std::make_unique<ArrayColumn>(ColumnPtr(createTuple(type.children())));
        case TypeKind::Tuple:
            return createTuple(type.children());
        case TypeKind::AggregateFunction:
            return std::make_unique<StateColumn>(type.aggregate());
        default:
            throw Error(ErrorCode::LOGICAL_ERROR, "No column holds values of type {}", type.name());
    }
}

ColumnPtr createConstColumn(const Type& type, const Value& value, size_t rows) {
    MutableColumnPtr one = createColumn(type);
    one->insert(value);
    return std::make_shared<ConstColumn>(ColumnPtr(std::move(one)), rows);
}

Value defaultValue(const Type& type) {
    if (type.isEnum()) return Value(static_cast<int64_t>(type.enumValues().front().second));
    MutableColumnPtr one = createColumn(type);
    insertDefaults(type, *one, 1);
    return one->value(0);
}

void insertDefaults(const Type& type, Column& column, size_t rows) {
    const bool has_enum = type.isEnum() || (type.kind() == TypeKind::Tuple);
    if (!has_enum) {
        column.insertDefault(rows);
        return;
    }
    if (type.isEnum()) {
        const Value value(static_cast<int64_t>(type.enumValues().front().second));
        for (size_t i = 0; i < rows; ++i) column.insert(value);
        return;
    }
    TupleValue tuple;
    for (const TypePtr& child : type.children()) tuple.elements.push_back(defaultValue(*child));
    const Value value(std::move(tuple));
    for (size_t i = 0; i < rows; ++i) column.insert(value);
}

}  // namespace shardd
