#include "common/base/wide_integer.h"

#include <gtest/gtest.h>

namespace shardd {
namespace {

TEST(WideInteger, ArithmeticAndText) {
    const Int256 power = Int256(1) << 100;
    EXPECT_EQ(toText(power), "1267650600228229401496703205376");
    EXPECT_EQ(toText(power * Int256(-5)), "-6338253001141147007483516026880");
    EXPECT_EQ(toText(-power * power / Int256(3)), "-535646014752996758513987364113720867507400997927597611767125");
    EXPECT_EQ(toText(-power % Int256(7)), "-2");
    EXPECT_EQ((-power) >> 99, Int256(-2));
    EXPECT_EQ((-power * power) / power, -power);
    EXPECT_LT(Int256(-1), Int256(0));
    EXPECT_GT(UInt256(-1), UInt256(0));
    EXPECT_EQ(toText(UInt256(-1)), "115792089237316195423570985008687907853269984665640564039457584007913129639935");
    EXPECT_EQ(Int256::fromDouble(-1e30).toDouble(), -1e30);
    EXPECT_EQ(toText(Int128(-1)), "-1");
}

}  // namespace
}  // namespace shardd
