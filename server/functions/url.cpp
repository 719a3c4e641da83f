// Parts of URLs, cut out and cut off.

#include <cctype>

#include "common/columns/create_column.h"
#include "server/functions/definition.h"

namespace shardd::functions {

namespace {

bool isAlpha(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

bool isAlnum(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

std::string_view between(std::string_view text, size_t from, size_t to) {
    return text.substr(from, to - from);
}

size_t findAny(std::string_view text, std::string_view stops, size_t from = 0) {
    const size_t found = text.find_first_of(stops, from);
    return found == std::string_view::npos ? text.size() : found;
}

// -- parts ----------------------------------------------------------------------------------------

std::string_view protocolOf(std::string_view url) {
    if (url.empty() || !isAlpha(url[0])) return {};
    for (size_t i = 0; i < url.size(); ++i) {
        if (url[i] == ':') return url.substr(0, i);
        if (!isAlnum(url[i]) && url[i] != '+' && url[i] != '-' && url[i] != '.') return {};
    }
    return {};
}

/// What follows "scheme://" or "//"; the whole text without them.
std::string_view afterScheme(std::string_view url) {
    const size_t scheme = protocolOf(url).size();
    if (scheme > 0 && url.substr(scheme, 3) == "://") return url.substr(scheme + 3);
    if (url.substr(0, 2) == "//") return url.substr(2);
    return url;
}

/// A host has a dot which is not its first or last letter, and none of the letters that cannot stand in one.
std::string_view checkHost(std::string_view host) {
    const size_t dot = host.rfind('.');
    if (dot == std::string_view::npos || dot == 0 || dot + 1 == host.size()) return {};
    return host;
}

constexpr std::string_view kNotInHosts = " \t<>%{}|\\^~[];=&";

std::string_view domainOf(std::string_view url) {
    const std::string_view rest = afterScheme(url);
    const size_t end = findAny(rest, "/?#:");
    const std::string_view host = rest.substr(0, end);
    if (findAny(host, kNotInHosts) != host.size() || host.find('@') != std::string_view::npos) return {};
    return checkHost(host);
}

/// As RFC 3986 has it: user names and addresses in brackets too.
std::string_view domainRfcOf(std::string_view url) {
    std::string_view rest = afterScheme(url);
    if (rest.data() == url.data()) {
        const std::string_view scheme = protocolOf(url);
        if (!scheme.empty() && scheme.find('.') == std::string_view::npos)
            rest = url.substr(scheme.size() + 1);
    }
    std::string_view authority = rest.substr(0, findAny(rest, "/?#"));
    const size_t at = authority.find('@');
    if (at != std::string_view::npos) authority.remove_prefix(at + 1);
    if (authority.find('@') != std::string_view::npos) return {};
    if (!authority.empty() && authority[0] == '[') {
        const size_t close = authority.find(']');
        return close == std::string_view::npos ? std::string_view() : between(authority, 1, close);
    }
    const std::string_view host = authority.substr(0, authority.find(':'));
    if (findAny(host, " \t<>{}|\\^[]") != host.size()) return {};
    return checkHost(host);
}

std::string_view withoutWww(std::string_view host) {
    return host.substr(0, 4) == "www." ? host.substr(4) : host;
}

std::string_view domainWithoutWwwOf(std::string_view url) { return withoutWww(domainOf(url)); }

std::string_view domainWithoutWwwRfcOf(std::string_view url) { return withoutWww(domainRfcOf(url)); }

std::string_view lastLabel(std::string_view host) {
    const size_t dot = host.rfind('.');
    if (dot == std::string_view::npos || dot + 1 >= host.size()) return {};
    const std::string_view label = host.substr(dot + 1);
    return std::isdigit(static_cast<unsigned char>(label[0])) ? std::string_view() : label;
}

std::string_view topLevelOf(std::string_view url) { return lastLabel(domainOf(url)); }

std::string_view topLevelRfcOf(std::string_view url) { return lastLabel(domainRfcOf(url)); }

/// Where the first significant subdomain of a host begins and ends: the label before the last one, or before
/// the last two when the one before the last is a common second level.
std::pair<size_t, size_t> significantLabel(std::string_view host) {
    const size_t last = host.rfind('.');
    if (last == std::string_view::npos) return {0, host.size()};
    const size_t second = last == 0 ? std::string_view::npos : host.rfind('.', last - 1);
    if (second == std::string_view::npos) return {0, last};
    const std::string_view label = between(host, second + 1, last);
    if (label == "com" || label == "net" || label == "org" || label == "co" || label == "biz" ||
        label == "gov") {
        const size_t third = second == 0 ? std::string_view::npos : host.rfind('.', second - 1);
        return {third == std::string_view::npos ? 0 : third + 1, second};
    }
    return {second + 1, last};
}

template <auto kHost>
std::string_view significantOf(std::string_view url) {
    const std::string_view host = withoutWww(kHost(url));
    const auto [from, to] = significantLabel(host);
    return between(host, from, to);
}

template <auto kHost>
std::string_view cutToSignificantOf(std::string_view url) {
    const std::string_view host = withoutWww(kHost(url));
    if (host.find('.') == std::string_view::npos) return {};
    return host.substr(significantLabel(host).first);
}

/// The part from the path on: '/' behind the host.
std::string_view pathFullOf(std::string_view url) {
    size_t slash = url.find('/');
    if (slash == std::string_view::npos) return {};
    if (url.substr(slash, 2) == "//" && (slash == 0 || url[slash - 1] == ':'))
        slash = url.find('/', slash + 2);
    return slash == std::string_view::npos ? std::string_view() : url.substr(slash);
}

std::string_view pathOf(std::string_view url) {
    const std::string_view path = pathFullOf(url);
    return path.substr(0, findAny(path, "?#"));
}

std::string_view queryAndFragmentOf(std::string_view url) {
    const size_t start = findAny(url, "?#");
    if (start == url.size()) return {};
    return url[start] == '?' ? url.substr(start + 1) : url.substr(start);
}

std::string_view queryOf(std::string_view url) {
    const size_t start = findAny(url, "?#");
    if (start == url.size() || url[start] == '#') return {};
    return between(url, start + 1, findAny(url, "#", start));
}

std::string_view fragmentOf(std::string_view url) {
    const size_t start = url.find('#');
    return start == std::string_view::npos ? std::string_view() : url.substr(start + 1);
}

std::string_view netlocOf(std::string_view url) {
    const std::string_view rest = afterScheme(url);
    return rest.substr(0, findAny(rest, "/?#"));
}

template <auto kPart>
ColumnPtr runPart(const Call& call) {
    const TextArgument urls(call.column(0));
    return eachText(call.rows, urls.totalBytes() / 2,
                    [&](size_t row, TextBuilder& out) { out.append(kPart(urls[row])); });
}

template <bool kRfc>
TypePtr typeOfPort(const Signature& call) {
    needCount(call, 1, 2);
    needString(call, 0);
    if (call.count() == 2 && call.type(1)->kind() != TypeKind::UInt16) illegalArgument(call, 1, "UInt16");
    return types::simple(TypeKind::UInt16);
}

template <bool kRfc>
ColumnPtr runPort(const Call& call) {
    const TextArgument urls(call.column(0));
    std::optional<IntegerArgument> defaults;
    if (call.count() == 2) defaults.emplace(call.column(1));
    return eachRow<uint16_t>(call.rows, [&](size_t row) -> uint16_t {
        const auto usual = static_cast<uint16_t>(defaults ? (*defaults)[row] : 0);
        const std::string_view url = urls[row];
        const std::string_view host = kRfc ? domainRfcOf(url) : domainOf(url);
        if (host.empty()) return usual;
        auto at = static_cast<size_t>(host.data() - url.data()) + host.size();
        if (kRfc && at < url.size() && url[at] == ']') ++at;
        if (at >= url.size() || url[at] != ':') return usual;
        uint32_t port = 0;
        size_t digits = 0;
        for (++at; at < url.size() && std::isdigit(static_cast<unsigned char>(url[at])); ++at, ++digits) {
            port = port * 10 + static_cast<uint32_t>(url[at] - '0');
            if (port > 65535) return usual;
        }
        return digits == 0 ? usual : static_cast<uint16_t>(port);
    });
}

// -- without parts --------------------------------------------------------------------------------

template <auto kCut>
ColumnPtr runCut(const Call& call) {
    const TextArgument urls(call.column(0));
    return eachText(call.rows, urls.totalBytes(),
                    [&](size_t row, TextBuilder& out) { kCut(urls[row], out); });
}

void cutWww(std::string_view url, TextBuilder& out) {
    const std::string_view rest = afterScheme(url);
    const auto start = static_cast<size_t>(rest.data() - url.data());
    if (start == 0 || rest.substr(0, 4) != "www.") return out.append(url);
    out.append(url.substr(0, start));
    out.append(rest.substr(4));
}

void cutQuery(std::string_view url, TextBuilder& out) {
    const size_t start = findAny(url, "?#");
    out.append(url.substr(0, start));
    out.append(url.substr(findAny(url, "#", start)));
}

void cutFragment(std::string_view url, TextBuilder& out) { out.append(url.substr(0, findAny(url, "#"))); }

void cutQueryAndFragment(std::string_view url, TextBuilder& out) {
    out.append(url.substr(0, findAny(url, "?#")));
}

// -- parameters -----------------------------------------------------------------------------------

/// Where "name=" stands as a parameter of the URL; npos when it does not.
size_t findParameter(std::string_view url, std::string_view name) {
    const std::string wanted = std::string(name) + "=";
    size_t at = findAny(url, "?#");
    while ((at = url.find(wanted, at)) != std::string_view::npos) {
        const char before = at == 0 ? '\0' : url[at - 1];
        if (before == '?' || before == '&' || before == '#') return at;
        ++at;
    }
    return std::string_view::npos;
}

ColumnPtr runParameter(const Call& call) {
    const TextArgument urls(call.column(0));
    const TextArgument names(call.column(1));
    return eachText(call.rows, 0, [&](size_t row, TextBuilder& out) {
        const size_t at = findParameter(urls[row], names[row]);
        if (at == std::string_view::npos) return;
        const size_t from = at + names[row].size() + 1;
        out.append(between(urls[row], from, findAny(urls[row], "&;#?", from)));
    });
}

void cutParameter(std::string& url, std::string_view name) {
    const size_t at = findParameter(url, name);
    if (at == std::string::npos) return;
    size_t end = findAny(url, "&#", at);
    size_t from = at;
    if (end < url.size() && url[end] == '&')
        ++end;
    else if (url[from - 1] == '&')
        --from;
    url.erase(from, end - from);
}

TypePtr typeOfCutParameter(const Signature& call) {
    needCount(call, 2);
    needString(call, 0);
    const Type& names = *call.type(1);
    if (names.kind() != TypeKind::String &&
        !(names.kind() == TypeKind::Array && names.child()->kind() == TypeKind::String))
        illegalArgument(call, 1, "String or Array(String)");
    return types::string();
}

ColumnPtr runCutParameter(const Call& call) {
    const TextArgument urls(call.column(0));
    std::string url;
    if (call.argumentType(1)->kind() == TypeKind::String) {
        const TextArgument names(call.column(1));
        return eachText(call.rows, urls.totalBytes(), [&](size_t row, TextBuilder& out) {
            url = urls[row];
            cutParameter(url, names[row]);
            out.append(url);
        });
    }
    const ColumnPtr column = full(call.column(1));
    const auto& arrays = as<ArrayColumn>(*column);
    const TextArgument names(arrays.elements());
    return eachText(call.rows, urls.totalBytes(), [&](size_t row, TextBuilder& out) {
        url = urls[row];
        for (size_t i = arrays.startAt(row); i < arrays.ends()[row]; ++i) cutParameter(url, names[i]);
        out.append(url);
    });
}

TypePtr typeOfTexts(const Signature& call) {
    needCount(call, 1);
    needString(call, 0);
    return types::array(types::string());
}

/// All parameters: "name=value", or only the names.
template <bool kNames>
ColumnPtr runParameters(const Call& call) {
    const TextArgument urls(call.column(0));
    TextArrayBuilder out(call.rows);
    for (size_t row = 0; row < call.rows; ++row) {
        const std::string_view url = urls[row];
        for (size_t at = findAny(url, "?#"); at < url.size();) {
            const size_t begin = at + 1;
            const size_t stop = findAny(url, "=&?#", begin);
            if (stop == url.size()) break;
            at = stop;
            if (url[stop] != '=') continue;
            const size_t end = findAny(url, "&?#", stop + 1);
            out.add(between(url, begin, kNames ? stop : end));
            at = end;
        }
        out.endRow();
    }
    return out.finish();
}

// -- hierarchies ----------------------------------------------------------------------------------

/// The URL (or its path) up to every '/', '?' and '#'.
template <bool kPath>
ColumnPtr runHierarchy(const Call& call) {
    const TextArgument urls(call.column(0));
    TextArrayBuilder out(call.rows);
    for (size_t row = 0; row < call.rows; ++row) {
        const std::string_view url = urls[row];
        size_t at = 0;
        while (at < url.size() && url[at] >= 'a' && url[at] <= 'z') ++at;
        size_t origin = 0;
        if (at > 0 && url.substr(at, 3) == "://") {
            at = findAny(url, "/?#", at + 3);
            origin = at;
            if (at < url.size()) ++at;
            if (!kPath) out.add(url.substr(0, at));
        } else {
            at = kPath ? url.size() : 0;
            if (!kPath && !url.empty()) out.add(url);
            at = url.size();
        }
        while (at < url.size()) {
            while (at < url.size() && std::string_view("/?#").find(url[at]) != std::string_view::npos) ++at;
            at = findAny(url, "/?#", at);
            if (at < url.size()) ++at;
            out.add(kPath ? between(url, origin, at) : url.substr(0, at));
        }
        out.endRow();
    }
    return out.finish();
}

// -- percent signs --------------------------------------------------------------------------------

int hexValue(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

template <bool kForm>
void decode(std::string_view text, TextBuilder& out) {
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '%' && i + 2 < text.size() && hexValue(text[i + 1]) >= 0 &&
            hexValue(text[i + 2]) >= 0) {
            out.append(static_cast<char>(hexValue(text[i + 1]) * 16 + hexValue(text[i + 2])));
            i += 2;
        } else {
            out.append(kForm && text[i] == '+' ? ' ' : text[i]);
        }
    }
}

template <bool kForm>
void encode(std::string_view text, TextBuilder& out) {
    constexpr char kDigits[] = "0123456789ABCDEF";
    for (const char c : text) {
        if (isAlnum(c) || c == '-' || c == '_' || c == '.' || c == '~') {
            out.append(c);
        } else if (kForm && c == ' ') {
            out.append('+');
        } else {
            out.append('%');
            out.append(kDigits[static_cast<uint8_t>(c) >> 4]);
            out.append(kDigits[static_cast<uint8_t>(c) & 15]);
        }
    }
}

TypePtr typeOfUrl(const Signature& call) {
    needCount(call, 1);
    needString(call, 0);
    return types::string();
}

TypePtr typeOfParameter(const Signature& call) {
    needCount(call, 2);
    needString(call, 0);
    needString(call, 1);
    return types::string();
}

#define URL_PART(name, part, words) define<name, typeOfUrl, runPart<part>>(name "(url)", words)
#define URL_CUT(name, cut, words) define<name, typeOfUrl, runCut<cut>>(name "(url)", words)

}  // namespace

std::span<const FunctionInfo> urlFunctions() {
    static const FunctionInfo kList[] = {
        URL_PART("protocol", protocolOf, "The scheme."),
        URL_PART("domain", domainOf, "The host."),
        URL_PART("domainRFC", domainRfcOf, "The host as RFC 3986 has it."),
        URL_PART("domainWithoutWWW", domainWithoutWwwOf, "The host without www."),
        URL_PART("domainWithoutWWWRFC", domainWithoutWwwRfcOf, "The same as RFC 3986 has it."),
        URL_PART("topLevelDomain", topLevelOf, "The last label of the host."),
        URL_PART("topLevelDomainRFC", topLevelRfcOf, "The same as RFC 3986 has it."),
        URL_PART("firstSignificantSubdomain", significantOf<domainOf>, "The label that names the site."),
        URL_PART("firstSignificantSubdomainRFC", significantOf<domainRfcOf>, "The same as RFC 3986 has it."),
        URL_PART("cutToFirstSignificantSubdomain", cutToSignificantOf<domainOf>,
                 "The host from the label on that names the site."),
        URL_PART("cutToFirstSignificantSubdomainRFC", cutToSignificantOf<domainRfcOf>,
                 "The same as RFC 3986 has it."),
        URL_PART("cutToFirstSignificantSubdomainWithWWW", cutToSignificantOf<domainOf>,
                 "The same, www kept."),
        URL_PART("cutToFirstSignificantSubdomainWithWWWRFC", cutToSignificantOf<domainRfcOf>,
                 "The same as RFC 3986 has it."),
        URL_PART("path", pathOf, "The path."),
        URL_PART("pathFull", pathFullOf, "The path with query and fragment."),
        URL_PART("queryString", queryOf, "The query."),
        URL_PART("queryStringAndFragment", queryAndFragmentOf, "The query and the fragment."),
        URL_PART("fragment", fragmentOf, "The fragment."),
        URL_PART("netloc", netlocOf, "User, host and port."),
        URL_CUT("cutWWW", cutWww, "The URL without www."),
        URL_CUT("cutQueryString", cutQuery, "The URL without the query."),
        URL_CUT("cutFragment", cutFragment, "The URL without the fragment."),
        URL_CUT("cutQueryStringAndFragment", cutQueryAndFragment, "The URL without both."),
        URL_CUT("decodeURLComponent", decode<false>, "Percent signs decoded."),
        URL_CUT("decodeURLFormComponent", decode<true>, "Percent signs and plus signs decoded."),
        URL_CUT("encodeURLComponent", encode<false>, "Other letters than those of URLs as percent signs."),
        URL_CUT("encodeURLFormComponent", encode<true>, "The same, blanks as plus signs."),
        define<"port", typeOfPort<false>, runPort<false>>("port(url[, default])", "The port.",
                                                          "port('http://a.b:81/')", "81"),
        define<"portRFC", typeOfPort<true>, runPort<true>>("portRFC(url[, default])",
                                                           "The port as RFC 3986 has it."),
        define<"extractURLParameter", typeOfParameter, runParameter>(
            "extractURLParameter(url, name)", "The value of a parameter.",
            "extractURLParameter('http://a.b/?x=1', 'x')", "1"),
        define<"extractURLParameters", typeOfTexts, runParameters<false>>("extractURLParameters(url)",
                                                                          "All name=value."),
        define<"extractURLParameterNames", typeOfTexts, runParameters<true>>("extractURLParameterNames(url)",
                                                                             "The names of all parameters."),
        define<"cutURLParameter", typeOfCutParameter, runCutParameter>("cutURLParameter(url, name or names)",
                                                                       "The URL without these parameters."),
        define<"URLHierarchy", typeOfTexts, runHierarchy<false>>("URLHierarchy(url)",
                                                                 "The URL up to every '/', '?' and '#'."),
        define<"URLPathHierarchy", typeOfTexts, runHierarchy<true>>("URLPathHierarchy(url)",
                                                                    "The path up to every '/', '?' and '#'."),
    };
    return kList;
}

}  // namespace shardd::functions
