#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <typeinfo>

#include "common/base/pod_vector.h"
#include "common/types/value.h"

namespace shardd {

class Column;
class SipHash;
class Writer;

/// Columns are immutable once shared; a mutable one has a single owner and becomes shared by conversion.
using ColumnPtr = std::shared_ptr<const Column>;
using MutableColumnPtr = std::unique_ptr<Column>;

/// A row's place in a block; blocks have fewer than 2^32 rows.
using RowIndex = uint32_t;

/// Bytes, one a row, 0 or 1: the result of a condition.
using Mask = PodVector<uint8_t>;

/// What a column is in memory. The Type beside it says what its values mean.
enum class ColumnKind : uint8_t {
    Fixed,        // FixedColumn<T>
    FixedString,  // FixedStringColumn
    String,       // StringColumn
    Nullable,     // NullableColumn
    Array,        // ArrayColumn: Array, and Map as an Array of Tuples
    Tuple,        // TupleColumn
    Dictionary,   // DictionaryColumn: LowCardinality
    State,        // StateColumn: AggregateFunction
    Const,        // ConstColumn: one value, many rows
    Other,        // of a layer above: sets, lambdas
};

/// Many values of one type.
/// Shapes: two columns meet (insertFrom, compare …) only when they have the same kind and element type; use
///         full() before mixing a constant or a dictionary with a plain column.
/// Errors: everything that grows may throw MEMORY_LIMIT_EXCEEDED and then leaves the column as it was.
class Column {
public:
    Column() = default;
    Column(const Column&) = delete;
    Column& operator=(const Column&) = delete;
    virtual ~Column() = default;

    virtual ColumnKind kind() const = 0;
    virtual size_t size() const = 0;

    bool empty() const { return size() == 0; }

    /// Memory held, shared parts included.
    virtual size_t allocatedBytes() const = 0;

    /// Bytes of the values themselves, as ClickHouse counts them for read_bytes and max_block_bytes.
    virtual size_t dataBytes() const = 0;

    // -- one value --------------------------------------------------------------------------------
    /// Physical, see Value.
    virtual Value value(size_t row) const = 0;

    virtual bool isNullAt(size_t /*row*/) const { return false; }

    /// Equal to the type's default (0, '', [], NULL).
    virtual bool isDefaultAt(size_t row) const = 0;

    /// The bytes of a value of constant width or of a string; other columns throw LOGICAL_ERROR.
    virtual std::string_view bytesAt(size_t row) const;

    /// -1, 0 or 1. NULL and NaN are greater than everything when nulls_direction is 1, less when it is -1.
    virtual int compareAt(size_t row, const Column& other, size_t other_row, int nulls_direction) const = 0;

    // -- growing ----------------------------------------------------------------------------------
    virtual MutableColumnPtr cloneEmpty() const = 0;

    virtual void reserve(size_t /*rows*/) {}

    virtual void insertDefault(size_t count = 1) = 0;
    /// A physical value as value() gives it; numbers are converted. LOGICAL_ERROR for another kind of value.
    virtual void insert(const Value& value) = 0;
    virtual void insertFrom(const Column& source, size_t row) = 0;
    virtual void insertRange(const Column& source, size_t from, size_t count) = 0;
    virtual void insertRepeated(const Column& source, size_t row, size_t count);
    virtual void popBack(size_t count) = 0;

    // -- new columns from old ---------------------------------------------------------------------
    /// The rows whose mask byte is not 0. `kept` is their number when known, else SIZE_MAX.
    virtual ColumnPtr filter(std::span<const uint8_t> mask, size_t kept = SIZE_MAX) const = 0;
    /// Row rows[i] of this column at i; indexes may repeat.
    virtual ColumnPtr gather(std::span<const RowIndex> rows) const = 0;
    virtual ColumnPtr slice(size_t from, size_t count) const = 0;
    /// Row i repeated ends[i] - ends[i-1] times: what ARRAY JOIN does to the other columns.
    virtual ColumnPtr replicate(std::span<const uint64_t> ends) const;

    // -- keys -------------------------------------------------------------------------------------
    /// Mixes every row's value into hashes[row] (rows == size()); equal values mix equally. Internal, never on the wire.
    virtual void updateHashes(std::span<uint64_t> hashes) const = 0;

    /// ClickHouse's SipHash of the value (numbers raw, String as u64 length+1, bytes, NUL, …).
    virtual void updateSipHash(size_t row, SipHash& hash) const = 0;

    /// Appends ClickHouse's "arena form" of the value: numbers raw; String u64 length+1, bytes, NUL; Array u64 count, elements;
    /// Tuple its elements; Nullable u8, value if not null. FixedString raw. A dictionary gives its plain value's form.
    virtual void serializeKey(size_t row, Writer& out) const = 0;

    /// Appends a value from its arena form (trusted bytes, made by serializeKey or checked before); returns the end.
    virtual const char* insertKey(const char* position) = 0;
};

/// The column itself, or its values written out when it is a constant. Dictionaries stay.
ColumnPtr full(const ColumnPtr& column);

/// Written out: no constant, no dictionary at the top.
ColumnPtr fullPlain(const ColumnPtr& column);

[[noreturn]] void failColumnCast(const Column& column, const char* wanted);

/// The column as a `C`; LOGICAL_ERROR naming both when it is something else.
template <typename C>
const C& as(const Column& column) {
    if (const auto* found = dynamic_cast<const C*>(&column)) return *found;
    failColumnCast(column, typeid(C).name());
}

}  // namespace shardd
