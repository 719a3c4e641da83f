#pragma once

#include "server/aggregates/aggregate_base.h"

namespace shardd::aggregates {

/// A function round another one whose state it uses as it is; combinators override what they change.
class Wrapper : public NamedAggregate {
public:
    Wrapper(Signature signature, TypePtr result_type, AggregateFunctionPtr nested)
        : NamedAggregate(std::move(signature), std::move(result_type)), nested_(std::move(nested)) {}

    size_t stateVersion() const override { return nested_->stateVersion(); }

    size_t stateSize() const override { return nested_->stateSize(); }

    size_t stateAlignment() const override { return nested_->stateAlignment(); }

    bool emptyIsZero() const override { return nested_->emptyIsZero(); }

    bool trivialDestroy() const override { return nested_->trivialDestroy(); }

    void create(char* place) const override { nested_->create(place); }

    void destroy(char* place) const noexcept override { nested_->destroy(place); }

    void merge(char* place, const char* other, Arena& arena) const override {
        nested_->merge(place, other, arena);
    }

    void mergeBatch(char* const* places,
                    const char* const* others,
                    size_t offset,
                    size_t rows,
                    Arena& arena) const override {
        for (size_t i = 0; i < rows; ++i) merge(places[i] + offset, others[i] + offset, arena);
    }

    void serialize(const char* place, Writer& out) const override { nested_->serialize(place, out); }

    void deserialize(char* place, Reader& in, Arena& arena) const override {
        nested_->deserialize(place, in, arena);
    }

    void insertResult(char* place, Column& to, Arena& arena) const override {
        nested_->insertResult(place, to, arena);
    }

    // The batches call add() a row; wrappers that matter for speed have their own.
    void addBatch(const Column* const* arguments,
                  char* const* places,
                  size_t offset,
                  size_t from,
                  size_t rows,
                  Arena& arena) const override {
        for (size_t i = 0; i < rows; ++i)
            if (places[i]) add(places[i] + offset, arguments, from + i, arena);
    }

    void addBatchSingle(
        const Column* const* arguments, char* place, size_t from, size_t rows, Arena& arena) const override {
        for (size_t row = from; row < from + rows; ++row) add(place, arguments, row, arena);
    }

    void addBatchSingleIf(const Column* const* arguments,
                          char* place,
                          size_t from,
                          size_t rows,
                          const uint8_t* mask,
                          Arena& arena) const override {
        for (size_t row = from; row < from + rows; ++row)
            if (mask[row]) add(place, arguments, row, arena);
    }

protected:
    const AggregateFunction& nested() const { return *nested_; }

    const AggregateFunctionPtr& nestedPtr() const { return nested_; }

private:
    AggregateFunctionPtr nested_;
};

/// Arguments of a call with Nullable taken off, and which rows have a NULL in one of them.
class StrippedArguments {
public:
    StrippedArguments(const Column* const* arguments, size_t count);

    const Column* const* columns() const { return columns_; }

    bool hasNullAt(size_t row) const {
        for (size_t i = 0; i < null_maps_count_; ++i)
            if (null_maps_[i][row]) return true;
        return false;
    }

    /// 1 for rows from..from+rows-1 without NULL (and with mask[row] where a mask is given), indexed by the
    /// row itself.
    Mask rowsWithoutNull(size_t from, size_t rows, const uint8_t* mask) const;

    /// The same, the first byte for row `from`.
    Mask batchWithoutNull(size_t from, size_t rows) const;

private:
    static constexpr size_t kMaxArguments = 32;

    const Column* columns_[kMaxArguments];
    const uint8_t* null_maps_[kMaxArguments];
    size_t null_maps_count_ = 0;
};

/// Wraps `nested` (over bare types) for the Nullable arguments of `signature`.
AggregateFunctionPtr wrapNullable(Signature signature, AggregateFunctionPtr nested, Nulls nulls);

/// Writes a byte 1 before the state, as the FlagAlwaysOne form has it.
AggregateFunctionPtr wrapFlagAlwaysOne(AggregateFunctionPtr nested);

}  // namespace shardd::aggregates
