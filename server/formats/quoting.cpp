#include "server/formats/quoting.h"

namespace shardd::formats {

namespace {

/// The letter behind the backslash for a byte that TSV escapes; 0 for all others.
char escapeLetter(char c) {
    switch (c) {
        case '\b':
            return 'b';
        case '\f':
            return 'f';
        case '\n':
            return 'n';
        case '\r':
            return 'r';
        case '\t':
            return 't';
        case '\0':
            return '0';
        case '\'':
            return '\'';
        case '\\':
            return '\\';
        default:
            return 0;
    }
}

int hexDigit(char c) {
    if (isDigit(c)) return c - '0';
    const char lower = toLower(c);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/// Behind a backslash.
TextResult readEscape(TextInput& in, std::string& text) {
    if (in.atEnd()) return ErrorCode::CANNOT_PARSE_ESCAPE_SEQUENCE;
    const char c = *in.position++;
    switch (c) {
        case 'a':
            text += '\a';
            break;
        case 'b':
            text += '\b';
            break;
        case 'e':
            text += '\x1B';
            break;
        case 'f':
            text += '\f';
            break;
        case 'n':
            text += '\n';
            break;
        case 'r':
            text += '\r';
            break;
        case 't':
            text += '\t';
            break;
        case 'v':
            text += '\v';
            break;
        case '0':
            text += '\0';
            break;
        case 'x': {
            const int high = hexDigit(in.peek());
            const int low = hexDigit(in.peek(1));
            if (high < 0 || low < 0) return ErrorCode::CANNOT_PARSE_ESCAPE_SEQUENCE;
            text += static_cast<char>(high * 16 + low);
            in.position += 2;
            break;
        }
        case 'N':
            break;  // \N inside a text is nothing
        default:
            if (c != '\\' && c != '\'' && c != '"' && c != '`' && c != '/' && c != '=') text += '\\';
            text += c;
    }
    return ErrorCode::OK;
}

void appendUtf8(std::string& text, uint32_t code) {
    if (code < 0x80) {
        text += static_cast<char>(code);
    } else if (code < 0x800) {
        text += static_cast<char>(0xC0 | (code >> 6));
        text += static_cast<char>(0x80 | (code & 63));
    } else if (code < 0x10000) {
        text += static_cast<char>(0xE0 | (code >> 12));
        text += static_cast<char>(0x80 | ((code >> 6) & 63));
        text += static_cast<char>(0x80 | (code & 63));
    } else {
        text += static_cast<char>(0xF0 | (code >> 18));
        text += static_cast<char>(0x80 | ((code >> 12) & 63));
        text += static_cast<char>(0x80 | ((code >> 6) & 63));
        text += static_cast<char>(0x80 | (code & 63));
    }
}

bool readHex4(TextInput& in, uint32_t& code) {
    code = 0;
    for (int i = 0; i < 4; ++i) {
        const int digit = hexDigit(in.peek());
        if (digit < 0) return false;
        code = code * 16 + static_cast<uint32_t>(digit);
        ++in.position;
    }
    return true;
}

}  // namespace

void writeEscaped(std::string_view text, Writer& out) {
    size_t from = 0;
    for (size_t i = 0; i < text.size(); ++i) {
        const char letter = escapeLetter(text[i]);
        if (letter == 0) continue;
        out.writeBytes(text.substr(from, i - from));
        out.writeByte('\\');
        out.writeByte(static_cast<uint8_t>(letter));
        from = i + 1;
    }
    out.writeBytes(text.substr(from));
}

void writeQuoted(std::string_view text, Writer& out) {
    out.writeByte('\'');
    writeEscaped(text, out);
    out.writeByte('\'');
}

void writeJson(std::string_view text, Writer& out) {
    static constexpr char kHexDigits[] = "0123456789ABCDEF";
    out.writeByte('"');
    for (const char c : text) {
        const auto byte = static_cast<uint8_t>(c);
        if (c == '"' || c == '\\' || c == '/') {
            out.writeByte('\\');
            out.writeByte(byte);
        } else if (byte < 0x20) {
            const char letter = c == '\0' ? '\0' : escapeLetter(c);
            if (letter != 0) {
                out.writeByte('\\');
                out.writeByte(static_cast<uint8_t>(letter));
            } else {
                out.writeBytes("\\u00");
                out.writeByte(static_cast<uint8_t>(kHexDigits[byte >> 4]));
                out.writeByte(static_cast<uint8_t>(kHexDigits[byte & 15]));
            }
        } else {
            out.writeByte(byte);
        }
    }
    out.writeByte('"');
}

void writeCsv(std::string_view text, Writer& out) {
    out.writeByte('"');
    for (const char c : text) {
        if (c == '"') out.writeByte('"');
        out.writeByte(static_cast<uint8_t>(c));
    }
    out.writeByte('"');
}

TextResult readQuoted(TextInput& in, std::string& text, char quote) {
    if (!in.skip(quote)) return ErrorCode::CANNOT_PARSE_QUOTED_STRING;
    while (!in.atEnd()) {
        const char c = *in.position++;
        if (c == quote) {
            if (in.peek() != quote || in.atEnd()) return ErrorCode::OK;
            ++in.position;  // doubled
            text += quote;
        } else if (c == '\\') {
            if (const TextResult result = readEscape(in, text); result != ErrorCode::OK) return result;
        } else {
            text += c;
        }
    }
    return ErrorCode::CANNOT_PARSE_QUOTED_STRING;
}

TextResult readEscaped(TextInput& in, std::string& text) {
    while (!in.atEnd() && in.peek() != '\t' && in.peek() != '\n') {
        const char c = *in.position++;
        if (c != '\\') {
            text += c;
            continue;
        }
        if (const TextResult result = readEscape(in, text); result != ErrorCode::OK) return result;
    }
    return ErrorCode::OK;
}

TextResult readCsv(TextInput& in, std::string& text, char delimiter) {
    while (in.peek() == ' ' || (in.peek() == '\t' && delimiter != '\t')) ++in.position;
    const char quote = in.peek();
    if (quote == '"' || quote == '\'') {
        ++in.position;
        while (!in.atEnd()) {
            const char c = *in.position++;
            if (c == quote) {
                if (in.atEnd() || in.peek() != quote) return ErrorCode::OK;
                ++in.position;
            }
            text += c;
        }
        return ErrorCode::CANNOT_PARSE_QUOTED_STRING;
    }
    while (!in.atEnd() && in.peek() != delimiter && in.peek() != '\n' && in.peek() != '\r')
        text += *in.position++;
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.pop_back();
    return ErrorCode::OK;
}

TextResult readJson(TextInput& in, std::string& text) {
    constexpr TextResult kFailed = ErrorCode::CANNOT_PARSE_QUOTED_STRING;
    if (!in.skip('"')) return kFailed;
    while (!in.atEnd()) {
        const char c = *in.position++;
        if (c == '"') return ErrorCode::OK;
        if (c != '\\') {
            text += c;
            continue;
        }
        if (in.peek() != 'u') {
            if (const TextResult result = readEscape(in, text); result != ErrorCode::OK) return result;
            continue;
        }
        ++in.position;
        uint32_t code = 0;
        if (!readHex4(in, code)) return ErrorCode::CANNOT_PARSE_ESCAPE_SEQUENCE;
        if (code >= 0xD800 && code < 0xDC00 && in.skip("\\u")) {
            uint32_t low = 0;
            if (!readHex4(in, low)) return ErrorCode::CANNOT_PARSE_ESCAPE_SEQUENCE;
            code = 0x10000 + ((code - 0xD800) << 10) + ((low - 0xDC00) & 0x3FF);
        }
        appendUtf8(text, code);
    }
    return kFailed;
}

}  // namespace shardd::formats
