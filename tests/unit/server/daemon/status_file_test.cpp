#include "server/daemon/status_file.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "common/base/error.h"

namespace shardd::daemon {
namespace {

namespace fs = std::filesystem;

class StatusFileTest : public testing::Test {
protected:
    void SetUp() override {
        std::string pattern = (fs::temp_directory_path() / "shardd_status_XXXXXX").string();
        folder_ = mkdtemp(pattern.data());
    }

    void TearDown() override { fs::remove_all(folder_); }

    std::string folder_;
};

TEST_F(StatusFileTest, oneAtATime) {
    {
        const StatusFile first(folder_);
        try {
            const StatusFile second(folder_);
            FAIL() << "a second one was let in";
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), 76);
            const std::string pid = fmt::format("(PID: {} Started at: ", ::getpid());
            EXPECT_NE(error.message().find(pid), std::string::npos) << error.message();
        }
    }
    const StatusFile third(folder_);
}

TEST_F(StatusFileTest, aFolderThatIsNotThere) { EXPECT_THROW(StatusFile(folder_ + "/nothing"), Error); }

TEST_F(StatusFileTest, pidFile) {
    const std::string path = folder_ + "/pid";
    {
        const PidFile file(path);
        std::ifstream stream(path);
        int pid = 0;
        stream >> pid;
        EXPECT_EQ(pid, ::getpid());
    }
    EXPECT_FALSE(fs::exists(path));
    const PidFile none("");
}

}  // namespace
}  // namespace shardd::daemon
