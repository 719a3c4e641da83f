#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/byte_source.h"
#include "common/columns/block.h"
#include "server/formats/value_text.h"

/// Rows of an INSERT from bytes, in the formats that ClickHouse names behind FORMAT.
namespace shardd::formats {

struct InputSettings {
    TextSettings text;
    char csv_delimiter = ',';
    bool csv_empty_as_default = true;
    bool null_as_default = true;
    bool skip_unknown_fields = true;
    bool with_names_use_header = true;
    /// The value of an expression in Values; missing: only literals are taken.
    std::function<Value(const std::string& expression, const TypePtr& type)> evaluate;
    /// The most bytes of one row, so that a peer who ends no row costs a bounded amount of memory.
    size_t max_row_bytes = size_t{256} << 20;
};

/// Rows that came one after another, in parts by which columns they gave: what a row did not give is its
/// column's default.
struct InputRows {
    struct Part {
        std::vector<bool> given;       ///< by column
        Block block;                   ///< the given columns only
        std::vector<RowIndex> places;  ///< which of the rows each row is
    };

    std::vector<Part> parts;
    size_t rows = 0;
};

/// Reads one INSERT's rows. Errors: ClickHouse's for what is wrong, with the number of the row.
class InputFormat {
public:
    virtual ~InputFormat() = default;

    /// Up to `max_rows` more rows; none at the end.
    virtual InputRows read(size_t max_rows) = 0;
};

using InputFormatPtr = std::unique_ptr<InputFormat>;

/// `header` has the columns that rows may give. Errors: UNKNOWN_FORMAT (73).
InputFormatPtr makeInputFormat(std::string_view name,
                               const Block& header,
                               std::shared_ptr<ByteSource> source,
                               const InputSettings& settings);

std::vector<std::string_view> inputFormatNames();

}  // namespace shardd::formats
