#pragma once

#include <memory>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "server/bootstrap/board.h"

namespace boost::asio {
class io_context;
}

namespace shardd::bootstrap {

/// The way to the board, wherever it is: in this process, behind a socket, in a file.
/// Threads: everything on the one thread of the bootstrap.
class Rendezvous {
public:
    virtual ~Rendezvous() = default;

    /// Says what `own` is, and what the others are. `roster` is not empty in a formed group: for a board that
    /// has forgotten. Fills in own.host where the way there tells it. Errors: the board cannot be asked; the
    /// next call tries again.
    virtual boost::asio::awaitable<Answer> beat(Member& own,
                                                const std::vector<Member>& roster,
                                                Clock::time_point deadline) = 0;

    /// Ends what is open; no beat runs or follows.
    virtual void close() {}
};

struct RendezvousOptions {
    Board::Group group;
    std::string secret;
    BootstrapPlan plan;
};

/// tcp:// and env://: rank 0 keeps the board and listens at the address of the plan, the others ask there. A
/// rank 0 that cannot listen asks too: whoever is in its place refuses it by name.
std::unique_ptr<Rendezvous> makeTcpRendezvous(boost::asio::io_context& context, RendezvousOptions options);

/// file://: the board is a file that all members can lock and write.
std::unique_ptr<Rendezvous> makeFileRendezvous(RendezvousOptions options);

}  // namespace shardd::bootstrap
