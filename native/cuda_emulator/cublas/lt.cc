#include "abi/export.h"

// libcublasLt.so: only its version is implemented, so that loaders find the library.
EMULATOR_EXPORT unsigned long cublasLtGetVersion() { return EMULATOR_CUDA_MAJOR * 10000; }
