#include "server/storage/serialization_info.h"

#include <charconv>
#include <memory>

#include "common/base/error.h"

namespace shardd::storage {

namespace {

/// As much of JSON as the file uses: objects, arrays, strings, numbers and words.
struct Json {
    std::string text;  // a string, a number, or a word
    std::vector<Json> items;
    std::map<std::string, Json, std::less<>> members;

    const Json* find(std::string_view name) const {
        const auto found = members.find(name);
        return found == members.end() ? nullptr : &found->second;
    }
};

class JsonParser {
public:
    explicit JsonParser(std::string_view text) : text_(text) {}

    Json parse() {
        Json value = parseValue(0);
        skipSpace();
        if (position_ != text_.size()) fail();
        return value;
    }

private:
    static constexpr unsigned kMaxDepth = 100;

    [[noreturn]] void fail() const {
        throw Error(ErrorCode::INCORRECT_DATA, "serialization.json is not as expected at byte {}", position_);
    }

    void skipSpace() {
        while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\n' ||
                                            text_[position_] == '\t' || text_[position_] == '\r'))
            ++position_;
    }

    bool take(char c) {
        skipSpace();
        if (position_ == text_.size() || text_[position_] != c) return false;
        ++position_;
        return true;
    }

    void expect(char c) {
        if (!take(c)) fail();
    }

    std::string parseString() {
        expect('"');
        std::string out;
        while (position_ < text_.size() && text_[position_] != '"') {
            char c = text_[position_++];
            if (c != '\\') {
                out += c;
                continue;
            }
            if (position_ == text_.size()) fail();
            c = text_[position_++];
            switch (c) {
                case 'n':
                    out += '\n';
                    break;
                case 't':
                    out += '\t';
                    break;
                case 'r':
                    out += '\r';
                    break;
                case 'b':
                    out += '\b';
                    break;
                case 'f':
                    out += '\f';
                    break;
                case 'u':
                    appendCodePoint(out);
                    break;
                default:
                    out += c;
            }
        }
        expect('"');
        return out;
    }

    void appendCodePoint(std::string& out) {
        unsigned code = 0;
        if (position_ + 4 > text_.size()) fail();
        const auto [end, failure] =
            std::from_chars(text_.data() + position_, text_.data() + position_ + 4, code, 16);
        if (failure != std::errc() || end != text_.data() + position_ + 4) fail();
        position_ += 4;
        if (code < 0x80) {
            out += static_cast<char>(code);
        } else if (code < 0x800) {
            out += static_cast<char>(0xC0 | (code >> 6));
            out += static_cast<char>(0x80 | (code & 0x3F));
        } else {
            out += static_cast<char>(0xE0 | (code >> 12));
            out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
            out += static_cast<char>(0x80 | (code & 0x3F));
        }
    }

    Json parseValue(unsigned depth) {
        if (depth > kMaxDepth) fail();
        skipSpace();
        if (position_ == text_.size()) fail();
        Json value;
        if (take('{')) {
            if (take('}')) return value;
            do {
                skipSpace();
                std::string name = parseString();
                expect(':');
                value.members.insert_or_assign(std::move(name), parseValue(depth + 1));
            } while (take(','));
            expect('}');
        } else if (take('[')) {
            if (take(']')) return value;
            do value.items.push_back(parseValue(depth + 1));
            while (take(','));
            expect(']');
        } else if (text_[position_] == '"') {
            value.text = parseString();
        } else {
            const size_t end = std::min(text_.find_first_of(",}] \n\t\r", position_), text_.size());
            if (end == position_) fail();
            value.text = std::string(text_.substr(position_, end - position_));
            position_ = end;
        }
        return value;
    }

    std::string_view text_;
    size_t position_ = 0;
};

SerializationKind kindOf(const Json& json) {
    SerializationKind kind;
    if (const Json* text = json.find("kind")) {
        if (text->text != "Default" && text->text != "Sparse")
            throw Error(ErrorCode::INCORRECT_DATA, "serialization.json has the unknown kind {}", text->text);
        kind.sparse = text->text == "Sparse";
    }
    if (const Json* elements = json.find("subcolumns"))
        for (const Json& element : elements->items) kind.elements.push_back(kindOf(element));
    return kind;
}

}  // namespace

SerializationInfo SerializationInfo::parse(std::string_view text) {
    const Json json = JsonParser(text).parse();
    SerializationInfo info;
    if (const Json* version = json.find("version"); version && version->text != "0" && version->text != "1")
        throw Error(ErrorCode::INCORRECT_DATA, "serialization.json has version {}, only 0 and 1 are known",
                    version->text);
    if (const Json* versions = json.find("types_serialization_versions")) {
        const Json* strings = versions->find("string");
        info.string_sizes = strings && strings->text == "1";
        const Json* nullable = versions->find("nullable");
        info.sparse_nullable = nullable && nullable->text == "1";
    }
    if (const Json* columns = json.find("columns"))
        for (const Json& column : columns->items)
            if (const Json* name = column.find("name")) info.columns[name->text] = kindOf(column);
    return info;
}

std::string SerializationInfo::textForStringSizes() {
    return R"({"columns":[],"propagate_types_serialization_versions_to_nested_types":true,)"
           R"("types_serialization_versions":{"string":1},"version":1})";
}

}  // namespace shardd::storage
