#include "common/base/error.h"
#include "server/sql/parser_impl.h"

namespace shardd::sql {

StatementPtr Parser::alter() {
    auto node = std::make_shared<Alter>();
    if (keyword("DATABASE")) {
        node->is_database = true;
        node->table.database = identifierOrString();
    } else {
        keyword("TEMPORARY");
        expectKeyword("TABLE");
        node->table = qualifiedName();
    }
    node->cluster = cluster();
    commaList([&] {
        const bool parenthesized = accept(TokenKind::OpenRound);
        node->commands.push_back(alterCommand());
        if (parenthesized) expect(TokenKind::CloseRound);
    });
    return node;
}

AlterCommand Parser::alterCommand() {
    using Kind = AlterCommand::Kind;
    AlterCommand command;
    if (partitionCommand(command)) return command;
    if (keyword("DELETE")) {
        command.kind = Kind::Delete;
        if (keyword("IN PARTITION")) {
            position_ -= 1;
            command.partition = partition();
        }
        expectKeyword("WHERE");
        command.expression = expression();
        return command;
    }
    if (keyword("UPDATE")) {
        command.kind = Kind::Update;
        command.assignments = assignments();
        if (keyword("IN PARTITION")) {
            position_ -= 1;
            command.partition = partition();
        }
        expectKeyword("WHERE");
        command.expression = expression();
        return command;
    }
    if (keyword("RENAME COLUMN")) {
        command.kind = Kind::RenameColumn;
        command.if_exists = keyword("IF EXISTS");
        command.name = identifier();
        while (accept(TokenKind::Dot)) command.name += "." + identifier();
        expectKeyword("TO");
        command.after = identifier();
        while (accept(TokenKind::Dot)) command.after += "." + identifier();
        return command;
    }
    if (keyword("COMMENT COLUMN")) {
        command.kind = Kind::CommentColumn;
        command.if_exists = keyword("IF EXISTS");
        command.name = identifier();
        command.text = stringLiteral();
        return command;
    }
    if (keyword("APPLY DELETED MASK")) {
        command.kind = Kind::ApplyDeletedMask;
        return command;
    }
    if (modifyCommand(command)) return command;
    for (auto verb : {"ADD", "DROP", "CLEAR", "MATERIALIZE"})
        if (isWord(0, verb) && (columnCommand(command, verb) || indexCommand(command, verb))) return command;
    for (auto what :
         {"ADD COLUMN", "DROP COLUMN", "MODIFY COLUMN", "RENAME COLUMN", "COMMENT COLUMN", "DROP PARTITION",
          "DETACH PARTITION", "ATTACH PARTITION", "DELETE", "UPDATE", "MODIFY SETTING", "MODIFY ORDER BY"})
        expected(what);
    fail();
}

bool Parser::columnCommand(AlterCommand& command, std::string_view verb) {
    using Kind = AlterCommand::Kind;
    if (!isWord(1, "COLUMN")) {
        if (verb != "MATERIALIZE" || !isWord(1, "TTL")) return false;
        position_ += 2;
        command.kind = Kind::MaterializeTtl;
        command.partition = isKeyword("IN PARTITION") ? (advance(), partition()) : PartitionReference{};
        return true;
    }
    position_ += 2;
    if (verb == "ADD") {
        command.kind = Kind::AddColumn;
        command.if_not_exists = keyword("IF NOT EXISTS");
        command.column = columnDeclaration();
        command.name = command.column.name;
        if (keyword("FIRST")) {
            command.first = true;
        } else if (keyword("AFTER")) {
            command.after = identifier();
            while (accept(TokenKind::Dot)) command.after += "." + identifier();
        }
        return true;
    }
    command.kind =
        verb == "DROP" ? Kind::DropColumn : (verb == "CLEAR" ? Kind::ClearColumn : Kind::MaterializeColumn);
    command.if_exists = keyword("IF EXISTS");
    command.name = identifier();
    while (accept(TokenKind::Dot)) command.name += "." + identifier();
    if (isKeyword("IN PARTITION")) {
        advance();
        command.partition = partition();
    }
    return true;
}

bool Parser::indexCommand(AlterCommand& command, std::string_view verb) {
    using Kind = AlterCommand::Kind;

    struct Row {
        std::string_view object;
        Kind add, drop, clear, materialize;
    };

    static constexpr Row kRows[] = {
        {"INDEX", Kind::AddIndex, Kind::DropIndex, Kind::ClearIndex, Kind::MaterializeIndex},
        {"CONSTRAINT", Kind::AddConstraint, Kind::DropConstraint, Kind::DropConstraint, Kind::DropConstraint},
        {"PROJECTION", Kind::AddProjection, Kind::DropProjection, Kind::ClearProjection,
         Kind::MaterializeProjection},
    };
    for (const Row& row : kRows) {
        if (!isWord(1, row.object)) continue;
        position_ += 2;
        if (verb == "ADD") {
            command.kind = row.add;
            command.if_not_exists = keyword("IF NOT EXISTS");
            if (row.add == Kind::AddIndex) command.index = indexDeclaration();
            if (row.add == Kind::AddConstraint) command.constraint = constraintDeclaration();
            if (row.add == Kind::AddProjection) command.projection = projectionDeclaration();
            if (keyword("FIRST"))
                command.first = true;
            else if (keyword("AFTER"))
                command.after = identifier();
            return true;
        }
        if (row.add == Kind::AddConstraint && verb != "DROP") fail();
        command.kind = verb == "DROP" ? row.drop : (verb == "CLEAR" ? row.clear : row.materialize);
        command.if_exists = keyword("IF EXISTS");
        command.name = identifier();
        if (isKeyword("IN PARTITION")) {
            advance();
            command.partition = partition();
        }
        return true;
    }
    return false;
}

bool Parser::modifyCommand(AlterCommand& command) {
    using Kind = AlterCommand::Kind;
    if (keyword("MODIFY COLUMN") || keyword("ALTER COLUMN")) {
        modifyColumn(command);
        return true;
    }
    if (keyword("MODIFY SETTING")) {
        command.kind = Kind::ModifySetting;
        // A comma may also begin the next command: `MODIFY SETTING a = 1, ADD COLUMN …`.
        do command.settings.push_back(settingChange());
        while (peek(1).kind == TokenKind::Word && peek(2).kind == TokenKind::Equals &&
               accept(TokenKind::Comma));
        return true;
    }
    if (keyword("RESET SETTING")) {
        command.kind = Kind::ResetSetting;
        do command.names.push_back(identifier());
        while (peek(1).kind == TokenKind::Word &&
               (peek(2).kind == TokenKind::Comma || peek(2).kind == TokenKind::EndOfQuery) &&
               accept(TokenKind::Comma));
        return true;
    }
    if (keyword("MODIFY ORDER BY")) {
        command.kind = Kind::ModifyOrderBy;
        storageOrderBy(command.order_by, command.order_by_in_parentheses);
        return true;
    }
    if (keyword("MODIFY SAMPLE BY")) {
        command.kind = Kind::ModifySampleBy;
        command.expression = expression();
        return true;
    }
    if (keyword("MODIFY TTL")) {
        command.kind = Kind::ModifyTtl;
        command.ttl = ttlList();
        return true;
    }
    if (keyword("MODIFY COMMENT")) {
        command.kind = Kind::ModifyComment;
        command.text = stringLiteral();
        return true;
    }
    if (keyword("MODIFY QUERY")) {
        command.kind = Kind::ModifyQuery;
        command.query = query();
        return true;
    }
    const auto removed = anyKeyword({"REMOVE TTL", "REMOVE SAMPLE BY"});
    if (removed.empty()) return false;
    command.kind = removed == "REMOVE TTL" ? Kind::RemoveTtl : Kind::RemoveSampleBy;
    return true;
}

void Parser::modifyColumn(AlterCommand& command) {
    using Kind = AlterCommand::Kind;
    command.kind = Kind::ModifyColumn;
    command.if_exists = keyword("IF EXISTS");
    command.name = identifier();
    while (accept(TokenKind::Dot)) command.name += "." + identifier();
    if (keyword("REMOVE")) {
        command.kind = Kind::ModifyColumnRemove;
        command.remove =
            anyKeyword({"DEFAULT", "MATERIALIZED", "ALIAS", "COMMENT", "CODEC", "TTL", "SETTINGS"});
        if (command.remove.empty()) fail();
        return;
    }
    if (keyword("MODIFY SETTING")) {
        command.kind = Kind::ModifyColumnSettings;
        command.settings = settingChanges();
        return;
    }
    if (keyword("RESET SETTING")) {
        command.kind = Kind::ResetColumnSettings;
        commaList([&] { command.names.push_back(identifier()); });
        return;
    }
    keyword("TYPE");
    command.column.name = command.name;
    const bool property = isWord(0, "DEFAULT") || isWord(0, "MATERIALIZED") || isWord(0, "ALIAS") ||
                          isWord(0, "EPHEMERAL") || isWord(0, "COMMENT") || isWord(0, "CODEC") ||
                          isWord(0, "TTL") || isWord(0, "FIRST") || isWord(0, "AFTER");
    if (!property) command.column.type = type();
    while (columnProperty(command.column)) {
    }
    if (keyword("FIRST"))
        command.first = true;
    else if (keyword("AFTER"))
        command.after = identifier();
}

/// `PARTITION x` or `PART 'x'`, from the word on.
PartitionReference Parser::partition() {
    PartitionReference reference;
    if (keyword("PART")) {
        reference.kind = PartitionReference::Kind::Part;
        reference.id = stringLiteral();
        return reference;
    }
    expectKeyword("PARTITION");
    if (isWord(0, "ID") && peek(1).kind == TokenKind::String) {
        advance();
        reference.kind = PartitionReference::Kind::Id;
        reference.id = stringLiteral();
    } else if (keyword("ALL")) {
        reference.kind = PartitionReference::Kind::All;
    } else {
        reference.kind = PartitionReference::Kind::Expression;
        reference.expression = binary(kAboveAnd);
    }
    return reference;
}

bool Parser::partitionCommand(AlterCommand& command) {
    using Kind = AlterCommand::Kind;

    struct Row {
        std::string_view words;
        Kind kind;
    };

    static constexpr Row kRows[] = {
        {"DROP DETACHED PARTITION", Kind::DropDetachedPartition},
        {"DROP DETACHED PART", Kind::DropDetachedPartition},
        {"DROP PARTITION", Kind::DropPartition},
        {"DROP PART", Kind::DropPartition},
        {"DETACH PARTITION", Kind::DetachPartition},
        {"DETACH PART", Kind::DetachPartition},
        {"FORGET PARTITION", Kind::ForgetPartition},
        {"ATTACH PARTITION", Kind::AttachPartition},
        {"ATTACH PART", Kind::AttachPartition},
        {"REPLACE PARTITION", Kind::ReplacePartition},
        {"MOVE PARTITION", Kind::MovePartition},
        {"MOVE PART", Kind::MovePartition},
        {"FREEZE PARTITION", Kind::FreezePartition},
        {"UNFREEZE PARTITION", Kind::UnfreezePartition},
        {"FETCH PARTITION", Kind::FetchPartition},
    };
    for (const Row& row : kRows) {
        if (!keyword(row.words)) continue;
        command.kind = row.kind;
        --position_;
        command.partition = partition();
        break;
    }
    if (command.partition.kind == PartitionReference::Kind::None) {
        if (!keyword("FREEZE")) return false;
        command.kind = Kind::FreezePartition;
        return true;
    }
    if (command.kind == Kind::ReplacePartition ||
        (command.kind == Kind::AttachPartition && isKeyword("FROM"))) {
        expectKeyword("FROM");
        command.table = qualifiedName();
        if (command.kind == Kind::AttachPartition) command.kind = Kind::AttachPartitionFrom;
    } else if (command.kind == Kind::MovePartition) {
        movePartition(command);
    } else if (command.kind == Kind::FetchPartition) {
        expectKeyword("FROM");
        command.text = stringLiteral();
    }
    return true;
}

void Parser::movePartition(AlterCommand& command) {
    if (keyword("TO TABLE")) {
        command.table = qualifiedName();
        return;
    }
    command.to_disk = keyword("TO DISK");
    if (!command.to_disk) {
        expectKeyword("TO VOLUME");
        command.to_volume = true;
    }
    command.text = stringLiteral();
}

std::vector<std::pair<std::string, ExpressionPtr>> Parser::assignments() {
    std::vector<std::pair<std::string, ExpressionPtr>> list;
    commaList([&] {
        std::string column = identifier();
        while (accept(TokenKind::Dot)) column += "." + identifier();
        expect(TokenKind::Equals);
        // `a = 1 IN PARTITION 2`: IN belongs to the command here.
        in_partition_ends_ = true;
        ExpressionPtr value = expression();
        in_partition_ends_ = false;
        list.emplace_back(std::move(column), std::move(value));
    });
    return list;
}

}  // namespace shardd::sql
