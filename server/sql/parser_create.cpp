#include "common/base/error.h"
#include "server/sql/parser_impl.h"

/// CREATE and ATTACH: columns, engines, and what hangs on them.
namespace shardd::sql {

namespace {

/// A call without brackets is the bare name: ENGINE = Memory, CODEC(LZ4), TYPE minmax.
std::shared_ptr<Function> nameOrCall(const ExpressionPtr& node) {
    if (auto call = std::dynamic_pointer_cast<Function>(node)) return call;
    auto* name = as<Identifier>(node);
    if (!name || name->parts.size() != 1) return nullptr;
    return std::make_shared<Function>(name->parts[0]);
}

}  // namespace

ObjectKind Parser::objectKind() {
    const auto word =
        anyKeyword({"TABLE", "DATABASE", "MATERIALIZED VIEW", "VIEW", "DICTIONARY", "FUNCTION"});
    if (word == "DATABASE") return ObjectKind::Database;
    if (word == "VIEW") return ObjectKind::View;
    if (word == "MATERIALIZED VIEW") return ObjectKind::MaterializedView;
    if (word == "DICTIONARY") return ObjectKind::Dictionary;
    if (word == "FUNCTION") return ObjectKind::Function;
    if (word.empty()) fail();
    return ObjectKind::Table;
}

StatementPtr Parser::create(bool attach) {
    auto node = std::make_shared<Create>();
    node->attach = attach;
    if (!attach && keyword("OR REPLACE")) node->or_replace = true;
    if (keyword("FUNCTION")) return createFunction(node->or_replace);
    node->temporary = keyword("TEMPORARY");
    if (keyword("DICTIONARY")) throw Error(ErrorCode::NOT_IMPLEMENTED, "Dictionaries are not supported");
    node->object = objectKind();
    if (node->object == ObjectKind::Database) return createDatabase(node);
    node->if_not_exists = keyword("IF NOT EXISTS");
    node->name = qualifiedName();
    if (keyword("UUID")) node->uuid = stringLiteral();
    node->cluster = cluster();
    if (attach && keyword("FROM")) node->attach_from = stringLiteral();
    createTail(*node);
    return node;
}

StatementPtr Parser::createDatabase(std::shared_ptr<Create> node) {
    node->if_not_exists = keyword("IF NOT EXISTS");
    node->name.database = identifierOrString();
    if (keyword("UUID")) node->uuid = stringLiteral();
    node->cluster = cluster();
    while (true) {
        if (keyword("ENGINE")) {
            node->storage.engine = engine();
        } else if (keyword("COMMENT")) {
            node->has_comment = true;
            node->comment = stringLiteral();
        } else if (isKeyword("SETTINGS") && keyword("SETTINGS")) {
            node->storage.settings = settingChanges();
        } else {
            return node;
        }
    }
}

StatementPtr Parser::createFunction(bool or_replace) {
    auto node = std::make_shared<CreateFunction>();
    node->or_replace = or_replace;
    node->if_not_exists = keyword("IF NOT EXISTS");
    node->name = identifier();
    node->cluster = cluster();
    expectKeyword("AS");
    node->body = plainExpression();
    return node;
}

/// Everything behind the name of a table or view; clauses come in the order of ClickHouse, but any is
/// optional.
void Parser::createTail(Create& create) {
    if (create.object == ObjectKind::MaterializedView) {
        if (keyword("TO INNER UUID"))
            create.to_uuid = stringLiteral();
        else if (keyword("TO"))
            create.to_table = qualifiedName();
    }
    if (peek().kind == TokenKind::OpenRound && !isQueryStart(1)) createColumns(create);
    while (storageClause(create)) {
    }
    asClause(create);
    while (storageClause(create)) {
    }
    // A key told among the columns is the table's key like any other.
    if (create.primary_key_in_columns && !create.storage.primary_key)
        create.storage.primary_key = std::exchange(create.primary_key_in_columns, nullptr);
    if (create.or_replace && create.if_not_exists) {
        throw Error(ErrorCode::SYNTAX_ERROR, "OR REPLACE and IF NOT EXISTS cannot stand together");
    }
}

void Parser::asClause(Create& create) {
    if (keyword("EMPTY AS")) {
        create.empty_as = true;
    } else if (keyword("CLONE AS")) {
        create.clone = true;
        create.as_table = qualifiedName();
        return;
    } else if (!keyword("AS")) {
        return;
    }
    if (isQueryStart(0) || peek().kind == TokenKind::OpenRound) {
        create.as_query = query();
        create.as_query->parenthesized = false;
        return;
    }
    if (create.object != ObjectKind::Table) fail();
    if (peek(1).kind == TokenKind::OpenRound) {
        const uint32_t position = peek().begin;
        create.as_function = std::static_pointer_cast<Function>(call(identifier(), position));
        return;
    }
    create.as_table = qualifiedName();
}

std::vector<ColumnDeclaration> Parser::columns() {
    std::vector<ColumnDeclaration> list;
    commaList([&] { list.push_back(columnDeclaration()); });
    return list;
}

void Parser::createColumns(Create& create) {
    expect(TokenKind::OpenRound);
    create.has_columns = true;
    do {
        const size_t before = create.columns.size() + create.indexes.size();
        if (before && peek().kind == TokenKind::CloseRound) break;
        const bool named = peek(1).kind == TokenKind::Word || peek(1).kind == TokenKind::QuotedIdentifier;
        if (named && isWord(0, "INDEX") && !isWord(1, "DEFAULT")) {
            advance();
            create.indexes.push_back(indexDeclaration());
        } else if (named && isWord(0, "CONSTRAINT")) {
            advance();
            create.constraints.push_back(constraintDeclaration());
        } else if (named && isWord(0, "PROJECTION")) {
            advance();
            create.projections.push_back(projectionDeclaration());
        } else if (isKeyword("PRIMARY KEY")) {
            keyword("PRIMARY KEY");
            create.primary_key_in_columns = expression();
        } else {
            create.columns.push_back(columnDeclaration());
        }
    } while (accept(TokenKind::Comma));
    expect(TokenKind::CloseRound);
}

ColumnDeclaration Parser::columnDeclaration() {
    ColumnDeclaration column;
    column.name = identifier();
    while (accept(TokenKind::Dot)) column.name += "." + identifier();  // Nested: n.a
    const bool has_type = peek().kind == TokenKind::Word && !isWord(0, "DEFAULT") &&
                          !isWord(0, "MATERIALIZED") && !isWord(0, "ALIAS") && !isWord(0, "EPHEMERAL") &&
                          !isWord(0, "REMOVE") && !isWord(0, "COMMENT") && !isWord(0, "CODEC") &&
                          !isWord(0, "TTL") && !isWord(0, "MODIFY") && !isWord(0, "RESET") &&
                          !isWord(0, "FIRST") && !isWord(0, "AFTER") && !isWord(0, "SETTINGS");
    if (has_type) column.type = type();
    while (columnProperty(column)) {
    }
    return column;
}

bool Parser::columnProperty(ColumnDeclaration& column) {
    using Default = ColumnDeclaration::Default;
    static constexpr std::pair<std::string_view, Default> kDefaults[] = {
        {"DEFAULT", Default::Default},
        {"MATERIALIZED", Default::Materialized},
        {"ALIAS", Default::Alias},
    };
    if (column.default_kind == Default::None) {
        for (const auto& [word, kind] : kDefaults) {
            if (!keyword(word)) continue;
            column.default_kind = kind;
            column.default_expression = plainExpression();
            return true;
        }
        if (keyword("EPHEMERAL")) {
            column.default_kind = Default::Ephemeral;
            const bool ends = peek().kind == TokenKind::Comma || peek().kind == TokenKind::CloseRound ||
                              atEnd() || isWord(0, "COMMENT") || isWord(0, "CODEC") || isWord(0, "TTL");
            if (!ends) column.default_expression = plainExpression();
            return true;
        }
    }
    if (!column.null_modifier && (isKeyword("NOT NULL") || isKeyword("NULL"))) {
        column.null_modifier = !keyword("NOT NULL");
        if (*column.null_modifier) keyword("NULL");
        return true;
    }
    if (!column.has_comment && keyword("COMMENT")) {
        column.has_comment = true;
        column.comment = stringLiteral();
        return true;
    }
    if (column.codec.empty() && isWord(0, "CODEC") && peek(1).kind == TokenKind::OpenRound) {
        advance();
        column.codec = codecList();
        return true;
    }
    if (!column.statistics && isWord(0, "STATISTICS") && peek(1).kind == TokenKind::OpenRound) {
        const uint32_t position = peek().begin;
        advance();
        column.statistics = call("STATISTICS", position);
        return true;
    }
    if (!column.ttl && keyword("TTL")) {
        column.ttl = plainExpression();
        return true;
    }
    if (column.collation.empty() && keyword("COLLATE")) {
        column.collation = identifierOrString();
        return true;
    }
    if (!column.primary_key && keyword("PRIMARY KEY")) {
        column.primary_key = true;
        return true;
    }
    if (column.settings.empty() && isWord(0, "SETTINGS") && peek(1).kind == TokenKind::OpenRound) {
        position_ += 2;
        column.settings = settingChanges();
        expect(TokenKind::CloseRound);
        return true;
    }
    return false;
}

Expressions Parser::codecList() {
    expect(TokenKind::OpenRound);
    Expressions codecs = expressionList();
    expect(TokenKind::CloseRound);
    return codecs;
}

IndexDeclaration Parser::indexDeclaration() {
    IndexDeclaration index;
    index.name = identifier();
    index.expression = expression();
    if (keyword("TYPE")) {
        index.type = nameOrCall(primary());
        if (!index.type) fail();
    }
    if (keyword("GRANULARITY")) {
        index.has_granularity = true;
        index.granularity = unsignedNumber();
    }
    return index;
}

ConstraintDeclaration Parser::constraintDeclaration() {
    ConstraintDeclaration constraint;
    constraint.name = identifier();
    constraint.assume = keyword("ASSUME");
    if (!constraint.assume) expectKeyword("CHECK");
    constraint.expression = expression();
    return constraint;
}

ProjectionDeclaration Parser::projectionDeclaration() {
    ProjectionDeclaration projection;
    projection.name = identifier();
    expect(TokenKind::OpenRound);
    projection.query = select();
    expect(TokenKind::CloseRound);
    return projection;
}

// ------------------------------------------------------------------------------- storage

std::shared_ptr<Function> Parser::engine() {
    accept(TokenKind::Equals);
    const uint32_t position = peek().begin;
    std::string name = identifier();
    if (peek().kind != TokenKind::OpenRound) return std::make_shared<Function>(std::move(name));
    auto node = std::make_shared<Function>(std::move(name));
    expect(TokenKind::OpenRound);
    bool distinct = false;
    callArguments(node->arguments, distinct);
    node->position = position;
    node->has_parameters = node->arguments.empty();  // `Memory()` keeps its brackets
    return node;
}

bool Parser::storageClause(Create& create) {
    StorageDefinition& storage = create.storage;
    if (!storage.engine && keyword("ENGINE")) {
        storage.engine = engine();
    } else if (!storage.partition_by && keyword("PARTITION BY")) {
        storage.partition_by = plainExpression();
    } else if (!storage.primary_key && keyword("PRIMARY KEY")) {
        storage.primary_key = plainExpression();
    } else if (!storage.has_order_by && keyword("ORDER BY")) {
        storage.has_order_by = true;
        storageOrderBy(storage.order_by, storage.order_by_in_parentheses);
    } else if (!storage.sample_by && keyword("SAMPLE BY")) {
        storage.sample_by = plainExpression();
    } else if (storage.ttl.empty() && keyword("TTL")) {
        storage.ttl = ttlList();
    } else if (storage.settings.empty() && !create.as_query && keyword("SETTINGS")) {
        storage.settings = settingChanges();
    } else if (!create.has_comment && keyword("COMMENT")) {
        create.has_comment = true;
        create.comment = stringLiteral();
    } else if (!create.populate && create.object == ObjectKind::MaterializedView && keyword("POPULATE")) {
        create.populate = true;
    } else if (create.object == ObjectKind::MaterializedView && create.to_table.table.empty() &&
               keyword("TO")) {
        create.to_table = qualifiedName();
    } else {
        return false;
    }
    return true;
}

/// `a`, `(a, b)`, `(a, b DESC)`, `a DESC`, `tuple()`.
void Parser::storageOrderBy(std::vector<OrderElement>& elements, bool& parenthesized) {
    const auto direction = [&](OrderElement& element) {
        if (keyword("DESC"))
            element.descending = true;
        else
            keyword("ASC");
    };
    parenthesized = peek().kind == TokenKind::OpenRound;
    if (!parenthesized) {
        OrderElement element;
        element.expression = plainExpression();
        direction(element);
        elements.push_back(std::move(element));
        return;
    }
    expect(TokenKind::OpenRound);
    if (accept(TokenKind::CloseRound)) return;
    do {
        if (peek().kind == TokenKind::CloseRound) break;
        OrderElement element;
        element.expression = plainExpression();
        direction(element);
        elements.push_back(std::move(element));
    } while (accept(TokenKind::Comma));
    expect(TokenKind::CloseRound);
}

std::vector<TtlElement> Parser::ttlList() {
    std::vector<TtlElement> list;
    commaList([&] { list.push_back(ttlElement()); });
    return list;
}

TtlElement Parser::ttlElement() {
    using Action = TtlElement::Action;
    TtlElement element;
    element.expression = plainExpression();
    if (keyword("DELETE")) {
        element.action = Action::Delete;
    } else if (keyword("TO DISK")) {
        element.action = Action::ToDisk;
        element.if_exists = keyword("IF EXISTS");
        element.destination = stringLiteral();
    } else if (keyword("TO VOLUME")) {
        element.action = Action::ToVolume;
        element.if_exists = keyword("IF EXISTS");
        element.destination = stringLiteral();
    } else if (keyword("RECOMPRESS")) {
        element.action = Action::Recompress;
        expectKeyword("CODEC");
        element.codec = codecList();
    } else if (keyword("GROUP BY")) {
        element.action = Action::GroupBy;
        element.group_by = expressionList();
        if (keyword("SET")) element.assignments = expressionList();
    }
    if ((element.action == Action::None || element.action == Action::Delete) && keyword("WHERE"))
        element.where = plainExpression();
    return element;
}

}  // namespace shardd::sql
