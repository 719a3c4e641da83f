#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/columns/array_column.h"
#include "common/columns/const_column.h"
#include "common/columns/fixed_column.h"
#include "common/columns/fixed_string_column.h"
#include "common/columns/string_column.h"
#include "server/functions/function_list.h"

namespace shardd::functions {

// A function in one line of a family's list: a name, a rule for its type and a kernel over whole columns.
//
//     static const FunctionInfo kList[] = {
//         define<"length", typeOfLength, runLength>("length(text)", "Bytes of a string, elements of an
//         array.", "length('abc')", "3"),
//     };

/// What is known when the type of a call is asked for.
struct Signature {
    std::string_view name;
    Arguments arguments;
    const FunctionContext& context;

    size_t count() const { return arguments.size(); }

    const TypePtr& type(size_t i) const { return arguments[i].type; }
};

/// One call while it runs.
/// Shapes: every column has `rows` rows; some may be constants.
struct Call {
    std::string_view name;
    Arguments arguments;
    const TypePtr& type;
    size_t rows;
    const FunctionContext& context;

    size_t count() const { return arguments.size(); }

    const ColumnPtr& column(size_t i) const { return arguments[i].column; }

    const TypePtr& argumentType(size_t i) const { return arguments[i].type; }
};

using TypeRule = TypePtr (*)(const Signature&);
using Kernel = ColumnPtr (*)(const Call&);

/// How a defined function differs from the usual Traits.
enum Manner : uint32_t {
    kPlainManner = 0,
    kSeesNulls = 1,         // !default_nulls
    kSeesConstants = 2,     // !default_constants
    kSeesDictionaries = 4,  // !default_low_cardinality
    kMayThrow = 8,
    kInjective = 16,
    kVaries = 32,        // another value for each row or call: rand()
    kOncePerQuery = 64,  // one value for a query: now()
    kOfServer = 128,     // depends on the server too: hostName()
};

Traits traitsOf(uint32_t manner, uint32_t constant_arguments);

/// A function made of a rule and a kernel.
class DefinedFunction final : public Function {
public:
    DefinedFunction(std::string_view name,
                    TypeRule rule,
                    Kernel kernel,
                    Traits traits,
                    std::shared_ptr<const FunctionContext> context);

    const std::string& name() const override { return name_; }

    const Traits& traits() const override { return traits_; }

    TypePtr resultType(Arguments arguments) const override;
    ColumnPtr execute(Arguments arguments, const TypePtr& result_type, size_t rows) const override;

private:
    std::string name_;
    TypeRule rule_;
    Kernel kernel_;
    Traits traits_;
    std::shared_ptr<const FunctionContext> context_;
};

FunctionPtr makeDefined(std::string_view name,
                        TypeRule rule,
                        Kernel kernel,
                        uint32_t manner,
                        uint32_t constant_arguments,
                        const std::shared_ptr<const FunctionContext>& context);

/// A name as a template argument.
template <size_t N>
struct FixedName {
    char text[N];

    constexpr FixedName(const char (&from)[N]) {  // NOLINT(google-explicit-constructor): a literal is a name
        std::copy_n(from, N, text);
    }

    constexpr std::string_view view() const { return {text, N - 1}; }
};

template <FixedName kName, TypeRule kRule, Kernel kKernel, uint32_t kManner, uint32_t kConstants>
FunctionPtr createDefined(const std::shared_ptr<const FunctionContext>& context) {
    return makeDefined(kName.view(), kRule, kKernel, kManner, kConstants, context);
}

/// A row of a family's list. `kManner` is a sum of Manner, bit i of `kConstants` keeps argument i constant.
template <FixedName kName,
          TypeRule kRule,
          Kernel kKernel,
          uint32_t kManner = kPlainManner,
          uint32_t kConstants = 0>
FunctionInfo define(std::string_view syntax = {},
                    std::string_view description = {},
                    std::string_view example = {},
                    std::string_view example_result = {}) {
    return FunctionInfo{.name = kName.view(),
                        .create = &createDefined<kName, kRule, kKernel, kManner, kConstants>,
                        .case_insensitive = false,
                        .syntax = syntax,
                        .description = description,
                        .example = example,
                        .example_result = example_result};
}

// -- what rules ask of arguments: the codes and words of ClickHouse -------------------------------

/// NUMBER_OF_ARGUMENTS_DOESNT_MATCH (42) unless min <= count <= max.
void needCount(const Signature& call, size_t min, size_t max);

inline void needCount(const Signature& call, size_t count) { needCount(call, count, count); }

/// ILLEGAL_TYPE_OF_ARGUMENT (43) naming the argument.
[[noreturn]] void illegalArgument(const Signature& call, size_t i, std::string_view wanted = {});

/// String or FixedString.
void needText(const Signature& call, size_t i);
void needString(const Signature& call, size_t i);
void needInteger(const Signature& call, size_t i);
void needNumber(const Signature& call, size_t i);
void needArray(const Signature& call, size_t i);
void needMap(const Signature& call, size_t i);
void needTuple(const Signature& call, size_t i);
/// ILLEGAL_COLUMN (44) unless the argument is a constant.
void needConstant(const Signature& call, size_t i);

/// kTexts strings to one kind of value.
template <TypeKind kResult, size_t kTexts>
TypePtr textsTo(const Signature& call) {
    needCount(call, kTexts);
    for (size_t i = 0; i < kTexts; ++i) needText(call, i);
    return types::simple(kResult);
}

/// Nothing in, one kind of value out.
template <TypeKind kResult>
TypePtr nothingTo(const Signature& call) {
    needCount(call, 0);
    return types::simple(kResult);
}

/// One integer in, one kind of value out.
template <TypeKind kResult>
TypePtr integerTo(const Signature& call) {
    needCount(call, 1);
    needInteger(call, 0);
    return types::simple(kResult);
}

/// The type that all of these convert to: leastSupertype of supertype.h; NO_COMMON_TYPE (386).
TypePtr commonType(std::vector<TypePtr> types);

/// The argument's column converted to `type` as CAST does it.
ColumnPtr castArgument(const NamedColumn& argument, const TypePtr& type, size_t rows);

// -- reading arguments, making results ------------------------------------------------------------

/// The bytes of a String, FixedString or any other column of constant width; constants are read in place.
class TextArgument {
public:
    explicit TextArgument(const ColumnPtr& column);

    bool constant() const { return row_mask_ == 0; }

    std::string_view operator[](size_t row) const {
        row &= row_mask_;
        if (ends_ == nullptr) return {chars_ + row * width_, width_};
        const uint64_t start = row == 0 ? 0 : ends_[row - 1];
        return {chars_ + start, ends_[row] - start};
    }

    /// Bytes of all rows together, about; for reserving.
    size_t totalBytes() const { return total_bytes_; }

private:
    ColumnPtr column_;
    const char* chars_ = nullptr;
    const uint64_t* ends_ = nullptr;
    size_t width_ = 0;
    size_t row_mask_ = ~size_t{0};
    size_t total_bytes_ = 0;
};

/// A number argument as Int64, converted as static_cast does.
class IntegerArgument {
public:
    explicit IntegerArgument(const ColumnPtr& column);

    bool constant() const { return row_mask_ == 0; }

    int64_t operator[](size_t row) const { return values_[row & row_mask_]; }

private:
    PodVector<int64_t> values_;
    size_t row_mask_ = ~size_t{0};
};

/// Any number as double; Decimals divided by their scale.
class DoubleArgument {
public:
    DoubleArgument(const ColumnPtr& column, const TypePtr& type);

    double operator[](size_t row) const { return values_[row & row_mask_]; }

private:
    PodVector<double> values_;
    size_t row_mask_ = ~size_t{0};
};

/// Strings in the making.
class TextBuilder {
public:
    explicit TextBuilder(size_t rows, size_t bytes = 0) {
        ends_.reserve(rows);
        chars_.reserve(bytes);
    }

    PodVector<char>& chars() { return chars_; }

    void append(std::string_view text) { chars_.append(text.data(), text.size()); }

    void append(char c) { chars_.push_back(c); }

    void endRow() { ends_.push_back(chars_.size()); }

    void add(std::string_view text) {
        append(text);
        endRow();
    }

    size_t rows() const { return ends_.size(); }

    ColumnPtr finish() { return std::make_shared<StringColumn>(std::move(chars_), std::move(ends_)); }

private:
    PodVector<char> chars_;
    PodVector<uint64_t> ends_;
};

/// Arrays of strings in the making.
class TextArrayBuilder {
public:
    explicit TextArrayBuilder(size_t rows) : elements_(rows) { ends_.reserve(rows); }

    TextBuilder& elements() { return elements_; }

    void add(std::string_view text) { elements_.add(text); }

    void endRow() { ends_.push_back(elements_.rows()); }

    ColumnPtr finish() { return std::make_shared<ArrayColumn>(elements_.finish(), std::move(ends_)); }

private:
    TextBuilder elements_;
    PodVector<uint64_t> ends_;
};

template <typename T>
ColumnPtr fixedColumn(PodVector<T> values) {
    return std::make_shared<FixedColumn<T>>(std::move(values));
}

/// A column whose row i is of(i).
template <typename T, typename Of>
ColumnPtr eachRow(size_t rows, Of&& of) {
    PodVector<T> values(rows);
    for (size_t i = 0; i < rows; ++i) values[i] = of(i);
    return fixedColumn(std::move(values));
}

/// A column of strings; write(i, builder) appends the bytes of row i.
template <typename Write>
ColumnPtr eachText(size_t rows, size_t bytes, Write&& write) {
    TextBuilder out(rows, bytes);
    for (size_t i = 0; i < rows; ++i) {
        write(i, out);
        out.endRow();
    }
    return out.finish();
}

/// One string for all rows.
ColumnPtr constantText(std::string_view text, size_t rows);

}  // namespace shardd::functions
