#include "common/protocol/block_assembler.h"

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
        decodeFrame(*header, window.view().substr(0, header->frameBytes()), data_.appendable());
        window.drop(header->frameBytes());
    }
}

}  // namespace shardd::protocol
