#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/sql/literal.h"

/// The tree of a statement: plain structs, one for each construct, no names resolved. Expressions are shared
/// and are not changed once parsed: `a BETWEEN b AND c` holds its `a` twice.
namespace shardd::sql {

struct Expression;
struct Query;
struct WindowDefinition;
using ExpressionPtr = std::shared_ptr<Expression>;
using QueryPtr = std::shared_ptr<Query>;
using Expressions = std::vector<ExpressionPtr>;

// ---------------------------------------------------------------------------------- expressions

struct Expression {
    enum class Kind : uint8_t {
        Literal,
        Identifier,
        Function,
        Lambda,
        Asterisk,
        Columns,
        Subquery,
        Parameter,
    };

    explicit Expression(Kind kind_of) : kind(kind_of) {}

    virtual ~Expression() = default;

    Kind kind;
    bool parenthesized = false;  // the text had redundant parentheses; only the printer cares
    uint32_t position = 0;       // where it began in the text, in bytes
    uint32_t depth = 1;          // levels of the tree below, itself included
    uint32_t elements = 1;       // nodes of the tree below, itself included; shared ones count each time
    std::string alias;           // empty: none
};

struct LiteralExpression : Expression {
    static constexpr Kind kKind = Kind::Literal;

    explicit LiteralExpression(Literal literal = {}) : Expression(kKind), value(std::move(literal)) {}

    Literal value;
};

/// `a`, `t.a`, `db.t.a.b`: not known yet which part is what.
struct Identifier : Expression {
    static constexpr Kind kKind = Kind::Identifier;

    explicit Identifier(std::vector<std::string> name_parts = {})
        : Expression(kKind), parts(std::move(name_parts)) {}

    std::vector<std::string> parts;
};

/// A call, or an operator under its function's name (`a + 1` is plus). Folded as ClickHouse folds:
/// `f(DISTINCT x)` is fDistinct(x), `f(x) FILTER (WHERE c)` is fIf(x, c), `x::T` is CAST(x, 'T').
struct Function : Expression {
    static constexpr Kind kKind = Kind::Function;

    explicit Function(std::string function_name = {}, Expressions function_arguments = {})
        : Expression(kKind), name(std::move(function_name)), arguments(std::move(function_arguments)) {}

    enum class Nulls : uint8_t { Default, Respect, Ignore };

    std::string name;
    Expressions parameters;  // quantile(0.9)(x): 0.9
    Expressions arguments;
    bool has_parameters = false;
    bool is_operator = false;  // was written as one, and is printed so
    Nulls nulls = Nulls::Default;
    bool is_window = false;                    // has OVER
    std::string window_name;                   // OVER name
    std::shared_ptr<WindowDefinition> window;  // OVER (...)
};

/// `(x, y) -> body`
struct Lambda : Expression {
    static constexpr Kind kKind = Kind::Lambda;

    Lambda() : Expression(kKind) {}

    std::vector<std::string> arguments;
    ExpressionPtr body;
};

/// What follows `*`: EXCEPT, REPLACE, APPLY, in the order written.
struct ColumnTransformer {
    enum class Kind : uint8_t { Except, Replace, Apply };

    Kind kind = Kind::Except;
    bool strict = false;
    bool in_parentheses = false;         // EXCEPT (a) rather than EXCEPT a
    std::vector<std::string> names;      // Except, by name
    std::optional<std::string> pattern;  // Except, by regular expression
    Expressions replacements;            // Replace: each has an alias
    std::string function;                // Apply, by name
    Expressions parameters;              // Apply: parameters of the function
    std::shared_ptr<Lambda> lambda;      // Apply
};

/// `*`, `t.*`
struct Asterisk : Expression {
    static constexpr Kind kKind = Kind::Asterisk;

    Asterisk() : Expression(kKind) {}

    std::vector<std::string> qualifier;
    std::vector<ColumnTransformer> transformers;
};

/// `COLUMNS('re')`, `COLUMNS(a, b)`, `t.COLUMNS('re')`
struct Columns : Expression {
    static constexpr Kind kKind = Kind::Columns;

    Columns() : Expression(kKind) {}

    std::vector<std::string> qualifier;
    std::optional<std::string> pattern;
    Expressions list;
    std::vector<ColumnTransformer> transformers;
};

/// `(SELECT …)`; EXISTS(…) is the function `exists` over one.
struct Subquery : Expression {
    static constexpr Kind kKind = Kind::Subquery;

    Subquery() : Expression(kKind) {}

    QueryPtr query;
    bool bare = false;  // view(SELECT 1): printed without parentheses of its own
};

/// `{name:Type}`
struct Parameter : Expression {
    static constexpr Kind kKind = Kind::Parameter;

    Parameter() : Expression(kKind) {}

    std::string name;
    std::string type;
};

/// The node as `T`, or nullptr when it is another kind.
template <typename T>
T* as(Expression* expression) {
    return expression && expression->kind == T::kKind ? static_cast<T*>(expression) : nullptr;
}

template <typename T>
const T* as(const Expression* expression) {
    return expression && expression->kind == T::kKind ? static_cast<const T*>(expression) : nullptr;
}

template <typename T>
T* as(const ExpressionPtr& expression) {
    return as<T>(expression.get());
}

// --------------------------------------------------------------------------------------- SELECT

struct OrderElement {
    ExpressionPtr expression;
    bool descending = false;
    std::optional<bool> nulls_first;  // absent: NULLS LAST, as ClickHouse does for both directions
    std::string collation;
    bool with_fill = false;
    ExpressionPtr fill_from, fill_to, fill_step, fill_staleness;
};

struct FrameBound {
    enum class Kind : uint8_t { Unbounded, CurrentRow, Offset };

    Kind kind = Kind::Unbounded;
    bool preceding = true;
    ExpressionPtr offset;
};

struct WindowDefinition {
    enum class Frame : uint8_t { Default, Rows, Range, Groups };

    std::string name;    // in the WINDOW clause
    std::string parent;  // OVER (parent …)
    Expressions partition_by;
    std::vector<OrderElement> order_by;
    Frame frame = Frame::Default;
    FrameBound begin, end;
};

struct QualifiedName {
    std::string database;  // empty: the current one
    std::string table;

    bool operator==(const QualifiedName&) const = default;
};

/// What stands in FROM: a table, a table function, or a subquery.
struct TableExpression {
    QualifiedName table;
    std::shared_ptr<Function> function;
    QueryPtr subquery;
    std::shared_ptr<Parameter> parameter;  // FROM {name:Identifier}
    std::string alias;
    std::vector<std::string> column_aliases;
    bool final = false;
    ExpressionPtr sample_size, sample_offset;
    uint32_t position = 0;
};

struct Join {
    enum class Kind : uint8_t { Comma, Cross, Inner, Left, Right, Full, Paste };
    enum class Strictness : uint8_t { Default, Any, All, Semi, Anti, Asof };
    enum class Locality : uint8_t { Default, Global, Local };

    Kind kind = Kind::Inner;
    Strictness strictness = Strictness::Default;
    Locality locality = Locality::Default;
    ExpressionPtr on;
    Expressions using_columns;
    bool using_in_parentheses = true;
    bool natural = false;
};

/// One more member of the list in FROM: a table joined to all before it, or an ARRAY JOIN over them.
struct TableElement {
    std::optional<Join> join;  // absent for the first one
    TableExpression table;
    bool is_array_join = false;
    bool is_left_array_join = false;
    Expressions array_join;
};

/// One of WITH: `expression AS name`, or `name AS (SELECT …)`.
struct WithElement {
    std::string name;  // of a subquery; an expression has its alias
    std::vector<std::string> column_aliases;
    QueryPtr query;
    std::optional<bool> materialized;
    ExpressionPtr expression;
};

struct InterpolateElement {
    std::string column;
    ExpressionPtr expression;  // `column` itself when none was written
};

struct SettingChange {
    std::string name;
    Literal value;
    bool to_default = false;  // name = DEFAULT

    bool operator==(const SettingChange&) const = default;
};

using SettingChanges = std::vector<SettingChange>;

struct Select {
    std::vector<WithElement> with;
    bool with_recursive = false;

    bool distinct = false;
    Expressions distinct_on;
    Expressions select;

    std::vector<TableElement> from;

    ExpressionPtr prewhere, where;

    bool has_group_by = false;
    bool group_by_all = false;
    bool group_by_grouping_sets = false;
    Expressions group_by;
    std::vector<Expressions> grouping_sets;
    bool rollup = false, cube = false, totals = false;

    ExpressionPtr having;
    std::vector<std::shared_ptr<WindowDefinition>> windows;
    ExpressionPtr qualify;

    bool order_by_all = false;  // order_by holds one element, without expression: direction and nulls
    std::vector<OrderElement> order_by;
    bool has_interpolate = false;
    std::vector<InterpolateElement> interpolate;

    ExpressionPtr limit_by_length, limit_by_offset;
    bool limit_by_all = false;
    Expressions limit_by;

    ExpressionPtr limit, offset;
    bool limit_with_ties = false;

    SettingChanges settings;
};

enum class SetOperator : uint8_t {
    UnionDefault,
    UnionAll,
    UnionDistinct,
    IntersectDefault,
    IntersectAll,
    IntersectDistinct,
    ExceptDefault,
    ExceptAll,
    ExceptDistinct,
};

/// One SELECT, or several joined by set operators and evaluated from the left; INTERSECT, which binds
/// tighter, is a Query of its own among the operands.
struct Query {
    std::shared_ptr<Select> select;
    std::vector<QueryPtr> operands;      // empty when `select` is set
    std::vector<SetOperator> operators;  // operators[i] stands between operands i and i + 1
    bool parenthesized = false;
    uint32_t begin = 0, end = 0;  // its text, in bytes
};

// ----------------------------------------------------------------------------------- statements

struct Statement {
    enum class Kind : uint8_t {
        Query,
        Insert,
        Create,
        Drop,
        Rename,
        Alter,
        Delete,
        Update,
        Describe,
        Exists,
        Show,
        Set,
        SetRole,
        Use,
        Kill,
        Explain,
        System,
        Optimize,
        Check,
        CreateFunction,
        Transaction,
        Access,
    };

    explicit Statement(Kind kind_of) : kind(kind_of) {}

    virtual ~Statement() = default;

    Kind kind;
    uint32_t begin = 0, end = 0;  // its text, in bytes

    // What may follow any statement that answers rows.
    std::string format;
    std::string outfile;
    bool has_outfile = false;
    bool outfile_append = false, outfile_truncate = false, outfile_and_stdout = false;
    std::string outfile_compression;
    std::optional<uint64_t> outfile_compression_level;
    SettingChanges settings;  // behind FORMAT, or of a statement that is no SELECT
    bool settings_before_format = false;
};

using StatementPtr = std::shared_ptr<Statement>;

template <typename T>
T* as(Statement* statement) {
    return statement && statement->kind == T::kKind ? static_cast<T*>(statement) : nullptr;
}

template <typename T>
const T* as(const Statement* statement) {
    return statement && statement->kind == T::kKind ? static_cast<const T*>(statement) : nullptr;
}

template <typename T>
T* as(const StatementPtr& statement) {
    return as<T>(statement.get());
}

struct QueryStatement : Statement {
    static constexpr Kind kKind = Kind::Query;

    QueryStatement() : Statement(kKind) {}

    QueryPtr query;
};

/// INSERT. Inline data is not parsed: it begins at `data_begin` of the text, behind VALUES or FORMAT name.
struct Insert : Statement {
    static constexpr Kind kKind = Kind::Insert;

    Insert() : Statement(kKind) {}

    QualifiedName table;
    std::shared_ptr<Function> function;  // INTO FUNCTION f(…)
    bool has_columns = false;
    Expressions columns;  // identifiers, `*` with EXCEPT, COLUMNS(…)
    ExpressionPtr partition_by;
    std::string infile;
    bool has_infile = false;
    std::string infile_compression;
    QueryPtr query;           // INSERT … SELECT
    std::string data_format;  // "Values" for VALUES; empty with a query
    bool has_data = false;    // more than white space follows
    size_t data_begin = 0;
};

struct ColumnDeclaration {
    enum class Default : uint8_t { None, Default, Materialized, Alias, Ephemeral };

    std::string name;
    std::string type;  // as written, blanks normalised; empty when left to the default expression
    std::optional<bool> null_modifier;  // NULL: true, NOT NULL: false
    Default default_kind = Default::None;
    ExpressionPtr default_expression;  // may be absent for EPHEMERAL
    bool has_comment = false;
    std::string comment;
    Expressions codec;  // identifiers and calls
    ExpressionPtr statistics;
    ExpressionPtr ttl;
    std::string collation;
    SettingChanges settings;
    bool primary_key = false;
};

struct IndexDeclaration {
    std::string name;
    ExpressionPtr expression;
    ExpressionPtr type;
    uint64_t granularity = 1;
    bool has_granularity = false;
};

struct ConstraintDeclaration {
    std::string name;
    bool assume = false;
    ExpressionPtr expression;
};

struct ProjectionDeclaration {
    std::string name;
    std::shared_ptr<Select> query;
};

struct TtlElement {
    enum class Action : uint8_t { None, Delete, ToDisk, ToVolume, Recompress, GroupBy };

    ExpressionPtr expression;
    Action action = Action::None;
    std::string destination;
    bool if_exists = false;
    Expressions codec;
    Expressions group_by;
    Expressions assignments;  // SET a = …: equals(a, …)
    ExpressionPtr where;
};

struct StorageDefinition {
    std::shared_ptr<Function> engine;
    ExpressionPtr partition_by, primary_key, sample_by;
    std::vector<OrderElement> order_by;
    bool order_by_in_parentheses = false;
    bool has_order_by = false;
    std::vector<TtlElement> ttl;
    SettingChanges settings;
};

enum class ObjectKind : uint8_t { Table, View, MaterializedView, Database, Dictionary, Function };

struct Create : Statement {
    static constexpr Kind kKind = Kind::Create;

    Create() : Statement(kKind) {}

    ObjectKind object = ObjectKind::Table;
    bool attach = false;  // ATTACH instead of CREATE
    bool or_replace = false, replace = false, if_not_exists = false, temporary = false;
    QualifiedName name;  // of a database: name.database
    std::string uuid, to_uuid;
    std::string cluster;
    std::string attach_from;

    bool has_columns = false;
    std::vector<ColumnDeclaration> columns;
    std::vector<IndexDeclaration> indexes;
    std::vector<ConstraintDeclaration> constraints;
    std::vector<ProjectionDeclaration> projections;
    ExpressionPtr primary_key_in_columns;

    StorageDefinition storage;
    bool has_comment = false;
    std::string comment;

    QualifiedName as_table;
    bool clone = false;
    std::shared_ptr<Function> as_function;
    QueryPtr as_query;
    bool empty_as = false;  // EMPTY AS SELECT
    bool populate = false;
    QualifiedName to_table;  // MATERIALIZED VIEW … TO
};

struct Drop : Statement {
    static constexpr Kind kKind = Kind::Drop;

    Drop() : Statement(kKind) {}

    enum class Verb : uint8_t { Drop, Detach, Truncate, Undrop };

    Verb verb = Verb::Drop;
    ObjectKind object = ObjectKind::Table;
    bool if_exists = false, if_empty = false, temporary = false, sync = false, permanently = false;
    bool all_tables = false;  // TRUNCATE ALL TABLES FROM database
    std::vector<QualifiedName> names;
    std::string cluster;
    std::string uuid;
    std::string like;  // TRUNCATE TABLES FROM d LIKE
};

struct Rename : Statement {
    static constexpr Kind kKind = Kind::Rename;

    Rename() : Statement(kKind) {}

    ObjectKind object = ObjectKind::Table;
    bool exchange = false, if_exists = false;
    std::vector<std::pair<QualifiedName, QualifiedName>> pairs;
    std::string cluster;
};

/// PARTITION expression | PARTITION ID 'x' | PARTITION ALL | PART 'x'
struct PartitionReference {
    enum class Kind : uint8_t { None, Expression, Id, All, Part };

    Kind kind = Kind::None;
    ExpressionPtr expression;
    std::string id;
};

struct AlterCommand {
    enum class Kind : uint8_t {
        AddColumn,
        DropColumn,
        ClearColumn,
        ModifyColumn,
        RenameColumn,
        CommentColumn,
        MaterializeColumn,
        ModifyColumnRemove,
        ModifyColumnSettings,
        ResetColumnSettings,
        ModifyOrderBy,
        ModifySampleBy,
        RemoveSampleBy,
        ModifyTtl,
        RemoveTtl,
        MaterializeTtl,
        ModifySetting,
        ResetSetting,
        ModifyComment,
        ModifyQuery,
        AddIndex,
        DropIndex,
        ClearIndex,
        MaterializeIndex,
        AddConstraint,
        DropConstraint,
        AddProjection,
        DropProjection,
        ClearProjection,
        MaterializeProjection,
        DropPartition,
        DetachPartition,
        DropDetachedPartition,
        ForgetPartition,
        AttachPartition,
        AttachPartitionFrom,
        ReplacePartition,
        MovePartition,
        FreezePartition,
        UnfreezePartition,
        FetchPartition,
        Delete,
        Update,
        ApplyDeletedMask,
    };

    Kind kind = Kind::AddColumn;
    bool if_exists = false, if_not_exists = false, first = false;
    std::string name;   // of the column, index, constraint, projection
    std::string after;  // ADD COLUMN … AFTER; RENAME COLUMN … TO
    ColumnDeclaration column;
    IndexDeclaration index;
    ConstraintDeclaration constraint;
    ProjectionDeclaration projection;
    std::string remove;  // MODIFY COLUMN … REMOVE DEFAULT
    std::string text;    // comment, path, disk
    std::vector<OrderElement> order_by;
    bool order_by_in_parentheses = false;
    ExpressionPtr expression;  // SAMPLE BY, ORDER BY, WHERE
    std::vector<TtlElement> ttl;
    SettingChanges settings;
    std::vector<std::string> names;  // RESET SETTING
    PartitionReference partition;
    QualifiedName table;  // REPLACE PARTITION … FROM, MOVE … TO TABLE
    bool to_disk = false, to_volume = false;
    std::vector<std::pair<std::string, ExpressionPtr>> assignments;  // UPDATE
    QueryPtr query;
};

struct Alter : Statement {
    static constexpr Kind kKind = Kind::Alter;

    Alter() : Statement(kKind) {}

    QualifiedName table;
    bool is_database = false;  // ALTER DATABASE: table.database
    std::string cluster;
    std::vector<AlterCommand> commands;
};

/// DELETE FROM t WHERE …
struct Delete : Statement {
    static constexpr Kind kKind = Kind::Delete;

    Delete() : Statement(kKind) {}

    QualifiedName table;
    std::string cluster;
    PartitionReference partition;
    ExpressionPtr where;
};

/// UPDATE t SET … WHERE …
struct Update : Statement {
    static constexpr Kind kKind = Kind::Update;

    Update() : Statement(kKind) {}

    QualifiedName table;
    std::string cluster;
    std::vector<std::pair<std::string, ExpressionPtr>> assignments;
    ExpressionPtr where;
};

struct Describe : Statement {
    static constexpr Kind kKind = Kind::Describe;

    Describe() : Statement(kKind) {}

    TableExpression table;
};

struct Exists : Statement {
    static constexpr Kind kKind = Kind::Exists;

    Exists() : Statement(kKind) {}

    ObjectKind object = ObjectKind::Table;
    bool temporary = false;
    QualifiedName name;
};

struct Show : Statement {
    static constexpr Kind kKind = Kind::Show;

    Show() : Statement(kKind) {}

    enum class What : uint8_t {
        Databases,
        Tables,
        Dictionaries,
        Create,  // of `object`
        Processlist,
        Settings,
        Setting,
        Columns,
        Functions,
        Clusters,
        Cluster,
        Engines,
        Grants,
        Privileges,
        Users,
        Roles,
        Profiles,
        Access,
        Indexes,
        Merges,
    };

    What what = What::Tables;
    ObjectKind object = ObjectKind::Table;
    bool full = false, extended = false, changed = false, temporary = false;
    QualifiedName name;    // SHOW CREATE, SHOW COLUMNS FROM; SHOW TABLES FROM: name.database
    std::string argument;  // SHOW CLUSTER, SHOW SETTING, SHOW GRANTS FOR
    bool has_like = false, not_like = false, case_insensitive_like = false;
    std::string like;
    ExpressionPtr where;
    ExpressionPtr limit;
};

struct Set : Statement {
    static constexpr Kind kKind = Kind::Set;

    Set() : Statement(kKind) {}

    SettingChanges changes;
    std::vector<std::pair<std::string, std::string>> parameters;  // SET param_x = …
};

struct SetRole : Statement {
    static constexpr Kind kKind = Kind::SetRole;

    SetRole() : Statement(kKind) {}

    std::string text;
};

struct Use : Statement {
    static constexpr Kind kKind = Kind::Use;

    Use() : Statement(kKind) {}

    std::string database;
};

struct Kill : Statement {
    static constexpr Kind kKind = Kind::Kill;

    Kill() : Statement(kKind) {}

    enum class Mode : uint8_t { Async, Sync, Test };

    bool mutation = false;
    std::string cluster;
    ExpressionPtr where;
    Mode mode = Mode::Async;
};

struct Explain : Statement {
    static constexpr Kind kKind = Kind::Explain;

    Explain() : Statement(kKind) {}

    enum class What : uint8_t {
        Plan,
        Ast,
        Syntax,
        QueryTree,
        Pipeline,
        Estimate,
        Distributed,
        CurrentTransaction
    };

    What what = What::Plan;
    SettingChanges options;
    StatementPtr statement;
};

/// SYSTEM …: the words of the command in capitals, then what it is about.
struct System : Statement {
    static constexpr Kind kKind = Kind::System;

    System() : Statement(kKind) {}

    std::string command;  // "FLUSH DISTRIBUTED"
    QualifiedName table;
    std::vector<std::string> arguments;
    std::string cluster;
};

struct Optimize : Statement {
    static constexpr Kind kKind = Kind::Optimize;

    Optimize() : Statement(kKind) {}

    QualifiedName table;
    std::string cluster;
    PartitionReference partition;
    bool final = false, deduplicate = false, cleanup = false;
    Expressions deduplicate_by;
};

struct Check : Statement {
    static constexpr Kind kKind = Kind::Check;

    Check() : Statement(kKind) {}

    QualifiedName table;
    bool all_tables = false;
    PartitionReference partition;
};

/// CREATE FUNCTION f AS (x) -> …
struct CreateFunction : Statement {
    static constexpr Kind kKind = Kind::CreateFunction;

    CreateFunction() : Statement(kKind) {}

    std::string name;
    bool or_replace = false, if_not_exists = false;
    std::string cluster;
    ExpressionPtr body;
};

/// BEGIN TRANSACTION, COMMIT, ROLLBACK: understood so that they can be refused by name.
struct Transaction : Statement {
    static constexpr Kind kKind = Kind::Transaction;

    Transaction() : Statement(kKind) {}

    std::string text;
};

/// GRANT, REVOKE, CREATE USER and their kin: only their words are kept.
struct Access : Statement {
    static constexpr Kind kKind = Kind::Access;

    Access() : Statement(kKind) {}

    std::string text;
};

// -------------------------------------------------------------------------------- comparison

/// Same structure and same names; positions, redundant parentheses and ways of spelling do not matter.
bool equals(const Expression* left, const Expression* right);
bool equals(const Query& left, const Query& right);
bool equals(const Select& left, const Select& right);
bool equals(const Statement& left, const Statement& right);

inline bool equals(const ExpressionPtr& left, const ExpressionPtr& right) {
    return equals(left.get(), right.get());
}

}  // namespace shardd::sql
