#include <algorithm>
#include <span>

#include "server/formats/input_list.h"
#include "server/formats/quoting.h"
#include "server/formats/row_input.h"

namespace shardd::formats {

namespace {

constexpr size_t kMaxDepth = 1000;

[[noreturn]] void failJson(std::string_view what) {
    throw Error(ErrorCode::INCORRECT_DATA, "Cannot parse JSON: {}", what);
}

void skipJson(TextInput& in, size_t depth = 0);

/// Behind an opening bracket: elements to the closing one.
void skipElements(TextInput& in, char closing, size_t depth) {
    in.skipSpace();
    if (in.skip(closing)) return;
    while (true) {
        in.skipSpace();
        if (closing == '}') {
            std::string ignored;
            if (readJson(in, ignored) != ErrorCode::OK) failJson("a name of an object is no string");
            in.skipSpace();
            if (!in.skip(':')) failJson("no ':' behind a name");
        }
        skipJson(in, depth + 1);
        in.skipSpace();
        if (in.skip(closing)) return;
        if (!in.skip(',')) failJson("no ',' between two elements");
    }
}

/// One value of any kind.
void skipJson(TextInput& in, size_t depth) {
    if (depth > kMaxDepth) throw Error(ErrorCode::TOO_DEEP_RECURSION, "JSON is nested too deep");
    in.skipSpace();
    if (in.peek() == '"') {
        std::string ignored;
        if (readJson(in, ignored) != ErrorCode::OK) failJson("a string does not end");
        return;
    }
    if (in.skip('{')) return skipElements(in, '}', depth);
    if (in.skip('[')) return skipElements(in, ']', depth);
    const char* from = in.position;
    while (!in.atEnd() && (isLetter(in.peek()) || isDigit(in.peek()) || in.peek() == '-' ||
                           in.peek() == '+' || in.peek() == '.'))
        ++in.position;
    if (in.position == from) failJson("a value is missing");
}

/// Objects or arrays one after another, with blanks or commas between them, or all of them inside one array.
class JsonInput : public RowInput {
public:
    using RowInput::RowInput;

protected:
    void readHead(TextInput& in) override {
        in.skip("\xEF\xBB\xBF");
        in.skipSpace();
    }

    /// Whether there is a row: what begins it is still to be read.
    bool findRow(TextInput& in, char opening) {
        in.skipSpace();
        if (in.skip(',')) in.skipSpace();
        if (in.atEnd() || in.peek() == ';') return false;
        if (in.peek() != opening) failJson(fmt::format("'{}' is wanted where a row begins", opening));
        return true;
    }

    void readValue(TextInput& in, size_t column) {
        in.skipSpace();
        if (in.peek() == 'n' && in.rest().starts_with("null") && !takesNull(column) &&
            settings().null_as_default) {
            in.skip("null");
            return;
        }
        const char* from = in.position;
        // Numbers, booleans, arrays and objects become the texts that they are.
        if (isText(column) && in.peek() != '"' && !in.rest().starts_with("null")) {
            skipJson(in);
            return set(column, Value(std::string(from, in.position)));
        }
        Value value;
        check(text(column).read(in, TextStyle::Json, value), column, from, in);
        set(column, std::move(value));
    }
};

class JsonEachRowInput final : public JsonInput {
public:
    using JsonInput::JsonInput;

private:
    void readHead(TextInput& in) override {
        JsonInput::readHead(in);
        in_array_ = in.skip('[');
    }

    bool readRow(TextInput& in) override {
        if (in_array_) {
            in.skipSpace();
            if (in.skip(']')) {
                in.skipSpace();
                in.skip(';');
                return false;
            }
        }
        if (!findRow(in, '{')) return false;
        in.skip('{');
        in.skipSpace();
        if (in.skip('}')) return true;
        do {
            in.skipSpace();
            readField(in);
            in.skipSpace();
        } while (in.skip(','));
        if (!in.skip('}')) failJson("an object does not end behind its last value");
        return true;
    }

    void readField(TextInput& in) {
        std::string name;
        if (readJson(in, name) != ErrorCode::OK) failJson("a name of an object is no string");
        in.skipSpace();
        if (!in.skip(':')) failJson(fmt::format("no ':' behind the name '{}'", name));
        if (const auto column = findColumn(name)) {
            if (isSet(*column))
                throw Error(ErrorCode::INCORRECT_DATA,
                            "Duplicate field found while parsing JSONEachRow format: {}", name);
            return readValue(in, *column);
        }
        if (!settings().skip_unknown_fields)
            throw Error(ErrorCode::INCORRECT_DATA, "Unknown field found while parsing JSONEachRow format: {}",
                        name);
        skipJson(in);
    }

    bool in_array_ = false;
};

class JsonCompactInput final : public JsonInput {
public:
    JsonCompactInput(const Block& header,
                     std::shared_ptr<ByteSource> source,
                     const InputSettings& settings,
                     Heading heading)
        : JsonInput(header, std::move(source), settings), heading_(heading), order_(ownOrder()) {}

private:
    void readHead(TextInput& in) override {
        JsonInput::readHead(in);
        if (heading_ == Heading::None) return;
        const std::vector<std::string> names = readWords(in);
        if (heading_ == Heading::NamesAndTypes) readWords(in);
        order_ = orderOf(names);
    }

    static std::vector<std::string> readWords(TextInput& in) {
        std::vector<std::string> words;
        in.skipSpace();
        if (!in.skip('[')) failJson("the header is no array");
        do {
            in.skipSpace();
            if (readJson(in, words.emplace_back()) != ErrorCode::OK)
                failJson("the header is no array of strings");
            in.skipSpace();
        } while (in.skip(','));
        if (!in.skip(']')) failJson("the header does not end");
        return words;
    }

    bool readRow(TextInput& in) override {
        if (!findRow(in, '[')) return false;
        in.skip('[');
        for (size_t i = 0; i < order_.size(); ++i) {
            in.skipSpace();
            if (i > 0 && !in.skip(','))
                throw Error(ErrorCode::INCORRECT_DATA, "a row has {} values, {} are expected", i,
                            order_.size());
            if (order_[i])
                readValue(in, *order_[i]);
            else
                skipJson(in);
        }
        in.skipSpace();
        if (!in.skip(']'))
            throw Error(ErrorCode::INCORRECT_DATA, "a row has more than {} values", order_.size());
        return true;
    }

    const Heading heading_;
    FieldOrder order_;
};

InputFormatPtr makeEachRow(const Block& header,
                           std::shared_ptr<ByteSource> source,
                           const InputSettings& settings) {
    return std::make_unique<JsonEachRowInput>(header, std::move(source), settings);
}

template <Heading heading>
InputFormatPtr makeCompact(const Block& header,
                           std::shared_ptr<ByteSource> source,
                           const InputSettings& settings) {
    return std::make_unique<JsonCompactInput>(header, std::move(source), settings, heading);
}

}  // namespace

std::span<const InputFormatInfo> jsonInputFormats() {
    static const InputFormatInfo formats[] = {
        {"JSONEachRow", makeEachRow},
        {"JSONLines", makeEachRow},
        {"NDJSON", makeEachRow},
        {"JSONStringsEachRow", makeEachRow},
        {"JSONCompactEachRow", makeCompact<Heading::None>},
        {"JSONCompactEachRowWithNames", makeCompact<Heading::Names>},
        {"JSONCompactEachRowWithNamesAndTypes", makeCompact<Heading::NamesAndTypes>},
    };
    return formats;
}

}  // namespace shardd::formats
