#include "sys/status.h"

namespace cudnn_rnn {
namespace {

/// The libraries return null for a status that they do not have.
std::string TextOf(const char* text) { return text == nullptr ? "" : text; }

}  // namespace

void CheckCudart(const Libraries& libraries, cudaError_t status, const char* call) {
  if (status == 0) return;
  // Clears the last error, so that a later kernel launch is not blamed for this one; sticky errors stay.
  // See "Error Handling" in the CUDA Runtime API: an asynchronous error is returned by the next call.
  libraries.cudart.cudaGetLastError();
  throw NativeError("cudart", call, TextOf(libraries.cudart.cudaGetErrorName(status)),
                    TextOf(libraries.cudart.cudaGetErrorString(status)), status);
}

void CheckDriver(const Libraries& libraries, CUresult status, const char* call) {
  if (status == 0) return;
  const char* name = nullptr;
  const char* text = nullptr;
  // Both leave the pointer null for an unknown status.
  libraries.driver.cuGetErrorName(status, &name);
  libraries.driver.cuGetErrorString(status, &text);
  throw NativeError("driver", call, TextOf(name), TextOf(text), status);
}

void CheckNvrtc(const Libraries& libraries, nvrtcResult status, const char* call, const std::string& log) {
  if (status == 0) return;
  throw NativeError("nvrtc", call, TextOf(libraries.nvrtc.nvrtcGetErrorString(status)), log, status);
}

void CheckCublas(const Libraries& libraries, cublasStatus_t status, const char* call) {
  if (status == 0) return;
  throw NativeError("cublas", call, TextOf(libraries.cublas.cublasGetStatusName(status)), "", status);
}

void CheckCudnn(const Libraries& libraries, cudnnStatus_t status, const char* call) {
  if (status == 0) return;
  std::string detail;
  if (libraries.cudnn.cudnnGetLastErrorString != nullptr) {
    // Per thread, and only to be trusted right after a status that is not success.
    char text[1024] = "";
    libraries.cudnn.cudnnGetLastErrorString(text, sizeof text);
    detail = text;
  }
  throw NativeError("cudnn", call, TextOf(libraries.cudnn.cudnnGetErrorString(status)), detail, status);
}

}  // namespace cudnn_rnn
