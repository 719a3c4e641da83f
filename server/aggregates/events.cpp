#include <algorithm>
#include <cmath>
#include <optional>

#include "server/aggregates/elements.h"

namespace shardd::aggregates {

namespace {

constexpr size_t kMaxEvents = 32;

/// Conditions in columns 1 … of a call (or 0 …).
bool holdsAt(const Column& condition, size_t row) {
    return static_cast<const FixedColumn<uint8_t>&>(condition).data()[row] != 0;
}

void checkConditions(const Signature& signature, size_t from) {
    for (size_t i = from; i < signature.arguments.size(); ++i) {
        const TypeKind kind = signature.arguments[i]->kind();
        if (kind != TypeKind::UInt8 && kind != TypeKind::Bool)
            throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                        "Illegal type {} of argument {} of aggregate function {}, must be UInt8",
                        signature.arguments[i]->name(), i + 1, signature.name);
    }
    if (signature.arguments.size() - from > kMaxEvents)
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Too many event arguments for aggregate function {}", signature.name);
}

// -- windowFunnel -----------------------------------------------------------------------------------

struct FunnelEvent {
    uint64_t time;
    uint8_t number;  // of the condition, from 1; 0 is a row where none holds (strict modes)

    friend bool operator<(const FunnelEvent& a, const FunnelEvent& b) {
        return a.time < b.time || (a.time == b.time && a.number < b.number);
    }
};

struct FunnelModes {
    bool deduplication = false;
    bool order = false;
    bool increase = false;
};

/// The longest chain of conditions, in their order, within a window of time.
class WindowFunnel final : public AggregateBase<WindowFunnel, ArenaArray<FunnelEvent>, ColumnsInput> {
public:
    using Event = FunnelEvent;
    using State = ArenaArray<Event>;

    WindowFunnel(Signature signature, uint64_t window, FunnelModes modes)
        : AggregateBase(std::move(signature), types::simple(TypeKind::UInt8)),
          window_(window),
          modes_(modes),
          events_(argumentTypes().size() - 1),
          width_(argumentTypes()[0]->width()) {}

    static constexpr bool kEmptyIsZero = true;

    void addRow(State& state, const ColumnsInput& input, size_t row, Arena& arena) const {
        uint64_t time = 0;
        std::memcpy(&time, input.columns[0]->bytesAt(row).data(), width_);
        bool any = false;
        for (size_t event = events_; event > 0; --event) {
            if (!holdsAt(*input.columns[event], row)) continue;
            state.push({time, static_cast<uint8_t>(event)}, arena);
            any = true;
        }
        if (modes_.order && !any) state.push({time, 0}, arena);
    }

    void mergeStates(State& state, const State& other, Arena& arena) const {
        for (const Event& event : other) state.push(event, arena);
    }

    void write(const State& state, Writer& out) const {
        out.writeByte(std::is_sorted(state.begin(), state.end()) ? 1 : 0);
        out.writeFixed(uint64_t{state.size});
        for (const Event& event : state) {
            out.writeBytes(&event.time, width_);
            out.writeByte(event.number);
        }
    }

    void read(State& state, Reader& in, Arena& arena) const {
        in.readByte();
        const auto count = in.readFixed<uint64_t>();
        for (uint64_t i = 0; i < count; ++i) {
            uint64_t time = 0;
            in.readBytes(&time, width_);
            const uint8_t number = in.readByte();
            if (number > events_)
                throw Error(ErrorCode::INCORRECT_DATA, "Wrong event {} in a state of {}", number,
                            this->name());
            state.push({time, number}, arena);
        }
    }

    void finish(State& state, Column& to, Arena&) const {
        std::stable_sort(state.begin(), state.end());
        appendFixed(to, level(state));
    }

private:
    struct Chain {
        uint64_t start;
        uint64_t last;
    };

    uint8_t level(const State& state) const {
        std::vector<std::optional<Chain>> chains(events_);
        bool started = false;
        for (const Event& event : state) {
            if (event.number == 0) {
                if (started) break;
                continue;
            }
            const size_t i = event.number - size_t{1};
            if (i == 0) {
                chains[0] = Chain{event.time, event.time};
                started = true;
            } else if (modes_.deduplication && chains[i]) {
                return static_cast<uint8_t>(i + 1);
            } else if (modes_.order && started && !chains[i - 1]) {
                break;
            } else if (chains[i - 1]) {
                const bool inside = static_cast<double>(event.time) <=
                                    static_cast<double>(chains[i - 1]->start) + static_cast<double>(window_);
                if (inside && !(modes_.increase && !(chains[i - 1]->last < event.time))) {
                    chains[i] = Chain{chains[i - 1]->start, event.time};
                    if (i + 1 == events_) return static_cast<uint8_t>(events_);
                }
            }
        }
        for (size_t i = events_; i > 0; --i)
            if (chains[i - 1]) return static_cast<uint8_t>(i);
        return 0;
    }

    uint64_t window_;
    FunnelModes modes_;
    size_t events_;
    size_t width_;  // of a time; states hold it widened
};

AggregateFunctionPtr createWindowFunnel(Signature signature) {
    if (signature.parameters.empty())
        throw Error(
            ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Aggregate function {} requires at least one parameter: <window>, [option, [option, ...]]",
            signature.name);
    if (signature.arguments.size() < 2)
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Aggregate function {} requires one timestamp argument and at least one event condition",
                    signature.name);
    checkConditions(signature, 1);
    FunnelModes modes;
    for (size_t i = 1; i < signature.parameters.size(); ++i) {
        const auto& mode = signature.parameters[i].get<std::string>();
        if (mode == "strict_deduplication")
            modes.deduplication = true;
        else if (mode == "strict_order")
            modes.order = true;
        else if (mode == "strict_increase")
            modes.increase = true;
        else
            throw Error(ErrorCode::BAD_ARGUMENTS, "Aggregate function {} doesn't support a parameter: {}",
                        signature.name, mode);
    }
    const auto window = signature.parameters[0].to<uint64_t>();
    const TypePtr time = signature.arguments[0];
    const bool unsigned_word = time->isUnsigned() && time->width() <= 8;
    if (!unsigned_word && time->kind() != TypeKind::Date && time->kind() != TypeKind::DateTime)
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    "Illegal type {} of first argument of aggregate function {}, must be Unsigned Number, "
                    "Date, DateTime",
                    time->name(), signature.name);
    return std::make_shared<WindowFunnel>(std::move(signature), window, modes);
}

// -- retention --------------------------------------------------------------------------------------

/// Which conditions held in some row, told only for those who met the first one.
class Retention final : public AggregateBase<Retention, uint32_t, ColumnsInput> {
public:
    using AggregateBase::AggregateBase;

    static constexpr bool kEmptyIsZero = true;

    void addRow(uint32_t& state, const ColumnsInput& input, size_t row, Arena&) const {
        for (size_t i = 0; i < argumentTypes().size(); ++i)
            if (holdsAt(*input.columns[i], row)) state |= uint32_t{1} << i;
    }

    void mergeStates(uint32_t& state, const uint32_t& other, Arena&) const { state |= other; }

    void write(const uint32_t& state, Writer& out) const { out.writeFixed(state); }

    void read(uint32_t& state, Reader& in, Arena&) const { in.readFixed(state); }

    void finish(uint32_t& state, Column& to, Arena&) const {
        auto& array = static_cast<ArrayColumn&>(to);
        for (size_t i = 0; i < argumentTypes().size(); ++i)
            appendFixed(array.mutableElements(), static_cast<uint8_t>((state & 1) && (state >> i & 1)));
        array.endRow();
    }
};

AggregateFunctionPtr createRetention(Signature signature) {
    expectNoParameters(signature);
    if (signature.arguments.size() < 2)
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Not enough event arguments for aggregate function {}", signature.name);
    checkConditions(signature, 0);
    return std::make_shared<Retention>(std::move(signature), types::array(types::simple(TypeKind::UInt8)));
}

// -- maxIntersections -------------------------------------------------------------------------------

template <typename Wide>
struct IntervalEnd {
    Wide position;
    int64_t change;

    friend bool operator<(const IntervalEnd& a, const IntervalEnd& b) {
        return a.position < b.position || (a.position == b.position && a.change < b.change);
    }
};

/// How positions of one type are read, travel and are answered. States hold them widened to Wide.
template <typename Wide>
struct PositionForm {
    size_t width;
    Wide (*load)(const char* bytes);
    void (*store)(Wide, char* bytes);
};

template <typename Wide, typename Stored>
constexpr PositionForm<Wide> kPositionForm = {
    sizeof(Stored),
    [](const char* bytes) {
        Stored position;
        std::memcpy(&position, bytes, sizeof(position));
        return static_cast<Wide>(position);
    },
    [](Wide wide, char* bytes) {
        const auto position = static_cast<Stored>(wide);
        std::memcpy(bytes, &position, sizeof(position));
    },
};

/// How many intervals overlap at most, or where.
template <typename Wide>
class MaxIntersections final
    : public AggregateBase<MaxIntersections<Wide>, ArenaArray<IntervalEnd<Wide>>, ColumnsInput> {
public:
    using End = IntervalEnd<Wide>;
    using State = ArenaArray<End>;
    using Base = AggregateBase<MaxIntersections<Wide>, State, ColumnsInput>;

    MaxIntersections(Signature signature, TypePtr result, PositionForm<Wide> form, bool gives_position)
        : Base(std::move(signature), std::move(result)), form_(form), gives_position_(gives_position) {}

    static constexpr bool kEmptyIsZero = true;

    void addRow(State& state, const ColumnsInput& input, size_t row, Arena& arena) const {
        for (size_t i = 0; i < 2; ++i)
            state.push({form_.load(input.columns[i]->bytesAt(row).data()), i == 0 ? 1 : -1}, arena);
    }

    void mergeStates(State& state, const State& other, Arena& arena) const {
        for (const End& end : other) state.push(end, arena);
    }

    void write(const State& state, Writer& out) const {
        out.writeVarUInt(state.size);
        for (const End& end : state) {
            // The pair lies in memory with a gap.
            char bytes[8] = {};
            form_.store(end.position, bytes);
            out.writeBytes(bytes, sizeof(bytes));
            out.writeFixed(end.change);
        }
    }

    void read(State& state, Reader& in, Arena& arena) const {
        const size_t count = readCount(in, kMaxElements, "list of intervals");
        for (size_t i = 0; i < count; ++i) {
            char bytes[8];
            in.readBytes(bytes, sizeof(bytes));
            state.push({form_.load(bytes), in.readFixed<int64_t>()}, arena);
        }
    }

    void finish(State& state, Column& to, Arena&) const {
        std::sort(state.begin(), state.end());
        int64_t open = 0;
        int64_t most = 0;
        Wide position{};
        for (const End& end : state) {
            open += end.change;
            if (open <= most) continue;
            most = open;
            position = end.position;
        }
        if (gives_position_) {
            char bytes[8];
            form_.store(position, bytes);
            to.insertKey(bytes);
        } else {
            appendFixed(to, static_cast<uint64_t>(most));
        }
    }

private:
    PositionForm<Wide> form_;
    bool gives_position_;
};

AggregateFunctionPtr makeMaxIntersections(Signature signature, bool gives_position) {
    expectNoParameters(signature);
    expectArguments(signature, 2);
    const TypePtr type = signature.arguments[0];
    if (!sameType(type, signature.arguments[1]))
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, "{}: arguments must have the same type.",
                    signature.name);
    AggregateFunctionPtr function;
    if (!type->isDecimal())
        dispatchPhysical(type->physical(), [&]<typename T>(Tag<T>) {
            if constexpr (std::is_arithmetic_v<T>) {
                using Wide = std::conditional_t<std::is_floating_point_v<T>, double,
                                                std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;
                function = std::make_shared<MaxIntersections<Wide>>(std::move(signature),
                                                                    gives_position ? type : types::uint64(),
                                                                    kPositionForm<Wide, T>, gives_position);
            }
        });
    if (!function) failArgumentType(signature);
    return function;
}

template <bool gives_position>
AggregateFunctionPtr createMaxIntersections(Signature signature) {
    return makeMaxIntersections(std::move(signature), gives_position);
}

// -- exponentialMovingAverage -----------------------------------------------------------------------

struct SmoothedState {
    double value = 0;
    double time = 0;
};

/// A mean whose weights halve with every `half_decay` of time.
class ExponentialMovingAverage final
    : public AggregateBase<ExponentialMovingAverage, SmoothedState, ColumnsInput> {
public:
    ExponentialMovingAverage(Signature signature, double half_decay)
        : AggregateBase(std::move(signature), types::float64()), half_decay_(half_decay) {}

    static constexpr bool kEmptyIsZero = true;

    void addRow(SmoothedState& state, const ColumnsInput& input, size_t row, Arena&) const {
        join(state, {input.columns[0]->value(row).to<double>(), input.columns[1]->value(row).to<double>()});
    }

    void mergeStates(SmoothedState& state, const SmoothedState& other, Arena&) const { join(state, other); }

    void write(const SmoothedState& state, Writer& out) const { out.writeFixed(state); }

    void read(SmoothedState& state, Reader& in, Arena&) const { in.readFixed(state); }

    void finish(SmoothedState& state, Column& to, Arena&) const {
        appendFixed(to, state.value * (1 - std::exp2(-1 / half_decay_)));
    }

private:
    double faded(const SmoothedState& state, double time) const {
        return state.value * std::exp2((state.time - time) / half_decay_);
    }

    void join(SmoothedState& state, const SmoothedState& other) const {
        if (state.time > other.time) {
            state.value += faded(other, state.time);
        } else {
            state.value = other.value + faded(state, other.time);
            state.time = other.time;
        }
    }

    double half_decay_;
};

AggregateFunctionPtr createExponentialMovingAverage(Signature signature) {
    if (signature.parameters.size() != 1)
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Aggregate function {} requires exactly one parameter: half decay time.", signature.name);
    expectArguments(signature, 2);
    for (size_t i = 0; i < 2; ++i)
        if (!signature.arguments[i]->isNumber() && !signature.arguments[i]->isDateOrTime())
            failArgumentType(signature, i);
    const auto half_decay = signature.parameters[0].to<double>();
    return std::make_shared<ExponentialMovingAverage>(std::move(signature), half_decay);
}

}  // namespace

std::span<const AggregateInfo> eventsAggregates() {
    static const AggregateInfo kInfos[] = {
        {.name = "windowFunnel",
         .create = createWindowFunnel,
         .syntax = "windowFunnel(window[, mode, …])(time, condition, …)",
         .description = "How many of the conditions were met in their order within a window of time.",
         .example = "SELECT windowFunnel(10)(number, number = 1, number = 2) FROM numbers(4)",
         .example_result = "2"},
        {.name = "retention",
         .create = createRetention,
         .syntax = "retention(condition, …)",
         .description = "For each condition whether it was met together with the first one.",
         .example = "SELECT retention(number = 1, number = 9) FROM numbers(4)",
         .example_result = "[1,0]"},
        {.name = "maxIntersections",
         .create = createMaxIntersections<false>,
         .syntax = "maxIntersections(start, end)",
         .description = "The most intervals that overlap.",
         .example = "SELECT maxIntersections(number, number + 2) FROM numbers(4)",
         .example_result = "2"},
        {.name = "maxIntersectionsPosition",
         .create = createMaxIntersections<true>,
         .syntax = "maxIntersectionsPosition(start, end)",
         .description = "Where the most intervals overlap.",
         .example = "SELECT maxIntersectionsPosition(number, number + 2) FROM numbers(4)",
         .example_result = "1"},
        {.name = "exponentialMovingAverage",
         .create = createExponentialMovingAverage,
         .syntax = "exponentialMovingAverage(half_decay)(x, time)",
         .description = "Mean whose weights halve with every half_decay of time.",
         .example = "SELECT exponentialMovingAverage(1)(number, number) FROM numbers(3)",
         .example_result = "1.25"},
    };
    return kInfos;
}

}  // namespace shardd::aggregates
