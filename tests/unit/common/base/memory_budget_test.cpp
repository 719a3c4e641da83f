#include "common/base/memory_budget.h"

#include <gtest/gtest.h>

#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/base/pod_vector.h"

namespace shardd {
namespace {

TEST(MemoryBudget, RefusalNamesTheLimitAndThePhaseAndTakesNothing) {
    auto server = MemoryBudget::create("server", 1 << 20);
    auto query = MemoryBudget::create("query 7", 1 << 16, server);
    MemoryScope scope(query.get());
    PodVector<char> small(1 << 15);
    EXPECT_EQ(query->usedBytes(), server->usedBytes());
    const uint64_t before = query->usedBytes();
    query->setPhase("AggregatingTransform");
    try {
        PodVector<char> large(1 << 16);
        FAIL() << "the budget did not refuse";
    } catch (const Error& error) {
        EXPECT_TRUE(error.is(ErrorCode::MEMORY_LIMIT_EXCEEDED));
        EXPECT_EQ(error.message(),
                  "Query memory limit exceeded: would use 96.12 KiB (attempt to allocate chunk of 64.06 "
                  "KiB), maximum: 64.00 KiB: While executing AggregatingTransform");
    }
    EXPECT_EQ(query->usedBytes(), before);
    EXPECT_EQ(server->usedBytes(), before);
}

TEST(MemoryBudget, ABufferPaysBackAfterItsScopeAndItsBudgetsOwnerAreGone) {
    auto server = MemoryBudget::create("server", 0);
    PodVector<uint64_t> kept;
    {
        auto query = MemoryBudget::create("query", 0, server);
        MemoryScope scope(query.get());
        kept.resize(10000);
    }
    EXPECT_GE(server->usedBytes(), 80000u);
    kept = PodVector<uint64_t>();
    EXPECT_EQ(server->usedBytes(), 0u);
}

TEST(MemoryBudget, AVectorGrownAcrossTheCountedSizeIsChargedOnce) {
    auto query = MemoryBudget::create("query", 0);
    {
        MemoryScope scope(query.get());
        PodVector<uint32_t> values;
        for (uint32_t i = 0; i < 100000; ++i) values.push_back(i);
        EXPECT_EQ(query->usedBytes(), values.allocatedBytes());
        EXPECT_EQ(values[99999], 99999u);
        Arena arena;
        for (int i = 0; i < 1000; ++i) arena.insert("some key");
    }
    EXPECT_EQ(query->usedBytes(), 0u);
    EXPECT_GE(query->peakBytes(), 400000u);
}

}  // namespace
}  // namespace shardd
