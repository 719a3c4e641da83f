// Rows of an INSERT in every format, from bytes that come in small pieces.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "common/base/error.h"
#include "common/types/type_parser.h"
#include "server/formats/input_format.h"

namespace {

class Pieces final : public shardd::ByteSource {
public:
    Pieces(std::string_view bytes, size_t piece) : bytes_(bytes), piece_(piece) {}

    size_t read(char* out, size_t size) override {
        const size_t taken = std::min({size, piece_, bytes_.size()});
        if (taken > 0) std::memcpy(out, bytes_.data(), taken);
        bytes_.remove_prefix(taken);
        return taken;
    }

private:
    std::string_view bytes_;
    const size_t piece_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 2) return 0;
    static const std::vector<std::string_view> names = shardd::formats::inputFormatNames();
    static const shardd::Block header =
        shardd::makeHeader({{"a", shardd::parseType("UInt32")},
                            {"b", shardd::parseType("String")},
                            {"c", shardd::parseType("Nullable(Float64)")},
                            {"d", shardd::parseType("Array(Tuple(Int8, String))")},
                            {"e", shardd::parseType("Map(String, DateTime64(3))")}});
    const std::string_view bytes(reinterpret_cast<const char*>(data + 2), size - 2);
    try {
        shardd::formats::InputSettings settings;
        settings.max_row_bytes = 1 << 16;
        const auto in =
            shardd::formats::makeInputFormat(names[data[0] % names.size()], header,
                                             std::make_shared<Pieces>(bytes, size_t{1} + data[1]), settings);
        while (in->read(100).rows > 0) continue;
    } catch (const shardd::Error&) {
        return 0;  // refused, as it may be
    }
    return 0;
}
