#include "server/aggregates/aggregate_base.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "common/types/type.h"

namespace shardd::aggregates {

namespace {

std::string floatText(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
    std::string text = fmt::format("{}", value);
    // Type names tell a float from an integer by the point: 1.
    if (text.ends_with(".0")) text.pop_back();
    if (text.find_first_of(".e") == std::string::npos) text += '.';
    return text;
}

std::string listText(const std::vector<Value>& values, char open, char close) {
    std::string text(1, open);
    for (size_t i = 0; i < values.size(); ++i) {
        if (i > 0) text += ", ";
        text += literalText(values[i]);
    }
    text += close;
    return text;
}

}  // namespace

std::string literalText(const Value& value) {
    switch (value.kind()) {
        case Value::Kind::Null:
            return "NULL";
        case Value::Kind::Bool:
            return value.get<bool>() ? "true" : "false";
        case Value::Kind::UInt64:
            return fmt::format("{}", value.get<uint64_t>());
        case Value::Kind::Int64:
            return fmt::format("{}", value.get<int64_t>());
        case Value::Kind::UInt128:
            return toText(value.get<UInt128>());
        case Value::Kind::Int128:
            return toText(value.get<Int128>());
        case Value::Kind::UInt256:
            return toText(value.get<UInt256>());
        case Value::Kind::Int256:
            return toText(value.get<Int256>());
        case Value::Kind::Float64:
            return floatText(value.get<double>());
        case Value::Kind::String:
            return quoteString(value.get<std::string>());
        case Value::Kind::Array:
            return listText(value.elements(), '[', ']');
        case Value::Kind::Tuple:
            return listText(value.elements(), '(', ')');
    }
    return {};
}

NamedAggregate::NamedAggregate(Signature signature, TypePtr result_type)
    : signature_(std::move(signature)), result_type_(std::move(result_type)) {
    for (const Value& parameter : signature_.parameters) {
        if (!parameters_text_.empty()) parameters_text_ += ", ";
        parameters_text_ += literalText(parameter);
    }
}

namespace {

/// How many rows of a single state are added at a time.
constexpr size_t kSingleRows = 512;

}  // namespace

void BatchAggregate::addBatchSingle(
    const Column* const* arguments, char* place, size_t from, size_t rows, Arena& arena) const {
    char* places[kSingleRows];
    std::fill_n(places, std::min(rows, kSingleRows), place);
    for (size_t done = 0; done < rows; done += kSingleRows)
        addBatch(arguments, places, 0, from + done, std::min(rows - done, kSingleRows), arena);
}

void BatchAggregate::addBatchSingleIf(const Column* const* arguments,
                                      char* place,
                                      size_t from,
                                      size_t rows,
                                      const uint8_t* mask,
                                      Arena& arena) const {
    char* places[kSingleRows];
    for (size_t done = 0; done < rows; done += kSingleRows) {
        const size_t count = std::min(rows - done, kSingleRows);
        for (size_t i = 0; i < count; ++i) places[i] = mask[from + done + i] ? place : nullptr;
        addBatch(arguments, places, 0, from + done, count, arena);
    }
}

void expectArguments(const Signature& signature, size_t count) {
    if (signature.arguments.size() == count) return;
    constexpr auto kCode = ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH;
    if (count == 1) throw Error(kCode, "Aggregate function {} requires single argument", signature.name);
    if (count == 2) throw Error(kCode, "Aggregate function {} requires two arguments", signature.name);
    throw Error(kCode, "Aggregate function {} requires {} arguments", signature.name, count);
}

void expectNoParameters(const Signature& signature) {
    if (!signature.parameters.empty())
        throw Error(ErrorCode::AGGREGATE_FUNCTION_DOESNT_ALLOW_PARAMETERS,
                    "Aggregate function {} cannot have parameters", signature.name);
}

void failArgumentType(const Signature& signature, size_t position) {
    throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, "Illegal type {} of argument for aggregate function {}",
                signature.arguments[position]->name(), signature.name);
}

void AggregateFunction::insertResultBatch(
    char* const* places, size_t offset, size_t rows, Column& to, Arena& arena) const {
    for (size_t i = 0; i < rows; ++i) insertResult(places[i] + offset, to, arena);
}

void AggregateFunction::mergeBatch(
    char* const* places, const char* const* others, size_t offset, size_t rows, Arena& arena) const {
    for (size_t i = 0; i < rows; ++i) merge(places[i] + offset, others[i] + offset, arena);
}

}  // namespace shardd::aggregates
