#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "common/columns/column.h"
#include "common/types/type.h"
#include "server/storage/column_stream.h"
#include "server/storage/serialization_info.h"

namespace shardd::storage {

/// The dictionaries of a part's LowCardinality columns, so that all blocks of a scan share one object.
/// Threads: any.
class DictionaryCache {
public:
    struct Entry {
        ColumnPtr keys;
        Mark end;  // of the dictionary in its stream
    };

    std::shared_ptr<const Entry> find(const std::string& stream, Mark begin) const;
    /// The one to use: that of whoever came first.
    std::shared_ptr<const Entry> insert(const std::string& stream, Mark begin, Entry entry);

private:
    using Key = std::pair<std::string, std::pair<uint64_t, uint64_t>>;

    mutable std::mutex mutex_;
    std::map<Key, std::shared_ptr<const Entry>> entries_;  // guarded by mutex_
};

/// Gives the streams of a column by name. In Compact parts all of them are one stream.
class StreamSource {
public:
    virtual ~StreamSource() = default;
    /// NO_FILE_IN_DATA_PART (226) when the part has no such stream.
    virtual ColumnStream& open(const std::string& stream) = 0;
};

struct DecodeOptions {
    bool string_sizes = false;
    bool sparse_nullable = false;
    /// One granule after another, everything in one stream: dictionaries begin anew in each.
    bool compact = false;
    DictionaryCache* dictionaries = nullptr;
    SerializationKind kind = {};
};

/// Bytes of streams to values of one type, granule by granule. One for each column (and inner column) being
/// read. Threads: one at a time.
class ColumnDecoder {
public:
    virtual ~ColumnDecoder() = default;

    /// The streams were moved to the beginning of a granule.
    virtual void restart() = 0;

    /// In Compact parts: what stands before a granule's first value, of all inner columns at once.
    virtual void readPrefix() {}

    /// Appends `rows` values: whole granules.
    virtual void read(size_t rows) = 0;

    virtual void reserve(size_t /*rows*/) {}

    /// Everything read since the last take().
    virtual ColumnPtr take() = 0;
};

std::unique_ptr<ColumnDecoder> makeColumnDecoder(const std::string& column,
                                                 const TypePtr& type,
                                                 StreamSource& streams,
                                                 const DecodeOptions& options);

}  // namespace shardd::storage
