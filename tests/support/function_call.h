#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/columns/create_column.h"
#include "common/types/type_parser.h"
#include "server/formats/value_text.h"
#include "server/functions/function.h"

// Calling a function in a test as one would write it: call("length", {{"String", "abc"}}) gives "UInt64 3".
namespace shardd::tests {

/// One argument: a type, and its text as toString() would show it.
struct Argument {
    std::string type;
    std::string text;
};

/// The result as "Type text", or "error <code>". Twice: over constants, and over full columns of three rows;
/// they must agree.
inline std::string call(std::string_view name, const std::vector<Argument>& arguments) {
    const auto context = std::make_shared<functions::FunctionContext>();
    auto run = [&](bool constants) -> std::string {
        std::vector<NamedColumn> columns;
        const size_t rows = constants ? 1 : 3;
        for (const Argument& argument : arguments) {
            const TypePtr type = parseType(argument.type);
            ColumnPtr column = createConstColumn(*type, formats::parseValue(type, argument.text), rows);
            if (!constants) column = full(column);
            columns.push_back({"", type, std::move(column)});
        }
        const auto function = functions::resolveFunction(name, columns, context);
        const ColumnPtr result = fullPlain(function->execute(columns, rows));
        return function->resultType()->name() + " " +
               formats::textOf(*result, rows - 1, removeLowCardinality(function->resultType()));
    };
    try {
        const std::string of_constants = run(true);
        std::string of_columns;
        try {
            of_columns = run(false);
        } catch (const Error& error) {
            // An argument that must be constant, for the value or already for the type.
            if (error.is(ErrorCode::ILLEGAL_COLUMN) || error.is(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT)) return of_constants;
            throw;
        }
        return of_constants == of_columns
                   ? of_constants
                   : of_constants + " for constants, but " + of_columns + " for columns";
    } catch (const Error& error) {
        return "error " + std::to_string(error.code());
    }
}

}  // namespace shardd::tests
