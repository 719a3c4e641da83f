#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <sstream>

#include "common/base/error.h"
#include "tests/support/local_cluster.h"
#include "tests/support/sql_file.h"

/// Runs the *.test files of this folder in one process, without sockets, and compares with what ClickHouse
/// answers.
///
///   sql_test [FILE…] [--only N] [--quiet]     without files: all of them
///
/// The last line is "N passed, M failed".
namespace shardd::test {
namespace {

std::vector<std::string> splitCells(const std::string& line) {
    std::vector<std::string> cells;
    std::stringstream stream(line);
    for (std::string cell; std::getline(stream, cell, '\t');) cells.push_back(cell);
    if (line.empty() || line.back() == '\t') cells.emplace_back();
    return cells;
}

bool sameNumber(const std::string& got, const std::string& want) {
    char* got_end = nullptr;
    char* want_end = nullptr;
    const double a = std::strtod(got.c_str(), &got_end), b = std::strtod(want.c_str(), &want_end);
    if (*got_end || *want_end || got.empty() || want.empty()) return false;
    if (std::isnan(a) && std::isnan(b)) return true;
    return a == b || std::fabs(a - b) <= 1e-9 * std::max(std::fabs(a), std::fabs(b));
}

bool sameCell(const std::string& type, const std::string& got, const std::string& want) {
    if (got == want) return true;
    if (type.find("Float") == std::string::npos) return false;
    if (type.find('(') == std::string::npos || type.starts_with("Nullable(Float"))
        return sameNumber(got, want);
    // Numbers inside arrays and tuples: compared piece by piece.
    const auto pieces = [](const std::string& text) {
        std::vector<std::string> list{""};
        for (char c : text) {
            if (std::string_view("[](){},: '").find(c) != std::string_view::npos) {
                list.emplace_back(1, c);
                list.emplace_back();
            } else {
                list.back().push_back(c);
            }
        }
        return list;
    };
    const auto a = pieces(got), b = pieces(want);
    return a.size() == b.size() &&
           std::equal(a.begin(), a.end(), b.begin(),
                      [](const auto& x, const auto& y) { return x == y || sameNumber(x, y); });
}

std::string joined(const std::vector<std::string>& cells) {
    std::string line;
    for (size_t i = 0; i < cells.size(); ++i) line += (i ? "\t" : "") + cells[i];
    return line;
}

std::vector<std::string> answerLines(const Answer& answer, const SqlCase& expected) {
    std::vector<std::string> names, types, lines;
    for (const NamedColumn& column : answer.header.columns) {
        names.push_back(escapeCell(column.name));
        types.push_back(escapeCell(column.type->name()));
    }
    lines.push_back(joined(names));
    lines.push_back(joined(types));
    const auto add = [&](const Block& block) {
        for (size_t row = 0; row < block.rows; ++row) {
            auto cells = cellsOf(block, row);
            for (auto& cell : cells) cell = escapeCell(cell);
            lines.push_back(joined(cells));
        }
    };
    for (const Block& block : answer.blocks) add(block);
    if (expected.totals && answer.totals) add(*answer.totals);
    if (expected.extremes && answer.extremes) add(*answer.extremes);
    return lines;
}

/// Nothing when equal, else what differs.
std::string compare(const Answer& answer, const SqlCase& expected) {
    if (!expected.has_rows) {
        size_t rows = 0;
        for (const Block& block : answer.blocks) rows += block.rows;
        return rows ? "answers rows where none are expected" : "";
    }
    std::vector<std::string> got = answerLines(answer, expected), want = expected.lines;
    if (!expected.ordered) {
        const auto sortRows = [&](std::vector<std::string>& lines) {
            if (lines.size() > 2)
                std::sort(lines.begin() + 2,
                          lines.begin() + 2 +
                              static_cast<std::ptrdiff_t>(std::min(expected.rows, lines.size() - 2)));
        };
        sortRows(got);
        sortRows(want);
    }
    std::string text;
    bool same = got.size() == want.size();
    const auto types = want.size() > 1 ? splitCells(want[1]) : std::vector<std::string>();
    for (size_t i = 0; same && i < got.size(); ++i) {
        const auto a = splitCells(got[i]), b = splitCells(want[i]);
        same = a.size() == b.size();
        for (size_t c = 0; same && c < a.size(); ++c)
            same = i < 2 ? a[c] == b[c] : sameCell(c < types.size() ? types[c] : "", a[c], b[c]);
    }
    if (same) return "";
    for (size_t i = 0; i < std::min<size_t>(want.size(), 12); ++i) text += "    want " + want[i] + "\n";
    for (size_t i = 0; i < std::min<size_t>(got.size(), 12); ++i) text += "    got  " + got[i] + "\n";
    return text;
}

class FileRun {
public:
    explicit FileRun(const SqlFile& file) : file_(file), cluster_(3) {}

    void prepare() {
        Connection connection;
        cluster_.initiator().run("CREATE DATABASE golden", connection);
        for (auto& shard : cluster_.shards()) shard->run("CREATE DATABASE golden", connection);
        for (const auto& [where, statements] : file_.sections)
            for (const std::string& statement : statements) runIn(where, statement);
    }

    /// Nothing when the case passes.
    std::string run(const SqlCase& sql_case) {
        Connection connection = golden();
        Answer answer;
        try {
            for (const std::string& statement : sql_case.statements)
                answer = cluster_.initiator().run(statement, connection);
        } catch (const Error& error) {
            if (sql_case.error == error.code()) return "";
            return fmt::format("    want {}, got error {}: {}\n",
                               sql_case.error ? fmt::format("error {}", sql_case.error) : "an answer",
                               error.code(), error.message().substr(0, 300));
        } catch (const std::exception& error) {
            return fmt::format("    got exception {}\n", error.what());
        }
        if (sql_case.error) return fmt::format("    want error {}, got an answer\n", sql_case.error);
        return compare(answer, sql_case);
    }

private:
    static Connection golden() {
        Connection connection;
        connection.database = "golden";
        connection.settings.set("session_timezone", "UTC");
        return connection;
    }

    void runIn(const std::string& where, const std::string& statement) {
        const auto on = [&](LocalNode& node) {
            Connection connection = golden();
            node.run(statement, connection);
        };
        if (where == "setup" || where == "initiator") return on(cluster_.initiator());
        if (where == "shards") {
            for (auto& shard : cluster_.shards()) on(*shard);
            return;
        }
        on(*cluster_.shards().at(std::stoul(where.substr(6)) - 1));
    }

    const SqlFile& file_;
    LocalCluster cluster_;
};

struct Options {
    std::vector<std::string> files;
    int only = 0;
    bool quiet = false;
};

Options readOptions(int count, char** words) {
    Options options;
    for (int i = 1; i < count; ++i) {
        const std::string word = words[i];
        if (word == "--only" && i + 1 < count)
            options.only = std::stoi(words[++i]);
        else if (word == "--quiet")
            options.quiet = true;
        else
            options.files.push_back(word);
    }
    if (!options.files.empty()) return options;
    for (const auto& entry : std::filesystem::directory_iterator(SHARDD_TESTS_DIR "/sql"))
        if (entry.path().extension() == ".test") options.files.push_back(entry.path());
    std::sort(options.files.begin(), options.files.end());
    return options;
}

int runAll(const Options& options) {
    size_t passed = 0, failed = 0;
    for (const std::string& path : options.files) {
        const SqlFile file = readSqlFile(path);
        FileRun run(file);
        std::string broken;
        try {
            run.prepare();
        } catch (const Error& error) {
            broken = fmt::format("    cannot be prepared: {} {}\n", error.code(), error.message());
            std::cout << file.name << "\n" << broken;
        }
        size_t file_passed = 0, file_failed = 0;
        for (const SqlCase& sql_case : file.cases) {
            if (options.only && sql_case.number != options.only) continue;
            const std::string difference = broken.empty() ? run.run(sql_case) : broken;
            (difference.empty() ? file_passed : file_failed)++;
            if (difference.empty() || options.quiet || !broken.empty()) continue;
            std::cout << file.name << ":" << sql_case.number << "\n  " << sql_case.statements.back() << "\n"
                      << difference << std::flush;
        }
        std::cout << file.name << ": " << file_passed << " passed, " << file_failed << " failed" << std::endl;
        passed += file_passed;
        failed += file_failed;
    }
    std::cout << passed << " passed, " << failed << " failed" << std::endl;
    return failed ? 1 : 0;
}

}  // namespace
}  // namespace shardd::test

int main(int count, char** words) { return shardd::test::runAll(shardd::test::readOptions(count, words)); }
