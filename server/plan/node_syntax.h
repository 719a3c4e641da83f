#pragma once

#include <map>
#include <memory>
#include <string>

#include "server/plan/query_tree.h"
#include "server/sql/ast.h"

namespace shardd::plan {

/// How a query tree becomes syntax again.
struct SyntaxOptions {
    enum class Dialect : uint8_t {
        Analyzer,  // `__table1`.`k` AS `k`, constants with _CAST where their literal would be another type
        Old,       // k, for servers before the analyzer: no qualifiers, no _CAST
        Legacy,    // as Analyzer, for servers of 18.16's time: CAST, and literals where they ask for literals
    };

    Dialect dialect = Dialect::Analyzer;
    /// For GLOBAL IN: from a set node's name to the table that travels with the query.
    std::map<std::string, std::string> sent_sets = {};
    /// IN lists that are written shorter: from a set's node to the elements that stay.
    std::map<const Node*, std::vector<NodePtr>> lists = {};
    /// For shards: the sharded table that they are asked about, called by the name it has there.
    const TableSource* read = nullptr;
    /// … and every other sharded table too (distributed_product_mode = 'local'); table functions stay what they are.
    bool all_local = false;
    /// Aggregates are written as their -State.
    bool states = false;
};

/// One expression as syntax, its leaves included. The node must be one that can be written: a set of a GLOBAL
/// IN needs its name in `sent_sets`.
sql::ExpressionPtr expressionSyntax(const Node& node, const SyntaxOptions& options);

/// A constant as a literal, or as _CAST(literal, 'Type').
sql::ExpressionPtr constantSyntax(const Node& node, const SyntaxOptions& options);

/// One SELECT as syntax: nothing implied, every column under an alias, directions and offsets explicit.
std::shared_ptr<sql::Select> selectSyntax(const QueryNode& query, const SyntaxOptions& options);

/// A whole query tree.
sql::QueryPtr querySyntax(const QueryTree& tree, const SyntaxOptions& options);

}  // namespace shardd::plan
