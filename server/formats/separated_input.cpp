#include <span>

#include "server/formats/input_list.h"
#include "server/formats/quoting.h"
#include "server/formats/row_input.h"

namespace shardd::formats {

namespace {

/// Rows on lines, values between delimiters, names and types in front where the format has them.
class SeparatedInput : public RowInput {
public:
    SeparatedInput(const Block& header,
                   std::shared_ptr<ByteSource> source,
                   const InputSettings& settings,
                   Heading heading)
        : RowInput(header, std::move(source), settings), heading_(heading), order_(ownOrder()) {}

protected:
    virtual TextResult readWord(TextInput& in, std::string& word) const = 0;
    /// The value of a column; nothing is set when the column's default is meant.
    virtual void readValue(TextInput& in, size_t column) = 0;
    virtual void skipLineEnd(TextInput& in) const = 0;
    virtual char delimiter() const = 0;

    void readHead(TextInput& in) override {
        in.skip("\xEF\xBB\xBF");
        if (heading_ == Heading::None) return;
        const std::vector<std::string> names = readWords(in);
        if (heading_ == Heading::NamesAndTypes) readWords(in);
        order_ = orderOf(names);
    }

    bool readRow(TextInput& in) override {
        if (in.atEnd()) return false;
        for (size_t i = 0; i < order_.size(); ++i) {
            if (i > 0 && !in.skip(delimiter()))
                throw Error(ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED,
                            "a line has {} values, {} are expected", i, order_.size());
            if (order_[i]) {
                readValue(in, *order_[i]);
            } else {
                std::string ignored;
                readWord(in, ignored);
            }
        }
        if (!in.atEnd() && in.peek() == delimiter())
            throw Error(ErrorCode::INCORRECT_DATA, "a line has more than {} values", order_.size());
        skipLineEnd(in);
        return true;
    }

private:
    std::vector<std::string> readWords(TextInput& in) const {
        std::vector<std::string> words;
        do {
            std::string word;
            if (readWord(in, word) != ErrorCode::OK)
                throw Error(ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED, "Cannot read the header");
            words.push_back(std::move(word));
        } while (in.skip(delimiter()));
        skipLineEnd(in);
        return words;
    }

    const Heading heading_;
    FieldOrder order_;
};

class TsvInput final : public SeparatedInput {
public:
    using SeparatedInput::SeparatedInput;

private:
    TextResult readWord(TextInput& in, std::string& word) const override { return readEscaped(in, word); }

    void readValue(TextInput& in, size_t column) override {
        const bool is_null =
            in.peek() == '\\' && in.peek(1) == 'N' &&
            (in.left() == 2 || in.peek(2) == '\t' || in.peek(2) == '\n' || in.peek(2) == '\r');
        if (is_null && !takesNull(column) && settings().null_as_default) {
            in.position += 2;
            return;
        }
        const char* from = in.position;
        Value value;
        check(text(column).read(in, TextStyle::Escaped, value), column, from, in);
        if (!in.atEnd() && in.peek() != '\t' && in.peek() != '\n' && in.peek() != '\r')
            check(ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED, column, from, in);
        set(column, std::move(value));
    }

    void skipLineEnd(TextInput& in) const override {
        if (in.atEnd() || in.skip('\n')) return;
        if (in.peek() == '\r')
            throw Error(
                ErrorCode::INCORRECT_DATA,
                "found \\r (carriage return) at the end of a line: lines of TabSeparated end with \\n");
        throw Error(ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED,
                    "a line does not end behind its last value");
    }

    char delimiter() const override { return '\t'; }
};

class CsvInput final : public SeparatedInput {
public:
    using SeparatedInput::SeparatedInput;

private:
    TextResult readWord(TextInput& in, std::string& word) const override {
        return readCsv(in, word, settings().csv_delimiter);
    }

    bool endsField(const TextInput& in, size_t ahead) const {
        const char c = in.peek(ahead);
        return ahead >= in.left() || c == settings().csv_delimiter || c == '\n' || c == '\r';
    }

    void readValue(TextInput& in, size_t column) override {
        while (in.peek() == ' ' || (in.peek() == '\t' && delimiter() != '\t')) ++in.position;
        if (endsField(in, 0) && settings().csv_empty_as_default) return;
        if (in.peek() == '\\' && in.peek(1) == 'N' && endsField(in, 2) && !takesNull(column) &&
            settings().null_as_default) {
            in.position += 2;
            return;
        }
        const char* from = in.position;
        Value value;
        check(text(column).read(in, TextStyle::Csv, value), column, from, in);
        while (in.peek() == ' ' || (in.peek() == '\t' && delimiter() != '\t')) ++in.position;
        if (!endsField(in, 0)) check(ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED, column, from, in);
        set(column, std::move(value));
    }

    void skipLineEnd(TextInput& in) const override {
        in.skip('\r');
        if (!in.atEnd() && !in.skip('\n'))
            throw Error(ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED,
                        "a line does not end behind its last value");
    }

    char delimiter() const override { return settings().csv_delimiter; }
};

template <typename Input, Heading heading>
InputFormatPtr make(const Block& header, std::shared_ptr<ByteSource> source, const InputSettings& settings) {
    return std::make_unique<Input>(header, std::move(source), settings, heading);
}

}  // namespace

std::span<const InputFormatInfo> separatedInputFormats() {
    static const InputFormatInfo formats[] = {
        {"TabSeparated", make<TsvInput, Heading::None>},
        {"TSV", make<TsvInput, Heading::None>},
        {"TabSeparatedWithNames", make<TsvInput, Heading::Names>},
        {"TSVWithNames", make<TsvInput, Heading::Names>},
        {"TabSeparatedWithNamesAndTypes", make<TsvInput, Heading::NamesAndTypes>},
        {"TSVWithNamesAndTypes", make<TsvInput, Heading::NamesAndTypes>},
        {"CSV", make<CsvInput, Heading::None>},
        {"CSVWithNames", make<CsvInput, Heading::Names>},
        {"CSVWithNamesAndTypes", make<CsvInput, Heading::NamesAndTypes>},
    };
    return formats;
}

}  // namespace shardd::formats
