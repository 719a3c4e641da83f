#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/bootstrap/member.h"

namespace shardd::bootstrap {

/// What the shared file of file:// holds: which group, and a record for each rank that has come. A record's
/// beat grows as long as its process lives.
struct BoardFile {
    struct Entry {
        uint64_t beat = 0;
        Member member;
    };

    std::string cluster;
    uint32_t world_size = 0;
    std::vector<Entry> entries;  ///< by rank
};

/// Errors: INCORRECT_DATA (117) and CANNOT_READ_ALL_DATA (33) for a torn file and for any other one;
/// AUTHENTICATION_FAILED (516) for one that is whole and was written with another secret.
BoardFile decodeBoardFile(std::string_view bytes, std::string_view secret);

std::string encodeBoardFile(const BoardFile& file, std::string_view secret);

/// A file under an exclusive lock, from opening to destruction. Another machine's lock counts, where the file
/// system knows such locks.
class LockedFile {
public:
    static constexpr size_t kMaxBytes = size_t{2} << 20;

    /// Nothing while somebody else holds the lock. Errors: CANNOT_OPEN_FILE (76).
    static std::optional<LockedFile> tryOpen(const std::string& path);

    LockedFile(LockedFile&& other) noexcept;
    LockedFile& operator=(LockedFile&&) = delete;
    ~LockedFile();

    /// Errors: TOO_LARGE_STRING_SIZE (131), CANNOT_READ_FROM_FILE_DESCRIPTOR (74).
    std::string read() const;

    /// Errors: CANNOT_WRITE_TO_FILE_DESCRIPTOR (75).
    void write(std::string_view bytes);

    void remove();

private:
    LockedFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

    std::string path_;
    int descriptor_;
};

}  // namespace shardd::bootstrap
