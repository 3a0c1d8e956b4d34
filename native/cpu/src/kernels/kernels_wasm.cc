#include "kernels/vector_wasm.h"
// The vectors come first: the kernels are written over them.
#include "kernels/kernel_tables.h"

namespace cudnn_rnn {

#if defined(__wasm_relaxed_simd__)
const Kernels kWasmKernels = {"relaxed-simd", TableOf<VectorF32>(30), TableOf<VectorF64>(30),
                              CtcKernelsOf<VectorF64>()};
#else
const Kernels kWasmKernels = {"simd128", TableOf<VectorF32>(20), TableOf<VectorF64>(20), CtcKernelsOf<VectorF64>()};
#endif

}  // namespace cudnn_rnn
