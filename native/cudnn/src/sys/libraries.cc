#include "sys/libraries.h"

#include <csignal>
#include <cstring>

#include "sys/dynamic_library.h"

namespace cudnn_rnn {
namespace {

/// One row of a symbol table: the destination of the address, and whether its absence matters.
struct Row {
  const char* table;
  const char* name;
  void* slot;
  bool required;
};

using SignalHandler = void (*)(int);

/// In place of NVRTC's signal(): a compilation handles SIGINT and SIGTERM itself, and restores Node.js's handlers
/// without their flags. Such a handler raises the signal in itself forever.
SignalHandler LeaveSignal(int, SignalHandler) { return SIG_DFL; }

}  // namespace

// Each library is found on its own and may be missing alone: the report names it. A partly filled table is never
// called.
std::vector<std::string> Libraries::Bind(const std::string& kind, void* library) {
  // The .def files write the rows of TABLE.
#define TEXT_OF(table) #table
#define ROW(table, name, required) Row{TEXT_OF(table), #name, static_cast<void*>(&table.name), required},
#define SYMBOL(result, name, parameters) ROW(TABLE, name, true)
#define OPTIONAL_SYMBOL(result, name, parameters) ROW(TABLE, name, false)
  const Row rows[] = {
#define TABLE cudart
#include "sys/cudart_symbols.def"
#undef TABLE
// libcuda / nvcuda.dll: from the driver of the GPU, not from the CUDA toolkit, so its version differs from cudart's.
#define TABLE driver
#include "sys/driver_symbols.def"
#undef TABLE
// Compiles the kernels of native/cudnn/kernels on first use. A wheel or an apt package of cuDNN does not bring it
// along.
#define TABLE nvrtc
#include "sys/nvrtc_symbols.def"
#undef TABLE
// Symbols that end in _v2 are those that cublas_v2.h maps the documented names to.
#define TABLE cublas
#include "sys/cublas_symbols.def"
#undef TABLE
// cuDNN 8 and 9 export these from libcudnn, which loads its sub-libraries (libcudnn_adv and others) itself.
#define TABLE cudnn
#include "sys/cudnn_symbols.def"
#undef TABLE
  };
#undef OPTIONAL_SYMBOL
#undef SYMBOL
#undef ROW
#undef TEXT_OF
  if (kind == "nvrtc") ReplaceImport(library, "signal", reinterpret_cast<void*>(&LeaveSignal));
  std::vector<std::string> missing;
  bool is_known = false;
  for (const Row& row : rows) {
    if (kind != row.table) continue;
    is_known = true;
    void* address = FindSymbol(library, row.name);
    if (address == nullptr && row.required) missing.emplace_back(row.name);
    // A function pointer and a void pointer have the same size and representation on every supported system (POSIX
    // requires it for dlsym); memcpy avoids a cast between them.
    std::memcpy(row.slot, static_cast<const void*>(&address), sizeof address);
  }
  if (!is_known) missing.push_back("the table " + kind);
  return missing;
}

}  // namespace cudnn_rnn
