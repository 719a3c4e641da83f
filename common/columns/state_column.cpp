#include "common/columns/state_column.h"

#include "common/base/city_hash.h"
#include "common/base/error.h"
#include "common/base/reader.h"
#include "common/base/sip_hash.h"
#include "common/base/writer.h"
#include "common/columns/selection.h"

namespace shardd {

/// States made here are ended here, once, whoever looks at them meanwhile.
struct StateColumn::Owned {
    explicit Owned(AggregateOpsPtr state_ops) : ops(std::move(state_ops)) {}

    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;

    ~Owned() {
        if (ops->trivialDestroy()) return;
        for (char* state : states) ops->destroy(state);
    }

    AggregateOpsPtr ops;
    Arena arena;
    PodVector<char*> states;
    /// What columns that were put into this one were looking at.
    std::vector<std::shared_ptr<const void>> others;
};

StateColumn::StateColumn(AggregateOpsPtr ops) : ops_(std::move(ops)) {}

StateColumn::StateColumn(AggregateOpsPtr ops, PodVector<char*> states, std::shared_ptr<const void> holder)
    : ops_(std::move(ops)), states_(std::move(states)), holder_(std::move(holder)) {}

StateColumn::~StateColumn() = default;

Arena& StateColumn::arena() {
    if (!owned_) owned_ = std::make_shared<Owned>(ops_);
    return owned_->arena;
}

char* StateColumn::addState() {
    char* state = arena().allocateAligned(ops_->stateSize(), ops_->stateAlignment());
    owned_->states.push_back(nullptr);  // room first: a state that exists must be known to its owner
    owned_->states.pop_back();
    states_.push_back(state);
    try {
        ops_->create(state);
    } catch (...) {
        states_.pop_back();
        throw;
    }
    owned_->states.push_back(state);
    return state;
}

std::shared_ptr<const void> StateColumn::holder() const {
    if (!owned_) return holder_;
    if (!holder_) return owned_;
    return std::make_shared<std::pair<std::shared_ptr<Owned>, std::shared_ptr<const void>>>(owned_, holder_);
}

size_t StateColumn::allocatedBytes() const { return states_.allocatedBytes() + (owned_ ? owned_->arena.allocatedBytes() : 0); }

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
    static_cast<const StateColumn&>(other).ops_->serialize(static_cast<const StateColumn&>(other).states_[other_row], right);
    const int order = left.view().compare(right.view());
    return order < 0 ? -1 : (order > 0 ? 1 : 0);
}

void StateColumn::insertDefault(size_t count) {
    for (size_t i = 0; i < count; ++i) addState();
}

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
        if (owned_->others.empty() || owned_->others.back() != theirs) owned_->others.push_back(std::move(theirs));
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
