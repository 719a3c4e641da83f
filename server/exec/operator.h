#pragma once

#include <cstddef>

#include "common/columns/block.h"
#include "server/exec/top_filter.h"

namespace shardd::exec {

/// What a sink wants after a block. Enough: no row from anywhere can matter any more, so the scan may stop.
enum class Flow { More, Enough };

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
