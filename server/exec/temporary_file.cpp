#include "server/exec/temporary_file.h"

#include <filesystem>
#include <system_error>

#include <unistd.h>

#include "common/base/error.h"

namespace shardd::exec {

void DiskQuota::charge(uint64_t bytes) {
    const uint64_t used = used_.fetch_add(bytes) + bytes;
    const uint64_t limit = limit_.load();
    if (limit != 0 && used > limit) {
        used_.fetch_sub(bytes);
        throw Error(ErrorCode::TOO_MANY_ROWS_OR_BYTES,
                    "Limit for temporary files size exceeded (would consume {} / {} bytes)", used, limit);
    }
    if (!parent_) return;
    try {
        parent_->charge(bytes);
    } catch (const Error&) {
        used_.fetch_sub(bytes);
        throw;
    }
}

void DiskQuota::release(uint64_t bytes) noexcept {
    for (DiskQuota* quota = this; quota; quota = quota->parent_.get()) quota->used_.fetch_sub(bytes);
}

namespace {

std::atomic<uint64_t> files_now = 0;

}  // namespace

uint64_t TemporaryFile::count() { return files_now.load(); }

TemporaryFile::TemporaryFile(const TemporarySpace& space) : space_(space) {
    static std::atomic<uint64_t> number = 0;
    // The prefix is what the daemon deletes at its start: it may have died before the name was gone.
    const std::string path =
        space.path + "/tmp_" + std::to_string(::getpid()) + "_" + std::to_string(number.fetch_add(1));
    writing_ = space.files->create(path);
    try {
        reading_ = space.files->openForReading(path);
    } catch (...) {
        space.files->removeFile(path);
        throw;
    }
    space.files->removeFile(path);
    files_now.fetch_add(1);
}

TemporaryFile::~TemporaryFile() {
    files_now.fetch_sub(1);
    if (space_.quota) space_.quota->release(size_);
}

void TemporaryFile::append(std::string_view bytes) {
    if (space_.min_free_bytes != 0) {
        std::error_code failure;
        const uint64_t free = std::filesystem::space(space_.path, failure).available;
        if (!failure && free < space_.min_free_bytes + bytes.size())
            throw Error(ErrorCode::NOT_ENOUGH_SPACE,
                        "Cannot write {} bytes of temporary data to {}: {} bytes are free there, of which "
                        "min_free_disk_space_for_temporary_data keeps {}",
                        bytes.size(), space_.path, free, space_.min_free_bytes);
    }
    if (space_.quota) space_.quota->charge(bytes.size());
    size_ += bytes.size();
    try {
        writing_->append(bytes);
    } catch (const Error& error) {
        if (!error.is(ErrorCode::NOT_ENOUGH_SPACE)) throw;
        throw Error(
            ErrorCode::NOT_ENOUGH_SPACE,
            "No space left for temporary data in {} (tmp_path) after {} bytes of this aggregation: {}",
            space_.path, size_ - bytes.size(), error.message());
    }
}

void TemporaryFile::read(uint64_t offset, char* out, size_t bytes) const {
    if (reading_->read(offset, out, bytes) != bytes)
        throw Error(ErrorCode::CANNOT_READ_ALL_DATA, "Temporary data in {} ends before byte {}", space_.path,
                    offset + bytes);
}

}  // namespace shardd::exec
