#include <cstdlib>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/file_system.h"
#include "server/aggregates/aggregate_list.h"
#include "server/formats/value_text.h"
#include "server/storage/merge_tree_scan.h"
#include "server/storage/part.h"
#include "server/storage/part_reader.h"

namespace shardd::storage {
namespace {

/// Parts written by ClickHouse 18.16 and 26.7, beside what their rows are.
struct Fixture {
    const char* name;
    std::vector<std::pair<const char*, TypeKind>> primary_key;
    uint64_t index_granularity;
};

void PrintTo(const Fixture& fixture, std::ostream* out) { *out << fixture.name; }

std::string directoryOf(const Fixture& fixture) { return std::string(SHARDD_PARTS_DIR) + "/" + fixture.name; }

PartPtr openFixture(const Fixture& fixture) {
    aggregates::registerStates();
    auto traits = std::make_shared<PartTraits>();
    traits->partition_key.elements.push_back({.text = "toYYYYMM(d)",
                                              .type = types::simple(TypeKind::UInt32),
                                              .column = {},
                                              .columns = {"d"},
                                              .evaluate = {}});
    traits->minmax_columns = {{"d", types::simple(TypeKind::Date)}};
    for (const auto& [name, kind] : fixture.primary_key)
        traits->primary_key_types.push_back(types::simple(kind));
    traits->index_granularity = fixture.index_granularity;
    const auto table = std::make_shared<TableDirectory>(localFileSystem(), directoryOf(fixture));
    for (const auto& entry : localFileSystem().list(table->path()))
        if (const auto info = PartInfo::parse(entry.name))
            return std::make_shared<Part>(table, entry.name, *info, traits);
    throw std::runtime_error("no part in " + table->path());
}

std::vector<std::string> splitTabs(const std::string& line) {
    std::vector<std::string> cells;
    std::stringstream stream(line);
    for (std::string cell; std::getline(stream, cell, '\t');) cells.push_back(cell);
    if (line.ends_with('\t')) cells.emplace_back();
    return cells;
}

std::string withoutZeros(std::string decimal) {
    if (decimal.find('.') == std::string::npos) return decimal;
    decimal.erase(decimal.find_last_not_of('0') + 1);
    if (decimal.ends_with('.')) decimal.pop_back();
    return decimal;
}

class PartFixtureTest : public testing::TestWithParam<Fixture> {};

TEST_P(PartFixtureTest, EveryValueIsWhatClickHouseReads) {
    const PartPtr part = openFixture(GetParam());
    const Block block = readWholePart(part, part->columns());
    std::ifstream values(directoryOf(GetParam()) + "/values.tsv");
    std::string line;
    ASSERT_TRUE(std::getline(values, line));
    const std::vector<std::string> names = splitTabs(line);
    std::vector<size_t> wrong(names.size());
    size_t row = 0;
    for (; std::getline(values, line); ++row) {
        const std::vector<std::string> cells = splitTabs(line);
        ASSERT_EQ(cells.size(), names.size());
        for (size_t i = 0; i < names.size(); ++i) {
            const NamedColumn& column = block.get(names[i]);
            if (column.type->kind() == TypeKind::AggregateFunction) continue;
            Writer text;
            formats::valueText(column.type)->write(*column.column, row, formats::TextStyle::Escaped, text);
            // Only 18.16 prints the zeros at the end of a Decimal.
            const std::string expected = column.type->isDecimal() ? withoutZeros(cells[i]) : cells[i];
            if (expected != text.view() && wrong[i]++ == 0)
                ADD_FAILURE() << names[i] << " " << column.type->name() << " row " << row << ": "
                              << text.view() << " instead of " << cells[i];
        }
    }
    EXPECT_EQ(row, part->rows());
    EXPECT_THAT(wrong, testing::Each(0));
}

TEST_P(PartFixtureTest, GranulesInAnyOrderAreTheSameRows) {
    const PartPtr part = openFixture(GetParam());
    const Block whole = readWholePart(part, part->columns());
    const PartIndex& index = part->index();
    ASSERT_EQ(index.granules(),
              (part->rows() + GetParam().index_granularity - 1) / GetParam().index_granularity);
    for (const PartColumn& column : part->columns()) {
        for (size_t granule = index.granules(); granule-- > 0;) {
            const ColumnPtr expected =
                whole.get(column.name)
                    .column->slice(index.row_starts[granule],
                                   index.row_starts[granule + 1] - index.row_starts[granule]);
            PartReader reader(part, {column});
            const ColumnPtr found = reader.read({{granule, granule + 1}})[0];
            ASSERT_EQ(found->size(), expected->size());
            for (size_t row = 0; row < found->size(); ++row)
                ASSERT_EQ(found->value(row), expected->value(row))
                    << column.name << " row " << row << " of granule " << granule;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(
    All,
    PartFixtureTest,
    testing::Values(Fixture{"wide_26", {{"u8", TypeKind::UInt8}}, 512},
                    Fixture{"compact_26", {{"u8", TypeKind::UInt8}}, 512},
                    Fixture{"wide_18", {{"u8", TypeKind::UInt8}, {"id", TypeKind::UInt64}}, 512},
                    Fixture{"minimal_both", {{"k", TypeKind::UInt64}}, 1024}));

}  // namespace
}  // namespace shardd::storage
