#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardd::functions {

/// A regular expression of a simple kind, matched by walking along the text: ASCII letters, classes, dots, ?,
/// * and
/// + behind one of them, groups, optional groups, ^ at the front and $ at the end. It finds what RE2 finds
/// ("." also matching line breaks), several times as fast, or says that RE2 must be asked: of texts beyond
/// ASCII, and where walking back and forth would take long. Texts:   PodVector::kPadding bytes behind them
/// may be read. Threads: a matcher may be shared.
class SimpleRegexp {
public:
    enum class Answer { No, Yes, Unknown };

    /// Groups that a pattern may have, the whole match among them.
    static constexpr size_t kMostGroups = 10;

    /// Nothing when the pattern has anything else in it (which may also be a mistake).
    static std::optional<SimpleRegexp> parse(std::string_view pattern);

    /// The first match that begins at `from` or later: the whole of it, then its groups, as many as `groups`
    /// has room for. Groups without part in it have a null view.
    Answer match(std::string_view text, size_t from, std::span<std::string_view> groups) const;

    /// Without the whole match.
    size_t groupCount() const { return group_count_; }

private:
    /// One step of the walk; those behind it follow in the list.
    struct Step {
        enum class Kind : uint8_t { Literal, Set, GroupBegin, GroupEnd, Optional, TextEnd, Done };

        Kind kind = Kind::Done;
        std::string literal = {};
        uint64_t literal_head = 0;  // its first bytes, up to eight
        uint64_t head_mask = 0;

        // Of a set of characters:
        std::bitset<128> set = {};
        bool beyond_ascii = false;  // it also has all characters beyond ASCII
        int but_one = -1;           // it has all but this one character; 128: it has all
        bool repeats = false;
        ptrdiff_t at_least = 1;
        bool never_gives_back =
            false;  // of a Set, or an Optional of one: what follows cannot begin with one of the set

        size_t number = 0;  // of the group; of an Optional: the step that follows what may be left out
    };

    class Parser;
    struct Walk;

    size_t nextDeciding(size_t i) const;
    void dropEmptySteps();
    void prepare();
    const char* endOfRun(const Step& step, const char* at, Walk& state) const;
    static bool begins(const Step& step, const char* at, const Walk& state);
    bool walkShorterRuns(Walk& state, size_t step, const char* shortest, const char* longest) const;
    bool walk(Walk& state, size_t i, const char* at) const;

    std::vector<Step> steps_;
    std::optional<std::bitset<128>> first_letters_;  // a match begins with one of these
    size_t group_count_ = 0;
    bool from_begin_ = false;
};

}  // namespace shardd::functions
