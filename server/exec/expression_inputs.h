#pragma once

#include <string>
#include <vector>

#include "server/plan/plan.h"

namespace shardd::exec {

/// The block's columns that an expression reads; a lambda's own parameters are not among them.
std::vector<std::string> inputsOf(const plan::Expression& expression);

/// Those of all of them, each once.
std::vector<std::string> inputsOf(const std::vector<plan::NamedExpression>& expressions);

/// The block with no other columns than these; names that it does not have are left out.
Block onlyColumns(const Block& block, const std::vector<std::string>& names);

}  // namespace shardd::exec
