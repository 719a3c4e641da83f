#include <algorithm>

#include "common/base/error.h"
#include "server/sql/parser_impl.h"

namespace shardd::sql {

StatementPtr Parser::statement() {
    DepthGuard guard(*this);
    const uint32_t begin = peek().begin;
    StatementPtr node = statementBody();
    node->begin = begin;
    auto* insert = as<Insert>(node);
    if (insert && !insert->data_format.empty() && !insert->has_infile) {
        node->end = static_cast<uint32_t>(insert->has_data ? text_.size() : insert->data_begin);
        return node;
    }
    if (node->kind != Statement::Kind::Access) outputOptions(*node);
    node->end = position_ ? tokens_[position_ - 1].end : begin;
    return node;
}

StatementPtr Parser::statementBody() {
    if (isQueryStart(0) || peek().kind == TokenKind::OpenRound) {
        auto node = std::make_shared<QueryStatement>();
        node->query = query();
        return node;
    }
    for (auto word : {"SELECT", "WITH", "FROM"}) expected(word);
    if (isWord(0, "CREATE") || isWord(0, "ALTER") || isWord(0, "DROP") || isWord(0, "GRANT") ||
        isWord(0, "REVOKE"))
        if (StatementPtr node = access()) return node;
    if (keyword("INSERT")) return insert();
    if (keyword("CREATE")) return create(false);
    if (keyword("ATTACH")) return create(true);
    if (keyword("DROP")) return drop(Drop::Verb::Drop);
    if (keyword("DETACH")) return drop(Drop::Verb::Detach);
    if (keyword("TRUNCATE")) return drop(Drop::Verb::Truncate);
    if (keyword("UNDROP")) return drop(Drop::Verb::Undrop);
    if (keyword("RENAME")) return rename(false);
    if (keyword("EXCHANGE")) return rename(true);
    if (keyword("ALTER")) return alter();
    if (keyword("DELETE FROM")) return deleteFrom();
    if (keyword("UPDATE")) return update();
    if (keyword("DESCRIBE") || keyword("DESC")) return describe();
    if (keyword("EXISTS")) return existsStatement();
    if (keyword("SHOW")) return show();
    if (keyword("SET")) return set();
    if (keyword("USE")) {
        auto node = std::make_shared<Use>();
        if (peek(1).kind == TokenKind::Word || peek(1).kind == TokenKind::QuotedIdentifier)
            keyword("DATABASE");
        node->database = identifier();
        return node;
    }
    if (keyword("KILL")) return kill();
    if (keyword("EXPLAIN")) return explain();
    if (keyword("SYSTEM")) return system();
    if (keyword("OPTIMIZE")) return optimize();
    if (keyword("CHECK")) return check();
    const auto transaction = anyKeyword({"BEGIN TRANSACTION", "COMMIT", "ROLLBACK"});
    if (transaction.empty()) fail();
    auto node = std::make_shared<Transaction>();
    node->text = transaction;
    return node;
}

/// INTO OUTFILE …, FORMAT …, SETTINGS … in any order ClickHouse takes.
void Parser::outputOptions(Statement& node) {
    if (keyword("INTO OUTFILE")) {
        node.has_outfile = true;
        node.outfile = stringLiteral();
        if (keyword("APPEND")) node.outfile_append = true;
        if (keyword("TRUNCATE")) node.outfile_truncate = true;
        if (keyword("AND STDOUT")) node.outfile_and_stdout = true;
        if (keyword("COMPRESSION")) {
            node.outfile_compression = stringLiteral();
            if (keyword("LEVEL")) node.outfile_compression_level = unsignedNumber();
        }
    }
    const bool insert_query = node.kind == Statement::Kind::Insert;
    while (true) {
        if (node.format.empty() && !insert_query && keyword("FORMAT")) {
            node.format = identifier();
        } else if (node.settings.empty() && node.kind != Statement::Kind::Set && keyword("SETTINGS")) {
            node.settings = settingChanges();
            node.settings_before_format = node.format.empty();
        } else {
            return;
        }
    }
}

// -------------------------------------------------------------------------------- INSERT

StatementPtr Parser::insert() {
    auto node = std::make_shared<Insert>();
    keyword("INTO");
    insertTarget(*node);
    if (accept(TokenKind::OpenRound)) {
        node->has_columns = true;
        if (!accept(TokenKind::CloseRound)) {
            do {
                if (peek().kind == TokenKind::CloseRound) break;
                node->columns.push_back(primary());
            } while (accept(TokenKind::Comma));
            expect(TokenKind::CloseRound);
        }
    }
    if (keyword("FROM INFILE")) {
        node->has_infile = true;
        node->infile = stringLiteral();
        if (keyword("COMPRESSION")) node->infile_compression = stringLiteral();
    }
    if (keyword("SETTINGS")) node->settings = settingChanges();
    node->settings_before_format = true;
    insertData(*node);
    return node;
}

void Parser::insertTarget(Insert& insert) {
    if (peek(1).kind != TokenKind::OpenRound && peek(1).kind != TokenKind::Dot && keyword("TABLE"))
        keyword("FUNCTION");
    const bool function = tokens_[position_ - 1].kind == TokenKind::Word &&
                          equalsIgnoringCase(textOf(tokens_[position_ - 1]), "FUNCTION");
    if (function || (peek(1).kind == TokenKind::Word && keyword("FUNCTION"))) {
        const uint32_t position = peek().begin;
        insert.function = std::make_shared<Function>(identifier());
        insert.function->position = position;
        expect(TokenKind::OpenRound);
        bool distinct = false;
        callArguments(insert.function->arguments, distinct);
        if (keyword("PARTITION BY")) insert.partition_by = expression();
        return;
    }
    insert.table = qualifiedName();
}

/// VALUES, FORMAT name or a query. Data follow the format's name: blanks and one line end away from it.
void Parser::insertData(Insert& insert) {
    if (isQueryStart(0) || (peek().kind == TokenKind::OpenRound)) {
        insert.query = query();
        return;
    }
    expected("SELECT");
    size_t data = 0;
    if (keyword("VALUES")) {
        insert.data_format = "Values";
        data = tokens_[position_ - 1].end;
    } else {
        expectKeyword("FORMAT");
        insert.data_format = identifier();
        data = tokens_[position_ - 1].end;
        if (insert.settings.empty() && isKeyword("SETTINGS") && !insert.has_infile) {
            // FORMAT x SETTINGS …: the settings end where the data begin, so they take one line.
            keyword("SETTINGS");
            insert.settings = settingChanges();
            data = tokens_[position_ - 1].end;
        }
        if (equalsIgnoringCase(insert.data_format, "Values")) insert.data_format = "Values";
        const auto blank = [&](char c) { return c == ' ' || c == '\t' || c == '\f' || c == '\v'; };
        while (data < text_.size() && blank(text_[data])) ++data;
        if (data < text_.size() && text_[data] == '\r') ++data;
        if (data < text_.size() && text_[data] == '\n') ++data;
    }
    insert.data_begin = data;
    const size_t first = text_.find_first_not_of(" \t\r\n\f\v", data);
    insert.has_data = first != std::string_view::npos && text_[first] != ';';
}

// ---------------------------------------------------------------------------- DROP, RENAME

StatementPtr Parser::drop(Drop::Verb verb) {
    auto node = std::make_shared<Drop>();
    node->verb = verb;
    const bool truncate = verb == Drop::Verb::Truncate;
    if (truncate && (keyword("ALL TABLES FROM") || keyword("TABLES FROM"))) {
        node->all_tables = true;
        node->object = ObjectKind::Database;
        node->if_exists = keyword("IF EXISTS");
        node->names.push_back({identifierOrString(), ""});
        if (keyword("LIKE")) node->like = stringLiteral();
        return node;
    }
    node->temporary = keyword("TEMPORARY");
    const bool bare = truncate && !isWord(0, "TABLE") && !isWord(0, "DATABASE") && !isWord(0, "VIEW");
    node->object = bare ? ObjectKind::Table : objectKind();
    node->if_exists = keyword("IF EXISTS");
    node->if_empty = !node->if_exists && keyword("IF EMPTY");
    if (node->object == ObjectKind::Database)
        node->names.push_back({identifierOrString(), ""});
    else
        commaList([&] { node->names.push_back(qualifiedName()); });
    if (keyword("UUID")) node->uuid = stringLiteral();
    node->cluster = cluster();
    if (keyword("PERMANENTLY")) node->permanently = true;
    if (keyword("SYNC") || keyword("NO DELAY")) node->sync = true;
    return node;
}

StatementPtr Parser::rename(bool exchange) {
    auto node = std::make_shared<Rename>();
    node->exchange = exchange;
    if (exchange) {
        if (keyword("DICTIONARIES"))
            node->object = ObjectKind::Dictionary;
        else
            expectKeyword("TABLES");
    } else {
        node->object = objectKind();
    }
    node->if_exists = keyword("IF EXISTS");
    const bool database = node->object == ObjectKind::Database;
    const auto name = [&] { return database ? QualifiedName{identifierOrString(), ""} : qualifiedName(); };
    commaList([&] {
        QualifiedName from = name();
        expectKeyword(exchange ? "AND" : "TO");
        QualifiedName to = name();
        node->pairs.emplace_back(std::move(from), std::move(to));
    });
    node->cluster = cluster();
    return node;
}

StatementPtr Parser::deleteFrom() {
    auto node = std::make_shared<Delete>();
    node->table = qualifiedName();
    node->cluster = cluster();
    if (isKeyword("IN PARTITION")) {
        advance();
        node->partition = partition();
    }
    expectKeyword("WHERE");
    node->where = expression();
    return node;
}

StatementPtr Parser::update() {
    auto node = std::make_shared<Update>();
    node->table = qualifiedName();
    node->cluster = cluster();
    expectKeyword("SET");
    node->assignments = assignments();
    expectKeyword("WHERE");
    node->where = expression();
    return node;
}

// --------------------------------------------------------------------- DESCRIBE, EXISTS, SHOW

StatementPtr Parser::describe() {
    auto node = std::make_shared<Describe>();
    if (peek(1).kind != TokenKind::Dot && peek(1).kind != TokenKind::EndOfQuery) keyword("TABLE");
    if (isQueryStart(0))
        node->table.subquery = query();
    else
        node->table = tableExpression();
    return node;
}

StatementPtr Parser::existsStatement() {
    auto node = std::make_shared<Exists>();
    if (peek().kind == TokenKind::OpenRound) {  // EXISTS (SELECT …) asks whether there is a row
        const uint32_t position = peek().begin;
        auto select = std::make_shared<Select>();
        select->select = {exists(position)};
        auto answer = std::make_shared<QueryStatement>();
        answer->query = std::make_shared<Query>();
        answer->query->select = std::move(select);
        return answer;
    }
    node->temporary = keyword("TEMPORARY");
    const bool bare =
        peek(1).kind == TokenKind::Dot || peek(1).kind == TokenKind::EndOfQuery ||
        !(isWord(0, "TABLE") || isWord(0, "DATABASE") || isWord(0, "VIEW") || isWord(0, "DICTIONARY"));
    if (!bare) node->object = objectKind();
    if (node->object == ObjectKind::Database)
        node->name.database = identifierOrString();
    else
        node->name = qualifiedName();
    return node;
}

StatementPtr Parser::show() {
    auto node = std::make_shared<Show>();
    if (keyword("CREATE")) {
        node->what = Show::What::Create;
        node->temporary = keyword("TEMPORARY");
        const bool bare = peek(1).kind == TokenKind::Dot || peek(1).kind == TokenKind::EndOfQuery ||
                          !(isWord(0, "TABLE") || isWord(0, "DATABASE") || isWord(0, "VIEW") ||
                            isWord(0, "MATERIALIZED") || isWord(0, "DICTIONARY"));
        if (!bare) node->object = objectKind();
        if (node->object == ObjectKind::Database)
            node->name.database = identifierOrString();
        else
            node->name = qualifiedName();
        return node;
    }
    node->extended = keyword("EXTENDED");
    node->full = keyword("FULL");
    node->changed = keyword("CHANGED");
    node->temporary = keyword("TEMPORARY");
    if (!showTarget(*node)) fail();
    if (keyword("FOR")) node->argument = identifierOrString();
    const bool negated = isKeyword("NOT LIKE") || isKeyword("NOT ILIKE");
    if (negated) keyword("NOT");
    if (isWord(0, "LIKE") || isWord(0, "ILIKE")) {
        node->has_like = true;
        node->not_like = negated;
        node->case_insensitive_like = isWord(0, "ILIKE");
        advance();
        node->like = stringLiteral();
    } else if (keyword("WHERE")) {
        node->where = expression();
    }
    if (keyword("LIMIT")) node->limit = expression();
    return node;
}

bool Parser::showTarget(Show& show) {
    using What = Show::What;

    struct Row {
        std::string_view words;
        What what;
    };

    static constexpr Row kRows[] = {
        {"DATABASES", What::Databases},
        {"TABLES", What::Tables},
        {"DICTIONARIES", What::Dictionaries},
        {"PROCESSLIST", What::Processlist},
        {"SETTINGS PROFILES", What::Profiles},
        {"PROFILES", What::Profiles},
        {"SETTINGS", What::Settings},
        {"SETTING", What::Setting},
        {"COLUMNS", What::Columns},
        {"FIELDS", What::Columns},
        {"FUNCTIONS", What::Functions},
        {"CLUSTERS", What::Clusters},
        {"CLUSTER", What::Cluster},
        {"ENGINES", What::Engines},
        {"GRANTS", What::Grants},
        {"PRIVILEGES", What::Privileges},
        {"USERS", What::Users},
        {"ROLES", What::Roles},
        {"ACCESS", What::Access},
        {"INDEXES", What::Indexes},
        {"INDEX", What::Indexes},
        {"INDICES", What::Indexes},
        {"KEYS", What::Indexes},
        {"MERGES", What::Merges},
        {"CURRENT ROLES", What::Roles},
        {"ENABLED ROLES", What::Roles},
    };
    bool found = false;
    for (const Row& row : kRows) {
        if (!keyword(row.words)) continue;
        show.what = row.what;
        found = true;
        break;
    }
    if (!found) return false;
    const auto from = [&] { return keyword("FROM") || keyword("IN"); };
    if (show.what == What::Cluster || show.what == What::Setting) {
        show.argument = identifierOrString();
    } else if (show.what == What::Tables || show.what == What::Dictionaries) {
        if (from()) show.name.database = identifierOrString();
    } else if (show.what == What::Columns || show.what == What::Indexes) {
        if (!from()) fail();
        show.name = qualifiedName();
        if (from()) show.name.database = identifierOrString();
    }
    return true;
}

// ------------------------------------------------------------------------ SET, KILL, EXPLAIN

StatementPtr Parser::set() {
    if (keyword("ROLE") || isKeyword("DEFAULT ROLE") || isKeyword("TRANSACTION SNAPSHOT")) {
        auto node = std::make_shared<SetRole>();
        const uint32_t from = peek().begin;
        node->text = equalsIgnoringCase(textOf(tokens_[position_ - 1]), "ROLE") ? "ROLE " : "";
        while (!atEnd() && peek().kind != TokenKind::Semicolon && peek().kind != TokenKind::Error) advance();
        node->text += text_.substr(from, tokens_[position_ - 1].end - from);
        return node;
    }
    auto node = std::make_shared<Set>();
    commaList([&] {
        SettingChange change = settingChange();
        constexpr std::string_view kParameter = "param_";
        if (std::string_view(change.name).starts_with(kParameter)) {
            const auto* text = change.value.as<std::string>();
            node->parameters.emplace_back(change.name.substr(kParameter.size()),
                                          text ? *text : toText(change.value));
        } else {
            node->changes.push_back(std::move(change));
        }
    });
    return node;
}

StatementPtr Parser::kill() {
    auto node = std::make_shared<Kill>();
    node->mutation = keyword("MUTATION");
    if (!node->mutation) expectKeyword("QUERY");
    node->cluster = cluster();
    expectKeyword("WHERE");
    node->where = expression();
    if (keyword("SYNC"))
        node->mode = Kill::Mode::Sync;
    else if (keyword("TEST"))
        node->mode = Kill::Mode::Test;
    else
        keyword("ASYNC");
    return node;
}

StatementPtr Parser::explain() {
    using What = Explain::What;
    auto node = std::make_shared<Explain>();
    static constexpr std::pair<std::string_view, What> kKinds[] = {
        {"AST", What::Ast},
        {"SYNTAX", What::Syntax},
        {"QUERY TREE", What::QueryTree},
        {"PLAN", What::Plan},
        {"PIPELINE", What::Pipeline},
        {"ESTIMATE", What::Estimate},
        {"DISTRIBUTED", What::Distributed},
        {"CURRENT TRANSACTION", What::CurrentTransaction},
    };
    for (const auto& [words, what] : kKinds) {
        if (!keyword(words)) continue;
        node->what = what;
        break;
    }
    if (node->what == What::CurrentTransaction) return node;
    if (peek().kind == TokenKind::Word && peek(1).kind == TokenKind::Equals) node->options = settingChanges();
    DepthGuard guard(*this);
    const uint32_t begin = peek().begin;
    node->statement = statementBody();
    node->statement->begin = begin;
    node->statement->end = tokens_[position_ - 1].end;
    auto* inner = as<Insert>(node->statement);
    if (inner && !inner->data_format.empty()) {  // what follows is not SQL; nobody will read it
        position_ = tokens_.size();
        tokens_.push_back({TokenKind::EndOfQuery, static_cast<uint32_t>(text_.size()),
                           static_cast<uint32_t>(text_.size()), nullptr});
    }
    return node;
}

// ----------------------------------------------------------------- SYSTEM, OPTIMIZE, CHECK, access

StatementPtr Parser::system() {
    struct Row {
        std::string_view words;
        enum class Argument { None, Table, OptionalTable, Names } argument;
    };

    using A = Row::Argument;
    static constexpr Row kRows[] = {
        {"SHUTDOWN", A::None},
        {"KILL", A::None},
        {"SUSPEND", A::None},
        {"RELOAD CONFIG", A::None},
        {"RELOAD USERS", A::None},
        {"RELOAD DICTIONARIES", A::None},
        {"RELOAD DICTIONARY", A::Names},
        {"RELOAD FUNCTIONS", A::None},
        {"RELOAD SYMBOLS", A::None},
        {"FLUSH LOGS", A::Names},
        {"FLUSH DISTRIBUTED", A::Table},
        {"FLUSH ASYNC INSERT QUEUE", A::Names},
        {"STOP DISTRIBUTED SENDS", A::OptionalTable},
        {"START DISTRIBUTED SENDS", A::OptionalTable},
        {"STOP MERGES", A::OptionalTable},
        {"START MERGES", A::OptionalTable},
        {"STOP TTL MERGES", A::OptionalTable},
        {"START TTL MERGES", A::OptionalTable},
        {"STOP MOVES", A::OptionalTable},
        {"START MOVES", A::OptionalTable},
        {"STOP FETCHES", A::OptionalTable},
        {"START FETCHES", A::OptionalTable},
        {"STOP REPLICATED SENDS", A::OptionalTable},
        {"START REPLICATED SENDS", A::OptionalTable},
        {"STOP REPLICATION QUEUES", A::OptionalTable},
        {"START REPLICATION QUEUES", A::OptionalTable},
        {"STOP LISTEN", A::Names},
        {"START LISTEN", A::Names},
        {"SYNC REPLICA", A::Table},
        {"RESTART REPLICAS", A::None},
        {"RESTART REPLICA", A::Table},
        {"WAIT LOADING PARTS", A::Table},
        {"SYNC FILE CACHE", A::None},
        {"ENABLE FAILPOINT", A::Names},
        {"DISABLE FAILPOINT", A::Names},
    };
    auto node = std::make_shared<System>();
    if (keyword("DROP") || keyword("CLEAR")) {  // SYSTEM DROP … CACHE
        node->command = "DROP";
        while (peek().kind == TokenKind::Word && !isWord(0, "CACHE") && !isWord(0, "CACHES"))
            node->command += " " + upperCase(identifier());
        if (!keyword("CACHE")) expectKeyword("CACHES");
        node->command += " CACHE";
        node->cluster = cluster();
        return node;
    }
    A argument = A::None;
    for (const Row& row : kRows) {
        if (!keyword(row.words)) continue;
        node->command = row.words;
        argument = row.argument;
        break;
    }
    if (node->command.empty()) fail();
    node->cluster = cluster();
    const bool more = peek().kind == TokenKind::Word || peek().kind == TokenKind::QuotedIdentifier ||
                      peek().kind == TokenKind::String;
    if (argument == A::Table || (argument == A::OptionalTable && more)) node->table = qualifiedName();
    if (argument == A::Names && more) commaList([&] { node->arguments.push_back(identifierOrString()); });
    if (node->cluster.empty()) node->cluster = cluster();
    if (node->command == "SYNC REPLICA") {
        const auto mode = anyKeyword({"STRICT", "LIGHTWEIGHT", "PULL"});
        if (!mode.empty()) node->arguments.emplace_back(mode);
    }
    return node;
}

StatementPtr Parser::optimize() {
    auto node = std::make_shared<Optimize>();
    expectKeyword("TABLE");
    node->table = qualifiedName();
    node->cluster = cluster();
    if (isKeyword("PARTITION")) node->partition = partition();
    node->final = keyword("FINAL") || keyword("FORCE");
    if (keyword("DEDUPLICATE")) {
        node->deduplicate = true;
        if (keyword("BY")) node->deduplicate_by = expressionList();
    }
    node->cleanup = keyword("CLEANUP");
    return node;
}

StatementPtr Parser::check() {
    auto node = std::make_shared<Check>();
    if (keyword("ALL TABLES")) {
        node->all_tables = true;
        return node;
    }
    expectKeyword("TABLE");
    node->table = qualifiedName();
    if (isKeyword("PARTITION") || isKeyword("PART")) node->partition = partition();
    return node;
}

/// Users, roles and grants are configured, not made by SQL: the statement is only recognised.
StatementPtr Parser::access() {
    const bool grant = isWord(0, "GRANT") || isWord(0, "REVOKE");
    bool entity = false;
    for (auto word : {"USER", "ROLE", "QUOTA", "PROFILE", "POLICY"}) entity = entity || isWord(1, word);
    entity = entity || (isWord(1, "SETTINGS") && isWord(2, "PROFILE")) ||
             (isWord(1, "ROW") && isWord(2, "POLICY")) || (isWord(1, "NAMED") && isWord(2, "COLLECTION"));
    if (!grant && !entity) return nullptr;
    auto node = std::make_shared<Access>();
    const uint32_t begin = peek().begin;
    while (!atEnd() && peek().kind != TokenKind::Semicolon && peek().kind != TokenKind::Error) advance();
    node->text = std::string(text_.substr(begin, tokens_[position_ - 1].end - begin));
    return node;
}

}  // namespace shardd::sql
