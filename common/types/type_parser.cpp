#include "common/types/type_parser.h"

#include <cctype>
#include <charconv>

#include "common/base/error.h"
#include "common/types/type_list.h"

namespace shardd {

namespace {

constexpr int kDeepest = 100;

constexpr std::string_view kIntervalUnits[] = {"Nanosecond", "Microsecond", "Millisecond", "Second", "Minute", "Hour", "Day", "Week", "Month", "Quarter", "Year"};

/// Reads a type by descent. Positions are counted in the text for errors.
class TypeReader {
public:
    explicit TypeReader(std::string_view text) : text_(text) {}

    TypePtr readWhole() {
        TypePtr type = readType();
        skipSpace();
        if (at_ != text_.size()) fail("the end of the type");
        return type;
    }

private:
    [[noreturn]] void fail(std::string_view expected) const {
        throw Error(ErrorCode::SYNTAX_ERROR,
                    "Cannot parse type '{}': failed at position {}: expected {}",
                    text_.substr(0, 1000),
                    at_ + 1,
                    expected);
    }

    void skipSpace() {
        while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
    }

    bool peek(char wanted) {
        skipSpace();
        return at_ < text_.size() && text_[at_] == wanted;
    }

    bool take(char wanted) {
        if (!peek(wanted)) return false;
        ++at_;
        return true;
    }

    void expect(char wanted) {
        if (!take(wanted)) fail(fmt::format("'{}'", wanted));
    }

    static bool isWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

    std::string_view readWord() {
        skipSpace();
        const size_t start = at_;
        while (at_ < text_.size() && isWord(text_[at_])) ++at_;
        if (start == at_) fail("a name");
        return text_.substr(start, at_ - start);
    }

    /// 'text', `text` or "text", with backslash escapes and doubled quotes.
    std::string readQuoted(char quote) {
        expect(quote);
        std::string result;
        while (true) {
            if (at_ >= text_.size()) fail("a closing quote");
            char c = text_[at_++];
            if (c == quote) {
                if (at_ < text_.size() && text_[at_] == quote) {
                    ++at_;
                } else {
                    return result;
                }
            } else if (c == '\\' && at_ < text_.size()) {
                c = unescape(text_[at_++]);
            }
            result += c;
        }
    }

    static char unescape(char c) {
        switch (c) {
            case 'b': return '\b';
            case 'f': return '\f';
            case 'n': return '\n';
            case 'r': return '\r';
            case 't': return '\t';
            case '0': return '\0';
            case 'a': return '\a';
            case 'v': return '\v';
            default: return c;
        }
    }

    std::string readName() {
        skipSpace();
        if (peek('`')) return readQuoted('`');
        if (peek('"')) return readQuoted('"');
        return std::string(readWord());
    }

    /// Aliases may be several words ("DOUBLE PRECISION"): the longest known one wins.
    const TypeFamily* readFamily(std::string& written) {
        written = readName();
        const TypeFamily* family = findTypeFamily(written);
        size_t end = at_;
        std::string longer = written;
        for (int words = 0; words < 3; ++words) {
            skipSpace();
            if (at_ >= text_.size() || !std::isalpha(static_cast<unsigned char>(text_[at_]))) break;
            longer += " " + std::string(readWord());
            if (const TypeFamily* found = findTypeFamily(longer)) {
                family = found;
                written = longer;
                end = at_;
            }
        }
        at_ = end;
        return family;
    }

    TypePtr readType() {
        if (++depth_ > kDeepest) throw Error(ErrorCode::TOO_DEEP_RECURSION, "Too deep nesting of types, at most {}", kDeepest);
        std::string written;
        const TypeFamily* family = readFamily(written);
        if (!family) throw Error(ErrorCode::UNKNOWN_TYPE, "Unknown data type family: {}", written);
        TypePtr type = readArguments(*family);
        --depth_;
        return type;
    }

    TypePtr readArguments(const TypeFamily& family) {
        const std::string_view name = family.name;
        if (family.kind != TypeKind::Lambda) {
            ignoreArguments();
            return types::simple(family.kind);
        }
        if (name.starts_with("Interval")) {
            for (size_t i = 0; i < std::size(kIntervalUnits); ++i)
                if (name.substr(8) == kIntervalUnits[i]) return types::interval(static_cast<IntervalUnit>(i));
        }
        if (name == "Nullable") return types::nullable(readOnlyType(name));
        if (name == "LowCardinality") return types::lowCardinality(readOnlyType(name));
        if (name == "Array") return types::array(readOnlyType(name));
        if (name == "Map") return readMap();
        if (name == "Tuple") return readTuple();
        if (name == "Nested") return readNested();
        if (name == "FixedString") return readFixedString();
        if (name == "DateTime" || name == "DateTime32") return readDateTime();
        if (name == "DateTime64") return readDateTime64();
        if (name == "Time64") return types::time64(peek('(') ? readOnlyNumber() : 3);
        if (name.starts_with("Decimal")) return readDecimal(name);
        if (name.starts_with("Enum")) return readEnum(name);
        if (name == "AggregateFunction") return readAggregate();
        if (name == "SimpleAggregateFunction") return readSimpleAggregate();
        if (TypePtr geometry = makeGeometry(name)) return geometry;
        throw Error(ErrorCode::NOT_IMPLEMENTED, "Type {} is not supported; ask for its text instead", name);
    }

    /// UInt8(3), VARCHAR(255): arguments that mean nothing.
    void ignoreArguments() {
        if (!take('(')) return;
        int depth = 1;
        while (depth > 0) {
            if (at_ >= text_.size()) fail("')'");
            const char c = text_[at_++];
            depth += (c == '(') - (c == ')');
        }
    }

    TypePtr readOnlyType(std::string_view family) {
        if (!take('(') || peek(')'))
            throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, "{} data type family must have exactly one argument", family);
        TypePtr type = readType();
        if (peek(','))
            throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, "{} data type family must have exactly one argument", family);
        expect(')');
        return type;
    }

    TypePtr readMap() {
        if (!take('('))
            throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, "Map data type family must have two arguments: key and value types");
        TypePtr key = readType();
        if (!take(','))
            throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, "Map data type family must have two arguments: key and value types");
        TypePtr value = readType();
        expect(')');
        return types::map(std::move(key), std::move(value));
    }

    /// Elements with or without names: a name is a word that another type follows.
    void readElements(std::vector<TypePtr>& elements, std::vector<std::string>& names) {
        expect('(');
        if (take(')')) return;
        do {
            const size_t start = at_;
            std::string name = readName();
            skipSpace();
            const bool named = at_ < text_.size() && (isWord(text_[at_]) || text_[at_] == '`' || text_[at_] == '"');
            if (named && !(findTypeFamily(name) && isMultiWordAlias(start))) {
                names.push_back(std::move(name));
            } else {
                at_ = start;
            }
            elements.push_back(readType());
        } while (take(','));
        expect(')');
        if (!names.empty() && names.size() != elements.size())
            throw Error(ErrorCode::BAD_ARGUMENTS, "Names are specified not for all elements of Tuple type");
        checkDistinct(names);
    }

    bool isMultiWordAlias(size_t start) {
        const size_t saved = at_;
        at_ = start;
        std::string written;
        readFamily(written);
        skipSpace();
        const bool alias = written.find(' ') != std::string::npos && (at_ >= text_.size() || text_[at_] == ',' || text_[at_] == ')' || text_[at_] == '(');
        at_ = saved;
        return alias;
    }

    static void checkDistinct(const std::vector<std::string>& names) {
        for (size_t i = 0; i < names.size(); ++i)
            for (size_t j = 0; j < i; ++j)
                if (names[i] == names[j]) throw Error(ErrorCode::DUPLICATE_COLUMN, "Tuple names must be unique: '{}' is repeated", names[i]);
    }

    TypePtr readTuple() {
        std::vector<TypePtr> elements;
        std::vector<std::string> names;
        if (peek('(')) readElements(elements, names);
        return types::tuple(std::move(elements), std::move(names));
    }

    TypePtr readNested() {
        std::vector<TypePtr> elements;
        std::vector<std::string> names;
        readElements(elements, names);
        if (names.empty()) throw Error(ErrorCode::EMPTY_DATA_PASSED, "Nested cannot be empty");
        const TypePtr tuple = types::tuple(std::move(elements), std::move(names));
        return types::named(types::array(tuple), "Nested" + tuple->name().substr(5));
    }

    uint64_t readNumber() {
        skipSpace();
        uint64_t number = 0;
        const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), number);
        if (error != std::errc()) fail("a number");
        at_ = static_cast<size_t>(end - text_.data());
        return number;
    }

    unsigned readOnlyNumber() {
        expect('(');
        const uint64_t number = readNumber();
        expect(')');
        return static_cast<unsigned>(std::min<uint64_t>(number, 1000000));
    }

    TypePtr readFixedString() {
        constexpr std::string_view kMend = "FixedString data type family must have exactly one argument - size in bytes";
        if (!take('(')) throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, "{}", kMend);
        skipSpace();
        if (at_ >= text_.size() || !std::isdigit(static_cast<unsigned char>(text_[at_])))
            throw Error(ErrorCode::UNEXPECTED_AST_STRUCTURE, "FixedString data type family must have a number (positive integer) as its argument");
        const uint64_t size = readNumber();
        if (size == 0)
            throw Error(ErrorCode::UNEXPECTED_AST_STRUCTURE, "FixedString data type family must have a number (positive integer) as its argument");
        if (!take(')')) throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, "{}", kMend);
        return types::fixedString(size);
    }

    TypePtr readDateTime() {
        if (!take('(')) return types::dateTime();
        if (take(')')) return types::dateTime();
        if (!peek('\'')) {  // DateTime(3) is DateTime64(3)
            const auto scale = static_cast<unsigned>(readNumber());
            std::string zone = take(',') ? readTimeZone() : "";
            expect(')');
            return types::dateTime64(scale, std::move(zone));
        }
        std::string zone = readTimeZone();
        expect(')');
        return types::dateTime(std::move(zone));
    }

    TypePtr readDateTime64() {
        if (!take('(')) return types::dateTime64(3);
        if (take(')')) return types::dateTime64(3);
        if (peek('\''))
            throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, "Parameter #0 'scale' for DateTime64 has wrong type: expected a number");
        const auto scale = static_cast<unsigned>(readNumber());
        std::string zone = take(',') ? readTimeZone() : "";
        expect(')');
        return types::dateTime64(scale, std::move(zone));
    }

    std::string readTimeZone() {
        if (!peek('\'')) fail("a time zone in quotes");
        return readQuoted('\'');
    }

    TypePtr readDecimal(std::string_view family) {
        constexpr std::pair<std::string_view, unsigned> kFixed[] = {{"Decimal32", 9}, {"Decimal64", 18}, {"Decimal128", 38}, {"Decimal256", 76}};
        for (const auto& [name, precision] : kFixed) {
            if (family != name) continue;
            if (!peek('('))
                throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, "Decimal data type family must have exactly one number as its argument");
            return types::decimal(precision, readOnlyNumber());
        }
        if (!take('(')) return types::decimal(10, 0);
        const auto precision = static_cast<unsigned>(std::min<uint64_t>(readNumber(), 1000000));
        const unsigned scale = take(',') ? static_cast<unsigned>(std::min<uint64_t>(readNumber(), 1000000)) : 0;
        expect(')');
        return types::decimal(precision, scale);
    }

    TypePtr readEnum(std::string_view family) {
        if (!take('(') || peek(')')) throw Error(ErrorCode::EMPTY_DATA_PASSED, "Enum data type cannot be empty");
        std::vector<std::pair<std::string, int16_t>> values;
        int64_t next = 1;
        bool wide = false;
        do {
            if (!peek('\''))
                throw Error(ErrorCode::UNEXPECTED_AST_STRUCTURE,
                            "Elements of Enum data type must be of form: 'name' = number or 'name', where name is string literal and number is an integer");
            std::string name = readQuoted('\'');
            if (take('=')) {
                const bool minus = take('-');
                const uint64_t number = readNumber();
                next = minus ? -static_cast<int64_t>(std::min<uint64_t>(number, 1 << 20)) : static_cast<int64_t>(std::min<uint64_t>(number, 1 << 20));
            }
            const int64_t lowest = family == "Enum8" ? -128 : -32768;
            const int64_t highest = family == "Enum8" ? 127 : 32767;
            if (next < lowest || next > highest)
                throw Error(ErrorCode::ARGUMENT_OUT_OF_BOUND, "Value {} for element '{}' exceeds range of {}", next, name, family == "Enum" ? "Enum16" : family);
            wide = wide || next < -128 || next > 127;
            values.emplace_back(std::move(name), static_cast<int16_t>(next++));
        } while (take(','));
        expect(')');
        const bool enum16 = family == "Enum16" || (family == "Enum" && wide);
        return types::enumeration(enum16 ? TypeKind::Enum16 : TypeKind::Enum8, std::move(values));
    }

    /// A literal parameter: a number, a string, or an array of them.
    Value readParameter() {
        skipSpace();
        if (peek('\'')) return Value(readQuoted('\''));
        if (take('[')) {
            ArrayValue array;
            if (take(']')) return Value(std::move(array));
            do array.elements.push_back(readParameter());
            while (take(','));
            expect(']');
            return Value(std::move(array));
        }
        const size_t start = at_;
        while (at_ < text_.size() && (isWord(text_[at_]) || text_[at_] == '.' || text_[at_] == '-' || text_[at_] == '+')) ++at_;
        return parseNumber(text_.substr(start, at_ - start));
    }

    Value parseNumber(std::string_view word) const {
        if (word == "true" || word == "false") return Value(word == "true");
        const char* end = word.data() + word.size();
        uint64_t whole = 0;
        if (const auto [stop, error] = std::from_chars(word.data(), end, whole); error == std::errc() && stop == end) return Value(whole);
        int64_t negative = 0;
        if (const auto [stop, error] = std::from_chars(word.data(), end, negative); error == std::errc() && stop == end) return Value(negative);
        double real = 0;
        if (const auto [stop, error] = std::from_chars(word.data(), end, real); error == std::errc() && stop == end && !word.empty()) return Value(real);
        fail("a literal");
    }

    TypePtr readAggregate() {
        if (!take('('))
            throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, "Data type AggregateFunction requires parameters: version(optionally), name of aggregate function and list of data types for arguments");
        size_t version = 0;
        skipSpace();
        if (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) {
            version = readNumber();
            expect(',');
        }
        const std::string name = readName();
        std::vector<Value> parameters;
        if (take('(') && !take(')')) {
            do parameters.push_back(readParameter());
            while (take(','));
            expect(')');
        }
        std::vector<TypePtr> arguments;
        while (take(',')) arguments.push_back(readType());
        expect(')');
        return types::aggregateFunction(resolveAggregate(name, parameters, arguments, version));
    }

    TypePtr readSimpleAggregate() {
        expect('(');
        const std::string name = readName();
        if (peek('(')) ignoreArguments();
        std::vector<TypePtr> arguments;
        while (take(',')) arguments.push_back(readType());
        expect(')');
        return types::simpleAggregateFunction(name, arguments);
    }

    static TypePtr makeGeometry(std::string_view name) {
        if (name == "Point") return types::named(types::tuple({types::float64(), types::float64()}), "Point");
        if (name == "Ring" || name == "LineString") return types::named(types::array(makeGeometry("Point")), std::string(name));
        if (name == "Polygon") return types::named(types::array(makeGeometry("Ring")), "Polygon");
        if (name == "MultiLineString") return types::named(types::array(makeGeometry("LineString")), "MultiLineString");
        if (name == "MultiPolygon") return types::named(types::array(makeGeometry("Polygon")), "MultiPolygon");
        return nullptr;
    }

    std::string_view text_;
    size_t at_ = 0;
    int depth_ = 0;
};

}  // namespace

TypePtr parseType(std::string_view text) { return TypeReader(text).readWhole(); }

}  // namespace shardd
