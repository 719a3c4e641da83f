#pragma once

#include <cstdint>

namespace shardd {

/// What the processor can do beyond x86-64-v2, for kernels that exist in several forms. Such a form is a function with
/// a target attribute, called only at its level or above; the program itself starts anywhere.
enum class CpuLevel : uint8_t {
    Baseline,
    Avx2,    ///< AVX2 with BMI2 (x86-64-v3)
    Avx512,  ///< AVX-512 of F, BW, DQ, VL (x86-64-v4) and VBMI2, which compresses bytes
};

CpuLevel cpuLevel() noexcept;

/// So that tests and benchmarks try every form that this processor can run: no more than `level` from now on.
/// Not while kernels run.
void limitCpuLevel(CpuLevel level) noexcept;

#define SHARDD_TARGET_AVX2 __attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt")))
#define SHARDD_TARGET_AVX512 \
    __attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2")))

}  // namespace shardd
