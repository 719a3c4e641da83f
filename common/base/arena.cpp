#include "common/base/arena.h"

#include <algorithm>

namespace shardd {

namespace {

constexpr size_t kFirstChunk = 4096;
constexpr size_t kLargestChunk = size_t{16} << 20;

}  // namespace

Arena::~Arena() {
    for (const Chunk& chunk : chunks_) allocation::free(chunk.block, chunk.bytes);
}

void Arena::addChunk(size_t at_least) {
    const size_t usual = chunks_.empty() ? kFirstChunk : std::min(chunks_.back().bytes * 2, kLargestChunk);
    const size_t bytes = std::max(usual, at_least);
    chunks_.reserve(chunks_.size() + 1);
    const allocation::Block block = allocation::allocate(bytes);
    chunks_.push_back({block, bytes});
    position_ = static_cast<char*>(block.data);
    end_ = position_ + bytes;
    allocated_bytes_ += bytes;
}

}  // namespace shardd
