#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "config/settings.h"
#include "server/plan/plan.h"

/// A query with every name resolved: what the binder makes of the syntax tree. From it come the steps, the column names
/// of the stages between initiator and shard, and the text that shards receive.
namespace shardd::plan {

struct Node;
using NodePtr = std::shared_ptr<const Node>;
struct QueryNode;
struct QueryTree;
using QueryTreePtr = std::shared_ptr<const QueryTree>;
struct TableSource;

/// One expression, resolved and typed. Shared and not changed once made.
struct Node {
    enum class Kind : uint8_t {
        Column,           // of a table source
        ArrayJoinColumn,  // an element that ARRAY JOIN or arrayJoin() puts into the row
        Parameter,        // of an enclosing lambda
        Constant,
        Function,
        Aggregate,
        Window,
        Lambda,
        Set,        // right side of IN, evaluated or not
        Grouping,   // grouping(keys…)
    };

    Kind kind = Kind::Constant;
    TypePtr type;
    /// The analyzer's name, unique for what the expression means: `__table1.k`, `plus(__table1.k, 1_UInt8)`.
    std::string name;
    /// The same without table and type, as the old analyzer has it: `k`, `plus(k, 1)`.
    std::string old_name;

    // Column, ArrayJoinColumn, Parameter
    std::shared_ptr<const TableSource> source;
    std::string column;

    // Constant: one row. `folded` when it came from a function, not from a literal: printed with _CAST.
    ColumnPtr constant;
    bool folded = false;
    /// Folded constants whose value depends on the server (hostName()) keep the call, for the text for shards.
    NodePtr unfolded;

    // Function, Aggregate, Window; Lambda's body is arguments[0]; ArrayJoinColumn of arrayJoin(x): arguments[0] is x.
    std::string function_name;
    std::vector<NodePtr> arguments;
    functions::ResolvedFunctionPtr function;
    std::vector<Value> parameters;
    std::vector<NodePtr> parameter_nodes;
    aggregates::AggregateFunctionPtr aggregate;
    /// Whether an aggregate, a window function, arrayJoin() stands anywhere in it.
    bool has_aggregate = false;
    bool has_window = false;
    bool has_array_join = false;

    // Lambda
    std::vector<std::string> lambda_parameters;
    std::vector<TypePtr> lambda_types;

    // Window
    struct WindowInfo {
        std::vector<NodePtr> partition_by;
        struct Order {
            NodePtr node;
            bool descending = false;
            int nulls_direction = 1;
            bool nulls_written = false;
        };
        std::vector<Order> order_by;
        WindowStep::Frame frame = WindowStep::Frame::Range;
        bool frame_written = false;
        WindowStep::Bound begin;
        WindowStep::Bound end;
        std::string key;  // equal windows have equal keys
    };
    std::shared_ptr<const WindowInfo> window;

    // Set: from literals, a subquery, or a table by name (an external one, or any with one set of columns).
    QueryTreePtr subquery;
    std::string set_table;
    std::vector<NodePtr> set_elements;  // literal rows, as written: a tuple constant or the elements
};

/// Something in FROM.
struct TableSource {
    enum class Kind : uint8_t { Table, TableFunction, Subquery, None };

    Kind kind = Kind::None;
    /// `__table1`: written or made; unique in the query, part of the columns' names.
    std::string id;
    std::string alias;  // the user's
    std::string database;
    std::string table;
    storage::TablePtr storage;
    /// For text: the table function as SQL, e.g. numbers(10).
    std::string function_text;
    QueryTreePtr subquery;
    std::vector<std::pair<std::string, TypePtr>> columns;
    /// `*` leaves out MATERIALIZED, ALIAS and EPHEMERAL columns: how many of `columns` it shows, by name.
    std::vector<std::string> visible_columns;
    bool final = false;
    std::string sample_text;
};

using TableSourcePtr = std::shared_ptr<const TableSource>;

struct ArrayJoinElement {
    NodePtr array;       // what is joined
    NodePtr column;      // ArrayJoinColumn
    std::string alias;   // the user's
    size_t clause = 0;   // several ARRAY JOIN follow one another
    bool left = false;
};

struct OrderItem {
    NodePtr node;
    bool descending = false;
    bool nulls_first = false;
    bool nulls_written = false;
    std::string collation;
    bool with_fill = false;
    NodePtr fill_from, fill_to, fill_step, fill_staleness;
};

struct Projection {
    NodePtr node;
    std::string alias;  // of the result: written, or the expression's text
};

/// How the next table source meets all before it.
struct JoinNode {
    enum class Kind : uint8_t { Inner, Left, Right, Full };

    struct Key {
        NodePtr left, right;  // equal where they match; of types with a common one
        bool null_safe = false;
    };

    struct Asof {
        NodePtr left, right;
        JoinStep::Nearest nearest = JoinStep::Nearest::GreaterOrEqual;
    };

    TableSourcePtr right;
    Kind kind = Kind::Inner;
    JoinStep::Strictness strictness = JoinStep::Strictness::All;
    bool global = false;
    bool cross = false;  // written without a condition
    std::vector<Key> keys;
    std::optional<Asof> asof;
    NodePtr condition;  // what else must hold
    NodePtr on;         // all of it, for text
};

/// One SELECT.
struct QueryNode {
    Settings settings;  // in force here: the session's, the outer query's, its own clause
    std::vector<TableSourcePtr> sources;  // the first, and one a join; of kind None for SELECT 1
    std::vector<JoinNode> joins;          // joins[i] brings sources[i + 1]
    std::vector<ArrayJoinElement> array_join;
    bool left_array_join = false;

    std::vector<Projection> projection;
    bool distinct = false;
    NodePtr prewhere;
    NodePtr where;
    bool has_group_by = false;
    std::vector<NodePtr> group_by;
    /// Keys that change nothing but that there is a GROUP BY: left out of group_by.
    std::vector<NodePtr> constant_keys;
    std::vector<std::vector<size_t>> grouping_sets;
    bool rollup = false, cube = false, totals = false;
    NodePtr having;
    NodePtr qualify;
    std::vector<OrderItem> order_by;
    std::vector<std::pair<std::string, NodePtr>> interpolate;
    bool has_interpolate = false;
    std::vector<NodePtr> limit_by;
    NodePtr limit_by_limit, limit_by_offset;  // constants
    NodePtr limit, offset;                    // constants
    bool limit_with_ties = false;

    bool aggregated() const { return has_group_by || !aggregates.empty() || totals; }

    /// Distinct aggregates and windows of all clauses, in order of appearance.
    std::vector<NodePtr> aggregates;
    std::vector<NodePtr> windows;

    bool isDistributed() const { return !sources.empty() && sources[0]->storage && sources[0]->storage->distributed(); }
};

enum class SetOperation : uint8_t { Select, UnionAll, UnionDistinct, IntersectAll, IntersectDistinct, ExceptAll, ExceptDistinct };

/// A SELECT, or several with set operations.
struct QueryTree {
    SetOperation operation = SetOperation::Select;
    std::shared_ptr<QueryNode> select;
    std::vector<QueryTreePtr> operands;  // of one operation, two or more
    std::vector<std::pair<std::string, TypePtr>> columns;  // of the result
};

}  // namespace shardd::plan
