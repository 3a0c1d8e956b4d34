#pragma once

#include <string>

namespace cudnn_rnn {

/// Opens the library at `path` (or by name, if it holds no separator) for the rest of the process; null and the
/// loader's text in `error` if that fails. Symbols stay local: two CUDA libraries may live side by side.
void* OpenLibrary(const std::string& path, std::string* error);

/// The address of an exported function, or null.
void* FindSymbol(void* library, const char* name);

/// The file that `library` was loaded from, or an empty string.
std::string LibraryFile(void* library);

/// Calls of the function `name` that `library` imports reach `replacement` from now on; other libraries' calls do not
/// change. Does nothing without the GNU C library.
void ReplaceImport(void* library, const char* name, void* replacement);

}  // namespace cudnn_rnn
