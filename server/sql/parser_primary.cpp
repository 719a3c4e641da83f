#include <charconv>
#include <cmath>
#include <cstdlib>

#include "common/base/error.h"
#include "server/sql/parser_impl.h"

/// What stands between operators: literals, names, calls, brackets, and the forms of SQL with words inside.
namespace shardd::sql {

ExpressionPtr Parser::primary() {
    const Token token = peek();
    switch (token.kind) {
        case TokenKind::Number:
        case TokenKind::String:
        case TokenKind::Heredoc:
            return castLiteral();
        case TokenKind::OpenRound:
            return roundBrackets();
        case TokenKind::OpenSquare:
            return squareBrackets();
        case TokenKind::OpenCurly:
            return parameterPrimary();
        case TokenKind::Variable:
            return variable();
        case TokenKind::Asterisk:
            advance();
            return asterisk({}, token.begin);
        case TokenKind::Word:
            return wordPrimary();
        case TokenKind::QuotedIdentifier:
            return identifierOrCall();
        default:
            for (auto what :
                 {"expression", "literal", "identifier", "function", "asterisk", "NOT", "CASE", "INTERVAL"})
                expected(what);
            fail();
    }
}

/// `1::T` casts the text of the literal, so that `1.1::Decimal(9, 1)` loses nothing.
ExpressionPtr Parser::castLiteral() {
    const Token token = peek();
    const bool negative = std::exchange(negative_number_, false);
    if (token.kind != TokenKind::Number) return literal({stringLiteral()}, token.begin);
    const uint32_t begin = negative ? tokens_[position_ - 1].begin : token.begin;
    ExpressionPtr value = numberLiteral(negative, begin);
    if (peek().kind != TokenKind::DoubleColon) return value;
    advance();
    ExpressionPtr text = literal({(negative ? "-" : "") + std::string(textOf(token))}, begin);
    return function("CAST", {std::move(text), literal({type()}, token.begin)}, begin);
}

ExpressionPtr Parser::numberLiteral(bool negative, uint32_t position) {
    const Token token = peek();
    std::string text;
    for (char c : textOf(token))
        if (c != '_') text.push_back(c);
    advance();
    const bool prefixed = text.size() > 2 && text[0] == '0' && !(text[1] >= '0' && text[1] <= '9') &&
                          text[1] != '.' && (text[1] | 0x20) != 'e';
    const bool binary = prefixed && (text[1] | 0x20) == 'b';
    const bool hex = prefixed && !binary;
    const bool real = hex ? text.find_first_of(".pP") != std::string::npos
                          : !binary && text.find_first_of(".eE") != std::string::npos;
    if (!real) {
        uint64_t value = 0;
        const char* begin = text.data() + (prefixed ? 2 : 0);
        const char* end = text.data() + text.size();
        const auto result = std::from_chars(begin, end, value, hex ? 16 : (binary ? 2 : 10));
        if (result.ec == std::errc() && result.ptr == end) {
            if (!negative || value == 0) return literal({value}, position);
            if (value <= uint64_t{1} << 63) return literal({static_cast<int64_t>(~value + 1)}, position);
        } else if (result.ec != std::errc::result_out_of_range) {
            fail(token);
        }
        if (binary) fail(token);
    }
    const double value = std::strtod(text.c_str(), nullptr);
    return literal({negative ? -value : value}, position);
}

ExpressionPtr Parser::variable() {
    const uint32_t position = peek().begin;
    advance();
    std::string name = identifier();
    while (accept(TokenKind::Dot)) name += "." + identifier();
    ExpressionPtr node = function("globalVariable", {literal({name}, position)}, position);
    node->alias = "@@" + name;
    return node;
}

ExpressionPtr Parser::parameterPrimary() { return parameter(); }

ExpressionPtr Parser::wordPrimary() {
    bool matched = true;
    if (peek(1).kind != TokenKind::Dot) {
        ExpressionPtr node = keywordPrimary(matched);
        if (matched) return node;
    }
    return identifierOrCall();
}

/// Words that mean something else than a column: constants, and the forms of SQL.
ExpressionPtr Parser::keywordPrimary(bool& matched) {
    const Token token = peek();
    const Token after = peek(1);
    const uint32_t position = token.begin;
    const auto constant = [&](Literal value) {
        advance();
        return literal(std::move(value), position);
    };
    if (isWord(0, "NULL")) return constant({Literal::Null{}});
    if (after.kind != TokenKind::OpenRound) {
        if (isWord(0, "TRUE")) return constant({true});
        if (isWord(0, "FALSE")) return constant({false});
        const bool negative = std::exchange(negative_number_, false);
        if (isWord(0, "INF") || isWord(0, "INFINITY")) return constant({negative ? -HUGE_VAL : HUGE_VAL});
        if (isWord(0, "NAN")) return constant({std::nan("")});
        // `SELECT a, FROM t`; behind an operator `from` can only be a name.
        const bool list_begins = position_ == 0 || tokens_[position_ - 1].kind == TokenKind::Word ||
                                 tokens_[position_ - 1].kind == TokenKind::Comma;
        if (isWord(0, "FROM") && list_begins) {
            expected("expression");
            fail();
        }
    }
    if (isWord(0, "CASE") && after.kind != TokenKind::Comma && after.kind != TokenKind::EndOfQuery &&
        !isWord(1, "END") && !isWord(1, "FROM") && !isWord(1, "AS")) {
        advance();
        return caseExpression(position);
    }
    if (isWord(0, "INTERVAL"))
        if (ExpressionPtr node = interval(position)) return node;
    const bool text_follows = after.kind == TokenKind::String;
    if (text_follows && (isWord(0, "DATE") || isWord(0, "TIMESTAMP"))) {
        const bool date = isWord(0, "DATE");
        advance();
        return function(date ? "toDate" : "toDateTime", {literal({stringLiteral()}, position)}, position);
    }
    if (isWord(0, "EXISTS") && after.kind == TokenKind::OpenRound) {
        advance();
        return exists(position);
    }
    if (isWord(0, "COLUMNS") && after.kind == TokenKind::OpenRound) {
        advance();
        return columnsMatcher({}, position);
    }
    matched = false;
    return nullptr;
}

ExpressionPtr Parser::identifierOrCall() {
    const uint32_t position = peek().begin;
    const bool quoted = peek().kind == TokenKind::QuotedIdentifier;
    std::vector<std::string> parts{identifier()};
    if (peek().kind == TokenKind::OpenRound) {
        if (!quoted)
            if (ExpressionPtr special = specialCall(parts[0], position)) return special;
        return call(std::move(parts[0]), position);
    }
    while (peek().kind == TokenKind::Dot) {
        const Token next = peek(1);
        if (next.kind == TokenKind::Asterisk) {
            position_ += 2;
            return asterisk(std::move(parts), position);
        }
        if (next.kind == TokenKind::Word && isWord(1, "COLUMNS") && peek(2).kind == TokenKind::OpenRound) {
            position_ += 2;
            return columnsMatcher(std::move(parts), position);
        }
        if (next.kind != TokenKind::Word && next.kind != TokenKind::QuotedIdentifier) break;
        advance();
        parts.push_back(identifier());
    }
    // db.function(…): SQL has no such calls.
    auto node = std::make_shared<Identifier>(std::move(parts));
    node->position = position;
    return node;
}

namespace {

const Literal* foldable(const Expression& node) {
    const auto* constant = as<LiteralExpression>(&node);
    return constant && constant->alias.empty() && !constant->parenthesized ? &constant->value : nullptr;
}

template <typename Collection>
ExpressionPtr folded(Expressions& items) {
    for (const auto& item : items)
        if (!foldable(*item)) return nullptr;
    Collection collection;
    collection.items.reserve(items.size());
    for (const auto& item : items)
        collection.items.push_back(std::move(static_cast<LiteralExpression&>(*item).value));
    return std::make_shared<LiteralExpression>(Literal{std::move(collection)});
}

}  // namespace

ExpressionPtr Parser::squareBrackets() {
    const uint32_t position = peek().begin;
    expect(TokenKind::OpenSquare);
    Expressions items;
    if (peek().kind != TokenKind::CloseSquare) items = expressionList();
    const uint32_t end = peek().end;
    expect(TokenKind::CloseSquare);
    ExpressionPtr constant = folded<Literal::Array>(items);
    if (!constant) return function("array", std::move(items), position, true);
    constant->position = position;
    if (peek().kind != TokenKind::DoubleColon) return constant;
    advance();
    ExpressionPtr text = literal({std::string(text_.substr(position, end - position))}, position);
    return function("CAST", {std::move(text), literal({type()}, position)}, position);
}

ExpressionPtr Parser::subqueryOf(QueryPtr query, uint32_t position) {
    auto node = std::make_shared<Subquery>();
    node->query = std::move(query);
    node->position = position;
    return node;
}

/// The rest of `(SELECT …)`, the opening bracket taken.
ExpressionPtr Parser::subqueryUntilClose(uint32_t position, ExpressionPtr* otherwise) {
    const uint32_t outer = std::exchange(deepest_, 0);
    const uint32_t outer_elements = std::exchange(most_, 0);
    QueryPtr inner = query();
    if (otherwise && keyword("ELSE")) {
        const uint32_t begin = peek().begin;
        *otherwise = call(identifier(), begin);  // a call, even where its name is a word like null
    }
    expect(TokenKind::CloseRound);
    ExpressionPtr node = subqueryOf(std::move(inner), position);
    node->depth = deepest_ + 1;
    node->elements = most_ + 1;
    if (limits_.max_ast_depth && node->depth > limits_.max_ast_depth)
        throw Error(ErrorCode::TOO_DEEP_AST, "AST is too deep. Maximum: {}.", limits_.max_ast_depth);
    deepest_ = std::max(outer, node->depth);
    most_ = std::max(outer_elements, node->elements);
    return node;
}

ExpressionPtr Parser::roundBrackets() {
    DepthGuard guard(*this);
    const uint32_t position = peek().begin;
    expect(TokenKind::OpenRound);
    if (isQueryStart(0) || isKeyword("EXPLAIN")) return subqueryUntilClose(position);
    if (accept(TokenKind::CloseRound)) return function("tuple", {}, position);
    Expressions items;
    bool trailing_comma = false;
    do {
        if (!items.empty() && peek().kind == TokenKind::CloseRound) {
            trailing_comma = true;
            break;
        }
        items.push_back(expression());
        // ((SELECT 1) UNION ALL SELECT 2): what looked like an expression was the first operand of a query.
        auto* subquery = as<Subquery>(items[0]);
        if (items.size() == 1 && subquery && subquery->alias.empty() &&
            (isKeyword("UNION") || isKeyword("EXCEPT") || isKeyword("INTERSECT"))) {
            subquery->query->parenthesized = true;
            QueryPtr united = setOperators(subquery->query);
            expect(TokenKind::CloseRound);
            return subqueryOf(std::move(united), position);
        }
    } while (accept(TokenKind::Comma));
    const uint32_t end = peek().end;
    expect(TokenKind::CloseRound);
    if (items.size() == 1 && !trailing_comma) {
        auto* subquery = as<Subquery>(items[0]);
        items[0]->parenthesized = !(subquery && subquery->alias.empty());
        return items[0];
    }
    if (items.size() > 1) {
        if (ExpressionPtr constant = folded<Literal::Tuple>(items)) {
            constant->position = position;
            if (peek().kind != TokenKind::DoubleColon) return constant;
            advance();
            ExpressionPtr text = literal({std::string(text_.substr(position, end - position))}, position);
            return function("CAST", {std::move(text), literal({type()}, position)}, position);
        }
    }
    const bool plain = items.size() > 1;
    return function("tuple", std::move(items), position, plain);
}

ExpressionPtr Parser::exists(uint32_t position) {
    const uint32_t begin = peek().begin;
    expect(TokenKind::OpenRound);
    if (!isQueryStart(0) && peek().kind != TokenKind::OpenRound) {
        expected("SELECT");
        expected("WITH");
        fail();
    }
    return function("exists", {subqueryUntilClose(begin)}, position);
}

ExpressionPtr Parser::caseExpression(uint32_t position) {
    DepthGuard guard(*this);
    Expressions arguments;
    const bool with_expression = !isKeyword("WHEN");
    if (with_expression) arguments.push_back(plainExpression());
    bool any = false;
    while (keyword("WHEN")) {
        any = true;
        arguments.push_back(plainExpression());
        expectKeyword("THEN");
        arguments.push_back(plainExpression());
    }
    if (!any) fail();
    if (keyword("ELSE"))
        arguments.push_back(plainExpression());
    else
        arguments.push_back(literal({Literal::Null{}}, position));
    expectKeyword("END");
    return function(with_expression ? "caseWithExpression" : "multiIf", std::move(arguments), position);
}

// -------------------------------------------------------------------------------- calls

/// Inside the brackets of a call. `view(SELECT 1)` needs no second pair.
void Parser::callArguments(Expressions& arguments, bool& distinct) {
    distinct = false;
    if (peek(1).kind != TokenKind::CloseRound && peek(1).kind != TokenKind::Comma) {
        if (keyword("DISTINCT"))
            distinct = true;
        else if (isWord(0, "ALL") && peek(1).kind != TokenKind::OpenRound)
            advance();
    }
    if (accept(TokenKind::CloseRound)) return;
    do {
        if (!arguments.empty() && peek().kind == TokenKind::CloseRound) break;
        arguments.push_back(expression());
    } while (accept(TokenKind::Comma));
    expect(TokenKind::CloseRound);
}

/// view(SELECT …), viewIfPermitted(SELECT … ELSE null('a UInt8')): no other call takes a query without brackets.
void Parser::viewArguments(Expressions& arguments) {
    ExpressionPtr otherwise;
    ExpressionPtr node = subqueryUntilClose(peek().begin, &otherwise);
    static_cast<Subquery&>(*node).bare = true;
    arguments.push_back(std::move(node));
    if (otherwise) arguments.push_back(std::move(otherwise));
}

ExpressionPtr Parser::call(std::string name, uint32_t position) {
    DepthGuard guard(*this);
    const bool is_view = equalsIgnoringCase(name, "view") || equalsIgnoringCase(name, "viewIfPermitted");
    auto node = std::make_shared<Function>(std::move(name));
    expect(TokenKind::OpenRound);
    if (is_view && (isQueryStart(0) || (peek().kind == TokenKind::OpenRound && isQueryStart(1)))) {
        viewArguments(node->arguments);
        return measured(node, position, {&node->arguments});
    }
    bool distinct = false;
    callArguments(node->arguments, distinct);
    if (peek().kind == TokenKind::OpenRound && !distinct) {
        advance();
        node->parameters = std::move(node->arguments);
        node->arguments.clear();
        node->has_parameters = true;
        callArguments(node->arguments, distinct);
    }
    return finishCall(std::move(node), distinct, position);
}

/// DISTINCT, FILTER, NULLS and OVER behind a call.
ExpressionPtr Parser::finishCall(std::shared_ptr<Function> node, bool distinct, uint32_t position) {
    if (distinct) node->name += "Distinct";
    if (keyword("FILTER")) {
        expect(TokenKind::OpenRound);
        expectKeyword("WHERE");
        node->name += "If";
        node->arguments.push_back(expression());
        expect(TokenKind::CloseRound);
    }
    if (keyword("RESPECT NULLS"))
        node->nulls = Function::Nulls::Respect;
    else if (keyword("IGNORE NULLS"))
        node->nulls = Function::Nulls::Ignore;
    if ((peek(1).kind == TokenKind::OpenRound || peek(1).kind == TokenKind::Word ||
         peek(1).kind == TokenKind::QuotedIdentifier) &&
        keyword("OVER"))
        over(*node);
    return measured(node, position, {&node->parameters, &node->arguments});
}

void Parser::over(Function& call) {
    call.is_window = true;
    if (accept(TokenKind::OpenRound)) {
        call.window = windowDefinition();
        expect(TokenKind::CloseRound);
    } else {
        call.window_name = identifier();
    }
}

/// Calls whose brackets hold more than a list. Nothing when `name` is an ordinary function after all.
ExpressionPtr Parser::specialCall(std::string& name, uint32_t position) {
    const auto is = [&](std::string_view word) { return equalsIgnoringCase(name, word); };
    DepthGuard guard(*this);
    switch (name[0] | 0x20) {
        case 'c':
            if (is("CAST")) return castCall(position);
            break;
        case 'e':
            if (is("EXTRACT") && peek(1).kind == TokenKind::Word && isWord(2, "FROM"))
                return extractCall(position);
            break;
        case 's':
            if (is("SUBSTRING")) return substringCall(position);
            break;
        case 'o':
            if (is("OVERLAY")) return overlayCall(position);
            break;
        case 't':
            if (is("TRIM")) return trimCall("Both", position);
            break;
        case 'l':
            if (is("LTRIM")) name = "trimLeft";
            break;
        case 'r':
            if (is("RTRIM")) name = "trimRight";
            break;
        case 'p':
            if (is("POSITION")) return positionCall(name, position);
            break;
        default:
            break;
    }
    for (auto word : {"DATE_ADD", "DATEADD", "TIMESTAMP_ADD", "TIMESTAMPADD"})
        if (is(word)) return dateArithmeticCall("plus", position);
    for (auto word : {"DATE_SUB", "DATESUB", "TIMESTAMP_SUB", "TIMESTAMPSUB"})
        if (is(word)) return dateArithmeticCall("minus", position);
    for (auto word : {"DATE_DIFF", "DATEDIFF", "TIMESTAMP_DIFF", "TIMESTAMPDIFF"})
        if (is(word)) return dateArithmeticCall("dateDiff", position);
    return nullptr;
}

ExpressionPtr Parser::castCall(uint32_t position) {
    expect(TokenKind::OpenRound);
    ExpressionPtr value = plainExpression();
    if (keyword("AS")) {
        // CAST(x AS T), CAST(x AS alias AS T), CAST(x AS alias, 'T')
        const bool names_alias =
            (peek().kind == TokenKind::Word || peek().kind == TokenKind::QuotedIdentifier) &&
            (peek(1).kind == TokenKind::Comma || isWord(1, "AS"));
        if (!names_alias) {
            ExpressionPtr target = literal({type()}, position);
            expect(TokenKind::CloseRound);
            return function("CAST", {std::move(value), std::move(target)}, position);
        }
        value->alias = identifier();
        if (keyword("AS")) {
            ExpressionPtr target = literal({type()}, position);
            expect(TokenKind::CloseRound);
            return function("CAST", {std::move(value), std::move(target)}, position);
        }
    }
    expect(TokenKind::Comma);
    ExpressionPtr target = expression();
    expect(TokenKind::CloseRound);
    return function("CAST", {std::move(value), std::move(target)}, position);
}

namespace {

/// The function that EXTRACT(unit FROM x) means.
const char* extractFunction(std::string_view unit) {
    static constexpr std::pair<std::string_view, const char*> kFunctions[] = {
        {"NANOSECOND", "toNanosecond"},
        {"MICROSECOND", "toMicrosecond"},
        {"MILLISECOND", "toMillisecond"},
        {"SECOND", "toSecond"},
        {"MINUTE", "toMinute"},
        {"HOUR", "toHour"},
        {"DAY", "toDayOfMonth"},
        {"WEEK", "toRelativeWeekNum"},
        {"MONTH", "toMonth"},
        {"QUARTER", "toQuarter"},
        {"YEAR", "toYear"},
    };
    for (const auto& [name, function] : kFunctions)
        if (unit == name) return function;
    return nullptr;
}

}  // namespace

ExpressionPtr Parser::extractCall(uint32_t position) {
    const auto unit = intervalUnit(1);
    const char* name = unit.empty() ? nullptr : extractFunction(unit);
    static constexpr std::pair<std::string_view, const char*> kMore[] = {
        {"DOW", "toDayOfWeek"},    {"DOY", "toDayOfYear"},   {"EPOCH", "toUnixTimestamp"},
        {"ISODOW", "toDayOfWeek"}, {"ISOYEAR", "toISOYear"}, {"CENTURY", "toCentury"},
        {"DECADE", "toDecade"},
    };
    for (const auto& [word, function] : kMore)
        if (isWord(1, word)) name = function;
    expect(TokenKind::OpenRound);
    if (!name) {
        expected("interval");
        fail();
    }
    position_ += 2;
    ExpressionPtr value = expression();
    expect(TokenKind::CloseRound);
    return function(name, {std::move(value)}, position);
}

ExpressionPtr Parser::substringCall(uint32_t position) {
    expect(TokenKind::OpenRound);
    Expressions arguments;
    arguments.push_back(expression());
    const bool words = keyword("FROM");
    if (!words) expect(TokenKind::Comma);
    arguments.push_back(expression());
    if (words ? keyword("FOR") : accept(TokenKind::Comma)) arguments.push_back(expression());
    expect(TokenKind::CloseRound);
    return function("substring", std::move(arguments), position);
}

ExpressionPtr Parser::overlayCall(uint32_t position) {
    expect(TokenKind::OpenRound);
    Expressions arguments{expression()};
    if (keyword("PLACING")) {
        arguments.push_back(expression());
        expectKeyword("FROM");
        arguments.push_back(expression());
        if (keyword("FOR")) arguments.push_back(expression());
    } else {
        while (accept(TokenKind::Comma)) arguments.push_back(expression());
    }
    expect(TokenKind::CloseRound);
    return function("overlay", std::move(arguments), position);
}

ExpressionPtr Parser::trimCall(std::string_view side, uint32_t position) {
    expect(TokenKind::OpenRound);
    const auto which = anyKeyword({"BOTH", "LEADING", "TRAILING"});
    if (!which.empty()) {
        side = which == "BOTH" ? "Both" : (which == "LEADING" ? "Left" : "Right");
        ExpressionPtr characters = expression();
        expectKeyword("FROM");
        ExpressionPtr value = expression();
        expect(TokenKind::CloseRound);
        return function("trim" + std::string(side), {std::move(value), std::move(characters)}, position);
    }
    Expressions arguments;
    bool distinct = false;
    callArguments(arguments, distinct);
    return function("trim" + std::string(side), std::move(arguments), position);
}

/// POSITION(needle IN haystack) is position(haystack, needle).
ExpressionPtr Parser::positionCall(const std::string& name, uint32_t position) {
    expect(TokenKind::OpenRound);
    Expressions arguments;
    bool distinct = false;
    callArguments(arguments, distinct);
    auto* in = arguments.size() == 1 ? as<Function>(arguments[0]) : nullptr;
    if (in && in->is_operator && in->name == "in" && !in->parenthesized)
        return function("position", {in->arguments[1], in->arguments[0]}, position);
    return function(name, std::move(arguments), position);
}

/// date_add(DAY, 1, x), date_add(x, INTERVAL 1 DAY), dateDiff(day, a, b), dateDiff('day', a, b).
ExpressionPtr Parser::dateArithmeticCall(std::string_view operation, uint32_t position) {
    const bool difference = operation == "dateDiff";
    std::string_view unit;
    if (peek(1).kind == TokenKind::Word && peek(2).kind == TokenKind::Comma) unit = intervalUnit(1);
    expect(TokenKind::OpenRound);
    Expressions arguments;
    bool distinct = false;
    if (unit.empty()) {
        callArguments(arguments, distinct);
        return function(std::string(operation), std::move(arguments), position);
    }
    std::string unit_name(unit);
    position_ += 2;
    callArguments(arguments, distinct);
    if (difference) {
        for (char& c : unit_name) c = static_cast<char>(c | 0x20);
        arguments.insert(arguments.begin(), literal({std::move(unit_name)}, position));
        return function(std::string(operation), std::move(arguments), position);
    }
    if (arguments.size() != 2) fail();
    for (size_t i = 1; i < unit_name.size(); ++i) unit_name[i] = static_cast<char>(unit_name[i] | 0x20);
    ExpressionPtr amount = function("toInterval" + unit_name, {arguments[0]}, position);
    return function(std::string(operation), {arguments[1], std::move(amount)}, position);
}

// ---------------------------------------------------------------------------- intervals

/// The unit named by the word `ahead`, in capitals and in the singular; empty when it is none.
std::string_view Parser::intervalUnit(size_t ahead) {
    static constexpr std::pair<std::string_view, std::string_view> kUnits[] = {
        {"NANOSECOND", "NANOSECOND"},
        {"NANOSECONDS", "NANOSECOND"},
        {"NS", "NANOSECOND"},
        {"MICROSECOND", "MICROSECOND"},
        {"MICROSECONDS", "MICROSECOND"},
        {"US", "MICROSECOND"},
        {"MILLISECOND", "MILLISECOND"},
        {"MILLISECONDS", "MILLISECOND"},
        {"MS", "MILLISECOND"},
        {"SECOND", "SECOND"},
        {"SECONDS", "SECOND"},
        {"SS", "SECOND"},
        {"S", "SECOND"},
        {"SQL_TSI_SECOND", "SECOND"},
        {"MINUTE", "MINUTE"},
        {"MINUTES", "MINUTE"},
        {"MI", "MINUTE"},
        {"N", "MINUTE"},
        {"SQL_TSI_MINUTE", "MINUTE"},
        {"HOUR", "HOUR"},
        {"HOURS", "HOUR"},
        {"HH", "HOUR"},
        {"H", "HOUR"},
        {"SQL_TSI_HOUR", "HOUR"},
        {"DAY", "DAY"},
        {"DAYS", "DAY"},
        {"DD", "DAY"},
        {"D", "DAY"},
        {"SQL_TSI_DAY", "DAY"},
        {"WEEK", "WEEK"},
        {"WEEKS", "WEEK"},
        {"WK", "WEEK"},
        {"WW", "WEEK"},
        {"SQL_TSI_WEEK", "WEEK"},
        {"MONTH", "MONTH"},
        {"MONTHS", "MONTH"},
        {"MM", "MONTH"},
        {"M", "MONTH"},
        {"SQL_TSI_MONTH", "MONTH"},
        {"QUARTER", "QUARTER"},
        {"QUARTERS", "QUARTER"},
        {"QQ", "QUARTER"},
        {"Q", "QUARTER"},
        {"SQL_TSI_QUARTER", "QUARTER"},
        {"YEAR", "YEAR"},
        {"YEARS", "YEAR"},
        {"YYYY", "YEAR"},
        {"YY", "YEAR"},
        {"SQL_TSI_YEAR", "YEAR"},
    };
    const Token token = peek(ahead);
    if (token.kind != TokenKind::Word) return {};
    const auto word = textOf(token);
    for (const auto& [name, unit] : kUnits)
        if (equalsIgnoringCase(word, name)) return unit;
    return {};
}

namespace {

std::string intervalFunction(std::string_view unit) {
    std::string name = "toInterval";
    name.push_back(unit[0]);
    for (char c : unit.substr(1)) name.push_back(static_cast<char>(c | 0x20));
    return name;
}

}  // namespace

/// INTERVAL amount unit, or INTERVAL '1 day 2 hours'. Nothing, and the parser where it was, when `interval`
/// is a name.
ExpressionPtr Parser::interval(uint32_t position) {
    const size_t begin = position_;
    const TokenKind after = peek(1).kind;
    const bool begins_operand = after == TokenKind::Number || after == TokenKind::String ||
                                after == TokenKind::Word || after == TokenKind::QuotedIdentifier ||
                                after == TokenKind::OpenRound || after == TokenKind::Minus ||
                                after == TokenKind::OpenCurly;
    if (!begins_operand || no_interval_.contains(begin)) return nullptr;
    if (isWord(1, "FROM") || isWord(1, "AS")) return nullptr;
    advance();
    if (after == TokenKind::String && intervalUnit(1).empty())
        return intervalFromText(stringLiteral(), position);
    DepthGuard guard(*this);
    ExpressionPtr amount;
    try {
        amount = binary(0);
    } catch (const Error& error) {
        if (!error.is(ErrorCode::SYNTAX_ERROR)) throw;  // `interval` was a name, as in interval(a)
    }
    const auto unit = amount ? intervalUnit(0) : std::string_view();
    if (unit.empty()) {
        no_interval_.insert(begin);
        position_ = begin;
        return nullptr;
    }
    advance();
    return function(intervalFunction(unit), {std::move(amount)}, position);
}

ExpressionPtr Parser::intervalFromText(const std::string& text, uint32_t position) {
    Parser inner(text, 0, limits_);
    Expressions parts;
    while (!inner.atEnd()) {
        const bool negative = inner.peek().kind == TokenKind::Minus;
        if (negative) inner.advance();
        if (inner.peek().kind != TokenKind::Number || inner.intervalUnit(1).empty()) {
            expected("interval");
            fail();
        }
        ExpressionPtr amount = inner.numberLiteral(negative, position);
        amount->position = position;
        parts.push_back(function(intervalFunction(inner.intervalUnit(0)), {std::move(amount)}, position));
        inner.advance();
    }
    if (parts.empty()) fail();
    if (parts.size() == 1) return parts[0];
    return function("tuple", std::move(parts), position, true);
}

// ---------------------------------------------------------------------------- asterisks

ExpressionPtr Parser::asterisk(std::vector<std::string> qualifier, uint32_t position) {
    auto node = std::make_shared<Asterisk>();
    node->qualifier = std::move(qualifier);
    node->transformers = transformers();
    node->position = position;
    return node;
}

ExpressionPtr Parser::columnsMatcher(std::vector<std::string> qualifier, uint32_t position) {
    auto node = std::make_shared<Columns>();
    node->qualifier = std::move(qualifier);
    expect(TokenKind::OpenRound);
    if (peek().kind == TokenKind::String)
        node->pattern = stringLiteral();
    else
        commaList([&] { node->list.push_back(identifierOrCall()); });
    expect(TokenKind::CloseRound);
    node->transformers = transformers();
    return measured(node, position, {&node->list});
}

std::vector<ColumnTransformer> Parser::transformers() {
    std::vector<ColumnTransformer> list;
    while (true) {
        ColumnTransformer transformer;
        if (keyword("APPLY")) {
            list.push_back(applyTransformer());
        } else if (isWord(0, "EXCEPT") && !isQueryStart(1) &&
                   !(peek(1).kind == TokenKind::OpenRound && isQueryStart(2)) && !isWord(1, "ALL") &&
                   !isWord(1, "DISTINCT")) {
            advance();
            exceptTransformer(transformer);
            list.push_back(std::move(transformer));
        } else if (keyword("REPLACE")) {
            transformer.kind = ColumnTransformer::Kind::Replace;
            transformer.strict = keyword("STRICT");
            transformer.in_parentheses = accept(TokenKind::OpenRound);
            const auto replacement = [&] {
                ExpressionPtr value = plainExpression();
                expectKeyword("AS");
                value->alias = identifier();
                transformer.replacements.push_back(std::move(value));
            };
            if (transformer.in_parentheses) {
                commaList(replacement);
                expect(TokenKind::CloseRound);
            } else {
                replacement();
            }
            list.push_back(std::move(transformer));
        } else {
            return list;
        }
    }
}

void Parser::exceptTransformer(ColumnTransformer& transformer) {
    transformer.kind = ColumnTransformer::Kind::Except;
    transformer.strict = keyword("STRICT");
    transformer.in_parentheses = accept(TokenKind::OpenRound);
    if (peek().kind == TokenKind::String)
        transformer.pattern = stringLiteral();
    else if (transformer.in_parentheses)
        commaList([&] { transformer.names.push_back(identifier()); });
    else
        transformer.names.push_back(identifier());
    if (transformer.in_parentheses) expect(TokenKind::CloseRound);
}

ColumnTransformer Parser::applyTransformer() {
    ColumnTransformer transformer;
    transformer.kind = ColumnTransformer::Kind::Apply;
    transformer.in_parentheses = accept(TokenKind::OpenRound);
    ExpressionPtr what = lambdaOrTernary();
    if (auto lambda = std::dynamic_pointer_cast<Lambda>(what)) {
        transformer.lambda = std::move(lambda);
    } else if (auto* name = as<Identifier>(what); name && name->parts.size() == 1) {
        transformer.function = name->parts[0];
    } else if (auto* call = as<Function>(what); call && !call->has_parameters) {
        transformer.function = call->name;
        transformer.parameters = call->arguments;
    } else {
        fail();
    }
    if (transformer.in_parentheses) expect(TokenKind::CloseRound);
    return transformer;
}

}  // namespace shardd::sql
