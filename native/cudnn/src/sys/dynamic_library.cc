#include "sys/dynamic_library.h"

#ifdef _WIN32
#define NOMINMAX
#include <windows.h>
#else
#include <dlfcn.h>
#ifdef __linux__
#include <link.h>
#endif
#endif

namespace cudnn_rnn {

#ifdef _WIN32

void* OpenLibrary(const std::string& path, std::string* error) {
  // With a path, the library's own folder is searched for its dependencies (cuDNN's sub-libraries are beside it). A
  // bare name keeps the default order, which has PATH.
  const bool is_path = path.find_first_of("\\/") != std::string::npos;
  const DWORD flags = is_path ? LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | LOAD_LIBRARY_SEARCH_DEFAULT_DIRS : 0;
  HMODULE library = LoadLibraryExA(path.c_str(), nullptr, flags);
  if (library == nullptr) *error = "LoadLibraryEx failed with error " + std::to_string(GetLastError());
  return library;
}

void* FindSymbol(void* library, const char* name) {
  return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(library), name));
}

std::string LibraryFile(void* library) {
  char file[MAX_PATH];
  const DWORD length = GetModuleFileNameA(static_cast<HMODULE>(library), file, sizeof file);
  return std::string(file, length);
}

#else

void* OpenLibrary(const std::string& path, std::string* error) {
  // RTLD_NOW: a missing dependency fails here, where it is reported, and not in the first call. RTLD_LOCAL: the symbols
  // of a second CUDA in the process (PyTorch by an addon, say) are not mixed with these.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* text = dlerror();
    *error = text == nullptr ? "dlopen failed" : text;
  }
  return library;
}

void* FindSymbol(void* library, const char* name) { return dlsym(library, name); }

std::string LibraryFile(void* library) {
#ifdef __linux__
  // The path that the loader found for a bare name, for reports and to find the sub-libraries beside it.
  link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0 && map != nullptr) return map->l_name;
#else
  (void)library;
#endif
  return "";
}

#endif

}  // namespace cudnn_rnn
