#include "libraries.h"

#include <cstring>

#include "dynamic_library.h"

namespace cudnn_rnn {
namespace {

/// One row of a symbol table: the destination of the address, and whether its absence matters.
struct Row {
  const char* name;
  void* slot;
  bool required;
};

/// Looks up every row; returns the names of required symbols that are missing. A partly filled table is never called.
std::vector<std::string> Fill(const std::vector<Row>& rows, void* library) {
  std::vector<std::string> missing;
  for (const Row& row : rows) {
    void* address = FindSymbol(library, row.name);
    if (address == nullptr && row.required) missing.emplace_back(row.name);
    // A function pointer and a void pointer have the same size and representation on every supported system (POSIX
    // requires it for dlsym); memcpy avoids a cast between them.
    std::memcpy(row.slot, static_cast<const void*>(&address), sizeof address);
  }
  return missing;
}

}  // namespace

// Five tables and not one, as each library is found on its own and may be missing alone: the report names it.
std::vector<std::string> Libraries::Bind(const std::string& kind, void* library) {
// Each list below is a table of rows, written by the .def file.
#define SYMBOL(result, name, parameters) Row{#name, static_cast<void*>(&table.name), true},
#define OPTIONAL_SYMBOL(result, name, parameters) Row{#name, static_cast<void*>(&table.name), false},
  if (kind == "cudart") {
    CudartTable& table = cudart;
    return Fill(
        {
#include "cudart_symbols.def"
        },
        library);
  }
  // libcuda / nvcuda.dll: from the driver of the GPU, not from the CUDA toolkit, so its version differs from cudart's.
  if (kind == "driver") {
    DriverTable& table = driver;
    return Fill(
        {
#include "driver_symbols.def"
        },
        library);
  }
  // Compiles the kernels of native/cudnn/kernels on first use. A wheel or an apt package of cuDNN does not bring it
  // along.
  if (kind == "nvrtc") {
    NvrtcTable& table = nvrtc;
    return Fill(
        {
#include "nvrtc_symbols.def"
        },
        library);
  }
  // Symbols that end in _v2 are those that cublas_v2.h maps the documented names to.
  if (kind == "cublas") {
    CublasTable& table = cublas;
    return Fill(
        {
#include "cublas_symbols.def"
        },
        library);
  }
  // cuDNN 8 and 9 export these from libcudnn, which loads its sub-libraries (libcudnn_adv and others) itself.
  if (kind == "cudnn") {
    CudnnTable& table = cudnn;
    return Fill(
        {
#include "cudnn_symbols.def"
        },
        library);
  }
#undef OPTIONAL_SYMBOL
#undef SYMBOL
  return {"the table " + kind};
}

}  // namespace cudnn_rnn
