// count() by key: the tables of GROUP BY beside absl::flat_hash_map, over the same rows.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/strings/string_view.h>
#include <benchmark/benchmark.h>

#include "common/base/hash.h"
#include "common/columns/fixed_column.h"
#include "common/columns/string_column.h"
#include "common/types/type.h"
#include "server/exec/key_table.h"

namespace shardd::exec {
namespace {

constexpr size_t kRows = size_t{1} << 20;
constexpr size_t kBatchRows = 1024;

uint64_t numberAt(size_t row, size_t groups) { return mixHash64(mixHash64(row + 1) % groups); }

std::string textAt(size_t row, size_t groups) {
    return "http://example.org/" + std::to_string(numberAt(row, groups)) + "/page.html";
}

ColumnPtr numbers(size_t groups, uint64_t salt = 0) {
    PodVector<uint64_t> values(kRows);
    for (size_t row = 0; row < kRows; ++row) values[row] = numberAt(row, groups) ^ salt;
    return std::make_shared<FixedColumn<uint64_t>>(std::move(values));
}

ColumnPtr texts(size_t groups) {
    auto column = std::make_shared<StringColumn>();
    for (size_t row = 0; row < kRows; ++row) column->insertText(textAt(row, groups));
    return column;
}

/// Every row counted in the row of its key's group.
void countByKeyTable(benchmark::State& state,
                     const std::vector<TypePtr>& types,
                     const std::vector<ColumnPtr>& columns) {
    const KeyLayout layout(types);
    GroupRowFormat format;
    format.states_offset = layout.rowBytes();
    format.row_bytes = format.states_offset + 8;
    size_t groups = 0;
    for (auto _ : state) {
        const std::unique_ptr<KeyTable> table = makeKeyTable(layout);
        table->reset(256);
        GroupStore store;
        Arena arena;
        KeyBatch batch;
        PodVector<char*> places(kBatchRows);
        for (size_t from = 0; from < kRows; from += kBatchRows) {
            layout.pack(columns, from, kBatchRows, batch);
            if (!table->fits(kBatchRows)) table->growFor(table->size() + kBatchRows);
            table->lookUp(batch, store, format, arena, KeyTable::Mode::Insert, places.data(), nullptr);
            for (char* row : places) ++*reinterpret_cast<uint64_t*>(row + format.states_offset);
        }
        groups = table->size();
    }
    state.counters["groups"] = static_cast<double>(groups);
    state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * kRows));
}

void numbersByKeyTable(benchmark::State& state) {
    countByKeyTable(state, {types::uint64()}, {numbers(static_cast<size_t>(state.range(0)))});
}

void pairsByKeyTable(benchmark::State& state) {
    const auto groups = static_cast<size_t>(state.range(0));
    countByKeyTable(state, {types::uint64(), types::uint64()}, {numbers(groups), numbers(groups, 42)});
}

void textsByKeyTable(benchmark::State& state) {
    countByKeyTable(state, {types::string()}, {texts(static_cast<size_t>(state.range(0)))});
}

template <typename Map, typename KeyAt>
void countByMap(benchmark::State& state, KeyAt&& key_at) {
    size_t groups = 0;
    for (auto _ : state) {
        Map map;
        for (size_t row = 0; row < kRows; ++row) ++map[key_at(row)];
        groups = map.size();
    }
    state.counters["groups"] = static_cast<double>(groups);
    state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * kRows));
}

void numbersByFlatHashMap(benchmark::State& state) {
    const ColumnPtr column = numbers(static_cast<size_t>(state.range(0)));
    const auto& values = as<FixedColumn<uint64_t>>(*column).values();
    countByMap<absl::flat_hash_map<uint64_t, uint64_t>>(state, [&](size_t row) { return values[row]; });
}

void pairsByFlatHashMap(benchmark::State& state) {
    const ColumnPtr column = numbers(static_cast<size_t>(state.range(0)));
    const auto& values = as<FixedColumn<uint64_t>>(*column).values();
    countByMap<absl::flat_hash_map<std::pair<uint64_t, uint64_t>, uint64_t>>(
        state, [&](size_t row) { return std::pair(values[row], values[row] ^ 42); });
}

void textsByFlatHashMap(benchmark::State& state) {
    const ColumnPtr column = texts(static_cast<size_t>(state.range(0)));
    // Abseil's own views: a package of it may have been built for an older C++.
    countByMap<absl::flat_hash_map<std::string, uint64_t>>(state, [&](size_t row) {
        const std::string_view text = column->bytesAt(row);
        return absl::string_view(text.data(), text.size());
    });
}

#define SHARDD_BENCH(function) BENCHMARK(function)->Arg(1 << 8)->Arg(1 << 14)->Arg(1 << 18)->Arg(1 << 20)
SHARDD_BENCH(numbersByKeyTable);
SHARDD_BENCH(numbersByFlatHashMap);
SHARDD_BENCH(pairsByKeyTable);
SHARDD_BENCH(pairsByFlatHashMap);
SHARDD_BENCH(textsByKeyTable);
SHARDD_BENCH(textsByFlatHashMap);

}  // namespace
}  // namespace shardd::exec
