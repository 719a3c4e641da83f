#pragma once

#include <cstdint>

/// The numbers of ClickHouse's Native form. They travel: never renumber. Source: docs/protocol.md, "Blocks".
namespace shardd::native {

/// Fields of the info before a block.
inline constexpr uint64_t kInfoEnd = 0;
inline constexpr uint64_t kInfoOverflows = 1;
inline constexpr uint64_t kInfoBucket = 2;
inline constexpr uint64_t kInfoOutOfOrder = 3;

/// LowCardinality: the prefix, and the flags before the indexes' width (0 … 3 for 1, 2, 4, 8 bytes).
inline constexpr int64_t kDictionaryVersion = 1;
inline constexpr uint64_t kWidthMask = 0xFF;
inline constexpr uint64_t kGlobalDictionary = 0x100;
inline constexpr uint64_t kHasAdditionalKeys = 0x200;
inline constexpr uint64_t kNeedsUpdate = 0x400;

/// What stands for each row of a Tuple without elements.
inline constexpr char kEmptyTupleByte = '0';

/// The kind byte of a column …
inline constexpr uint8_t kKindDefault = 0;
inline constexpr uint8_t kKindSparse = 1;
inline constexpr uint8_t kKindDetached = 2;
inline constexpr uint8_t kKindDetachedOverSparse = 3;
inline constexpr uint8_t kKindReplicated = 4;
inline constexpr uint8_t kKindCombination = 5;

/// … and the raw kinds of a combination.
enum class RawKind : uint8_t { Default = 0, Sparse = 1, Detached = 2, Replicated = 3 };

/// In the stream of a sparse column's offsets: the last entry, which counts the trailing defaults.
inline constexpr uint64_t kSparseEnd = uint64_t{1} << 62;

}  // namespace shardd::native
