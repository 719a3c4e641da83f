#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <stop_token>

#include "common/columns/block_stream.h"
#include "server/exec/query_context.h"

namespace shardd::exec {

/// Ends the sources of one scan: when nobody needs more rows, and whenever reading ends for the whole query.
class ScanStop {
public:
    explicit ScanStop(QueryContext& context)
        : context_(context), forward_(context.readingToken(), [this] { own_.request_stop(); }) {}

    std::stop_token token() const { return own_.get_token(); }

    void enough() {
        enough_.store(true);
        own_.request_stop();
    }

    bool ended() const { return own_.stop_requested(); }

    /// An error that only says that we stopped the source ourselves.
    bool isOurDoing(const Error& error) const {
        return (enough_.load() || (context_.readingStopped() && !context_.cancelled())) &&
               error.is(ErrorCode::QUERY_WAS_CANCELLED);
    }

private:
    QueryContext& context_;
    std::stop_source own_;
    std::atomic<bool> enough_ = false;
    std::stop_callback<std::function<void()>> forward_;
};

}  // namespace shardd::exec
