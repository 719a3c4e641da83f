#include <algorithm>

#include "common/base/error.h"
#include "server/storage/merge_tree.h"
#include "server/storage/merge_tree_scan.h"
#include "server/storage/row_order.h"

/// SELECT … FINAL.
namespace shardd::storage {

namespace {

/// Reads its sources to the end, keeps what merging would keep, and gives it in blocks.
class FinalSource final : public BlockSource {
public:
    struct Work {
        std::vector<BlockSourcePtr> sources;
        Block header;  // what is wanted; the sources give the key's columns besides
        KeyDescription key;
        std::string version;
        size_t max_block_rows = 0;
    };

    explicit FinalSource(Work work) : work_(std::move(work)) {}

    const Block& header() const override { return work_.header; }

    std::optional<Block> next() override {
        if (!merged_) merge();
        if (row_ >= kept_.rows) return std::nullopt;
        const size_t rows = std::min(std::max<size_t>(1, work_.max_block_rows), kept_.rows - row_);
        Block block;
        block.rows = rows;
        for (const NamedColumn& column : work_.header.columns)
            block.columns.push_back(
                {column.name, column.type, kept_.get(column.name).column->slice(row_, rows)});
        row_ += rows;
        return block;
    }

private:
    void merge() {
        std::vector<Block> blocks;
        for (const BlockSourcePtr& source : work_.sources)
            while (std::optional<Block> block = source->next()) blocks.push_back(std::move(*block));
        work_.sources.clear();
        merged_ = true;
        if (blocks.empty()) return;
        kept_ = concatenate(std::move(blocks));
        // The sort keeps equal rows in the order of parts: the last one is the one that was inserted last.
        if (const PodVector<RowIndex> order = sortedRows(kept_, work_.key); !order.empty())
            kept_ = kept_.gather(order.span());
        if (!work_.key.empty()) kept_ = keepLatest(kept_, work_.key, work_.version);
    }

    Work work_;
    Block kept_;
    size_t row_ = 0;
    bool merged_ = false;
};

class FinalTable final : public Table {
public:
    explicit FinalTable(std::shared_ptr<MergeTree> table) : table_(std::move(table)) {}

    std::shared_ptr<const TableSchema> schema() const override { return table_->schema(); }

    std::vector<BlockSourcePtr> scan(const ScanRequest& request) const override {
        return table_->scanFinal(request);
    }

    bool supportsPrewhere() const override { return true; }

private:
    std::shared_ptr<MergeTree> table_;
};

}  // namespace

std::vector<BlockSourcePtr> MergeTree::scanFinal(const ScanRequest& request) const {
    if (!replacing_)
        throw Error(ErrorCode::NOT_IMPLEMENTED, "FINAL is not supported for engine {}", schema()->engine);
    FinalSource::Work work{
        .sources = {}, .header = headerFor(request.columns), .key = sorting_key_, .version = version_column_};
    work.max_block_rows = request.max_block_rows;
    ScanRequest all = request;
    all.max_streams = 1;
    all.limit_rows = 0;
    const std::vector<std::string> key_columns = sorting_key_.usedColumns();
    const auto want = [&](const std::string& name) {
        if (std::find(all.columns.begin(), all.columns.end(), name) == all.columns.end())
            all.columns.push_back(name);
    };
    for (const std::string& name : key_columns) want(name);
    if (!version_column_.empty()) want(version_column_);
    // Of rows with one key all must be seen, whatever their other columns say.
    std::erase_if(all.ranges, [&](const ColumnRange& range) {
        return std::find(key_columns.begin(), key_columns.end(), range.column) == key_columns.end();
    });
    work.sources = scan(all);
    std::vector<BlockSourcePtr> sources;
    if (!work.sources.empty()) sources.push_back(std::make_unique<FinalSource>(std::move(work)));
    return sources;
}

TablePtr finalTable(const TablePtr& table) {
    auto merge_tree = std::dynamic_pointer_cast<MergeTree>(table);
    const std::string engine = table->schema()->engine;
    if (!merge_tree || engine == "MergeTree")
        throw Error(ErrorCode::ILLEGAL_FINAL, "Storage {} doesn't support FINAL", engine);
    return std::make_shared<FinalTable>(std::move(merge_tree));
}

}  // namespace shardd::storage
