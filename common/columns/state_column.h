#pragma once

#include <memory>
#include <vector>

#include "common/base/arena.h"
#include "common/columns/column.h"
#include "common/types/aggregate_ops.h"

namespace shardd {

/// States of an aggregate function, by address. The column either owns them (made by its insert… members, in its own
/// arena) or looks at states of somebody whom `holder` keeps alive: the groups of an aggregation, or another column.
/// States are constant once they are in a column.
class StateColumn final : public Column {
public:
    explicit StateColumn(AggregateOpsPtr ops);
    /// A view: `states` live as long as `holder`.
    StateColumn(AggregateOpsPtr ops, PodVector<char*> states, std::shared_ptr<const void> holder);
    ~StateColumn() override;

    const AggregateOpsPtr& ops() const { return ops_; }

    const PodVector<char*>& states() const { return states_; }

    /// A new empty state at the end, owned by the column, to be filled by the caller.
    char* addState() { return addStates(1); }

    /// Reads states until the column has `rows` of them. When the bytes end before, or are none, whole states stay in
    /// the column, and `whole_end` is where they end, if that is in the window of `in`.
    void continueStates(size_t rows, Reader& in, const char*& whole_end);

    void readStates(size_t rows, Reader& in) {
        const char* whole_end = nullptr;
        continueStates(size() + rows, in, whole_end);
    }

    Arena& arena();

    ColumnKind kind() const override { return ColumnKind::State; }

    size_t size() const override { return states_.size(); }

    size_t allocatedBytes() const override;

    size_t dataBytes() const override { return states_.size() * ops_->stateSize(); }

    /// The serialized state, as String.
    Value value(size_t row) const override;
    bool isDefaultAt(size_t row) const override;
    /// States have no order: equal by their bytes, else ordered by them, so that DISTINCT and tests can work.
    int compareAt(size_t row, const Column& other, size_t other_row, int nulls_direction) const override;
    MutableColumnPtr cloneEmpty() const override { return std::make_unique<StateColumn>(ops_); }

    void reserve(size_t rows) override { states_.reserve(rows); }

    void insertDefault(size_t count) override;
    void insert(const Value& value) override;
    void insertFrom(const Column& source, size_t row) override;
    void insertRange(const Column& source, size_t from, size_t count) override;
    void popBack(size_t count) override;

    ColumnPtr filter(std::span<const uint8_t> mask, size_t kept) const override;
    ColumnPtr gather(std::span<const RowIndex> rows) const override;
    ColumnPtr slice(size_t from, size_t count) const override;
    void updateHashes(std::span<uint64_t> hashes) const override;
    void updateSipHash(size_t row, SipHash& hash) const override;
    void serializeKey(size_t row, Writer& out) const override;
    const char* insertKey(const char* position) override;

private:
    struct Owned;  // the states this column made, and their arena; shared with columns cut from this one

    std::shared_ptr<const void> holder() const;
    Owned& owned();
    char* addStates(size_t count);

    AggregateOpsPtr ops_;
    PodVector<char*> states_;
    std::shared_ptr<Owned> owned_;
    std::shared_ptr<const void> holder_;
};

}  // namespace shardd
