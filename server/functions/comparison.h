#pragma once

#include "server/functions/function.h"

/// Comparison of two columns, the kernels of it.
namespace shardd::functions {

enum class CompareOp : uint8_t { Equals, NotEquals, Less, Greater, LessOrEquals, GreaterOrEquals };

/// What the op says of a three-way result.
inline bool holds(CompareOp op, int order) {
    switch (op) {
        case CompareOp::Equals:
            return order == 0;
        case CompareOp::NotEquals:
            return order != 0;
        case CompareOp::Less:
            return order < 0;
        case CompareOp::Greater:
            return order > 0;
        case CompareOp::LessOrEquals:
            return order <= 0;
        case CompareOp::GreaterOrEquals:
            return order >= 0;
    }
    return false;
}

/// Types whose values are one plain number in memory, whatever it means: integers, floats, Bool, dates,
/// enums, IPv4 ….
bool isComparedAsNumber(const Type& type);

/// Exact also where an integer meets a float or a sign differs. NaN equals nothing.
/// Shapes: full or constant columns of isComparedAsNumber types, not both constant.
ColumnPtr compareNumbers(CompareOp op, const NamedColumn& left, const NamedColumn& right, size_t rows);
/// Decimals with Decimals, integers and floats.
ColumnPtr compareDecimals(CompareOp op, const NamedColumn& left, const NamedColumn& right, size_t rows);
/// String and FixedString; zero bytes at the end of a FixedString do not count.
ColumnPtr compareTexts(CompareOp op, const NamedColumn& left, const NamedColumn& right, size_t rows);
/// Dates and times of different kinds; a date is its midnight in the other's zone.
ColumnPtr compareMoments(CompareOp op,
                         const NamedColumn& left,
                         const NamedColumn& right,
                         size_t rows,
                         const std::string& session_zone);
/// Columns of one type, by Column::compareAt; NULLs inside are equal and greatest.
ColumnPtr compareAny(CompareOp op, const ColumnPtr& left, const ColumnPtr& right, size_t rows);

}  // namespace shardd::functions
