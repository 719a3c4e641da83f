#include "server/functions/simple_regexp.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <re2/re2.h>

#include "common/base/pod_vector.h"

namespace shardd::functions {
namespace {

/// The text with the readable bytes behind it that a column has.
class PaddedText {
public:
    explicit PaddedText(std::string_view text) { bytes_.append(text.data(), text.size()); }

    std::string_view view() const { return {bytes_.data(), bytes_.size()}; }

private:
    PodVector<char> bytes_;
};

/// "begin+size" of the match and of each group, "-" for a group without part; "no".
std::string shown(std::string_view text, bool found, const std::vector<std::string_view>& groups) {
    if (!found) return "no";
    std::string result;
    for (const std::string_view group : groups)
        result += group.data()
                      ? std::to_string(group.data() - text.data()) + "+" + std::to_string(group.size()) + " "
                      : "- ";
    return result;
}

std::string byRe2(const std::string& pattern, std::string_view text, size_t from) {
    re2::RE2::Options options;
    options.set_dot_nl(true);
    options.set_log_errors(false);
    const re2::RE2 regexp(pattern, options);
    EXPECT_TRUE(regexp.ok()) << pattern;
    std::vector<re2::StringPiece> pieces(static_cast<size_t>(regexp.NumberOfCapturingGroups()) + 1);
    const bool found = regexp.Match({text.data(), text.size()}, from, text.size(), re2::RE2::UNANCHORED,
                                    pieces.data(), static_cast<int>(pieces.size()));
    std::vector<std::string_view> groups;
    for (const re2::StringPiece& piece : pieces) groups.emplace_back(piece.data(), piece.size());
    return shown(text, found, groups);
}

/// "unknown" where RE2 must be asked.
std::string bySimple(const SimpleRegexp& regexp, std::string_view text, size_t from) {
    std::vector<std::string_view> groups(regexp.groupCount() + 1);
    const SimpleRegexp::Answer answer = regexp.match(text, from, groups);
    if (answer == SimpleRegexp::Answer::Unknown) return "unknown";
    return shown(text, answer == SimpleRegexp::Answer::Yes, groups);
}

const char* const kSimple[] = {
    "^https?://(?:www\\.)?([^/]+)/.*$",
    "abc",
    "a*",
    "a+b",
    "a?b?c",
    "(a)?(b)?c",
    "((a)(b)?)?c$",
    "^(a*)(a*)b",
    "[a-c]+([^b]*)b",
    "(\\w+)=(\\d+)",
    "\\s*(\\w*)\\s*$",
    "a.c",
    "(.*)/(.*)",
    "^$",
    "",
    "[^a]b",
    "(?:ab)?(?:ca)?b",
    "(a+)(b+)?(a*)$",
    "[a\\-]+[-/]",
};

TEST(SimpleRegexp, FindsWhatRe2Finds) {
    const char* const texts[] = {"",
                                 "abc",
                                 "aaab",
                                 "https://www.example.org/a/b?c=d",
                                 "http://www./",
                                 "http://host",
                                 "xhttp://host/",
                                 "key=42, other=7",
                                 "a\nc a/b/c",
                                 "  word ",
                                 "a b\tc",
                                 "http://www.a-long-host-name.example.org/and/a/path/behind/it"};
    for (const char* pattern : kSimple) {
        const auto regexp = SimpleRegexp::parse(pattern);
        ASSERT_TRUE(regexp) << pattern;
        for (const char* text : texts) {
            const PaddedText padded(text);
            for (size_t from = 0; from <= padded.view().size(); ++from) {
                if (pattern[0] == '^' && from > 0) continue;
                EXPECT_EQ(bySimple(*regexp, padded.view(), from), byRe2(pattern, padded.view(), from))
                    << pattern << " in " << text << " from " << from;
            }
        }
    }
}

TEST(SimpleRegexp, FindsWhatRe2FindsInRandomTexts) {
    std::mt19937 random(7);
    for (const char* pattern : kSimple) {
        const auto regexp = SimpleRegexp::parse(pattern);
        ASSERT_TRUE(regexp) << pattern;
        for (int i = 0; i < 300; ++i) {
            std::string text(random() % 24, '\0');
            for (char& c : text) c = "aaabbbc/-=1 .\xC3\xA9\xFF"[random() % 16];
            const PaddedText padded(text);
            const std::string simple = bySimple(*regexp, padded.view(), 0);
            if (simple == "unknown") continue;
            EXPECT_EQ(simple, byRe2(pattern, padded.view(), 0)) << pattern << " in " << text;
        }
    }
}

TEST(SimpleRegexp, LeavesTheRestToRe2) {
    for (const char* pattern :
         {"a|b", "(?i)a", "a{2}", "a*?", "(ab)*", "(ab)+", "a^b", "a$b", "(a$)", "\\bword", "\\D",
          "[[:alpha:]]", "[]a]", "(", ")", "a**", "\xC3\xA9", "(?P<name>a)", "((((((((((a))))))))))"})
        EXPECT_FALSE(SimpleRegexp::parse(pattern)) << pattern;
    EXPECT_FALSE(SimpleRegexp::parse("a|" + std::string(1000, 'a')));
    std::string many;
    for (int i = 0; i < 200; ++i) many += "a*";
    EXPECT_FALSE(SimpleRegexp::parse(many));
}

TEST(SimpleRegexp, DoesNotAnswerForTextsBeyondAscii) {
    const PaddedText text("a\xC3\xA9/");
    EXPECT_EQ(bySimple(*SimpleRegexp::parse("^[^/]+/"), text.view(), 0), "unknown");
    EXPECT_EQ(bySimple(*SimpleRegexp::parse("a.+"), text.view(), 0), "unknown");
    // What the expression does not reach does not matter.
    EXPECT_EQ(bySimple(*SimpleRegexp::parse("^a"), text.view(), 0), "0+1 ");
    EXPECT_EQ(bySimple(*SimpleRegexp::parse("b"), text.view(), 0), "no");
}

TEST(SimpleRegexp, StopsWhereWalkingTakesLong) {
    const PaddedText text(std::string(4000, 'a'));
    EXPECT_EQ(bySimple(*SimpleRegexp::parse("a*a*a*a*b"), text.view(), 0), "unknown");
}

}  // namespace
}  // namespace shardd::functions
