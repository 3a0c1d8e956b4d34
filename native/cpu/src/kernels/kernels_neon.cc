#include "kernels/vector_neon.h"
// The vectors come first: the kernels are written over them.
#include "kernels/kernel_tables.h"

#include "kernels/paired_rows.h"

namespace cudnn_rnn {

// 25 operations a nanosecond: half of the x86 rate, for 16-byte loads (TableOf).
const Kernels kNeonKernels = {"neon", TableOf<VectorF32>(25), TableOf<VectorF64>(25), CtcKernelsOf<VectorF64>()};

#if defined(CUDNN_RNN_NEON_DOTS)
const Kernels kNeonDotKernels = {"neon-dotprod", TableOf<VectorF32>(25, ProductByInt8Dots), TableOf<VectorF64>(25),
                                 CtcKernelsOf<VectorF64>()};
const Kernels kNeonMatrixKernels = {
    "neon-i8mm-bf16",
    TableOf<VectorF32>(25, ProductByInt8Matrices,
                       {ProductByBfloat16Matrices, CopyRoundedColumns<2, PairedRow>, RoundPairs, RoundTransposedPairs}),
    TableOf<VectorF64>(25), CtcKernelsOf<VectorF64>()};
#endif

}  // namespace cudnn_rnn
