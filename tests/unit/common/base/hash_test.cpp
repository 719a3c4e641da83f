#include "common/base/city_hash.h"

#include <string>

#include <gtest/gtest.h>

#include "common/base/sip_hash.h"

namespace shardd {
namespace {

struct Vector {
    std::string text;
    uint64_t low;
    uint64_t high;
};

TEST(CityHash, Release102Vectors) {
    std::string all_bytes;
    for (int i = 0; i < 256; ++i) all_bytes.push_back(static_cast<char>(i));
    const Vector vectors[] = {
        {"", 0x3df09dfc64c09a2b, 0x3cb540c392e51e29},
        {"a", 0xd27139a1afe01ad0, 0xfd7e8ee2e4c86cf6},
        {"abc", 0x900ff195577748fe, 0x13a9176355b20d7e},
        {"abcd", 0xd21338e7df1dac94, 0xccf0f3d08357ecec},
        {"12345678", 0x1d7757a6dd6fd9f3, 0x7282a0f9c3847a18},
        {"abcdefghij", 0xa27d2c5037b0768b, 0x6b4e26ccfab1376e},
        {"0123456789abcdef", 0xc52ea1adb29e4800, 0x7369a2fab076de4c},
        {"ClickHouse native", 0x985142331b7723b5, 0x94b572083fbe6d49},
        {std::string(200, 'a'), 0x4986d1971df9d668, 0x4dd1024a3e83f330},
        {std::string(1000, 'b'), 0xf976dd342cbd2c80, 0xea54503dffde7a0e},
        {all_bytes, 0x327bb07ec0345a9b, 0xfb45ef5cb037bd93},
    };
    for (const Vector& v : vectors) {
        const Hash128 hash = cityHash128(v.text.data(), v.text.size());
        EXPECT_EQ(hash.low, v.low) << v.text;
        EXPECT_EQ(hash.high, v.high) << v.text;
    }
    EXPECT_EQ(cityHash64("abc"), 4220206313085259313u);
}

TEST(SipHash, PiecesGiveTheSameAsTheWhole) {
    EXPECT_EQ(sipHash64("abc"), 4596069200710135518u);
    const std::string text = "the quick brown fox jumps over the lazy dog";
    for (size_t cut = 0; cut <= text.size(); ++cut) {
        SipHash hash;
        hash.update(std::string_view(text).substr(0, cut));
        hash.update(std::string_view(text).substr(cut));
        EXPECT_EQ(hash.get64(), sipHash64(text)) << cut;
    }
}

}  // namespace
}  // namespace shardd
