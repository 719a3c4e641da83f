#include "server/exec/key_hash.h"

#include "server/exec/key_layout.h"

namespace shardd::exec {

namespace {

template <size_t Words>
void hashAll(const uint64_t* keys, size_t rows, uint64_t* hashes) {
    for (size_t i = 0; i < rows; ++i) hashes[i] = hashWords<Words>(keys + i * Words);
}

}  // namespace

void hashKeys(size_t words, const uint64_t* keys, const KeyString* strings, size_t rows, uint64_t* hashes) {
    switch (words) {
        case 0:
            break;
        case 1:
            hashAll<1>(keys, rows, hashes);
            break;
        case 2:
            hashAll<2>(keys, rows, hashes);
            break;
        default:
            hashAll<4>(keys, rows, hashes);
            break;
    }
    if (!strings) return;
    if (words == 0)
        for (size_t i = 0; i < rows; ++i) hashes[i] = mixHash64(hashBytes(strings[i].data, strings[i].size));
    else
        for (size_t i = 0; i < rows; ++i)
            hashes[i] = mixHash64(hashes[i] ^ hashBytes(strings[i].data, strings[i].size));
}

}  // namespace shardd::exec
