#include "server/exec/float_keys.h"

#include <limits>

#include "common/columns/array_column.h"
#include "common/columns/fixed_column.h"
#include "common/columns/nullable_column.h"
#include "common/columns/tuple_column.h"

namespace shardd::exec {

namespace {

template <typename T>
ColumnPtr normalized(const FixedColumn<T>& column) {
    auto result = std::make_unique<FixedColumn<T>>();
    result->values().resize(column.size());
    for (size_t i = 0; i < column.size(); ++i) {
        const T value = column.values()[i];
        // Adding zero to minus zero gives zero.
        result->values()[i] = value == value ? value + T{0} : std::numeric_limits<T>::quiet_NaN();
    }
    return result;
}

ColumnPtr normalizedTuple(const TupleColumn& tuple, const ColumnPtr& column) {
    std::vector<ColumnPtr> elements;
    bool changed = false;
    for (const ColumnPtr& element : tuple.elements()) {
        elements.push_back(withOneZeroAndOneNan(element));
        changed |= elements.back() != element;
    }
    return changed ? std::make_shared<TupleColumn>(std::move(elements), tuple.size()) : column;
}

}  // namespace

ColumnPtr withOneZeroAndOneNan(const ColumnPtr& column) {
    switch (column->kind()) {
        case ColumnKind::Fixed:
            if (const auto* doubles = dynamic_cast<const FixedColumn<double>*>(column.get()))
                return normalized(*doubles);
            if (const auto* floats = dynamic_cast<const FixedColumn<float>*>(column.get()))
                return normalized(*floats);
            return column;
        case ColumnKind::Nullable: {
            const auto& nullable = static_cast<const NullableColumn&>(*column);
            ColumnPtr values = withOneZeroAndOneNan(nullable.values());
            if (values == nullable.values()) return column;
            return std::make_shared<NullableColumn>(std::move(values), nullable.nulls());
        }
        case ColumnKind::Array: {
            const auto& array = static_cast<const ArrayColumn&>(*column);
            ColumnPtr elements = withOneZeroAndOneNan(array.elements());
            if (elements == array.elements()) return column;
            return std::make_shared<ArrayColumn>(std::move(elements), array.ends());
        }
        case ColumnKind::Tuple:
            return normalizedTuple(static_cast<const TupleColumn&>(*column), column);
        default:
            return column;
    }
}

}  // namespace shardd::exec
