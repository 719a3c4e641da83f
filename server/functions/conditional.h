#pragma once

#include "server/functions/simple_function.h"

/// What the functions that choose among their arguments share.
namespace shardd::functions {

/// Traits of a function that chooses with NULLs in sight, dictionaries left to the frame.
Traits choosingByKey();

/// Nullable(Nothing): the type of a literal NULL.
bool isNullOnly(const TypePtr& type);

/// Whether a condition holds, for each row; NULL is no. `out` has a byte a row.
void conditionOf(const NamedColumn& argument, PodVector<uint8_t>& out);

/// Another function's answer.
NamedColumn call(std::string_view name,
                 const std::vector<NamedColumn>& arguments,
                 size_t rows,
                 const std::shared_ptr<const FunctionContext>& context);

}  // namespace shardd::functions
