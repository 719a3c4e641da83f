#include "server/sql/literal.h"

#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/core.h>

namespace shardd::sql {

namespace {

void appendList(std::string& out, const std::vector<Literal>& items, char open, char close) {
    out.push_back(open);
    for (size_t i = 0; i < items.size(); ++i) {
        if (i) out.append(", ");
        appendText(out, items[i]);
    }
    out.push_back(close);
}

}  // namespace

bool Literal::Array::operator==(const Array& other) const { return items == other.items; }

bool Literal::Tuple::operator==(const Tuple& other) const { return items == other.items; }

bool Literal::operator==(const Literal& other) const {
    const auto* left = as<double>();
    const auto* right = other.as<double>();
    if (left && right && std::isnan(*left) && std::isnan(*right)) return true;
    return value == other.value;
}

void appendQuoted(std::string& out, std::string_view text) {
    out.push_back('\'');
    for (char c : text) {
        switch (c) {
            case '\b':
                out.append("\\b");
                break;
            case '\f':
                out.append("\\f");
                break;
            case '\n':
                out.append("\\n");
                break;
            case '\r':
                out.append("\\r");
                break;
            case '\t':
                out.append("\\t");
                break;
            case '\0':
                out.append("\\0");
                break;
            case '\\':
                out.append("\\\\");
                break;
            case '\'':
                out.append("\\'");
                break;
            default:
                out.push_back(c);
        }
    }
    out.push_back('\'');
}

std::string quoteString(std::string_view text) {
    std::string out;
    appendQuoted(out, text);
    return out;
}

std::string floatText(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
    char buffer[64];
    // Between 1e-6 and 1e21 the digits are written out, outside with an exponent.
    const double magnitude = std::fabs(value);
    const bool plain = magnitude == 0 || (magnitude >= 1e-6 && magnitude < 1e21);
    const auto format = plain ? std::chars_format::fixed : std::chars_format::scientific;
    std::string text(buffer, std::to_chars(buffer, buffer + sizeof(buffer), value, format).ptr);
    if (plain) {
        if (text.find('.') == std::string::npos) text.push_back('.');
        return text;
    }
    size_t exponent = text.find('e') + 1;  // e+21 → e21, e-07 → e-7
    if (text[exponent] == '+')
        text.erase(exponent, 1);
    else
        ++exponent;
    while (text[exponent] == '0' && exponent + 1 < text.size()) text.erase(exponent, 1);
    return text;
}

void appendText(std::string& out, const Literal& literal) {
    struct Visitor {
        std::string& out;

        void operator()(Literal::Null) const { out.append("NULL"); }

        void operator()(bool value) const { out.append(value ? "true" : "false"); }

        void operator()(uint64_t value) const { out.append(std::to_string(value)); }

        void operator()(int64_t value) const { out.append(std::to_string(value)); }

        void operator()(double value) const { out.append(floatText(value)); }

        void operator()(const std::string& value) const { appendQuoted(out, value); }

        void operator()(const Literal::Array& value) const { appendList(out, value.items, '[', ']'); }

        void operator()(const Literal::Tuple& value) const { appendList(out, value.items, '(', ')'); }
    };

    std::visit(Visitor{out}, literal.value);
}

std::string toText(const Literal& literal) {
    std::string out;
    appendText(out, literal);
    return out;
}

}  // namespace shardd::sql
