// simpleJSON*: one member of an object without nesting, found by its name alone; nothing is parsed.

#include "server/formats/number_text.h"
#include "server/functions/definition.h"

namespace shardd::functions {

namespace {

template <TypeKind kResult>
TypePtr typeOfMember(const Signature& call) {
    needCount(call, 2);
    needString(call, 0);
    needString(call, 1);
    return types::simple(kResult);
}

/// What stands behind "name": in the text; nothing when the name is not there.
std::optional<std::string_view> findMember(std::string_view text, const std::string& pattern) {
    const size_t at = text.find(pattern);
    if (at == std::string_view::npos) return std::nullopt;
    return text.substr(at + pattern.size());
}

std::string patternOf(std::string_view name) { return "\"" + std::string(name) + "\":"; }

template <typename Result, typename Read>
ColumnPtr readMembers(const Call& call, Read&& read) {
    const TextArgument texts(call.column(0));
    const TextArgument names(call.column(1));
    std::string pattern;
    return eachRow<Result>(call.rows, [&](size_t row) -> Result {
        if (row == 0 || !names.constant()) pattern = patternOf(names[row]);
        const auto member = findMember(texts[row], pattern);
        return member ? read(*member) : Result{};
    });
}

ColumnPtr runHas(const Call& call) {
    return readMembers<uint8_t>(call, [](std::string_view) { return uint8_t{1}; });
}

template <typename T>
ColumnPtr runNumber(const Call& call) {
    return readMembers<T>(call, [](std::string_view text) {
        if (!text.empty() && text[0] == '"') text.remove_prefix(1);
        formats::TextInput in(text);
        T value{};
        ErrorCode result = ErrorCode::OK;
        if constexpr (std::is_floating_point_v<T>)
            result = formats::readFloat(in, value);
        else
            result = formats::readInteger(in, value, true);
        return result == ErrorCode::OK ? value : T{};
    });
}

ColumnPtr runBool(const Call& call) {
    return readMembers<uint8_t>(call,
                                [](std::string_view text) -> uint8_t { return text.substr(0, 4) == "true"; });
}

/// The member as it stands: up to a comma or bracket outside of its own brackets and strings.
std::string_view rawOf(std::string_view text) {
    size_t depth = 0;
    bool inside = false;
    for (size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (inside) {
            if (c == '\\')
                ++i;
            else if (c == '"')
                inside = false;
            continue;
        }
        if (c == '"') inside = true;
        if (c == '{' || c == '[') ++depth;
        if (c == '}' || c == ']') {
            if (depth == 0) return text.substr(0, i);
            --depth;
        }
        if (c == ',' && depth == 0) return text.substr(0, i);
    }
    return text;
}

void appendCodePoint(uint32_t point, std::string& out) {
    if (point < 0x80) {
        out.push_back(static_cast<char>(point));
    } else if (point < 0x800) {
        out.push_back(static_cast<char>(0xC0 | point >> 6));
        out.push_back(static_cast<char>(0x80 | (point & 0x3F)));
    } else if (point < 0x10000) {
        out.push_back(static_cast<char>(0xE0 | point >> 12));
        out.push_back(static_cast<char>(0x80 | (point >> 6 & 0x3F)));
        out.push_back(static_cast<char>(0x80 | (point & 0x3F)));
    } else {
        out.push_back(static_cast<char>(0xF0 | point >> 18));
        out.push_back(static_cast<char>(0x80 | (point >> 12 & 0x3F)));
        out.push_back(static_cast<char>(0x80 | (point >> 6 & 0x3F)));
        out.push_back(static_cast<char>(0x80 | (point & 0x3F)));
    }
}

std::optional<uint32_t> hex4(std::string_view text) {
    if (text.size() < 4) return std::nullopt;
    uint32_t value = 0;
    for (size_t i = 0; i < 4; ++i) {
        const char c = text[i];
        const int digit = c >= '0' && c <= '9'                     ? c - '0'
                          : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                                   : -1;
        if (digit < 0) return std::nullopt;
        value = value << 4 | static_cast<uint32_t>(digit);
    }
    return value;
}

/// A string in quotes with its escapes undone; false when it is none.
bool unescape(std::string_view text, std::string& out) {
    out.clear();
    if (text.empty() || text[0] != '"') return false;
    for (size_t i = 1; i < text.size(); ++i) {
        if (text[i] == '"') return true;
        if (text[i] != '\\') {
            out.push_back(text[i]);
            continue;
        }
        if (++i == text.size()) return false;
        switch (text[i]) {
            case 'n':
                out.push_back('\n');
                break;
            case 't':
                out.push_back('\t');
                break;
            case 'r':
                out.push_back('\r');
                break;
            case 'b':
                out.push_back('\b');
                break;
            case 'f':
                out.push_back('\f');
                break;
            case 'u': {
                auto point = hex4(text.substr(i + 1));
                if (!point) return false;
                i += 4;
                if (*point >= 0xD800 && *point < 0xDC00 && text.substr(i + 1, 2) == "\\u") {
                    const auto low = hex4(text.substr(i + 3));
                    if (!low || *low < 0xDC00 || *low > 0xDFFF) return false;
                    point = 0x10000 + ((*point - 0xD800) << 10) + (*low - 0xDC00);
                    i += 6;
                }
                appendCodePoint(*point, out);
                break;
            }
            default:
                out.push_back(text[i]);
        }
    }
    return false;
}

template <bool kRaw>
ColumnPtr runText(const Call& call) {
    const TextArgument texts(call.column(0));
    const TextArgument names(call.column(1));
    std::string pattern;
    std::string buffer;
    return eachText(call.rows, 0, [&](size_t row, TextBuilder& out) {
        if (row == 0 || !names.constant()) pattern = patternOf(names[row]);
        const auto member = findMember(texts[row], pattern);
        if (!member) return;
        if (kRaw)
            out.append(rawOf(*member));
        else if (unescape(*member, buffer))
            out.append(buffer);
    });
}

}  // namespace

std::span<const FunctionInfo> jsonSimpleFunctions() {
    static const FunctionInfo kList[] = {
        define<"simpleJSONHas", typeOfMember<TypeKind::UInt8>, runHas>(
            "simpleJSONHas(json, name)", "Whether there is a member of this name.",
            "simpleJSONHas('{\"a\":1}', 'a')", "1"),
        define<"simpleJSONExtractUInt", typeOfMember<TypeKind::UInt64>, runNumber<uint64_t>>(
            "simpleJSONExtractUInt(json, name)", "A member as UInt64."),
        define<"simpleJSONExtractInt", typeOfMember<TypeKind::Int64>, runNumber<int64_t>>(
            "simpleJSONExtractInt(json, name)", "A member as Int64."),
        define<"simpleJSONExtractFloat", typeOfMember<TypeKind::Float64>, runNumber<double>>(
            "simpleJSONExtractFloat(json, name)", "A member as Float64."),
        define<"simpleJSONExtractBool", typeOfMember<TypeKind::UInt8>, runBool>(
            "simpleJSONExtractBool(json, name)", "Whether a member is true."),
        define<"simpleJSONExtractRaw", typeOfMember<TypeKind::String>, runText<true>>(
            "simpleJSONExtractRaw(json, name)", "A member as it stands."),
        define<"simpleJSONExtractString", typeOfMember<TypeKind::String>, runText<false>>(
            "simpleJSONExtractString(json, name)", "A string member."),
    };
    return kList;
}

}  // namespace shardd::functions
