#include "server/functions/regexp.h"

#include <vector>

#include <re2/re2.h>

namespace shardd::functions {

Regexp::Regexp(std::string_view pattern, bool fold_case, ErrorCode code) {
    re2::RE2::Options options;
    options.set_log_errors(false);
    options.set_dot_nl(true);
    options.set_case_sensitive(!fold_case);
    re2_ = std::make_unique<const re2::RE2>(re2::StringPiece(pattern.data(), pattern.size()), options);
    if (!re2_->ok())
        throw Error(code, "OptimizedRegularExpression: cannot compile re2: {}, error: {}", pattern, re2_->error());
    if (!fold_case) simple_ = SimpleRegexp::parse(pattern);
}

Regexp::~Regexp() = default;

size_t Regexp::groupCount() const { return static_cast<size_t>(re2_->NumberOfCapturingGroups()); }

const std::string& Regexp::pattern() const { return re2_->pattern(); }

bool Regexp::match(std::string_view text, size_t from, std::span<std::string_view> groups) const {
    if (!simple_) return matchAnything(text, from, groups);
    const SimpleRegexp::Answer answer = simple_->match(text, from, groups);
    return answer == SimpleRegexp::Answer::Unknown ? matchAnything(text, from, groups)
                                                   : answer == SimpleRegexp::Answer::Yes;
}

bool Regexp::matchAnything(std::string_view text, size_t from, std::span<std::string_view> groups) const {
    constexpr size_t kUsualGroups = 10;
    re2::StringPiece usual[kUsualGroups];
    std::vector<re2::StringPiece> many(groups.size() > kUsualGroups ? groups.size() : 0);
    re2::StringPiece* pieces = many.empty() ? usual : many.data();
    if (!re2_->Match({text.data(), text.size()}, from, text.size(), re2::RE2::UNANCHORED, pieces,
                     static_cast<int>(groups.size())))
        return false;
    for (size_t i = 0; i < groups.size(); ++i) groups[i] = {pieces[i].data(), pieces[i].size()};
    return true;
}

}  // namespace shardd::functions
