#include "server/daemon/status_file.h"

#include <cerrno>
#include <cstring>
#include <ctime>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/base/error.h"

namespace shardd::daemon {

namespace {

// What the other daemon wrote, on one line.
std::string contentOf(int file) {
    char text[256];
    const ssize_t size = ::pread(file, text, sizeof(text), 0);
    std::string line(text, size > 0 ? static_cast<size_t>(size) : 0);
    for (char& letter : line)
        if (letter == '\n') letter = ' ';
    while (!line.empty() && line.back() == ' ') line.pop_back();
    return line;
}

void writeAll(int file, const std::string& text) {
    // The text only helps people; a full disk must not keep a daemon from starting.
    if (::ftruncate(file, 0) == 0) {
        [[maybe_unused]] const ssize_t written = ::pwrite(file, text.data(), text.size(), 0);
    }
}

}  // namespace

StatusFile::StatusFile(const std::string& folder) : path_(folder + "/status") {
    file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640);
    if (file_ < 0)
        throw Error(ErrorCode::CANNOT_OPEN_FILE, "Cannot open {}: {}", path_, std::strerror(errno));
    if (::flock(file_, LOCK_EX | LOCK_NB) != 0) {
        const std::string other = contentOf(file_);
        ::close(file_);
        throw Error(ErrorCode::CANNOT_OPEN_FILE,
                    "Cannot lock file {}. Another server instance in same directory is already running. ({})",
                    path_, other);
    }
    char started[32];
    const std::time_t now = std::time(nullptr);
    std::tm local{};
    std::strftime(started, sizeof(started), "%Y-%m-%d %H:%M:%S", localtime_r(&now, &local));
    writeAll(file_, fmt::format("PID: {}\nStarted at: {}\n", ::getpid(), started));
}

StatusFile::~StatusFile() {
    // Not removed: another daemon may already wait with the file open, and would lock a file without a name.
    writeAll(file_, "");
    ::close(file_);
}

PidFile::PidFile(std::string path) : path_(std::move(path)) {
    if (path_.empty()) return;
    const int file = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file < 0)
        throw Error(ErrorCode::CANNOT_OPEN_FILE, "Cannot open the pid file {}: {}", path_,
                    std::strerror(errno));
    writeAll(file, fmt::format("{}\n", ::getpid()));
    ::close(file);
}

PidFile::~PidFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
}

}  // namespace shardd::daemon
