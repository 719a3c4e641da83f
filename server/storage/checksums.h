#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "common/base/city_hash.h"
#include "common/base/writer.h"

namespace shardd::storage {

/// The hash of a file in checksums.txt: CityHash128 chained over pieces of 2048 bytes.
/// Source: docs/storage-format.md, "checksums.txt".
class FileHasher {
public:
    void update(std::string_view bytes);
    /// The hash of everything so far; more may follow.
    Hash128 hash() const;

    uint64_t bytes() const { return bytes_; }

private:
    static constexpr size_t kPieceBytes = 2048;

    Hash128 state_{0, 0};
    std::string pending_;  // less than a piece
    uint64_t bytes_ = 0;
};

struct FileChecksum {
    uint64_t bytes = 0;
    Hash128 hash{0, 0};
    bool compressed = false;
    uint64_t data_bytes = 0;  // of the decompressed content, when compressed
    Hash128 data_hash{0, 0};
};

/// The files of a part with sizes and hashes: what stands in checksums.txt is the part.
struct Checksums {
    std::map<std::string, FileChecksum, std::less<>> files;

    bool has(std::string_view name) const { return files.contains(name); }

    /// On the disk, all files together.
    uint64_t totalBytes() const;

    /// The text of checksums.txt, version 4.
    std::string write() const;
    /// Versions 4 and 3. Errors: UNKNOWN_FORMAT_VERSION (34 …), and what frames say of broken bytes.
    static Checksums parse(std::string_view text);
};

}  // namespace shardd::storage
