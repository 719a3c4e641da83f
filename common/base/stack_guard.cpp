#include "common/base/stack_guard.h"

#include <cstddef>
#include <cstdint>

#include <pthread.h>

#include "common/base/error.h"

namespace shardd {

namespace {

/// What must stay free: room for the frames between two checks, and for the error on its way up.
constexpr size_t kReserveBytes = size_t{512} << 10;

/// The lowest address that this thread may use, with its reserve; 0 when the system does not say.
uintptr_t lowestAddress() {
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
    void* begin = nullptr;
    size_t size = 0;
    const int failed = pthread_attr_getstack(&attributes, &begin, &size);
    pthread_attr_destroy(&attributes);
    if (failed != 0) return 0;
    return reinterpret_cast<uintptr_t>(begin) + (size > 4 * kReserveBytes ? kReserveBytes : size / 4);
}

}  // namespace

void checkStack() {
    thread_local const uintptr_t lowest = lowestAddress();
    const char here = 0;
    if (reinterpret_cast<uintptr_t>(&here) < lowest)
        throw Error(ErrorCode::TOO_DEEP_RECURSION,
                    "Stack size too large: the query is nested too deeply. Make it flatter, or split it");
}

}  // namespace shardd
