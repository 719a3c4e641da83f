#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace shardd {

/// A file being read, from any number of threads at once.
class ReadableFile {
public:
    virtual ~ReadableFile() = default;

    virtual uint64_t size() const = 0;

    /// Reads up to `bytes` from `offset`; fewer only at the end of the file. Errors:
    /// CANNOT_READ_FROM_FILE_DESCRIPTOR (74).
    virtual size_t read(uint64_t offset, char* out, size_t bytes) const = 0;
};

/// A file being made. Nothing is durable before sync(), and its name not before its directory is synced.
class WritableFile {
public:
    virtual ~WritableFile() = default;

    /// Errors: CANNOT_WRITE_TO_FILE_DESCRIPTOR (75), NOT_ENOUGH_SPACE (243).
    virtual void append(std::string_view bytes) = 0;

    /// The bytes are on the disk. Errors: CANNOT_FSYNC (204).
    virtual void sync() = 0;
};

/// What storage asks of a disk, behind an interface so that tests can break it: one that forgets what was not
/// synced, one that fails at the n-th write. Errors: FILE_DOESNT_EXIST (107), CANNOT_OPEN_FILE (76),
/// FILE_ALREADY_EXISTS (504), CANNOT_CREATE_DIRECTORY (172), the system's words at the end. Threads: all
/// members may be called from any thread.
class FileSystem {
public:
    struct Entry {
        std::string name;
        bool is_directory = false;
    };

    virtual ~FileSystem() = default;

    virtual std::unique_ptr<ReadableFile> openForReading(const std::string& path) const = 0;

    /// Empty, whatever was there.
    virtual std::unique_ptr<WritableFile> create(const std::string& path) = 0;

    /// With its parents; nothing happens to one that is there.
    virtual void createDirectories(const std::string& path) = 0;

    /// Replaces a file that has the new name. A directory may only replace an empty one.
    virtual void rename(const std::string& from, const std::string& to) = 0;

    /// Two names swap what they mean, at once.
    virtual void exchange(const std::string& one, const std::string& other) = 0;

    /// A second name of the same file, whose bytes never change after that.
    virtual void link(const std::string& from, const std::string& to) = 0;

    virtual void removeFile(const std::string& path) = 0;

    /// With everything inside; nothing happens when it is not there.
    virtual void removeRecursively(const std::string& path) = 0;

    /// The names in a directory are on the disk.
    virtual void syncDirectory(const std::string& path) = 0;

    /// By name; empty when the directory is not there.
    virtual std::vector<Entry> list(const std::string& path) const = 0;

    virtual bool exists(const std::string& path) const = 0;

    /// FILE_DOESNT_EXIST when it is not there.
    virtual uint64_t fileSize(const std::string& path) const = 0;

    /// The whole file; `limit_bytes` guards against one that is not what it should be (TOO_LARGE_STRING_SIZE,
    /// 131).
    std::string readFile(const std::string& path, uint64_t limit_bytes = uint64_t{1} << 30) const;

    /// A new file of these bytes; synced when `durable` (its name is not).
    void writeFile(const std::string& path, std::string_view bytes, bool durable);

    /// Under a temporary name, synced, renamed, the directory synced: after a crash the old bytes are there
    /// or the new.
    void replaceFile(const std::string& path, std::string_view bytes);
};

/// The machine's own.
FileSystem& localFileSystem();

/// "a/b" of "a/b/c"; empty without a slash.
std::string parentPath(const std::string& path);

}  // namespace shardd
