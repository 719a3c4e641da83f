#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <unistd.h>

#include "common/base/host.h"
#include "common/base/log.h"
#include "server/bootstrap/rendezvous.h"
#include "server/bootstrap/shared_board.h"

namespace shardd::bootstrap {

namespace asio = boost::asio;

namespace {

constexpr Log kLog("bootstrap");

class FileRendezvous final : public Rendezvous {
public:
    explicit FileRendezvous(RendezvousOptions options)
        : options_(std::move(options)), board_(options_.group) {}

    asio::awaitable<Answer> beat(Member& own,
                                 const std::vector<Member>&,
                                 Clock::time_point deadline) override {
        if (own.host.empty()) own.host = hostName();
        const std::string& path = options_.plan.path;
        std::optional<LockedFile> file = LockedFile::tryOpen(path);
        while (!file) {
            if (Clock::now() >= deadline)
                throw Error(ErrorCode::TIMEOUT_EXCEEDED, "another process holds the lock of {}", path);
            asio::steady_timer timer(co_await asio::this_coro::executor, std::chrono::milliseconds(10));
            boost::system::error_code ignored;
            co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
            // An optional of a type without assignment is filled anew.
            if (auto opened = LockedFile::tryOpen(path)) file.emplace(std::move(*opened));
        }
        Answer answer = beatLocked(*file, own);
        co_return answer;
    }

private:
    Answer beatLocked(LockedFile& file, const Member& own) {
        BoardFile content;
        Answer answer;
        const std::string bytes = file.read();
        try {
            if (!bytes.empty()) content = decodeBoardFile(bytes, options_.secret);
        } catch (const Error& error) {
            if (error.is(ErrorCode::AUTHENTICATION_FAILED)) {
                answer.refusal = Refusal{.kind = Refusal::Kind::Other,
                                         .code = error.code(),
                                         .text = fmt::format("{}: {}; remove it when nobody uses it",
                                                             options_.plan.path, error.message())};
                return answer;
            }
            // Another kind of file must not be lost; one of ours that a crash has torn, every member writes
            // anew.
            if (!error.message().ends_with("torn"))
                throw Error(ErrorCode::INCORRECT_DATA, "{}: {}", options_.plan.path, error.message());
            kLog.warning("{}: {}; written anew", options_.plan.path, error.message());
        }
        if (content.entries.empty()) {
            content.cluster = options_.group.cluster;
            content.world_size = options_.group.world_size;
        }
        const Clock::time_point now = Clock::now();
        answer = board_.beat(content, own, now);
        if (answer.refusal) return answer;
        if (own.state == MemberState::Left && board_.isDeserted(content, now))
            file.remove();
        else
            file.write(encodeBoardFile(content, options_.secret));
        return answer;
    }

    const RendezvousOptions options_;
    SharedBoard board_;
};

}  // namespace

std::unique_ptr<Rendezvous> makeFileRendezvous(RendezvousOptions options) {
    return std::make_unique<FileRendezvous>(std::move(options));
}

}  // namespace shardd::bootstrap
