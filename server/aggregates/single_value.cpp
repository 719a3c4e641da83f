#include "server/aggregates/single_value.h"

#include <bit>

namespace shardd::aggregates {

void StringSingle::grow(uint32_t size, Arena& arena) {
    const uint32_t wanted = std::bit_ceil(size);
    data = arena.allocate(wanted);
    capacity = wanted;
}

void StringSingle::write(Writer& out) const {
    if (!has()) {
        out.writeFixed<int32_t>(-1);
        return;
    }
    // The size counts a terminating NUL, which follows the bytes.
    out.writeFixed(static_cast<int32_t>(size_plus_one));
    out.writeBytes(view());
    out.writeByte(0);
}

namespace {

/// Memory only as bytes arrive.
std::string readBounded(Reader& in, size_t size) {
    constexpr size_t kStep = size_t{1} << 20;
    std::string text;
    while (text.size() < size) {
        const size_t before = text.size();
        const size_t step = std::min(kStep, size - before);
        text.resize(before + step);
        in.readBytes(text.data() + before, step);
    }
    return text;
}

}  // namespace

void StringSingle::readValue(const Type&, Reader& in, Arena& arena) { assign(in.readString(), arena); }

void StringSingle::read(const Type&, Reader& in, Arena& arena) {
    const auto size = in.readFixed<int32_t>();
    if (size < 0) {
        size_plus_one = 0;
        return;
    }
    // Old senders leave the NUL out.
    const auto assignText = [&](std::string_view text) {
        if (!text.empty() && text.back() == '\0') text.remove_suffix(1);
        assign(text, arena);
    };
    const auto bytes = static_cast<size_t>(size);
    if (in.available() < bytes) return assignText(readBounded(in, bytes));
    assignText({in.position(), bytes});
    in.skip(bytes);
}

}  // namespace shardd::aggregates
