#include "common/columns/state_column.h"

#include <algorithm>
#include <cstring>

#include "common/base/city_hash.h"
#include "common/base/error.h"
#include "common/base/reader.h"
#include "common/base/sip_hash.h"
#include "common/base/writer.h"
#include "common/columns/selection.h"

namespace shardd {

/// States made here are ended here, once, whoever looks at them meanwhile.
struct StateColumn::Owned {
    explicit Owned(AggregateOpsPtr state_ops)
        : ops(std::move(state_ops)),
          stride(ops->stateSize()),
          empty_is_zero(ops->emptyIsZero()),
          trivial(ops->trivialDestroy()) {
        const size_t alignment = ops->stateAlignment();
        stride = (stride + alignment - 1) / alignment * alignment;
    }

    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;

    ~Owned() {
        for (const Run& run : runs)
            for (size_t i = 0; i < run.count; ++i) ops->destroy(run.first + i * stride);
    }

    /// `count` states side by side, known to this from the moment that they exist.
    char* make(size_t count) {
        char* first = arena.allocateAligned(stride * count, ops->stateAlignment());
        if (empty_is_zero) std::memset(first, 0, stride * count);
        if (empty_is_zero && trivial) return first;
        if (!trivial && (runs.empty() || runs.back().first + runs.back().count * stride != first))
            runs.push_back({first, 0});
        for (size_t i = 0; i < count; ++i) {
            if (!empty_is_zero) ops->create(first + i * stride);
            if (!trivial) ++runs.back().count;
        }
        return first;
    }

    /// Some of the spare ones, whose addresses are put behind `states`.
    char* takeSpare(size_t count, PodVector<char*>& states) {
        char* first = spare;
        states.reserve(states.size() + count);
        for (size_t i = 0; i < count; ++i) states.push_back(first + i * stride);
        spare += count * stride;
        spare_count -= count;
        return first;
    }

    struct Run {
        char* first;
        size_t count;
    };

    AggregateOpsPtr ops;
    size_t stride;
    bool empty_is_zero;
    bool trivial;
    Arena arena;
    std::vector<Run> runs;  // of states that must be destroyed
    /// Empty states, side by side, that were made for rows whose bytes had not come yet.
    char* spare = nullptr;
    size_t spare_count = 0;
    /// What columns that were put into this one were looking at.
    std::vector<std::shared_ptr<const void>> others;
};

StateColumn::StateColumn(AggregateOpsPtr ops) : ops_(std::move(ops)) {}

StateColumn::StateColumn(AggregateOpsPtr ops, PodVector<char*> states, std::shared_ptr<const void> holder)
    : ops_(std::move(ops)), states_(std::move(states)), holder_(std::move(holder)) {}

StateColumn::~StateColumn() = default;

StateColumn::Owned& StateColumn::owned() {
    if (!owned_) owned_ = std::make_shared<Owned>(ops_);
    return *owned_;
}

Arena& StateColumn::arena() { return owned().arena; }

/// Side by side.
char* StateColumn::addStates(size_t count) {
    const size_t before = states_.size();
    states_.resize(before + count);  // room first: states that exist must be in their place
    states_.resize(before);
    char* first = owned().make(count);
    states_.resize(before + count);
    for (size_t i = 0; i < count; ++i) states_[before + i] = first + i * owned_->stride;
    return first;
}

void StateColumn::continueStates(size_t rows, Reader& in, const char*& whole_end) {
    // Memory is taken as states come, whatever number of them is announced.
    constexpr size_t kStepBytes = 65536;
    constexpr size_t kStepStates = 1024;
    const size_t stride = owned().stride;
    const size_t step = std::clamp<size_t>(kStepBytes / std::max<size_t>(stride, 1), 1, kStepStates);
    whole_end = in.position();
    while (states_.size() < rows) {
        const size_t before = states_.size();
        const size_t spare = owned_->spare_count;
        const size_t count = std::min(rows - before, spare > 0 ? spare : step);
        char* first = spare > 0 ? owned_->takeSpare(count, states_) : addStates(count);
        size_t done = 0;
        try {
            while (true) {
                done += ops_->deserializeAhead(first + done * stride, stride, count - done, in);
                whole_end = in.position();
                if (done == count) break;
                ops_->deserialize(first + done * stride, in, owned_->arena);
                ++done;
                whole_end = in.position();
                if (done == count) break;
            }
        } catch (...) {
            states_.resize(before + done);
            // The one that was being read is left alone: it is not empty any more.
            owned_->spare = first + (done + 1) * stride;
            owned_->spare_count += count - done - 1;
            throw;
        }
    }
}

std::shared_ptr<const void> StateColumn::holder() const {
    if (!owned_) return holder_;
    if (!holder_) return owned_;
    return std::make_shared<std::pair<std::shared_ptr<Owned>, std::shared_ptr<const void>>>(owned_, holder_);
}

size_t StateColumn::allocatedBytes() const {
    return states_.allocatedBytes() + (owned_ ? owned_->arena.allocatedBytes() : 0);
}

Value StateColumn::value(size_t row) const {
    Writer out;
    ops_->serialize(states_[row], out);
    return Value(std::string(out.view()));
}

bool StateColumn::isDefaultAt(size_t row) const {
    StateColumn empty(ops_);
    empty.addState();
    return compareAt(row, empty, 0, 1) == 0;
}

int StateColumn::compareAt(size_t row, const Column& other, size_t other_row, int /*nulls_direction*/) const {
    Writer left;
    Writer right;
    ops_->serialize(states_[row], left);
    static_cast<const StateColumn&>(other).ops_->serialize(
        static_cast<const StateColumn&>(other).states_[other_row], right);
    const int order = left.view().compare(right.view());
    return order < 0 ? -1 : (order > 0 ? 1 : 0);
}

void StateColumn::insertDefault(size_t count) { addStates(count); }

void StateColumn::insert(const Value& value) {
    Reader in(value.get<std::string>());
    char* state = addState();
    ops_->deserialize(state, in, arena());
}

void StateColumn::insertFrom(const Column& source, size_t row) { insertRange(source, row, 1); }

void StateColumn::insertRange(const Column& source, size_t from, size_t count) {
    const auto& other = static_cast<const StateColumn&>(source);
    if (std::shared_ptr<const void> theirs = other.holder(); theirs && theirs != owned_) {
        arena();
        if (owned_->others.empty() || owned_->others.back() != theirs)
            owned_->others.push_back(std::move(theirs));
    }
    states_.append(other.states_.data() + from, count);
}

void StateColumn::popBack(size_t count) { states_.resize(states_.size() - count); }

ColumnPtr StateColumn::filter(std::span<const uint8_t> mask, size_t kept) const {
    PodVector<char*> states;
    states.reserve(kept == SIZE_MAX ? countKept(mask) : kept);
    forEachRun(mask, [&](size_t from, size_t count) { states.append(states_.data() + from, count); });
    return std::make_shared<StateColumn>(ops_, std::move(states), holder());
}

ColumnPtr StateColumn::gather(std::span<const RowIndex> rows) const {
    PodVector<char*> states(rows.size());
    for (size_t i = 0; i < rows.size(); ++i) states[i] = states_[rows[i]];
    return std::make_shared<StateColumn>(ops_, std::move(states), holder());
}

ColumnPtr StateColumn::slice(size_t from, size_t count) const {
    PodVector<char*> states;
    states.append(states_.data() + from, count);
    return std::make_shared<StateColumn>(ops_, std::move(states), holder());
}

void StateColumn::updateHashes(std::span<uint64_t> hashes) const {
    for (size_t row = 0; row < hashes.size(); ++row) {
        Writer out;
        ops_->serialize(states_[row], out);
        hashes[row] = hash128To64(hashes[row], cityHash64(out.view()));
    }
}

void StateColumn::updateSipHash(size_t row, SipHash& hash) const {
    Writer out;
    ops_->serialize(states_[row], out);
    hash.update(out.view());
}

void StateColumn::serializeKey(size_t row, Writer& out) const {
    Writer state;
    ops_->serialize(states_[row], state);
    out.writeFixed<uint64_t>(state.size());
    out.writeBytes(state.view());
}

const char* StateColumn::insertKey(const char* position) {
    uint64_t size = 0;
    std::memcpy(&size, position, sizeof(size));
    position += sizeof(size);
    Reader in(position, size);
    char* state = addState();
    ops_->deserialize(state, in, arena());
    return position + size;
}

}  // namespace shardd
