#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "common/wire/frame.h"

namespace shardd::session {

/// What settings say of a conversation itself: its times, and the form of what is sent. They are the server's until
/// a user has logged in, then the user's, and during a query (and until the next) the query's.
struct ConnectionSettings {
    std::chrono::milliseconds receive_timeout{300000};
    std::chrono::milliseconds send_timeout{300000};
    /// Between two packets while no query runs. Of these three, zero means no limit.
    std::chrono::milliseconds idle_timeout{3600000};
    /// Between two Progress packets.
    std::chrono::microseconds interactive_delay{100000};
    /// Of the answers to a query that asks for compression.
    FrameOptions compression;

    /// The text of a setting in force; nothing where it is not known.
    using Lookup = std::function<std::optional<std::string>(std::string_view name)>;

    /// Takes what `setting` knows. A text that is no value is passed over: whoever runs the query refuses it.
    void take(const Lookup& setting);
};

}  // namespace shardd::session
