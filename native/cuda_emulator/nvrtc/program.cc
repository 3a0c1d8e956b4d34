#include <algorithm>
#include <csignal>
#include <cstring>
#include <map>
#include <optional>
#include <string>

#include "abi/nvrtc.h"
#include "core/live_objects.h"
#include "nvrtc/host_compiler.h"
#include "nvrtc/kernel_source.h"
#include "nvrtc/result.h"

using namespace emulator;

namespace {

struct Program {
  std::string source;
  std::vector<std::string> expressions;
  std::map<std::string, std::string> lowered;
  std::string architecture;  ///< sm_90 (a cubin comes out) or compute_90 (PTX only)
  bool compiled = false;
  std::string log;
  std::string image;
};

LiveObjects<nvrtcProgram, Program>& Programs() {
  static auto* programs = new LiveObjects<nvrtcProgram, Program>("nvrtc programs");  // never destroyed
  return *programs;
}

bool StartsWith(const std::string& text, const std::string& start) { return text.rfind(start, 0) == 0; }

// NVRTC's options in the host compiler's words; nothing for an option that NVRTC does not have.
std::optional<std::vector<std::string>> HostOptions(Program& program, int count, const char* const* options) {
  std::vector<std::string> host;
  for (int i = 0; i < count; ++i) {
    std::string option = options[i];
    const auto value_of = [&](const std::string& name) -> std::optional<std::string> {
      if (StartsWith(option, name + "=")) return option.substr(name.size() + 1);
      if (option == name && i + 1 < count) return options[++i];
      return std::nullopt;
    };
    if (auto architecture = value_of("--gpu-architecture"); architecture || (architecture = value_of("-arch"))) {
      program.architecture = *architecture;
    } else if (auto define = value_of("--define-macro")) {
      host.push_back("-D" + *define);
    } else if (StartsWith(option, "-D") || StartsWith(option, "-U")) {
      host.push_back(option);
    } else if (StartsWith(option, "--include-path=") || StartsWith(option, "-I")) {
      host.push_back(StartsWith(option, "-I") ? option : "-I" + option.substr(15));
    } else if (option == "--use_fast_math" || option == "-use_fast_math") {
      host.push_back("-D__USE_FAST_MATH__");  // the host's own fast mathematics would break NaN, which CUDA's does not
    } else if (option == "-default-device" || option == "--device-as-default-execution-space" ||
               option == "-lineinfo" || option == "--generate-line-info" || StartsWith(option, "--std=") ||
               StartsWith(option, "-std=") || StartsWith(option, "--fmad=") || StartsWith(option, "-fmad=") ||
               StartsWith(option, "--maxrregcount=") || option == "-w" || option == "--disable-warnings" ||
               StartsWith(option, "--extra-device-vectorization") || StartsWith(option, "--split-compile=")) {
      continue;
    } else {
      program.log = "nvrtc: error: unrecognized option " + option + " found";
      return std::nullopt;
    }
  }
  // Kernels read the architecture from __CUDA_ARCH__.
  const std::size_t digits = program.architecture.find('_');
  const int number = digits == std::string::npos ? 75 : std::atoi(program.architecture.c_str() + digits + 1);
  host.push_back("-D__CUDACC__=1");
  host.push_back("-D__CUDACC_RTC__=1");
  host.push_back("-D__CUDA_ARCH__=" + std::to_string(number * 10));
  return host;
}

nvrtcResult Copy(const std::string& from, char* to) {
  std::memcpy(to, from.data(), from.size());
  return NVRTC_SUCCESS;
}

/// NVRTC handles these signals itself while it compiles, and gives them back by signal(), which drops the flags of a handler.
class OwnSignals {
 public:
  OwnSignals() {
    for (std::size_t k = 0; k < std::size(kSignals); ++k) before_[k] = std::signal(kSignals[k], [](int) {});
  }
  ~OwnSignals() {
    for (std::size_t k = 0; k < std::size(kSignals); ++k) std::signal(kSignals[k], before_[k]);
  }
  OwnSignals(const OwnSignals&) = delete;
  OwnSignals& operator=(const OwnSignals&) = delete;

 private:
  static constexpr int kSignals[] = {SIGINT, SIGTERM};
  void (*before_[std::size(kSignals)])(int);
};

constexpr int kArchitectures[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};

}  // namespace

const char* nvrtcGetErrorString(nvrtcResult result) {
  switch (result) {
    case NVRTC_SUCCESS: return "NVRTC_SUCCESS";
    case NVRTC_ERROR_OUT_OF_MEMORY: return "NVRTC_ERROR_OUT_OF_MEMORY";
    case NVRTC_ERROR_INVALID_INPUT: return "NVRTC_ERROR_INVALID_INPUT";
    case NVRTC_ERROR_INVALID_PROGRAM: return "NVRTC_ERROR_INVALID_PROGRAM";
    case NVRTC_ERROR_INVALID_OPTION: return "NVRTC_ERROR_INVALID_OPTION";
    case NVRTC_ERROR_COMPILATION: return "NVRTC_ERROR_COMPILATION";
    case NVRTC_ERROR_BUILTIN_OPERATION_FAILURE: return "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE";
    case NVRTC_ERROR_INTERNAL_ERROR: return "NVRTC_ERROR_INTERNAL_ERROR";
    default: return "NVRTC_ERROR unknown";
  }
}

nvrtcResult nvrtcVersion(int* major, int* minor) {
  *major = EMULATOR_CUDA_MAJOR;
  *minor = 0;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetNumSupportedArchs(int* count) {
  *count = static_cast<int>(std::size(kArchitectures));
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetSupportedArchs(int* archs) {
  std::copy(std::begin(kArchitectures), std::end(kArchitectures), archs);
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* source, const char*, int headerCount,
                               const char* const*, const char* const*) {
  EMULATOR_ENTER(kNvrtc);
  if (program == nullptr || source == nullptr || headerCount != 0) return NVRTC_ERROR_INVALID_INPUT;
  auto made = std::make_shared<Program>();
  made->source = source;
  *program = Programs().Add(std::move(made));
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  EMULATOR_ENTER(kNvrtc);
  if (program == nullptr || Programs().Remove(*program) == nullptr) return NVRTC_ERROR_INVALID_PROGRAM;
  *program = nullptr;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram handle, int optionCount, const char* const* options) {
  EMULATOR_ENTER(kNvrtc);
  const auto program = Programs().Find(handle);
  if (program == nullptr) return NVRTC_ERROR_INVALID_PROGRAM;
  program->architecture = "compute_75";
  const auto host_options = HostOptions(*program, optionCount, options);
  if (!host_options) return NVRTC_ERROR_INVALID_OPTION;
  const std::size_t digits = program->architecture.find('_');
  const int number = digits == std::string::npos ? 0 : std::atoi(program->architecture.c_str() + digits + 1);
  if (std::find(std::begin(kArchitectures), std::end(kArchitectures), number) == std::end(kArchitectures)) {
    program->log = "nvrtc: error: invalid value for --gpu-architecture (-arch)";
    return NVRTC_ERROR_INVALID_OPTION;
  }
  std::string source = HostSource(program->source, program->expressions);
  // The module contains its target architecture, and loading it on an older device fails.
  source += "extern \"C\" __attribute__((visibility(\"default\"))) const int emulator_architecture = " +
            std::to_string(number * 10) + ";\n";
  if (StartsWith(program->architecture, "compute_")) {
    source += "extern \"C\" __attribute__((visibility(\"default\"))) const int emulator_is_ptx = 1;\n";
  }
  const OwnSignals signals;
  Compilation compilation = CompileOnHost(source, *host_options);
  program->log = std::move(compilation.log);
  if (!compilation.succeeded) return NVRTC_ERROR_COMPILATION;
  program->image = std::move(compilation.library);
  program->compiled = true;
  for (std::size_t i = 0; i < program->expressions.size(); ++i) {
    program->lowered[program->expressions[i]] = "expression_" + std::to_string(i);
  }
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetPTXSize(nvrtcProgram handle, size_t* bytes) {
  EMULATOR_ENTER(kNvrtc);
  const auto program = Programs().Find(handle);
  if (program == nullptr || !program->compiled) return NVRTC_ERROR_INVALID_PROGRAM;
  *bytes = program->image.size();
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetPTX(nvrtcProgram handle, char* ptx) {
  EMULATOR_ENTER(kNvrtc);
  const auto program = Programs().Find(handle);
  if (program == nullptr || !program->compiled) return NVRTC_ERROR_INVALID_PROGRAM;
  return Copy(program->image, ptx);
}

// A cubin exists only for a real architecture, sm_XX.
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram handle, size_t* bytes) {
  EMULATOR_ENTER(kNvrtc);
  const auto program = Programs().Find(handle);
  if (program == nullptr || !program->compiled) return NVRTC_ERROR_INVALID_PROGRAM;
  *bytes = StartsWith(program->architecture, "sm_") ? program->image.size() : 0;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetCUBIN(nvrtcProgram handle, char* cubin) {
  EMULATOR_ENTER(kNvrtc);
  const auto program = Programs().Find(handle);
  if (program == nullptr || !program->compiled) return NVRTC_ERROR_INVALID_PROGRAM;
  return StartsWith(program->architecture, "sm_") ? Copy(program->image, cubin) : NVRTC_ERROR_INVALID_PROGRAM;
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram handle, size_t* bytes) {
  EMULATOR_ENTER(kNvrtc);
  const auto program = Programs().Find(handle);
  if (program == nullptr) return NVRTC_ERROR_INVALID_PROGRAM;
  *bytes = program->log.size() + 1;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram handle, char* log) {
  EMULATOR_ENTER(kNvrtc);
  const auto program = Programs().Find(handle);
  if (program == nullptr) return NVRTC_ERROR_INVALID_PROGRAM;
  return Copy(program->log + '\0', log);
}

nvrtcResult nvrtcAddNameExpression(nvrtcProgram handle, const char* expression) {
  EMULATOR_ENTER(kNvrtc);
  const auto program = Programs().Find(handle);
  if (program == nullptr) return NVRTC_ERROR_INVALID_PROGRAM;
  program->expressions.emplace_back(expression);
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetLoweredName(nvrtcProgram handle, const char* expression, const char** lowered) {
  EMULATOR_ENTER(kNvrtc);
  const auto program = Programs().Find(handle);
  if (program == nullptr) return NVRTC_ERROR_INVALID_PROGRAM;
  if (!program->compiled) return NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION;
  const auto found = program->lowered.find(expression);
  if (found == program->lowered.end()) return NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID;
  *lowered = found->second.c_str();
  return NVRTC_SUCCESS;
}
