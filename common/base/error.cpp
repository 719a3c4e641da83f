#include "common/base/error.h"

#include <algorithm>

namespace shardd {

namespace {

constexpr ErrorCodeInfo kErrorCodes[] = {
#define X(number, name) {number, #name},
#include "common/base/error_codes.inc"
#undef X
};

}  // namespace

std::string errorName(int code) {
    const auto* found = std::lower_bound(std::begin(kErrorCodes), std::end(kErrorCodes), code,
                                         [](const ErrorCodeInfo& info, int wanted) { return info.code < wanted; });
    if (found != std::end(kErrorCodes) && found->code == code) return std::string(found->name);
    return fmt::format("UNKNOWN_EXCEPTION_{}", code);
}

std::pair<const ErrorCodeInfo*, size_t> errorCodes() { return {kErrorCodes, std::size(kErrorCodes)}; }

void checkFailed(const char* condition, const char* file, int line) {
    throw Error(ErrorCode::LOGICAL_ERROR, "Logical error: {} does not hold at {}:{}", condition, file, line);
}

}  // namespace shardd
