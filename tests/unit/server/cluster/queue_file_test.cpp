#include "server/cluster/queue_file.h"

#include <gtest/gtest.h>

#include "common/columns/create_column.h"
#include "common/types/type_parser.h"
#include "tests/support/forgetful_file_system.h"

namespace shardd::cluster {
namespace {

constexpr const char* kPath = "1.bin";

Block someRows(size_t rows) {
    Block block = makeHeader({{"n", parseType("UInt64")},
                              {"s", parseType("LowCardinality(Nullable(String))")},
                              {"a", parseType("Array(Decimal(9, 2))")}});
    Block filled;
    for (const NamedColumn& column : block.columns) {
        MutableColumnPtr values = createColumn(*column.type);
        insertDefaults(*column.type, *values, rows);
        filled.add({column.name, column.type, std::move(values)});
    }
    return filled;
}

QueueFileHeader someHeader() {
    QueueFileHeader header;
    header.text = "INSERT INTO db.t (n, s, a) VALUES";
    header.settings = {{"max_threads", "3"}, {"log_comment", ""}};
    header.origin = {.initial_user = "alice",
                     .initial_query_id = "id",
                     .initial_address = "192.0.2.1:40000",
                     .initial_start_microseconds = -7,
                     .distributed_depth = 2};
    return header;
}

TEST(QueueFile, ComesBackAsItWas) {
    for (const FrameMethod method : {FrameMethod::None, FrameMethod::Lz4, FrameMethod::Zstd}) {
        for (const size_t rows : {size_t{1}, size_t{200'000}}) {  // several frames
            tests::ForgetfulFileSystem disk;
            writeQueueFile(disk, kPath, someHeader(), someRows(rows), {.method = method}, true);
            const QueueFile read = readQueueFile(disk, kPath);
            EXPECT_EQ(read.header.text, "INSERT INTO db.t (n, s, a) VALUES");
            EXPECT_EQ(read.header.settings, someHeader().settings);
            EXPECT_EQ(read.header.origin.initial_user, "alice");
            EXPECT_EQ(read.header.origin.initial_query_id, "id");
            EXPECT_EQ(read.header.origin.initial_address, "192.0.2.1:40000");
            EXPECT_EQ(read.header.origin.initial_start_microseconds, -7);
            EXPECT_EQ(read.header.origin.distributed_depth, 2U);
            EXPECT_EQ(read.header.rows, rows);
            EXPECT_EQ(read.block.rows, rows);
            ASSERT_EQ(read.block.columns.size(), 3U);
            EXPECT_EQ(read.block.columns[1].type->name(), "LowCardinality(Nullable(String))");
            EXPECT_EQ(readQueueFileHeader(disk, kPath).bytes, read.header.bytes);
        }
    }
}

TEST(QueueFile, WhatWasSyncedOutlivesPower) {
    tests::ForgetfulFileSystem disk;
    writeQueueFile(disk, kPath, someHeader(), someRows(5), {}, true);
    disk.syncDirectory("");
    disk.crash(tests::ForgetfulFileSystem::Crash::LosePower);
    EXPECT_EQ(readQueueFile(disk, kPath).block.rows, 5U);
}

/// Every prefix, and every byte changed: told as broken, and nothing worse.
TEST(QueueFile, AnyOtherBytesAreBroken) {
    tests::ForgetfulFileSystem disk;
    writeQueueFile(disk, kPath, someHeader(), someRows(3), {}, false);
    const std::string whole = disk.readFile(kPath);
    for (size_t size = 0; size < whole.size(); ++size) {
        disk.writeFile(kPath, whole.substr(0, size), false);
        EXPECT_THROW(readQueueFile(disk, kPath), BrokenQueueFile) << size;
    }
    for (size_t at = 0; at < whole.size(); ++at) {
        std::string changed = whole;
        changed[at] = static_cast<char>(changed[at] ^ 0x41);
        disk.writeFile(kPath, changed, false);
        EXPECT_THROW(readQueueFile(disk, kPath), BrokenQueueFile) << at;
    }
    disk.writeFile(kPath, whole + "x", false);
    EXPECT_THROW(readQueueFile(disk, kPath), BrokenQueueFile);
    disk.writeFile(kPath, whole + whole, false);
    EXPECT_THROW(readQueueFile(disk, kPath), BrokenQueueFile);
}

TEST(QueueFile, TellsWhatIsWrong) {
    tests::ForgetfulFileSystem disk;
    writeQueueFile(disk, kPath, someHeader(), someRows(3), {}, false);
    const std::string whole = disk.readFile(kPath);
    const auto reason = [&](const std::string& bytes) {
        disk.writeFile(kPath, bytes, false);
        try {
            readQueueFile(disk, kPath);
        } catch (const BrokenQueueFile& broken) {
            return broken.reason;
        }
        return std::string();
    };
    EXPECT_EQ(reason("SHARDDQ\t" + whole.substr(8)), "it is no file of a queue");
    EXPECT_EQ(reason(whole.substr(0, 8) + "\2" + whole.substr(9)),
              "it is of version 2, and this server reads 1");
    EXPECT_EQ(reason(whole.substr(0, 12) + std::string("\xff\xff\xff\xff", 4) + whole.substr(16)),
              "its header claims 4294967295 bytes");
    EXPECT_EQ(reason(whole.substr(0, 20) + "!" + whole.substr(21)),
              "the checksum of its header does not match");
}

TEST(QueueFile, AFileThatIsNotThereIsNotBroken) {
    tests::ForgetfulFileSystem disk;
    try {
        readQueueFile(disk, kPath);
        FAIL();
    } catch (const Error& error) {
        EXPECT_TRUE(error.is(ErrorCode::FILE_DOESNT_EXIST));
    }
}

}  // namespace
}  // namespace shardd::cluster
