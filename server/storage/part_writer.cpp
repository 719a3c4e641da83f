#include "server/storage/part_writer.h"

#include <algorithm>
#include <cstring>

#include "common/base/error.h"
#include "common/base/writer.h"
#include "server/storage/column_encoder.h"
#include "server/storage/file_names.h"
#include "server/storage/stream_path.h"
#include "server/storage/value_binary.h"

namespace shardd::storage {

namespace {

/// A block is closed at the end of a granule once it has this many bytes.
constexpr size_t kMinBlockBytes = 65536;
/// Files kept open for one sync of all at the end: the first one then writes what the others wait for.
constexpr size_t kMaxUnsynced = 200;

/// Makes the files of a part and their checksums.
class PartFiles {
public:
    PartFiles(FileSystem& files, std::string directory, bool durable)
        : files_(files), directory_(std::move(directory)), durable_(durable) {
        files_.createDirectories(directory_);
    }

    std::unique_ptr<WritableFile> create(const std::string& name) {
        return files_.create(directory_ + "/" + name);
    }

    /// `file` is complete.
    void add(const std::string& name, std::unique_ptr<WritableFile> file, const FileChecksum& checksum) {
        checksums_.files[name] = checksum;
        keep(std::move(file));
    }

    /// A small file; `listed` files stand in checksums.txt.
    void write(const std::string& name, std::string_view bytes, bool listed) {
        std::unique_ptr<WritableFile> file = create(name);
        file->append(bytes);
        if (listed) {
            FileHasher hasher;
            hasher.update(bytes);
            checksums_.files[name] = {.bytes = bytes.size(), .hash = hasher.hash()};
        }
        keep(std::move(file));
    }

    void finish() {
        write("checksums.txt", checksums_.write(), false);
        syncKept();
        if (durable_) files_.syncDirectory(directory_);
    }

private:
    void keep(std::unique_ptr<WritableFile> file) {
        if (!durable_) return;
        unsynced_.push_back(std::move(file));
        if (unsynced_.size() >= kMaxUnsynced) syncKept();
    }

    void syncKept() {
        for (const auto& file : unsynced_) file->sync();
        unsynced_.clear();
    }

    FileSystem& files_;
    std::string directory_;
    bool durable_;
    Checksums checksums_;
    std::vector<std::unique_ptr<WritableFile>> unsynced_;
};

/// One .bin file and its marks.
class StreamFile final : public StreamOutput {
public:
    StreamFile(PartFiles& files, const std::string& stream, FrameOptions codec)
        : files_(files), name_(streamFileName(stream)), codec_(codec), file_(files.create(name_ + ".bin")) {}

    Writer& data() override { return data_; }

    void pinMark() override {
        pinned_ = {.block_offset = hasher_.bytes(), .offset_in_block = data_.size()};
        is_pinned_ = true;
    }

    void addMark(uint64_t rows, bool adaptive) {
        const Mark mark = is_pinned_ && rows != 0
                              ? pinned_
                              : Mark{.block_offset = hasher_.bytes(), .offset_in_block = data_.size()};
        marks_.writeFixed(mark);
        if (adaptive) marks_.writeFixed(rows);
    }

    void endGranule() {
        if (data_.size() >= kMinBlockBytes) flush();
    }

    void flush() {
        if (data_.empty()) return;
        data_hasher_.update(data_.view());
        compressed_.clear();
        encodeFrames(data_.view(), codec_, compressed_);
        hasher_.update(compressed_.view());
        file_->append(compressed_.view());
        data_.clear();
    }

    void finish(bool adaptive) {
        const FileChecksum checksum{.bytes = hasher_.bytes(),
                                    .hash = hasher_.hash(),
                                    .compressed = true,
                                    .data_bytes = data_hasher_.bytes(),
                                    .data_hash = data_hasher_.hash()};
        files_.add(name_ + ".bin", std::move(file_), checksum);
        files_.write(name_ + (adaptive ? ".mrk2" : ".mrk"), marks_.view(), true);
    }

private:
    PartFiles& files_;
    std::string name_;
    FrameOptions codec_;
    std::unique_ptr<WritableFile> file_;
    Writer data_;
    Writer compressed_;
    Writer marks_;
    FileHasher hasher_;
    FileHasher data_hasher_;
    Mark pinned_;
    bool is_pinned_ = false;
};

/// The sizes of a Nested column that another column of the same Nested has written already.
class ForgottenStream final : public StreamOutput {
public:
    Writer& data() override {
        data_.clear();
        return data_;
    }

    void pinMark() override {}

private:
    Writer data_;
};

class WideTarget final : public StreamTarget {
public:
    WideTarget(PartFiles& files, const PartContent& content) : files_(files), content_(content) {}

    StreamOutput& open(const std::string& stream) override {
        if (std::find(written_.begin(), written_.end(), stream) != written_.end()) return forgotten_;
        written_.push_back(stream);
        const auto codec = content_.codecs.find(column_);
        streams_.push_back(std::make_unique<StreamFile>(
            files_, stream, codec == content_.codecs.end() ? FrameOptions{} : codec->second));
        return *streams_.back();
    }

    void writeColumn(const NamedColumn& column, const std::vector<size_t>& starts) {
        column_ = column.name;
        const bool adaptive = content_.index_granularity_bytes != 0;
        const auto encoder = makeColumnEncoder(column.name, column.type, column.column, *this,
                                               {.string_sizes = content_.string_sizes});
        encoder->begin();
        for (size_t i = 0; i + 1 < starts.size(); ++i) {
            const size_t rows = starts[i + 1] - starts[i];
            for (const auto& stream : streams_) stream->addMark(rows, adaptive);
            encoder->write(starts[i], rows);
            for (const auto& stream : streams_) stream->endGranule();
        }
        for (const auto& stream : streams_) {
            stream->flush();
            if (adaptive) stream->addMark(0, adaptive);
            stream->finish(adaptive);
        }
        streams_.clear();
    }

private:
    PartFiles& files_;
    const PartContent& content_;
    std::string column_;
    std::vector<std::unique_ptr<StreamFile>> streams_;  // of the column being written
    std::vector<std::string> written_;                  // of all columns
    ForgottenStream forgotten_;
};

/// data.bin and its marks: granule by granule, column by column, each beginning a block.
class CompactFile final : public StreamTarget {
public:
    CompactFile(PartFiles& files, const PartContent& content)
        : files_(files), content_(content), file_(files.create("data.bin")) {}

    StreamOutput& open(const std::string& /*stream*/) override { return output_; }

    void write(const Block& block, const std::vector<size_t>& starts) {
        std::vector<std::unique_ptr<ColumnEncoder>> encoders;
        std::vector<FrameOptions> codecs;
        for (const NamedColumn& column : block.columns) {
            encoders.push_back(makeColumnEncoder(column.name, column.type, column.column, *this,
                                                 {.string_sizes = content_.string_sizes, .compact = true}));
            const auto codec = content_.codecs.find(column.name);
            codecs.push_back(codec == content_.codecs.end() ? FrameOptions{} : codec->second);
        }
        for (size_t granule = 0; granule + 1 < starts.size(); ++granule) {
            const size_t rows = starts[granule + 1] - starts[granule];
            for (size_t i = 0; i < encoders.size(); ++i) {
                marks_.writeFixed(Mark{.block_offset = hasher_.bytes(), .offset_in_block = 0});
                encoders[i]->writePrefix();
                encoders[i]->write(starts[granule], rows);
                flush(codecs[i]);
            }
            marks_.writeFixed(uint64_t{rows});
        }
        for (size_t i = 0; i < encoders.size(); ++i)
            marks_.writeFixed(Mark{.block_offset = hasher_.bytes(), .offset_in_block = 0});
        marks_.writeFixed(uint64_t{0});
        finish();
    }

private:
    class Output final : public StreamOutput {
    public:
        Writer& data() override { return bytes; }

        void pinMark() override {}

        Writer bytes;
    };

    void flush(FrameOptions codec) {
        data_hasher_.update(output_.bytes.view());
        compressed_.clear();
        encodeFrames(output_.bytes.view(), codec, compressed_);
        output_.bytes.clear();
        hasher_.update(compressed_.view());
        file_->append(compressed_.view());
    }

    void finish() {
        // The hash of the decompressed content is that of the stream's hash, as if there were one codec;
        // nobody compares it.
        const Hash128 stream = data_hasher_.hash();
        char bytes[sizeof(stream)];
        std::memcpy(bytes, &stream, sizeof(stream));
        files_.add("data.bin", std::move(file_),
                   {.bytes = hasher_.bytes(),
                    .hash = hasher_.hash(),
                    .compressed = true,
                    .data_bytes = data_hasher_.bytes(),
                    .data_hash = cityHash128WithSeed(bytes, sizeof(bytes), {0, 0})});
        files_.write("data.mrk3", marks_.view(), true);
    }

    PartFiles& files_;
    const PartContent& content_;
    std::unique_ptr<WritableFile> file_;
    Output output_;
    Writer compressed_;
    Writer marks_;
    FileHasher hasher_;
    FileHasher data_hasher_;
};

/// The first rows of granules, and the number of rows.
std::vector<size_t> granuleStarts(const PartContent& content) {
    const Block& block = *content.block;
    uint64_t rows_a_granule = content.index_granularity;
    if (content.index_granularity_bytes != 0 && block.rows != 0) {
        const uint64_t row_bytes = std::max<uint64_t>(1, block.dataBytes() / block.rows);
        rows_a_granule =
            std::clamp<uint64_t>(content.index_granularity_bytes / row_bytes, 1, content.index_granularity);
    }
    std::vector<size_t> starts;
    for (size_t row = 0; row < block.rows; row += rows_a_granule) starts.push_back(row);
    starts.push_back(block.rows);
    return starts;
}

std::string primaryIndex(const PartContent& content, const std::vector<size_t>& starts) {
    Writer out;
    std::vector<ColumnPtr> keys;
    for (const KeyElement& element : content.primary_key->elements)
        keys.push_back(element.compute(*content.block));
    const auto writeRow = [&](size_t row) {
        for (size_t i = 0; i < keys.size(); ++i)
            writeValueBinary(*content.primary_key->elements[i].type, *keys[i], row, out);
    };
    for (size_t i = 0; i + 1 < starts.size(); ++i) writeRow(starts[i]);
    if (content.index_granularity_bytes != 0 && content.block->rows != 0) writeRow(content.block->rows - 1);
    return std::string(out.view());
}

void writePartition(PartFiles& files, const PartContent& content) {
    if (content.partition_key->empty()) return;
    Writer out;
    for (size_t i = 0; i < content.partition_values.size(); ++i)
        writeValueBinary(*content.partition_key->elements[i].type, *content.partition_values[i], 0, out);
    files.write("partition.dat", out.view(), true);
    for (const PartColumn& column : content.minmax_columns) {
        const Column& values = *content.block->get(column.name).column;
        size_t least = 0;
        size_t greatest = 0;
        for (size_t row = 1; row < values.size(); ++row) {
            if (values.compareAt(row, values, least, 1) < 0) least = row;
            if (values.compareAt(row, values, greatest, 1) > 0) greatest = row;
        }
        Writer bounds;
        writeValueBinary(*column.type, values, least, bounds);
        writeValueBinary(*column.type, values, greatest, bounds);
        files.write("minmax_" + escapeFileName(column.name) + ".idx", bounds.view(), true);
    }
}

}  // namespace

void writePart(FileSystem& files, const std::string& directory, const PartContent& content) {
    PartFiles part(files, directory, content.durable);
    const std::vector<size_t> starts = granuleStarts(content);
    if (!content.primary_key->empty()) part.write("primary.idx", primaryIndex(content, starts), true);
    std::vector<PartColumn> columns;
    for (const NamedColumn& column : content.block->columns) columns.push_back({column.name, column.type});
    if (content.compact) {
        CompactFile(part, content).write(*content.block, starts);
    } else {
        WideTarget target(part, content);
        for (const NamedColumn& column : content.block->columns) target.writeColumn(column, starts);
    }
    part.write("count.txt", std::to_string(content.block->rows), true);
    writePartition(part, content);
    if (content.string_sizes) part.write("serialization.json", SerializationInfo::textForStringSizes(), true);
    part.write("columns.txt", writeColumnsText(columns), false);
    part.write("metadata_version.txt", "0", false);
    part.write("default_compression_codec.txt", "CODEC(LZ4)", false);
    part.finish();
}

}  // namespace shardd::storage
