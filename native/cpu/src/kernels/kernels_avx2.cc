#include "kernels/vector_avx2.h"
// The vectors come first: the kernels are written over them.
#include "kernels/kernel_tables.h"

#include "kernels/int8_dots_avx2.h"
#include "kernels/int8_pair_dots.h"

namespace cudnn_rnn {

const Kernels kAvx2Kernels = {"avx2", TableOf<VectorF32>(50, Int8PairDots<VectorF32, Int8DotsAvx2>::Product),
                              TableOf<VectorF64>(50), CtcKernelsOf<VectorF64>()};

}  // namespace cudnn_rnn
