#include "server/session/connection_settings.h"

#include <map>

#include <gtest/gtest.h>

namespace shardd::session {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

ConnectionSettings taken(std::map<std::string, std::string, std::less<>> texts) {
    ConnectionSettings settings;
    settings.take([&](std::string_view name) {
        const auto found = texts.find(name);
        return found == texts.end() ? std::nullopt : std::optional(found->second);
    });
    return settings;
}

TEST(ConnectionSettingsTest, times) {
    const ConnectionSettings settings = taken({{"receive_timeout", "2.5"},
                                               {"send_timeout", "0"},
                                               {"idle_connection_timeout", "7"},
                                               {"interactive_delay", "50000"}});
    EXPECT_EQ(settings.receive_timeout, milliseconds(2500));
    EXPECT_EQ(settings.send_timeout, milliseconds(0));
    EXPECT_EQ(settings.idle_timeout, milliseconds(7000));
    EXPECT_EQ(settings.interactive_delay, microseconds(50000));
    EXPECT_EQ(taken({{"receive_timeout", "0.000001"}}).receive_timeout, milliseconds(1));
    EXPECT_EQ(taken({{"interactive_delay", "0"}}).interactive_delay, milliseconds(10));
    EXPECT_EQ(taken({{"idle_connection_timeout", "18446744073709551615"}}).idle_timeout, milliseconds(1'000'000'000'000));
}

TEST(ConnectionSettingsTest, whatIsNoValueIsPassedOver) {
    const ConnectionSettings own;
    for (const char* text : {"", "x", "5s", "-1", "nan", " 5"}) {
        const ConnectionSettings settings = taken({{"receive_timeout", text},
                                                   {"interactive_delay", text},
                                                   {"network_compression_method", text},
                                                   {"network_zstd_compression_level", text}});
        EXPECT_EQ(settings.receive_timeout, own.receive_timeout) << text;
        EXPECT_EQ(settings.interactive_delay, own.interactive_delay) << text;
        EXPECT_EQ(settings.compression.method, own.compression.method) << text;
    }
}

TEST(ConnectionSettingsTest, framesOfAnswers) {
    const auto methodOf = [](const char* text) {
        return taken({{"network_compression_method", text}}).compression.method;
    };
    EXPECT_EQ(methodOf("NONE"), FrameMethod::None);
    EXPECT_EQ(methodOf("lz4"), FrameMethod::Lz4);
    EXPECT_EQ(methodOf("LZ4HC"), FrameMethod::Lz4);
    EXPECT_EQ(methodOf("Zstd"), FrameMethod::Zstd);
    EXPECT_EQ(taken({{"network_zstd_compression_level", "22"}}).compression.zstd_level, 15);
    EXPECT_EQ(taken({{"network_zstd_compression_level", "0"}}).compression.zstd_level, 1);
}

}  // namespace
}  // namespace shardd::session
