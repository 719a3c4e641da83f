#pragma once

#include <string>

#include "common/base/writer.h"
#include "server/formats/text_input.h"

/// Texts inside texts: the escapes of TSV, SQL, JSON and CSV.
namespace shardd::formats {

/// Backslash escapes of \b \f \n \r \t \0 ' and \ as TSV and quoted values have them; no quotes around.
void writeEscaped(std::string_view text, Writer& out);
/// The same between single quotes.
void writeQuoted(std::string_view text, Writer& out);
/// JSON's, between double quotes; "/" is escaped too.
void writeJson(std::string_view text, Writer& out);
/// Between double quotes, which are doubled inside.
void writeCsv(std::string_view text, Writer& out);

/// From an opening single quote to the closing one; appends. Code: CANNOT_PARSE_QUOTED_STRING,
/// CANNOT_PARSE_ESCAPE_SEQUENCE.
TextResult readQuoted(TextInput& in, std::string& text, char quote = '\'');
/// To the next tab, line feed or the end; appends.
TextResult readEscaped(TextInput& in, std::string& text);
/// A CSV field, quoted or not, to the delimiter or the end of the line.
TextResult readCsv(TextInput& in, std::string& text, char delimiter = ',');
/// A JSON string with its quotes.
TextResult readJson(TextInput& in, std::string& text);

}  // namespace shardd::formats
