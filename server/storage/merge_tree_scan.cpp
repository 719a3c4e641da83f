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

/// What a scan reads of every part.
struct ScanColumns {
    ScanColumns(const TableSchema& schema, const ScanRequest& scan_request);

    ScanRequest request;
    Block header;
    std::vector<PartColumn> columns;           // what blocks hold
    std::vector<PartColumn> prewhere_columns;  // what the condition wants
    std::vector<std::string> sizes;            // those of `columns` that are lengths of texts
    std::vector<PartColumn> late_columns;      // of `columns`, those that the condition did not want
    bool in_ranges = false;                    // other sources read what is left of granules and chunks
};

namespace {

using Ranges = GranuleRanges;

/// Neighbouring granules of one part, for one source; of their rows only those from begin_row to end_row - 1.
struct ScanTask {
    PartPtr part;
    size_t first = 0;
    size_t last = 0;
    uint64_t begin_row = 0;
    uint64_t end_row = UINT64_MAX;
};

/// Shared by the sources of one scan. Constant but for `next`.
struct ScanWork {
    explicit ScanWork(std::shared_ptr<const ScanColumns> columns) : what(std::move(columns)) {}

    const std::shared_ptr<const ScanColumns> what;
    std::vector<ScanTask> tasks;
    std::atomic<size_t> next = 0;
};

class PartsSource final : public BlockSource {
public:
    explicit PartsSource(std::shared_ptr<ScanWork> work) : work_(std::move(work)), what_(*work_->what) {}

    const Block& header() const override { return what_.header; }

    std::optional<Block> next() override {
        if (pending_) return nextSlice();
        while (!what_.request.stop.stop_requested()) {
            if (granule_ == task_.last && !takeTask()) return std::nullopt;
            std::optional<Block> block = readChunk();
            if (!block) continue;
            // The usual limit is a little less than a chunk, which is not worth a copy.
            constexpr size_t kUsualRows = 65409;
            const size_t limit = what_.request.max_block_rows;
            if (block->rows <= (limit >= kUsualRows ? std::max(limit, PartIndex::kChunkRows) : limit))
                return block;
            pending_ = std::move(block);
            pending_row_ = 0;
            return nextSlice();
        }
        return std::nullopt;
    }

private:
    /// Granules of one chunk, and which of their rows are the task's.
    struct Piece {
        size_t first;
        size_t last;
        size_t rows;  // of the granules
        size_t begin;
        size_t end;

        bool whole() const { return begin == 0 && end == rows; }
    };

    /// A block smaller than a chunk was asked for.
    std::optional<Block> nextSlice() {
        const size_t rows =
            std::min(std::max<size_t>(1, what_.request.max_block_rows), pending_->rows - pending_row_);
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
        if (what_.request.prewhere) early_ = std::make_unique<PartReader>(task_.part, what_.prewhere_columns);
        late_ = std::make_unique<PartReader>(task_.part, what_.late_columns, what_.sizes);
        if (task_.part->hasRowMask())
            mask_ = std::make_unique<PartReader>(
                task_.part, std::vector<PartColumn>{{Part::kRowMaskColumn, types::uint8()}});
        for (const auto& reader : {early_.get(), late_.get(), mask_.get()})
            if (reader && what_.in_ranges) reader->cacheWholeChunks();
        return true;
    }

    /// Granules of the task up to a block's rows; nothing when no row of them is wanted.
    std::optional<Block> readChunk() {
        const PartIndex& index = task_.part->index();
        const size_t first = granule_;
        const size_t end = std::min(task_.last, (first / index.chunk_granules + 1) * index.chunk_granules);
        // A LIMIT is served by the first granules that may hold it; everything else wants whole chunks.
        size_t last = end;
        if (what_.request.limit_rows != 0)
            for (last = first + 1; last < end && index.rowsBetween(first, last) < what_.request.limit_rows;)
                ++last;
        granule_ = last;
        const uint64_t start = index.row_starts[first];
        const size_t rows = index.rowsBetween(first, last);
        const Piece piece{.first = first,
                          .last = last,
                          .rows = rows,
                          .begin = std::max(task_.begin_row, start) - start,
                          .end = std::min<uint64_t>(task_.end_row, start + rows) - start};
        if (what_.request.prewhere || mask_) return readFiltered(piece);
        Block block;
        block.rows = rows;
        const std::vector<ColumnPtr> read = late_->read({{first, last}});
        for (size_t i = 0; i < read.size(); ++i)
            block.columns.push_back({what_.columns[i].name, what_.columns[i].type, read[i]});
        if (!piece.whole()) block = block.slice(piece.begin, piece.end - piece.begin);
        report(block.rows, block.dataBytes());
        return block;
    }

    void report(size_t rows, size_t bytes) const {
        if (what_.request.progress) what_.request.progress(rows, bytes);
    }

    /// First the columns of the condition, then the others, only of granules in which a row is left.
    std::optional<Block> readFiltered(const Piece& piece) {
        Block early;
        early.rows = piece.rows;
        if (early_) {
            const std::vector<ColumnPtr> read = early_->read({{piece.first, piece.last}});
            for (size_t i = 0; i < read.size(); ++i)
                early.columns.push_back(
                    {what_.prewhere_columns[i].name, what_.prewhere_columns[i].type, read[i]});
        }
        Mask mask;
        if (early_) mask = what_.request.prewhere->condition(early);
        if (mask_) {
            const ColumnPtr visible = mask_->read({{piece.first, piece.last}})[0];
            const auto& bytes = as<FixedColumn<uint8_t>>(*visible).values();
            if (mask.empty()) mask.assign(early.rows, 1);
            for (size_t row = 0; row < early.rows; ++row) mask[row] = mask[row] != 0 && bytes[row] != 0;
        }
        SHARDD_CHECK(mask.size() == early.rows);
        std::fill(mask.begin(), mask.begin() + piece.begin, 0);
        std::fill(mask.begin() + piece.end, mask.end(), 0);
        const size_t rows = piece.end - piece.begin;
        size_t read_bytes = piece.rows == 0 ? 0 : early.dataBytes() * rows / piece.rows;
        std::optional<Block> block = finishFiltered(early, mask, piece, read_bytes);
        report(rows, read_bytes);
        return block;
    }

    std::optional<Block> finishFiltered(const Block& early,
                                        const Mask& mask,
                                        const Piece& piece,
                                        size_t& read_bytes) {
        const size_t kept = countKept(mask.span());
        if (kept == 0) return std::nullopt;
        const std::vector<ColumnPtr> late =
            late_->readKept(piece.first, piece.last, mask.span(), kept, read_bytes);
        Block block;
        block.rows = kept;
        size_t next_late = 0;
        for (const PartColumn& column : what_.columns) {
            const auto at = early.find(column.name);
            ColumnPtr values = at ? early.columns[*at].column : late[next_late++];
            if (at && kept != mask.size()) values = values->filter(mask.span(), kept);
            block.columns.push_back({column.name, column.type, std::move(values)});
        }
        return block;
    }

    std::shared_ptr<ScanWork> work_;
    const ScanColumns& what_;
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
/// together. Of each part only the rows from begin_row to end_row - 1.
void addTasks(ScanWork& work,
              const ChosenGranules& chosen,
              uint64_t begin_row,
              uint64_t end_row,
              size_t granules_in_all,
              size_t max_streams) {
    const PartIndex& index = chosen.part->index();
    const size_t chunk = index.chunk_granules;
    const size_t streams = std::max<size_t>(1, max_streams);
    const size_t task_granules = std::clamp<size_t>(granules_in_all / (streams * 8) / chunk, 1, 32) * chunk;
    const auto& starts = index.row_starts;
    const auto begins = std::upper_bound(starts.begin(), starts.end(), begin_row) - starts.begin();
    const auto ends = std::lower_bound(starts.begin(), starts.end(), end_row) - starts.begin();
    for (const auto& [first, last] : chosen.granules) {
        const size_t stop = std::min(last, static_cast<size_t>(ends));
        for (size_t at = std::max(first, static_cast<size_t>(begins) - 1); at < stop;) {
            const size_t end = std::min(stop, (at / task_granules + 1) * task_granules);
            work.tasks.push_back({chosen.part, at, end, begin_row, end_row});
            at = end;
        }
    }
}

std::vector<BlockSourcePtr> sourcesOf(const std::shared_ptr<ScanWork>& work, size_t max_streams) {
    std::vector<BlockSourcePtr> sources;
    const size_t streams = std::min(std::max<size_t>(1, max_streams), work->tasks.size());
    for (size_t i = 0; i < streams; ++i) sources.push_back(std::make_unique<PartsSource>(work));
    return sources;
}

/// Parts by partition, their granules by the primary key.
std::vector<ChosenGranules> chooseGranules(const PartSnapshot& snapshot, const ScanRequest& request) {
    const KeyCondition condition(snapshot.primary_key, keyColumns(*snapshot.schema, snapshot.primary_key),
                                 request.ranges);
    std::vector<ChosenGranules> chosen;
    for (const PartPtr& part : snapshot.parts) {
        if (part->rows() == 0 || !mayMatchPart(*part, snapshot.minmax_columns, request.ranges)) continue;
        if (Ranges ranges = selectGranules(*part, condition); !ranges.empty())
            chosen.push_back({part, std::move(ranges)});
    }
    return chosen;
}

/// Enough rows to keep a table of their groups in the cache and all streams busy to the end, and of each part
/// so many that the granules at both ends do not count.
uint64_t usualRangeRows(size_t parts, uint64_t rows, size_t streams) {
    constexpr uint64_t kChunk = PartIndex::kChunkRows;
    const uint64_t even = rows / (4 * std::max<size_t>(1, streams)) / kChunk * kChunk;
    return std::max(std::clamp(even, kChunk, 4 * kChunk),
                    std::min<uint64_t>(parts * kChunk / 2, 16 * kChunk));
}

}  // namespace

ScanColumns::ScanColumns(const TableSchema& schema, const ScanRequest& scan_request)
    : request(scan_request), columns(columnsOf(schema, request.columns)) {
    for (const PartColumn& column : columns)
        if (sizedText(schema, column.name)) sizes.push_back(column.name);
    for (const PartColumn& column : columns)
        header.columns.push_back({column.name, column.type, createColumn(*column.type)});
    if (request.prewhere) prewhere_columns = columnsOf(schema, request.prewhere->columns);
    for (const PartColumn& column : columns) {
        const bool early = std::any_of(prewhere_columns.begin(), prewhere_columns.end(),
                                       [&](const PartColumn& other) { return other.name == column.name; });
        if (!early) late_columns.push_back(column);
    }
}

std::vector<BlockSourcePtr> scanParts(const PartSnapshot& snapshot, const ScanRequest& request) {
    auto work = std::make_shared<ScanWork>(std::make_shared<const ScanColumns>(*snapshot.schema, request));
    const std::vector<ChosenGranules> chosen = chooseGranules(snapshot, request);
    size_t granules = 0;
    for (const ChosenGranules& part : chosen)
        for (const auto& [first, last] : part.granules) granules += last - first;
    for (const ChosenGranules& part : chosen)
        addTasks(*work, part, 0, UINT64_MAX, granules, request.max_streams);
    return sourcesOf(work, request.max_streams);
}

std::unique_ptr<KeyRangeScan> KeyRangeScan::make(const PartSnapshot& snapshot,
                                                 const ScanRequest& request,
                                                 size_t elements,
                                                 uint64_t target_rows) {
    std::vector<ChosenGranules> chosen = chooseGranules(snapshot, request);
    if (!KeyRanges::canCut(chosen)) return nullptr;
    if (target_rows == 0) {
        uint64_t rows = 0;
        for (const ChosenGranules& part : chosen) rows += part.rows();
        target_rows = usualRangeRows(chosen.size(), rows, request.max_streams);
    }
    auto columns = std::make_shared<ScanColumns>(*snapshot.schema, request);
    columns->in_ranges = true;
    KeyRanges ranges(std::move(chosen), snapshot.primary_key,
                     keyColumns(*snapshot.schema, snapshot.primary_key), elements, target_rows);
    return std::unique_ptr<KeyRangeScan>(
        new KeyRangeScan(std::move(columns), std::move(ranges), target_rows));
}

std::vector<BlockSourcePtr> KeyRangeScan::open(size_t range, size_t max_streams) const {
    auto work = std::make_shared<ScanWork>(columns_);
    const std::vector<ChosenGranules>& parts = ranges_.parts();
    const size_t granules = rowsAbout(range) / 8192;
    for (size_t part = 0; part < parts.size(); ++part) {
        const uint64_t begin = ranges_.firstRow(range, part);
        const uint64_t end = ranges_.endRow(range, part);
        if (begin < end) addTasks(*work, parts[part], begin, end, granules, max_streams);
    }
    return sourcesOf(work, max_streams);
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
