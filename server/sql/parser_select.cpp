#include <algorithm>

#include "common/base/error.h"
#include "server/sql/parser_impl.h"

namespace shardd::sql {

// ------------------------------------------------------------------------- set operators

bool Parser::setOperator(bool intersect, SetOperator& op) {
    if (intersect) {
        if (!keyword("INTERSECT")) return false;
        op = keyword("ALL")
                 ? SetOperator::IntersectAll
                 : (keyword("DISTINCT") ? SetOperator::IntersectDistinct : SetOperator::IntersectDefault);
        return true;
    }
    if (keyword("UNION")) {
        op = keyword("ALL") ? SetOperator::UnionAll
                            : (keyword("DISTINCT") ? SetOperator::UnionDistinct : SetOperator::UnionDefault);
        return true;
    }
    if (!keyword("EXCEPT")) return false;
    op = keyword("ALL") ? SetOperator::ExceptAll
                        : (keyword("DISTINCT") ? SetOperator::ExceptDistinct : SetOperator::ExceptDefault);
    return true;
}

QueryPtr Parser::query() {
    DepthGuard guard(*this);
    return setOperators(queryOperand());
}

/// The operators behind `first`; one with nothing behind it is itself.
QueryPtr Parser::setOperators(QueryPtr first) {
    const uint32_t begin = first->begin;
    const auto continueWith = [&](bool intersect, QueryPtr left, auto operand) {
        SetOperator op;
        QueryPtr united;
        while (setOperator(intersect, op)) {
            if (!united) {
                united = std::make_shared<Query>();
                united->begin = left->begin;
                united->operands.push_back(std::move(left));
            }
            united->operators.push_back(op);
            united->operands.push_back(operand());
            united->end = united->operands.back()->end;
        }
        return united ? united : left;
    };
    const auto intersections = [&](QueryPtr left) {
        return continueWith(true, std::move(left), [&] { return queryOperand(); });
    };
    QueryPtr result =
        continueWith(false, intersections(std::move(first)), [&] { return intersections(queryOperand()); });
    result->begin = begin;
    return result;
}

QueryPtr Parser::queryOperand() {
    const uint32_t begin = peek().begin;
    if (accept(TokenKind::OpenRound)) {
        QueryPtr inner = query();
        expect(TokenKind::CloseRound);
        inner->parenthesized = true;
        return inner;
    }
    auto node = std::make_shared<Query>();
    node->begin = begin;
    node->select = select();
    node->end = position_ ? tokens_[position_ - 1].end : begin;
    return node;
}

// -------------------------------------------------------------------------------- SELECT

std::shared_ptr<Select> Parser::select() {
    DepthGuard guard(*this);
    auto node = std::make_shared<Select>();
    Select& select = *node;
    if (keyword("WITH")) withClause(select);
    const bool from_first = keyword("FROM");
    if (from_first) fromClause(select);
    expectKeyword("SELECT");
    selectList(select);
    if (!from_first && keyword("FROM")) fromClause(select);
    if (keyword("PREWHERE")) select.prewhere = expression();
    if (keyword("WHERE")) select.where = expression();
    if (keyword("GROUP BY")) groupBy(select);
    // WITH TOTALS may stand alone.
    while (isKeyword("WITH ROLLUP") || isKeyword("WITH CUBE") || isKeyword("WITH TOTALS")) {
        if (keyword("WITH ROLLUP")) select.rollup = true;
        if (keyword("WITH CUBE")) select.cube = true;
        if (keyword("WITH TOTALS")) select.totals = true;
    }
    if (keyword("HAVING")) select.having = expression();
    if (keyword("WINDOW")) windowClause(select);
    if (keyword("QUALIFY")) select.qualify = expression();
    if (keyword("ORDER BY")) orderBy(select);
    limits(select);
    if (keyword("SETTINGS")) select.settings = settingChanges();
    return node;
}

/// `name AS (SELECT …)`, `name (a, b) AS (SELECT …)`, with MATERIALIZED before the bracket.
bool Parser::isCommonTableExpression() {
    const TokenKind first = peek().kind;
    if (first != TokenKind::Word && first != TokenKind::QuotedIdentifier) return false;
    size_t ahead = 1;
    if (peek(ahead).kind == TokenKind::OpenRound) {
        do {
            ++ahead;
            const TokenKind name = peek(ahead).kind;
            if (name != TokenKind::Word && name != TokenKind::QuotedIdentifier) return false;
            ++ahead;
        } while (peek(ahead).kind == TokenKind::Comma);
        if (peek(ahead).kind != TokenKind::CloseRound) return false;
        ++ahead;
    }
    if (!isWord(ahead, "AS")) return false;
    ++ahead;
    if (isWord(ahead, "NOT") && isWord(ahead + 1, "MATERIALIZED")) ++ahead;
    if (isWord(ahead, "MATERIALIZED")) ++ahead;
    return peek(ahead).kind == TokenKind::OpenRound;
}

void Parser::withClause(Select& select) {
    select.with_recursive = keyword("RECURSIVE");
    commaList([&] {
        if (isKeyword("SELECT") || (isKeyword("FROM") && !select.with.empty())) return;
        WithElement element;
        if (isCommonTableExpression()) {
            element.name = identifier();
            if (peek().kind == TokenKind::OpenRound) element.column_aliases = identifierListInParentheses();
            expectKeyword("AS");
            if (keyword("NOT MATERIALIZED"))
                element.materialized = false;
            else if (keyword("MATERIALIZED"))
                element.materialized = true;
            expect(TokenKind::OpenRound);
            element.query = query();
            expect(TokenKind::CloseRound);
        } else {
            element.expression = expressionWithAlias(AliasStyle::Explicit);
        }
        select.with.push_back(std::move(element));
    });
}

void Parser::selectList(Select& select) {
    if (keyword("DISTINCT ON")) {
        select.distinct = true;
        expect(TokenKind::OpenRound);
        select.distinct_on = expressionList();
        expect(TokenKind::CloseRound);
    } else if (peek(1).kind != TokenKind::Comma && keyword("DISTINCT")) {
        select.distinct = true;
    } else if (peek(1).kind != TokenKind::Comma && peek(1).kind != TokenKind::OpenRound && keyword("ALL")) {
        // SELECT ALL is SELECT
    }
    if (isWord(0, "TOP") && peek(1).kind == TokenKind::Number) {
        advance();
        select.limit = castLiteral();
        select.limit_with_ties = keyword("WITH TIES");
    }
    do {
        if (!select.select.empty() && isKeyword("FROM")) break;  // a comma may end the list
        if (!select.select.empty() && (atEnd() || peek().kind == TokenKind::Semicolon)) break;
        select.select.push_back(expressionWithAlias(AliasStyle::Optional));
    } while (accept(TokenKind::Comma));
}

// ---------------------------------------------------------------------------------- FROM

void Parser::fromClause(Select& select) {
    TableElement first;
    first.table = tableExpression();
    select.from.push_back(std::move(first));
    while (arrayJoin(select) || joinedElement(select)) {
    }
}

bool Parser::arrayJoin(Select& select) {
    const bool left = keyword("LEFT ARRAY JOIN");
    if (!left && !keyword("INNER ARRAY JOIN") && !keyword("ARRAY JOIN")) return false;
    TableElement element;
    element.is_array_join = true;
    element.is_left_array_join = left;
    element.array_join = expressionList();
    select.from.push_back(std::move(element));
    return true;
}

/// The words before the right table; false when no join begins here.
bool Parser::joinHead(Join& join) {
    using Kind = Join::Kind;
    using Strictness = Join::Strictness;
    if (accept(TokenKind::Comma)) {
        join.kind = Kind::Comma;
        return true;
    }
    const size_t begin = position_;
    if (keyword("GLOBAL"))
        join.locality = Join::Locality::Global;
    else if (keyword("LOCAL"))
        join.locality = Join::Locality::Local;
    const auto strictness = [&] {
        static constexpr std::pair<std::string_view, Strictness> kWords[] = {
            {"ANY", Strictness::Any},   {"ALL", Strictness::All},   {"ASOF", Strictness::Asof},
            {"SEMI", Strictness::Semi}, {"ANTI", Strictness::Anti}, {"ONLY", Strictness::Semi},
        };
        for (const auto& [word, value] : kWords) {
            if (!keyword(word)) continue;
            join.strictness = value;
            return true;
        }
        return false;
    };
    join.natural = keyword("NATURAL");
    bool found = strictness();
    bool inner_named = false;
    if (keyword("INNER")) {
        inner_named = true;
    } else if (keyword("LEFT")) {
        join.kind = Kind::Left;
    } else if (keyword("RIGHT")) {
        join.kind = Kind::Right;
    } else if (keyword("FULL")) {
        join.kind = Kind::Full;
    } else if (keyword("CROSS")) {
        join.kind = Kind::Cross;
    } else if (keyword("PASTE")) {
        join.kind = Kind::Paste;
    }
    const bool kind_named = inner_named || join.kind != Kind::Inner;
    if (!found) strictness();
    keyword("OUTER");
    if (!keyword("JOIN")) {
        if (position_ == begin) return false;
        fail();
    }
    const bool one_sided = join.strictness == Strictness::Semi || join.strictness == Strictness::Anti;
    if (one_sided && !kind_named) join.kind = Kind::Left;
    if (one_sided && join.kind != Kind::Left && join.kind != Kind::Right)
        throw Error(ErrorCode::SYNTAX_ERROR, "SEMI|ANTI JOIN should be LEFT or RIGHT.");
    return true;
}

bool Parser::joinedElement(Select& select) {
    Join join;
    if (!joinHead(join)) return false;
    TableElement element;
    element.table = tableExpression();
    if (!join.natural && join.kind != Join::Kind::Comma && join.kind != Join::Kind::Cross &&
        join.kind != Join::Kind::Paste)
        joinCondition(join);
    element.join = std::move(join);
    select.from.push_back(std::move(element));
    return true;
}

void Parser::joinCondition(Join& join) {
    if (keyword("USING")) {
        join.using_in_parentheses = accept(TokenKind::OpenRound);
        join.using_columns = expressionList();
        if (join.using_in_parentheses) expect(TokenKind::CloseRound);
    } else if (keyword("ON")) {
        join.on = expression();
    } else {
        fail();
    }
}

TableExpression Parser::tableExpression() {
    DepthGuard guard(*this);
    TableExpression table;
    table.position = peek().begin;
    const Token token = peek();
    const bool named = token.kind == TokenKind::Word || token.kind == TokenKind::QuotedIdentifier ||
                       token.kind == TokenKind::String;
    if (accept(TokenKind::OpenRound)) {
        table.subquery = query();
        expect(TokenKind::CloseRound);
    } else if (token.kind == TokenKind::OpenCurly) {
        table.parameter = parameter();
    } else if (named && token.kind != TokenKind::String && peek(1).kind == TokenKind::OpenRound) {
        std::string name = identifier();
        table.function = std::static_pointer_cast<Function>(call(std::move(name), token.begin));
    } else if (named) {
        table.table = qualifiedName();
    } else {
        for (auto what : {"table", "table function", "subquery", "identifier"}) expected(what);
        fail();
    }
    parseAlias(AliasStyle::Optional, table.alias);
    if (!table.alias.empty() && peek().kind == TokenKind::OpenRound && !isQueryStart(1))
        table.column_aliases = identifierListInParentheses();
    table.final = keyword("FINAL");
    if (keyword("SAMPLE")) {
        table.sample_size = binary(0);
        if (keyword("OFFSET")) table.sample_offset = binary(0);
    }
    if (table.alias.empty()) parseAlias(AliasStyle::Optional, table.alias);
    return table;
}

// ------------------------------------------------------------------------------ GROUP BY

void Parser::groupBy(Select& select) {
    select.has_group_by = true;
    if (peek(1).kind != TokenKind::Comma && keyword("ALL")) {
        select.group_by_all = true;
        return;
    }
    if (keyword("GROUPING SETS")) {
        select.group_by_grouping_sets = true;
        expect(TokenKind::OpenRound);
        commaList([&] {
            Expressions set;
            if (accept(TokenKind::OpenRound)) {
                if (!accept(TokenKind::CloseRound)) {
                    set = expressionList();
                    expect(TokenKind::CloseRound);
                }
            } else {
                set.push_back(expression());
            }
            select.grouping_sets.push_back(std::move(set));
        });
        expect(TokenKind::CloseRound);
        return;
    }
    const bool call = peek(1).kind == TokenKind::OpenRound;
    if (call && (isWord(0, "ROLLUP") || isWord(0, "CUBE"))) {
        (isWord(0, "ROLLUP") ? select.rollup : select.cube) = true;
        advance();
        expect(TokenKind::OpenRound);
        select.group_by = expressionList();
        expect(TokenKind::CloseRound);
        return;
    }
    select.group_by = expressionList();
}

// ------------------------------------------------------------------------------- windows

void Parser::windowClause(Select& select) {
    commaList([&] {
        std::string name = identifier();
        expectKeyword("AS");
        expect(TokenKind::OpenRound);
        auto window = windowDefinition();
        window->name = std::move(name);
        expect(TokenKind::CloseRound);
        select.windows.push_back(std::move(window));
    });
}

std::shared_ptr<WindowDefinition> Parser::windowDefinition() {
    auto window = std::make_shared<WindowDefinition>();
    const bool clause = isKeyword("PARTITION BY") || isKeyword("ORDER BY") ||
                        ((isWord(0, "ROWS") || isWord(0, "RANGE") || isWord(0, "GROUPS")) &&
                         peek(1).kind != TokenKind::CloseRound);
    if (!clause && peek().kind != TokenKind::CloseRound) window->parent = identifier();
    if (keyword("PARTITION BY")) window->partition_by = expressionList();
    if (keyword("ORDER BY")) commaList([&] { window->order_by.push_back(orderElement()); });
    const auto frame = anyKeyword({"ROWS", "RANGE", "GROUPS"});
    if (frame.empty()) return window;
    using Frame = WindowDefinition::Frame;
    window->frame = frame == "ROWS" ? Frame::Rows : (frame == "RANGE" ? Frame::Range : Frame::Groups);
    if (keyword("BETWEEN")) {
        window->begin = frameBound();
        expectKeyword("AND");
        window->end = frameBound();
    } else {
        window->begin = frameBound();
        window->end = {FrameBound::Kind::CurrentRow, false, nullptr};
    }
    return window;
}

FrameBound Parser::frameBound() {
    FrameBound bound;
    if (keyword("CURRENT ROW")) {
        bound.kind = FrameBound::Kind::CurrentRow;
        bound.preceding = false;
        return bound;
    }
    if (keyword("UNBOUNDED")) {
        bound.kind = FrameBound::Kind::Unbounded;
    } else {
        bound.kind = FrameBound::Kind::Offset;
        bound.offset = binary(kAboveAnd);
    }
    if (keyword("PRECEDING")) return bound;
    expectKeyword("FOLLOWING");
    bound.preceding = false;
    return bound;
}

// ------------------------------------------------------------------------------ ORDER BY

void Parser::orderModifiers(OrderElement& element) {
    if (keyword("DESCENDING") || keyword("DESC"))
        element.descending = true;
    else if (!keyword("ASCENDING"))
        keyword("ASC");
    if (keyword("NULLS FIRST"))
        element.nulls_first = true;
    else if (keyword("NULLS LAST"))
        element.nulls_first = false;
}

OrderElement Parser::orderElement() {
    OrderElement element;
    element.expression = expression();
    orderModifiers(element);
    if (keyword("COLLATE")) element.collation = stringLiteral();
    if (!keyword("WITH FILL")) return element;
    element.with_fill = true;
    if (keyword("FROM")) element.fill_from = plainExpression();
    if (keyword("TO")) element.fill_to = plainExpression();
    if (keyword("STEP")) element.fill_step = plainExpression();
    if (keyword("STALENESS")) element.fill_staleness = plainExpression();
    return element;
}

void Parser::orderBy(Select& select) {
    const TokenKind next = peek(1).kind;
    const bool all = isWord(0, "ALL") && next != TokenKind::Dot && next != TokenKind::OpenRound &&
                     next != TokenKind::Comma;
    if (all) {
        advance();
        select.order_by_all = true;
        OrderElement element;
        orderModifiers(element);
        select.order_by.push_back(std::move(element));
    } else {
        commaList([&] { select.order_by.push_back(orderElement()); });
    }
    if (keyword("INTERPOLATE")) interpolate(select);
}

void Parser::interpolate(Select& select) {
    select.has_interpolate = true;
    if (!accept(TokenKind::OpenRound)) return;
    if (accept(TokenKind::CloseRound)) return;
    commaList([&] {
        InterpolateElement element;
        const uint32_t position = peek().begin;
        element.column = identifier();
        if (keyword("AS")) {
            element.expression = expression();
        } else {
            element.expression = std::make_shared<Identifier>(std::vector<std::string>{element.column});
            element.expression->position = position;
        }
        select.interpolate.push_back(std::move(element));
    });
    expect(TokenKind::CloseRound);
}

// --------------------------------------------------------------------------------- LIMIT

/// LIMIT n [OFFSET m] [BY …], LIMIT m, n [BY …], then LIMIT again, OFFSET, FETCH, WITH TIES.
void Parser::limits(Select& select) {
    bool limit_by_seen = false;
    while (keyword("LIMIT")) {
        if (select.limit && !limit_by_seen && !isKeyword("BY")) {
            if (select.limit) fail();
        }
        ExpressionPtr length = expression(), offset;
        if (accept(TokenKind::Comma)) {
            offset = std::move(length);
            length = expression();
        } else if (keyword("OFFSET")) {
            offset = expression();
        }
        if (keyword("BY")) {
            if (limit_by_seen) fail();
            limit_by_seen = true;
            select.limit_by_length = std::move(length);
            select.limit_by_offset = std::move(offset);
            if (keyword("ALL"))
                select.limit_by_all = true;
            else
                select.limit_by = expressionList();
            continue;
        }
        select.limit = std::move(length);
        select.offset = std::move(offset);
        if (keyword("WITH TIES")) select.limit_with_ties = true;
        break;
    }
    if (!select.offset && keyword("OFFSET")) {
        select.offset = expression();
        fetch(select);
    } else if (!select.limit) {
        fetch(select);
    }
    if (select.limit_with_ties && (limit_by_seen || !select.distinct_on.empty()))
        throw Error(ErrorCode::LIMIT_BY_WITH_TIES_IS_NOT_SUPPORTED,
                    "Can not use WITH TIES alongside LIMIT BY/DISTINCT ON");
    if (!select.distinct_on.empty()) {  // DISTINCT ON (k) is LIMIT 1 BY k
        if (limit_by_seen) throw Error(ErrorCode::SYNTAX_ERROR, "Can not use DISTINCT ON alongside LIMIT BY");
        select.distinct = false;
        select.limit_by_length = literal({uint64_t{1}}, select.distinct_on[0]->position);
        select.limit_by = std::move(select.distinct_on);
        select.distinct_on.clear();
    }
    if (select.limit_with_ties && select.order_by.empty())
        throw Error(ErrorCode::WITH_TIES_WITHOUT_ORDER_BY, "Can not use WITH TIES without ORDER BY");
}

void Parser::fetch(Select& select) {
    const bool row = keyword("ROW");
    const bool rows = keyword("ROWS");
    if (row && rows) throw Error(ErrorCode::ROW_AND_ROWS_TOGETHER, "Can not use ROW and ROWS together");
    if (!keyword("FETCH")) return;
    if (select.order_by.empty())
        throw Error(ErrorCode::OFFSET_FETCH_WITHOUT_ORDER_BY,
                    "Can not use OFFSET FETCH clause without ORDER BY");
    const bool first = keyword("FIRST");
    const bool next = keyword("NEXT");
    if (first && next) throw Error(ErrorCode::FIRST_AND_NEXT_TOGETHER, "Can not use FIRST and NEXT together");
    if (!first && !next) fail();
    select.limit = expression();
    if (!keyword("ROWS")) expectKeyword("ROW");
    if (keyword("WITH TIES"))
        select.limit_with_ties = true;
    else
        expectKeyword("ONLY");
}

// ------------------------------------------------------------------------------ SETTINGS

SettingChanges Parser::settingChanges() {
    SettingChanges changes;
    commaList([&] { changes.push_back(settingChange()); });
    return changes;
}

SettingChange Parser::settingChange() {
    SettingChange change;
    change.name = identifier();
    while (accept(TokenKind::Dot)) change.name += "." + identifier();
    if (!accept(TokenKind::Equals)) {
        change.value = {true};  // SET flag
        return change;
    }
    if (keyword("DEFAULT"))
        change.to_default = true;
    else
        change.value = settingValue();
    return change;
}

Literal Parser::settingValue() {
    const Token token = peek();
    if (token.kind == TokenKind::Word || token.kind == TokenKind::QuotedIdentifier) {
        if (isWord(0, "TRUE") || isWord(0, "FALSE")) {
            const bool value = isWord(0, "TRUE");
            advance();
            return {value};
        }
        const bool special = isWord(0, "NULL") || isWord(0, "INF") || isWord(0, "NAN");
        if (!special) {
            std::string text = identifier();
            if (peek().kind != TokenKind::OpenRound) return {text};
            // disk(type = local): kept as text
            const uint32_t begin = token.begin;
            size_t open = 0;
            do {
                if (peek().kind == TokenKind::OpenRound) ++open;
                if (peek().kind == TokenKind::CloseRound) --open;
                if (atEnd() || peek().kind == TokenKind::Error) fail();
                advance();
            } while (open);
            return {std::string(text_.substr(begin, tokens_[position_ - 1].end - begin))};
        }
    }
    ExpressionPtr value = unary();
    auto* constant = as<LiteralExpression>(value);
    if (!constant) {
        expected("literal");
        fail(token);
    }
    return std::move(constant->value);
}

}  // namespace shardd::sql
