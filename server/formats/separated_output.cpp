#include <span>

#include "common/columns/tuple_column.h"
#include "server/formats/heading.h"
#include "server/formats/output_format.h"
#include "server/formats/quoting.h"

namespace shardd::formats {

namespace {

constexpr const char* kTsvType = "text/tab-separated-values; charset=UTF-8";

/// Rows on lines, totals and extremes behind an empty line each.
class SeparatedOutput : public OutputFormat {
public:
    SeparatedOutput(const OutputSettings& settings, Heading heading)
        : settings_(settings), heading_(heading) {}

    void header(const Block& header, Writer& out) override {
        texts_.emplace(header, settings_.text);
        if (heading_ == Heading::None) return;
        writeLine(header, out, [](const NamedColumn& column) { return column.name; });
        if (heading_ == Heading::NamesAndTypes)
            writeLine(header, out, [](const NamedColumn& column) { return column.type->name(); });
    }

    void rows(const Block& block, Writer& out) override {
        for (size_t row = 0; row < block.rows; ++row) writeRow(block, row, out);
    }

    void totals(const Block& block, Writer& out) override {
        out.writeByte('\n');
        rows(block, out);
    }

    void extremes(const Block& block, Writer& out) override { totals(block, out); }

protected:
    virtual void writeRow(const Block& block, size_t row, Writer& out) = 0;
    virtual void writeWord(std::string_view word, Writer& out) = 0;

    virtual char delimiter() const = 0;

    const OutputSettings settings_;
    std::optional<ColumnTexts> texts_;

private:
    template <typename WordOf>
    void writeLine(const Block& header, Writer& out, WordOf word_of) {
        for (size_t i = 0; i < header.columns.size(); ++i) {
            if (i > 0) out.writeByte(static_cast<uint8_t>(delimiter()));
            writeWord(word_of(header.columns[i]), out);
        }
        out.writeByte('\n');
    }

    const Heading heading_;
};

class TsvOutput final : public SeparatedOutput {
public:
    TsvOutput(const OutputSettings& settings, Heading heading, bool raw)
        : SeparatedOutput(settings, heading), style_(raw ? TextStyle::Plain : TextStyle::Escaped) {}

private:
    void writeRow(const Block& block, size_t row, Writer& out) override {
        for (size_t i = 0; i < texts_->size(); ++i) {
            if (i > 0) out.writeByte('\t');
            // toString() of NULL is nothing; a line has to tell it from an empty text.
            if (style_ == TextStyle::Plain && block.columns[i].column->isNullAt(row))
                out.writeBytes("\\N");
            else
                texts_->write(block, i, row, style_, out);
        }
        out.writeByte('\n');
    }

    void writeWord(std::string_view word, Writer& out) override {
        if (style_ == TextStyle::Plain)
            out.writeBytes(word);
        else
            writeEscaped(word, out);
    }

    char delimiter() const override { return '\t'; }

    const TextStyle style_;
};

/// The elements of tuples are columns of their own, as in ClickHouse.
class CsvOutput final : public SeparatedOutput {
public:
    using SeparatedOutput::SeparatedOutput;

    void header(const Block& header, Writer& out) override { SeparatedOutput::header(spread(header), out); }

    void rows(const Block& block, Writer& out) override { SeparatedOutput::rows(spread(block), out); }

private:
    static Block spread(const Block& block) {
        Block result;
        result.rows = block.rows;
        for (const NamedColumn& column : block.columns) append(column, result);
        return result;
    }

    static void append(const NamedColumn& column, Block& result) {
        if (column.type->kind() != TypeKind::Tuple) return result.columns.push_back(column);
        const auto& tuple = as<TupleColumn>(*column.column);
        const auto& names = column.type->elementNames();
        for (size_t i = 0; i < tuple.elements().size(); ++i) {
            const std::string name = names.empty() ? std::to_string(i + 1) : names[i];
            append({column.name + "." + name, column.type->children()[i], tuple.elements()[i]}, result);
        }
    }

    void writeRow(const Block& block, size_t row, Writer& out) override {
        for (size_t i = 0; i < texts_->size(); ++i) {
            if (i > 0) out.writeByte(static_cast<uint8_t>(delimiter()));
            texts_->write(block, i, row, TextStyle::Csv, out);
        }
        out.writeByte('\n');
    }

    void writeWord(std::string_view word, Writer& out) override { writeCsv(word, out); }

    char delimiter() const override { return settings_.csv_delimiter; }
};

template <Heading heading, bool raw>
OutputFormatPtr makeTsv(const OutputSettings& settings) {
    return std::make_unique<TsvOutput>(settings, heading, raw);
}

template <Heading heading>
OutputFormatPtr makeCsv(const OutputSettings& settings) {
    return std::make_unique<CsvOutput>(settings, heading);
}

}  // namespace

std::span<const OutputFormatInfo> separatedOutputFormats() {
    constexpr const char* kCsvType = "text/csv; charset=UTF-8; header=absent";
    constexpr const char* kCsvNamedType = "text/csv; charset=UTF-8; header=present";
    static const OutputFormatInfo formats[] = {
        {"TabSeparated", kTsvType, makeTsv<Heading::None, false>},
        {"TSV", kTsvType, makeTsv<Heading::None, false>},
        {"TabSeparatedWithNames", kTsvType, makeTsv<Heading::Names, false>},
        {"TSVWithNames", kTsvType, makeTsv<Heading::Names, false>},
        {"TabSeparatedWithNamesAndTypes", kTsvType, makeTsv<Heading::NamesAndTypes, false>},
        {"TSVWithNamesAndTypes", kTsvType, makeTsv<Heading::NamesAndTypes, false>},
        {"TabSeparatedRaw", kTsvType, makeTsv<Heading::None, true>},
        {"TSVRaw", kTsvType, makeTsv<Heading::None, true>},
        {"Raw", kTsvType, makeTsv<Heading::None, true>},
        {"TabSeparatedRawWithNames", kTsvType, makeTsv<Heading::Names, true>},
        {"TSVRawWithNames", kTsvType, makeTsv<Heading::Names, true>},
        {"TabSeparatedRawWithNamesAndTypes", kTsvType, makeTsv<Heading::NamesAndTypes, true>},
        {"TSVRawWithNamesAndTypes", kTsvType, makeTsv<Heading::NamesAndTypes, true>},
        {"CSV", kCsvType, makeCsv<Heading::None>},
        {"CSVWithNames", kCsvNamedType, makeCsv<Heading::Names>},
        {"CSVWithNamesAndTypes", kCsvNamedType, makeCsv<Heading::NamesAndTypes>},
    };
    return formats;
}

}  // namespace shardd::formats
