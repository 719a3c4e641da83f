#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/base/pod_vector.h"
#include "common/wire/native.h"

namespace shardd {

/// The compressed frames that a block came in. Who passes the block on unchanged (an initiator that unites
/// its shards' answers) sends them again instead of compressing anew: the cost of a row then tends to
/// nothing.
struct EncodedBlock {
    NativeOptions options;
    PodVector<char> frames;

    // What the frames hold. Columns do not change once they are shared, so equal addresses mean equal values.
    std::vector<std::string> names;
    std::vector<std::string> types;
    std::vector<const Column*> columns;
    size_t rows = 0;
    int32_t bucket = Block::kNoBucket;
    bool is_overflows = false;
};

/// Lets `block` remember the frames that it came in: its first column holds them from now on.
void attachEncoded(Block& block, const NativeOptions& options, PodVector<char> frames);

/// The frames that say exactly what `block` says in the form of `options`; nullptr when there are none, or
/// when anything was changed since it came. Valid as long as the block's first column.
const EncodedBlock* findEncoded(const Block& block, const NativeOptions& options);

}  // namespace shardd
