#include "kernels/vector_portable.h"
// The vectors come first: the kernels are written over them.
#include "kernels/kernel_tables.h"

namespace cudnn_rnn {

const Kernels kPortableKernels = {"portable", TableOf<VectorF32>(5), TableOf<VectorF64>(5), CtcKernelsOf<VectorF64>()};

}  // namespace cudnn_rnn
