#include <span>

#include "server/formats/input_list.h"
#include "server/formats/quoting.h"
#include "server/formats/row_input.h"

namespace shardd::formats {

namespace {

bool isWordLetter(char c) { return isLetter(c) || isDigit(c) || c == '_'; }

/// "(1, 'a'), (DEFAULT, 1 + 1);": literals are read as they are, anything else is an expression for whoever
/// evaluates.
class ValuesInput final : public RowInput {
public:
    using RowInput::RowInput;

private:
    bool readRow(TextInput& in) override {
        in.skipSpace();
        if (in.skip(',')) in.skipSpace();
        if (in.atEnd()) return false;
        if (in.skip(';')) {
            in.skipSpace();
            if (!in.atEnd()) throw Error(ErrorCode::SYNTAX_ERROR, "Cannot read data after semicolon");
            return false;
        }
        if (!in.skip('(')) fail(in, "'(' before a row");
        for (size_t i = 0; i < columns(); ++i) {
            in.skipSpace();
            if (i > 0) {
                if (!in.skip(','))
                    fail(in, fmt::format("',' behind the value of column {}", header().columns[i - 1].name));
                in.skipSpace();
            }
            readValue(in, i);
        }
        in.skipSpace();
        if (!in.skip(')')) fail(in, "')' behind a row");
        return true;
    }

    [[noreturn]] static void fail(const TextInput& in, std::string_view wanted) {
        throw Error(ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED,
                    "Cannot parse Values: wanted {}, found '{}'", wanted, in.rest().substr(0, 64));
    }

    static bool endsValue(TextInput in) {
        in.skipSpace();
        return in.peek() == ',' || in.peek() == ')';
    }

    /// A word that stands alone, in any case.
    static bool skipWord(TextInput& in, std::string_view word) {
        if (in.left() < word.size() || isWordLetter(in.peek(word.size()))) return false;
        for (size_t i = 0; i < word.size(); ++i)
            if (toLower(in.peek(i)) != word[i]) return false;
        in.position += word.size();
        return true;
    }

    void readValue(TextInput& in, size_t column) {
        TextInput tried = in;
        if (skipWord(tried, "default") && endsValue(tried)) {
            in = tried;
            return;
        }
        tried = in;
        if (!takesNull(column) && settings().null_as_default && skipWord(tried, "null") && endsValue(tried)) {
            in = tried;
            return;
        }
        tried = in;
        Value value;
        const TextResult result = text(column).read(tried, TextStyle::Quoted, value);
        if (result == ErrorCode::OK && endsValue(tried)) {
            in = tried;
            return set(column, std::move(value));
        }
        const char* from = in.position;
        skipExpression(in);
        // The end of the bytes may be in the middle of it: nothing is evaluated before its end is seen.
        if (in.atEnd()) return;
        if (!settings().evaluate)
            check(result == ErrorCode::OK ? ErrorCode::SYNTAX_ERROR : result, column, from, in);
        set(column, settings().evaluate(std::string(from, in.position), header().columns[column].type));
    }

    /// To the ',' or ')' behind it.
    static void skipExpression(TextInput& in) {
        size_t depth = 0;
        while (!in.atEnd()) {
            const char c = in.peek();
            if (depth == 0 && (c == ',' || c == ')')) return;
            if (c == '\'' || c == '"' || c == '`') {
                skipQuoted(in, c);
                continue;
            }
            if (c == '(' || c == '[' || c == '{') ++depth;
            if ((c == ')' || c == ']' || c == '}') && depth > 0) --depth;
            ++in.position;
        }
    }

    static void skipQuoted(TextInput& in, char quote) {
        ++in.position;
        while (!in.atEnd()) {
            const char c = *in.position++;
            if (c == '\\' && !in.atEnd()) ++in.position;
            if (c == quote) return;
        }
    }
};

InputFormatPtr make(const Block& header, std::shared_ptr<ByteSource> source, const InputSettings& settings) {
    return std::make_unique<ValuesInput>(header, std::move(source), settings);
}

}  // namespace

std::span<const InputFormatInfo> valuesInputFormats() {
    static const InputFormatInfo formats[] = {{"Values", make}};
    return formats;
}

}  // namespace shardd::formats
