#pragma once

#include <memory>
#include <string>

#include "common/columns/column.h"
#include "common/types/type.h"

namespace shardd {
class Writer;
}

namespace shardd::storage {

/// One stream being written: bytes go to data(); granules end all streams of a column at once.
class StreamOutput {
public:
    virtual ~StreamOutput() = default;
    virtual Writer& data() = 0;
    /// From now on marks point here, although more is written: a dictionary is read from its beginning in
    /// every granule.
    virtual void pinMark() = 0;
};

/// Gives the streams of a column by name.
class StreamTarget {
public:
    virtual ~StreamTarget() = default;
    virtual StreamOutput& open(const std::string& stream) = 0;
};

/// Values of one column to bytes of streams, granule by granule. The twin of ColumnDecoder.
/// Threads: one at a time.
class ColumnEncoder {
public:
    virtual ~ColumnEncoder() = default;

    /// What stands before the first granule; all streams are open by then.
    virtual void begin() {}

    /// In Compact parts: what stands before a granule's first value, of all inner columns at once.
    virtual void writePrefix() {}

    /// The rows of one granule.
    virtual void write(size_t from, size_t count) = 0;
};

struct EncodeOptions {
    bool string_sizes = true;
    /// Everything in one stream; each granule has a dictionary of its own.
    bool compact = false;
};

/// `values` are all rows of the part (written out, no constant).
std::unique_ptr<ColumnEncoder> makeColumnEncoder(const std::string& column,
                                                 const TypePtr& type,
                                                 const ColumnPtr& values,
                                                 StreamTarget& streams,
                                                 const EncodeOptions& options);

}  // namespace shardd::storage
