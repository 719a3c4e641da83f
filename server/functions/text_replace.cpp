// Parts of strings exchanged for others: replaceOne, replaceAll, translate, overlay, format, printf.

#include <unordered_map>

#include "server/functions/text_search.h"
#include "server/functions/utf8.h"

namespace shardd::functions {

namespace {

// -- replace --------------------------------------------------------------------------------------

TypePtr typeOfReplace(const Signature& call) {
    needCount(call, 3);
    needText(call, 0);
    needString(call, 1);
    needString(call, 2);
    return types::string();
}

template <bool kAll>
ColumnPtr runReplace(const Call& call) {
    const TextArgument texts(call.column(0));
    const TextArgument needles(call.column(1));
    const TextArgument replacements(call.column(2));
    std::optional<NeedleSearch> search;
    if (needles.constant() && call.rows > 0) search.emplace(needles[0]);
    return eachText(call.rows, texts.totalBytes(), [&](size_t row, TextBuilder& out) {
        const std::string_view text = texts[row];
        const std::string_view needle = needles[row];
        const char* at = text.data();
        const char* const end = at + text.size();
        while (!needle.empty()) {
            const char* found = search ? search->find(at, end) : NeedleSearch(needle).find(at, end);
            if (!found) break;
            out.append(std::string_view(at, static_cast<size_t>(found - at)));
            out.append(replacements[row]);
            at = found + needle.size();
            if (!kAll) break;
        }
        out.append(std::string_view(at, static_cast<size_t>(end - at)));
    });
}

// -- translate ------------------------------------------------------------------------------------

std::vector<std::string_view> codePoints(std::string_view text) {
    std::vector<std::string_view> points;
    for (size_t at = 0; at < text.size();) {
        const size_t size = std::min(utf8Length(static_cast<uint8_t>(text[at])), text.size() - at);
        points.push_back(text.substr(at, size));
        at += size;
    }
    return points;
}

/// Letters to their replacements; letters without one are dropped. The lengths may differ only for a shorter
/// target.
template <bool kUtf8>
std::unordered_map<std::string_view, std::string_view> translation(std::string_view from,
                                                                   std::string_view to,
                                                                   std::string_view function) {
    if (!kUtf8 && (!isAscii(from) || !isAscii(to)))
        throw Error(ErrorCode::BAD_ARGUMENTS,
                    "Second and third arguments of function {} must be ASCII strings", function);
    const auto sources = codePoints(from);
    const auto targets = codePoints(to);
    if (targets.size() > sources.size())
        throw Error(ErrorCode::BAD_ARGUMENTS,
                    "Second argument of function {} must not be shorter than the third one", function);
    std::unordered_map<std::string_view, std::string_view> result;
    for (size_t i = 0; i < sources.size(); ++i)
        result[sources[i]] = i < targets.size() ? targets[i] : std::string_view();
    return result;
}

template <bool kUtf8>
ColumnPtr runTranslate(const Call& call) {
    const TextArgument texts(call.column(0));
    const TextArgument from(call.column(1));
    const TextArgument to(call.column(2));
    std::unordered_map<std::string_view, std::string_view> letters;
    return eachText(call.rows, texts.totalBytes(), [&](size_t row, TextBuilder& out) {
        if (row == 0 || !from.constant() || !to.constant())
            letters = translation<kUtf8>(from[row], to[row], call.name);
        const std::string_view text = texts[row];
        for (size_t at = 0; at < text.size();) {
            const size_t size =
                kUtf8 ? std::min(utf8Length(static_cast<uint8_t>(text[at])), text.size() - at) : 1;
            const std::string_view letter = text.substr(at, size);
            const auto found = letters.find(letter);
            out.append(found == letters.end() ? letter : found->second);
            at += size;
        }
    });
}

// -- overlay --------------------------------------------------------------------------------------

TypePtr typeOfOverlay(const Signature& call) {
    needCount(call, 3, 4);
    needString(call, 0);
    needString(call, 1);
    needInteger(call, 2);
    if (call.count() == 4) needInteger(call, 3);
    return types::string();
}

/// The replacement put over the text at an offset, for as many letters as it has, or as many as the length
/// says.
template <bool kUtf8>
ColumnPtr runOverlay(const Call& call) {
    const TextArgument texts(call.column(0));
    const TextArgument replacements(call.column(1));
    const IntegerArgument offsets(call.column(2));
    std::optional<IntegerArgument> lengths;
    if (call.count() == 4) lengths.emplace(call.column(3));
    auto count = [](std::string_view text) {
        return static_cast<int64_t>(kUtf8 ? countCodePoints(text) : text.size());
    };
    auto bytes = [](std::string_view text, int64_t n) {
        return kUtf8 ? skipCodePoints(text, static_cast<size_t>(n))
                     : std::min(static_cast<size_t>(n), text.size());
    };
    return eachText(call.rows, texts.totalBytes() * 2, [&](size_t row, TextBuilder& out) {
        const std::string_view text = texts[row];
        const std::string_view replacement = replacements[row];
        const int64_t size = count(text);
        int64_t from = offsets[row] > 0 ? offsets[row] - 1 : offsets[row] < 0 ? size + offsets[row] : 0;
        from = std::clamp<int64_t>(from, 0, size);
        int64_t length = lengths ? (*lengths)[row] : -1;
        if (length < 0) length = count(replacement);
        const int64_t to = std::min(size, from + std::min(length, size));
        out.append(text.substr(0, bytes(text, from)));
        out.append(replacement);
        out.append(text.substr(bytes(text, to)));
    });
}

// -- format ---------------------------------------------------------------------------------------

/// A pattern with {} or {0}: literals, and the argument that follows each but the last.
struct Pattern {
    std::vector<std::string> literals;
    std::vector<size_t> arguments;
};

[[noreturn]] void failPattern(std::string_view words) { throw Error(ErrorCode::BAD_ARGUMENTS, "{}", words); }

Pattern parsePattern(std::string_view text, size_t count) {
    Pattern pattern;
    std::string literal;
    enum class Numbering { Unknown, Plain, Numbered } numbering = Numbering::Unknown;
    size_t next = 0;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text.substr(i, 2) == "{{" || text.substr(i, 2) == "}}") {
            literal.push_back(text[i++]);
        } else if (text[i] == '}') {
            failPattern("Closed curly brace without open one");
        } else if (text[i] != '{') {
            literal.push_back(text[i]);
        } else {
            const size_t end = text.find('}', i);
            if (end == std::string_view::npos) failPattern("Last curly brace is not closed");
            const std::string_view number = text.substr(i + 1, end - i - 1);
            const auto wanted = number.empty() ? Numbering::Plain : Numbering::Numbered;
            if (numbering != Numbering::Unknown && numbering != wanted)
                failPattern("Cannot switch between automatic and manual field numbering");
            numbering = wanted;
            size_t argument = next++;
            if (!number.empty()) {
                argument = 0;
                for (const char c : number) {
                    if (c < '0' || c > '9' || argument > 1000) failPattern("Not a number in curly braces");
                    argument = argument * 10 + static_cast<size_t>(c - '0');
                }
            }
            if (argument >= count) failPattern("Argument is too big for formatting");
            pattern.literals.push_back(std::exchange(literal, {}));
            pattern.arguments.push_back(argument);
            i = end;
        }
    }
    pattern.literals.push_back(std::move(literal));
    return pattern;
}

ColumnPtr textOf(const Call& call, size_t i) {
    if (call.argumentType(i)->isString()) return call.column(i);
    const NamedColumn argument = call.arguments[i];
    return resolveFunction("toString", {&argument, 1}, std::make_shared<FunctionContext>(call.context))
        ->execute({&argument, 1}, call.rows);
}

TypePtr typeOfFormat(const Signature& call) {
    needCount(call, 2, SIZE_MAX);
    needString(call, 0);
    return types::string();
}

ColumnPtr runFormat(const Call& call) {
    const Pattern pattern = parsePattern(TextArgument(call.column(0))[0], call.count() - 1);
    std::vector<TextArgument> texts;
    for (size_t i = 1; i < call.count(); ++i) texts.emplace_back(textOf(call, i));
    return eachText(call.rows, call.rows * 16, [&](size_t row, TextBuilder& out) {
        for (size_t i = 0; i < pattern.arguments.size(); ++i) {
            out.append(pattern.literals[i]);
            out.append(texts[pattern.arguments[i]][row]);
        }
        out.append(pattern.literals.back());
    });
}

// -- printf ---------------------------------------------------------------------------------------

/// One %… of a pattern, and the literal text before it.
struct Directive {
    std::string literal;
    std::string flags;  // from '%' up to, without, the conversion
    char conversion = 0;
};

/// So that no width or precision has more than five digits or so: texts of gigabytes otherwise.
constexpr size_t kMostFlags = 8;

std::vector<Directive> parseDirectives(std::string_view text, std::string& tail) {
    std::vector<Directive> directives;
    Directive current;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            current.literal.push_back(text[i]);
        } else if (i + 1 < text.size() && text[i + 1] == '%') {
            current.literal.push_back('%');
            ++i;
        } else {
            size_t end = i + 1;
            while (end < text.size() &&
                   std::string_view("-+ #0123456789.").find(text[end]) != std::string_view::npos)
                ++end;
            if (end == text.size() ||
                std::string_view("diuoxXfFeEgGaAcs").find(text[end]) == std::string_view::npos)
                throw Error(ErrorCode::BAD_ARGUMENTS, "Unsupported format in printf: {}", text.substr(i));
            current.flags = text.substr(i, end - i);
            if (current.flags.size() > kMostFlags)
                throw Error(ErrorCode::BAD_ARGUMENTS, "Too wide a format in printf: {}", current.flags);
            current.conversion = text[end];
            directives.push_back(std::exchange(current, {}));
            i = end;
        }
    }
    tail = current.literal;
    return directives;
}

TypePtr typeOfPrintf(const Signature& call) {
    needCount(call, 1, SIZE_MAX);
    needString(call, 0);
    return types::string();
}

template <typename T>
void printTo(TextBuilder& out, const std::string& directive, T value) {
    char buffer[512];
    const int size =
        std::snprintf(buffer, sizeof(buffer), directive.c_str(), value);  // NOLINT: the directive was checked
    if (size < 0) return;
    if (static_cast<size_t>(size) < sizeof(buffer))
        return out.append(std::string_view(buffer, static_cast<size_t>(size)));
    std::string large(static_cast<size_t>(size) + 1, '\0');
    std::snprintf(large.data(), large.size(), directive.c_str(), value);  // NOLINT: as above
    out.append(std::string_view(large).substr(0, static_cast<size_t>(size)));
}

/// A string with width and precision, counted in bytes.
void printText(TextBuilder& out, const std::string& flags, std::string_view text) {
    const bool left = flags.find('-') != std::string::npos;
    const size_t digits = flags.find_first_of("123456789");
    const size_t point = flags.find('.');
    size_t width = 0;
    if (digits != std::string::npos && (point == std::string::npos || digits < point))
        width = std::strtoul(flags.c_str() + digits, nullptr, 10);
    if (point != std::string::npos)
        text = text.substr(0, std::strtoul(flags.c_str() + point + 1, nullptr, 10));
    const std::string fill(width > text.size() ? std::min<size_t>(width - text.size(), 1000000) : 0, ' ');
    if (!left) out.append(fill);
    out.append(text);
    if (left) out.append(fill);
}

ColumnPtr runPrintf(const Call& call) {
    std::string tail;
    const auto directives = parseDirectives(TextArgument(call.column(0))[0], tail);
    if (directives.size() + 1 != call.count())
        throw Error(ErrorCode::BAD_ARGUMENTS,
                    "The number of arguments of function {} does not match its format string", call.name);
    std::vector<std::optional<TextArgument>> texts(directives.size());
    std::vector<std::optional<IntegerArgument>> integers(directives.size());
    std::vector<std::optional<DoubleArgument>> doubles(directives.size());
    for (size_t i = 0; i < directives.size(); ++i) {
        const char c = directives[i].conversion;
        const TypePtr& type = call.argumentType(i + 1);
        const bool wants_text = c == 's';
        const bool wants_integer = std::string_view("diuoxXc").find(c) != std::string_view::npos;
        if (wants_text != type->isString() || (wants_integer && !type->isInteger()) ||
            (!wants_text && !type->isNumber()))
            throw Error(ErrorCode::BAD_ARGUMENTS,
                        "Argument {} of function {} has type {}, which %{} cannot print", i + 2, call.name,
                        type->name(), c);
        if (wants_text)
            texts[i].emplace(call.column(i + 1));
        else if (wants_integer)
            integers[i].emplace(call.column(i + 1));
        else
            doubles[i].emplace(call.column(i + 1), type);
    }
    return eachText(call.rows, call.rows * 16, [&](size_t row, TextBuilder& out) {
        for (size_t i = 0; i < directives.size(); ++i) {
            const Directive& directive = directives[i];
            out.append(directive.literal);
            if (texts[i])
                printText(out, directive.flags, (*texts[i])[row]);
            else if (integers[i] && directive.conversion != 'c')
                printTo(out, directive.flags + "l" + directive.conversion,
                        static_cast<long>((*integers[i])[row]));
            else if (integers[i])
                printTo(out, directive.flags + "c", static_cast<int>((*integers[i])[row]));
            else
                printTo(out, directive.flags + directive.conversion, (*doubles[i])[row]);
        }
        out.append(tail);
    });
}

}  // namespace

std::span<const FunctionInfo> textReplaceFunctions() {
    static const FunctionInfo kList[] = {
        define<"replaceOne", typeOfReplace, runReplace<false>>("replaceOne(text, part, replacement)",
                                                               "The first occurrence replaced.",
                                                               "replaceOne('aXbX', 'X', '-')", "a-bX"),
        define<"replaceAll", typeOfReplace, runReplace<true>>("replaceAll(text, part, replacement)",
                                                              "Every occurrence replaced.",
                                                              "replaceAll('aXbX', 'X', '-')", "a-b-"),
        define<"translate", typeOfReplace, runTranslate<false>, kMayThrow>(
            "translate(text, from, to)", "Letters exchanged one for one.", "translate('Hello', 'lo', '01')",
            "He001"),
        define<"translateUTF8", typeOfReplace, runTranslate<true>, kMayThrow>(
            "translateUTF8(text, from, to)", "The same for code points.", "translateUTF8('é', 'é', 'e')",
            "e"),
        define<"overlay", typeOfOverlay, runOverlay<false>>("overlay(text, replacement, offset[, length])",
                                                            "A part replaced by place.",
                                                            "overlay('Hello', 'XX', 3)", "HeXXo"),
        define<"overlayUTF8", typeOfOverlay, runOverlay<true>>(
            "overlayUTF8(text, replacement, offset[, length])", "The same for code points."),
        define<"format", typeOfFormat, runFormat, kMayThrow, 1>("format(pattern, x, …)",
                                                                "The pattern with its {} filled in.",
                                                                "format('{} {}', 'a', 'b')", "a b"),
        define<"printf", typeOfPrintf, runPrintf, kMayThrow, 1>(
            "printf(pattern, x, …)", "The pattern filled in as C's printf does.", "printf('%03d', 7)", "007"),
    };
    return kList;
}

}  // namespace shardd::functions
