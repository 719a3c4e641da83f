#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/columns/block.h"
#include "common/columns/opaque_column.h"

namespace shardd::functions {

/// What a function may know besides its arguments. One object a query; constant while it runs.
struct FunctionContext {
    std::string time_zone = "UTC";  // the session's
    std::string server_time_zone = "UTC";
    std::string current_user;
    std::string initial_user;
    std::string current_database = "default";
    std::string query_id;
    std::string initial_query_id;
    std::string host_name;
    std::string display_name;
    uint16_t tcp_port = 0;
    int64_t uptime_seconds = 0;
    /// now() and today() are one moment for the whole query.
    int64_t now_microseconds = 0;
    /// `_shard_num` and `_shard_count` that an initiator sent; 0 without one.
    uint32_t shard_num = 0;
    uint32_t shard_count = 0;
    /// A setting's value as text; nothing when there is no such setting.
    std::function<std::optional<std::string>(std::string_view)> setting;
    /// A macro from the configuration, for getMacro().
    std::function<std::optional<std::string>(std::string_view)> macro;
};

/// An argument: its type always; its column when executing, and already when resolving if it is a constant.
using Arguments = std::span<const NamedColumn>;

/// The constant behind an argument; nothing when it is not one.
std::optional<Value> constantValue(const NamedColumn& argument);

/// How the frame around a function treats its arguments, so that most functions see plain columns only.
struct Traits {
    /// NULL in any argument gives NULL; the function sees bare types, the result becomes Nullable. A constant NULL
    /// argument gives a Nullable(Nothing) constant without asking the function.
    bool default_nulls = true;
    /// All arguments constant: computed once on one row, the result stays constant.
    bool default_constants = true;
    /// One LowCardinality argument, the others constant: computed once a key, the result is LowCardinality (where its
    /// type may be); otherwise dictionaries are written out first.
    bool default_low_cardinality = true;
    /// The same arguments give the same value: may be folded and used in keys.
    bool deterministic = true;
    /// … at least within one query, on one server (now(), hostName()); such a call is folded too unless per_row.
    bool deterministic_in_query = true;
    /// Depends on the server that runs it (hostName(), shardNum()): never folded for another server.
    bool server_constant = false;
    /// May throw on values (intDiv, CAST …): evaluated lazily inside if, multiIf, and, or.
    bool may_throw = false;
    /// Different arguments give different values (toString of an integer, plus with a constant …): used for sharding keys
    /// and to simplify GROUP BY. Exact conditions in Function::injective().
    bool injective = false;
    /// These arguments must be constants (else ILLEGAL_COLUMN) and arrive as such.
    std::vector<size_t> constant_arguments = {};
    /// All arguments arrive as they are, constants among them; otherwise the frame writes constants out (those of
    /// constant_arguments stay). For functions with kernels that keep a constant in a register.
    bool sees_constants = false;
};

class Function;
using FunctionPtr = std::shared_ptr<const Function>;

/// A function, before and after its arguments are known. Stateless but for what create() put into it.
class Function {
public:
    virtual ~Function() = default;

    virtual const std::string& name() const = 0;

    virtual const Traits& traits() const = 0;

    /// Whether it is injective with these argument types.
    virtual bool injective(Arguments /*arguments*/) const { return traits().injective; }

    /// Result type for arguments already stripped of what `traits` says the frame handles.
    /// Errors: NUMBER_OF_ARGUMENTS_DOESNT_MATCH (42), ILLEGAL_TYPE_OF_ARGUMENT (43), … as ClickHouse's.
    virtual TypePtr resultType(Arguments arguments) const = 0;

    /// Shapes: every argument has `rows` rows; so has the result, which may be a ConstColumn.
    virtual ColumnPtr execute(Arguments arguments, const TypePtr& result_type, size_t rows) const = 0;

    /// For higher-order functions: the types of the parameters of the lambda at `position`, given the other arguments
    /// (whose types are known; lambdas have kind Lambda and no column).
    virtual std::vector<TypePtr> lambdaParameterTypes(Arguments arguments, size_t position, size_t parameters) const;
};

/// A lambda as an argument column (ColumnKind::Other, type kind Lambda) of a higher-order function.
class LambdaColumn final : public OpaqueColumn {
public:
    /// Evaluates the body: `parameters` are columns of `rows` rows; captured columns were prepared by `replicate`.
    using Body = std::function<ColumnPtr(std::span<const ColumnPtr> parameters, size_t rows)>;
    /// Gives the body over captured columns replicated by array ends (one entry a row of this column), or as they are.
    using Prepare = std::function<Body(std::span<const uint64_t> ends)>;

    LambdaColumn(size_t rows, std::vector<TypePtr> parameter_types, TypePtr result_type, Prepare prepare)
        : OpaqueColumn(rows, "A lambda was used as a column of values"),
          parameter_types_(std::move(parameter_types)),
          result_type_(std::move(result_type)),
          prepare_(std::move(prepare)) {}

    const std::vector<TypePtr>& parameterTypes() const { return parameter_types_; }

    const TypePtr& resultType() const { return result_type_; }

    /// `ends` are the offsets of the arrays that the lambda runs over.
    Body prepare(std::span<const uint64_t> ends) const { return prepare_(ends); }

private:
    std::vector<TypePtr> parameter_types_;
    TypePtr result_type_;
    Prepare prepare_;
};

/// A function with its arguments' types decided: what an expression holds.
class ResolvedFunction {
public:
    ResolvedFunction(FunctionPtr function, std::vector<TypePtr> argument_types, TypePtr result_type)
        : function_(std::move(function)), argument_types_(std::move(argument_types)), result_type_(std::move(result_type)) {}

    const Function& function() const { return *function_; }

    const std::string& name() const { return function_->name(); }

    const Traits& traits() const { return function_->traits(); }

    const std::vector<TypePtr>& argumentTypes() const { return argument_types_; }

    const TypePtr& resultType() const { return result_type_; }

    /// Runs it with the frame of Traits (NULLs, constants, dictionaries).
    ColumnPtr execute(Arguments arguments, size_t rows) const;

private:
    FunctionPtr function_;
    std::vector<TypePtr> argument_types_;
    TypePtr result_type_;
};

using ResolvedFunctionPtr = std::shared_ptr<const ResolvedFunction>;

/// Finds the function and its result type. The `context` is kept by functions that need it.
/// Errors: UNKNOWN_FUNCTION (46) with near names; what resultType() says.
ResolvedFunctionPtr resolveFunction(std::string_view name,
                                    Arguments arguments,
                                    const std::shared_ptr<const FunctionContext>& context);

/// Only the function itself (canonical name, traits, lambda types), before its arguments are known.
FunctionPtr findFunction(std::string_view name, const std::shared_ptr<const FunctionContext>& context);

}  // namespace shardd::functions
