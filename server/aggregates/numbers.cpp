#include "server/aggregates/numbers.h"

#include "common/columns/tuple_column.h"
#include "server/aggregates/sum_type.h"

namespace shardd::aggregates {

double powerOfTen(unsigned scale) {
    double result = 1;
    for (unsigned i = 0; i < scale; ++i) result *= 10;
    return result;
}

bool canBeSummed(const Type& argument) { return argument.isNumber(); }

TypePtr sumType(const Type& argument) {
    if (argument.isDecimal())
        return types::decimal(argument.kind() == TypeKind::Decimal256 ? 76 : 38, argument.scale());
    if (argument.isFloat()) return types::float64();
    switch (argument.kind()) {
        case TypeKind::UInt128:
        case TypeKind::UInt256:
        case TypeKind::Int128:
        case TypeKind::Int256:
            return types::simple(argument.kind());
        case TypeKind::Int8:
        case TypeKind::Int16:
        case TypeKind::Int32:
        case TypeKind::Int64:
        case TypeKind::Enum8:
        case TypeKind::Enum16:
            return types::int64();
        default:
            return types::uint64();
    }
}

}  // namespace shardd::aggregates
