#include "common/base/cpu.h"

#include <algorithm>

namespace shardd {

namespace {

CpuLevel detected() noexcept {
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2")) return CpuLevel::Baseline;
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                        __builtin_cpu_supports("avx512vbmi2");
    return avx512 ? CpuLevel::Avx512 : CpuLevel::Avx2;
}

CpuLevel level = detected();

}  // namespace

CpuLevel cpuLevel() noexcept { return level; }

void limitCpuLevel(CpuLevel most) noexcept { level = std::min(detected(), most); }

}  // namespace shardd
