#pragma once

#include <string>
#include <utility>
#include <vector>

namespace shardd::test {

/// One case of a *.test file: statements, and what the last one must give. The format is told in
/// tests/sql/README.md.
struct SqlCase {
    int number = 0;
    std::vector<std::string> statements;
    int error = 0;          // 0: none is expected
    bool has_rows = false;  // otherwise the statement answers nothing
    bool ordered = true;
    size_t rows = 0;
    bool totals = false, extremes = false;
    std::vector<std::string> lines;  // names, types, rows, totals, extremes: as written
};

struct SqlFile {
    std::string name;
    /// "setup", "shards", "shard 2", "initiator", with the statements to run there, in order.
    std::vector<std::pair<std::string, std::vector<std::string>>> sections;
    std::vector<SqlCase> cases;

    bool distributed() const;
};

/// Throws std::runtime_error naming the line that is not understood.
SqlFile readSqlFile(const std::string& path);

/// A cell as a file writes it: control characters and backslashes escaped.
std::string escapeCell(const std::string& cell);

}  // namespace shardd::test
