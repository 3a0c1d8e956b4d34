#pragma once

#include "sys/libraries.h"
#include "sys/native_error.h"

namespace cudnn_rnn {

// The one place where statuses are read. Each throws NativeError unless `status` is success. `call` is the name of the
// C function, for the message. Errors of kernels are asynchronous: a status may belong to any earlier call on the
// device.
void CheckCudart(const Libraries& libraries, cudaError_t status, const char* call);
void CheckDriver(const Libraries& libraries, CUresult status, const char* call);
void CheckNvrtc(const Libraries& libraries, nvrtcResult status, const char* call, const std::string& log = "");
void CheckCublas(const Libraries& libraries, cublasStatus_t status, const char* call);
void CheckCudnn(const Libraries& libraries, cudnnStatus_t status, const char* call);

// Call a function of a library by its name, and throw NativeError unless its status is success.
#define CALL_CUDART(libraries, name, ...) CheckCudart(libraries, (libraries).cudart.name(__VA_ARGS__), #name)
#define CALL_DRIVER(libraries, name, ...) CheckDriver(libraries, (libraries).driver.name(__VA_ARGS__), #name)
#define CALL_NVRTC(libraries, name, ...) CheckNvrtc(libraries, (libraries).nvrtc.name(__VA_ARGS__), #name)
#define CALL_CUBLAS(libraries, name, ...) CheckCublas(libraries, (libraries).cublas.name(__VA_ARGS__), #name)
#define CALL_CUDNN(libraries, name, ...) CheckCudnn(libraries, (libraries).cudnn.name(__VA_ARGS__), #name)

}  // namespace cudnn_rnn
