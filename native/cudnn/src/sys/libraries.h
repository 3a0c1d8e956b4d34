#pragma once

#include <string>
#include <vector>

#include "sys/nvidia_types.h"

namespace cudnn_rnn {

// Each .def file lists the prototypes of one library. Here a row becomes a member that is a function pointer; in
// libraries.cc it becomes the row of a lookup table. An optional symbol may be null.
#define SYMBOL(result, name, parameters) result(*name) parameters = nullptr;
#define OPTIONAL_SYMBOL SYMBOL
struct CudartTable {
#include "sys/cudart_symbols.def"
};
struct DriverTable {
#include "sys/driver_symbols.def"
};
struct NvrtcTable {
#include "sys/nvrtc_symbols.def"
};
struct CublasTable {
#include "sys/cublas_symbols.def"
};
struct CudnnTable {
#include "sys/cudnn_symbols.def"
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
  /// 8 or 9, from cudnnGetVersion().
  int cudnn_major = 0;

  /// Fills the table named `kind` from an open library; returns the required symbols that it does not have.
  std::vector<std::string> Bind(const std::string& kind, void* library);
};

}  // namespace cudnn_rnn
