#include "server/aggregates/compact_set.h"

#include "common/base/city_hash.h"
#include "common/base/error.h"

namespace shardd::aggregates {

HashedText TextSet::hashed(std::string_view text) {
    if (text.size() > UINT32_MAX)
        throw Error(ErrorCode::TOO_LARGE_STRING_SIZE, "String size is too big ({})", text.size());
    const uint64_t hash = cityHash64(text);
    return {text.empty() ? kEmpty : text.data(), static_cast<uint32_t>(text.size()),
            static_cast<uint32_t>(hash ^ (hash >> 32))};
}

}  // namespace shardd::aggregates
