#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/columns/block.h"
#include "common/types/aggregate_ops.h"

namespace shardd::aggregates {

/// The few functions whose states and loops an aggregation knows itself, to keep them inline beside the keys.
/// Their states: Count: uint64_t. Sum…: the sum, 8 bytes. Avg…: the sum, 8 bytes, then uint64_t rows.
/// MinMaxFixed, AnyFixed: the value of the argument's width, then a byte that is 1 when there is one. All
/// start from zeros.
enum class Kernel : uint8_t {
    None,
    Count,
    SumUInt64,
    SumInt64,
    SumFloat64,
    AvgUInt64,
    AvgInt64,
    AvgFloat64,
    MinMaxFixed,
    AnyFixed
};

/// An aggregate function with its argument types decided. Constant and shared by all threads.
/// A row's arguments are read from plain columns (no constants, no dictionaries) of argumentTypes(); NULL
/// handling and -If, -Array … are wrappers round a function.
class AggregateFunction : public AggregateOps, public std::enable_shared_from_this<AggregateFunction> {
public:
    /// Adds one row.
    virtual void add(char* place, const Column* const* arguments, size_t row, Arena& arena) const = 0;

    /// Adds rows from..from+rows-1; row r goes to the state at places[r - from] + offset (a null place skips
    /// the row). Errors: MEMORY_LIMIT_EXCEEDED when the budget refuses; states added so far stay valid.
    virtual void addBatch(const Column* const* arguments,
                          char* const* places,
                          size_t offset,
                          size_t from,
                          size_t rows,
                          Arena& arena) const = 0;

    /// Adds rows from..from+rows-1 to one state: no key.
    virtual void addBatchSingle(
        const Column* const* arguments, char* place, size_t from, size_t rows, Arena& arena) const = 0;

    /// The same where mask[row] != 0 (indexed by the row itself); the way -If and NULLs go.
    virtual void addBatchSingleIf(const Column* const* arguments,
                                  char* place,
                                  size_t from,
                                  size_t rows,
                                  const uint8_t* mask,
                                  Arena& arena) const = 0;

    /// Appends the state's result to `to`, a column of resultType(). May change the state (sort it), not its
    /// meaning.
    virtual void insertResult(char* place, Column& to, Arena& arena) const = 0;

    /// Appends the results of `places[i] + offset`.
    virtual void insertResultBatch(
        char* const* places, size_t offset, size_t rows, Column& to, Arena& arena) const;

    /// merge() for places[i] + offset with others[i] + offset.
    virtual void mergeBatch(
        char* const* places, const char* const* others, size_t offset, size_t rows, Arena& arena) const;

    /// At once where kernel() tells the state.
    void serializeBatch(const char* const* places, size_t rows, Writer& out) const override;
    size_t deserializeAhead(char* first, size_t stride, size_t rows, Reader& in) const override;

    virtual Kernel kernel() const { return Kernel::None; }

    /// A function of one constant NULL row gives the same as no row: whether rows of NULLs are skipped by
    /// itself.
    virtual bool handlesNulls() const { return false; }

    /// The column that -State gives and the wire expects: AggregateFunction(name(params), args…).
    TypePtr stateType() const;
};

using AggregateFunctionPtr = std::shared_ptr<const AggregateFunction>;

/// Finds name (aliases, other case, combinators: "sumIfOrNull") for the arguments, wrapped for Nullable ones.
/// Errors: UNKNOWN_AGGREGATE_FUNCTION (63) with near names, 42, 43, 133 … as ClickHouse's.
AggregateFunctionPtr resolveAggregateFunction(std::string_view name,
                                              const std::vector<Value>& parameters,
                                              const std::vector<TypePtr>& arguments);

/// Whether `name` is an aggregate function, combinators included.
bool isAggregateFunction(std::string_view name);

/// The name as ClickHouse writes it in types and column names: first_value -> any, MEDIAN -> quantile for
/// states … (canonical), or only the case folded (COUNT -> count).
std::string canonicalAggregateName(std::string_view name);

}  // namespace shardd::aggregates
