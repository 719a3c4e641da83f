#include "server/exec/group_rows.h"

#include <algorithm>

namespace shardd::exec {

namespace {

constexpr size_t kFirstChunkBytes = size_t{4} << 10;
constexpr size_t kLargestChunkBytes = size_t{1} << 17;

}  // namespace

void GroupRows::addChunk(size_t row_bytes) {
    const size_t wanted = std::clamp(allocated_bytes_, kFirstChunkBytes, kLargestChunkBytes);
    const size_t rows = std::max<size_t>(1, wanted / row_bytes);
    const size_t bytes = rows * row_bytes;
    chunks_.reserve(chunks_.size() + 1);
    const allocation::Block block = allocation::allocate(bytes);
    auto* data = static_cast<char*>(block.data);
    chunks_.push_back({block, bytes, data + bytes});
    position_ = data;
    end_ = data + bytes;
    allocated_bytes_ += bytes;
}

void GroupRows::clear() noexcept {
    for (const Chunk& chunk : chunks_) allocation::free(chunk.block, chunk.bytes);
    chunks_.clear();
    position_ = nullptr;
    end_ = nullptr;
    rows_ = 0;
    allocated_bytes_ = 0;
}

}  // namespace shardd::exec
