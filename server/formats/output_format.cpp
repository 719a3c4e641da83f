#include "server/formats/output_format.h"

#include <algorithm>
#include <span>

#include "common/base/error.h"

namespace shardd::formats {

// A new family is its own source and one name here.
#define SHARDD_OUTPUT_FAMILIES(X) X(json) X(other) X(separated)

#define DECLARE(family) std::span<const OutputFormatInfo> family##OutputFormats();
SHARDD_OUTPUT_FAMILIES(DECLARE)
#undef DECLARE

std::vector<OutputFormatInfo> outputFormats() {
    std::vector<OutputFormatInfo> all;
#define APPEND(family) \
    for (const OutputFormatInfo& info : family##OutputFormats()) all.push_back(info);
    SHARDD_OUTPUT_FAMILIES(APPEND)
#undef APPEND
    return all;
}

const OutputFormatInfo& findOutputFormat(std::string_view name) {
    static const std::vector<OutputFormatInfo> all = outputFormats();
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const OutputFormatInfo& info) { return info.name == name; });
    if (found == all.end()) throw Error(ErrorCode::UNKNOWN_FORMAT, "Unknown format {}", name);
    return *found;
}

ColumnTexts::ColumnTexts(const Block& header, const TextSettings& settings) {
    for (const NamedColumn& column : header.columns) texts_.push_back(valueText(column.type, settings));
}

}  // namespace shardd::formats
