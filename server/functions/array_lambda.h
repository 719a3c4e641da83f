#pragma once

#include "server/functions/array_support.h"

// Functions that run a lambda over the elements of arrays: f([lambda,] array, …).
namespace shardd::functions {

/// What a rule sees: element types without LowCardinality, the type that the lambda returns (the first
/// array's element type when there is none).
struct LambdaSignature {
    std::string_view name;
    std::vector<TypePtr> elements;
    TypePtr value;
    bool has_lambda;
};

/// What a kernel sees.
/// Shapes: `elements` and `values` are full and have `ends.back()` rows; the result has ends.size() rows.
struct LambdaCall {
    std::string_view name;
    const TypePtr& type;
    size_t rows;
    const std::vector<TypePtr>& element_types;
    const std::vector<ColumnPtr>& elements;
    const PodVector<uint64_t>& ends;
    TypePtr value_type;
    /// Of the lambda, or the elements of the first array.
    ColumnPtr values;
    bool has_lambda;
    /// The number before the arrays, where kTakesLimit.
    const IntegerArgument* limits;

    size_t start(size_t row) const { return row == 0 ? 0 : ends[row - 1]; }
};

using LambdaRule = TypePtr (*)(const LambdaSignature&);
using LambdaKernel = ColumnPtr (*)(const LambdaCall&);

enum LambdaManner : uint32_t {
    kLambdaOptional = 0,
    kLambdaNeeded = 1,
    kTakesLimit = 2,  // f([lambda,] limit, array, …)
};

FunctionPtr makeLambdaFunction(std::string_view name,
                               LambdaRule rule,
                               LambdaKernel kernel,
                               uint32_t manner,
                               const std::shared_ptr<const FunctionContext>& context);

template <FixedName kName, LambdaRule kRule, LambdaKernel kKernel, uint32_t kManner>
FunctionPtr createLambdaFunction(const std::shared_ptr<const FunctionContext>& context) {
    return makeLambdaFunction(kName.view(), kRule, kKernel, kManner, context);
}

template <FixedName kName, LambdaRule kRule, LambdaKernel kKernel, uint32_t kManner = kLambdaOptional>
FunctionInfo defineLambda(std::string_view syntax = {},
                          std::string_view description = {},
                          std::string_view example = {},
                          std::string_view example_result = {}) {
    return FunctionInfo{.name = kName.view(),
                        .create = &createLambdaFunction<kName, kRule, kKernel, kManner>,
                        .case_insensitive = false,
                        .syntax = syntax,
                        .description = description,
                        .example = example,
                        .example_result = example_result};
}

/// The lambda's values as conditions: NULL is false.
Mask conditionsOf(const LambdaCall& call);

/// ILLEGAL_TYPE_OF_ARGUMENT unless the lambda returns UInt8, Bool or Nullable of them.
void needCondition(const LambdaSignature& call);

/// The lambda in an argument; the type it returns. Errors: ILLEGAL_TYPE_OF_ARGUMENT when it is none.
const LambdaColumn& lambdaOf(std::string_view function, const NamedColumn& argument);
TypePtr lambdaResult(std::string_view function, const NamedColumn& argument);

/// A lambda's values over columns of `rows` rows, full and without dictionaries.
ColumnPtr runLambda(const LambdaColumn& lambda,
                    std::span<const uint64_t> ends,
                    std::span<const ColumnPtr> parameters,
                    size_t rows);

}  // namespace shardd::functions
