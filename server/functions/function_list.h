#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "server/functions/function.h"

namespace shardd::functions {

/// One function, as system.functions and the documentation show it.
struct FunctionInfo {
    std::string_view name;
    FunctionPtr (*create)(const std::shared_ptr<const FunctionContext>& context);
    bool case_insensitive = false;
    /// "plus(a, b)".
    std::string_view syntax = {};
    /// One sentence.
    std::string_view description = {};
    /// "plus(1, 2)" and its answer "3"; a test runs every example.
    std::string_view example = {};
    std::string_view example_result = {};
};

struct FunctionAlias {
    std::string_view alias;
    std::string_view name;
    bool case_insensitive = false;
};

/// All functions of all families, in the order of the families.
const std::vector<FunctionInfo>& allFunctions();
const std::vector<FunctionAlias>& allFunctionAliases();

/// By name, alias, or either in another case where that is allowed; nullptr when there is none.
const FunctionInfo* findFunctionInfo(std::string_view name);

/// Names near a wrong one, best first, for the error's hint.
std::vector<std::string> similarFunctionNames(std::string_view name);

}  // namespace shardd::functions
