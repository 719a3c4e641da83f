#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "common/wire/native.h"

/// Any bytes are a block that can be written and read again, or refused.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace shardd;
    constexpr NativeOptions kOptions = {.block_info = true, .out_of_order_buckets = true, .column_kinds = true};
    NativeLimits limits;
    limits.expanded_rows = 1 << 16;
    limits.expanded_bytes = 1 << 24;
    Writer first;
    try {
        Reader in(reinterpret_cast<const char*>(data), size);
        BlockReader blocks(kOptions, limits);
        const Block block = blocks.read(in);
        writeBlock(block, kOptions, first);
    } catch (const Error&) {
        return 0;  // refused
    }
    Reader again(first.view());
    BlockReader blocks(kOptions, limits);
    Writer second;
    writeBlock(blocks.read(again), kOptions, second);
    if (first.view() != second.view()) std::abort();
    return 0;
}
