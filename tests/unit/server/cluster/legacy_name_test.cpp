#include "server/cluster/legacy_name.h"

#include <gtest/gtest.h>

namespace shardd::cluster {
namespace {

TEST(LegacyName, NamesOfServersWithoutTheAnalyzer) {
    struct Row {
        const char* name;
        const char* legacy;
    };

    const Row rows[] = {
        {"__table1.k", "k"},
        {"count()", "count()"},
        {"sum(__table1.v)", "sum(v)"},
        {"plus(__table12.v, 1_UInt8)", "plus(v, 1)"},
        {"quantile(0.9_Float64)(__table1.f)", "quantile(0.9)(f)"},
        {"equals(__table1.s, 'a_UInt8 __table1.x'_String)", "equals(s, 'a_UInt8 __table1.x')"},
        {"if(__table1.c, 1_Nullable(UInt8), 2_UInt8)", "if(c, 1, 2)"},
        {"my__table1.k", "my__table1.k"},
        {"c1_UInt8", "c1_UInt8"},
        {"'cut", "'cut"},
        {"`__table1.q`", "`__table1.q`"},
        {"", ""},
    };
    for (const Row& row : rows) EXPECT_EQ(legacyName(row.name), row.legacy);
}

}  // namespace
}  // namespace shardd::cluster
