#pragma once

#include <string>
#include <vector>

#include "nvidia_types.h"

namespace cudnn_rnn {

#define SYMBOL(result, name, parameters) result(*name) parameters = nullptr;
#define OPTIONAL_SYMBOL SYMBOL
struct CudartTable {
#include "cudart_symbols.def"
};
struct DriverTable {
#include "driver_symbols.def"
};
struct NvrtcTable {
#include "nvrtc_symbols.def"
};
struct CublasTable {
#include "cublas_symbols.def"
};
struct CudnnTable {
#include "cudnn_symbols.def"
};
#undef OPTIONAL_SYMBOL
#undef SYMBOL

/// NVIDIA's functions, found at run time. Once bound a table stays for the rest of the process.
struct Libraries {
  CudartTable cudart;
  DriverTable driver;
  NvrtcTable nvrtc;
  CublasTable cublas;
  CudnnTable cudnn;
  int cudnn_major = 0;

  /// Fills the table named `kind` from an open library; returns the required symbols that it does not have.
  std::vector<std::string> Bind(const std::string& kind, void* library);
};

}  // namespace cudnn_rnn
