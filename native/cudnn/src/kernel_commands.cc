#include <cstring>

#include "areas.h"
#include "kernel_source.h"
#include "status.h"

namespace cudnn_rnn {

/// A module of compiled kernels in the device's context; the worker unloads it when the session closes.
struct KernelModule {
  CUmodule module = nullptr;
};

/// One kernel: its name, and its parameters by letter (i: input, I: input that may be null, o: output, u: updated in
/// place, n: count, s: scalar in the module's element type, v: where in memory the scalars are instead, or null).
struct Kernel {
  std::shared_ptr<KernelModule> module;
  std::string name;
  std::string signature;
  bool is_double = false;
  CUfunction function = nullptr;
};

HANDLE_TAG(KernelModule, 8)
HANDLE_TAG(Kernel, 9)

namespace {

// kernelSource(): string — kernels/dense.cu and kernels/layers.cu, built into the addon
Napi::Value KernelSource(const Napi::CallbackInfo& info) { return Napi::String::New(info.Env(), kKernels); }

// nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int optionCount, const char* const* options)
// nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* cubin)
// nvrtcResult nvrtcGetPTX(nvrtcProgram program, char* ptx)
std::vector<char> Compile(const Libraries& libraries, const std::string& source,
                          const std::vector<std::string>& options) {
  const auto& nvrtc = libraries.nvrtc;
  nvrtcProgram program = nullptr;
  CheckNvrtc(libraries, nvrtc.nvrtcCreateProgram(&program, source.c_str(), "kernels.cu", 0, nullptr, nullptr),
             "nvrtcCreateProgram");
  const std::shared_ptr<void> owner(program, [&nvrtc](void* owned) {
    auto destroyed = static_cast<nvrtcProgram>(owned);
    nvrtc.nvrtcDestroyProgram(&destroyed);
  });
  std::vector<const char*> texts;
  for (const std::string& option : options) texts.push_back(option.c_str());
  const nvrtcResult result = nvrtc.nvrtcCompileProgram(program, static_cast<int>(texts.size()), texts.data());
  if (result != 0) {
    std::size_t size = 0;
    std::string log;
    if (nvrtc.nvrtcGetProgramLogSize(program, &size) == 0 && size > 1) {
      log.resize(size);
      if (nvrtc.nvrtcGetProgramLog(program, log.data()) != 0) log.clear();
    }
    CheckNvrtc(libraries, result, "nvrtcCompileProgram", log);
  }
  std::size_t bytes = 0;
  CheckNvrtc(libraries, nvrtc.nvrtcGetCUBINSize(program, &bytes), "nvrtcGetCUBINSize");
  if (bytes > 0) {
    std::vector<char> cubin(bytes);
    CheckNvrtc(libraries, nvrtc.nvrtcGetCUBIN(program, cubin.data()), "nvrtcGetCUBIN");
    return cubin;
  }
  // A virtual architecture has no cubin.
  CheckNvrtc(libraries, nvrtc.nvrtcGetPTXSize(program, &bytes), "nvrtcGetPTXSize");
  std::vector<char> ptx(bytes);
  CheckNvrtc(libraries, nvrtc.nvrtcGetPTX(program, ptx.data()), "nvrtcGetPTX");
  return ptx;
}

// nvrtcResult nvrtcGetNumSupportedArchs(int* count)
// nvrtcResult nvrtcGetSupportedArchs(int* architectures)
// supportedArchitectures(libraries): number[] — 90 is compute capability 9.0; empty where NVRTC cannot say
Napi::Value SupportedArchitectures(const Napi::CallbackInfo& info) {
  const auto libraries = Shown<Libraries>(info[0]);
  const auto& nvrtc = libraries->nvrtc;
  std::vector<int> architectures;
  if (nvrtc.nvrtcGetNumSupportedArchs != nullptr && nvrtc.nvrtcGetSupportedArchs != nullptr) {
    int count = 0;
    CheckNvrtc(*libraries, nvrtc.nvrtcGetNumSupportedArchs(&count), "nvrtcGetNumSupportedArchs");
    architectures.resize(static_cast<std::size_t>(count));
    CheckNvrtc(*libraries, nvrtc.nvrtcGetSupportedArchs(architectures.data()), "nvrtcGetSupportedArchs");
  }
  auto result = Napi::Array::New(info.Env(), architectures.size());
  for (std::uint32_t k = 0; k < architectures.size(); k++) result.Set(k, architectures[k]);
  return result;
}

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
    try {
      image_ = Compile(*libraries_, source_, options_);
    } catch (const NativeError& error) {
      error_ = std::make_unique<NativeError>(error);
    }
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
  std::unique_ptr<NativeError> error_;
};

// compileKernels(libraries, source: string, options: string[]): Promise<Uint8Array> — a cubin, or PTX for a virtual
// architecture; needs no device
Napi::Value CompileKernels(const Napi::CallbackInfo& info) {
  std::vector<std::string> options;
  const auto list = info[2].As<Napi::Array>();
  for (std::uint32_t k = 0; k < list.Length(); k++) options.push_back(list.Get(k).ToString().Utf8Value());
  auto* worker = new CompileWorker(info.Env(), Shown<Libraries>(info[0]), info[1].ToString().Utf8Value(), options);
  const Napi::Promise promise = worker->promise();
  worker->Queue();
  return promise;
}

// CUresult cuModuleLoadData(CUmodule* module, const void* image)
// loadModule(session, image: Uint8Array): KernelModule
Napi::Value LoadModule(const Napi::CallbackInfo& info) {
  Arguments args(info);
  const HostArray image = args.Array();
  // A PTX image is read up to its terminating zero.
  auto bytes = std::make_shared<std::vector<char>>(image.data, image.data + image.bytes);
  bytes->push_back(0);
  auto module = std::make_shared<KernelModule>();
  args.Enqueue([=](Worker& worker, Batch&) {
    CheckDriver(worker.libraries, worker.libraries.driver.cuModuleLoadData(&module->module, bytes->data()),
                "cuModuleLoadData");
    worker.modules.push_back(module->module);
  });
  return Show(args.env(), std::move(module));
}

// CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name)
// kernel(session, module: KernelModule, name: string, signature: string, isDouble: boolean): Kernel
Napi::Value MakeKernel(const Napi::CallbackInfo& info) {
  Arguments args(info);
  auto kernel = std::make_shared<Kernel>();
  kernel->module = args.Object<KernelModule>();
  kernel->name = args.Text();
  kernel->signature = args.Text();
  kernel->is_double = args.Boolean();
  args.Enqueue([=](Worker& worker, Batch&) {
    CheckDriver(worker.libraries,
                worker.libraries.driver.cuModuleGetFunction(&kernel->function, kernel->module->module,
                                                            kernel->name.c_str()),
                "cuModuleGetFunction");
  });
  return Show(args.env(), std::move(kernel));
}

/// The value of one kernel parameter, as the driver wants to find it.
union Parameter {
  void* pointer;
  long long count;
  double real;
  float single;
};

// CUresult cuLaunchKernel(CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
//                         unsigned blockY, unsigned blockZ, unsigned sharedBytes, CUstream stream, void** parameters,
//                         void** extra)
// launch(session, kernel: Kernel, blocks: number, threads: number, ...parameters): void — as the signature says; a `v` is
// two parameters, a buffer or null and the byte in it
Napi::Value Launch(const Napi::CallbackInfo& info) {
  Arguments args(info);
  const auto kernel = args.Object<Kernel>();
  const unsigned blocks = static_cast<unsigned>(args.Long());
  const unsigned threads = static_cast<unsigned>(args.Long());
  std::vector<Parameter> values(kernel->signature.size());
  std::vector<BufferRef> buffers(values.size());
  std::vector<std::size_t> offsets(values.size());
  for (std::size_t k = 0; k < values.size(); k++) {
    switch (kernel->signature[k]) {
      case 'i':
        buffers[k] = args.Read();
        break;
      case 'I':
        buffers[k] = args.OptionalRead();
        break;
      case 'o':
        buffers[k] = args.Write();
        break;
      case 'u':
        buffers[k] = args.Write();
        args.session().pending().reads.push_back(buffers[k]);
        break;
      case 'n':
        values[k].count = args.Long();
        break;
      case 'v':
        buffers[k] = args.OptionalRead();
        offsets[k] = args.Size();
        break;
      default: {
        const double value = args.Double();
        if (kernel->is_double) {
          values[k].real = value;
        } else {
          values[k].single = static_cast<float>(value);
        }
      }
    }
  }
  args.Enqueue([=](Worker& worker, Batch&) mutable {
    std::vector<void*> addresses(values.size());
    for (std::size_t k = 0; k < values.size(); k++) {
      const char letter = kernel->signature[k];
      if (letter != 'n' && letter != 's') values[k].pointer = buffers[k] ? buffers[k]->at(offsets[k]) : nullptr;
      addresses[k] = &values[k];
    }
    CheckDriver(worker.libraries,
                worker.libraries.driver.cuLaunchKernel(kernel->function, blocks, 1, 1, threads, 1, 1, 0, worker.stream,
                                                       addresses.data(), nullptr),
                ("cuLaunchKernel of " + kernel->name).c_str());
  });
  return args.env().Undefined();
}

}  // namespace

void InitKernels(Napi::Object exports) {
  Export<KernelSource>(exports, "kernelSource");
  Export<SupportedArchitectures>(exports, "supportedArchitectures");
  Export<CompileKernels>(exports, "compileKernels");
  Export<LoadModule>(exports, "loadModule");
  Export<MakeKernel>(exports, "kernel");
  Export<Launch>(exports, "launch");
}

}  // namespace cudnn_rnn
