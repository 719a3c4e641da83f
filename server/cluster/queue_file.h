#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/base/file_system.h"
#include "common/columns/block.h"
#include "common/wire/frame.h"
#include "server/storage/table.h"

namespace shardd::cluster {

/// What a file of a Distributed table's queue says of its rows.
struct QueueFileHeader {
    /// "INSERT INTO db.t (a, b) VALUES"
    std::string text;
    std::vector<std::pair<std::string, std::string>> settings;
    storage::QueryOrigin origin;
    uint64_t rows = 0;
    /// Of the block in Native form, before it was compressed.
    uint64_t bytes = 0;
    /// Names and types of the columns, for files that are sent together.
    std::string structure;
};

/// One block with its header as a new file at `path`. Source: docs/storage-format.md, "Queues of
/// Distributed". Errors: those of the disk.
void writeQueueFile(FileSystem& files,
                    const std::string& path,
                    QueueFileHeader header,
                    const Block& block,
                    FrameOptions frames,
                    bool durable);

/// The bytes of a file are not what was written: it can never be sent. Any other error may pass.
struct BrokenQueueFile {
    std::string reason;
};

/// Throws BrokenQueueFile, and Error where the disk fails.
QueueFileHeader readQueueFileHeader(const FileSystem& files, const std::string& path);

struct QueueFile {
    QueueFileHeader header;
    Block block;
};

/// All of it, checked to the last byte. Throws as readQueueFileHeader(), and MEMORY_LIMIT_EXCEEDED.
QueueFile readQueueFile(const FileSystem& files, const std::string& path);

}  // namespace shardd::cluster
