#include "tests/support/sql_file.h"

#include <algorithm>
#include <fstream>
#include <regex>
#include <stdexcept>

namespace shardd::test {

namespace {

/// A semicolon at the end of a line ends a statement.
std::vector<std::string> splitStatements(const std::string& text) {
    std::vector<std::string> statements;
    std::string current;
    size_t begin = 0;
    const auto finish = [&] {
        const size_t first = current.find_first_not_of(" \n");
        if (first != std::string::npos) statements.push_back(current.substr(first));
        current.clear();
    };
    while (begin < text.size()) {
        size_t end = text.find('\n', begin);
        if (end == std::string::npos) end = text.size();
        std::string line = text.substr(begin, end - begin);
        begin = end + 1;
        const size_t last = line.find_last_not_of(" \t");
        const bool ends = last != std::string::npos && line[last] == ';';
        if (ends) line.resize(last);
        current += (current.empty() ? "" : "\n") + line;
        if (ends) finish();
    }
    finish();
    return statements;
}

void readResult(const std::string& line, SqlCase& sql_case) {
    static const std::regex kResult(
        R"(--> (?:(ok)|error (\d+)|(\d+) rows?(, unordered)?(, totals)?(, extremes)?))");
    std::smatch match;
    if (!std::regex_match(line, match, kResult)) throw std::runtime_error("not understood: " + line);
    if (match[2].matched) sql_case.error = std::stoi(match[2]);
    if (!match[3].matched) return;
    sql_case.has_rows = true;
    sql_case.rows = std::stoul(match[3]);
    sql_case.ordered = !match[4].matched;
    sql_case.totals = match[5].matched;
    sql_case.extremes = match[6].matched;
}

}  // namespace

bool SqlFile::distributed() const {
    return std::any_of(sections.begin(), sections.end(),
                       [](const auto& section) { return section.first.starts_with("shard"); });
}

SqlFile readSqlFile(const std::string& path) {
    std::ifstream stream(path);
    if (!stream) throw std::runtime_error("cannot be read: " + path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) lines.push_back(line);

    SqlFile file;
    file.name = path.substr(path.rfind('/') + 1);
    static const std::regex kSection(R"((setup|shards|shard \d+|initiator):)");
    size_t at = 0;
    while (at < lines.size()) {
        const std::string& line = lines[at++];
        if (line.empty() || line[0] == '#') continue;
        if (std::regex_match(line, kSection)) {
            std::string text;
            while (at < lines.size() && !lines[at].empty()) text += lines[at++] + "\n";
            file.sections.emplace_back(line.substr(0, line.size() - 1), splitStatements(text));
            continue;
        }
        if (!line.starts_with("== ")) throw std::runtime_error(file.name + ": not understood: " + line);
        SqlCase sql_case;
        sql_case.number = std::stoi(line.substr(3));
        std::string text;
        while (at < lines.size() && !lines[at].starts_with("--> ")) text += lines[at++] + "\n";
        sql_case.statements = splitStatements(text);
        if (at == lines.size()) throw std::runtime_error(file.name + ": a case without result");
        readResult(lines[at++], sql_case);
        if (sql_case.has_rows) {
            const size_t count = 2 + sql_case.rows + (sql_case.totals ? 1 : 0) + (sql_case.extremes ? 2 : 0);
            for (size_t i = 0; i < count && at < lines.size(); ++i) sql_case.lines.push_back(lines[at++]);
        }
        file.cases.push_back(std::move(sql_case));
    }
    return file;
}

std::string escapeCell(const std::string& cell) {
    std::string out;
    for (char c : cell) {
        switch (c) {
            case '\\':
                out += "\\\\";
                break;
            case '\t':
                out += "\\t";
                break;
            case '\n':
                out += "\\n";
                break;
            case '\r':
                out += "\\r";
                break;
            case '\0':
                out += "\\0";
                break;
            default:
                out.push_back(c);
        }
    }
    return out;
}

}  // namespace shardd::test
