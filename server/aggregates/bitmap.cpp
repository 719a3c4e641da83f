#include <algorithm>
#include <vector>

#include "server/aggregates/aggregate_base.h"
#include "server/aggregates/binary_form.h"
#include "server/aggregates/bitmap_state.h"
#include "server/aggregates/compact_set.h"
#include "server/aggregates/elements.h"

namespace shardd::aggregates {

namespace {

// -- Roaring bitmaps as they travel: the portable serialization of the format's specification ---------

constexpr uint32_t kCookieWithRuns = 0x303B;
constexpr uint32_t kCookie = 0x303A;
constexpr size_t kMaxArray = 4096;  // values in an array container; above, a bitmap
constexpr size_t kBitmapBytes = 8192;
constexpr size_t kNoOffsetsBelow = 4;  // containers, when some are runs

/// The values of one container: those that share the upper 16 bits.
struct Container {
    uint16_t key;
    const uint32_t* begin;
    const uint32_t* end;

    size_t size() const { return static_cast<size_t>(end - begin); }

    size_t runs() const {
        size_t count = 0;
        for (const uint32_t* value = begin; value != end; ++value)
            count += value == begin || *value != value[-1] + 1;
        return count;
    }

    size_t plainBytes() const { return size() <= kMaxArray ? size() * 2 : kBitmapBytes; }

    bool asRuns() const { return 2 + 4 * runs() < plainBytes(); }

    size_t bytes() const { return asRuns() ? 2 + 4 * runs() : plainBytes(); }
};

std::vector<Container> containersOf(const std::vector<uint32_t>& sorted) {
    std::vector<Container> containers;
    for (const uint32_t& value : sorted) {
        const auto key = static_cast<uint16_t>(value >> 16);
        if (containers.empty() || containers.back().key != key) containers.push_back({key, &value, &value});
        containers.back().end = &value + 1;
    }
    return containers;
}

void writeContainer(const Container& container, Writer& out) {
    if (container.asRuns()) {
        out.writeFixed(static_cast<uint16_t>(container.runs()));
        for (const uint32_t* value = container.begin; value != container.end;) {
            const uint32_t* last = value;
            while (last + 1 != container.end && last[1] == *last + 1) ++last;
            out.writeFixed(static_cast<uint16_t>(*value));
            out.writeFixed(static_cast<uint16_t>(*last - *value));
            value = last + 1;
        }
    } else if (container.size() <= kMaxArray) {
        for (const uint32_t* value = container.begin; value != container.end; ++value)
            out.writeFixed(static_cast<uint16_t>(*value));
    } else {
        std::vector<uint8_t> bits(kBitmapBytes);
        for (const uint32_t* value = container.begin; value != container.end; ++value)
            bits[(*value & 0xFFFF) / 8] =
                static_cast<uint8_t>(bits[(*value & 0xFFFF) / 8] | 1U << (*value % 8));
        out.writeBytes(bits.data(), bits.size());
    }
}

void writeRoaring(const std::vector<uint32_t>& sorted, Writer& out) {
    const std::vector<Container> containers = containersOf(sorted);
    const bool has_runs =
        std::ranges::any_of(containers, [](const Container& container) { return container.asRuns(); });
    size_t header = 0;
    if (has_runs) {
        out.writeFixed(static_cast<uint32_t>(kCookieWithRuns | (containers.size() - 1) << 16));
        std::vector<uint8_t> flags((containers.size() + 7) / 8);
        for (size_t i = 0; i < containers.size(); ++i)
            if (containers[i].asRuns()) flags[i / 8] = static_cast<uint8_t>(flags[i / 8] | 1U << (i % 8));
        out.writeBytes(flags.data(), flags.size());
        header = 4 + flags.size();
    } else {
        out.writeFixed(kCookie);
        out.writeFixed(static_cast<uint32_t>(containers.size()));
        header = 8;
    }
    for (const Container& container : containers) {
        out.writeFixed(container.key);
        out.writeFixed(static_cast<uint16_t>(container.size() - 1));
    }
    header += containers.size() * 4;
    if (!has_runs || containers.size() >= kNoOffsetsBelow) {
        size_t offset = header + containers.size() * 4;
        for (const Container& container : containers) {
            out.writeFixed(static_cast<uint32_t>(offset));
            offset += container.bytes();
        }
    }
    for (const Container& container : containers) writeContainer(container, out);
}

/// Calls add(value) for each value of the bitmap that `in` holds.
template <typename Add>
void readRoaring(Reader& in, Add&& add) {
    const auto cookie = in.readFixed<uint32_t>();
    const bool has_runs = (cookie & 0xFFFF) == kCookieWithRuns;
    if (!has_runs && cookie != kCookie)
        throw Error(ErrorCode::INCORRECT_DATA, "Wrong cookie {} of a bitmap", cookie);
    const size_t count = has_runs ? (cookie >> 16) + 1 : in.readFixed<uint32_t>();
    if (count > 65536) throw Error(ErrorCode::INCORRECT_DATA, "Too many containers in a bitmap: {}", count);
    std::vector<uint8_t> flags(has_runs ? (count + 7) / 8 : 0);
    if (has_runs) in.readBytes(flags.data(), flags.size());
    std::vector<std::pair<uint16_t, uint32_t>> heads(count);
    for (auto& [key, size] : heads) {
        in.readFixed(key);
        size = uint32_t{in.readFixed<uint16_t>()} + 1;
    }
    if (!has_runs || count >= kNoOffsetsBelow) in.skip(count * 4);
    for (size_t i = 0; i < count; ++i) {
        const uint32_t base = uint32_t{heads[i].first} << 16;
        if (has_runs && (flags[i / 8] >> (i % 8) & 1)) {
            const auto runs = in.readFixed<uint16_t>();
            for (uint16_t run = 0; run < runs; ++run) {
                const uint32_t start = in.readFixed<uint16_t>();
                const uint32_t length = in.readFixed<uint16_t>();
                for (uint32_t value = start; value <= std::min<uint32_t>(start + length, 0xFFFF); ++value)
                    add(base | value);
            }
        } else if (heads[i].second <= kMaxArray) {
            for (uint32_t j = 0; j < heads[i].second; ++j) add(base | in.readFixed<uint16_t>());
        } else {
            std::vector<uint8_t> bits(kBitmapBytes);
            in.readBytes(bits.data(), bits.size());
            for (uint32_t value = 0; value < 65536; ++value)
                if (bits[value / 8] >> (value % 8) & 1) add(base | value);
        }
    }
}

// -- groupBitmap ------------------------------------------------------------------------------------

template <typename T>
struct BitmapState {
    CompactSet<KeyOf<T>> set;
    ArenaArray<KeyOf<T>> order;  // of the first kSmallBitmap values

    bool small() const { return set.size() <= kSmallBitmap; }

    void insert(const KeyOf<T>& key, Arena& arena) {
        if (set.insert(key, arena) && small()) order.push(key, arena);
    }
};

/// How many different integers there are, from a state that bitmap functions understand.
template <typename T>
class GroupBitmap final : public AggregateBase<GroupBitmap<T>, BitmapState<T>, FixedInput<T>>,
                          public BitmapStates {
public:
    using State = BitmapState<T>;
    using Unsigned = std::make_unsigned_t<T>;
    using Base = AggregateBase<GroupBitmap<T>, State, FixedInput<T>>;
    using Base::Base;

    static constexpr bool kEmptyIsZero = true;

    void addRow(State& state, const FixedInput<T>& input, size_t row, Arena& arena) const {
        state.insert(toKey(input[row]), arena);
    }

    void mergeStates(State& state, const State& other, Arena& arena) const {
        if (other.small())
            for (const KeyOf<T>& key : other.order) state.insert(key, arena);
        else
            state.set.mergeFrom(other.set, arena);
    }

    void write(const State& state, Writer& out) const {
        if (state.small()) {
            out.writeByte(0);
            out.writeVarUInt(state.order.size);
            for (const KeyOf<T>& key : state.order) out.writeFixed(key);
            return;
        }
        out.writeByte(1);
        Writer bitmap;
        if constexpr (sizeof(T) == 8)
            writeWide(sorted(state), bitmap);
        else
            writeNarrow(sorted(state), bitmap);
        out.writeString(bitmap.view());
    }

    void read(State& state, Reader& in, Arena& arena) const {
        if (in.readByte() == 0) {
            const size_t count = readCount(in, kSmallBitmap, "small bitmap");
            for (size_t i = 0; i < count; ++i) state.insert(in.readFixed<KeyOf<T>>(), arena);
            return;
        }
        const std::string bytes = in.readString();
        Reader bitmap(bytes);
        if constexpr (sizeof(T) == 8) {
            const auto maps = bitmap.readFixed<uint64_t>();
            for (uint64_t i = 0; i < maps; ++i) {
                const uint64_t high = uint64_t{bitmap.readFixed<uint32_t>()} << 32;
                readRoaring(bitmap, [&](uint32_t low) { state.insert(high | low, arena); });
            }
        } else {
            readRoaring(bitmap, [&](uint32_t value) { state.insert(static_cast<KeyOf<T>>(value), arena); });
        }
    }

    void finish(State& state, Column& to, Arena&) const { appendFixed(to, static_cast<T>(state.set.size())); }

    size_t count(const char* state) const override { return Base::at(state).set.size(); }

    bool contains(const char* state, uint64_t value) const override {
        const State& bitmap = Base::at(state);
        const auto key = static_cast<Unsigned>(value);
        const uint64_t stored = bitmap.small() ? uint64_t{key} : extended(key);
        return stored == value && bitmap.set.contains(key);
    }

    void appendValues(const char* state, PodVector<uint64_t>& values) const override {
        const State& bitmap = Base::at(state);
        if (bitmap.small())
            for (const KeyOf<T>& key : bitmap.order) values.push_back(key);
        else
            for (const uint64_t value : sorted(bitmap)) values.push_back(value);
    }

    void insertValue(char* state, uint64_t value, Arena& arena) const override {
        Base::at(state).insert(static_cast<KeyOf<T>>(value), arena);
    }

    uint64_t mostSmall() const override { return std::numeric_limits<Unsigned>::max(); }

private:
    /// As a Roaring bitmap holds it.
    static uint64_t extended(Unsigned key) {
        if constexpr (sizeof(T) == 8)
            return key;
        else
            return static_cast<uint32_t>(static_cast<T>(key));
    }

    static std::vector<uint64_t> sorted(const State& state) {
        std::vector<uint64_t> values;
        values.reserve(state.set.size());
        state.set.forEach(
            [&](const KeyOf<T>& key) { values.push_back(extended(static_cast<Unsigned>(key))); });
        std::ranges::sort(values);
        return values;
    }

    static void writeNarrow(const std::vector<uint64_t>& sorted, Writer& out) {
        writeRoaring(std::vector<uint32_t>(sorted.begin(), sorted.end()), out);
    }

    /// A map from the upper halves to bitmaps of the lower ones.
    static void writeWide(const std::vector<uint64_t>& sorted, Writer& out) {
        std::vector<std::pair<uint32_t, std::vector<uint32_t>>> maps;
        for (uint64_t value : sorted) {
            const auto high = static_cast<uint32_t>(value >> 32);
            if (maps.empty() || maps.back().first != high) maps.emplace_back(high, std::vector<uint32_t>());
            maps.back().second.push_back(static_cast<uint32_t>(value));
        }
        out.writeFixed(uint64_t{maps.size()});
        for (const auto& [high, lows] : maps) {
            out.writeFixed(high);
            writeRoaring(lows, out);
        }
    }
};

AggregateFunctionPtr createGroupBitmap(Signature signature) {
    expectNoParameters(signature);
    expectArguments(signature, 1);
    const TypePtr argument = signature.arguments[0];
    if (argument->isFloat() || argument->isDecimal()) failArgumentType(signature);
    AggregateFunctionPtr function;
    if ((argument->isInteger() && argument->width() <= 8) || argument->kind() == TypeKind::Bool)
        dispatchPhysical(argument->physical(), [&]<typename T>(Tag<T>) {
            if constexpr (std::is_integral_v<T>)
                function = std::make_shared<GroupBitmap<T>>(std::move(signature), argument);
        });
    if (!function)
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    "The type {} of argument for aggregate function {} is illegal, because it cannot be used "
                    "in Bitmap operations",
                    argument->name(), signature.name);
    return function;
}

}  // namespace

const BitmapStates* bitmapStatesOf(const Type& type) {
    if (type.kind() != TypeKind::AggregateFunction) return nullptr;
    return dynamic_cast<const BitmapStates*>(type.aggregate().get());
}

std::span<const AggregateInfo> bitmapAggregates() {
    static const AggregateInfo kInfos[] = {
        {.name = "groupBitmap",
         .create = createGroupBitmap,
         .syntax = "groupBitmap(x)",
         .description = "Number of different integers; the state is a bitmap.",
         .example = "SELECT groupBitmap(number % 3) FROM numbers(10)",
         .example_result = "3"}};
    return kInfos;
}

}  // namespace shardd::aggregates
