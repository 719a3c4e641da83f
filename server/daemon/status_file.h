#pragma once

#include <string>

namespace shardd::daemon {

/// The file `status` in the data folder, locked while the daemon lives: a second one on the same folder is
/// refused. The kernel drops the lock when the process ends, however it ends.
class StatusFile {
public:
    /// Errors: CANNOT_OPEN_FILE (76) names the folder and the daemon that has it.
    explicit StatusFile(const std::string& folder);
    ~StatusFile();
    StatusFile(const StatusFile&) = delete;
    StatusFile& operator=(const StatusFile&) = delete;

private:
    std::string path_;
    int file_ = -1;
};

/// Writes the process's number into `path`, removes the file at the end. Errors: CANNOT_OPEN_FILE.
class PidFile {
public:
    explicit PidFile(std::string path);
    ~PidFile();
    PidFile(const PidFile&) = delete;
    PidFile& operator=(const PidFile&) = delete;

private:
    std::string path_;
};

}  // namespace shardd::daemon
