#pragma once

#include "libraries.h"
#include "native_error.h"

namespace cudnn_rnn {

// The one place where statuses are read. Each throws NativeError unless `status` is success. `call` is the name of the
// C function, for the message. Errors of kernels are asynchronous: a status may belong to any earlier call on the
// device.
void CheckCudart(const Libraries& libraries, cudaError_t status, const char* call);
void CheckDriver(const Libraries& libraries, CUresult status, const char* call);
void CheckNvrtc(const Libraries& libraries, nvrtcResult status, const char* call, const std::string& log = "");
void CheckCublas(const Libraries& libraries, cublasStatus_t status, const char* call);
void CheckCudnn(const Libraries& libraries, cudnnStatus_t status, const char* call);

}  // namespace cudnn_rnn
