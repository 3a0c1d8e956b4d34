#include "nvrtc/kernel_source.h"

#include <regex>

// The two headers travel inside the library: kernels compile wherever it is.
asm(R"(
  .section .rodata
  .global emulator_kernel_abi_text
  .hidden emulator_kernel_abi_text
emulator_kernel_abi_text:
  .incbin ")" EMULATOR_SOURCE_DIR R"(/nvrtc/kernel_abi.h"
  .byte 0
  .global emulator_kernel_prelude_text
  .hidden emulator_kernel_prelude_text
emulator_kernel_prelude_text:
  .incbin ")" EMULATOR_SOURCE_DIR R"(/nvrtc/kernel_prelude.h"
  .byte 0
  .previous
)");
extern "C" const char emulator_kernel_abi_text[];
extern "C" const char emulator_kernel_prelude_text[];

namespace emulator {

std::string HostSource(const std::string& cuda, const std::vector<std::string>& name_expressions) {
  static const std::regex dynamic_shared(R"(extern\s+__shared__\s+([\w\s]+?)\s*(\w+)\s*\[\s*\])");
  static const std::regex kernel(
      R"(extern\s+"C"\s+__global__\s+(?:__launch_bounds__\s*\([^)]*\)\s+)?void\s+(?:__launch_bounds__\s*\([^)]*\)\s+)?(\w+)\s*\()");
  std::string source = std::string(emulator_kernel_abi_text) + emulator_kernel_prelude_text + "#line 1 \"kernel.cu\"\n";
  source += std::regex_replace(cuda, dynamic_shared, "$1* const $2 = static_cast<$1*>(emulator_thread.dynamic_shared)");
  source += '\n';
  for (std::sregex_iterator match(cuda.begin(), cuda.end(), kernel), end; match != end; ++match) {
    source += "EMULATOR_KERNEL(" + (*match)[1].str() + ", " + (*match)[1].str() + ")\n";
  }
  for (std::size_t i = 0; i < name_expressions.size(); ++i) {
    const std::string alias = "emulator_expression_" + std::to_string(i);
    std::string expression = name_expressions[i];
    if (expression.front() == '&') expression.erase(0, 1);
    source += "constexpr auto " + alias + " = &" + expression + ";\n";
    source += "EMULATOR_EXPRESSION(expression_" + std::to_string(i) + ", " + alias + ")\n";
  }
  return source;
}

}  // namespace emulator
