#include <set>

#include <gtest/gtest.h>

#include "server/functions/function_list.h"
#include "tests/unit/server/functions/evaluate.h"

namespace shardd::functions {
namespace {

/// What the documentation says of a function is what it answers.
TEST(Examples, AreTrue) {
    for (const FunctionInfo& info : allFunctions()) {
        if (info.example.empty() || info.example_result.empty()) continue;
        std::string result;
        try {
            const NamedColumn value = evaluate(sql::parseExpression(info.example));
            result = formats::textOf(*value.column, 0, value.type);
        } catch (const Error& error) {
            // Lambdas are evaluated by exec.
            if (error.is(ErrorCode::NOT_IMPLEMENTED)) continue;
            result = error.message();
        }
        EXPECT_EQ(result, info.example_result) << info.name << ": " << info.example;
    }
}

TEST(FunctionList, NamesAreUnique) {
    std::set<std::string_view> names;
    for (const FunctionInfo& info : allFunctions()) EXPECT_TRUE(names.insert(info.name).second) << info.name;
}

TEST(FunctionList, NearNamesAreTold) {
    const std::vector<std::string> near = similarFunctionNames("equalz");
    ASSERT_FALSE(near.empty());
    EXPECT_EQ(near[0], "equals");
}

}  // namespace
}  // namespace shardd::functions
