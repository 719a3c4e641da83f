#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/base/error.h"
#include "common/columns/block_stream.h"
#include "server/aggregates/aggregate.h"
#include "server/functions/function.h"
#include "server/storage/distributed.h"
#include "server/storage/key.h"
#include "server/storage/table.h"

/// The contract between the planner, which makes steps, and exec, which runs them. Plain data.
namespace shardd::plan {

struct Expression;
/// Shared: an expression used twice is one object, and is computed once a block.
using ExpressionPtr = std::shared_ptr<const Expression>;

/// How a value comes from the columns of a block.
struct Expression {
    enum class Kind : uint8_t { Input, Constant, Function, Lambda };

    Kind kind = Kind::Input;
    TypePtr type;
    /// Input: the block's column, or the lambda's parameter. Otherwise only for EXPLAIN.
    std::string name;
    /// Constant: one row.
    ColumnPtr constant;
    /// Function.
    functions::ResolvedFunctionPtr function;
    std::vector<ExpressionPtr> arguments;
    /// Lambda: its parameters hide columns of the same name; arguments[0] is the body. `type` is Lambda.
    std::vector<std::string> parameters;
    std::vector<TypePtr> parameter_types;
};

struct Step;
using StepPtr = std::shared_ptr<const Step>;

struct NamedExpression {
    std::string name;
    ExpressionPtr expression;
};

/// Reads a table. Output: `columns` in order.
struct ScanStep {
    storage::TablePtr table;
    std::vector<std::string> columns;
    std::vector<storage::ColumnRange> ranges;
    /// Evaluated by the table when it supports that, else as a filter behind the scan.
    ExpressionPtr prewhere;
    std::vector<std::string> prewhere_columns;
    uint64_t limit_rows = 0;
};

struct AggregateCall {
    aggregates::AggregateFunctionPtr function;
    std::vector<std::string> arguments;  // columns of the input, of the function's argument types
    std::string name;                    // of the output column
};

/// On which shard the rows of a group live, by the sharding key.
struct GroupSlots {
    /// Over a block of the table's columns.
    storage::KeyElement key;
    /// Columns of the block that holds the groups, and the table's columns that they are.
    std::vector<std::pair<std::string, std::string>> columns;
    /// Of the shards, in their order; slots are shared out by them.
    std::vector<uint32_t> weights;
};

/// How an initiator proves that groups which shards finished are disjoint (verify_disjoint_groups).
struct GroupComparison {
    /// The keys of GROUP BY: columns of the shards' answers, and what the query calls them.
    std::vector<std::pair<std::string, std::string>> keys;
    /// Where the keys tell a group's shard: groups are held against their place. Otherwise the keys of all shards' groups are
    /// compared with one another.
    std::optional<GroupSlots> slots;
    /// Why neither can be done; empty when it can.
    std::string impossible;
    /// Error at the first group that is not where it should be; otherwise they are counted.
    bool throws = false;
    storage::DistributedActivityPtr activity;
};

/// distributed_totals = 'exact': shards send the states behind the row without keys, which becomes one here.
struct ExactTotals {
    /// arguments: a shard's state column; name: the finished column.
    std::vector<AggregateCall> calls;
    /// What `output` and `having` are computed from: keys hold defaults, calls their results.
    Block inputs;
    uint64_t grouping_set = 0;
    ExpressionPtr having;
    std::vector<NamedExpression> output;
    /// The grand total of ROLLUP and CUBE is a row among the others; WITH TOTALS a row of its own.
    bool is_row = false;
    bool is_totals = false;
    /// This node is a shard itself: states are not finished but passed on.
    storage::DistributedActivityPtr states_to;
};

/// Asks shards. Output: query.header without its hidden columns, from all shards in any order; or one sorted stream merged by `sort_keys` of the step
/// above when that is a MergeSortedStep.
struct RemoteScanStep {
    storage::TablePtr table;  // keeps `table->distributed()` alive
    storage::RemoteQuery query;
    /// Whether the shards' Totals are the answer's (the first shard's that has some), and their extremes are extended.
    bool take_totals = false;
    std::optional<GroupComparison> comparison;
    /// Columns at the end of query.header that only the comparison needs.
    size_t hidden_columns = 0;
    std::optional<ExactTotals> exact_totals;
    /// Streams are read to their end even when no more rows are wanted: totals and counts come behind them.
    bool to_the_end = false;
    /// Shards were asked for states bucket by bucket; each may answer without buckets.
    bool by_buckets = false;
};

/// Rows that are there already or made on the spot (VALUES, system tables, one(), external tables).
struct SourceStep {
    std::function<BlockSourcePtr()> open;
    std::string description;
};

struct FilterStep {
    StepPtr input;
    /// Rows stay where it is neither 0 nor NULL.
    ExpressionPtr condition;
};

/// Output: exactly these columns. Also applied to a totals row that comes along.
struct ProjectStep {
    StepPtr input;
    std::vector<NamedExpression> columns;
};

/// Arrays side by side (same lengths, else error 190) become rows; `left` keeps rows of empty arrays with defaults.
/// The named columns are replaced by their elements; all others are repeated.
struct ArrayJoinStep {
    StepPtr input;
    std::vector<std::string> columns;  // Array (or Map) columns of the input
    bool left = false;
};

enum class OverflowMode : uint8_t { Throw, Break, Any };

/// An element of a table's sorting key that has one value within every group.
struct KeyOrderElement {
    std::string text;
    bool descending = false;
    /// The key of GROUP BY that is the element, if groups beyond an ORDER BY … LIMIT need not be made; else empty.
    std::string key;
};

/// GROUP BY. Output: keys in order, then calls, as states or (finish) results. Without keys exactly one row, unless
/// nothing came and empty_result_for_aggregation_by_empty_set holds.
struct AggregateStep {
    StepPtr input;
    std::vector<std::string> keys;
    std::vector<AggregateCall> calls;
    bool finish = true;
    bool empty_result_without_input = false;
    /// GROUPING SETS: positions in `keys` of each set; the output then begins with __grouping_set UInt64, and keys that
    /// are not in a row's set hold defaults. Empty: one set of all keys.
    std::vector<std::vector<size_t>> grouping_sets;
    /// Over it: `overflow`. 0 is no limit. Rows beyond, under Any with `overflow_row`, go to one row flagged is_overflows.
    uint64_t max_groups = 0;
    OverflowMode overflow = OverflowMode::Throw;
    bool overflow_row = false;
    /// Only this many groups matter (LIMIT without ORDER BY or HAVING); 0 is all.
    uint64_t limit_groups = 0;
    /// The first elements of the table's sorting key that the keys determine: rows may come range by range of these, so that
    /// groups are finished on the way (optimize_aggregation_in_order). Empty: rows come as they like.
    std::vector<KeyOrderElement> key_order;
    /// Many groups come out bucket by bucket (Block::bucket), in ascending order.
    bool by_buckets = false;
};

/// Groups pass; each must live on this shard, as far as its keys tell. Output: the input's columns.
struct GroupCheckStep {
    StepPtr input;
    GroupSlots slots;
    /// Keys, and what the query calls them.
    std::vector<std::pair<std::string, std::string>> keys;
    /// This shard's place, from 0.
    size_t own_shard = 0;
    bool throws = false;
    storage::DistributedActivityPtr activity;
};

/// As AggregateStep, over rows of states: from threads, from shards (bucket by bucket where they have buckets).
struct MergeStatesStep {
    StepPtr input;
    std::vector<std::string> keys;
    std::vector<AggregateCall> calls;  // arguments: the one state column each
    bool finish = true;
    bool has_grouping_set_column = false;
    bool overflow_row = false;
    /// As AggregateStep's.
    bool by_buckets = false;
};

enum class TotalsMode : uint8_t { BeforeHaving, AfterHavingInclusive, AfterHavingExclusive, AfterHavingAuto };

/// WITH TOTALS: input are keys and states (unfinished); output the finished rows that pass `having`, and one row of totals
/// whose keys are defaults.
struct TotalsStep {
    StepPtr input;
    std::vector<std::string> keys;
    std::vector<AggregateCall> calls;  // arguments: the state column; name: the finished column
    ExpressionPtr having;              // over the finished columns; may be missing
    TotalsMode mode = TotalsMode::AfterHavingExclusive;
    double auto_threshold = 0.5;
    /// Instead of a row of totals the states behind it, for an initiator.
    storage::DistributedActivityPtr states_to;
};

/// WITH ROLLUP / WITH CUBE: input are keys and states by all keys; output finished rows of every level. The column
/// __grouping_set UInt64 comes first: the index of the level, for grouping().
struct RollupStep {
    StepPtr input;
    std::vector<std::string> keys;
    std::vector<AggregateCall> calls;  // arguments: the state column
    bool cube = false;
    bool use_nulls = false;  // group_by_use_nulls: keys that a level leaves out are NULL, key types Nullable
    bool totals = false;     // the level without keys is the totals row too
    /// The states of the level without keys go there instead of its row, for an initiator.
    storage::DistributedActivityPtr states_to;
};

struct SortKey {
    std::string column;
    bool descending = false;
    /// 1: NULL and NaN are the greatest; -1: the least. (ClickHouse's nulls_direction, before `descending` is applied.)
    int nulls_direction = 1;
};

struct SortStep {
    StepPtr input;
    std::vector<SortKey> keys;
    /// Only the first rows matter; 0 is all. With ties: all rows equal to the last of them too.
    uint64_t limit = 0;
    bool with_ties = false;
};

/// Streams that are sorted each (the shards of a RemoteScanStep, in stages 1, 3 and 4) to one.
struct MergeSortedStep {
    StepPtr input;
    std::vector<SortKey> keys;
    uint64_t limit = 0;
    bool with_ties = false;
};

/// A count of rows as LIMIT and OFFSET may say it: a number, a number from the end, or a share of all rows.
struct RowCount {
    uint64_t rows = 0;
    bool from_end = false;
    double fraction = 0;  // used when > 0

    bool plain() const { return !from_end && fraction == 0; }
};

struct LimitStep {
    StepPtr input;
    std::optional<RowCount> limit;
    RowCount offset;
    bool with_ties = false;
    std::vector<SortKey> ties;  // what equal means WITH TIES
    /// Read on to the end after the limit, for exact counts, totals and rows_before_limit.
    bool exhaust_input = false;
};

struct LimitByStep {
    StepPtr input;
    std::vector<std::string> columns;
    uint64_t limit = 0;
    uint64_t offset = 0;
};

struct DistinctStep {
    StepPtr input;
    std::vector<std::string> columns;  // what must differ; all others come from the first row
    uint64_t limit_rows = 0;           // enough after this many; 0 is all
};

/// Inputs with the same columns (converted before), one after another or mixed.
struct UnionStep {
    std::vector<StepPtr> inputs;
};

struct IntersectExceptStep {
    enum class Kind : uint8_t { Intersect, IntersectDistinct, Except, ExceptDistinct };

    Kind kind = Kind::Except;
    StepPtr left;
    StepPtr right;
};

/// ORDER BY … WITH FILL over sorted input.
struct FillStep {
    struct Column {
        SortKey key;
        std::optional<Value> from;
        std::optional<Value> to;
        Value step;
        std::optional<IntervalUnit> step_unit;
        std::optional<Value> staleness;
    };

    StepPtr input;
    std::vector<Column> columns;
    std::vector<SortKey> all_keys;
    std::vector<NamedExpression> interpolate;
};

/// One window over its partitions. Output: the input's columns, then the calls.
struct WindowStep {
    enum class Frame : uint8_t { Rows, Groups, Range };

    struct Bound {
        enum class Kind : uint8_t { Unbounded, Current, Offset } kind = Kind::Unbounded;
        bool preceding = true;
        Value offset;
    };

    struct Call {
        /// An aggregate function, or the name of a window function (row_number, rank, lagInFrame …).
        aggregates::AggregateFunctionPtr aggregate;
        std::string function;
        std::vector<std::string> arguments;
        TypePtr type;
        std::string name;
    };

    StepPtr input;
    std::vector<std::string> partition_by;
    std::vector<SortKey> order_by;
    Frame frame = Frame::Range;
    Bound begin;
    Bound end;
    std::vector<Call> calls;
};

/// Rows of two inputs side by side where keys are equal and the condition holds. A right join is a left one with its inputs
/// exchanged. Output: the columns of both, by name; a column whose type is Nullable in the header only is NULL where its side
/// has no row, others hold defaults there.
struct JoinStep {
    enum class Kind : uint8_t { Inner, Left, Full };
    /// Any: at most one match a row of the left (of Inner: a key). Semi, Anti: rows of the left with, without a match. Asof: the
    /// nearest match by one ordered pair of columns.
    enum class Strictness : uint8_t { All, Any, Semi, Anti, Asof };
    enum class Nearest : uint8_t { GreaterOrEqual, Greater, LessOrEqual, Less };  // left op right

    StepPtr left;
    StepPtr right;
    Kind kind = Kind::Inner;
    Strictness strictness = Strictness::All;
    /// Pairwise of one type. NULL equals nothing, unless null_safe. No keys: every row meets every row.
    std::vector<std::string> left_keys;
    std::vector<std::string> right_keys;
    std::vector<bool> null_safe;
    /// Over the columns of both inputs, as they are there; may be missing.
    ExpressionPtr condition;
    std::string asof_left;
    std::string asof_right;
    Nearest nearest = Nearest::GreaterOrEqual;
};

/// extremes = 1: passes rows on and ends with two rows of minima and maxima.
struct ExtremesStep {
    StepPtr input;
};

/// Limits on what a (sub)query reads or answers, checked as blocks pass.
struct LimitsStep {
    StepPtr input;
    uint64_t max_rows = 0;
    uint64_t max_bytes = 0;
    bool throws = true;  // else: stop there
    ErrorCode code = ErrorCode::TOO_MANY_ROWS_OR_BYTES;
    std::string what;  // "result", for the error's text
};

struct Step {
    std::variant<ScanStep,
                 RemoteScanStep,
                 SourceStep,
                 FilterStep,
                 ProjectStep,
                 ArrayJoinStep,
                 AggregateStep,
                 GroupCheckStep,
                 MergeStatesStep,
                 TotalsStep,
                 RollupStep,
                 SortStep,
                 MergeSortedStep,
                 LimitStep,
                 LimitByStep,
                 DistinctStep,
                 UnionStep,
                 IntersectExceptStep,
                 FillStep,
                 WindowStep,
                 ExtremesStep,
                 JoinStep,
                 LimitsStep>
        node;
    /// The output's columns, without rows.
    Block header;
};

template <typename Node>
StepPtr makeStep(Node node, Block header) {
    return std::make_shared<const Step>(Step{std::move(node), std::move(header)});
}

}  // namespace shardd::plan
