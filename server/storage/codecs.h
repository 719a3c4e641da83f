#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/wire/frame.h"

namespace shardd::storage {

/// NONE, LZ4, ZSTD: what sockets know too. The others live in column files only.
inline bool isGenericCodec(uint8_t method) { return method == 0x02 || method == 0x82 || method == 0x90; }

/// Undoes a frame of another codec (Delta, DoubleDelta, Gorilla, T64, or several in Multiple). `frame` has
/// its header, whose sizes were checked; `out` has room for its data. Errors: CHECKSUM_DOESNT_MATCH (40),
/// CANNOT_DECOMPRESS (271), UNKNOWN_COMPRESSION_METHOD (89) naming the codec.
void decodeCodecFrame(std::string_view frame, char* out);

/// What a column is written with: the last of NONE, LZ4, ZSTD in "CODEC(Delta, ZSTD(3))", and LZ4 where none
/// is. (A block may have any codec whatever the column's is, so leaving Delta and the like out is right, only
/// larger.) Never fails: what a codec may be is checked where a table is made.
FrameOptions parseCodec(std::string_view text);

}  // namespace shardd::storage
