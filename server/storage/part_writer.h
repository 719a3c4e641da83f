#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/base/file_system.h"
#include "common/columns/block.h"
#include "common/wire/frame.h"
#include "server/storage/checksums.h"
#include "server/storage/key.h"
#include "server/storage/part.h"

namespace shardd::storage {

/// A part to be written: sorted rows and how they are laid out.
struct PartContent {
    /// All columns of the table in its order, written out, sorted by the sorting key.
    const Block* block = nullptr;
    const KeyDescription* primary_key = nullptr;
    const KeyDescription* partition_key = nullptr;
    /// One row for each element of the partition key.
    std::vector<ColumnPtr> partition_values;
    std::vector<PartColumn> minmax_columns;
    /// By column; LZ4 where none is given.
    std::map<std::string, FrameOptions, std::less<>> codecs;
    uint64_t index_granularity = 8192;
    /// 0: granules of constant size and .mrk.
    uint64_t index_granularity_bytes = 10485760;
    bool string_sizes = true;
    /// All columns in data.bin; only with granules of varying size.
    bool compact = false;
    /// Every file and the directory are on the disk at the end.
    bool durable = true;
};

/// Writes a part into `directory`, which must not be there yet. The part becomes one by the caller's
/// rename. Errors: those of files; what was written stays for the caller to remove.
void writePart(FileSystem& files, const std::string& directory, const PartContent& content);

}  // namespace shardd::storage
