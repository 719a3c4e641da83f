#include "server/functions/column_tools.h"

#include "common/columns/array_column.h"
#include "common/columns/create_column.h"
#include "common/columns/dictionary_column.h"
#include "common/columns/nullable_column.h"
#include "common/columns/tuple_column.h"

namespace shardd::functions {

bool canBeInsideLowCardinality(const TypePtr& type) {
    switch (type->kind()) {
        case TypeKind::Nullable:
            return canBeInsideLowCardinality(type->child()) && type->child()->kind() != TypeKind::Nothing;
        case TypeKind::Bool:
        case TypeKind::Date:
        case TypeKind::Date32:
        case TypeKind::DateTime:
        case TypeKind::String:
        case TypeKind::FixedString:
        case TypeKind::UUID:
        case TypeKind::IPv4:
        case TypeKind::IPv6:
            return true;
        default:
            return type->isInteger() || type->isFloat();
    }
}

ColumnPtr writeOutDictionaries(const ColumnPtr& column, const TypePtr& type) {
    if (column->kind() == ColumnKind::Const) {
        const auto& constant = as<ConstColumn>(*column);
        ColumnPtr one = writeOutDictionaries(constant.one(), type);
        return one == constant.one() ? column
                                     : std::make_shared<ConstColumn>(std::move(one), constant.size());
    }
    switch (column->kind()) {
        case ColumnKind::Dictionary:
            return as<DictionaryColumn>(*column).plain();
        case ColumnKind::Array: {
            const auto& array = as<ArrayColumn>(*column);
            const TypePtr element =
                type->kind() == TypeKind::Map ? types::tuple(type->children()) : type->child();
            ColumnPtr elements = writeOutDictionaries(array.elements(), element);
            return elements == array.elements()
                       ? column
                       : std::make_shared<ArrayColumn>(std::move(elements), array.ends());
        }
        case ColumnKind::Tuple: {
            std::vector<ColumnPtr> elements = as<TupleColumn>(*column).elements();
            for (size_t i = 0; i < elements.size(); ++i)
                elements[i] = writeOutDictionaries(elements[i], type->child(i));
            return std::make_shared<TupleColumn>(std::move(elements), column->size());
        }
        default:
            return column;
    }
}

ColumnPtr valuesOfNullable(const ColumnPtr& column) {
    if (column->kind() == ColumnKind::Const) {
        const auto& constant = as<ConstColumn>(*column);
        return std::make_shared<ConstColumn>(valuesOfNullable(constant.one()), constant.size());
    }
    return as<NullableColumn>(*column).values();
}

ColumnPtr makeDictionary(const ColumnPtr& plain, const TypePtr& plain_type) {
    if (plain->kind() == ColumnKind::Const) {
        const auto& constant = as<ConstColumn>(*plain);
        return std::make_shared<ConstColumn>(makeDictionary(constant.one(), plain_type), constant.size());
    }
    auto result =
        DictionaryColumn::create(*createColumn(*removeNullable(plain_type)), plain_type->isNullable());
    result->insertRange(*plain, 0, plain->size());
    return result;
}

ColumnPtr remapDictionary(const ColumnPtr& values,
                          const TypePtr& plain_type,
                          const PodVector<uint32_t>& codes) {
    const ColumnPtr keyed = makeDictionary(values, plain_type);
    const auto& dictionary = as<DictionaryColumn>(*keyed);
    PodVector<uint32_t> mapped(codes.size());
    for (size_t i = 0; i < codes.size(); ++i) mapped[i] = dictionary.codes()[codes[i]];
    return std::make_shared<DictionaryColumn>(dictionary.keys(), std::move(mapped), dictionary.nullable());
}

}  // namespace shardd::functions
