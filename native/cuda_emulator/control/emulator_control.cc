// An addon through which tests in JavaScript reach the core library's control functions:
//   open(folder) loads folder/libemulated_gpu.so, enabled, regardless of the environment, unless the process has one
//   configure(text) and report() as in core/control.h

#include <dlfcn.h>
#include <node_api.h>

#include <cstdlib>
#include <string>

namespace {

int (*configure)(const char*, char*, std::size_t) = nullptr;
std::size_t (*report)(char*, std::size_t) = nullptr;

napi_value Throw(napi_env env, const std::string& message) {
  napi_throw_error(env, nullptr, message.c_str());
  return nullptr;
}

std::string TextArgument(napi_env env, napi_callback_info info) {
  std::size_t count = 1;
  napi_value argument = nullptr;
  napi_get_cb_info(env, info, &count, &argument, nullptr, nullptr);
  std::size_t length = 0;
  if (napi_get_value_string_utf8(env, argument, nullptr, 0, &length) != napi_ok) return "";
  std::string text(length, '\0');
  napi_get_value_string_utf8(env, argument, text.data(), length + 1, &length);
  return text;
}

napi_value Open(napi_env env, napi_callback_info info) {
  setenv("CUDNN_RNN_CUDA_EMULATOR", "1", 1);
  const std::string file = TextArgument(env, info) + "/libemulated_gpu.so";
  // Libraries of a second folder need the machine by its name, which the loader has already: the first folder's. One
  // that is opened by its path would be another machine, which none of them uses.
  void* library = dlopen("libemulated_gpu.so", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (library == nullptr) library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return Throw(env, dlerror());
  configure = reinterpret_cast<decltype(configure)>(dlsym(library, "cudaEmulatorConfigure"));
  report = reinterpret_cast<decltype(report)>(dlsym(library, "cudaEmulatorReport"));
  return nullptr;
}

napi_value Configure(napi_env env, napi_callback_info info) {
  char problem[200] = "open was not called";
  const std::string text = TextArgument(env, info);
  if (configure == nullptr || configure(text.c_str(), problem, sizeof problem) != 0) return Throw(env, problem);
  return nullptr;
}

napi_value Report(napi_env env, napi_callback_info) {
  if (report == nullptr) return Throw(env, "open was not called");
  std::string json(report(nullptr, 0) + 4096, '\0');  // other threads may lengthen the report meanwhile
  report(json.data(), json.size());
  napi_value text = nullptr;
  napi_create_string_utf8(env, json.c_str(), NAPI_AUTO_LENGTH, &text);
  return text;
}

}  // namespace

NAPI_MODULE_INIT() {
  const napi_property_descriptor functions[] = {
      {"open", nullptr, Open, nullptr, nullptr, nullptr, napi_enumerable, nullptr},
      {"configure", nullptr, Configure, nullptr, nullptr, nullptr, napi_enumerable, nullptr},
      {"report", nullptr, Report, nullptr, nullptr, nullptr, napi_enumerable, nullptr},
  };
  napi_define_properties(env, exports, 3, functions);
  return exports;
}
