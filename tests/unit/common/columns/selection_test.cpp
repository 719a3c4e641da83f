#include "common/columns/selection.h"

#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "common/base/cpu.h"
#include "common/columns/fixed_column.h"
#include "common/columns/string_column.h"

namespace shardd {
namespace {

/// `percent` of the rows stay; 0 and 100 are exact.
Mask randomMask(size_t rows, unsigned percent, unsigned seed) {
    std::mt19937 random(seed);
    Mask mask(rows);
    for (uint8_t& byte : mask) byte = static_cast<uint8_t>((random() % 100 < percent) * (1 + random() % 255));
    return mask;
}

std::vector<size_t> keptRows(const Mask& mask) {
    std::vector<size_t> rows;
    for (size_t row = 0; row < mask.size(); ++row)
        if (mask[row] != 0) rows.push_back(row);
    return rows;
}

std::vector<std::pair<size_t, unsigned>> shapes() {
    std::vector<std::pair<size_t, unsigned>> result;
    for (const size_t rows : {0, 1, 63, 64, 65, 127, 128, 200, 1000})
        for (const unsigned percent : {0U, 3U, 50U, 97U, 100U}) result.emplace_back(rows, percent);
    return result;
}

TEST(Selection, CountsKeptRows) {
    for (const auto& [rows, percent] : shapes()) {
        const Mask mask = randomMask(rows, percent, 1);
        EXPECT_EQ(countKept(mask.span()), keptRows(mask).size()) << rows << " rows, " << percent << " %";
    }
}

TEST(Selection, RunsAreTheLongest) {
    for (const auto& [rows, percent] : shapes()) {
        const Mask mask = randomMask(rows, percent, 2);
        std::vector<size_t> seen;
        size_t end_before = SIZE_MAX;
        forEachRun(mask.span(), [&](size_t from, size_t count) {
            EXPECT_GT(count, 0U);
            EXPECT_NE(from, end_before) << "two runs without a row between them";
            for (size_t row = from; row < from + count; ++row) seen.push_back(row);
            end_before = from + count;
        });
        EXPECT_EQ(seen, keptRows(mask)) << rows << " rows, " << percent << " %";
    }
}

template <typename T>
class SelectionOf : public ::testing::Test {};

using Widths = ::testing::Types<uint8_t, uint16_t, uint32_t, uint64_t, UInt128, UInt256>;
TYPED_TEST_SUITE(SelectionOf, Widths);

TYPED_TEST(SelectionOf, FilterKeepsTheValuesOnEveryProcessor) {
    for (const CpuLevel level : {CpuLevel::Baseline, CpuLevel::Avx2, CpuLevel::Avx512}) {
        limitCpuLevel(level);
        for (const auto& [rows, percent] : shapes()) {
            const Mask mask = randomMask(rows, percent, 3);
            PodVector<TypeParam> values(rows);
            for (size_t row = 0; row < rows; ++row)
                values[row] = TypeParam(static_cast<uint64_t>(row * 2654435761U));
            const FixedColumn<TypeParam> column(values);
            const ColumnPtr kept = column.filter(mask.span(), SIZE_MAX);
            const std::vector<size_t> wanted = keptRows(mask);
            ASSERT_EQ(kept->size(), wanted.size());
            for (size_t i = 0; i < wanted.size(); ++i)
                ASSERT_TRUE(as<FixedColumn<TypeParam>>(*kept).values()[i] == values[wanted[i]])
                    << "level " << static_cast<int>(level) << ", " << rows << " rows, row " << i;
        }
    }
}

TEST(Selection, FilterAndGatherKeepTexts) {
    for (const auto& [rows, percent] : shapes()) {
        const Mask mask = randomMask(rows, percent, 4);
        StringColumn column;
        for (size_t row = 0; row < rows; ++row)
            column.insertText(std::string(row * 7 % 150, static_cast<char>('a' + row % 26)));
        const std::vector<size_t> wanted = keptRows(mask);
        PodVector<RowIndex> indexes;
        for (const size_t row : wanted) indexes.push_back(static_cast<RowIndex>(row));
        for (const ColumnPtr& kept : {column.filter(mask.span(), SIZE_MAX), column.gather(indexes.span())}) {
            ASSERT_EQ(kept->size(), wanted.size());
            for (size_t i = 0; i < wanted.size(); ++i) ASSERT_EQ(kept->bytesAt(i), column.bytesAt(wanted[i]));
        }
    }
}

}  // namespace
}  // namespace shardd
