#include "server/functions/definition.h"

#include <cmath>

#include "server/functions/convert.h"
#include "server/functions/supertype.h"

namespace shardd::functions {

Traits traitsOf(uint32_t manner, uint32_t constant_arguments) {
    Traits traits;
    traits.sees_constants = true;
    traits.default_nulls = !(manner & kSeesNulls);
    traits.default_constants = !(manner & kSeesConstants);
    traits.default_low_cardinality = !(manner & kSeesDictionaries);
    traits.may_throw = manner & kMayThrow;
    traits.injective = manner & kInjective;
    traits.deterministic = !(manner & (kVaries | kOncePerQuery | kOfServer));
    traits.deterministic_in_query = !(manner & kVaries);
    traits.server_constant = manner & kOfServer;
    for (size_t i = 0; i < 32; ++i)
        if (constant_arguments >> i & 1) traits.constant_arguments.push_back(i);
    return traits;
}

DefinedFunction::DefinedFunction(std::string_view name,
                                 TypeRule rule,
                                 Kernel kernel,
                                 Traits traits,
                                 std::shared_ptr<const FunctionContext> context)
    : name_(name), rule_(rule), kernel_(kernel), traits_(std::move(traits)), context_(std::move(context)) {
    if (!context_) context_ = std::make_shared<FunctionContext>();
}

TypePtr DefinedFunction::resultType(Arguments arguments) const {
    return rule_(Signature{name_, arguments, *context_});
}

ColumnPtr DefinedFunction::execute(Arguments arguments, const TypePtr& result_type, size_t rows) const {
    return kernel_(Call{name_, arguments, result_type, rows, *context_});
}

FunctionPtr makeDefined(std::string_view name,
                        TypeRule rule,
                        Kernel kernel,
                        uint32_t manner,
                        uint32_t constant_arguments,
                        const std::shared_ptr<const FunctionContext>& context) {
    return std::make_shared<DefinedFunction>(name, rule, kernel, traitsOf(manner, constant_arguments),
                                             context);
}

void needCount(const Signature& call, size_t min, size_t max) {
    const size_t count = call.count();
    if (count >= min && count <= max) return;
    if (min == max)
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Number of arguments for function {} doesn't match: passed {}, should be {}", call.name,
                    count, min);
    throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                "Number of arguments for function {} doesn't match: passed {}, should be {} {}", call.name,
                count, count < min ? "at least" : "at most", count < min ? min : max);
}

void illegalArgument(const Signature& call, size_t i, std::string_view wanted) {
    if (wanted.empty())
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, "Illegal type {} of argument {} of function {}",
                    call.type(i)->name(), i + 1, call.name);
    throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                "Illegal type {} of argument {} of function {}, expected {}", call.type(i)->name(), i + 1,
                call.name, wanted);
}

void needText(const Signature& call, size_t i) {
    if (!call.type(i)->isString()) illegalArgument(call, i, "String or FixedString");
}

void needString(const Signature& call, size_t i) {
    if (call.type(i)->kind() != TypeKind::String) illegalArgument(call, i, "String");
}

void needInteger(const Signature& call, size_t i) {
    if (!call.type(i)->isInteger() && call.type(i)->kind() != TypeKind::Bool)
        illegalArgument(call, i, "an integer");
}

void needNumber(const Signature& call, size_t i) {
    if (!call.type(i)->isNumber()) illegalArgument(call, i, "a number");
}

void needArray(const Signature& call, size_t i) {
    if (call.type(i)->kind() != TypeKind::Array) illegalArgument(call, i, "Array");
}

void needMap(const Signature& call, size_t i) {
    if (call.type(i)->kind() != TypeKind::Map) illegalArgument(call, i, "Map");
}

void needTuple(const Signature& call, size_t i) {
    if (call.type(i)->kind() != TypeKind::Tuple) illegalArgument(call, i, "Tuple");
}

void needConstant(const Signature& call, size_t i) {
    const ColumnPtr& column = call.arguments[i].column;
    if (!column || column->kind() != ColumnKind::Const)
        throw Error(ErrorCode::ILLEGAL_COLUMN, "Argument {} of function {} must be constant", i + 1,
                    call.name);
}

TypePtr commonType(std::vector<TypePtr> types) { return leastSupertype(types); }

ColumnPtr castArgument(const NamedColumn& argument, const TypePtr& type, size_t /*rows*/) {
    return castColumn(argument, type);
}

namespace {

/// The column behind a constant, and the mask that leads every row to it.
const Column& unwrap(const ColumnPtr& column, size_t& row_mask) {
    if (column->kind() != ColumnKind::Const) return *column;
    row_mask = 0;
    return *as<ConstColumn>(*column).one();
}

template <typename T>
int64_t toInt64(const T& value) {
    if constexpr (std::is_same_v<T, UInt256> || std::is_same_v<T, Int256>)
        return static_cast<int64_t>(value.low());
    else
        return static_cast<int64_t>(value);
}

}  // namespace

TextArgument::TextArgument(const ColumnPtr& column) : column_(column) {
    if (column_->kind() == ColumnKind::Dictionary) column_ = fullPlain(column_);
    const Column& inner = unwrap(column_, row_mask_);
    if (inner.kind() == ColumnKind::String) {
        const auto& strings = as<StringColumn>(inner);
        chars_ = strings.chars().data();
        ends_ = strings.ends().data();
        total_bytes_ = strings.chars().size();
    } else if (inner.kind() == ColumnKind::FixedString) {
        const auto& strings = as<FixedStringColumn>(inner);
        chars_ = strings.chars().data();
        width_ = strings.width();
        total_bytes_ = strings.chars().size();
    } else if (inner.size() > 0) {
        const std::string_view first = inner.bytesAt(0);
        chars_ = first.data();
        width_ = first.size();
        total_bytes_ = width_ * inner.size();
    }
    if (row_mask_ == 0) total_bytes_ *= column->size();
}

IntegerArgument::IntegerArgument(const ColumnPtr& column) {
    const ColumnPtr plain = column->kind() == ColumnKind::Dictionary ? fullPlain(column) : column;
    const Column& inner = unwrap(plain, row_mask_);
    auto take = [&](const auto& typed) {
        values_.resize(typed.values().size());
        for (size_t i = 0; i < values_.size(); ++i) values_[i] = toInt64(typed.values()[i]);
    };
    if (const auto* c = dynamic_cast<const FixedColumn<uint8_t>*>(&inner)) {
        take(*c);
        return;
    }
    if (const auto* c = dynamic_cast<const FixedColumn<uint16_t>*>(&inner)) {
        take(*c);
        return;
    }
    if (const auto* c = dynamic_cast<const FixedColumn<uint32_t>*>(&inner)) {
        take(*c);
        return;
    }
    if (const auto* c = dynamic_cast<const FixedColumn<uint64_t>*>(&inner)) {
        take(*c);
        return;
    }
    if (const auto* c = dynamic_cast<const FixedColumn<int8_t>*>(&inner)) {
        take(*c);
        return;
    }
    if (const auto* c = dynamic_cast<const FixedColumn<int16_t>*>(&inner)) {
        take(*c);
        return;
    }
    if (const auto* c = dynamic_cast<const FixedColumn<int32_t>*>(&inner)) {
        take(*c);
        return;
    }
    if (const auto* c = dynamic_cast<const FixedColumn<int64_t>*>(&inner)) {
        take(*c);
        return;
    }
    values_.resize(inner.size());
    for (size_t i = 0; i < values_.size(); ++i) {
        const Value value = inner.value(i);
        values_[i] = value.isNull() ? 0 : value.to<int64_t>();
    }
}

DoubleArgument::DoubleArgument(const ColumnPtr& column, const TypePtr& type) {
    const ColumnPtr plain = column->kind() == ColumnKind::Dictionary ? fullPlain(column) : column;
    const Column& inner = unwrap(plain, row_mask_);
    auto take = [&](const auto& typed) {
        values_.resize(typed.values().size());
        for (size_t i = 0; i < values_.size(); ++i) values_[i] = static_cast<double>(typed.values()[i]);
    };
    const double divisor = type->isDecimal() ? std::pow(10.0, type->scale()) : 1.0;
    if (divisor == 1.0) {
        if (const auto* c = dynamic_cast<const FixedColumn<double>*>(&inner)) {
            take(*c);
            return;
        }
        if (const auto* c = dynamic_cast<const FixedColumn<float>*>(&inner)) {
            take(*c);
            return;
        }
        if (const auto* c = dynamic_cast<const FixedColumn<int64_t>*>(&inner)) {
            take(*c);
            return;
        }
        if (const auto* c = dynamic_cast<const FixedColumn<uint64_t>*>(&inner)) {
            take(*c);
            return;
        }
        if (const auto* c = dynamic_cast<const FixedColumn<int32_t>*>(&inner)) {
            take(*c);
            return;
        }
        if (const auto* c = dynamic_cast<const FixedColumn<uint8_t>*>(&inner)) {
            take(*c);
            return;
        }
    }
    values_.resize(inner.size());
    for (size_t i = 0; i < values_.size(); ++i) {
        const Value value = inner.value(i);
        values_[i] = value.isNull() ? 0 : value.to<double>() / divisor;
    }
}

ColumnPtr constantText(std::string_view text, size_t rows) {
    auto one = std::make_shared<StringColumn>();
    one->insertText(text);
    return std::make_shared<ConstColumn>(std::move(one), rows);
}

}  // namespace shardd::functions
