// JSON_VALUE, JSON_QUERY, JSON_EXISTS: what a path like $.a[0] finds in a JSON text.

#include <simdjson.h>

#include "common/columns/nullable_column.h"
#include "server/functions/definition.h"
#include "server/functions/json_support.h"

namespace shardd::functions {

namespace {

using Element = simdjson::dom::element;

/// One step of a path: a name, all members and elements, or ranges of indexes [from, to).
struct Step {
    enum class Kind { Name, All, Indexes } kind = Kind::Name;
    std::string name;
    std::vector<std::pair<uint64_t, uint64_t>> ranges;
};

/// A path being parsed; BAD_ARGUMENTS (36) when it is none.
class PathParser {
public:
    explicit PathParser(std::string_view text) : text_(text) {}

    std::vector<Step> parse() {
        skipBlanks();
        if (!take('$')) fail();
        std::vector<Step> steps;
        for (skipBlanks(); at_ < text_.size(); skipBlanks()) steps.push_back(step());
        return steps;
    }

private:
    [[noreturn]] void fail() const {
        throw Error(ErrorCode::BAD_ARGUMENTS, "Unable to parse JSONPath: {}", text_);
    }

    void skipBlanks() {
        while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    }

    bool take(char c) {
        if (at_ >= text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }

    Step step() {
        Step result;
        if (take('.')) {
            if (take('*')) {
                result.kind = Step::Kind::All;
                return result;
            }
            const size_t begin = at_;
            while (at_ < text_.size() && text_[at_] != '.' && text_[at_] != '[' && text_[at_] != ' ') ++at_;
            if (at_ == begin) fail();
            result.name = text_.substr(begin, at_ - begin);
            if (result.name.size() > 1 && (result.name.front() == '"' || result.name.front() == '`') &&
                result.name.back() == result.name.front())
                result.name = result.name.substr(1, result.name.size() - 2);
            return result;
        }
        if (!take('[')) fail();
        skipBlanks();
        if (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'')) {
            const char quote = text_[at_++];
            const size_t end = text_.find(quote, at_);
            if (end == std::string_view::npos) fail();
            result.name = text_.substr(at_, end - at_);
            at_ = end + 1;
        } else if (take('*')) {
            result.kind = Step::Kind::All;
        } else {
            result.kind = Step::Kind::Indexes;
            do {
                skipBlanks();
                const uint64_t from = number();
                uint64_t to = from + 1;
                skipBlanks();
                if (text_.substr(at_, 2) == "to") {
                    at_ += 2;
                    skipBlanks();
                    to = number();
                    skipBlanks();
                }
                result.ranges.emplace_back(from, to);
            } while (take(','));
        }
        skipBlanks();
        if (!take(']')) fail();
        return result;
    }

    uint64_t number() {
        uint64_t value = 0;
        const size_t begin = at_;
        while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9' && at_ - begin < 18)
            value = value * 10 + static_cast<uint64_t>(text_[at_++] - '0');
        if (at_ == begin) fail();
        return value;
    }

    std::string_view text_;
    size_t at_ = 0;
};

/// `take(element)` for all that the path finds, until it answers false; false then.
template <typename Take>
bool walk(const Element& element, std::span<const Step> steps, Take& take) {
    if (steps.empty()) return take(element);
    const Step& step = steps[0];
    const auto rest = steps.subspan(1);
    simdjson::dom::object object;
    simdjson::dom::array array;
    if (step.kind == Step::Kind::Name) {
        if (element.get_object().get(object) != simdjson::SUCCESS) return true;
        for (const auto field : object)
            if (field.key == step.name) return walk(field.value, rest, take);
        return true;
    }
    if (element.get_array().get(array) == simdjson::SUCCESS) {
        uint64_t i = 0;
        for (const Element child : array) {
            const uint64_t index = i++;
            const bool wanted = step.kind == Step::Kind::All ||
                                std::any_of(step.ranges.begin(), step.ranges.end(), [&](const auto& range) {
                                    return index >= range.first && index < range.second;
                                });
            if (wanted && !walk(child, rest, take)) return false;
        }
    } else if (step.kind == Step::Kind::All && element.get_object().get(object) == simdjson::SUCCESS) {
        for (const auto field : object)
            if (!walk(field.value, rest, take)) return false;
    }
    return true;
}

/// The texts and the constant path of a call.
template <typename Each>
void eachFound(const Call& call, Each&& each) {
    const TextArgument texts(call.column(0));
    const std::vector<Step> steps = PathParser(TextArgument(call.column(1))[0]).parse();
    simdjson::dom::parser parser;
    for (size_t row = 0; row < call.rows; ++row) {
        Element root;
        const bool valid =
            parser.parse(texts[row].data(), texts[row].size(), false).get(root) == simdjson::SUCCESS;
        each(row, valid ? &root : nullptr, steps);
    }
}

ColumnPtr runValue(const Call& call) {
    TextBuilder out(call.rows);
    Writer text;
    eachFound(call, [&](size_t, const Element* root, const std::vector<Step>& steps) {
        auto take = [&](const Element& element) {
            if (element.is_array() || element.is_object()) return true;
            if (element.is_null()) return false;
            text.clear();
            if (element.is_string())
                out.append(std::string_view(element));
            else
                writeJson(element, text);
            out.append(text.view());
            return false;
        };
        if (root) walk(*root, steps, take);
        out.endRow();
    });
    return out.finish();
}

ColumnPtr runQuery(const Call& call) {
    TextBuilder out(call.rows);
    Writer text;
    eachFound(call, [&](size_t, const Element* root, const std::vector<Step>& steps) {
        text.clear();
        auto take = [&](const Element& element) {
            text.writeBytes(text.empty() ? "[" : ", ");
            writeJson(element, text);
            return true;
        };
        if (root) walk(*root, steps, take);
        if (!text.empty()) text.writeByte(']');
        out.add(text.view());
    });
    return out.finish();
}

ColumnPtr runExists(const Call& call) {
    PodVector<uint8_t> found(call.rows, 0);
    eachFound(call, [&](size_t row, const Element* root, const std::vector<Step>& steps) {
        auto take = [&](const Element&) {
            found[row] = 1;
            return false;
        };
        if (root) walk(*root, steps, take);
    });
    return fixedColumn(std::move(found));
}

TypePtr typeOfArrayLength(const Signature& call) {
    needCount(call, 1);
    needString(call, 0);
    return types::nullable(types::uint64());
}

ColumnPtr runArrayLength(const Call& call) {
    const TextArgument texts(call.column(0));
    simdjson::dom::parser parser;
    Mask nulls(call.rows, 1);
    ColumnPtr lengths = eachRow<uint64_t>(call.rows, [&](size_t row) -> uint64_t {
        simdjson::dom::array array;
        if (parser.parse(texts[row].data(), texts[row].size(), false).get_array().get(array) !=
            simdjson::SUCCESS)
            return 0;
        nulls[row] = 0;
        return array.size();
    });
    return std::make_shared<NullableColumn>(std::move(lengths), std::move(nulls));
}

}  // namespace

std::span<const FunctionInfo> jsonPathFunctions() {
    static const FunctionInfo kList[] = {
        define<"JSON_VALUE", textsTo<TypeKind::String, 2>, runValue, kMayThrow, 2>(
            "JSON_VALUE(json, path)", "The scalar that a path finds.", "JSON_VALUE('{\"a\":1}', '$.a')", "1"),
        define<"JSON_QUERY", textsTo<TypeKind::String, 2>, runQuery, kMayThrow, 2>(
            "JSON_QUERY(json, path)", "All that a path finds, in brackets.", "JSON_QUERY('{\"a\":1}', '$.a')",
            "[1]"),
        define<"JSON_EXISTS", textsTo<TypeKind::UInt8, 2>, runExists, kMayThrow, 2>(
            "JSON_EXISTS(json, path)", "Whether a path finds anything.", "JSON_EXISTS('{\"a\":1}', '$.a')",
            "1"),
        define<"JSONArrayLength", typeOfArrayLength, runArrayLength>(
            "JSONArrayLength(json)", "Elements of the outermost array, NULL when it is none.",
            "JSONArrayLength('[1,2]')", "2"),
    };
    return kList;
}

}  // namespace shardd::functions
