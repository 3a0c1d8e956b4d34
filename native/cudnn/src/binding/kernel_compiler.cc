#include <cstring>

#include "binding/binding.h"
#include "kernel_source.h"
#include "sys/status.h"

namespace cudnn_rnn {

namespace {

// kernelSource(): string — the files of kernels/, built into the addon
Napi::Value KernelSource(const Napi::CallbackInfo& info) { return Napi::String::New(info.Env(), kKernels); }

// persistentSource(): string — kernels/persistent.cu
Napi::Value PersistentSource(const Napi::CallbackInfo& info) {
  return Napi::String::New(info.Env(), kPersistentKernels);
}

// nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int optionCount, const char* const* options)
// nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* cubin)
// nvrtcResult nvrtcGetPTX(nvrtcProgram program, char* ptx)
/// The machine code or PTX of `source`. Throws NativeError with the compiler's log. Uses no device and no context, so
/// it may run on any thread.
std::vector<char> Compile(const Libraries& libraries, const std::string& source,
                          const std::vector<std::string>& options) {
  const auto& nvrtc = libraries.nvrtc;
  nvrtcProgram program = nullptr;
  CALL_NVRTC(libraries, nvrtcCreateProgram, &program, source.c_str(), "kernels.cu", 0, nullptr, nullptr);
  // Destroys the program on every path.
  const std::shared_ptr<void> owner(program, [&nvrtc](void* owned) {
    auto destroyed = static_cast<nvrtcProgram>(owned);
    nvrtc.nvrtcDestroyProgram(&destroyed);
  });
  std::vector<const char*> texts;
  texts.reserve(options.size());
  for (const std::string& option : options) texts.push_back(option.c_str());
  const nvrtcResult result = nvrtc.nvrtcCompileProgram(program, static_cast<int>(texts.size()), texts.data());
  if (result != 0) {
    std::size_t size = 0;
    std::string log;
    if (nvrtc.nvrtcGetProgramLogSize(program, &size) == 0 && size > 1) {
      // The size counts the terminating zero.
      log.resize(size);
      if (nvrtc.nvrtcGetProgramLog(program, log.data()) != 0) log.clear();
    }
    CheckNvrtc(libraries, result, "nvrtcCompileProgram", log);
  }
  // sm_XY gives a cubin, compute_XY PTX. A cubin loads without translation, but on its major compute capability only.
  std::size_t bytes = 0;
  CALL_NVRTC(libraries, nvrtcGetCUBINSize, program, &bytes);
  if (bytes > 0) {
    std::vector<char> cubin(bytes);
    CALL_NVRTC(libraries, nvrtcGetCUBIN, program, cubin.data());
    return cubin;
  }
  // A virtual architecture has no cubin.
  CALL_NVRTC(libraries, nvrtcGetPTXSize, program, &bytes);
  std::vector<char> ptx(bytes);
  CALL_NVRTC(libraries, nvrtcGetPTX, program, ptx.data());
  return ptx;
}

// nvrtcResult nvrtcGetNumSupportedArchs(int* count)
// nvrtcResult nvrtcGetSupportedArchs(int* architectures)
// supportedArchitectures(libraries): number[] — 90 is compute capability 9.0; empty if NVRTC cannot say
Napi::Value SupportedArchitectures(const Napi::CallbackInfo& info) {
  const auto libraries = Unwrap<Libraries>(info[0]);
  const auto& nvrtc = libraries->nvrtc;
  std::vector<int> architectures;
  if (nvrtc.nvrtcGetNumSupportedArchs != nullptr && nvrtc.nvrtcGetSupportedArchs != nullptr) {
    int count = 0;
    CALL_NVRTC(*libraries, nvrtcGetNumSupportedArchs, &count);
    architectures.resize(static_cast<std::size_t>(count));
    CALL_NVRTC(*libraries, nvrtcGetSupportedArchs, architectures.data());
  }
  auto result = Napi::Array::New(info.Env(), architectures.size());
  for (std::uint32_t k = 0; k < architectures.size(); k++) result.Set(k, architectures[k]);
  return result;
}

/// Compiles on a thread of libuv's pool, as NVRTC takes seconds. Owned by Node-API from Queue() on, and freed after
/// OnOK or OnError.
class CompileWorker : public Napi::AsyncWorker {
 public:
  CompileWorker(Napi::Env env, std::shared_ptr<Libraries> libraries, std::string source,
                std::vector<std::string> options)
      : AsyncWorker(env),
        deferred_(env),
        libraries_(std::move(libraries)),
        source_(std::move(source)),
        options_(std::move(options)) {}

  Napi::Promise promise() const { return deferred_.Promise(); }

 protected:
  void Execute() override {
    // No value of JavaScript may be made on this thread: OnOK() makes the rejection.
    error_ = ErrorIn([this] { image_ = Compile(*libraries_, source_, options_); });
  }

  void OnOK() override {
    if (error_) return deferred_.Reject(ErrorOf(Env(), *error_).Value());
    auto image = Napi::Uint8Array::New(Env(), image_.size());
    std::memcpy(image.Data(), image_.data(), image_.size());
    deferred_.Resolve(image);
  }

 private:
  Napi::Promise::Deferred deferred_;
  std::shared_ptr<Libraries> libraries_;
  std::string source_;
  std::vector<std::string> options_;
  std::vector<char> image_;
  ErrorRef error_;
};

// compileKernels(libraries, source: string, options: string[]): Promise<Uint8Array> — a cubin, or PTX for a virtual
// architecture; needs no device
Napi::Value CompileKernels(const Napi::CallbackInfo& info) {
  std::vector<std::string> options;
  const auto list = info[2].As<Napi::Array>();
  options.reserve(list.Length());
  for (std::uint32_t k = 0; k < list.Length(); k++) options.push_back(list.Get(k).ToString().Utf8Value());
  auto* worker = new CompileWorker(info.Env(), Unwrap<Libraries>(info[0]), info[1].ToString().Utf8Value(), options);
  const Napi::Promise promise = worker->promise();
  worker->Queue();
  return promise;
}

}  // namespace

void InitKernels(Napi::Object exports) {
  Export<KernelSource>(exports, "kernelSource");
  Export<PersistentSource>(exports, "persistentSource");
  Export<SupportedArchitectures>(exports, "supportedArchitectures");
  Export<CompileKernels>(exports, "compileKernels");
}

}  // namespace cudnn_rnn
