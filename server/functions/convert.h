#pragma once

#include <memory>

#include "server/functions/function.h"

/// Conversion of columns from type to type, as CAST does it; used wherever types must meet.
namespace shardd::functions {

/// `argument` as a column of `type` (CAST, not keeping NULLs of the source type). A constant stays one.
/// Errors: as CAST's, ILLEGAL_TYPE_OF_ARGUMENT, CANNOT_CONVERT_TYPE, CANNOT_PARSE_TEXT …
ColumnPtr castColumn(const NamedColumn& argument, const TypePtr& type, const FunctionContext& context = {});

/// As castColumn, but a value that the type cannot hold exactly becomes NULL; gives Nullable(type) unless
/// `type` cannot be NULL.
ColumnPtr accurateCastOrNull(const NamedColumn& argument,
                             const TypePtr& type,
                             const FunctionContext& context = {});

struct ConvertRules;

ColumnPtr accurateCastOrNull(const NamedColumn& argument, const TypePtr& type, ConvertRules rules);

/// As castColumn, by other rules (convert_kernels.h).
ColumnPtr castWith(const NamedColumn& argument, const TypePtr& type, const ConvertRules& rules);

/// The type that makes room for NULLs of a value converted to `type`.
TypePtr accurateCastOrNullType(const TypePtr& type);

/// A text literal as a value of `type`, for comparison and IN: TYPE_MISMATCH (53) where numbers, Decimals are
/// malformed, else the codes of the type's own reader.
Value literalAs(const std::string& text, const TypePtr& type, const FunctionContext& context);

}  // namespace shardd::functions
