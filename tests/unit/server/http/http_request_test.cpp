#include "server/http/http_request.h"

#include <map>

#include <gtest/gtest.h>

#include "common/base/error.h"
#include "server/http/session_store.h"

namespace shardd::http {
namespace {

using Headers = std::map<std::string, std::string, std::less<>>;
using Basic = std::optional<std::pair<std::string, std::string>>;

HttpRequest read(const UrlParameters& parameters,
                 const Headers& headers = {},
                 const Basic& basic = std::nullopt) {
    const auto find = [](const void* from, std::string_view name) -> std::optional<std::string> {
        const auto& all = *static_cast<const Headers*>(from);
        const auto found = all.find(name);
        return found == all.end() ? std::nullopt : std::optional(found->second);
    };
    return readRequest(parameters, {&headers, find}, basic);
}

TEST(HttpRequestTest, whatIsASettingAndWhatIsNot) {
    const HttpRequest request = read({{"query", "SELECT 1"},
                                      {"database", "d"},
                                      {"max_threads", "3"},
                                      {"param_x", "it's \\"},
                                      {"default_format", "CSV"},
                                      {"session_id", "s"},
                                      {"session_timeout", "5"},
                                      {"wait_end_of_query", "1"},
                                      {"compress", "1"}});
    EXPECT_EQ(request.query, "SELECT 1");
    EXPECT_EQ(request.user, "default");
    EXPECT_EQ(request.database, "d");
    EXPECT_EQ(request.default_format, "CSV");
    ASSERT_EQ(request.settings.size(), 1U);
    EXPECT_EQ(request.settings[0].name, "max_threads");
    ASSERT_EQ(request.parameters.size(), 1U);
    EXPECT_EQ(request.parameters[0].name, "x");
    EXPECT_EQ(request.parameters[0].value, "'it\\'s \\\\'");
    EXPECT_EQ(request.session_timeout_s, 5);
    EXPECT_TRUE(request.wait_end_of_query);
    EXPECT_TRUE(request.frames_out);
    EXPECT_FALSE(request.frames_in);
    EXPECT_TRUE(request.flag("max_threads", true) == false);
    EXPECT_TRUE(request.flag("nothing", true));
}

TEST(HttpRequestTest, credentialsComeFromOnePlace) {
    EXPECT_EQ(read({{"user", "u"}, {"password", "p"}}).password, "p");
    EXPECT_EQ(read({}, {{"X-ClickHouse-User", "u"}, {"X-ClickHouse-Key", "p"}}).user, "u");
    EXPECT_EQ(read({}, {}, std::pair("u", "p")).user, "u");
    EXPECT_THROW(read({{"user", "u"}}, {{"X-ClickHouse-User", "u"}}), Error);
    EXPECT_THROW(read({{"user", "u"}}, {}, std::pair("u", "p")), Error);
    EXPECT_THROW(read({}, {{"X-ClickHouse-Key", "p"}}, std::pair("u", "p")), Error);
}

TEST(HttpRequestTest, encodings) {
    using Compression = HttpRequest::Compression;
    EXPECT_EQ(read({}, {{"Accept-Encoding", "br, gzip;q=0.5, deflate"}}).accepted, Compression::Gzip);
    EXPECT_EQ(read({}, {{"Accept-Encoding", "deflate"}}).accepted, Compression::Deflate);
    EXPECT_EQ(read({}, {{"Accept-Encoding", "br"}}).accepted, Compression::None);
    EXPECT_EQ(read({{"enable_http_compression", "0"}}, {{"Accept-Encoding", "gzip"}}).accepted,
              Compression::None);
    EXPECT_EQ(read({}, {{"Content-Encoding", "gzip"}}).encoded, Compression::Gzip);
    EXPECT_THROW(read({}, {{"Content-Encoding", "zstd"}}), Error);
    EXPECT_THROW(read({{"session_timeout", "soon"}}), Error);
}

TEST(HttpRequestTest, statusOfErrors) {
    const std::pair<int, int> rows[] = {{62, 400}, {60, 404},  {516, 403}, {159, 408},
                                        {48, 501}, {241, 500}, {209, 503}, {99999, 500}};
    for (const auto& [code, status] : rows) EXPECT_EQ(statusOf(code), status) << code;
    EXPECT_EQ(errorText(60, "no table", "26.7.1.1"),
              "Code: 60. DB::Exception: no table. (UNKNOWN_TABLE) (version 26.7.1.1)\n");
    EXPECT_EQ(errorText(60, "No.", "1"), "Code: 60. DB::Exception: No. (UNKNOWN_TABLE) (version 1)\n");
}

struct FakeSession : session::ClientSession {
    std::string name = "u";

    const std::string& user() const override { return name; }

    std::optional<std::string> setting(std::string_view) const override { return std::nullopt; }
};

TEST(SessionStoreTest, oneRequestAtATime) {
    SessionStore store;
    const auto first = std::make_shared<FakeSession>();
    EXPECT_EQ(store.take("u", "s", first, false), first);
    EXPECT_THROW(store.take("u", "s", std::make_shared<FakeSession>(), false), Error);
    EXPECT_THROW(store.take("u", "other", std::make_shared<FakeSession>(), true), Error);
    store.giveBack("u", "s", std::chrono::seconds(100));
    EXPECT_EQ(store.take("u", "s", std::make_shared<FakeSession>(), true), first);
    store.giveBack("u", "s", std::chrono::seconds(0));
    const auto later = std::make_shared<FakeSession>();
    EXPECT_EQ(store.take("u", "s", later, false), later);
    EXPECT_EQ(store.take("v", "s", first, false), first);  // another user's
}

}  // namespace
}  // namespace shardd::http
