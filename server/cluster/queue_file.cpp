#include "server/cluster/queue_file.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "common/base/city_hash.h"
#include "common/base/writer.h"
#include "common/protocol/native_options.h"
#include "common/wire/native.h"

namespace shardd::cluster {

namespace {

/// The first bytes of every file, and the version behind them. They lie on disks: never renumber.
constexpr std::string_view kMagic = "SHARDDQ\n";
constexpr uint32_t kVersion = 1;
constexpr size_t kPrefixBytes = kMagic.size() + 2 * sizeof(uint32_t);
constexpr size_t kMaxHeaderBytes = size_t{64} << 20;
/// The block's form: that of a connection of this revision, fixed by version 1.
constexpr protocol::Revision kBlockRevision = 54486;
constexpr size_t kReadBytes = size_t{256} << 10;

void write(Writer& out, const storage::QueryOrigin& origin) {
    out.writeString(origin.initial_user);
    out.writeString(origin.initial_query_id);
    out.writeString(origin.initial_address);
    out.writeFixed(origin.initial_start_microseconds);
    out.writeVarUInt(origin.distributed_depth);
}

storage::QueryOrigin readOrigin(Reader& in) {
    storage::QueryOrigin origin;
    origin.initial_user = in.readString();
    origin.initial_query_id = in.readString();
    origin.initial_address = in.readString();
    in.readFixed(origin.initial_start_microseconds);
    origin.distributed_depth = in.readVarUInt();
    return origin;
}

void write(Writer& out, const QueueFileHeader& header) {
    out.writeString(header.text);
    out.writeVarUInt(header.settings.size());
    for (const auto& [name, value] : header.settings) {
        out.writeString(name);
        out.writeString(value);
    }
    write(out, header.origin);
    out.writeVarUInt(header.rows);
    out.writeVarUInt(header.bytes);
    out.writeString(header.structure);
}

QueueFileHeader readHeader(Reader& in) {
    QueueFileHeader header;
    header.text = in.readString();
    // Every setting takes at least two bytes: a count beyond what is left ends by itself.
    for (uint64_t left = in.readVarUInt(); left > 0; --left) {
        std::string name = in.readString();
        header.settings.emplace_back(std::move(name), in.readString());
    }
    header.origin = readOrigin(in);
    header.rows = in.readVarUInt();
    header.bytes = in.readVarUInt();
    header.structure = in.readString();
    return header;
}

std::string structureOf(const Block& block) {
    std::string text;
    for (const NamedColumn& column : block.columns)
        text += fmt::format("{} {}\n", column.name, column.type->name());
    return text;
}

/// Bytes of a file one after another.
class FileReader final : public Reader {
public:
    explicit FileReader(const ReadableFile& file) : Reader(nullptr, 0), file_(file), buffer_(kReadBytes) {}

    uint64_t left() const { return file_.size() - next_ + available(); }

protected:
    bool refill() override {
        const size_t got = file_.read(next_, buffer_.data(), buffer_.size());
        next_ += got;
        position_ = buffer_.data();
        end_ = position_ + got;
        return got > 0;
    }

private:
    const ReadableFile& file_;
    PodVector<char> buffer_;
    uint64_t next_ = 0;
};

/// The frames behind the header, none larger than we write them.
class BodyReader final : public Reader {
public:
    explicit BodyReader(FileReader& file) : Reader(nullptr, 0), file_(file) {}

protected:
    bool refill() override {
        if (file_.left() == 0) return false;
        if (file_.left() < kFrameHeaderBytes)
            throw Error(ErrorCode::CANNOT_READ_ALL_DATA, "the file is cut in a frame's header");
        frame_.resize(kFrameHeaderBytes);
        file_.readBytes(frame_.data(), kFrameHeaderBytes);
        const std::optional<FrameHeader> header = peekFrameHeader({frame_.data(), frame_.size()});
        if (header->data_bytes > kFrameDataBytes || header->payload_bytes > file_.left())
            throw Error(ErrorCode::CANNOT_READ_ALL_DATA, "the file is cut in a frame, or its size is wrong");
        frame_.resize(header->frameBytes());
        file_.readBytes(frame_.data() + kFrameHeaderBytes, header->payload_bytes);
        data_.clear();
        decodeFrame(*header, {frame_.data(), frame_.size()}, data_);
        position_ = data_.data();
        end_ = position_ + data_.size();
        return !data_.empty();
    }

private:
    FileReader& file_;
    PodVector<char> frame_;
    PodVector<char> data_;
};

QueueFileHeader readChecked(FileReader& in) {
    std::string prefix(kPrefixBytes, '\0');
    in.readBytes(prefix.data(), prefix.size());
    if (!prefix.starts_with(kMagic)) throw BrokenQueueFile{"it is no file of a queue"};
    uint32_t version = 0;
    uint32_t bytes = 0;
    std::memcpy(&version, prefix.data() + kMagic.size(), sizeof(version));
    std::memcpy(&bytes, prefix.data() + kMagic.size() + sizeof(version), sizeof(bytes));
    if (version != kVersion)
        throw BrokenQueueFile{
            fmt::format("it is of version {}, and this server reads {}", version, kVersion)};
    if (bytes > kMaxHeaderBytes || bytes + sizeof(Hash128) > in.left())
        throw BrokenQueueFile{fmt::format("its header claims {} bytes", bytes)};
    std::string checked = std::move(prefix);
    checked.resize(kPrefixBytes + bytes);
    in.readBytes(checked.data() + kPrefixBytes, bytes);
    const auto expected = in.readFixed<Hash128>();
    const Hash128 actual = cityHash128(checked.data(), checked.size());
    if (expected != actual) throw BrokenQueueFile{"the checksum of its header does not match"};
    Reader fields(std::string_view(checked).substr(kPrefixBytes));
    QueueFileHeader header = readHeader(fields);
    if (!fields.atEnd()) throw BrokenQueueFile{"its header is longer than it should be"};
    return header;
}

/// What a broken file may make of our own errors; the disk's and the memory's are none of it.
bool isOfTheDisk(const Error& error) {
    return error.is(ErrorCode::CANNOT_READ_FROM_FILE_DESCRIPTOR) || error.is(ErrorCode::CANNOT_OPEN_FILE) ||
           error.is(ErrorCode::FILE_DOESNT_EXIST) || error.is(ErrorCode::MEMORY_LIMIT_EXCEEDED);
}

template <typename Read>
auto checking(Read read) {
    try {
        return read();
    } catch (const Error& error) {
        if (isOfTheDisk(error)) throw;
        throw BrokenQueueFile{error.message()};
    }
}

}  // namespace

void writeQueueFile(FileSystem& files,
                    const std::string& path,
                    QueueFileHeader header,
                    const Block& block,
                    FrameOptions frames,
                    bool durable) {
    Writer body;
    writeBlock(block, protocol::nativeOptionsAt(kBlockRevision), body);
    header.rows = block.rows;
    header.bytes = body.size();
    header.structure = structureOf(block);
    Writer fields;
    write(fields, header);
    Writer out;
    out.writeBytes(kMagic);
    out.writeFixed(kVersion);
    out.writeFixed(static_cast<uint32_t>(fields.size()));
    out.writeBytes(fields.view());
    out.writeFixed(cityHash128(out.data(), out.size()));
    const auto file = files.create(path);
    file->append(out.view());
    for (std::string_view rest = body.view(); !rest.empty();) {
        const std::string_view part = rest.substr(0, kFrameDataBytes);
        rest.remove_prefix(part.size());
        out.clear();
        encodeFrames(part, frames, out);
        file->append(out.view());
    }
    if (durable) file->sync();
}

QueueFileHeader readQueueFileHeader(const FileSystem& files, const std::string& path) {
    const auto file = files.openForReading(path);
    return checking([&] {
        FileReader in(*file);
        return readChecked(in);
    });
}

QueueFile readQueueFile(const FileSystem& files, const std::string& path) {
    const auto file = files.openForReading(path);
    return checking([&] {
        FileReader in(*file);
        QueueFile read;
        read.header = readChecked(in);
        BodyReader body(in);
        BlockReader blocks(protocol::nativeOptionsAt(kBlockRevision));
        read.block = blocks.read(body);
        if (!body.atEnd()) throw BrokenQueueFile{"it is longer than its block"};
        if (read.block.rows != read.header.rows || structureOf(read.block) != read.header.structure)
            throw BrokenQueueFile{"its block is not the one of its header"};
        return read;
    });
}

}  // namespace shardd::cluster
