#include "common/base/file_system.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.h"

namespace shardd {

namespace {

std::string systemWords() { return std::system_category().message(errno); }

/// Owns a descriptor.
class Descriptor {
public:
    explicit Descriptor(int number) : number_(number) {}

    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;

    ~Descriptor() { ::close(number_); }

    int number() const { return number_; }

private:
    int number_;
};

int openOrFail(const std::string& path, int flags) {
    int number = -1;
    do {
        number = ::open(path.c_str(), flags | O_CLOEXEC, 0640);
    } while (number < 0 && errno == EINTR);
    if (number >= 0) return number;
    if (errno == ENOENT) throw Error(ErrorCode::FILE_DOESNT_EXIST, "File {} does not exist", path);
    throw Error(ErrorCode::CANNOT_OPEN_FILE, "Cannot open file {}: {}", path, systemWords());
}

class LocalReadableFile final : public ReadableFile {
public:
    explicit LocalReadableFile(const std::string& path) : path_(path), file_(openOrFail(path, O_RDONLY)) {
        struct stat status {};

        if (::fstat(file_.number(), &status) != 0)
            throw Error(ErrorCode::CANNOT_OPEN_FILE, "Cannot look at file {}: {}", path, systemWords());
        size_ = static_cast<uint64_t>(status.st_size);
    }

    uint64_t size() const override { return size_; }

    size_t read(uint64_t offset, char* out, size_t bytes) const override {
        size_t done = 0;
        while (done < bytes) {
            const ssize_t got =
                ::pread(file_.number(), out + done, bytes - done, static_cast<off_t>(offset + done));
            if (got == 0) break;
            if (got > 0) {
                done += static_cast<size_t>(got);
            } else if (errno != EINTR) {
                throw Error(ErrorCode::CANNOT_READ_FROM_FILE_DESCRIPTOR, "Cannot read file {}: {}", path_,
                            systemWords());
            }
        }
        return done;
    }

private:
    std::string path_;
    Descriptor file_;
    uint64_t size_ = 0;
};

class LocalWritableFile final : public WritableFile {
public:
    explicit LocalWritableFile(const std::string& path)
        : path_(path), file_(openOrFail(path, O_WRONLY | O_CREAT | O_TRUNC)) {}

    void append(std::string_view bytes) override {
        while (!bytes.empty()) {
            const ssize_t wrote = ::write(file_.number(), bytes.data(), bytes.size());
            if (wrote >= 0) {
                bytes.remove_prefix(static_cast<size_t>(wrote));
            } else if (errno == ENOSPC || errno == EDQUOT) {
                throw Error(ErrorCode::NOT_ENOUGH_SPACE, "Cannot write file {}: {}", path_, systemWords());
            } else if (errno != EINTR) {
                throw Error(ErrorCode::CANNOT_WRITE_TO_FILE_DESCRIPTOR, "Cannot write file {}: {}", path_,
                            systemWords());
            }
        }
    }

    void sync() override {
        if (::fdatasync(file_.number()) != 0)
            throw Error(ErrorCode::CANNOT_FSYNC, "Cannot sync file {}: {}", path_, systemWords());
    }

private:
    std::string path_;
    Descriptor file_;
};

class LocalFileSystem final : public FileSystem {
public:
    std::unique_ptr<ReadableFile> openForReading(const std::string& path) const override {
        return std::make_unique<LocalReadableFile>(path);
    }

    std::unique_ptr<WritableFile> create(const std::string& path) override {
        return std::make_unique<LocalWritableFile>(path);
    }

    void createDirectories(const std::string& path) override {
        std::error_code failure;
        std::filesystem::create_directories(path, failure);
        if (failure)
            throw Error(ErrorCode::CANNOT_CREATE_DIRECTORY, "Cannot create directory {}: {}", path,
                        failure.message());
    }

    void rename(const std::string& from, const std::string& to) override { renameWith(from, to, 0); }

    void exchange(const std::string& one, const std::string& other) override {
        renameWith(one, other, RENAME_EXCHANGE);
    }

    void link(const std::string& from, const std::string& to) override {
        if (::link(from.c_str(), to.c_str()) != 0)
            throw Error(ErrorCode::CANNOT_LINK, "Cannot link {} to {}: {}", from, to, systemWords());
    }

    void removeFile(const std::string& path) override {
        if (::unlink(path.c_str()) == 0) return;
        if (errno == ENOENT) throw Error(ErrorCode::FILE_DOESNT_EXIST, "File {} does not exist", path);
        throw Error(ErrorCode::CANNOT_UNLINK, "Cannot remove file {}: {}", path, systemWords());
    }

    void removeRecursively(const std::string& path) override {
        std::error_code failure;
        std::filesystem::remove_all(path, failure);
        if (failure)
            throw Error(ErrorCode::CANNOT_UNLINK, "Cannot remove directory {}: {}", path, failure.message());
    }

    void syncDirectory(const std::string& path) override {
        const Descriptor directory(openOrFail(path, O_RDONLY | O_DIRECTORY));
        if (::fsync(directory.number()) != 0)
            throw Error(ErrorCode::CANNOT_FSYNC, "Cannot sync directory {}: {}", path, systemWords());
    }

    std::vector<Entry> list(const std::string& path) const override {
        std::vector<Entry> entries;
        std::error_code failure;
        std::filesystem::directory_iterator iterator(path, failure);
        if (failure == std::errc::no_such_file_or_directory) return entries;
        if (failure)
            throw Error(ErrorCode::CANNOT_OPEN_FILE, "Cannot list directory {}: {}", path, failure.message());
        for (const auto& entry : iterator)
            entries.push_back({entry.path().filename().string(), entry.is_directory()});
        std::sort(entries.begin(), entries.end(),
                  [](const Entry& a, const Entry& b) { return a.name < b.name; });
        return entries;
    }

    bool exists(const std::string& path) const override { return ::access(path.c_str(), F_OK) == 0; }

    uint64_t fileSize(const std::string& path) const override {
        struct stat status {};

        if (::stat(path.c_str(), &status) != 0)
            throw Error(ErrorCode::FILE_DOESNT_EXIST, "File {} does not exist", path);
        return static_cast<uint64_t>(status.st_size);
    }

private:
    static void renameWith(const std::string& from, const std::string& to, unsigned flags) {
        if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags) == 0) return;
        if (errno == ENOENT)
            throw Error(ErrorCode::FILE_DOESNT_EXIST, "Cannot rename {}, which does not exist", from);
        if (errno == EEXIST || errno == ENOTEMPTY)
            throw Error(ErrorCode::FILE_ALREADY_EXISTS, "Cannot rename {} to {}, which exists", from, to);
        throw Error(ErrorCode::SYSTEM_ERROR, "Cannot rename {} to {}: {}", from, to, systemWords());
    }
};

}  // namespace

std::string FileSystem::readFile(const std::string& path, uint64_t limit_bytes) const {
    const auto file = openForReading(path);
    if (file->size() > limit_bytes)
        throw Error(ErrorCode::TOO_LARGE_STRING_SIZE, "File {} has {} bytes, more than the {} expected", path,
                    file->size(), limit_bytes);
    std::string bytes(file->size(), '\0');
    bytes.resize(file->read(0, bytes.data(), bytes.size()));
    return bytes;
}

void FileSystem::writeFile(const std::string& path, std::string_view bytes, bool durable) {
    const auto file = create(path);
    file->append(bytes);
    if (durable) file->sync();
}

void FileSystem::replaceFile(const std::string& path, std::string_view bytes) {
    const std::string temporary = path + ".tmp";
    writeFile(temporary, bytes, true);
    rename(temporary, path);
    syncDirectory(parentPath(path));
}

FileSystem& localFileSystem() {
    static LocalFileSystem file_system;
    return file_system;
}

std::string parentPath(const std::string& path) {
    const size_t slash = path.find_last_of('/');
    return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

}  // namespace shardd
