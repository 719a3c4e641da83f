#include "common/base/stack_guard.h"

#include <gtest/gtest.h>

#include "common/base/error.h"

namespace shardd {
namespace {

size_t descend(size_t levels) {
    checkStack();
    volatile char frame[1024];
    frame[levels % 1024] = 1;
    return levels == 0 ? 0 : descend(levels - 1) + static_cast<size_t>(frame[levels % 1024]);
}

TEST(StackGuard, EndsADescentBeforeTheStackDoes) {
    EXPECT_EQ(descend(100), 100u);
    try {
        descend(100'000'000);
        FAIL() << "the descent came to its end";
    } catch (const Error& error) {
        EXPECT_TRUE(error.is(ErrorCode::TOO_DEEP_RECURSION));
    }
    EXPECT_EQ(descend(100), 100u);
}

}  // namespace
}  // namespace shardd
