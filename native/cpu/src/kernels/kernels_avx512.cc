#include "kernels/vector_avx512.h"
// The vectors come first: the kernels are written over them.
#include "kernels/kernel_tables.h"

#include "kernels/int8_dots_avx2.h"
#include "kernels/int8_pair_dots.h"

namespace cudnn_rnn {
// VPMADDWD of 256 bits without VNNI.
const Kernels kAvx512Kernels = {"avx512", TableOf<VectorF32>(50, Int8PairDots<VectorF32, Int8DotsAvx2>::Product),
                                TableOf<VectorF64>(50), CtcKernelsOf<VectorF64>()};
// AVX-512 VNNI is a separate feature (CPUID leaf 7, ECX bit 11), so it has its own table, equal except for one
// function. https://www.intel.com/content/www/us/en/docs/intrinsics-guide/index.html#avx512techs=AVX512_VNNI
const Kernels kAvx512VnniKernels = {"avx512-vnni", TableOf<VectorF32>(50, ProductByInt8Dots), TableOf<VectorF64>(50),
                                    CtcKernelsOf<VectorF64>()};
// Only the functions of `precision: 'bfloat16'` differ, so these tables have the same name.
const Kernels kAvx512Bfloat16Kernels = {
    "avx512-vnni",
    TableOf<VectorF32>(50, ProductByInt8Dots,
                       {ProductByBfloat16Dots, CopyRoundedColumns<2>, RoundPairs, RoundTransposedPairs}),
    TableOf<VectorF64>(50), CtcKernelsOf<VectorF64>()};
#if defined(CUDNN_RNN_AMX)
const Kernels kAmxBfloat16Kernels = {
    "avx512-vnni",
    TableOf<VectorF32>(50, ProductByInt8Dots,
                       {ProductByBfloat16Tiles, CopyRoundedColumns<2>, RoundPairs, RoundTransposedPairs}),
    TableOf<VectorF64>(50), CtcKernelsOf<VectorF64>()};
#endif

}  // namespace cudnn_rnn
