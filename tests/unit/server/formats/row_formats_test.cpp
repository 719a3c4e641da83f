#include <gtest/gtest.h>

#include "common/base/error.h"
#include "common/columns/create_column.h"
#include "common/types/type_parser.h"
#include "server/formats/input_format.h"
#include "server/formats/json_pretty.h"
#include "server/formats/output_format.h"

namespace shardd::formats {
namespace {

/// Text in pieces of a few bytes, so that every row is cut somewhere.
class Pieces final : public ByteSource {
public:
    Pieces(std::string text, size_t size) : text_(std::move(text)), size_(size) {}

    size_t read(char* out, size_t size) override {
        const size_t taken = std::min({size, size_, text_.size() - done_});
        text_.copy(out, taken, done_);
        done_ += taken;
        return taken;
    }

private:
    const std::string text_;
    const size_t size_;
    size_t done_ = 0;
};

Block header() {
    return makeHeader(
        {{"a", parseType("UInt32")}, {"b", parseType("String")}, {"c", parseType("Nullable(Int8)")}});
}

/// Rows as "1|x|NULL" with "-" for a value that is left to its default; or the error.
std::string readAll(std::string_view format,
                    const std::string& text,
                    InputSettings settings = {},
                    size_t piece = 1000) {
    std::string result;
    try {
        const InputFormatPtr in =
            makeInputFormat(format, header(), std::make_shared<Pieces>(text, piece), settings);
        for (InputRows rows = in->read(3); rows.rows > 0; rows = in->read(3)) {
            std::vector<std::string> lines(rows.rows);
            for (const InputRows::Part& part : rows.parts) {
                for (size_t row = 0; row < part.block.rows; ++row) {
                    std::string& line = lines[part.places[row]];
                    size_t column = 0;
                    for (const bool given : part.given) {
                        if (!line.empty()) line += "|";
                        if (!given) {
                            line += "-";
                            continue;
                        }
                        const NamedColumn& values = part.block.columns[column++];
                        line +=
                            values.column->isNullAt(row) ? "NULL" : textOf(*values.column, row, values.type);
                    }
                }
            }
            for (const std::string& line : lines) result += line + "\n";
        }
    } catch (const Error& error) {
        result += fmt::format("{} {}", error.code(), error.message());
    }
    return result;
}

struct Row {
    const char* format;
    const char* text;
    const char* expected;
};

TEST(InputFormatTest, rows) {
    const Row rows[] = {
        {"TabSeparated", "", ""},
        {"TabSeparated", "1\tx\t2\n", "1|x|2\n"},
        {"TabSeparated", "1\tx\\ty\\n\t\\N\n2\t\t-3", "1|x\ty\n|NULL\n2||-3\n"},
        {"TSV", "\\N\tx\t1\n", "-|x|1\n"},
        {"TSVWithNames", "b\tnobody\ta\nx\tq\t1\n", "1|x|-\n"},
        {"TSVWithNamesAndTypes", "a\tb\tc\nUInt32\tString\tNullable(Int8)\n1\tx\t1\n", "1|x|1\n"},
        {"CSV", "1,x,2\r\n2,\"a \"\"q\"\", b\",\n", "1|x|2\n2|a \"q\", b|-\n"},
        {"CSV", " 1 , x , \\N\n", "1|x|NULL\n"},
        {"CSVWithNames", "\"a\",\"c\"\n5,\\N\n", "5|-|NULL\n"},
        {"JSONEachRow", R"({"a":1,"b":"x","c":null})", "1|x|NULL\n"},
        {"JSONEachRow", "{\"c\": 1}\n,{ }\n\n[] ",
         "-|-|1\n-|-|-\n117 Cannot parse JSON: '{' is wanted where a row begins: (at row 3)"},
        {"JSONEachRow", R"([{"a":1},{"a":"2","u":{"v":[1,"}"]}}] )", "1|-|-\n2|-|-\n"},
        {"JSONEachRow", R"({"a":null,"b":12.50} {"b":{"k": [1]}} {"b":true})",
         "-|12.50|-\n-|{\"k\": [1]}|-\n-|true|-\n"},
        {"JSONCompactEachRow", "[1, \"x\", 2]\n[2,\"y\",null]", "1|x|2\n2|y|NULL\n"},
        {"JSONCompactEachRowWithNames", "[\"c\",\"a\"]\n[1,2]", "2|-|1\n"},
        {"Values", "(1,'x',2),(2,'it\\'s',NULL)", "1|x|2\n2|it's|NULL\n"},
        {"Values", " ( DEFAULT , 'x', NULL ) ( null,'',1 ) ; ", "-|x|NULL\n-||1\n"},
        {"TabSeparated", "1\tx\n", "27 a line has 2 values, 3 are expected: (at row 1)"},
        {"TabSeparated", "1\tx\t1\t1\n", "117 a line has more than 3 values: (at row 1)"},
        {"TabSeparated", "1\tx\t1\n1\tx\t1\r\n",
         "1|x|1\n117 found \\r (carriage return) at the end of a line: lines of TabSeparated end with \\n: "
         "(at row 2)"},
        {"JSONEachRow", R"({"a":1,"a":2})",
         "117 Duplicate field found while parsing JSONEachRow format: a: (at row 1)"},
        {"JSONEachRow", R"({"a":1)",
         "117 Cannot parse JSON: an object does not end behind its last value: (at row 1)"},
        {"Values", "(1,'x'",
         "27 Cannot parse Values: wanted ',' behind the value of column b, found '': (at row 1)"},
        {"NoSuch", "", "73 Unknown format NoSuch"},
    };
    for (const Row& row : rows) {
        // A row with an error in it may be reported with rows before it; the pieces must change nothing.
        const std::string whole = readAll(row.format, row.text);
        const bool fails_late = whole.find(": (at row ") != std::string::npos;
        if (!fails_late) {
            EXPECT_EQ(whole, row.expected) << row.format << " " << row.text;
        } else {
            const std::string expected(row.expected);
            EXPECT_EQ(whole, expected.substr(expected.rfind('\n') + 1)) << row.format << " " << row.text;
        }
        for (const size_t piece : {1U, 2U, 3U, 7U})
            EXPECT_EQ(readAll(row.format, row.text, {}, piece), whole) << row.format << " " << row.text;
    }
}

TEST(InputFormatTest, expressionsAreForWhoeverEvaluates) {
    InputSettings settings;
    settings.evaluate = [](const std::string& text, const TypePtr& type) {
        EXPECT_EQ(text, type->name() == "UInt32" ? "1 + f(2, ')')" : "concat('a', \"b,\")");
        return type->name() == "UInt32" ? Value(uint64_t{3}) : Value(std::string("ab"));
    };
    for (const size_t piece : {1U, 5U, 1000U})
        EXPECT_EQ(readAll("Values", "(1 + f(2, ')'),concat('a', \"b,\"),1)", settings, piece), "3|ab|1\n");
    settings.evaluate = nullptr;
    EXPECT_EQ(readAll("Values", "(1 + 1,'',1)", settings).substr(0, 3), "62 ");
}

TEST(InputFormatTest, settings) {
    InputSettings settings;
    settings.skip_unknown_fields = false;
    EXPECT_EQ(readAll("JSONEachRow", R"({"u":1})", settings),
              "117 Unknown field found while parsing JSONEachRow format: u: (at row 1)");
    // All formats with a header keep the same two settings.
    for (const auto& [format, text] : {std::pair("TSVWithNames", "c\tx\n1\t2\n"),
                                       std::pair("JSONCompactEachRowWithNames", "[\"c\",\"x\"]\n[1,2]")})
        EXPECT_EQ(readAll(format, text, settings).substr(0, 45), "117 Unknown field found in the header: 'x'") << format;
    settings.with_names_use_header = false;
    for (const auto& [format, text] : {std::pair("TSVWithNames", "c\tb\ta\n1\t2\t3\n"),
                                       std::pair("JSONCompactEachRowWithNames", "[\"c\",\"b\",\"a\"]\n[1,\"2\",3]")})
        EXPECT_EQ(readAll(format, text, settings), "1|2|3\n") << format;
    settings.csv_delimiter = ';';
    settings.csv_empty_as_default = false;
    EXPECT_EQ(readAll("CSV", "1;\"x\";2\n", settings), "1|x|2\n");
    settings.null_as_default = false;
    EXPECT_NE(readAll("TSV", "\\N\tx\t1\n", settings), "-|x|1\n");
    settings.max_row_bytes = 100;
    EXPECT_EQ(readAll("JSONEachRow", "{\"b\":\"" + std::string(3 << 20, 'x'), settings).substr(0, 4), "131 ");
}

Block twoRows() {
    Block block = makeHeader({{"n", parseType("UInt64")},
                              {"s", parseType("String")},
                              {"f", parseType("Nullable(Float64)")},
                              {"a", parseType("Array(UInt64)")},
                              {"t", parseType("Tuple(UInt8, String)")}});
    const auto column = [&](size_t i, std::vector<Value> values) {
        MutableColumnPtr made = createColumn(*block.columns[i].type);
        for (const Value& value : values) made->insert(value);
        block.columns[i].column = std::move(made);
    };
    const auto tuple = [](uint64_t number, const char* text) {
        TupleValue made;
        made.elements = {Value(number), Value(std::string(text))};
        return Value(std::move(made));
    };
    ArrayValue numbers;
    numbers.elements = {Value(uint64_t{0}), Value(uint64_t{2})};
    column(0, {Value(uint64_t{0}), Value(uint64_t{18446744073709551615U})});
    column(1, {Value(std::string("0\t\"x\"'")), Value(std::string("1"))});
    column(2, {Value(1.5), Value()});
    column(3, {Value(numbers), Value(ArrayValue())});
    column(4, {tuple(1, "q"), tuple(2, "")});
    block.rows = 2;
    return block;
}

std::string written(std::string_view format, const OutputSettings& settings = {}) {
    const OutputFormatPtr out = findOutputFormat(format).make(settings);
    const Block block = twoRows();
    Writer bytes;
    out->header(block.header(), bytes);
    out->rows(block, bytes);
    out->end({.elapsed_seconds = 0.5, .rows_read = 7, .bytes_read = 8, .rows_before_limit = 9}, bytes);
    return std::string(bytes.view());
}

// What ClickHouse 26.7 writes of the same rows.
TEST(OutputFormatTest, bytes) {
    EXPECT_EQ(written("TabSeparated"),
              "0\t0\\t\"x\"\\'\t1.5\t[0,2]\t(1,'q')\n18446744073709551615\t1\t\\N\t[]\t(2,'')\n");
    EXPECT_EQ(written("TSVRaw"),
              "0\t0\t\"x\"'\t1.5\t[0,2]\t(1,'q')\n18446744073709551615\t1\t\\N\t[]\t(2,'')\n");
    EXPECT_EQ(written("CSVWithNamesAndTypes"),
              "\"n\",\"s\",\"f\",\"a\",\"t.1\",\"t.2\"\n"
              "\"UInt64\",\"String\",\"Nullable(Float64)\",\"Array(UInt64)\",\"UInt8\",\"String\"\n"
              "0,\"0\t\"\"x\"\"'\",1.5,\"[0,2]\",1,\"q\"\n18446744073709551615,\"1\",\\N,\"[]\",2,\"\"\n");
    EXPECT_EQ(written("JSONEachRow"),
              "{\"n\":0,\"s\":\"0\\t\\\"x\\\"'\",\"f\":1.5,\"a\":[0,2],\"t\":[1,\"q\"]}\n"
              "{\"n\":18446744073709551615,\"s\":\"1\",\"f\":null,\"a\":[],\"t\":[2,\"\"]}\n");
    EXPECT_EQ(written("JSONEachRow", {.text = {}, .csv_delimiter = ',', .json_quote_64bit_integers = true})
                  .substr(0, 20),
              "{\"n\":\"0\",\"s\":\"0\\t\\\"x");
    EXPECT_EQ(written("JSONCompactEachRowWithNamesAndTypes"),
              "[\"n\", \"s\", \"f\", \"a\", \"t\"]\n"
              "[\"UInt64\", \"String\", \"Nullable(Float64)\", \"Array(UInt64)\", \"Tuple(UInt8, String)\"]\n"
              "[0, \"0\\t\\\"x\\\"'\", 1.5, [0,2], [1,\"q\"]]\n[18446744073709551615, \"1\", null, [], "
              "[2,\"\"]]\n");
    EXPECT_EQ(written("JSONStringsEachRow"),
              "{\"n\":\"0\",\"s\":\"0\\t\\\"x\\\"'\",\"f\":\"1.5\",\"a\":\"[0,2]\",\"t\":\"(1,'q')\"}\n"
              "{\"n\":\"18446744073709551615\",\"s\":\"1\",\"f\":\"ᴺᵁᴸᴸ\",\"a\":\"[]\",\"t\":\"(2,'')\"}\n");
    EXPECT_EQ(written("Values"),
              "(0,'0\\t\"x\"\\'',1.5,[0,2],(1,'q')),(18446744073709551615,'1',NULL,[],(2,''))");
    EXPECT_EQ(written("TSKV"),
              "n=0\ts=0\\t\"x\"\\'\tf=1.5\ta=[0,2]\tt=(1,'q')\nn=18446744073709551615\ts=1\tf=\\N\ta=[]\tt=("
              "2,'')\n");
    EXPECT_EQ(written("Vertical"),
              "Row 1:\n──────\nn: 0\ns: 0\t\"x\"'\nf: 1.5\na: [0,2]\nt: (1,'q')\n\n"
              "Row 2:\n──────\nn: 18446744073709551615\ns: 1\nf: ᴺᵁᴸᴸ\na: []\nt: (2,'')\n");
    EXPECT_EQ(written("Null"), "");
    EXPECT_THROW(findOutputFormat("json"), Error);
}

TEST(OutputFormatTest, aDocumentWithTotalsAndExtremes) {
    const OutputFormatPtr out = findOutputFormat("JSONCompact").make({});
    Block block = makeHeader({{"k", parseType("UInt8")}});
    MutableColumnPtr values = createColumn(*block.columns[0].type);
    values->insert(Value(uint64_t{1}));
    values->insert(Value(uint64_t{2}));
    block.columns[0].column = std::move(values);
    block.rows = 2;
    Writer bytes;
    out->header(block.header(), bytes);
    out->rows(block, bytes);
    out->totals(block.slice(0, 1), bytes);
    out->extremes(block, bytes);
    out->end({.elapsed_seconds = 0.5, .rows_read = 7, .bytes_read = 8, .rows_before_limit = std::nullopt},
             bytes);
    EXPECT_EQ(bytes.view(),
              "{\n\t\"meta\":\n\t[\n\t\t{\n\t\t\t\"name\": \"k\",\n\t\t\t\"type\": \"UInt8\"\n\t\t}\n\t],\n\n"
              "\t\"data\":\n\t[\n\t\t[1],\n\t\t[2]\n\t],\n\n\t\"totals\": [1],\n\n"
              "\t\"extremes\":\n\t{\n\t\t\"min\": [1],\n\t\t\"max\": [2]\n\t},\n\n\t\"rows\": 2,\n\n"
              "\t\"statistics\":\n\t{\n\t\t\"elapsed\": 0.500000000,\n\t\t\"rows_read\": "
              "7,\n\t\t\"bytes_read\": 8\n\t}\n}\n");
}

TEST(JsonPrettyTest, nestedValuesTakeLines) {
    struct Case {
        const char* type;
        const char* compact;
        const char* expected;
    };

    const Case cases[] = {
        {"Array(UInt8)", "[1,2]", "[1,2]"},
        {"Tuple(UInt8, String)", "[1,\"]\\\"\"]", "[\n\t\t1,\n\t\t\"]\\\"\"\n\t]"},
        {"Tuple(a UInt8, b String)", "{\"a\":1,\"b\":\"x\"}", "{\n\t\t\"a\": 1,\n\t\t\"b\": \"x\"\n\t}"},
        {"Tuple()", "[]", "[\n\n\t]"},
        {"Map(String, Array(UInt8))", "{\"a\":[1],\"b\":[]}", "{\n\t\t\"a\": [1],\n\t\t\"b\": []\n\t}"},
        {"Map(String, UInt8)", "{}", "{}"},
        {"Array(Array(UInt8))", "[[1,2],[3]]", "[\n\t\t[1,2],\n\t\t[3]\n\t]"},
        {"Array(Tuple(UInt8))", "[]", "[]"},
        {"Array(Map(String, UInt8))", "[{\"z\":1}]", "[\n\t\t{\n\t\t\t\"z\": 1\n\t\t}\n\t]"},
    };
    for (const Case& one : cases) {
        Writer out;
        writePrettyJson(one.compact, *parseType(one.type), 1, out);
        EXPECT_EQ(out.view(), one.expected) << one.type;
    }
}

TEST(NativeFormatTest, thereAndBack) {
    const std::string bytes = written("Native");
    const Block block = twoRows();
    for (const size_t piece : {1U, 1000U}) {
        const InputFormatPtr in = makeInputFormat("Native", block.header(),
                                                  std::make_shared<Pieces>(bytes, piece), InputSettings{});
        const InputRows rows = in->read(1);
        ASSERT_EQ(rows.rows, 2U);
        EXPECT_EQ(textOf(*rows.parts[0].block.columns[0].column, 1, block.columns[0].type),
                  "18446744073709551615");
        EXPECT_EQ(in->read(1).rows, 0U);
    }
}

}  // namespace
}  // namespace shardd::formats
