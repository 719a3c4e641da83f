// like, ilike, match and their negations.

#include <unordered_map>

#include "server/functions/regexp.h"
#include "server/functions/text_search.h"

namespace shardd::functions {

namespace {

/// A pattern made ready once, for all rows that have it.
class Matcher {
public:
    virtual ~Matcher() = default;
    virtual bool matches(std::string_view text) const = 0;

    /// Set when matching is only searching for this.
    virtual const std::string* containedLiteral() const { return nullptr; }
};

class LikeMatcher final : public Matcher {
public:
    LikeMatcher(std::string_view pattern, bool fold_case) : pattern_(pattern, fold_case) {}

    bool matches(std::string_view text) const override { return pattern_.matches(text); }

    const std::string* containedLiteral() const override { return pattern_.containedLiteral(); }

private:
    LikePattern pattern_;
};

/// ILIKE of a pattern beyond ASCII: both sides folded by code points.
class FoldedLikeMatcher final : public Matcher {
public:
    explicit FoldedLikeMatcher(std::string_view pattern) : pattern_(foldUtf8(pattern), false) {}

    bool matches(std::string_view text) const override { return pattern_.matches(foldUtf8(text)); }

private:
    LikePattern pattern_;
};

class RegexpMatcher final : public Matcher {
public:
    explicit RegexpMatcher(std::string_view pattern) {
        if (isLiteralRegexp(pattern))
            literal_ = pattern;
        else
            regexp_.emplace(pattern);
    }

    bool matches(std::string_view text) const override {
        if (!regexp_) return text.find(literal_) != std::string_view::npos;
        return regexp_->matches(text);
    }

    const std::string* containedLiteral() const override { return regexp_ ? nullptr : &literal_; }

private:
    std::string literal_;
    std::optional<Regexp> regexp_;
};

enum class Syntax { Like, ILike, Regexp };

std::unique_ptr<Matcher> makeMatcher(Syntax syntax, std::string_view pattern) {
    if (syntax == Syntax::Regexp) return std::make_unique<RegexpMatcher>(pattern);
    if (syntax == Syntax::ILike && !isAscii(pattern)) return std::make_unique<FoldedLikeMatcher>(pattern);
    return std::make_unique<LikeMatcher>(pattern, syntax == Syntax::ILike);
}

template <Syntax kSyntax, bool kNegated>
ColumnPtr runMatch(const Call& call) {
    const TextArgument texts(call.column(0));
    const TextArgument patterns(call.column(1));
    if (patterns.constant() || call.rows == 1) {
        if (call.rows == 0) return fixedColumn(PodVector<uint8_t>());
        const auto matcher = makeMatcher(kSyntax, patterns[0]);
        const std::string* literal = matcher->containedLiteral();
        if (literal && call.column(0)->kind() == ColumnKind::String) {
            PodVector<uint8_t> marks(call.rows, kNegated);
            markContaining(as<StringColumn>(*call.column(0)), *literal, !kNegated, marks);
            return fixedColumn(std::move(marks));
        }
        return eachRow<uint8_t>(call.rows,
                                [&](size_t row) { return matcher->matches(texts[row]) != kNegated; });
    }
    std::unordered_map<std::string, std::unique_ptr<Matcher>> known;  // patterns repeat, as a rule
    return eachRow<uint8_t>(call.rows, [&](size_t row) {
        if (known.size() > 1000) known.clear();
        auto& matcher = known[std::string(patterns[row])];
        if (!matcher) matcher = makeMatcher(kSyntax, patterns[row]);
        return matcher->matches(texts[row]) != kNegated;
    });
}

TypePtr typeOfMatch(const Signature& call) {
    needCount(call, 2);
    if (!call.type(0)->isString() && !call.type(0)->isEnum()) illegalArgument(call, 0);
    needString(call, 1);
    return types::uint8();
}

}  // namespace

std::span<const FunctionInfo> searchLikeFunctions() {
    static const FunctionInfo kList[] = {
        define<"like", typeOfMatch, runMatch<Syntax::Like, false>, kMayThrow>(
            "like(text, pattern)", "Whether all of the text fits a pattern with % and _.",
            "like('Hello', 'H%o')", "1"),
        define<"notLike", typeOfMatch, runMatch<Syntax::Like, true>, kMayThrow>(
            "notLike(text, pattern)", "Whether the text does not fit the pattern.", "notLike('Hello', 'h%')",
            "1"),
        define<"ilike", typeOfMatch, runMatch<Syntax::ILike, false>, kMayThrow>(
            "ilike(text, pattern)", "like, case ignored.", "ilike('Hello', 'h%')", "1"),
        define<"notILike", typeOfMatch, runMatch<Syntax::ILike, true>, kMayThrow>(
            "notILike(text, pattern)", "notLike, case ignored.", "notILike('Hello', 'h%')", "0"),
        define<"match", typeOfMatch, runMatch<Syntax::Regexp, false>, kMayThrow>(
            "match(text, regexp)", "Whether a part of the text matches a regular expression (RE2).",
            "match('abc123', '[0-9]+$')", "1"),
    };
    return kList;
}

}  // namespace shardd::functions
