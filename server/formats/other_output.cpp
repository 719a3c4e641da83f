#include <algorithm>
#include <span>

#include "common/wire/native.h"
#include "server/formats/output_format.h"
#include "server/formats/quoting.h"

namespace shardd::formats {

namespace {

/// "(1,'a'),(2,'b')", as INSERT takes them.
class ValuesOutput final : public OutputFormat {
public:
    explicit ValuesOutput(const OutputSettings& settings) : settings_(settings) {}

    void header(const Block& header, Writer&) override { texts_.emplace(header, settings_.text); }

    void rows(const Block& block, Writer& out) override {
        for (size_t row = 0; row < block.rows; ++row) {
            out.writeBytes(is_first_ ? "(" : ",(");
            is_first_ = false;
            for (size_t i = 0; i < texts_->size(); ++i) {
                if (i > 0) out.writeByte(',');
                texts_->write(block, i, row, TextStyle::Quoted, out);
            }
            out.writeByte(')');
        }
    }

private:
    const OutputSettings settings_;
    std::optional<ColumnTexts> texts_;
    bool is_first_ = true;
};

/// "name=value" between tabs.
class TskvOutput final : public OutputFormat {
public:
    explicit TskvOutput(const OutputSettings& settings) : settings_(settings) {}

    void header(const Block& header, Writer&) override {
        texts_.emplace(header, settings_.text);
        for (const NamedColumn& column : header.columns) {
            Writer name;
            writeEscaped(column.name, name);
            std::string& begin = begins_.emplace_back();
            for (const char c : name.view()) begin += c == '=' ? std::string("\\=") : std::string(1, c);
            begin += '=';
        }
    }

    void rows(const Block& block, Writer& out) override {
        for (size_t row = 0; row < block.rows; ++row) {
            for (size_t i = 0; i < texts_->size(); ++i) {
                if (i > 0) out.writeByte('\t');
                out.writeBytes(begins_[i]);
                texts_->write(block, i, row, TextStyle::Escaped, out);
            }
            out.writeByte('\n');
        }
    }

private:
    const OutputSettings settings_;
    std::optional<ColumnTexts> texts_;
    std::vector<std::string> begins_;  ///< "name=" of each column
};

/// Every value on a line of its own, with its column's name.
class VerticalOutput final : public OutputFormat {
public:
    explicit VerticalOutput(const OutputSettings& settings) : settings_(settings) {}

    void header(const Block& header, Writer&) override {
        texts_.emplace(header, settings_.text);
        for (const NamedColumn& column : header.columns) width_ = std::max(width_, column.name.size());
    }

    void rows(const Block& block, Writer& out) override {
        for (size_t row = 0; row < block.rows; ++row) {
            if (row_ > 0) out.writeByte('\n');
            writeRow(block, row, fmt::format("Row {}:", ++row_), out);
        }
    }

    void totals(const Block& block, Writer& out) override {
        out.writeBytes("\n\n");
        writeRow(block, 0, "Totals:", out);
    }

    void extremes(const Block& block, Writer& out) override {
        out.writeByte('\n');
        writeRow(block, 0, "Min:", out);
        out.writeByte('\n');
        writeRow(block, 1, "Max:", out);
    }

private:
    void writeRow(const Block& block, size_t row, const std::string& title, Writer& out) {
        out.writeBytes(title);
        out.writeByte('\n');
        for (size_t i = 0; i < title.size(); ++i) out.writeBytes("─");
        out.writeByte('\n');
        for (size_t i = 0; i < texts_->size(); ++i) {
            const std::string& name = block.columns[i].name;
            out.writeBytes(name);
            out.writeByte(':');
            for (size_t blanks = name.size(); blanks < width_ + 1; ++blanks) out.writeByte(' ');
            if (block.columns[i].column->isNullAt(row))
                out.writeBytes("ᴺᵁᴸᴸ");
            else
                texts_->write(block, i, row, TextStyle::Plain, out);
            out.writeByte('\n');
        }
    }

    const OutputSettings settings_;
    std::optional<ColumnTexts> texts_;
    size_t width_ = 0;
    uint64_t row_ = 0;
};

/// Blocks as the native protocol of revision 0 has them: without the head of a block, types as ClickHouse
/// names them.
class NativeOutput final : public OutputFormat {
public:
    void header(const Block& header, Writer&) override { header_ = header.header(); }

    void rows(const Block& block, Writer& out) override {
        is_empty_ = false;
        writeBlock(block, NativeOptions{}, out);
    }

    void end(const ResultSummary&, Writer& out) override {
        if (is_empty_ && !header_.columns.empty()) writeBlock(header_, NativeOptions{}, out);
    }

private:
    Block header_;
    bool is_empty_ = true;
};

class NullOutput final : public OutputFormat {
public:
    void header(const Block&, Writer&) override {}

    void rows(const Block&, Writer&) override {}
};

template <typename Format>
OutputFormatPtr makeWithSettings(const OutputSettings& settings) {
    return std::make_unique<Format>(settings);
}

template <typename Format>
OutputFormatPtr makePlain(const OutputSettings&) {
    return std::make_unique<Format>();
}

}  // namespace

std::span<const OutputFormatInfo> otherOutputFormats() {
    constexpr const char* kPlain = "text/plain; charset=UTF-8";
    static const OutputFormatInfo formats[] = {
        {"Values", kPlain, makeWithSettings<ValuesOutput>},
        {"TSKV", kPlain, makeWithSettings<TskvOutput>},
        {"Vertical", kPlain, makeWithSettings<VerticalOutput>},
        {"Native", "application/octet-stream", makePlain<NativeOutput>},
        {"Null", kPlain, makePlain<NullOutput>},
    };
    return formats;
}

}  // namespace shardd::formats
