#include "server/sql/printer_impl.h"

/// Statements other than queries, as ClickHouse formats them.
namespace shardd::sql {

std::string_view objectWord(ObjectKind kind) {
    static constexpr std::string_view kWords[] = {"TABLE",    "VIEW",       "MATERIALIZED VIEW",
                                                  "DATABASE", "DICTIONARY", "FUNCTION"};
    return kWords[static_cast<size_t>(kind)];
}

void Printer::onCluster(const std::string& cluster) {
    if (cluster.empty()) return;
    write(" ON CLUSTER ");
    identifier(cluster);
}

void Printer::statement(const Statement& node) {
    switch (node.kind) {
        case Statement::Kind::Query:
            query(*static_cast<const QueryStatement&>(node).query);
            break;
        case Statement::Kind::Insert:
            insert(static_cast<const Insert&>(node));
            return;
        case Statement::Kind::Create:
            create(static_cast<const Create&>(node));
            break;
        case Statement::Kind::Drop:
            drop(static_cast<const Drop&>(node));
            break;
        case Statement::Kind::Rename:
            rename(static_cast<const Rename&>(node));
            break;
        case Statement::Kind::Alter:
            alter(static_cast<const Alter&>(node));
            break;
        case Statement::Kind::Show:
            show(static_cast<const Show&>(node));
            break;
        case Statement::Kind::Explain:
            explain(static_cast<const Explain&>(node));
            break;
        case Statement::Kind::System:
            system(static_cast<const System&>(node));
            break;
        default:
            rest(node);
    }
    outputOptions(node);
}

void Printer::outputOptions(const Statement& node) {
    if (node.has_outfile) {
        newLine();
        write("INTO OUTFILE ");
        appendQuoted(out_, node.outfile);
        if (node.outfile_append) write(" APPEND");
        if (node.outfile_truncate) write(" TRUNCATE");
        if (node.outfile_and_stdout) write(" AND STDOUT");
        if (!node.outfile_compression.empty()) {
            write(" COMPRESSION ");
            appendQuoted(out_, node.outfile_compression);
        }
        if (node.outfile_compression_level)
            write(" LEVEL " + std::to_string(*node.outfile_compression_level));
    }
    const auto writeSettings = [&] {
        if (node.settings.empty()) return;
        newLine();
        write("SETTINGS ");
        settings(node.settings);
    };
    if (node.settings_before_format) writeSettings();
    if (!node.format.empty()) {
        newLine();
        write("FORMAT ");
        identifier(node.format);
    }
    if (!node.settings_before_format) writeSettings();
}

void Printer::insert(const Insert& node) {
    write("INSERT INTO ");
    if (node.function) {
        write("FUNCTION ");
        body(*node.function);
        if (node.partition_by) {
            write(" PARTITION BY ");
            element(*node.partition_by);
        }
    } else {
        name(node.table);
    }
    if (node.has_columns) {
        write(" (");
        list(node.columns);
        write(")");
    }
    if (node.has_infile) {
        write(" FROM INFILE ");
        appendQuoted(out_, node.infile);
        if (!node.infile_compression.empty()) {
            write(" COMPRESSION ");
            appendQuoted(out_, node.infile_compression);
        }
    }
    if (!node.settings.empty()) {
        write(" SETTINGS ");
        settings(node.settings);
    }
    if (node.query) {
        write(" ");
        query(*node.query);
    } else if (!node.data_format.empty()) {
        write(" FORMAT ");
        if (node.data_format == "Values")
            write("Values");
        else
            identifier(node.data_format);
    }
}

// -------------------------------------------------------------------------------- CREATE

void Printer::createHead(const Create& node) {
    write(node.attach ? "ATTACH " : "CREATE ");
    if (node.or_replace) write("OR REPLACE ");
    if (node.temporary) write("TEMPORARY ");
    write(objectWord(node.object));
    if (node.if_not_exists) write(" IF NOT EXISTS");
    write(" ");
    name(node.name);
    if (!node.uuid.empty()) {
        write(" UUID ");
        appendQuoted(out_, node.uuid);
    }
    onCluster(node.cluster);
    if (!node.attach_from.empty()) {
        write(" FROM ");
        appendQuoted(out_, node.attach_from);
    }
    if (!node.to_uuid.empty()) {
        write(" TO INNER UUID ");
        appendQuoted(out_, node.to_uuid);
    }
    if (!node.to_table.table.empty()) {
        write(" TO ");
        name(node.to_table);
    }
}

void Printer::create(const Create& node) {
    createHead(node);
    if (node.has_columns) createColumns(node);
    if (!node.as_table.table.empty()) {
        write(node.clone ? " CLONE AS " : " AS ");
        name(node.as_table);
    }
    if (node.as_function) {
        write(" AS ");
        body(*node.as_function);
    }
    storage(node.storage);
    if (node.populate) write(" POPULATE");
    if (node.empty_as) write(" EMPTY");
    if (node.as_query) {
        newLine();
        write("AS ");
        query(*node.as_query);
    }
    if (node.has_comment) {
        newLine();
        write("COMMENT ");
        appendQuoted(out_, node.comment);
    }
}

void Printer::createColumns(const Create& node) {
    if (options_.multi_line)
        newLine();
    else
        write(" ");
    write("(");
    {
        Indentation deeper(*this);
        bool first = true;
        const auto next = [&] {
            if (!first) write(options_.multi_line ? "," : ", ");
            first = false;
            if (options_.multi_line) newLine();
        };
        for (const auto& each : node.columns) {
            next();
            column(each);
        }
        for (const auto& each : node.indexes) {
            next();
            write("INDEX ");
            index(each);
        }
        for (const auto& each : node.constraints) {
            next();
            write("CONSTRAINT ");
            identifier(each.name);
            write(each.assume ? " ASSUME " : " CHECK ");
            element(*each.expression);
        }
        for (const auto& each : node.projections) {
            next();
            write("PROJECTION ");
            projection(each);
        }
        if (node.primary_key_in_columns) {
            next();
            write("PRIMARY KEY ");
            element(*node.primary_key_in_columns);
        }
    }
    if (options_.multi_line) newLine();
    write(")");
}

void Printer::column(const ColumnDeclaration& column, bool quoted_name) {
    if (quoted_name)
        write(quoteIdentifier(column.name));
    else
        identifier(column.name);
    columnProperties(column);
}

void Printer::columnProperties(const ColumnDeclaration& column) {
    if (!column.type.empty()) {
        write(" ");
        write(column.type);
    }
    if (column.null_modifier) write(*column.null_modifier ? " NULL" : " NOT NULL");
    static constexpr std::string_view kDefaults[] = {"", " DEFAULT ", " MATERIALIZED ", " ALIAS ",
                                                     " EPHEMERAL"};
    write(kDefaults[static_cast<size_t>(column.default_kind)]);
    if (column.default_expression) {
        if (column.default_kind == ColumnDeclaration::Default::Ephemeral) write(" ");
        element(*column.default_expression);
    }
    if (column.primary_key) write(" PRIMARY KEY");
    if (column.has_comment) {
        write(" COMMENT ");
        appendQuoted(out_, column.comment);
    }
    if (!column.codec.empty()) {
        write(" CODEC(");
        list(column.codec);
        write(")");
    }
    if (column.statistics) {
        write(" ");
        element(*column.statistics);
    }
    if (column.ttl) {
        write(" TTL ");
        element(*column.ttl);
    }
    if (!column.collation.empty()) {
        write(" COLLATE ");
        write(column.collation);
    }
    if (column.settings.empty()) return;
    write(" SETTINGS (");
    settings(column.settings);
    write(")");
}

void Printer::index(const IndexDeclaration& index) {
    identifier(index.name);
    write(" ");
    element(*index.expression);
    if (index.type) {
        write(" TYPE ");
        engine(static_cast<const Function&>(*index.type));
    }
    if (index.has_granularity) write(" GRANULARITY " + std::to_string(index.granularity));
}

void Printer::projection(const ProjectionDeclaration& projection) {
    identifier(projection.name);
    if (!options_.multi_line) {
        write(" (");
        select(*projection.query);
        write(")");
        return;
    }
    newLine();
    write("(");
    {
        Indentation deeper(*this);
        newLine();
        select(*projection.query);
    }
    newLine();
    write(")");
}

void Printer::engine(const Function& engine) {
    identifier(engine.name);
    if (engine.arguments.empty() && !engine.has_parameters) return;
    write("(");
    list(engine.arguments);
    write(")");
}

void Printer::sortingKey(const std::vector<OrderElement>& order_by, bool parenthesized) {
    if (parenthesized) write("(");
    commaList(order_by, [&](const OrderElement& each) {
        element(*each.expression);
        if (each.descending) write(" DESC");
    });
    if (parenthesized) write(")");
}

void Printer::storage(const StorageDefinition& storage) {
    if (storage.engine) {
        newLine();
        write("ENGINE = ");
        engine(*storage.engine);
    }
    clause("PARTITION BY", storage.partition_by);
    clause("PRIMARY KEY", storage.primary_key);
    if (storage.has_order_by) {
        newLine();
        write("ORDER BY ");
        if (storage.order_by.empty())
            write("tuple()");
        else
            sortingKey(storage.order_by, storage.order_by_in_parentheses && storage.order_by.size() > 1);
    }
    clause("SAMPLE BY", storage.sample_by);
    if (!storage.ttl.empty()) {
        newLine();
        write("TTL");
        ttl(storage.ttl);
    }
    if (storage.settings.empty()) return;
    newLine();
    write("SETTINGS ");
    settings(storage.settings);
}

void Printer::ttl(const std::vector<TtlElement>& list) {
    lines(list, [&](const TtlElement& each) { ttlElement(each); });
}

void Printer::ttlElement(const TtlElement& each) {
    using Action = TtlElement::Action;
    element(*each.expression);
    switch (each.action) {
        case Action::None:
            break;
        case Action::Delete:
            write(each.where ? " DELETE" : "");
            break;
        case Action::ToDisk:
        case Action::ToVolume:
            write(each.action == Action::ToDisk ? " TO DISK " : " TO VOLUME ");
            if (each.if_exists) write("IF EXISTS ");
            appendQuoted(out_, each.destination);
            break;
        case Action::Recompress:
            write(" RECOMPRESS CODEC(");
            list(each.codec);
            write(")");
            break;
        case Action::GroupBy:
            write(" GROUP BY ");
            list(each.group_by);
            if (each.assignments.empty()) break;
            write(" SET ");
            list(each.assignments);
            break;
    }
    if (!each.where) return;
    write(" WHERE ");
    element(*each.where);
}

// --------------------------------------------------------------------------- DROP, RENAME

void Printer::drop(const Drop& node) {
    static constexpr std::string_view kVerbs[] = {"DROP ", "DETACH ", "TRUNCATE ", "UNDROP "};
    write(kVerbs[static_cast<size_t>(node.verb)]);
    if (node.all_tables) {
        write("ALL TABLES FROM ");
        if (node.if_exists) write("IF EXISTS ");
        identifier(node.names[0].database);
        if (!node.like.empty()) {
            write(" LIKE ");
            appendQuoted(out_, node.like);
        }
        return;
    }
    if (node.temporary) write("TEMPORARY ");
    write(objectWord(node.object));
    if (node.if_exists) write(" IF EXISTS");
    if (node.if_empty) write(" IF EMPTY");
    write(" ");
    commaList(node.names, [&](const QualifiedName& each) { name(each); });
    if (!node.uuid.empty()) {
        write(" UUID ");
        appendQuoted(out_, node.uuid);
    }
    onCluster(node.cluster);
    if (node.permanently) write(" PERMANENTLY");
    if (node.sync) write(" SYNC");
}

void Printer::rename(const Rename& node) {
    write(node.exchange ? "EXCHANGE " : "RENAME ");
    write(node.exchange ? (node.object == ObjectKind::Dictionary ? "DICTIONARIES" : "TABLES")
                        : objectWord(node.object));
    if (node.if_exists) write(" IF EXISTS");
    write(" ");
    commaList(node.pairs, [&](const auto& pair) {
        name(pair.first);
        write(node.exchange ? " AND " : " TO ");
        name(pair.second);
    });
    onCluster(node.cluster);
}

// ---------------------------------------------------------------------------------- ALTER

void Printer::alter(const Alter& node) {
    write(node.is_database ? "ALTER DATABASE " : "ALTER TABLE ");
    name(node.table);
    onCluster(node.cluster);
    Indentation deeper(*this);
    bool first = true;
    for (const auto& each : node.commands) {
        if (!first) write(",");
        first = false;
        newLine();
        write("(");
        alterCommand(each);
        write(")");
    }
}

void Printer::partition(const PartitionReference& partition) {
    using Kind = PartitionReference::Kind;
    switch (partition.kind) {
        case Kind::None:
            return;
        case Kind::All:
            write(" PARTITION ALL");
            return;
        case Kind::Id:
        case Kind::Part:
            write(partition.kind == Kind::Id ? " PARTITION ID " : " PART ");
            appendQuoted(out_, partition.id);
            return;
        case Kind::Expression:
            write(" PARTITION ");
            operand(*partition.expression);
            return;
    }
}

void Printer::assignments(const std::vector<std::pair<std::string, ExpressionPtr>>& list) {
    commaList(list, [&](const auto& each) {
        identifier(each.first);
        write(" = ");
        element(*each.second);
    });
}

void Printer::alterCommand(const AlterCommand& command) {
    if (alterColumn(command) || alterPartition(command) || alterIndex(command)) return;
    alterRest(command);
}

bool Printer::alterColumn(const AlterCommand& command) {
    using Kind = AlterCommand::Kind;
    const auto place = [&] {
        if (command.first) write(" FIRST");
        if (command.after.empty()) return;
        write(" AFTER ");
        identifier(command.after);
    };
    const auto head = [&](std::string_view words) {
        write(words);
        if (command.if_exists) write("IF EXISTS ");
        identifier(command.name);
    };
    switch (command.kind) {
        case Kind::AddColumn:
            write("ADD COLUMN ");
            if (command.if_not_exists) write("IF NOT EXISTS ");
            column(command.column);
            place();
            return true;
        case Kind::DropColumn:
        case Kind::ClearColumn:
        case Kind::MaterializeColumn:
            head(command.kind == Kind::DropColumn
                     ? "DROP COLUMN "
                     : (command.kind == Kind::ClearColumn ? "CLEAR COLUMN " : "MATERIALIZE COLUMN "));
            if (command.partition.kind != PartitionReference::Kind::None) write(" IN");
            partition(command.partition);
            return true;
        case Kind::ModifyColumn:
            write("MODIFY COLUMN ");
            if (command.if_exists) write("IF EXISTS ");
            column(command.column);
            place();
            return true;
        case Kind::ModifyColumnRemove:
            head("MODIFY COLUMN ");
            write(" REMOVE ");
            write(command.remove);
            return true;
        case Kind::ModifyColumnSettings:
            head("MODIFY COLUMN ");
            write(" MODIFY SETTING ");
            settings(command.settings);
            return true;
        case Kind::ResetColumnSettings:
            head("MODIFY COLUMN ");
            write(" RESET SETTING ");
            names(command.names);
            return true;
        case Kind::RenameColumn:
            head("RENAME COLUMN ");
            write(" TO ");
            identifier(command.after);
            return true;
        case Kind::CommentColumn:
            head("COMMENT COLUMN ");
            write(" ");
            appendQuoted(out_, command.text);
            return true;
        default:
            return false;
    }
}

bool Printer::alterPartition(const AlterCommand& command) {
    using Kind = AlterCommand::Kind;
    const auto head = [&](std::string_view words) {
        write(words);
        partition(command.partition);
    };
    switch (command.kind) {
        case Kind::DropPartition:
            head("DROP");
            return true;
        case Kind::DetachPartition:
            head("DETACH");
            return true;
        case Kind::DropDetachedPartition:
            head("DROP DETACHED");
            return true;
        case Kind::ForgetPartition:
            head("FORGET");
            return true;
        case Kind::AttachPartition:
            head("ATTACH");
            return true;
        case Kind::FreezePartition:
            head("FREEZE");
            return true;
        case Kind::UnfreezePartition:
            head("UNFREEZE");
            return true;
        case Kind::AttachPartitionFrom:
        case Kind::ReplacePartition:
            head(command.kind == Kind::ReplacePartition ? "REPLACE" : "ATTACH");
            write(" FROM ");
            name(command.table);
            return true;
        case Kind::MovePartition:
            head("MOVE");
            write(command.to_disk ? " TO DISK " : (command.to_volume ? " TO VOLUME " : " TO TABLE "));
            if (command.to_disk || command.to_volume)
                appendQuoted(out_, command.text);
            else
                name(command.table);
            return true;
        case Kind::FetchPartition:
            head("FETCH");
            write(" FROM ");
            appendQuoted(out_, command.text);
            return true;
        default:
            return false;
    }
}

bool Printer::alterIndex(const AlterCommand& command) {
    using Kind = AlterCommand::Kind;
    const auto add = [&](std::string_view words, auto body_of) {
        write(words);
        if (command.if_not_exists) write("IF NOT EXISTS ");
        body_of();
        if (command.first) write(" FIRST");
        if (command.after.empty()) return;
        write(" AFTER ");
        identifier(command.after);
    };
    std::string_view words;
    switch (command.kind) {
        case Kind::AddIndex:
            add("ADD INDEX ", [&] { index(command.index); });
            return true;
        case Kind::AddProjection:
            add("ADD PROJECTION ", [&] { projection(command.projection); });
            return true;
        case Kind::AddConstraint:
            add("ADD CONSTRAINT ", [&] {
                identifier(command.constraint.name);
                write(command.constraint.assume ? " ASSUME " : " CHECK ");
                element(*command.constraint.expression);
            });
            return true;
        case Kind::DropIndex:
            words = "DROP INDEX ";
            break;
        case Kind::ClearIndex:
            words = "CLEAR INDEX ";
            break;
        case Kind::MaterializeIndex:
            words = "MATERIALIZE INDEX ";
            break;
        case Kind::DropConstraint:
            words = "DROP CONSTRAINT ";
            break;
        case Kind::DropProjection:
            words = "DROP PROJECTION ";
            break;
        case Kind::ClearProjection:
            words = "CLEAR PROJECTION ";
            break;
        case Kind::MaterializeProjection:
            words = "MATERIALIZE PROJECTION ";
            break;
        default:
            return false;
    }
    write(words);
    if (command.if_exists) write("IF EXISTS ");
    identifier(command.name);
    if (command.partition.kind != PartitionReference::Kind::None) write(" IN");
    partition(command.partition);
    return true;
}

void Printer::alterRest(const AlterCommand& command) {
    using Kind = AlterCommand::Kind;
    switch (command.kind) {
        case Kind::ModifyOrderBy:
            write("MODIFY ORDER BY ");
            sortingKey(command.order_by, command.order_by_in_parentheses);
            return;
        case Kind::ModifySampleBy:
            write("MODIFY SAMPLE BY ");
            element(*command.expression);
            return;
        case Kind::RemoveSampleBy:
            write("REMOVE SAMPLE BY");
            return;
        case Kind::ModifyTtl:
            write("MODIFY TTL");
            ttl(command.ttl);
            return;
        case Kind::RemoveTtl:
            write("REMOVE TTL");
            return;
        case Kind::MaterializeTtl:
            write("MATERIALIZE TTL");
            if (command.partition.kind != PartitionReference::Kind::None) write(" IN");
            partition(command.partition);
            return;
        case Kind::ModifySetting:
            write("MODIFY SETTING ");
            settings(command.settings);
            return;
        case Kind::ResetSetting:
            write("RESET SETTING ");
            names(command.names);
            return;
        case Kind::ModifyComment:
            write("MODIFY COMMENT ");
            appendQuoted(out_, command.text);
            return;
        case Kind::ModifyQuery:
            write("MODIFY QUERY ");
            query(*command.query);
            return;
        case Kind::ApplyDeletedMask:
            write("APPLY DELETED MASK");
            return;
        default:
            break;
    }
    write(command.kind == Kind::Update ? "UPDATE " : "DELETE");
    assignments(command.assignments);
    if (command.partition.kind != PartitionReference::Kind::None) write(" IN");
    partition(command.partition);
    write(" WHERE ");
    element(*command.expression);
}

// ---------------------------------------------------------------------------------- others

void Printer::show(const Show& node) {
    static constexpr std::string_view kWords[] = {
        "DATABASES", "TABLES",    "DICTIONARIES",      "CREATE",  "PROCESSLIST", "SETTINGS", "SETTING",
        "COLUMNS",   "FUNCTIONS", "CLUSTERS",          "CLUSTER", "ENGINES",     "GRANTS",   "PRIVILEGES",
        "USERS",     "ROLES",     "SETTINGS PROFILES", "ACCESS",  "INDEXES",     "MERGES"};
    write("SHOW ");
    if (node.extended) write("EXTENDED ");
    if (node.full) write("FULL ");
    if (node.changed) write("CHANGED ");
    if (node.temporary && node.what != Show::What::Create) write("TEMPORARY ");
    write(kWords[static_cast<size_t>(node.what)]);
    if (node.what == Show::What::Create) {
        write(" ");
        if (node.temporary) write("TEMPORARY ");
        write(objectWord(node.object));
        write(" ");
        name(node.name);
        return;
    }
    if (!node.argument.empty()) {
        write(node.what == Show::What::Grants ? " FOR " : " ");
        identifier(node.argument);
    }
    if (!node.name.table.empty() || !node.name.database.empty()) {
        write(" FROM ");
        name(node.name);
    }
    if (node.has_like) {
        write(node.not_like ? " NOT" : "");
        write(node.case_insensitive_like ? " ILIKE " : " LIKE ");
        appendQuoted(out_, node.like);
    }
    if (node.where) {
        write(" WHERE ");
        element(*node.where);
    }
    if (!node.limit) return;
    write(" LIMIT ");
    element(*node.limit);
}

void Printer::explain(const Explain& node) {
    static constexpr std::string_view kWords[] = {
        "",          " AST",      " SYNTAX",      " QUERY TREE",
        " PIPELINE", " ESTIMATE", " DISTRIBUTED", " CURRENT TRANSACTION"};
    write("EXPLAIN");
    write(kWords[static_cast<size_t>(node.what)]);
    if (!node.options.empty()) {
        write(" ");
        settings(node.options);
    }
    if (!node.statement) return;
    newLine();
    statement(*node.statement);
}

void Printer::system(const System& node) {
    write("SYSTEM ");
    // 26.7 says CLEAR for the caches; both words are understood.
    write(node.command.starts_with("DROP ") ? "CLEAR" + node.command.substr(4) : node.command);
    onCluster(node.cluster);
    if (!node.table.table.empty()) {
        write(" ");
        name(node.table);
    }
    if (node.arguments.empty()) return;
    write(" ");
    if (node.command == "SYNC REPLICA")
        write(node.arguments[0]);
    else
        names(node.arguments);
}

void Printer::rest(const Statement& node) {
    if (const auto* remove = as<Delete>(&node)) {
        write("DELETE FROM ");
        name(remove->table);
        onCluster(remove->cluster);
        if (remove->partition.kind != PartitionReference::Kind::None) write(" IN");
        partition(remove->partition);
        write(" WHERE ");
        element(*remove->where);
    } else if (const auto* update = as<Update>(&node)) {
        write("UPDATE ");
        name(update->table);
        onCluster(update->cluster);
        write(" SET ");
        assignments(update->assignments);
        write(" WHERE ");
        element(*update->where);
    } else if (const auto* describe = as<Describe>(&node)) {
        write("DESCRIBE TABLE");
        tableExpression(describe->table);
    } else if (const auto* exists = as<Exists>(&node)) {
        write(exists->temporary ? "EXISTS TEMPORARY " : "EXISTS ");
        write(objectWord(exists->object));
        write(" ");
        name(exists->name);
    } else if (const auto* set = as<Set>(&node)) {
        write("SET ");
        settings(set->changes);
        bool first = set->changes.empty();
        for (const auto& [parameter_name, value] : set->parameters) {
            write(first ? "param_" : ", param_");
            first = false;
            write(parameter_name);
            write(" = ");
            appendQuoted(out_, value);
        }
    } else if (const auto* role = as<SetRole>(&node)) {
        write("SET ");
        write(role->text);
    } else if (const auto* use = as<Use>(&node)) {
        write("USE ");
        identifier(use->database);
    } else if (const auto* kill = as<Kill>(&node)) {
        write(kill->mutation ? "KILL MUTATION" : "KILL QUERY");
        onCluster(kill->cluster);
        write(" WHERE ");
        element(*kill->where);
        static constexpr std::string_view kModes[] = {" ASYNC", " SYNC", " TEST"};
        write(kModes[static_cast<size_t>(kill->mode)]);
    } else if (const auto* optimize = as<Optimize>(&node)) {
        write("OPTIMIZE TABLE ");
        name(optimize->table);
        onCluster(optimize->cluster);
        partition(optimize->partition);
        if (optimize->final) write(" FINAL");
        if (optimize->deduplicate) write(" DEDUPLICATE");
        if (!optimize->deduplicate_by.empty()) {
            write(" BY ");
            list(optimize->deduplicate_by);
        }
        if (optimize->cleanup) write(" CLEANUP");
    } else if (const auto* check = as<Check>(&node)) {
        write(check->all_tables ? "CHECK ALL TABLES" : "CHECK TABLE ");
        if (!check->all_tables) name(check->table);
        partition(check->partition);
    } else if (const auto* function_of = as<CreateFunction>(&node)) {
        write(function_of->or_replace ? "CREATE OR REPLACE FUNCTION " : "CREATE FUNCTION ");
        if (function_of->if_not_exists) write("IF NOT EXISTS ");
        identifier(function_of->name);
        onCluster(function_of->cluster);
        write(" AS ");
        element(*function_of->body);
    } else if (const auto* transaction = as<Transaction>(&node)) {
        write(transaction->text);
    } else if (const auto* access = as<Access>(&node)) {
        write(access->text);
    }
}

}  // namespace shardd::sql
