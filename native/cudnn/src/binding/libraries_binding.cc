#include <map>
#include <mutex>

#include "binding/binding.h"
#include "sys/dynamic_library.h"

namespace cudnn_rnn {
namespace {

/// Open libraries by the paths of the request. NVIDIA's libraries keep state per process and must never be closed, so
/// the table belongs to the process, not to an environment.
struct OpenedLibraries {
  std::mutex mutex;
  std::map<std::string, void*> by_path;
};

OpenedLibraries& Opened() {
  // Leaked on purpose: worker threads may still use the libraries while the process exits.
  static auto* opened = new OpenedLibraries;
  return *opened;
}

/// Opens a library once per process. A path that failed is tried again by the next call, as the user may have installed
/// it meanwhile.
void* Open(const std::string& path, std::string* error) {
  OpenedLibraries& opened = Opened();
  const std::lock_guard lock(opened.mutex);
  void*& library = opened.by_path[path];
  if (library == nullptr) library = OpenLibrary(path, error);
  return library;
}

// void* dlopen(const char* path, int flags)
// openLibrary(path: string): { file: string } | { error: string }
Napi::Value OpenLibraryOf(const Napi::CallbackInfo& info) {
  std::string error;
  void* library = Open(info[0].ToString().Utf8Value(), &error);
  Napi::Object result = Napi::Object::New(info.Env());
  if (library == nullptr) {
    result.Set("error", error);
  } else {
    result.Set("file", LibraryFile(library));
  }
  return result;
}

// void* dlsym(void* library, const char* name)
// bindLibraries(paths: Record<'cudart' | 'driver' | 'cudnn' | 'cublas' | 'nvrtc', string>):
//   { libraries: Libraries | null, missing: string[], cudnnVersion: number, cudnnCudart: number }
//
// Every path was opened before. Nothing is called of a library that lacks a symbol. A partial set may be bound, as the
// checks of the real cuDNN do on machines without a driver; no session opens over one.
Napi::Value BindLibraries(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  auto libraries = std::make_shared<Libraries>();
  Napi::Array missing = Napi::Array::New(env);
  const Napi::Object paths = info[0].As<Napi::Object>();
  for (const char* kind : {"cudart", "driver", "cudnn", "cublas", "nvrtc"}) {
    if (!paths.Has(kind)) continue;
    std::string error;
    void* library = Open(paths.Get(kind).ToString().Utf8Value(), &error);
    if (library == nullptr) {
      missing.Set(missing.Length(), std::string(kind) + ": " + error);
      continue;
    }
    for (const std::string& symbol : libraries->Bind(kind, library)) {
      missing.Set(missing.Length(), std::string(kind) + ": " + symbol);
    }
  }
  Napi::Object result = Napi::Object::New(env);
  result.Set("missing", missing);
  if (missing.Length() > 0) {
    result.Set("libraries", env.Null());
    return result;
  }
  if (libraries->cudnn.cudnnGetVersion != nullptr) {
    const std::size_t version = libraries->cudnn.cudnnGetVersion();
    // CUDNN_VERSION is major·1000 + minor·100 + patch up to 8, major·10000 + minor·100 + patch from 9 on.
    libraries->cudnn_major = static_cast<int>(version >= 10000 ? version / 10000 : version / 1000);
    result.Set("cudnnVersion", static_cast<double>(version));
    result.Set("cudnnCudart", static_cast<double>(libraries->cudnn.cudnnGetCudartVersion()));
  }
  result.Set("libraries", Wrap(env, std::move(libraries)));
  return result;
}

// cudnnStatus_t cudnnAdvVersionCheck(void): the sub-libraries in use are of one version.
// versionConflict(libraries): string, empty if they are
Napi::Value VersionConflict(const Napi::CallbackInfo& info) {
  const auto libraries = Unwrap<Libraries>(info[0]);
  const auto check = libraries->cudnn.cudnnAdvVersionCheck;
  const int status = check == nullptr ? 0 : check();
  // Without a device the check may not get as far as the versions.
  constexpr int kNotInitialized = 1001;
  if (status == 0 || status == kNotInitialized) return Napi::String::New(info.Env(), "");
  return Napi::String::New(info.Env(), libraries->cudnn.cudnnGetErrorString(status));
}

// cudaError_t cudaGetDeviceCount(int* count)
// deviceCount(libraries): { count: number, error: string }
Napi::Value DeviceCount(const Napi::CallbackInfo& info) {
  const auto libraries = Unwrap<Libraries>(info[0]);
  int count = 0;
  const cudaError_t status = libraries->cudart.cudaGetDeviceCount(&count);
  Napi::Object result = Napi::Object::New(info.Env());
  result.Set("count", status == 0 ? count : 0);
  std::string error;
  if (status != 0) {
    // cudaErrorNoDevice and cudaErrorInsufficientDriver are answers here; the stored status is cleared.
    libraries->cudart.cudaGetLastError();
    error =
        std::string(libraries->cudart.cudaGetErrorName(status)) + ": " + libraries->cudart.cudaGetErrorString(status);
  }
  result.Set("error", error);
  return result;
}

}  // namespace

void InitLibraries(Napi::Object exports) {
  Export<OpenLibraryOf>(exports, "openLibrary");
  Export<BindLibraries>(exports, "bindLibraries");
  Export<VersionConflict>(exports, "versionConflict");
  Export<DeviceCount>(exports, "deviceCount");
}

}  // namespace cudnn_rnn
