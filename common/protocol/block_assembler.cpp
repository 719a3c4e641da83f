#include "common/protocol/block_assembler.h"

#include <utility>

#include "common/wire/encoded_block.h"
#include "common/wire/frame.h"

namespace shardd::protocol {

std::optional<Block> BlockAssembler::tryAssemble(ByteWindow& window, bool compressed, size_t& wanted) {
    return compressed ? tryFrames(window, wanted) : reader_.tryRead(window, wanted);
}

std::optional<Block> BlockAssembler::tryFrames(ByteWindow& window, size_t& wanted) {
    while (true) {
        if (data_.size() >= data_wanted_) {
            size_t more = 1;
            if (std::optional<Block> block = reader_.tryRead(data_, more)) {
                if (!data_.empty())
                    throw Error(ErrorCode::INCORRECT_DATA,
                                "A compressed frame holds {} bytes behind its block", data_.size());
                data_wanted_ = 1;
                if (keep_frames_ && !reader_.lastHadKinds())
                    attachEncoded(*block, options_, std::exchange(frames_, {}));
                frames_.clear();
                return block;
            }
            data_wanted_ = data_.size() + more;
        }
        const std::optional<FrameHeader> header = peekFrameHeader(window.view());
        if (!header) {
            wanted = kFrameHeaderBytes - window.size();
            return std::nullopt;
        }
        if (window.size() < header->frameBytes()) {
            wanted = header->frameBytes() - window.size();
            return std::nullopt;
        }
        const std::string_view frame = window.view().substr(0, header->frameBytes());
        decodeFrame(*header, frame, data_.appendable());
        if (keep_frames_) frames_.append(frame.data(), frame.size());
        window.drop(header->frameBytes());
    }
}

}  // namespace shardd::protocol
