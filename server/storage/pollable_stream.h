#pragma once

#include <functional>
#include <optional>

#include "common/columns/block.h"

namespace shardd::storage {

/// A stream that fills by itself and can be asked without waiting: few workers can serve many of them.
class PollableStream {
public:
    virtual ~PollableStream() = default;

    struct Polled {
        std::optional<Block> block;
        bool ended = false;
    };

    /// A block, or the end, or neither when nothing has come yet.
    virtual Polled poll() = 0;

    /// `callback` is called from any thread whenever poll() may have something new, and at once; it must be quick. Nothing:
    /// nobody listens any more.
    virtual void onReadable(std::function<void()> callback) = 0;

    /// Whoever reads waits for this stream whatever others bring: it is to begin, however many there are already.
    virtual void want() {}
};

}  // namespace shardd::storage
