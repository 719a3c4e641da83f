#include "server/storage/distributed.h"

#include "common/base/error.h"

namespace shardd::storage {

void checkDistributedDepth(uint64_t depth, uint64_t most) {
    if (most != 0 && depth >= most)
        throw Error(ErrorCode::TOO_LARGE_DISTRIBUTED_DEPTH, "Maximum distributed depth exceeded");
}

}  // namespace shardd::storage
