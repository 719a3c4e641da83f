#include "server/storage/checksums.h"

#include <algorithm>

#include "common/base/error.h"
#include "common/base/reader.h"
#include "common/wire/frame.h"

namespace shardd::storage {

namespace {

constexpr std::string_view kHeader = "checksums format version: ";

Hash128 readHash(Reader& in) {
    const auto low = in.readFixed<uint64_t>();
    return {low, in.readFixed<uint64_t>()};
}

Checksums readEntries(Reader& in) {
    Checksums checksums;
    const uint64_t count = in.readVarUInt();
    for (uint64_t i = 0; i < count; ++i) {
        const std::string name = in.readString(4096);
        FileChecksum file;
        file.bytes = in.readVarUInt();
        file.hash = readHash(in);
        file.compressed = in.readByte() != 0;
        if (file.compressed) {
            file.data_bytes = in.readVarUInt();
            file.data_hash = readHash(in);
        }
        checksums.files[name] = file;
    }
    return checksums;
}

}  // namespace

void FileHasher::update(std::string_view bytes) {
    bytes_ += bytes.size();
    if (!pending_.empty()) {
        const size_t taken = std::min(kPieceBytes - pending_.size(), bytes.size());
        pending_.append(bytes.substr(0, taken));
        bytes.remove_prefix(taken);
        if (pending_.size() < kPieceBytes) return;
        state_ = cityHash128WithSeed(pending_.data(), kPieceBytes, state_);
        pending_.clear();
    }
    for (; bytes.size() >= kPieceBytes; bytes.remove_prefix(kPieceBytes))
        state_ = cityHash128WithSeed(bytes.data(), kPieceBytes, state_);
    pending_.append(bytes);
}

Hash128 FileHasher::hash() const {
    return pending_.empty() ? state_ : cityHash128WithSeed(pending_.data(), pending_.size(), state_);
}

uint64_t Checksums::totalBytes() const {
    uint64_t total = 0;
    for (const auto& [name, file] : files) total += file.bytes;
    return total;
}

std::string Checksums::write() const {
    Writer entries;
    entries.writeVarUInt(files.size());
    for (const auto& [name, file] : files) {
        entries.writeString(name);
        entries.writeVarUInt(file.bytes);
        entries.writeFixed(file.hash.low);
        entries.writeFixed(file.hash.high);
        entries.writeByte(file.compressed ? 1 : 0);
        if (!file.compressed) continue;
        entries.writeVarUInt(file.data_bytes);
        entries.writeFixed(file.data_hash.low);
        entries.writeFixed(file.data_hash.high);
    }
    Writer out;
    out.writeBytes(kHeader);
    out.writeBytes("4\n");
    encodeFrames(entries.view(), {}, out);
    return std::string(out.view());
}

Checksums Checksums::parse(std::string_view text) {
    if (!text.starts_with(kHeader) || text.size() < kHeader.size() + 2 || text[kHeader.size() + 1] != '\n')
        throw Error(ErrorCode::INCORRECT_DATA, "checksums.txt does not begin with its version");
    const char version = text[kHeader.size()];
    Reader in(text.substr(kHeader.size() + 2));
    if (version == '3') return readEntries(in);
    if (version != '4')
        throw Error(ErrorCode::UNKNOWN_FORMAT_VERSION, "checksums.txt has version {}, only 3 and 4 are known",
                    version);
    FrameReader frames(in);
    return readEntries(frames);
}

}  // namespace shardd::storage
