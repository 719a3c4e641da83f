#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/columns/block.h"
#include "server/formats/value_text.h"

/// Results as bytes, in the formats that ClickHouse names behind FORMAT.
namespace shardd::formats {

struct OutputSettings {
    TextSettings text;
    char csv_delimiter = ',';
    bool json_quote_64bit_integers = false;  ///< of columns, not of what is inside arrays
};

/// What is known when all rows are written.
struct ResultSummary {
    double elapsed_seconds = 0;
    uint64_t rows_read = 0;
    uint64_t bytes_read = 0;
    /// Of a query with LIMIT.
    std::optional<uint64_t> rows_before_limit;
};

/// Writes one result: header, then rows, totals and extremes where there are any, then the end. Blocks are
/// full (no constants) and have the header's columns.
class OutputFormat {
public:
    virtual ~OutputFormat() = default;

    virtual void header(const Block& header, Writer& out) = 0;
    virtual void rows(const Block& block, Writer& out) = 0;
    // Many formats have no place for these.
    virtual void totals(const Block& /*block*/, Writer& /*out*/) {}
    /// Two rows: the least and the largest values.
    virtual void extremes(const Block& /*block*/, Writer& /*out*/) {}
    virtual void end(const ResultSummary& /*summary*/, Writer& /*out*/) {}
};

using OutputFormatPtr = std::unique_ptr<OutputFormat>;

/// A format is one row of a family's list, and its family is one name in output_format.cpp.
struct OutputFormatInfo {
    std::string_view name;
    std::string_view content_type;
    OutputFormatPtr (*make)(const OutputSettings& settings);
};

/// The one of that name; letters count, as in ClickHouse. Errors: UNKNOWN_FORMAT (73).
const OutputFormatInfo& findOutputFormat(std::string_view name);

std::vector<OutputFormatInfo> outputFormats();

/// The texts of a block's columns, made once a result.
class ColumnTexts {
public:
    ColumnTexts(const Block& header, const TextSettings& settings);

    size_t size() const { return texts_.size(); }

    void write(const Block& block, size_t column, size_t row, TextStyle style, Writer& out) const {
        texts_[column]->write(*block.columns[column].column, row, style, out);
    }

private:
    std::vector<ValueTextPtr> texts_;
};

}  // namespace shardd::formats
