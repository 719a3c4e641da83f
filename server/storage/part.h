#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/base/file_system.h"
#include "common/columns/column.h"
#include "server/storage/checksums.h"
#include "server/storage/column_decoder.h"
#include "server/storage/key.h"
#include "server/storage/marks.h"
#include "server/storage/part_info.h"
#include "server/storage/serialization_info.h"

namespace shardd::storage {

class DecodedCache;

struct PartColumn {
    std::string name;
    TypePtr type;
};

/// What a part must know of its table to be read.
struct PartTraits {
    KeyDescription partition_key;
    /// The columns behind the partition key, whose least and greatest values each part keeps.
    std::vector<PartColumn> minmax_columns;
    std::vector<TypePtr> primary_key_types;
    /// Of non-adaptive parts, which do not say it themselves.
    uint64_t index_granularity = 8192;
};

/// A table's directory, kept by the table and by every part that a query still reads; a dropped table's data
/// goes with the last of them.
class TableDirectory {
public:
    TableDirectory(FileSystem& files, std::string path, std::shared_ptr<DecodedCache> cache = nullptr)
        : files_(files), path_(std::move(path)), cache_(std::move(cache)) {}

    TableDirectory(const TableDirectory&) = delete;
    TableDirectory& operator=(const TableDirectory&) = delete;
    ~TableDirectory();

    FileSystem& files() const { return files_; }

    const std::string& path() const { return path_; }

    /// May be nullptr.
    DecodedCache* cache() const { return cache_.get(); }

    void removeWhenUnused() { doomed_ = true; }

private:
    FileSystem& files_;
    std::string path_;
    std::shared_ptr<DecodedCache> cache_;
    std::atomic<bool> doomed_ = false;
};

/// Where granules begin, and the primary key there.
struct PartIndex {
    /// Of each granule's first row, and the number of rows at the end.
    std::vector<uint64_t> row_starts;
    /// A column for each key, without dictionaries; entry i is the key of granule i's first row. One entry
    /// more, of the last row, in parts with a final mark. Empty without a primary key.
    std::vector<ColumnPtr> keys;
    /// How many granules make a block of about kChunkRows rows; chunks begin at its multiples.
    size_t chunk_granules = 1;

    static constexpr size_t kChunkRows = 65536;

    size_t granules() const { return row_starts.size() - 1; }

    size_t rowsBetween(size_t first, size_t last) const { return row_starts[last] - row_starts[first]; }
};

/// One immutable part of a table: sorted rows in files of their columns.
/// Threads: any; what is read late is read once.
/// Source: docs/storage-format.md.
class Part {
public:
    /// Reads what stands in the small files; columns, marks and the index later, when they are wanted.
    /// Errors: those of files; BAD_SIZE_OF_FILE_IN_DATA_PART (228), CORRUPTED_DATA (246),
    /// CHECKSUM_DOESNT_MATCH (40); NOT_IMPLEMENTED (48) for what we do not read (patch parts, packed
    /// storage).
    Part(std::shared_ptr<TableDirectory> table,
         std::string directory,
         PartInfo info,
         std::shared_ptr<const PartTraits> traits);
    ~Part();

    const PartInfo& info() const { return info_; }

    std::string name() const { return info_.name(); }

    /// Whole path, as of now: a part may be moved (to detached/, to be removed) while it is read.
    std::string path() const { return table_->path() + "/" + directory(); }

    /// A file of the part; found also while the part is being moved.
    std::unique_ptr<ReadableFile> openFile(const std::string& name) const;

    FileSystem& files() const { return table_->files(); }

    /// May be nullptr.
    DecodedCache* cache() const { return table_->cache(); }

    uint64_t rows() const { return rows_; }

    /// Of all columns, not compressed.
    uint64_t dataBytes() const;

    const std::vector<PartColumn>& columns() const { return columns_; }

    /// nullptr when the part has no such column.
    const PartColumn* find(std::string_view column) const;

    const Checksums& checksums() const { return checksums_; }

    const SerializationInfo& serialization() const { return serialization_; }

    const MarksFormat& marksFormat() const { return marks_format_; }

    bool compact() const { return marks_format_.compact; }

    /// Two rows, least and greatest, for each of the traits' minmax_columns.
    const std::vector<ColumnPtr>& minmax() const { return minmax_; }

    /// One row for each element of the partition key.
    const std::vector<ColumnPtr>& partitionValues() const { return partition_values_; }

    /// A lightweight DELETE left rows that must not be seen.
    bool hasRowMask() const { return has_row_mask_; }

    const PartIndex& index() const;

    /// Marks of a stream (Wide) or of data.bin (Compact).
    std::shared_ptr<const Marks> marks(const std::string& stream) const;

    /// Compact: which mark of a granule is the first of the column.
    size_t firstMark(const std::string& column) const;

    DictionaryCache& dictionaries() const { return dictionaries_; }

    /// Unique in the process, for caches.
    uint64_t id() const { return id_; }

    void removeWhenUnused() { doomed_ = true; }

    /// Only before anybody else knows the part.
    void setBlocks(int64_t min_block, int64_t max_block) {
        info_.min_block = min_block;
        info_.max_block = max_block;
    }

    /// The directory got another name.
    void setDirectory(std::string directory);

    std::string directory() const;

    static constexpr const char* kRowMaskColumn = "_row_exists";

private:
    void readChecksums();
    void readColumns();
    void readPartition();
    void findMarksFormat();
    PartIndex readIndex() const;
    std::vector<ColumnPtr> readPrimaryKey(size_t granules) const;
    std::vector<uint64_t> readRowStarts() const;
    std::string readFile(const std::string& name) const;

    std::shared_ptr<TableDirectory> table_;
    mutable std::mutex directory_mutex_;
    std::string directory_;  // guarded by directory_mutex_
    PartInfo info_;
    std::shared_ptr<const PartTraits> traits_;
    uint64_t id_;
    uint64_t rows_ = 0;
    std::vector<PartColumn> columns_;
    Checksums checksums_;
    SerializationInfo serialization_;
    MarksFormat marks_format_;
    std::vector<ColumnPtr> minmax_;
    std::vector<ColumnPtr> partition_values_;
    std::map<std::string, size_t, std::less<>> first_marks_;  // Compact
    size_t mark_stride_ = 1;
    bool has_row_mask_ = false;
    std::atomic<bool> doomed_ = false;

    mutable std::once_flag index_once_;
    mutable PartIndex index_;
    mutable std::mutex marks_mutex_;
    mutable std::map<std::string, std::shared_ptr<const Marks>> marks_;  // guarded by marks_mutex_
    mutable DictionaryCache dictionaries_;
};

using PartPtr = std::shared_ptr<Part>;

/// The streams of a column, in the order of the format.
std::vector<std::string> streamNames(const std::string& column,
                                     const TypePtr& type,
                                     const DecodeOptions& options);

/// The id in a part's name, from the values of the partition key (columns of at least row + 1 rows).
std::string partitionId(const KeyDescription& partition_key,
                        const std::vector<ColumnPtr>& values,
                        size_t row);

/// columns.txt.
std::string writeColumnsText(const std::vector<PartColumn>& columns);
std::vector<PartColumn> parseColumnsText(std::string_view text);

}  // namespace shardd::storage
