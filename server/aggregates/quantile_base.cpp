#include "server/aggregates/quantile_base.h"

#include <algorithm>
#include <numeric>

namespace shardd::aggregates {

Levels parseLevels(const Signature& signature, std::span<const Value> parameters, bool many) {
    if (many && parameters.empty())
        throw Error(
            ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Aggregate function for calculation of multiple quantiles require at least one parameter");
    if (!many && parameters.size() > 1)
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Aggregate function {} requires one level parameter or less", signature.name);
    Levels levels;
    if (parameters.empty()) levels.levels.push_back(0.5);
    for (const Value& parameter : parameters) {
        if (parameter.kind() == Value::Kind::String || parameter.kind() == Value::Kind::Array ||
            parameter.kind() == Value::Kind::Tuple || parameter.isNull())
            throw Error(ErrorCode::CANNOT_CONVERT_TYPE, "Cannot convert {} to double",
                        literalText(parameter));
        const auto level = parameter.to<double>();
        if (!(level >= 0 && level <= 1))
            throw Error(ErrorCode::PARAMETER_OUT_OF_BOUND, "Quantile level is out of range [0..1]");
        levels.levels.push_back(level);
    }
    levels.ascending.resize(levels.levels.size());
    std::iota(levels.ascending.begin(), levels.ascending.end(), size_t{0});
    std::ranges::stable_sort(levels.ascending,
                             [&](size_t a, size_t b) { return levels.levels[a] < levels.levels[b]; });
    return levels;
}

void checkQuantileArguments(const Signature& signature, bool weighted, bool decimals) {
    expectArguments(signature, weighted ? 2 : 1);
    const Type& type = *signature.arguments[0];
    const bool number =
        type.isNumber() && type.kind() != TypeKind::BFloat16 && (decimals || !type.isDecimal());
    const bool time = type.kind() == TypeKind::Date || type.kind() == TypeKind::DateTime ||
                      (decimals && type.kind() == TypeKind::DateTime64);
    if (!number && !time) failArgumentType(signature);
    if (!weighted) return;
    const Type& weight = *signature.arguments[1];
    if (!weight.isUnsigned() || weight.width() > 8)
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    "Second argument (weight) for function {} must be unsigned integer, but it has type {}",
                    signature.name, weight.name());
}

TypePtr quantileAnswer(const TypePtr& argument, QuantileResult numbers) {
    if (numbers == QuantileResult::Own || argument->isDecimal() || argument->isDateOrTime()) return argument;
    return types::simple(numbers == QuantileResult::Float32 ? TypeKind::Float32 : TypeKind::Float64);
}

void Answers::nothing(size_t i) {
    if (NumberOrder(result_).isFloat())
        number(i, std::numeric_limits<double>::quiet_NaN());
    else
        std::memset(room_ + i * width_, 0, width_);
}

double interpolated(Physical physical, const void* values, size_t count, double level) {
    const auto at = [&](size_t i) {
        return numberOf(physical, static_cast<const char*>(values) + i * widthOf(physical));
    };
    const double position =
        std::max(0.0, std::min(static_cast<double>(count) - 1, level * (static_cast<double>(count) - 1)));
    const auto left = static_cast<size_t>(position);
    if (left + 1 >= count) return at(left);
    const double right_share = position - static_cast<double>(left);
    const double left_share = static_cast<double>(left + 1) - position;
    return at(left) * left_share + at(left + 1) * right_share;
}

}  // namespace shardd::aggregates
