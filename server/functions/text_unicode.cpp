// Strings as Unicode: case, normal forms, validity, character sets; and the entities of HTML and XML.

#include <unicode/brkiter.h>
#include <unicode/casemap.h>
#include <unicode/normalizer2.h>
#include <unicode/stringoptions.h>
#include <unicode/ucnv.h>
#include <unicode/unistr.h>
#include <unicode/utf8.h>

#include "server/functions/definition.h"
#include "server/functions/text_search.h"
#include "server/functions/utf8.h"

namespace shardd::functions {

namespace {

TypePtr typeOfUnicode(const Signature& call) {
    needCount(call, 1);
    if (call.type(0)->kind() == TypeKind::FixedString)
        throw Error(ErrorCode::BAD_ARGUMENTS, "Function {} cannot work with FixedString argument", call.name);
    needString(call, 0);
    return types::string();
}

// -- case -----------------------------------------------------------------------------------------

enum class Case { Lower, Upper, Fold };

/// One code point at the front of a text as its value, or -1; `size` bytes of it are to be kept or skipped.
int32_t pointAt(std::string_view text, size_t at, size_t& size) {
    int32_t i = 0;
    int32_t point = 0;
    const auto left = static_cast<int32_t>(std::min<size_t>(text.size() - at, 4));
    U8_NEXT(reinterpret_cast<const uint8_t*>(text.data() + at), i, left, point);
    size = static_cast<size_t>(i);
    return point;
}

void changeCase(Case to, std::string_view text, std::string& out) {
    out.clear();
    icu::StringByteSink<std::string> sink(&out);
    UErrorCode status = U_ZERO_ERROR;
    const auto size = static_cast<int32_t>(text.size());
    const icu::StringPiece piece(text.data(), size);
    if (to == Case::Lower)
        icu::CaseMap::utf8ToLower("", 0, piece, sink, nullptr, status);
    else if (to == Case::Upper)
        icu::CaseMap::utf8ToUpper("", 0, piece, sink, nullptr, status);
    else
        icu::CaseMap::utf8Fold(U_FOLD_CASE_DEFAULT, piece, sink, nullptr, status);
    if (U_FAILURE(status))
        throw Error(ErrorCode::ILLEGAL_COLUMN, "The case of a string could not be changed: {}",
                    u_errorName(status));
}

template <Case kCase>
ColumnPtr runCase(const Call& call) {
    const TextArgument texts(call.column(0));
    std::string buffer;
    return eachText(call.rows, texts.totalBytes(), [&](size_t row, TextBuilder& out) {
        const std::string_view text = texts[row];
        if (isAscii(text)) {
            for (const char c : text) {
                const bool changes = kCase == Case::Upper ? c >= 'a' && c <= 'z' : c >= 'A' && c <= 'Z';
                out.append(static_cast<char>(changes ? c ^ 0x20 : c));
            }
            return;
        }
        changeCase(kCase, text, buffer);
        out.append(buffer);
    });
}

void appendPoint(TextBuilder& out, int32_t point) {
    uint8_t bytes[4];
    int32_t size = 0;
    U8_APPEND_UNSAFE(bytes, size, point);
    out.append(std::string_view(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size)));
}

ColumnPtr runInitcap(const Call& call) {
    const TextArgument texts(call.column(0));
    return eachText(call.rows, texts.totalBytes(), [&](size_t row, TextBuilder& out) {
        const std::string_view text = texts[row];
        bool inside = false;
        for (size_t at = 0, size = 0; at < text.size(); at += size) {
            const int32_t point = pointAt(text, at, size);
            if (point < 0) {
                out.append(text.substr(at, size));
                continue;
            }
            const bool letter = u_isalnum(point);
            appendPoint(out, !letter ? point : inside ? u_tolower(point) : u_toupper(point));
            inside = letter;
        }
    });
}

// -- normal forms ---------------------------------------------------------------------------------

using Normalizer = const icu::Normalizer2* (*)(UErrorCode&);

void normalize(const icu::Normalizer2& normalizer, std::string_view text, std::string& out) {
    out.clear();
    icu::StringByteSink<std::string> sink(&out);
    UErrorCode status = U_ZERO_ERROR;
    normalizer.normalizeUTF8(0, icu::StringPiece(text.data(), static_cast<int32_t>(text.size())), sink,
                             nullptr, status);
    if (U_FAILURE(status))
        throw Error(ErrorCode::CANNOT_NORMALIZE_STRING, "Normalization failed: {}", u_errorName(status));
}

const icu::Normalizer2& normalizerOf(Normalizer get) {
    UErrorCode status = U_ZERO_ERROR;
    const icu::Normalizer2* normalizer = get(status);
    if (U_FAILURE(status))
        throw Error(ErrorCode::CANNOT_NORMALIZE_STRING, "Normalization failed: {}", u_errorName(status));
    return *normalizer;
}

template <Normalizer kGet>
ColumnPtr runNormalize(const Call& call) {
    const TextArgument texts(call.column(0));
    const icu::Normalizer2& normalizer = normalizerOf(kGet);
    std::string buffer;
    return eachText(call.rows, texts.totalBytes(), [&](size_t row, TextBuilder& out) {
        normalize(normalizer, texts[row], buffer);
        out.append(buffer);
    });
}

const icu::Normalizer2* nfc(UErrorCode& status) { return icu::Normalizer2::getNFCInstance(status); }

const icu::Normalizer2* nfd(UErrorCode& status) { return icu::Normalizer2::getNFDInstance(status); }

const icu::Normalizer2* nfkc(UErrorCode& status) { return icu::Normalizer2::getNFKCInstance(status); }

const icu::Normalizer2* nfkd(UErrorCode& status) { return icu::Normalizer2::getNFKDInstance(status); }

/// Decomposed, the marks left out, composed again.
ColumnPtr runRemoveDiacritics(const Call& call) {
    const TextArgument texts(call.column(0));
    const icu::Normalizer2& decompose = normalizerOf(nfd);
    const icu::Normalizer2& compose = normalizerOf(nfc);
    std::string apart;
    std::string kept;
    std::string together;
    return eachText(call.rows, texts.totalBytes(), [&](size_t row, TextBuilder& out) {
        normalize(decompose, texts[row], apart);
        kept.clear();
        for (size_t at = 0, size = 0; at < apart.size(); at += size) {
            const int32_t point = pointAt(apart, at, size);
            if (point < 0 || u_charType(point) != U_NON_SPACING_MARK) kept.append(apart, at, size);
        }
        normalize(compose, kept, together);
        out.append(together);
    });
}

// -- validity -------------------------------------------------------------------------------------

bool isValidUtf8(std::string_view text) {
    for (size_t at = 0, size = 0; at < text.size(); at += size) {
        if (static_cast<uint8_t>(text[at]) < 0x80) {
            size = 1;
            continue;
        }
        if (pointAt(text, at, size) < 0) return false;
    }
    return true;
}

template <auto kCheck>
ColumnPtr runCheck(const Call& call) {
    const TextArgument texts(call.column(0));
    return eachRow<uint8_t>(call.rows, [&](size_t row) { return kCheck(texts[row]); });
}

/// Every run of wrong bytes becomes one U+FFFD.
ColumnPtr runToValid(const Call& call) {
    const TextArgument texts(call.column(0));
    return eachText(call.rows, texts.totalBytes(), [&](size_t row, TextBuilder& out) {
        const std::string_view text = texts[row];
        bool after_wrong = false;
        for (size_t at = 0, size = 0; at < text.size(); at += size) {
            const bool right = pointAt(text, at, size) >= 0;
            if (right)
                out.append(text.substr(at, size));
            else if (!after_wrong)
                out.append("\xEF\xBF\xBD");
            after_wrong = !right;
        }
    });
}

TypePtr typeOfToValid(const Signature& call) {
    needCount(call, 1);
    needText(call, 0);
    if (call.type(0)->kind() == TypeKind::FixedString)
        throw Error(ErrorCode::ILLEGAL_COLUMN, "Column of type FixedString is not supported by {} function",
                    call.name);
    return types::string();
}

// -- character sets -------------------------------------------------------------------------------

struct Converter {
    explicit Converter(const std::string& name) {
        UErrorCode status = U_ZERO_ERROR;
        handle = ucnv_open(name.c_str(), &status);
        if (U_FAILURE(status))
            throw Error(ErrorCode::CANNOT_CREATE_CHARSET_CONVERTER,
                        "Can't create UConverter with charset {}, error: {}", name, u_errorName(status));
    }

    Converter(const Converter&) = delete;
    Converter& operator=(const Converter&) = delete;

    ~Converter() { ucnv_close(handle); }

    UConverter* handle = nullptr;
};

TypePtr typeOfConvert(const Signature& call) {
    needCount(call, 3);
    for (size_t i = 0; i < 3; ++i) needString(call, i);
    return types::string();
}

ColumnPtr runConvert(const Call& call) {
    const TextArgument texts(call.column(0));
    const Converter from{std::string(TextArgument(call.column(1))[0])};
    const Converter to{std::string(TextArgument(call.column(2))[0])};
    std::vector<UChar> wide;
    std::vector<char> narrow;
    return eachText(call.rows, texts.totalBytes(), [&](size_t row, TextBuilder& out) {
        const std::string_view text = texts[row];
        wide.resize(text.size() * 2 + 16);
        UErrorCode status = U_ZERO_ERROR;
        ucnv_reset(from.handle);
        const int32_t units = ucnv_toUChars(from.handle, wide.data(), static_cast<int32_t>(wide.size()),
                                            text.data(), static_cast<int32_t>(text.size()), &status);
        narrow.resize(static_cast<size_t>(std::max(units, 0)) * 4 + 16);
        ucnv_reset(to.handle);
        const int32_t bytes = ucnv_fromUChars(to.handle, narrow.data(), static_cast<int32_t>(narrow.size()),
                                              wide.data(), units, &status);
        if (U_FAILURE(status))
            throw Error(ErrorCode::CANNOT_CONVERT_CHARSET, "Cannot convert charset: {}", u_errorName(status));
        out.append(std::string_view(narrow.data(), static_cast<size_t>(bytes)));
    });
}

// -- entities -------------------------------------------------------------------------------------

ColumnPtr runEncodeXml(const Call& call) {
    const TextArgument texts(call.column(0));
    return eachText(call.rows, texts.totalBytes(), [&](size_t row, TextBuilder& out) {
        for (const char c : texts[row]) {
            switch (c) {
                case '<':
                    out.append("&lt;");
                    break;
                case '>':
                    out.append("&gt;");
                    break;
                case '&':
                    out.append("&amp;");
                    break;
                case '"':
                    out.append("&quot;");
                    break;
                case '\'':
                    out.append("&apos;");
                    break;
                default:
                    out.append(c);
            }
        }
    });
}

struct Entity {
    std::string_view name;
    int32_t point;
};

constexpr Entity kXmlEntities[] = {{"lt", '<'}, {"gt", '>'}, {"amp", '&'}, {"quot", '"'}, {"apos", '\''}};

/// The Latin-1 entities from 160 on in their order, then the commonest others.
constexpr std::string_view kLatin1[] = {
    "nbsp",   "iexcl",  "cent",   "pound",  "curren", "yen",    "brvbar", "sect",   "uml",    "copy",
    "ordf",   "laquo",  "not",    "shy",    "reg",    "macr",   "deg",    "plusmn", "sup2",   "sup3",
    "acute",  "micro",  "para",   "middot", "cedil",  "sup1",   "ordm",   "raquo",  "frac14", "frac12",
    "frac34", "iquest", "Agrave", "Aacute", "Acirc",  "Atilde", "Auml",   "Aring",  "AElig",  "Ccedil",
    "Egrave", "Eacute", "Ecirc",  "Euml",   "Igrave", "Iacute", "Icirc",  "Iuml",   "ETH",    "Ntilde",
    "Ograve", "Oacute", "Ocirc",  "Otilde", "Ouml",   "times",  "Oslash", "Ugrave", "Uacute", "Ucirc",
    "Uuml",   "Yacute", "THORN",  "szlig",  "agrave", "aacute", "acirc",  "atilde", "auml",   "aring",
    "aelig",  "ccedil", "egrave", "eacute", "ecirc",  "euml",   "igrave", "iacute", "icirc",  "iuml",
    "eth",    "ntilde", "ograve", "oacute", "ocirc",  "otilde", "ouml",   "divide", "oslash", "ugrave",
    "uacute", "ucirc",  "uuml",   "yacute", "thorn",  "yuml"};

constexpr Entity kOtherEntities[] = {
    {"euro", 0x20AC},  {"hellip", 0x2026}, {"mdash", 0x2014}, {"ndash", 0x2013}, {"lsquo", 0x2018},
    {"rsquo", 0x2019}, {"ldquo", 0x201C},  {"rdquo", 0x201D}, {"bull", 0x2022},  {"trade", 0x2122},
    {"larr", 0x2190},  {"rarr", 0x2192},   {"le", 0x2264},    {"ge", 0x2265},    {"ne", 0x2260},
    {"infin", 0x221E}, {"alpha", 0x3B1},   {"beta", 0x3B2},   {"gamma", 0x3B3},  {"delta", 0x3B4},
    {"pi", 0x3C0},     {"sigma", 0x3C3},   {"omega", 0x3C9},  {"Omega", 0x3A9}};

std::optional<int32_t> entity(std::string_view name, bool html) {
    if (name.size() > 1 && name[0] == '#') {
        const bool hex = name[1] == 'x' || name[1] == 'X';
        int64_t value = 0;
        const std::string_view digits = name.substr(hex ? 2 : 1);
        if (digits.empty() || digits.size() > 7) return std::nullopt;
        for (const char c : digits) {
            const int digit = c >= '0' && c <= '9'                                  ? c - '0'
                              : hex && std::isxdigit(static_cast<unsigned char>(c)) ? (c | 0x20) - 'a' + 10
                                                                                    : -1;
            if (digit < 0) return std::nullopt;
            value = value * (hex ? 16 : 10) + digit;
        }
        if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) return std::nullopt;
        return static_cast<int32_t>(value);
    }
    for (const Entity& known : kXmlEntities)
        if (known.name == name) return known.point;
    if (!html) return std::nullopt;
    for (size_t i = 0; i < std::size(kLatin1); ++i)
        if (kLatin1[i] == name) return static_cast<int32_t>(160 + i);
    for (const Entity& known : kOtherEntities)
        if (known.name == name) return known.point;
    return std::nullopt;
}

template <bool kHtml>
ColumnPtr runDecodeEntities(const Call& call) {
    const TextArgument texts(call.column(0));
    return eachText(call.rows, texts.totalBytes(), [&](size_t row, TextBuilder& out) {
        const std::string_view text = texts[row];
        for (size_t at = 0; at < text.size();) {
            const size_t start = text.find('&', at);
            out.append(
                text.substr(at, start == std::string_view::npos ? std::string_view::npos : start - at));
            if (start == std::string_view::npos) break;
            const size_t end = text.find(';', start);
            const auto point = end == std::string_view::npos
                                   ? std::nullopt
                                   : entity(text.substr(start + 1, end - start - 1), kHtml);
            if (point) {
                appendPoint(out, *point);
                at = end + 1;
            } else {
                out.append('&');
                at = start + 1;
            }
        }
    });
}

// -- ends, case ignored ---------------------------------------------------------------------------

template <bool kStarts>
ColumnPtr runEnds(const Call& call) {
    const TextArgument texts(call.column(0));
    const TextArgument parts(call.column(1));
    return eachRow<uint8_t>(call.rows, [&](size_t row) {
        const std::string text = foldUtf8(texts[row]);
        const std::string part = foldUtf8(parts[row]);
        return kStarts ? text.starts_with(part) : text.ends_with(part);
    });
}

}  // namespace

std::span<const FunctionInfo> textUnicodeFunctions() {
    static const FunctionInfo kList[] = {
        define<"lowerUTF8", typeOfUnicode, runCase<Case::Lower>>("lowerUTF8(text)", "Letters made small.",
                                                                 "lowerUTF8('ÀB')", "àb"),
        define<"upperUTF8", typeOfUnicode, runCase<Case::Upper>>("upperUTF8(text)", "Letters made large.",
                                                                 "upperUTF8('àb')", "ÀB"),
        define<"caseFoldUTF8", typeOfUnicode, runCase<Case::Fold>>(
            "caseFoldUTF8(text)", "Letters folded, to compare without case.", "caseFoldUTF8('ß')", "ss"),
        define<"initcapUTF8", textsTo<TypeKind::String, 1>, runInitcap>(
            "initcapUTF8(text)", "The first letter of each word large.", "initcapUTF8('été x')", "Été X"),
        define<"normalizeUTF8NFC", textsTo<TypeKind::String, 1>, runNormalize<nfc>>("normalizeUTF8NFC(text)",
                                                                                    "Normal form C."),
        define<"normalizeUTF8NFD", textsTo<TypeKind::String, 1>, runNormalize<nfd>>("normalizeUTF8NFD(text)",
                                                                                    "Normal form D."),
        define<"normalizeUTF8NFKC", textsTo<TypeKind::String, 1>, runNormalize<nfkc>>(
            "normalizeUTF8NFKC(text)", "Normal form KC."),
        define<"normalizeUTF8NFKD", textsTo<TypeKind::String, 1>, runNormalize<nfkd>>(
            "normalizeUTF8NFKD(text)", "Normal form KD."),
        define<"removeDiacriticsUTF8", textsTo<TypeKind::String, 1>, runRemoveDiacritics>(
            "removeDiacriticsUTF8(text)", "Without accents.", "removeDiacriticsUTF8('é')", "e"),
        define<"isValidUTF8", textsTo<TypeKind::UInt8, 1>, runCheck<isValidUtf8>>(
            "isValidUTF8(text)", "Whether it is UTF-8.", "isValidUTF8('é')", "1"),
        define<"isValidASCII", textsTo<TypeKind::UInt8, 1>, runCheck<isAscii>>(
            "isValidASCII(text)", "Whether it is ASCII.", "isValidASCII('é')", "0"),
        define<"toValidUTF8", typeOfToValid, runToValid>("toValidUTF8(text)",
                                                         "Wrong bytes replaced by U+FFFD."),
        define<"convertCharset", typeOfConvert, runConvert, kMayThrow, 6>(
            "convertCharset(text, from, to)", "The text in another character set.",
            "convertCharset('abc', 'UTF-8', 'US-ASCII')", "abc"),
        define<"encodeXMLComponent", textsTo<TypeKind::String, 1>, runEncodeXml>(
            "encodeXMLComponent(text)", "The five letters that XML needs as entities.",
            "encodeXMLComponent('<a>')", "&lt;a&gt;"),
        define<"decodeXMLComponent", textsTo<TypeKind::String, 1>, runDecodeEntities<false>>(
            "decodeXMLComponent(text)", "Entities of XML decoded.", "decodeXMLComponent('&lt;')", "<"),
        define<"decodeHTMLComponent", textsTo<TypeKind::String, 1>, runDecodeEntities<true>>(
            "decodeHTMLComponent(text)", "Entities of HTML decoded.", "decodeHTMLComponent('&eacute;')", "é"),
        define<"startsWithCaseInsensitiveUTF8", textsTo<TypeKind::UInt8, 2>, runEnds<true>>(
            "startsWithCaseInsensitiveUTF8(text, prefix)", "startsWith, case ignored."),
        define<"endsWithCaseInsensitiveUTF8", textsTo<TypeKind::UInt8, 2>, runEnds<false>>(
            "endsWithCaseInsensitiveUTF8(text, suffix)", "endsWith, case ignored."),
    };
    return kList;
}

}  // namespace shardd::functions
