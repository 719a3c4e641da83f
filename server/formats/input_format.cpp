#include "server/formats/input_format.h"

#include <algorithm>
#include <numeric>

#include "common/base/source_reader.h"
#include "common/wire/native.h"
#include "server/formats/input_list.h"

namespace shardd::formats {

// A new family is its own source and one name here.
#define SHARDD_INPUT_FAMILIES(X) X(json) X(separated) X(values)

#define DECLARE(family) std::span<const InputFormatInfo> family##InputFormats();
SHARDD_INPUT_FAMILIES(DECLARE)
#undef DECLARE

namespace {

/// Blocks of the Native format; columns are found by name.
class NativeInput final : public InputFormat {
public:
    NativeInput(const Block& header, std::shared_ptr<ByteSource> source, const InputSettings&)
        : header_(header), in_(std::move(source)), reader_(NativeOptions{}) {}

    InputRows read(size_t) override {
        InputRows result;
        while (result.rows == 0 && !in_.atEnd()) {
            Block block = reader_.read(in_);
            result.rows = block.rows;
            if (block.rows == 0) continue;
            InputRows::Part& part = result.parts.emplace_back();
            part.block.rows = block.rows;
            for (const NamedColumn& wanted : header_.columns) {
                const auto found = block.find(wanted.name);
                part.given.push_back(found.has_value());
                if (found) part.block.columns.push_back(std::move(block.columns[*found]));
            }
            part.places.resize(block.rows);
            std::iota(part.places.begin(), part.places.end(), RowIndex{0});
        }
        return result;
    }

private:
    const Block header_;
    SourceReader in_;
    BlockReader reader_;
};

InputFormatPtr makeNative(const Block& header,
                          std::shared_ptr<ByteSource> source,
                          const InputSettings& settings) {
    return std::make_unique<NativeInput>(header, std::move(source), settings);
}

const std::vector<InputFormatInfo>& allInputFormats() {
    static const std::vector<InputFormatInfo> formats = [] {
        std::vector<InputFormatInfo> all{{"Native", makeNative}};
#define APPEND(family) \
    for (const InputFormatInfo& info : family##InputFormats()) all.push_back(info);
        SHARDD_INPUT_FAMILIES(APPEND)
#undef APPEND
        return all;
    }();
    return formats;
}

}  // namespace

InputFormatPtr makeInputFormat(std::string_view name,
                               const Block& header,
                               std::shared_ptr<ByteSource> source,
                               const InputSettings& settings) {
    for (const InputFormatInfo& info : allInputFormats())
        if (info.name == name) return info.make(header, std::move(source), settings);
    throw Error(ErrorCode::UNKNOWN_FORMAT, "Unknown format {}", name);
}

std::vector<std::string_view> inputFormatNames() {
    std::vector<std::string_view> names;
    for (const InputFormatInfo& info : allInputFormats()) names.push_back(info.name);
    return names;
}

}  // namespace shardd::formats
