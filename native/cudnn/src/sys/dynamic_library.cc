#include "sys/dynamic_library.h"

#include <cstdint>
#include <cstring>

#ifdef _WIN32
#define NOMINMAX
#include <windows.h>
#else
#include <dlfcn.h>
#ifdef __linux__
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>
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

#ifdef __GLIBC__

// The GNU C library leaves addresses, not offsets, in the dynamic section of a loaded library.
void ReplaceImport(void* library, const char* name, void* replacement) {
  link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0 || map == nullptr) return;
  const auto entry = [map](ElfW(Sxword) tag) {
    const ElfW(Dyn)* at = map->l_ld;
    while (at->d_tag != DT_NULL && at->d_tag != tag) at++;
    return at->d_tag == DT_NULL ? 0 : at->d_un.d_ptr;
  };
  // NOLINTBEGIN(performance-no-int-to-ptr): the loader's tables hold addresses as numbers
  const auto* names = reinterpret_cast<const char*>(entry(DT_STRTAB));
  const auto* symbols = reinterpret_cast<const ElfW(Sym)*>(entry(DT_SYMTAB));
  const auto* imports = reinterpret_cast<const ElfW(Rela)*>(entry(DT_JMPREL));
  const std::size_t count = entry(DT_PLTRELSZ) / sizeof(ElfW(Rela));
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (std::size_t k = 0; k < count; k++) {
    if (std::strcmp(names + symbols[ELF64_R_SYM(imports[k].r_info)].st_name, name) != 0) continue;
    const std::uintptr_t slot = map->l_addr + imports[k].r_offset;
    // Written once the loader has bound it, which RTLD_NOW does before dlopen() returns.
    if (mprotect(reinterpret_cast<void*>(slot & ~(page - 1)), page, PROT_READ | PROT_WRITE) != 0) return;
    *reinterpret_cast<void**>(slot) = replacement;
  }
  // NOLINTEND(performance-no-int-to-ptr)
}

#else

void ReplaceImport(void*, const char*, void*) {}

#endif

}  // namespace cudnn_rnn
