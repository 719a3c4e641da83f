#include "server/cluster/legacy_name.h"

#include <cctype>

namespace shardd::cluster {

namespace {

bool isWordChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// The length of "__table12." at the start of `text`; 0 when it is not there.
size_t tablePrefix(std::string_view text) {
    constexpr std::string_view kPrefix = "__table";
    if (!text.starts_with(kPrefix)) return 0;
    size_t end = kPrefix.size();
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
    return end > kPrefix.size() && end < text.size() && text[end] == '.' ? end + 1 : 0;
}

/// The length of "_UInt8" or "_Nullable(String)" behind a literal at the start of `text`.
size_t typeSuffix(std::string_view text) {
    if (text.size() < 2 || text[0] != '_' || std::isupper(static_cast<unsigned char>(text[1])) == 0) return 0;
    size_t end = 1;
    while (end < text.size() && isWordChar(text[end])) ++end;
    if (end == text.size() || text[end] != '(') return end;
    size_t depth = 0;
    for (; end < text.size(); ++end) {
        if (text[end] == '(') ++depth;
        if (text[end] == ')' && --depth == 0) return end + 1;
    }
    return 0;
}

/// The end of the quoted text that begins at `start`.
size_t quotedEnd(std::string_view text, size_t start) {
    for (size_t i = start + 1; i < text.size(); ++i) {
        if (text[i] == '\\') {
            ++i;
        } else if (text[i] == text[start]) {
            return i + 1;
        }
    }
    return text.size();
}

}  // namespace

std::string legacyName(std::string_view name) {
    std::string result;
    size_t i = 0;
    while (i < name.size()) {
        const bool word_begins = i == 0 || !isWordChar(name[i - 1]);
        if (name[i] == '\'' || name[i] == '`') {
            const size_t end = quotedEnd(name, i);
            result += name.substr(i, end - i);
            i = end + (name[i] == '\'' ? typeSuffix(name.substr(end)) : 0);
        } else if (const size_t prefix = word_begins ? tablePrefix(name.substr(i)) : 0; prefix > 0) {
            i += prefix;
        } else if (word_begins && std::isdigit(static_cast<unsigned char>(name[i])) != 0) {
            while (i < name.size() &&
                   (std::isdigit(static_cast<unsigned char>(name[i])) != 0 || name[i] == '.'))
                result += name[i++];
            i += typeSuffix(name.substr(i));
        } else {
            result += name[i++];
        }
    }
    return result;
}

}  // namespace shardd::cluster
