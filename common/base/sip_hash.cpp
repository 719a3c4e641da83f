#include "common/base/sip_hash.h"

namespace shardd {

void SipHash::update(const void* data, size_t size) {
    const auto* bytes = static_cast<const uint8_t*>(data);
    const uint8_t* end = bytes + size;
    while (bytes != end && total_ % 8 != 0) {
        pending_ |= uint64_t{*bytes++} << (8 * (total_ % 8));
        if (++total_ % 8 == 0) {
            absorb(pending_);
            pending_ = 0;
        }
    }
    for (; end - bytes >= 8; bytes += 8, total_ += 8) {
        uint64_t word = 0;
        std::memcpy(&word, bytes, sizeof(word));
        absorb(word);
    }
    for (; bytes != end; ++bytes, ++total_) pending_ |= uint64_t{*bytes} << (8 * (total_ % 8));
}

void SipHash::finish() {
    absorb(pending_ | (total_ << 56));
    v2_ ^= 0xff;
    for (int i = 0; i < 4; ++i) round();
}

}  // namespace shardd
