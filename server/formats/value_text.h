#pragma once

#include <memory>

#include "common/base/writer.h"
#include "common/columns/column.h"
#include "common/types/time_zone.h"
#include "common/types/type.h"
#include "server/formats/text_input.h"

/// Text of a value of any type, as ClickHouse prints it, and back.
namespace shardd::formats {

enum class TextStyle : uint8_t {
    Plain,    // toString(): no quotes, no escapes at the top; values inside others are Quoted
    Escaped,  // TSV
    Quoted,   // as in SQL and inside arrays: 'text', '2024-02-29', 1.5, NULL
    Csv,
    Json,
};

struct TextSettings {
    /// Of DateTime and DateTime64 that name no zone.
    const TimeZone* time_zone = &TimeZone::utc();
};

/// Writes and reads the values of one type. Immutable, shared by threads; made once a column, not once a
/// value.
class ValueText {
public:
    virtual ~ValueText() = default;

    /// `column` is full (no constant) and of the type.
    virtual void write(const Column& column, size_t row, TextStyle style, Writer& out) const = 0;

    /// A value as it stands in the text; the rest stays unread. Plain reads a text to the end of the input.
    /// Codes: ClickHouse's for what is wrong, see the readers of each type.
    virtual TextResult read(TextInput& in, TextStyle style, Value& value) const = 0;
};

using ValueTextPtr = std::shared_ptr<const ValueText>;

ValueTextPtr valueText(const TypePtr& type, const TextSettings& settings = {});

/// Reads a whole text as one value; throws what is wrong with it (CANNOT_PARSE_TEXT for a rest).
Value parseValue(const TypePtr& type,
                 std::string_view text,
                 TextStyle style = TextStyle::Plain,
                 const TextSettings& settings = {});

/// The Plain text of one value of a full or constant column.
std::string textOf(const Column& column,
                   size_t row,
                   const TypePtr& type,
                   TextStyle style = TextStyle::Plain,
                   const TextSettings& settings = {});

/// Throws what `result` says of a text that was to become `type`; `stopped_at` is where reading stopped.
[[noreturn]] void failText(TextResult result,
                           std::string_view text,
                           size_t stopped_at,
                           const std::string& type);

/// The zone of a DateTime or DateTime64 type.
const TimeZone& zoneOf(const Type& type, const TextSettings& settings);

}  // namespace shardd::formats
