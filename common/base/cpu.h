#pragma once

namespace shardd {

/// What the processor can do beyond x86-64-v2, for kernels that exist in several forms. Such a form is a function with
/// a target attribute, called only when the answer here is yes; the program itself starts anywhere.
/// AVX2 with BMI2 (x86-64-v3).
bool cpuHasAvx2() noexcept;

/// AVX-512 of F, BW, DQ, VL (x86-64-v4) and VBMI2, which compresses bytes.
bool cpuHasAvx512() noexcept;

#define SHARDD_TARGET_AVX2 __attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt")))
#define SHARDD_TARGET_AVX512 \
    __attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2")))

}  // namespace shardd
