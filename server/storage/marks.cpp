#include "server/storage/marks.h"

#include <cstring>

#include "common/base/error.h"
#include "common/wire/frame.h"

namespace shardd::storage {

std::string MarksFormat::extension() const {
    std::string text = compressed ? ".cmrk" : ".mrk";
    if (compact)
        text += substreams ? '4' : '3';
    else if (adaptive)
        text += '2';
    return text;
}

Marks readMarks(std::string_view file, const MarksFormat& format, size_t stride) {
    PodVector<char> data;
    if (format.compressed) {
        for (std::string_view rest = file; !rest.empty();) {
            const auto header = peekFrameHeader(rest);
            if (!header || header->frameBytes() > rest.size())
                throw Error(ErrorCode::CANNOT_READ_ALL_DATA, "A marks file ends inside a compressed block");
            decodeFrame(*header, rest.substr(0, header->frameBytes()), data);
            rest.remove_prefix(header->frameBytes());
        }
        file = {data.data(), data.size()};
    }
    const bool has_rows = format.adaptive || format.compact;
    const size_t record = stride * 16 + (has_rows ? 8 : 0);
    if (file.size() % record != 0)
        throw Error(ErrorCode::INCORRECT_DATA,
                    "A marks file of {} bytes is no whole number of marks of {} bytes", file.size(), record);
    Marks marks;
    marks.stride = stride;
    const size_t granules = file.size() / record;
    marks.marks.resize(granules * stride);
    if (has_rows) marks.rows.resize(granules);
    for (size_t i = 0; i < granules; ++i) {
        static_assert(sizeof(Mark) == 16);
        std::memcpy(static_cast<void*>(&marks.marks[i * stride]), file.data() + i * record, stride * 16);
        if (has_rows) std::memcpy(&marks.rows[i], file.data() + i * record + stride * 16, 8);
    }
    return marks;
}

}  // namespace shardd::storage
