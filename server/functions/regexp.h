#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "server/functions/simple_regexp.h"

namespace re2 {
class RE2;
}

namespace shardd::functions {

/// A compiled regular expression in RE2's syntax, as ClickHouse's functions take it: "." also matches line breaks.
/// Texts are bytes of columns: PodVector::kPadding bytes behind them may be read.
/// Threads: may be shared.
class Regexp {
public:
    /// Errors: `code` when it does not compile.
    explicit Regexp(std::string_view pattern,
                    bool fold_case = false,
                    ErrorCode code = ErrorCode::CANNOT_COMPILE_REGEXP);
    ~Regexp();

    size_t groupCount() const;

    const std::string& pattern() const;

    /// The first match that begins at `from` or later; groups[0] becomes the whole match, groups[i] group i as far as
    /// they are asked for. Groups without part in the match are null. Asking for fewer is quicker.
    bool match(std::string_view text, size_t from, std::span<std::string_view> groups) const;

    bool matches(std::string_view text) const { return match(text, 0, {}); }

private:
    bool matchAnything(std::string_view text, size_t from, std::span<std::string_view> groups) const;

    std::unique_ptr<const re2::RE2> re2_;
    std::optional<SimpleRegexp> simple_;
};

}  // namespace shardd::functions
