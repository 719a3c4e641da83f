#include "common/columns/column.h"

#include "common/base/error.h"
#include "common/columns/const_column.h"
#include "common/columns/dictionary_column.h"

namespace shardd {

std::string_view Column::bytesAt(size_t /*row*/) const {
    throw Error(ErrorCode::LOGICAL_ERROR, "A column of kind {} has no bytes of one value", static_cast<int>(kind()));
}

void Column::insertRepeated(const Column& source, size_t row, size_t count) {
    for (size_t i = 0; i < count; ++i) insertFrom(source, row);
}

ColumnPtr Column::replicate(std::span<const uint64_t> ends) const {
    PodVector<RowIndex> rows(ends.empty() ? 0 : ends.back());
    uint64_t at = 0;
    for (size_t row = 0; row < ends.size(); ++row)
        for (; at < ends[row]; ++at) rows[at] = static_cast<RowIndex>(row);
    return gather(rows.span());
}

ColumnPtr full(const ColumnPtr& column) {
    return column->kind() == ColumnKind::Const ? static_cast<const ConstColumn&>(*column).expand() : column;
}

ColumnPtr fullPlain(const ColumnPtr& column) {
    if (column->kind() == ColumnKind::Const) {
        const auto& constant = static_cast<const ConstColumn&>(*column);
        return ConstColumn(fullPlain(constant.one()), constant.size()).expand();
    }
    return column->kind() == ColumnKind::Dictionary ? static_cast<const DictionaryColumn&>(*column).plain() : column;
}

void failColumnCast(const Column& column, const char* wanted) {
    throw Error(ErrorCode::LOGICAL_ERROR, "A column of kind {} ({}) was taken for {}", static_cast<int>(column.kind()), typeid(column).name(), wanted);
}

}  // namespace shardd
