#include "abi/export.h"

// libcublasLt.so: there to be found. Nothing but its version is implemented.
FAKE_EXPORT unsigned long cublasLtGetVersion() { return FAKE_CUDA_MAJOR * 10000; }
