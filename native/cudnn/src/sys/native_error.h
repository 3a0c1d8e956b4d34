#pragma once

#include <exception>
#include <memory>
#include <string>
#include <utility>

namespace cudnn_rnn {

/// A status that was not success, with all details for the reader. packages/cudnn makes its coded
/// errors of these fields.
struct NativeError : std::exception {
  NativeError() = default;
  NativeError(std::string library, std::string call, std::string name, std::string detail = "", int status = 0)
      : library(std::move(library)),
        call(std::move(call)),
        status(status),
        name(std::move(name)),
        detail(std::move(detail)) {}

  std::string library;  ///< "cudnn", "cudart", "driver", "nvrtc", "cublas", "nccl", or "session" for our own refusals
  std::string call;     ///< the C function
  int status = 0;
  std::string name;    ///< CUDNN_STATUS_…, cudaError…
  std::string detail;  ///< the library's own text about this very failure; often empty
  /// Set when an allocation failed: its size, and the memory of the device that was free and in total.
  double requested_bytes = 0;
  double free_bytes = 0;
  double total_bytes = 0;

  const char* what() const noexcept override { return name.c_str(); }
};

/// Shared, as every object that the failed batch should have written carries it.
using ErrorRef = std::shared_ptr<const NativeError>;

/// The NativeError that `run` throws; null if it throws none.
template <typename Function>
ErrorRef ErrorIn(const Function& run) {
  try {
    run();
    return nullptr;
  } catch (const NativeError& error) {
    return std::make_shared<NativeError>(error);
  }
}

}  // namespace cudnn_rnn
