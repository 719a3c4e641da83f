#include "server/sql/lexer.h"

namespace shardd::sql {

namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }

bool isHexDigit(char c) { return isDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

bool isSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

int hexValue(char c) {
    if (isDigit(c)) return c - '0';
    return (c | 0x20) - 'a' + 10;
}

/// After these a dot begins an element access (`t.1`), not a number (`.1`).
bool endsOperand(TokenKind kind) {
    switch (kind) {
        case TokenKind::Word:
        case TokenKind::QuotedIdentifier:
        case TokenKind::Number:
        case TokenKind::String:
        case TokenKind::CloseRound:
        case TokenKind::CloseSquare:
        case TokenKind::CloseCurly:
            return true;
        default:
            return false;
    }
}

/// Length of the white space at `position`, those of Unicode included that editors leave behind.
size_t spaceLength(std::string_view text, size_t position) {
    if (isSpace(text[position])) return 1;
    auto rest = text.substr(position);
    if (rest.starts_with("\xC2\xA0")) return 2;
    for (std::string_view wide : {"\xEF\xBB\xBF", "\xE2\x80\x89", "\xE2\x80\xAF", "\xE3\x80\x80"})
        if (rest.starts_with(wide)) return 3;
    return 0;
}

char escaped(char c) {
    switch (c) {
        case 'a':
            return '\a';
        case 'b':
            return '\b';
        case 'e':
            return '\x1b';
        case 'f':
            return '\f';
        case 'n':
            return '\n';
        case 'r':
            return '\r';
        case 't':
            return '\t';
        case 'v':
            return '\v';
        case '0':
            return '\0';
        default:
            return c;
    }
}

bool escapeDropsBackslash(char c) {
    return std::string_view("abefnrtv0\\'\"`/=").find(c) != std::string_view::npos;
}

}  // namespace

bool isWordStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

bool isWordCharacter(char c) { return isWordStart(c) || isDigit(c) || c == '$'; }

Token Lexer::finish(TokenKind kind, size_t begin, size_t end) {
    position_ = end;
    previous_ = kind;
    return {kind, static_cast<uint32_t>(begin), static_cast<uint32_t>(end), nullptr};
}

Token Lexer::fail(size_t begin, const char* error) {
    position_ = text_.size();
    previous_ = TokenKind::Error;
    return {TokenKind::Error, static_cast<uint32_t>(begin), static_cast<uint32_t>(text_.size()), error};
}

bool Lexer::skipSpaceAndComments(Token& error) {
    while (position_ < text_.size()) {
        if (size_t length = spaceLength(text_, position_)) {
            position_ += length;
            continue;
        }
        const char c = text_[position_];
        const bool line = (c == '-' && at(position_ + 1) == '-') ||
                          (c == '#' && (at(position_ + 1) == ' ' || at(position_ + 1) == '!'));
        if (line) {
            const size_t end = text_.find('\n', position_);
            position_ = end == std::string_view::npos ? text_.size() : end + 1;
        } else if (c == '/' && at(position_ + 1) == '*') {
            const size_t end = text_.find("*/", position_ + 2);
            if (end == std::string_view::npos) {
                error = fail(position_, "Multiline comment is not closed");
                return false;
            }
            position_ = end + 2;
        } else {
            break;
        }
    }
    return true;
}

Token Lexer::next() {
    Token error;
    if (!skipSpaceAndComments(error)) return error;
    const size_t begin = position_;
    if (begin >= text_.size()) return finish(TokenKind::EndOfQuery, text_.size(), text_.size());
    const char c = text_[begin];
    if (isDigit(c)) return number(begin);
    if (c == '.' && isDigit(at(begin + 1)) && !endsOperand(previous_)) return number(begin);
    if (c == '\'' || c == '`' || c == '"') return quoted(begin, c);
    if ((c == 'b' || c == 'B' || c == 'x' || c == 'X') && at(begin + 1) == '\'') {
        const Token body = quoted(begin + 1, '\'');
        return body.kind == TokenKind::Error ? body : finish(TokenKind::String, begin, body.end);
    }
    if (c == '$') return heredoc(begin);
    if (isWordStart(c)) {
        size_t end = begin + 1;
        while (isWordCharacter(at(end))) ++end;
        return finish(TokenKind::Word, begin, end);
    }
    return symbol(begin);
}

Token Lexer::number(size_t begin) {
    size_t end = begin;
    const auto digits = [&](auto accepts) {
        while (accepts(at(end)) || (at(end) == '_' && end > begin && accepts(at(end + 1)))) ++end;
    };
    if (previous_ == TokenKind::Dot) {  // t.1.2: two accesses, not the number 1.2
        while (isDigit(at(end))) ++end;
        return finish(TokenKind::Number, begin, end);
    }
    const char second = static_cast<char>(at(begin + 1) | 0x20);
    bool hex = false;
    if (text_[begin] == '0' && second == 'x' && (isHexDigit(at(begin + 2)) || at(begin + 2) == '.')) {
        hex = true;
        end += 2;
        digits(isHexDigit);
    } else if (text_[begin] == '0' && second == 'b' && (at(begin + 2) == '0' || at(begin + 2) == '1')) {
        end += 2;
        digits([](char c) { return c == '0' || c == '1'; });
    } else {
        digits(isDigit);
    }
    if (at(end) == '.') {
        ++end;
        hex ? digits(isHexDigit) : digits(isDigit);
    }
    const char exponent = static_cast<char>(at(end) | 0x20);
    if (end < text_.size() && exponent == (hex ? 'p' : 'e')) {
        size_t after = end + 1;
        if (at(after) == '+' || at(after) == '-') ++after;
        if (isDigit(at(after))) {
            end = after;
            while (isDigit(at(end))) ++end;
        }
    }
    if (isWordCharacter(at(end))) {  // `1a` is a word that begins with digits, as 2024_data
        if (text_.substr(begin, end - begin).find('.') != std::string_view::npos)
            return fail(begin, "Wrong number");
        while (isWordCharacter(at(end))) ++end;
        return finish(TokenKind::Word, begin, end);
    }
    return finish(TokenKind::Number, begin, end);
}

Token Lexer::quoted(size_t begin, char quote) {
    for (size_t end = begin + 1; end < text_.size(); ++end) {
        if (text_[end] == '\\') {
            ++end;
        } else if (text_[end] == quote) {
            if (at(end + 1) != quote)
                return finish(quote == '\'' ? TokenKind::String : TokenKind::QuotedIdentifier, begin,
                              end + 1);
            ++end;
        }
    }
    if (quote == '\'') return fail(begin, "Single quoted string is not closed");
    if (quote == '"') return fail(begin, "Double quoted string is not closed");
    return fail(begin, "Back quoted string is not closed");
}

Token Lexer::heredoc(size_t begin) {
    size_t end = begin + 1;
    while (isWordStart(at(end)) || isDigit(at(end))) ++end;
    if (at(end) == '$') {
        const auto tag = text_.substr(begin, end + 1 - begin);
        const size_t close = text_.find(tag, end + 1);
        if (close != std::string_view::npos) return finish(TokenKind::Heredoc, begin, close + tag.size());
    }
    while (isWordCharacter(at(end))) ++end;
    if (end == begin + 1) return fail(begin, "Dollar sign is in wrong place");
    return finish(TokenKind::Word, begin, end);
}

Token Lexer::symbol(size_t begin) {
    const char second = at(begin + 1);
    const auto one = [&](TokenKind kind) { return finish(kind, begin, begin + 1); };
    const auto two = [&](TokenKind kind) { return finish(kind, begin, begin + 2); };
    switch (text_[begin]) {
        case '(':
            return one(TokenKind::OpenRound);
        case ')':
            return one(TokenKind::CloseRound);
        case '[':
            return one(TokenKind::OpenSquare);
        case ']':
            return one(TokenKind::CloseSquare);
        case '{':
            return one(TokenKind::OpenCurly);
        case '}':
            return one(TokenKind::CloseCurly);
        case ',':
            return one(TokenKind::Comma);
        case ';':
            return one(TokenKind::Semicolon);
        case '.':
            return one(TokenKind::Dot);
        case '*':
            return one(TokenKind::Asterisk);
        case '+':
            return one(TokenKind::Plus);
        case '-':
            return second == '>' ? two(TokenKind::Arrow) : one(TokenKind::Minus);
        case '/':
            return one(TokenKind::Slash);
        case '%':
            return one(TokenKind::Percent);
        case '?':
            return one(TokenKind::Question);
        case ':':
            return second == ':' ? two(TokenKind::DoubleColon) : one(TokenKind::Colon);
        case '=':
            return second == '=' ? two(TokenKind::Equals) : one(TokenKind::Equals);
        case '!':
            return second == '=' ? two(TokenKind::NotEquals)
                                 : fail(begin, "Exclamation mark can only occur in != operator");
        case '<':
            if (second == '=' && at(begin + 2) == '>') return finish(TokenKind::Spaceship, begin, begin + 3);
            if (second == '=') return two(TokenKind::LessOrEquals);
            return second == '>' ? two(TokenKind::NotEquals) : one(TokenKind::Less);
        case '>':
            return second == '=' ? two(TokenKind::GreaterOrEquals) : one(TokenKind::Greater);
        case '|':
            return second == '|' ? two(TokenKind::Concat)
                                 : fail(begin, "Pipe symbol could only occur in || operator");
        case '@':
            return second == '@' ? two(TokenKind::Variable) : one(TokenKind::At);
        case '\0':
            // Clients written in C may leave the terminating zero in; anywhere else it is an error.
            if (text_.find_first_not_of('\0', begin) == std::string_view::npos)
                return finish(TokenKind::EndOfQuery, text_.size(), text_.size());
            [[fallthrough]];
        default:
            return fail(begin, "Unrecognized token");
    }
}

std::string unquote(std::string_view token) {
    if (token.size() < 2) return {};
    if (token[0] == 'x' || token[0] == 'X' || token[0] == 'b' || token[0] == 'B') {
        const bool hex = (token[0] | 0x20) == 'x';
        const auto body = token.substr(2, token.size() - 3);
        const size_t width = hex ? 2 : 8;
        std::string bytes;
        size_t position = 0;
        while (position < body.size()) {  // a first byte may be written short
            const size_t take = position == 0 && body.size() % width ? body.size() % width : width;
            int value = 0;
            for (char c : body.substr(position, take))
                value = value * (hex ? 16 : 2) + (isHexDigit(c) ? hexValue(c) : 0);
            bytes.push_back(static_cast<char>(value));
            position += take;
        }
        return bytes;
    }
    const char quote = token.front();
    const auto body = token.substr(1, token.size() - 2);
    std::string value;
    value.reserve(body.size());
    for (size_t i = 0; i < body.size(); ++i) {
        const char c = body[i];
        if (c == quote) {
            value.push_back(quote);
            ++i;  // doubled
        } else if (c != '\\' || i + 1 >= body.size()) {
            value.push_back(c);
        } else if (body[i + 1] == 'x' && i + 3 < body.size() && isHexDigit(body[i + 2]) &&
                   isHexDigit(body[i + 3])) {
            value.push_back(static_cast<char>(hexValue(body[i + 2]) * 16 + hexValue(body[i + 3])));
            i += 3;
        } else if (body[i + 1] == 'N') {
            ++i;  // \N is NULL in text formats, nothing in a literal
        } else {
            if (!escapeDropsBackslash(body[i + 1])) value.push_back('\\');
            value.push_back(escaped(body[++i]));
        }
    }
    return value;
}

std::string_view heredocBody(std::string_view token) {
    const size_t tag = token.find('$', 1) + 1;
    return token.substr(tag, token.size() - 2 * tag);
}

}  // namespace shardd::sql
