#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "common/base/error.h"
#include "server/sql/parser.h"
#include "server/sql/printer.h"

/// Any bytes are refused with an Error or become a tree that survives being printed and read again.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace shardd::sql;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    StatementPtr statement;
    try {
        statement = parseStatement(text);
    } catch (const shardd::Error&) {
        return 0;
    }
    const std::string printed =
        toText(*statement, {.multi_line = false, .quoting = PrintOptions::Quoting::Always});
    try {
        if (!equals(*statement, *parseStatement(printed))) std::abort();
    } catch (const shardd::Error& error) {
        // Brackets that printing adds may be too many for the parser's limits; nothing else is excused.
        if (!error.is(shardd::ErrorCode::TOO_DEEP_RECURSION) && printed.size() < 200000) std::abort();
    }
    return 0;
}
