#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/types/value.h"

namespace shardd {

class Arena;
class Reader;
class Type;
class Writer;
using TypePtr = std::shared_ptr<const Type>;

/// What a column of states and the wire must know of an aggregate function: how its states are made, moved and
/// ended. The AggregateFunction type carries it; server/aggregates implements it.
/// A state is `stateSize()` bytes at `stateAlignment()`; it may own memory in the Arena handed in (freed with the
/// arena) or on the heap (freed by destroy()).
/// Threads: one caller for a state at a time; the object itself is shared and constant.
/// Source:  the bytes are ClickHouse's, docs/aggregates.md.
class AggregateOps {
public:
    virtual ~AggregateOps() = default;

    /// As it stands in type names, combinators included: "sumIf".
    virtual const std::string& name() const = 0;

    virtual const std::vector<Value>& parameters() const = 0;

    /// As printed in type names: "0.5, 0.9"; empty without parameters.
    virtual const std::string& parametersText() const = 0;

    virtual const std::vector<TypePtr>& argumentTypes() const = 0;

    virtual const TypePtr& resultType() const = 0;

    /// The number printed in AggregateFunction(1, sumMap, …); 0 where none is printed.
    virtual size_t stateVersion() const { return 0; }

    virtual size_t stateSize() const = 0;

    virtual size_t stateAlignment() const = 0;

    /// An empty state is all zero bytes, so that create() may be a memset and tables may start from zeroed pages.
    virtual bool emptyIsZero() const { return false; }

    /// destroy() does nothing.
    virtual bool trivialDestroy() const = 0;

    virtual void create(char* place) const = 0;

    virtual void destroy(char* place) const noexcept = 0;

    virtual void merge(char* place, const char* other, Arena& arena) const = 0;

    virtual void serialize(const char* place, Writer& out) const = 0;

    /// serialize() of each.
    virtual void serializeBatch(const char* const* places, size_t rows, Writer& out) const {
        for (size_t i = 0; i < rows; ++i) serialize(places[i], out);
    }

    /// Into a fresh state made by create(). Foreign bytes: errors, never a crash or an unbounded allocation.
    virtual void deserialize(char* place, Reader& in, Arena& arena) const = 0;

    /// Into the first of `rows` fresh states, each `stride` bytes behind the one before: as many as have a simple form
    /// and lie whole among the bytes that `in` has at hand. Returns their number; the next one takes deserialize().
    virtual size_t deserializeAhead(char* /*first*/, size_t /*stride*/, size_t /*rows*/, Reader& /*in*/) const {
        return 0;
    }
};

using AggregateOpsPtr = std::shared_ptr<const AggregateOps>;

/// Finds the operations for a type name; set once at the start by the layer that has them.
/// Errors: UNKNOWN_AGGREGATE_FUNCTION and whatever the function says of its arguments.
using AggregateResolver = AggregateOpsPtr (*)(std::string_view name,
                                              const std::vector<Value>& parameters,
                                              const std::vector<TypePtr>& arguments,
                                              size_t version);

void setAggregateResolver(AggregateResolver resolver);

/// Through the resolver; LOGICAL_ERROR when none was set.
AggregateOpsPtr resolveAggregate(std::string_view name,
                                 const std::vector<Value>& parameters,
                                 const std::vector<TypePtr>& arguments,
                                 size_t version);

}  // namespace shardd
