// Kernels over columns: keeping rows, searching texts, regular expressions.

#include <memory>
#include <random>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <re2/re2.h>

#include "common/base/cpu.h"
#include "common/columns/fixed_column.h"
#include "common/columns/string_column.h"
#include "server/functions/regexp.h"
#include "server/functions/text_search.h"

namespace shardd::functions {
namespace {

constexpr size_t kRows = 65536;

/// `percent` of the rows stay, each by chance.
Mask randomMask(int64_t percent) {
    std::mt19937_64 random(1);
    Mask mask(kRows);
    for (uint8_t& byte : mask) byte = static_cast<int64_t>(random() % 100) < percent;
    return mask;
}

std::unique_ptr<StringColumn> urls() {
    auto column = std::make_unique<StringColumn>();
    for (size_t row = 0; row < kRows; ++row)
        column->insertText("https://www.site" + std::to_string(row % 100) + ".example.org/path/of/page-" +
                           std::to_string(row) + ".html?from=search");
    return column;
}

/// An argument of a benchmark: the form of the kernel, as CpuLevel counts them.
void limitCpu(const benchmark::State& state, int argument) {
    limitCpuLevel(static_cast<CpuLevel>(state.range(argument)));
}

template <typename T>
void filterNumbers(benchmark::State& state) {
    limitCpu(state, 1);
    const FixedColumn<T> column{PodVector<T>(kRows, T{7})};
    const Mask mask = randomMask(state.range(0));
    for (auto _ : state) benchmark::DoNotOptimize(column.filter(mask.span(), SIZE_MAX));
    state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * kRows));
}

void filterTexts(benchmark::State& state) {
    const auto column = urls();
    const Mask mask = randomMask(state.range(0));
    for (auto _ : state) benchmark::DoNotOptimize(column->filter(mask.span(), SIZE_MAX));
    state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * kRows));
}

void searchTexts(benchmark::State& state) {
    limitCpu(state, 0);
    const auto column = urls();
    PodVector<uint8_t> marks(kRows, 0);
    for (auto _ : state) {
        markContaining(*column, "google", 1, marks);
        benchmark::DoNotOptimize(marks.data());
    }
    state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * column->chars().size()));
}

constexpr const char* kHost = "^https?://(?:www\\.)?([^/]+)/.*$";

void hostByRegexp(benchmark::State& state) {
    const auto column = urls();
    const Regexp regexp(kHost);
    std::vector<std::string_view> groups(2);
    for (auto _ : state)
        for (size_t row = 0; row < kRows; ++row)
            benchmark::DoNotOptimize(regexp.match(column->bytesAt(row), 0, groups));
    state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * kRows));
}

void hostByRe2(benchmark::State& state) {
    const auto column = urls();
    const re2::RE2 regexp(kHost);
    std::vector<re2::StringPiece> groups(2);
    for (auto _ : state)
        for (size_t row = 0; row < kRows; ++row) {
            const std::string_view text = column->bytesAt(row);
            benchmark::DoNotOptimize(regexp.Match({text.data(), text.size()}, 0, text.size(),
                                                  re2::RE2::UNANCHORED, groups.data(), 2));
        }
    state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * kRows));
}

BENCHMARK(filterNumbers<uint8_t>)->ArgsProduct({{1, 50, 99}, {0, 1, 2}});
BENCHMARK(filterNumbers<uint32_t>)->ArgsProduct({{1, 50, 99}, {0, 1, 2}});
BENCHMARK(filterNumbers<uint64_t>)->ArgsProduct({{1, 50, 99}, {0, 1, 2}});
BENCHMARK(filterTexts)->Arg(1)->Arg(50)->Arg(99);
BENCHMARK(searchTexts)->DenseRange(0, 2);
BENCHMARK(hostByRegexp);
BENCHMARK(hostByRe2);

}  // namespace
}  // namespace shardd::functions
