// Flags of the modules' files. Nearly all time is spent in the kernels, so the others are compiled for size.
const FLAGS = [
  '--target=wasm32-wasip1',
  '-std=c++20',
  '-msimd128',
  '-matomics',
  '-mbulk-memory',
  '-ffp-contract=off',
].concat(
  ['-fno-exceptions', '-fno-rtti', '-fvisibility=hidden', '-Wall', '-Wextra', '-Wno-missing-field-initializers'],
  ['-Istd', '-Isrc', '-Icpu'],
  // Strength reduction drops "no unsigned wrap"; without it each load needs a separate addition for its address.
  ['-mllvm', '-disable-lsr'],
)

export const DRIVER_FLAGS = [...FLAGS, '-Os']
export const FLOAT64_FLAGS = [...DRIVER_FLAGS, '-DCUDNN_RNN_FLOAT64']
export const KERNEL_FLAGS = [...FLAGS, '-O3']
export const RELAXED_KERNEL_FLAGS = [...KERNEL_FLAGS, '-mrelaxed-simd']
