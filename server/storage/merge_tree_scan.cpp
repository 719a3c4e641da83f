#include "server/storage/merge_tree_scan.h"

#include <algorithm>
#include <atomic>

#include "common/base/error.h"
#include "common/columns/create_column.h"
#include "common/columns/fixed_column.h"
#include "common/columns/selection.h"
#include "server/storage/key_index.h"
#include "server/storage/part_reader.h"

namespace shardd::storage {

namespace {

using Ranges = GranuleRanges;

/// Neighbouring granules of one part, for one source.
struct ScanTask {
    PartPtr part;
    size_t first = 0;
    size_t last = 0;
};

/// Shared by the sources of one scan. Constant but for `next`.
struct ScanWork {
    ScanRequest request;
    Block header;
    std::vector<PartColumn> columns;           // what blocks hold
    std::vector<PartColumn> prewhere_columns;  // what the condition wants
    std::vector<std::string> sizes;            // those of `columns` that are lengths of texts
    std::vector<PartColumn> late_columns;      // of `columns`, those that the condition did not want
    std::vector<ScanTask> tasks;
    std::atomic<size_t> next = 0;
};

class PartsSource final : public BlockSource {
public:
    explicit PartsSource(std::shared_ptr<ScanWork> work) : work_(std::move(work)) {}

    const Block& header() const override { return work_->header; }

    std::optional<Block> next() override {
        if (pending_) return nextSlice();
        while (!work_->request.stop.stop_requested()) {
            if (granule_ == task_.last && !takeTask()) return std::nullopt;
            std::optional<Block> block = readChunk();
            if (!block) continue;
            // The usual limit is a little less than a chunk, which is not worth a copy.
            constexpr size_t kUsualRows = 65409;
            const size_t limit = work_->request.max_block_rows;
            if (block->rows <= (limit >= kUsualRows ? std::max(limit, PartIndex::kChunkRows) : limit))
                return block;
            pending_ = std::move(block);
            pending_row_ = 0;
            return nextSlice();
        }
        return std::nullopt;
    }

private:
    /// A block smaller than a chunk was asked for.
    std::optional<Block> nextSlice() {
        const size_t rows =
            std::min(std::max<size_t>(1, work_->request.max_block_rows), pending_->rows - pending_row_);
        Block block = pending_->slice(pending_row_, rows);
        pending_row_ += rows;
        if (pending_row_ == pending_->rows) pending_.reset();
        return block;
    }

    bool takeTask() {
        const size_t at = work_->next.fetch_add(1, std::memory_order_relaxed);
        if (at >= work_->tasks.size()) return false;
        const bool same_part = task_.part == work_->tasks[at].part;
        task_ = work_->tasks[at];
        granule_ = task_.first;
        if (same_part) return true;
        early_.reset();
        late_.reset();
        mask_.reset();
        if (work_->request.prewhere)
            early_ = std::make_unique<PartReader>(task_.part, work_->prewhere_columns);
        late_ = std::make_unique<PartReader>(task_.part, work_->late_columns, work_->sizes);
        if (task_.part->hasRowMask())
            mask_ = std::make_unique<PartReader>(
                task_.part, std::vector<PartColumn>{{Part::kRowMaskColumn, types::uint8()}});
        return true;
    }

    /// Granules of the task up to a block's rows; nothing when no row of them is wanted.
    std::optional<Block> readChunk() {
        const PartIndex& index = task_.part->index();
        const size_t first = granule_;
        const size_t end = std::min(task_.last, (first / index.chunk_granules + 1) * index.chunk_granules);
        // A LIMIT is served by the first granules that may hold it; everything else wants whole chunks.
        size_t last = end;
        if (work_->request.limit_rows != 0)
            for (last = first + 1; last < end && index.rowsBetween(first, last) < work_->request.limit_rows;)
                ++last;
        granule_ = last;
        if (work_->request.prewhere || mask_) return readFiltered(first, last);
        Block block;
        block.rows = index.rowsBetween(first, last);
        const std::vector<ColumnPtr> read = late_->read({{first, last}});
        for (size_t i = 0; i < read.size(); ++i)
            block.columns.push_back({work_->columns[i].name, work_->columns[i].type, read[i]});
        report(block.rows, block.dataBytes());
        return block;
    }

    void report(size_t rows, size_t bytes) const {
        if (work_->request.progress) work_->request.progress(rows, bytes);
    }

    /// First the columns of the condition, then the others, only of granules in which a row is left.
    std::optional<Block> readFiltered(size_t first, size_t last) {
        const PartIndex& index = task_.part->index();
        Block early;
        early.rows = index.rowsBetween(first, last);
        if (early_) {
            const std::vector<ColumnPtr> read = early_->read({{first, last}});
            for (size_t i = 0; i < read.size(); ++i)
                early.columns.push_back(
                    {work_->prewhere_columns[i].name, work_->prewhere_columns[i].type, read[i]});
        }
        Mask mask;
        if (early_) mask = work_->request.prewhere->condition(early);
        if (mask_) {
            const ColumnPtr visible = mask_->read({{first, last}})[0];
            const auto& bytes = as<FixedColumn<uint8_t>>(*visible).values();
            if (mask.empty()) mask.assign(early.rows, 1);
            for (size_t row = 0; row < early.rows; ++row) mask[row] = mask[row] != 0 && bytes[row] != 0;
        }
        SHARDD_CHECK(mask.size() == early.rows);
        size_t read_bytes = early.dataBytes();
        std::optional<Block> block = finishFiltered(early, mask, first, last, read_bytes);
        report(early.rows, read_bytes);
        return block;
    }

    std::optional<Block> finishFiltered(
        const Block& early, const Mask& mask, size_t first, size_t last, size_t& read_bytes) {
        const size_t kept = countKept(mask.span());
        if (kept == 0) return std::nullopt;
        const std::vector<ColumnPtr> late = late_->readKept(first, last, mask.span(), kept, read_bytes);
        Block block;
        block.rows = kept;
        size_t next_late = 0;
        for (const PartColumn& column : work_->columns) {
            const auto at = early.find(column.name);
            ColumnPtr values = at ? early.columns[*at].column : late[next_late++];
            if (at && kept != mask.size()) values = values->filter(mask.span(), kept);
            block.columns.push_back({column.name, column.type, std::move(values)});
        }
        return block;
    }

    std::shared_ptr<ScanWork> work_;
    ScanTask task_;
    size_t granule_ = 0;
    std::unique_ptr<PartReader> early_;
    std::unique_ptr<PartReader> late_;
    std::unique_ptr<PartReader> mask_;
    std::optional<Block> pending_;
    size_t pending_row_ = 0;
};

/// The String column whose lengths `name` stands for; a column of that very name comes first.
const ColumnDefinition* sizedText(const TableSchema& schema, const std::string& name) {
    if (schema.find(name)) return nullptr;
    const std::optional<std::string> text = sizedColumn(name);
    const ColumnDefinition* column = text ? schema.find(*text) : nullptr;
    return column && column->type->kind() == TypeKind::String ? column : nullptr;
}

std::vector<PartColumn> columnsOf(const TableSchema& schema, const std::vector<std::string>& names) {
    std::vector<PartColumn> columns;
    for (const std::string& name : names) {
        const ColumnDefinition* column = schema.find(name);
        if (sizedText(schema, name)) {
            columns.push_back({name, types::uint64()});
            continue;
        }
        if (!column)
            throw Error(ErrorCode::NOT_FOUND_COLUMN_IN_BLOCK, "There is no column {} in table {}.{}", name,
                        schema.database, schema.name);
        columns.push_back({name, column->type});
    }
    return columns;
}

std::vector<PartColumn> keyColumns(const TableSchema& schema, const KeyDescription& key) {
    std::vector<PartColumn> columns;
    for (const std::string& name : key.usedColumns())
        if (const ColumnDefinition* column = schema.find(name)) columns.push_back({name, column->type});
    return columns;
}

/// Cuts the chosen granules into pieces for the sources: large enough to read in a row, small enough to end
/// together.
void makeTasks(ScanWork& work, const std::vector<std::pair<PartPtr, Ranges>>& chosen) {
    size_t granules = 0;
    for (const auto& [part, ranges] : chosen)
        for (const auto& [first, last] : ranges) granules += last - first;
    const size_t streams = std::max<size_t>(1, work.request.max_streams);
    for (const auto& [part, ranges] : chosen) {
        const size_t chunk = part->index().chunk_granules;
        const size_t task_granules = std::clamp<size_t>(granules / (streams * 8) / chunk, 1, 32) * chunk;
        for (const auto& [first, last] : ranges)
            for (size_t at = first; at < last;) {
                const size_t end = std::min(last, (at / task_granules + 1) * task_granules);
                work.tasks.push_back({part, at, end});
                at = end;
            }
    }
}

}  // namespace

std::vector<BlockSourcePtr> scanParts(const PartSnapshot& snapshot, const ScanRequest& request) {
    auto work = std::make_shared<ScanWork>();
    work->request = request;
    work->columns = columnsOf(*snapshot.schema, request.columns);
    for (const PartColumn& column : work->columns)
        if (sizedText(*snapshot.schema, column.name)) work->sizes.push_back(column.name);
    for (const PartColumn& column : work->columns)
        work->header.columns.push_back({column.name, column.type, createColumn(*column.type)});
    if (request.prewhere) work->prewhere_columns = columnsOf(*snapshot.schema, request.prewhere->columns);
    for (const PartColumn& column : work->columns) {
        const bool early = std::any_of(work->prewhere_columns.begin(), work->prewhere_columns.end(),
                                       [&](const PartColumn& other) { return other.name == column.name; });
        if (!early) work->late_columns.push_back(column);
    }
    const KeyCondition condition(snapshot.primary_key, keyColumns(*snapshot.schema, snapshot.primary_key),
                                 request.ranges);
    std::vector<std::pair<PartPtr, Ranges>> chosen;
    for (const PartPtr& part : snapshot.parts) {
        if (part->rows() == 0 || !mayMatchPart(*part, snapshot.minmax_columns, request.ranges)) continue;
        if (Ranges ranges = selectGranules(*part, condition); !ranges.empty())
            chosen.emplace_back(part, std::move(ranges));
    }
    makeTasks(*work, chosen);
    std::vector<BlockSourcePtr> sources;
    const size_t streams = std::min(std::max<size_t>(1, request.max_streams), work->tasks.size());
    for (size_t i = 0; i < streams; ++i) sources.push_back(std::make_unique<PartsSource>(work));
    return sources;
}

Block readWholePart(const PartPtr& part, const std::vector<PartColumn>& columns) {
    Block block;
    if (part->rows() == 0) return block;
    const size_t granules = part->index().granules();
    PartReader reader(part, columns);
    const std::vector<ColumnPtr> read = reader.read({{0, granules}});
    block.rows = part->rows();
    for (size_t i = 0; i < columns.size(); ++i)
        block.columns.push_back({columns[i].name, columns[i].type, read[i]});
    if (!part->hasRowMask()) return block;
    PartReader mask_reader(part, {{Part::kRowMaskColumn, types::uint8()}});
    const ColumnPtr mask = mask_reader.read({{0, granules}})[0];
    const auto& bytes = as<FixedColumn<uint8_t>>(*mask).values();
    return block.filter(bytes.span(), countKept(bytes.span()));
}

}  // namespace shardd::storage
