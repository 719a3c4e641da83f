#include <cstring>

#include "common/base/reader.h"
#include "common/base/writer.h"
#include "common/columns/fixed_column.h"
#include "common/types/type.h"
#include "server/aggregates/aggregate.h"

/// States of the functions with a Kernel to bytes and back, many at a time: no call and no check of bounds a
/// value.
namespace shardd::aggregates {

namespace {

constexpr size_t kMostVarUIntBytes = 10;

template <typename T>
T load(const char* from) {
    T value;
    std::memcpy(&value, from, sizeof(value));
    return value;
}

char* putVarUInt(uint64_t value, char* to) {
    while (value >= 0x80) {
        *to++ = static_cast<char>(value | 0x80);
        value >>= 7;
    }
    *to++ = static_cast<char>(value);
    return to;
}

/// Where it ends; nullptr when it has more bytes than it may.
const char* takeVarUInt(const char* from, char* to) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 7 * kMostVarUIntBytes; shift += 7) {
        const auto byte = static_cast<uint8_t>(*from++);
        value |= uint64_t{byte & 0x7FU} << shift;
        if ((byte & 0x80) != 0) continue;
        std::memcpy(to, &value, sizeof(value));
        return from;
    }
    return nullptr;
}

// Of each: the most bytes a state has on the wire; put() and take() return where it ends.

struct CountForm {
    static constexpr size_t kMostBytes = kMostVarUIntBytes;

    static char* put(const char* state, char* to) { return putVarUInt(load<uint64_t>(state), to); }

    static const char* take(char* state, const char* from) { return takeVarUInt(from, state); }
};

struct SumForm {
    static constexpr size_t kMostBytes = 8;

    static char* put(const char* state, char* to) {
        std::memcpy(to, state, 8);
        return to + 8;
    }

    static const char* take(char* state, const char* from) {
        std::memcpy(state, from, 8);
        return from + 8;
    }
};

struct AverageForm {
    static constexpr size_t kMostBytes = 8 + kMostVarUIntBytes;

    static char* put(const char* state, char* to) {
        std::memcpy(to, state, 8);
        return putVarUInt(load<uint64_t>(state + 8), to + 8);
    }

    static const char* take(char* state, const char* from) {
        std::memcpy(state, from, 8);
        return takeVarUInt(from + 8, state + 8);
    }
};

template <size_t width>
struct SingleForm {
    static constexpr size_t kMostBytes = 1 + width;

    static char* put(const char* state, char* to) {
        const char has = state[width];
        *to = has;
        std::memcpy(to + 1, state, width);
        return to + (has ? 1 + width : 1);
    }

    static const char* take(char* state, const char* from) {
        if (*from == 0) return from + 1;
        std::memcpy(state, from + 1, width);
        state[width] = 1;
        return from + 1 + width;
    }
};

/// Calls action(Tag<Form>); false where the states have no form of these.
template <typename Action>
bool dispatchForm(const AggregateFunction& function, Action&& action) {
    switch (function.kernel()) {
        case Kernel::None:
            return false;
        case Kernel::Count:
            action(Tag<CountForm>{});
            return true;
        case Kernel::SumUInt64:
        case Kernel::SumInt64:
        case Kernel::SumFloat64:
            action(Tag<SumForm>{});
            return true;
        case Kernel::AvgUInt64:
        case Kernel::AvgInt64:
        case Kernel::AvgFloat64:
            action(Tag<AverageForm>{});
            return true;
        case Kernel::MinMaxFixed:
        case Kernel::AnyFixed:
            return dispatchPhysical(function.argumentTypes()[0]->physical(),
                                    [&]<typename T>(Tag<T>) { action(Tag<SingleForm<sizeof(T)>>{}); });
    }
    return false;
}

}  // namespace

void AggregateFunction::serializeBatch(const char* const* places, size_t rows, Writer& out) const {
    const bool done = dispatchForm(*this, [&]<typename Form>(Tag<Form>) {
        const size_t before = out.size();
        char* const start = out.extend(rows * Form::kMostBytes);
        char* to = start;
        for (size_t i = 0; i < rows; ++i) to = Form::put(places[i], to);
        out.shrink(before + static_cast<size_t>(to - start));
    });
    if (!done) AggregateOps::serializeBatch(places, rows, out);
}

size_t AggregateFunction::deserializeAhead(char* first, size_t stride, size_t rows, Reader& in) const {
    size_t done = 0;
    dispatchForm(*this, [&]<typename Form>(Tag<Form>) {
        const char* from = in.position();
        const char* const end = from + in.available();
        for (; done < rows && static_cast<size_t>(end - from) >= Form::kMostBytes; ++done) {
            const char* next = Form::take(first + done * stride, from);
            if (!next) break;  // deserialize() tells what is wrong
            from = next;
        }
        in.skip(static_cast<size_t>(from - in.position()));
    });
    return done;
}

}  // namespace shardd::aggregates
