#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace shardd {

/// Steps from one word to the other: insert, drop, change or swap neighbours; letters' case is free.
size_t editDistance(std::string_view left, std::string_view right);

/// The candidates a typing mistake away from `name`, nearest first, at most `limit`.
std::vector<std::string> nearestNames(std::string_view name,
                                      const std::vector<std::string_view>& candidates,
                                      size_t limit = 2);

}  // namespace shardd
