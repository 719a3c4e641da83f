#include "server/functions/set.h"

#include <bit>

#include "common/base/error.h"
#include "common/columns/const_column.h"
#include "common/columns/opaque_column.h"
#include "common/columns/create_column.h"
#include "common/columns/fixed_column.h"
#include "common/columns/nullable_column.h"
#include "server/functions/column_tools.h"
#include "server/functions/convert.h"
#include "server/functions/function.h"

namespace shardd::functions {

namespace {

/// Rows of several columns, found by hash: open addressing over row numbers.
class RowSet final : public Set {
public:
    RowSet(std::vector<TypePtr> types,
           std::vector<ColumnPtr> columns,
           size_t rows,
           PodVector<uint32_t> slots,
           PodVector<uint64_t> hashes)
        : types_(std::move(types)),
          columns_(std::move(columns)),
          rows_(rows),
          slots_(std::move(slots)),
          hashes_(std::move(hashes)) {
        fillNumbers();
    }

    const std::vector<TypePtr>& types() const override { return types_; }

    size_t rows() const override { return rows_; }

    const std::vector<ColumnPtr>& columns() const override { return columns_; }

    void contains(std::span<const ColumnPtr> columns, size_t rows, Mask& mask) const override {
        mask.assign(rows, 0);
        if (rows_ == 0) return;
        if (!numbers_.empty()) return containsNumbers(*columns[0], rows, mask);
        PodVector<uint64_t> hashes(rows, 0);
        for (const ColumnPtr& column : columns) column->updateHashes({hashes.data(), rows});
        const size_t last = slots_.size() - 1;
        for (size_t i = 0; i < rows; ++i) {
            for (size_t slot = hashes[i] & last; slots_[slot] != 0; slot = (slot + 1) & last) {
                const size_t row = slots_[slot] - 1;
                if (hashes_[row] == hashes[i] && same(columns, i, row)) {
                    mask[i] = 1;
                    break;
                }
            }
        }
    }

private:
    bool same(std::span<const ColumnPtr> columns, size_t row, size_t own_row) const {
        for (size_t c = 0; c < columns.size(); ++c)
            if (columns[c]->compareAt(row, *columns_[c], own_row, 1) != 0) return false;
        return true;
    }

    static uint64_t bitsOf(std::string_view bytes) {
        uint64_t bits = 0;
        std::memcpy(&bits, bytes.data(), bytes.size());
        return bits;
    }

    static uint64_t mix(uint64_t bits) {
        bits *= 0x9E3779B97F4A7C15ULL;
        return bits ^ (bits >> 32);
    }

    /// One column of at most 8 bytes a value has a table of the values themselves.
    void fillNumbers() {
        if (columns_.size() != 1 || columns_[0]->kind() != ColumnKind::Fixed || types_[0]->isFloat() ||
            types_[0]->width() > 8 || rows_ == 0)
            return;
        numbers_.assign(std::bit_ceil(rows_ * 2 + 1), 0);
        const size_t last = numbers_.size() - 1;
        for (size_t row = 0; row < rows_; ++row) {
            const uint64_t bits = bitsOf(columns_[0]->bytesAt(row));
            if (bits == 0) {
                has_zero_ = true;
                continue;
            }
            size_t slot = mix(bits) & last;
            while (numbers_[slot] != 0) slot = (slot + 1) & last;
            numbers_[slot] = bits;
        }
    }

    void containsNumbers(const Column& column, size_t rows, Mask& mask) const {
        dispatchPhysical(types_[0]->physical(), [&](auto tag) {
            using T = typename decltype(tag)::Type;
            if constexpr (sizeof(T) <= 8) {
                const T* values = as<FixedColumn<T>>(column).data();
                const size_t last = numbers_.size() - 1;
                for (size_t i = 0; i < rows; ++i) {
                    uint64_t bits = 0;
                    std::memcpy(&bits, values + i, sizeof(T));
                    if (bits == 0) {
                        mask[i] = has_zero_;
                        continue;
                    }
                    size_t slot = mix(bits) & last;
                    while (numbers_[slot] != 0 && numbers_[slot] != bits) slot = (slot + 1) & last;
                    mask[i] = numbers_[slot] != 0;
                }
            }
        });
    }

    std::vector<TypePtr> types_;
    std::vector<ColumnPtr> columns_;
    size_t rows_;
    PodVector<uint32_t> slots_;  // row + 1; 0 is free
    PodVector<uint64_t> hashes_;
    PodVector<uint64_t> numbers_;
    bool has_zero_ = false;
};

/// A set as an argument of a function.
class SetColumn final : public OpaqueColumn {
public:
    SetColumn(SetPtr set, size_t rows)
        : OpaqueColumn(rows, "A set was used as a column of values"), set_(std::move(set)) {}

    const SetPtr& set() const { return set_; }

    MutableColumnPtr cloneEmpty() const override { return std::make_unique<SetColumn>(set_, 0); }

    ColumnPtr filter(std::span<const uint8_t> mask, size_t kept) const override {
        if (kept == SIZE_MAX) {
            kept = 0;
            for (const uint8_t byte : mask) kept += byte != 0;
        }
        return std::make_shared<SetColumn>(set_, kept);
    }

    ColumnPtr gather(std::span<const RowIndex> rows) const override {
        return std::make_shared<SetColumn>(set_, rows.size());
    }

    ColumnPtr slice(size_t, size_t count) const override { return std::make_shared<SetColumn>(set_, count); }

    ColumnPtr replicate(std::span<const uint64_t> ends) const override {
        return std::make_shared<SetColumn>(set_, ends.empty() ? 0 : ends.back());
    }

private:
    SetPtr set_;
};

}  // namespace

struct SetBuilder::Rows {
    std::vector<TypePtr> types;
    bool transform_null_in = false;
    std::vector<MutableColumnPtr> columns;
    size_t rows = 0;
    PodVector<uint32_t> slots;
    PodVector<uint64_t> hashes;

    bool same(std::span<const ColumnPtr> from, size_t row, size_t own_row) const {
        for (size_t c = 0; c < columns.size(); ++c)
            if (from[c]->compareAt(row, *columns[c], own_row, 1) != 0) return false;
        return true;
    }

    void grow() {
        PodVector<uint32_t> larger(std::max<size_t>(16, slots.size() * 2), 0);
        const size_t last = larger.size() - 1;
        for (size_t row = 0; row < rows; ++row) {
            size_t slot = hashes[row] & last;
            while (larger[slot] != 0) slot = (slot + 1) & last;
            larger[slot] = static_cast<uint32_t>(row + 1);
        }
        slots = std::move(larger);
    }

    void add(std::span<const ColumnPtr> from, size_t row, uint64_t hash) {
        if ((rows + 1) * 2 > slots.size()) grow();
        const size_t last = slots.size() - 1;
        size_t slot = hash & last;
        for (; slots[slot] != 0; slot = (slot + 1) & last) {
            const size_t own_row = slots[slot] - 1;
            if (hashes[own_row] == hash && same(from, row, own_row)) return;
        }
        for (size_t c = 0; c < columns.size(); ++c) columns[c]->insertFrom(*from[c], row);
        hashes.push_back(hash);
        slots[slot] = static_cast<uint32_t>(++rows);
    }
};

SetBuilder::SetBuilder(std::vector<TypePtr> types, bool transform_null_in) : rows_(std::make_unique<Rows>()) {
    rows_->transform_null_in = transform_null_in;
    for (const TypePtr& type : types) {
        const TypePtr plain = removeLowCardinality(type);
        rows_->types.push_back(transform_null_in ? makeNullable(plain) : removeNullable(plain));
        rows_->columns.push_back(createColumn(*rows_->types.back()));
    }
}

SetBuilder::~SetBuilder() = default;

namespace {

/// Text becomes what it is compared with, or is an error; other values that do not fit equal nothing.
ColumnPtr convertForSet(const NamedColumn& from,
                        const TypePtr& to,
                        PodVector<uint8_t>& keep,
                        bool nulls_count) {
    const TypePtr bare = removeNullable(to);
    const ColumnPtr source = fullPlain(from.column);
    const TypePtr source_type = removeLowCardinality(from.type);
    if (bare->kind() == TypeKind::Nothing) {  // NULL is compared with: only NULL equals it, if at all
        for (size_t i = 0; i < source->size(); ++i)
            keep[i] &= static_cast<uint8_t>(nulls_count && source->isNullAt(i));
        MutableColumnPtr none = createColumn(*to);
        none->insertDefault(source->size());
        return none;
    }
    ColumnPtr values;
    const bool text = removeNullable(source_type)->isString();
    if (text && !bare->isString() && !bare->isEnum()) {
        MutableColumnPtr parsed = createColumn(*bare);
        for (size_t i = 0; i < source->size(); ++i) {
            if (source->isNullAt(i)) {
                keep[i] &= static_cast<uint8_t>(nulls_count);
                insertDefaults(*bare, *parsed, 1);
            } else {
                parsed->insert(literalAs(source->value(i).get<std::string>(), bare, {}));
            }
        }
        values = std::move(parsed);
    } else if (sameType(source_type, to) || (sameType(source_type, bare) && !nulls_count)) {
        return source;
    } else if (!bare->canBeInsideNullable()) {
        return full(castColumn({"", source_type, source}, to));
    } else {
        const ColumnPtr checked = accurateCastOrNull({"", source_type, source}, bare);
        const auto& nullable = as<NullableColumn>(*checked);
        for (size_t i = 0; i < checked->size(); ++i) {
            const bool was_null = source->isNullAt(i);
            keep[i] &= static_cast<uint8_t>(was_null ? nulls_count : !nullable.nulls()[i]);
        }
        values = nullable.values();
    }
    if (!nulls_count) return values;
    Mask nulls(source->size());
    for (size_t i = 0; i < source->size(); ++i) nulls[i] = source->isNullAt(i);
    return std::make_shared<NullableColumn>(std::move(values), std::move(nulls));
}

}  // namespace

void SetBuilder::add(const Block& block) {
    if (block.columns.size() != rows_->types.size())
        throw Error(ErrorCode::NUMBER_OF_COLUMNS_DOESNT_MATCH,
                    "Number of columns in section IN doesn't match: {} at left, {} at right",
                    rows_->types.size(), block.columns.size());
    PodVector<uint8_t> keep(block.rows, 1);
    std::vector<ColumnPtr> columns;
    PodVector<uint64_t> hashes(block.rows, 0);
    for (size_t c = 0; c < block.columns.size(); ++c) {
        columns.push_back(
            convertForSet(block.columns[c], rows_->types[c], keep, rows_->types[c]->isNullable()));
        columns.back()->updateHashes({hashes.data(), block.rows});
    }
    for (size_t i = 0; i < block.rows; ++i)
        if (keep[i]) rows_->add(columns, i, hashes[i]);
}

SetPtr SetBuilder::finish() {
    std::vector<ColumnPtr> columns;
    for (MutableColumnPtr& column : rows_->columns) columns.push_back(std::move(column));
    return std::make_shared<RowSet>(std::move(rows_->types), std::move(columns), rows_->rows,
                                    std::move(rows_->slots), std::move(rows_->hashes));
}

ColumnPtr makeSetColumn(SetPtr set, size_t rows) { return std::make_shared<SetColumn>(std::move(set), rows); }

const SetPtr& setOf(const Column& column) {
    if (column.kind() == ColumnKind::Const) return setOf(*as<ConstColumn>(column).one());
    return as<SetColumn>(column).set();
}

}  // namespace shardd::functions
