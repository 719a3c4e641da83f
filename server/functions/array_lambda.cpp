#include "server/functions/array_lambda.h"

#include "server/functions/simple_function.h"

namespace shardd::functions {

const LambdaColumn& lambdaOf(std::string_view function, const NamedColumn& argument) {
    const auto* lambda = dynamic_cast<const LambdaColumn*>(argument.column.get());
    if (!lambda)
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    "First argument for function {} must be a lambda, found {}", function,
                    argument.type->name());
    return *lambda;
}

TypePtr lambdaResult(std::string_view function, const NamedColumn& argument) {
    return removeLowCardinalityRecursively(lambdaOf(function, argument).resultType());
}

ColumnPtr runLambda(const LambdaColumn& lambda,
                    std::span<const uint64_t> ends,
                    std::span<const ColumnPtr> parameters,
                    size_t rows) {
    const ColumnPtr values = full(lambda.prepare(ends)(parameters, rows));
    return writeOutDictionaries(values, lambda.resultType());
}

void needCondition(const LambdaSignature& call) {
    const TypePtr bare = removeNullable(call.value);
    const TypeKind kind = bare->kind();
    if (kind == TypeKind::UInt8 || kind == TypeKind::Bool || kind == TypeKind::Nothing) {
        if (call.has_lambda || !call.value->isNullable()) return;
        throw Error(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            "The 1st and only argument for function {} must be array of UInt8. Found Array({}) instead",
            call.name, call.value->name());
    }
    throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                "Expression for function {} must return UInt8 or Nullable(UInt8), found {}", call.name,
                call.value->name());
}

Mask conditionsOf(const LambdaCall& call) {
    const Column& values = *call.values;
    Mask mask(values.size(), 0);
    if (removeNullable(call.value_type)->kind() == TypeKind::Nothing) return mask;
    const Mask* nulls = nullptr;
    const Column* inner = &values;
    if (values.kind() == ColumnKind::Nullable) {
        nulls = &as<NullableColumn>(values).nulls();
        inner = as<NullableColumn>(values).values().get();
    }
    const auto& bytes = as<FixedColumn<uint8_t>>(*inner).values();
    for (size_t i = 0; i < mask.size(); ++i) mask[i] = bytes[i] != 0 && !(nulls && (*nulls)[i]);
    return mask;
}

namespace {

class LambdaFunction final : public SimpleFunction {
public:
    LambdaFunction(std::string_view name, LambdaRule rule, LambdaKernel kernel, uint32_t manner)
        : SimpleFunction(std::string(name)), rule_(rule), kernel_(kernel), manner_(manner) {
        traits_.sees_constants = true;
    }

    TypePtr resultType(Arguments arguments) const override {
        LambdaSignature call{name_, {}, nullptr, hasLambda(arguments)};
        checkCount(arguments, call.has_lambda);
        const size_t first = firstArray(call.has_lambda);
        for (size_t i = first; i < arguments.size(); ++i) {
            if (arguments[i].type->kind() != TypeKind::Array)
                throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                            "Argument {} of function {} must be Array. Found {} instead", i + 1, name_,
                            arguments[i].type->name());
            call.elements.push_back(removeLowCardinalityRecursively(arguments[i].type->child()));
        }
        call.value = call.has_lambda ? lambdaResult(name_, arguments[0]) : call.elements[0];
        return rule_(call);
    }

    std::vector<TypePtr> lambdaParameterTypes(Arguments arguments,
                                              size_t position,
                                              size_t parameters) const override {
        const size_t first = firstArray(true);
        checkCount(arguments, true);
        std::vector<TypePtr> types;
        for (size_t i = first; i < arguments.size(); ++i) {
            if (arguments[i].type->kind() != TypeKind::Array)
                throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                            "Argument {} of function {} must be Array. Found {} instead", i + 1, name_,
                            arguments[i].type->name());
            types.push_back(removeLowCardinalityRecursively(arguments[i].type->child()));
        }
        if (position != 0 || types.size() != parameters)
            throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                        "First argument for this overload of {} must be a function with {} arguments, found "
                        "one with {}",
                        name_, types.size(), parameters);
        return types;
    }

    ColumnPtr execute(Arguments arguments, const TypePtr& result_type, size_t rows) const override {
        const bool has_lambda = hasLambda(arguments);
        std::vector<TypePtr> element_types;
        std::vector<ColumnPtr> elements;
        std::vector<ColumnPtr> holders;
        std::vector<ArrayArgument> arrays;
        for (size_t i = firstArray(has_lambda); i < arguments.size(); ++i) {
            holders.push_back(full(arguments[i].column));
            arrays.emplace_back(holders.back());
            elements.push_back(arrays.back().elements());
            element_types.push_back(removeLowCardinalityRecursively(arguments[i].type->child()));
        }
        needSameLengths(Call{name_, arguments, result_type, rows, FunctionContext{}}, arrays);
        const PodVector<uint64_t>& ends = arrays[0].arrays().ends();
        std::optional<IntegerArgument> limits;
        if (manner_ & kTakesLimit) limits.emplace(arguments[has_lambda ? 1 : 0].column);
        LambdaCall call{name_, result_type,      rows,        element_types, elements,
                        ends,  element_types[0], elements[0], has_lambda,    limits ? &*limits : nullptr};
        if (has_lambda) {
            const LambdaColumn& lambda = lambdaOf(name_, arguments[0]);
            call.value_type = removeLowCardinalityRecursively(lambda.resultType());
            call.values = runLambda(lambda, ends.span(), elements, elements[0]->size());
        }
        return kernel_(call);
    }

private:
    static bool hasLambda(Arguments arguments) {
        return !arguments.empty() && arguments[0].type->kind() == TypeKind::Lambda;
    }

    size_t firstArray(bool has_lambda) const {
        return (has_lambda ? 1 : 0) + (manner_ & kTakesLimit ? 1 : 0);
    }

    void checkCount(Arguments arguments, bool has_lambda) const {
        if ((manner_ & kLambdaNeeded) && arguments.size() < 2)
            throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                        "Function {} needs at least 2 arguments, passed {}", name_, arguments.size());
        if ((manner_ & kLambdaNeeded) && !has_lambda)
            throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                        "First argument for function {} must be a function", name_);
        if (arguments.size() <= firstArray(has_lambda))
            throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                        "Function {} needs at least {} argument{}", name_, firstArray(has_lambda) + 1,
                        firstArray(has_lambda) == 0 ? "" : "s");
        if (!has_lambda && arguments.size() > firstArray(false) + 1)
            throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                        "Function {} needs one array argument when it has no function", name_);
    }

    LambdaRule rule_;
    LambdaKernel kernel_;
    uint32_t manner_;
};

}  // namespace

FunctionPtr makeLambdaFunction(std::string_view name,
                               LambdaRule rule,
                               LambdaKernel kernel,
                               uint32_t manner,
                               const std::shared_ptr<const FunctionContext>&) {
    return std::make_shared<LambdaFunction>(name, rule, kernel, manner);
}

}  // namespace shardd::functions
