#include <span>

#include "server/formats/json_pretty.h"
#include "server/formats/output_format.h"
#include "server/formats/quoting.h"

namespace shardd::formats {

namespace {

constexpr const char* kJsonType = "application/json; charset=UTF-8";
constexpr const char* kLinesType = "application/x-ndjson; charset=UTF-8";

bool isWideInteger(const Type& type) { return type.isInteger() && type.width() >= sizeof(uint64_t); }

std::string quotedJson(std::string_view text) {
    Writer out;
    writeJson(text, out);
    return std::string(out.view());
}

/// The columns of a result as JSON values; names are quoted once.
class JsonColumns {
public:
    JsonColumns(const Block& header, const OutputSettings& settings, bool as_strings)
        : texts_(header, settings.text), as_strings_(as_strings) {
        for (const NamedColumn& column : header.columns) {
            names_.push_back(quotedJson(column.name));
            types_.push_back(quotedJson(column.type->name()));
            const TypePtr plain = removeNullable(removeLowCardinality(column.type));
            quoted_.push_back(settings.json_quote_64bit_integers && isWideInteger(*plain));
        }
    }

    size_t size() const { return names_.size(); }

    const std::string& name(size_t column) const { return names_[column]; }

    const std::string& type(size_t column) const { return types_[column]; }

    void write(const Block& block, size_t column, size_t row, Writer& out) const {
        const bool is_null = block.columns[column].column->isNullAt(row);
        if (as_strings_) {
            Writer text;
            if (is_null)
                text.writeBytes("ᴺᵁᴸᴸ");
            else
                texts_.write(block, column, row, TextStyle::Plain, text);
            return writeJson(text.view(), out);
        }
        const bool quoted = quoted_[column] && !is_null;
        if (quoted) out.writeByte('"');
        texts_.write(block, column, row, TextStyle::Json, out);
        if (quoted) out.writeByte('"');
    }

    /// As write(), over several lines where ClickHouse does so.
    void writeLaidOut(const Block& block, size_t column, size_t row, size_t depth, Writer& out) const {
        const Type& type = *block.columns[column].type;
        if (as_strings_ || !isLaidOut(type)) return write(block, column, row, out);
        Writer compact;
        write(block, column, row, compact);
        writePrettyJson(compact.view(), type, depth, out);
    }

    /// "[1, "a"]"
    void writeArray(const Block& block, size_t row, Writer& out) const {
        out.writeByte('[');
        for (size_t i = 0; i < size(); ++i) {
            if (i > 0) out.writeBytes(", ");
            write(block, i, row, out);
        }
        out.writeByte(']');
    }

private:
    ColumnTexts texts_;
    const bool as_strings_;
    std::vector<std::string> names_;
    std::vector<std::string> types_;
    std::vector<bool> quoted_;
};

/// One document: meta, data, totals, extremes, rows, statistics.
class JsonOutput final : public OutputFormat {
public:
    enum class Form : uint8_t { Objects, Arrays, Strings };

    JsonOutput(const OutputSettings& settings, Form form) : settings_(settings), form_(form) {}

    void header(const Block& header, Writer& out) override {
        columns_.emplace(header, settings_, form_ == Form::Strings);
        out.writeBytes("{\n\t\"meta\":\n\t[\n");
        for (size_t i = 0; i < columns_->size(); ++i) {
            if (i > 0) out.writeBytes(",\n");
            out.writeBytes("\t\t{\n\t\t\t\"name\": ");
            out.writeBytes(columns_->name(i));
            out.writeBytes(",\n\t\t\t\"type\": ");
            out.writeBytes(columns_->type(i));
            out.writeBytes("\n\t\t}");
        }
        out.writeBytes("\n\t],\n\n\t\"data\":\n\t[\n");
    }

    void rows(const Block& block, Writer& out) override {
        for (size_t row = 0; row < block.rows; ++row) {
            if (rows_++ > 0) out.writeBytes(",\n");
            if (form_ == Form::Arrays) {
                out.writeBytes("\t\t");
                columns_->writeArray(block, row, out);
            } else {
                writeObject(block, row, 2, out);
            }
        }
    }

    void totals(const Block& block, Writer& out) override {
        endData(out);
        writePart("totals", block, 0, 1, out);
    }

    void extremes(const Block& block, Writer& out) override {
        endData(out);
        out.writeBytes(",\n\n\t\"extremes\":\n\t{\n");
        writeNamed("min", block, 0, 2, out);
        out.writeBytes(",\n");
        writeNamed("max", block, 1, 2, out);
        out.writeBytes("\n\t}");
    }

    void end(const ResultSummary& summary, Writer& out) override {
        endData(out);
        out.writeBytes(fmt::format(",\n\n\t\"rows\": {}", rows_));
        if (summary.rows_before_limit)
            out.writeBytes(
                fmt::format(",\n\n\t\"rows_before_limit_at_least\": {}", *summary.rows_before_limit));
        out.writeBytes(
            fmt::format(",\n\n\t\"statistics\":\n\t{{\n\t\t\"elapsed\": {:.9f},\n\t\t\"rows_read\": "
                        "{},\n\t\t\"bytes_read\": "
                        "{}\n\t}}\n}}\n",
                        summary.elapsed_seconds, summary.rows_read, summary.bytes_read));
    }

private:
    void endData(Writer& out) {
        if (!std::exchange(in_data_, false)) return;
        out.writeBytes("\n\t]");
    }

    void writePart(std::string_view name, const Block& block, size_t row, size_t depth, Writer& out) {
        out.writeBytes(",\n\n");
        writeNamed(name, block, row, depth, out);
    }

    void writeNamed(std::string_view name, const Block& block, size_t row, size_t depth, Writer& out) {
        writeIndent(depth, out);
        writeJson(name, out);
        if (form_ == Form::Arrays) {
            out.writeBytes(": ");
            return columns_->writeArray(block, row, out);
        }
        out.writeBytes(":\n");
        writeObject(block, row, depth, out);
    }

    void writeObject(const Block& block, size_t row, size_t depth, Writer& out) {
        writeIndent(depth, out);
        out.writeBytes("{\n");
        for (size_t i = 0; i < columns_->size(); ++i) {
            if (i > 0) out.writeBytes(",\n");
            writeIndent(depth + 1, out);
            out.writeBytes(columns_->name(i));
            out.writeBytes(": ");
            columns_->writeLaidOut(block, i, row, depth + 1, out);
        }
        out.writeByte('\n');
        writeIndent(depth, out);
        out.writeByte('}');
    }

    const OutputSettings settings_;
    const Form form_;
    std::optional<JsonColumns> columns_;
    uint64_t rows_ = 0;
    bool in_data_ = true;
};

/// An object or an array on each line.
class JsonLinesOutput final : public OutputFormat {
public:
    enum class Form : uint8_t { Objects, Strings, Arrays, NamedArrays, TypedArrays };

    JsonLinesOutput(const OutputSettings& settings, Form form) : settings_(settings), form_(form) {}

    void header(const Block& header, Writer& out) override {
        columns_.emplace(header, settings_, form_ == Form::Strings);
        if (form_ == Form::NamedArrays || form_ == Form::TypedArrays)
            writeWords(out, [this](size_t i) { return columns_->name(i); });
        if (form_ == Form::TypedArrays) writeWords(out, [this](size_t i) { return columns_->type(i); });
    }

    void rows(const Block& block, Writer& out) override {
        for (size_t row = 0; row < block.rows; ++row) {
            if (form_ == Form::Objects || form_ == Form::Strings)
                writeObject(block, row, out);
            else
                columns_->writeArray(block, row, out);
            out.writeByte('\n');
        }
    }

private:
    template <typename WordOf>
    void writeWords(Writer& out, WordOf word_of) {
        out.writeByte('[');
        for (size_t i = 0; i < columns_->size(); ++i) {
            if (i > 0) out.writeBytes(", ");
            out.writeBytes(word_of(i));
        }
        out.writeBytes("]\n");
    }

    void writeObject(const Block& block, size_t row, Writer& out) {
        out.writeByte('{');
        for (size_t i = 0; i < columns_->size(); ++i) {
            if (i > 0) out.writeByte(',');
            out.writeBytes(columns_->name(i));
            out.writeByte(':');
            columns_->write(block, i, row, out);
        }
        out.writeByte('}');
    }

    const OutputSettings settings_;
    const Form form_;
    std::optional<JsonColumns> columns_;
};

template <JsonOutput::Form form>
OutputFormatPtr makeDocument(const OutputSettings& settings) {
    return std::make_unique<JsonOutput>(settings, form);
}

template <JsonLinesOutput::Form form>
OutputFormatPtr makeLines(const OutputSettings& settings) {
    return std::make_unique<JsonLinesOutput>(settings, form);
}

}  // namespace

std::span<const OutputFormatInfo> jsonOutputFormats() {
    using Document = JsonOutput::Form;
    using Lines = JsonLinesOutput::Form;
    static const OutputFormatInfo formats[] = {
        {"JSON", kJsonType, makeDocument<Document::Objects>},
        {"JSONStrings", kJsonType, makeDocument<Document::Strings>},
        {"JSONCompact", kJsonType, makeDocument<Document::Arrays>},
        {"JSONEachRow", kLinesType, makeLines<Lines::Objects>},
        {"JSONLines", kLinesType, makeLines<Lines::Objects>},
        {"NDJSON", kLinesType, makeLines<Lines::Objects>},
        {"JSONStringsEachRow", kLinesType, makeLines<Lines::Strings>},
        {"JSONCompactEachRow", kLinesType, makeLines<Lines::Arrays>},
        {"JSONCompactEachRowWithNames", kLinesType, makeLines<Lines::NamedArrays>},
        {"JSONCompactEachRowWithNamesAndTypes", kLinesType, makeLines<Lines::TypedArrays>},
    };
    return formats;
}

}  // namespace shardd::formats
