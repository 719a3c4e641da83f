#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/file_system.h"
#include "common/wire/frame.h"

namespace shardd::exec {

/// The bytes on the disk that somebody may take: user -> query, as MemoryBudget is for memory.
/// Threads: any.
class DiskQuota {
public:
    /// 0 is no limit.
    explicit DiskQuota(uint64_t limit_bytes, std::shared_ptr<DiskQuota> parent = nullptr)
        : parent_(std::move(parent)), limit_(limit_bytes) {}

    /// Takes `bytes` here and in every parent, or throws TOO_MANY_ROWS_OR_BYTES (396) and takes nothing.
    void charge(uint64_t bytes);

    void release(uint64_t bytes) noexcept;

    void setLimit(uint64_t limit_bytes) noexcept { limit_.store(limit_bytes); }

    uint64_t usedBytes() const noexcept { return used_.load(); }

private:
    const std::shared_ptr<DiskQuota> parent_;
    std::atomic<uint64_t> used_ = 0;
    std::atomic<uint64_t> limit_;
};

/// Where a query puts what does not fit into memory.
struct TemporarySpace {
    FileSystem* files = nullptr;  // nullptr: nowhere, everything stays in memory
    std::string path;
    std::shared_ptr<DiskQuota> quota;
    uint64_t min_free_bytes = 0;  // that must stay free on the disk
    FrameOptions codec;
};

/// Bytes on the disk for as long as the object lives. The file has lost its name before the first byte is in
/// it, so whatever ends the query or the process, nothing stays behind.
/// Threads: append() one at a time; read() any, of bytes that are there.
/// Errors:  NOT_ENOUGH_SPACE (243), TOO_MANY_ROWS_OR_BYTES (396) over the quota, the file system's.
class TemporaryFile {
public:
    explicit TemporaryFile(const TemporarySpace& space);
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    ~TemporaryFile();

    void append(std::string_view bytes);

    void read(uint64_t offset, char* out, size_t bytes) const;

    uint64_t size() const { return size_; }

    /// How many there are in the process.
    static uint64_t count();

private:
    const TemporarySpace& space_;
    std::unique_ptr<WritableFile> writing_;
    std::unique_ptr<ReadableFile> reading_;
    uint64_t size_ = 0;
};

}  // namespace shardd::exec
