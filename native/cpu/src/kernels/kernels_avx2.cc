#include "kernels/vector_avx2.h"
// The vectors come first: the kernels are written over them.
#include "kernels/kernel_tables.h"

#include "kernels/int8_dots_avx2.h"
#include "kernels/int8_pair_dots.h"

namespace cudnn_rnn {

const Kernels kAvx2Kernels = {"avx2", TableOf<VectorF32>(50, Int8PairDots<VectorF32, Int8DotsAvx2>::Product),
                              TableOf<VectorF64>(50), CtcKernelsOf<VectorF64>()};
// AVX-VNNI is a separate feature: Intel's processors without AVX-512 have it, and Zen 5.
const Kernels kAvx2VnniKernels = {"avx2-vnni", TableOf<VectorF32>(50, ProductByAvxVnni), TableOf<VectorF64>(50),
                                  CtcKernelsOf<VectorF64>()};

}  // namespace cudnn_rnn
