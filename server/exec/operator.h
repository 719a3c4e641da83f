#pragma once

#include <cstddef>

#include "common/columns/block.h"
#include "server/exec/top_filter.h"

namespace shardd::exec {

/// What a sink wants after a block. Enough: no row from anywhere can matter any more, so the scan may stop.
enum class Flow { More, Enough };

/// An operator that is done with the rows of one range of keys before those of the next one come: GROUP BY
/// over a table whose sorting key begins with its keys. Whoever reads such a table asks for it
/// (Sink::keyRanges()).
class KeyRangeSink {
public:
    virtual ~KeyRangeSink() = default;

    /// Ranges differ in at most so many of the sorting key's first elements.
    virtual size_t keyElements() const = 0;

    /// Ranges are wanted from the last one on.
    virtual bool fromTheEnd() const = 0;

    /// Whether rows may matter whose first key element is `key` (one row) or comes later, as ranges are
    /// wanted.
    virtual bool mayMatterFrom(const ColumnPtr& key) const = 0;

    /// How rows come from now on. Each worker pushes the rows of ranges of its own, one range after the
    /// other; or (shared) all of them push those of one range. Without this call all rows are one shared
    /// range. Threads: while nobody pushes.
    virtual void startRanges(bool shared) = 0;

    /// All rows of the worker's range were pushed; of a shared one by whichever worker, while nobody pushes.
    virtual Flow endRange(size_t worker) = 0;
};

/// Where rows are pushed: the next operator.
/// Threads: consume() is called by several workers at a time, each with its own `worker` < max_threads, one
/// call at a
///          time for a worker; totals(), extremes() and finish() by one thread, after every consume() has
///          returned.
/// Order:   rows that have an order are pushed by worker 0 alone.
class Sink {
public:
    virtual ~Sink() = default;

    /// `block` is never without rows; its columns may be constants or dictionaries.
    virtual Flow consume(size_t worker, Block block) = 0;

    virtual void totals(Block block) = 0;

    virtual void extremes(Block block) = 0;

    /// No more rows. Called exactly once unless an error ended the query.
    virtual void finish() = 0;

    /// What is known of the rows that can matter at all; the column is one of this sink's input.
    virtual TopHint topHint() { return {}; }

    /// Who wants this sink's rows by ranges of keys; nullptr when nobody does.
    virtual KeyRangeSink* keyRanges() { return nullptr; }
};

/// Hands everything but rows to the next one.
class ForwardingSink : public Sink {
public:
    explicit ForwardingSink(Sink& next) : next_(next) {}

    void totals(Block block) override { next_.totals(std::move(block)); }

    void extremes(Block block) override { next_.extremes(std::move(block)); }

    void finish() override { next_.finish(); }

protected:
    Sink& next_;  // NOLINT(readability-identifier-naming): as a private member
};

/// What a query answers. Calls never overlap.
class ResultSink {
public:
    virtual ~ResultSink() = default;

    /// First, once: the columns, without rows.
    virtual void header(const Block& block) = 0;
    /// Full columns (no constants). Returns false when no more rows are wanted (the client went away).
    virtual bool data(Block block) = 0;
    virtual void totals(Block block) = 0;
    virtual void extremes(Block block) = 0;
};

}  // namespace shardd::exec
