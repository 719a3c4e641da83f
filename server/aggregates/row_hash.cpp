#include "server/aggregates/row_hash.h"

#include <algorithm>

#include "common/columns/array_column.h"
#include "common/columns/fixed_string_column.h"
#include "common/columns/tuple_column.h"

namespace shardd::aggregates {

bool isContiguous(const Type& type) {
    if (type.kind() == TypeKind::String || type.width() != 0) return true;
    return type.kind() == TypeKind::Array && type.child()->width() != 0;
}

std::string_view contiguousBytes(const Column& column, size_t row) {
    if (column.kind() != ColumnKind::Array) return column.bytesAt(row);
    const auto& array = static_cast<const ArrayColumn&>(column);
    const size_t length = array.lengthAt(row);
    if (length == 0) return {};
    const std::string_view first = array.elements()->bytesAt(array.startAt(row));
    return {first.data(), first.size() * length};
}

UInt128 sipRow(const Column* const* columns, size_t count, size_t row) {
    SipHash hash;
    for (size_t i = 0; i < count; ++i) columns[i]->updateSipHash(row, hash);
    return toUInt128(hash.get128());
}

bool isNumberKey(const Type& type) {
    switch (type.kind()) {
        case TypeKind::Bool:
        case TypeKind::Date:
        case TypeKind::Date32:
        case TypeKind::DateTime:
        case TypeKind::Enum8:
        case TypeKind::Enum16:
        case TypeKind::UUID:
        case TypeKind::IPv4:
            return true;
        default:
            return type.isInteger() || type.isFloat();
    }
}

RowHash64::RowHash64(const std::vector<TypePtr>& arguments) : count_(arguments.size()) {
    const auto contiguous = [](const TypePtr& type) { return isContiguous(*type); };
    if (count_ == 1 && isContiguous(*arguments[0]))
        way_ = Way::Bytes;
    else if (count_ == 1 && arguments[0]->kind() == TypeKind::Tuple && !arguments[0]->children().empty() &&
             std::ranges::all_of(arguments[0]->children(), contiguous))
        way_ = Way::ChainTuple;
    else if (count_ > 1 && std::ranges::all_of(arguments, contiguous))
        way_ = Way::Chain;
    else
        way_ = Way::Sip;
}

uint64_t RowHash64::operator()(const Column* const* columns, size_t row) const {
    switch (way_) {
        case Way::Bytes:
            return cityHash64(contiguousBytes(*columns[0], row));
        case Way::Chain: {
            uint64_t hash = cityHash64(contiguousBytes(*columns[0], row));
            for (size_t i = 1; i < count_; ++i)
                hash = hash128To64(cityHash64(contiguousBytes(*columns[i], row)), hash);
            return hash;
        }
        case Way::ChainTuple: {
            const auto& elements = static_cast<const TupleColumn&>(*columns[0]).elements();
            uint64_t hash = cityHash64(contiguousBytes(*elements[0], row));
            for (size_t i = 1; i < elements.size(); ++i)
                hash = hash128To64(cityHash64(contiguousBytes(*elements[i], row)), hash);
            return hash;
        }
        case Way::Sip:
            return static_cast<uint64_t>(sipRow(columns, count_, row));
    }
    return 0;
}

}  // namespace shardd::aggregates
