#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace shardd::sql {

struct Literal;

/// A constant as the text has it: no type beyond what the syntax says. Whole numbers that fit are uint64_t
/// when not negative and int64_t otherwise; larger ones are double, as in ClickHouse.
struct Literal {
    struct Null {
        bool operator==(const Null&) const = default;
    };

    struct Array {
        std::vector<Literal> items;
        bool operator==(const Array&) const;
    };

    struct Tuple {
        std::vector<Literal> items;
        bool operator==(const Tuple&) const;
    };

    using Value = std::variant<Null, bool, uint64_t, int64_t, double, std::string, Array, Tuple>;

    Value value;

    template <typename T>
    bool is() const {
        return std::holds_alternative<T>(value);
    }

    template <typename T>
    const T* as() const {
        return std::get_if<T>(&value);
    }

    /// NaN equals NaN here: two texts are compared, not two numbers.
    bool operator==(const Literal& other) const;
};

/// `1`, `-5`, `10.`, `'it\'s'`, `[1, 2]`, `(1, 'x')`, `NULL`, `true`: as ClickHouse prints and names
/// constants.
std::string toText(const Literal& literal);
void appendText(std::string& out, const Literal& literal);

/// 'text' with quotes, escapes by backslash.
std::string quoteString(std::string_view text);
void appendQuoted(std::string& out, std::string_view text);

/// `10000000000.`, `0.5`, `1e100`, `inf`: the shortest digits that read back as the same number; a whole
/// number ends with a dot.
std::string floatText(double value);

}  // namespace shardd::sql
