#include "common/base/cpu.h"

namespace shardd {

bool cpuHasAvx2() noexcept {
    static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
    return has;
}

bool cpuHasAvx512() noexcept {
    static const bool has = cpuHasAvx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                            __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                            __builtin_cpu_supports("avx512vbmi2");
    return has;
}

}  // namespace shardd
