#include "server/bootstrap/board_file.h"

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/protocol/interserver.h"
#include "server/bootstrap/messages.h"

namespace shardd::bootstrap {

namespace {

constexpr std::string_view kFileMagic = "SHARDBTF";
constexpr uint16_t kFileVersion = 1;

std::string systemWords() { return std::generic_category().message(errno); }

/// Of a file without a secret, too, the seal tells a torn one.
std::string sealOf(std::string_view secret, std::string_view payload) {
    return secret.empty() ? protocol::sha256(payload) : protocol::hmacSha256(secret, payload);
}

Error wrong(std::string_view what) { return Error(ErrorCode::INCORRECT_DATA, "Bootstrap file: {}", what); }

}  // namespace

std::string encodeBoardFile(const BoardFile& file, std::string_view secret) {
    Writer payload;
    payload.writeString(file.cluster);
    payload.writeVarUInt(file.world_size);
    payload.writeVarUInt(file.entries.size());
    for (const BoardFile::Entry& entry : file.entries) {
        payload.writeFixed(entry.beat);
        encode(entry.member, payload);
    }
    Writer out;
    out.writeBytes(kFileMagic);
    out.writeFixed(kFileVersion);
    out.writeBytes(protocol::sha256(payload.view()));
    out.writeBytes(sealOf(secret, payload.view()));
    out.writeBytes(payload.view());
    return std::string(out.view());
}

BoardFile decodeBoardFile(std::string_view bytes, std::string_view secret) {
    constexpr size_t kHeadBytes = kFileMagic.size() + sizeof(kFileVersion) + 2 * kSealBytes;
    if (bytes.size() < kHeadBytes && kFileMagic.starts_with(bytes.substr(0, kFileMagic.size())))
        throw wrong("it is torn");
    Reader in(bytes);
    std::string magic(kFileMagic.size(), '\0');
    in.readBytes(magic.data(), magic.size());
    if (magic != kFileMagic) throw wrong("this is another kind of file");
    if (const auto version = in.readFixed<uint16_t>(); version != kFileVersion)
        throw wrong(fmt::format("version {} is not {}", version, kFileVersion));
    std::string sum(kSealBytes, '\0');
    std::string seal(kSealBytes, '\0');
    in.readBytes(sum.data(), sum.size());
    in.readBytes(seal.data(), seal.size());
    const std::string_view payload(in.position(), in.available());
    if (sum != protocol::sha256(payload)) throw wrong("it is torn");
    if (!protocol::equalInConstantTime(seal, sealOf(secret, payload)))
        throw Error(ErrorCode::AUTHENTICATION_FAILED, "it was written with another secret");
    BoardFile file;
    file.cluster = in.readString(256);
    const uint64_t world_size = in.readVarUInt();
    const uint64_t count = in.readVarUInt();
    if (world_size == 0 || world_size > kMaxWorldSize || count > world_size)
        throw wrong(fmt::format("{} members in a world of {}", count, world_size));
    file.world_size = static_cast<uint32_t>(world_size);
    for (uint64_t i = 0; i < count; ++i) {
        BoardFile::Entry entry;
        entry.beat = in.readFixed<uint64_t>();
        entry.member = decodeMember(in);
        const bool in_order = i == 0 || file.entries.back().member.rank < entry.member.rank;
        if (!in_order || entry.member.rank >= world_size)
            throw wrong(fmt::format("rank {} stands in a wrong place", entry.member.rank));
        file.entries.push_back(std::move(entry));
    }
    if (!in.atEnd()) throw wrong("bytes behind its end");
    return file;
}

std::optional<LockedFile> LockedFile::tryOpen(const std::string& path) {
    constexpr mode_t kOwnerOnly = 0600;
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kOwnerOnly);
    if (descriptor < 0) throw Error(ErrorCode::CANNOT_OPEN_FILE, "Cannot open {}: {}", path, systemWords());
    LockedFile file(path, descriptor);

    // A lock of this open file, not of the process: the kernel lets it go when the process dies.
    struct flock lock {};

    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    if (::fcntl(descriptor, F_OFD_SETLK, &lock) != 0) {
        if (errno == EAGAIN || errno == EACCES) return std::nullopt;
        throw Error(ErrorCode::CANNOT_OPEN_FILE, "Cannot lock {}: {}", path, systemWords());
    }

    // The last member of an earlier group may just have removed what was opened.
    struct stat opened {};

    struct stat named {};

    if (::fstat(descriptor, &opened) != 0 || ::stat(path.c_str(), &named) != 0 ||
        opened.st_ino != named.st_ino)
        return std::nullopt;
    if (!S_ISREG(opened.st_mode)) throw Error(ErrorCode::CANNOT_OPEN_FILE, "{} is no plain file", path);
    return file;
}

LockedFile::LockedFile(LockedFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

LockedFile::~LockedFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

std::string LockedFile::read() const {
    struct stat status {};

    if (::fstat(descriptor_, &status) != 0)
        throw Error(ErrorCode::CANNOT_READ_FROM_FILE_DESCRIPTOR, "Cannot read {}: {}", path_, systemWords());
    if (status.st_size > static_cast<off_t>(kMaxBytes))
        throw Error(ErrorCode::TOO_LARGE_STRING_SIZE, "{} has {} bytes: this is another kind of file", path_,
                    status.st_size);
    std::string bytes(static_cast<size_t>(status.st_size), '\0');
    size_t done = 0;
    while (done < bytes.size()) {
        const ssize_t got =
            ::pread(descriptor_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0)
            throw Error(ErrorCode::CANNOT_READ_FROM_FILE_DESCRIPTOR, "Cannot read {}: {}", path_,
                        systemWords());
        if (got == 0) break;
        done += static_cast<size_t>(got);
    }
    bytes.resize(done);
    return bytes;
}

void LockedFile::write(std::string_view bytes) {
    size_t done = 0;
    while (done < bytes.size()) {
        const ssize_t put =
            ::pwrite(descriptor_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
        if (put < 0 && errno == EINTR) continue;
        if (put < 0)
            throw Error(ErrorCode::CANNOT_WRITE_TO_FILE_DESCRIPTOR, "Cannot write {}: {}", path_,
                        systemWords());
        done += static_cast<size_t>(put);
    }
    if (::ftruncate(descriptor_, static_cast<off_t>(bytes.size())) != 0)
        throw Error(ErrorCode::CANNOT_WRITE_TO_FILE_DESCRIPTOR, "Cannot write {}: {}", path_, systemWords());
}

void LockedFile::remove() { ::unlink(path_.c_str()); }

}  // namespace shardd::bootstrap
