#pragma once

#include <string>

#include "server/plan/query_tree.h"

namespace shardd::plan {

/// A physical value as the names of constants print it: 18262, 'x', [1, 2], 0.9, NULL.
std::string constantText(const Type& type, const Value& value);

/// The type that the text of the value alone would have: UInt8 for 3, Int8 for -3, Array(UInt8) for [1, 2].
TypePtr literalType(const Value& value);

/// Whether a constant must be written _CAST(literal, 'Type') for another server to see the same type.
bool needsCast(const Node& constant);

/// Fills name and old_name from the parts of the node, whose arguments have theirs.
void nameNode(Node& node);

}  // namespace shardd::plan
