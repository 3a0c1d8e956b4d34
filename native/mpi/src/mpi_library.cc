#include "mpi_library.h"

#include <dlfcn.h>

#include <cstring>

namespace cudnn_rnn {
namespace {

/// A constant of mpi.h that is an invalid address by definition, such as MPI_IN_PLACE: compared, never dereferenced.
void* Address(std::uintptr_t value) { return reinterpret_cast<void*>(value); }

/// Values of mpi.h of MPICH 3 and later. Libraries of the MPICH ABI Compatibility Initiative (Intel MPI, Cray MPICH,
/// MVAPICH2) have the same values. A handle encodes its kind in the upper bits, and for a datatype its size in bytes in
/// bits 8-15: 0x4c00_04_0a is a 4-byte type.
MpiConstants MpichConstants() {
  MpiConstants c{};
  c.world = 0x44000000;
  c.float32 = 0x4c00040a;
  c.float64 = 0x4c00080b;
  c.int32 = 0x4c000439;
  c.int64 = 0x4c00083a;
  c.byte = 0x4c00010d;
  c.max = 0x58000001;
  c.min = 0x58000002;
  c.sum = 0x58000003;
  c.errors_return = 0x54000001;
  c.info_null = 0x1c000000;
  c.in_place = Address(UINTPTR_MAX);
  c.status_ignore = Address(1);
  c.shared_type = 1;
  c.thread_multiple = 3;
  return c;
}

/// Values of the standard's appendix "MPI ABI", which mpi-forum/mpi-abi-stubs has as mpi.h.
MpiConstants StandardConstants() {
  MpiConstants c{};
  c.world = 0x101;
  c.float32 = 0x210;
  c.float64 = 0x214;
  c.int32 = 0x250;
  c.int64 = 0x258;
  c.byte = 0x247;
  c.sum = 0x21;
  c.min = 0x22;
  c.max = 0x23;
  c.errors_return = 0x143;
  c.info_null = 0x130;
  c.in_place = Address(1);
  c.status_ignore = nullptr;
  c.shared_type = 221;
  c.thread_multiple = 4096;
  return c;
}

/// A handle of Open MPI is the address of an object that the library exports. False if one is missing.
bool OpenMpiConstants(void* library, MpiConstants* c) {
  const struct {
    const char* name;
    MpiHandle* handle;
  } objects[] = {
      {"ompi_mpi_comm_world", &c->world},    {"ompi_mpi_float", &c->float32},
      {"ompi_mpi_double", &c->float64},      {"ompi_mpi_int32_t", &c->int32},
      {"ompi_mpi_int64_t", &c->int64},       {"ompi_mpi_byte", &c->byte},
      {"ompi_mpi_op_sum", &c->sum},          {"ompi_mpi_op_min", &c->min},
      {"ompi_mpi_op_max", &c->max},          {"ompi_mpi_errors_return", &c->errors_return},
      {"ompi_mpi_info_null", &c->info_null},
  };
  for (const auto& [name, handle] : objects) {
    *handle = reinterpret_cast<MpiHandle>(dlsym(library, name));
    if (*handle == 0) return false;
  }
  c->in_place = Address(1);
  c->status_ignore = nullptr;
  c->shared_type = 0;
  c->thread_multiple = 3;
  return true;
}

/// Finds out the binary interface before MPI is initialized. Open MPI's ordinary library answers MPI_Abi_get_version
/// with the major version -1.
bool Identify(void* library, MpiLibrary* result) {
  if (auto* version = reinterpret_cast<int (*)(int*, int*)>(dlsym(library, "MPI_Abi_get_version"))) {
    int major = -1;
    int minor = -1;
    if (version(&major, &minor) == 0 && major >= 1) {
      result->abi = "standard";
      result->constants = StandardConstants();
      return true;
    }
  }
  if (dlsym(library, "ompi_mpi_comm_world") != nullptr) {
    result->abi = "open-mpi";
    // Its handles have no fixed values, but the addresses of these objects are part of its ABI.
    return OpenMpiConstants(library, &result->constants);
  }
  // The remaining case is MPICH or a library with its ABI. Bind() has found all functions by then.
  result->abi = "mpich";
  result->constants = MpichConstants();
  return true;
}

/// Empty, or the reason why `library` cannot be used.
std::string Bind(void* library, MpiLibrary* result) {
#define CUDNN_RNN_BIND(function, parameters)                                                \
  result->function = reinterpret_cast<int(*) parameters>(dlsym(library, "MPI_" #function)); \
  if (result->function == nullptr) return "it has no MPI_" #function;
  CUDNN_RNN_MPI_FUNCTIONS(CUDNN_RNN_BIND)
#undef CUDNN_RNN_BIND
  // The functions are the same in all three interfaces, so they are bound before the interface is identified.
  if (!Identify(library, result)) return "its binary interface is not known";
  return "";
}

}  // namespace

bool OpenMpiLibrary(const std::vector<std::string>& names, MpiLibrary* library, std::vector<std::string>* attempts) {
  for (const std::string& name : names) {
    // RTLD_GLOBAL, as Open MPI's plugins look for its symbols among the global ones; RTLD_NODELETE, as no MPI can be
    // unloaded.
    void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
    if (handle == nullptr) {
      const char* text = dlerror();
      attempts->push_back(text == nullptr ? name + ": dlopen failed" : text);
      continue;
    }
    MpiLibrary found;
    const std::string problem = Bind(handle, &found);
    if (problem.empty()) {
      found.name = name;
      *library = found;
      return true;
    }
    attempts->push_back(name + ": " + problem);
  }
  return false;
}

std::string MpiLibrary::Version() const {
  // MPI_MAX_LIBRARY_VERSION_STRING is 256 in Open MPI and 8192 in the others.
  std::vector<char> text(8192 + 1);
  int length = 0;
  if (Get_library_version(text.data(), &length) != 0) return "of unknown version";
  std::string version(text.data(), strnlen(text.data(), text.size()));
  version = version.substr(0, version.find('\n'));
  // MPICH writes "MPICH Version:<tab>4.0.2", Open MPI "Open MPI v4.1.4, package: …".
  for (char& letter : version) {
    if (letter == '\t') letter = ' ';
  }
  version = version.substr(0, version.find(", package"));
  return version.substr(0, version.find_last_not_of(" ,") + 1);
}

std::string MpiLibrary::ErrorText(int status) const {
  // MPI_MAX_ERROR_STRING is 256 in Open MPI and 512 in MPICH.
  std::vector<char> text(512 + 1);
  int length = 0;
  if (Error_string(status, text.data(), &length) != 0) return "status " + std::to_string(status);
  return std::string(text.data(), strnlen(text.data(), text.size()));
}

void MpiLibrary::Check(int status, const char* call) const {
  if (status != 0) throw MpiError{call, ErrorText(status)};
}

}  // namespace cudnn_rnn
