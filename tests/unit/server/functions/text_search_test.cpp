#include "server/functions/text_search.h"

#include <random>

#include <gtest/gtest.h>

#include "common/base/cpu.h"
#include "common/columns/string_column.h"

namespace shardd::functions {
namespace {

/// Texts of few different letters, so that first and last bytes of needles meet often, also across rows.
void addRandomTexts(StringColumn& texts, size_t rows) {
    std::mt19937 random(7);
    for (size_t row = 0; row < rows; ++row) {
        std::string text;
        for (size_t size = random() % 90; text.size() < size;) text += static_cast<char>('a' + random() % 3);
        texts.insertText(text);
    }
}

TEST(TextSearch, MarksTheRowsThatContainTheNeedleOnEveryProcessor) {
    StringColumn texts;
    addRandomTexts(texts, 500);
    for (const CpuLevel level : {CpuLevel::Baseline, CpuLevel::Avx2, CpuLevel::Avx512}) {
        limitCpuLevel(level);
        for (const std::string needle :
             {"", "a", "ab", "cab", "abcab", "bbbbbb", "abcabcabcabcabcabcabcabcabcabcabcabcabca"}) {
            PodVector<uint8_t> marks(texts.size(), 0);
            markContaining(texts, needle, 1, marks);
            for (size_t row = 0; row < texts.size(); ++row)
                ASSERT_EQ(marks[row] != 0, texts.bytesAt(row).find(needle) != std::string_view::npos)
                    << "level " << static_cast<int>(level) << ", '" << needle << "' in "
                    << texts.bytesAt(row);
        }
    }
}

}  // namespace
}  // namespace shardd::functions
