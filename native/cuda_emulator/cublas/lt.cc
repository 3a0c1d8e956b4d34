#include "abi/export.h"

// libcublasLt.so: there to be found. Nothing but its version is implemented.
EMULATOR_EXPORT unsigned long cublasLtGetVersion() { return EMULATOR_CUDA_MAJOR * 10000; }
