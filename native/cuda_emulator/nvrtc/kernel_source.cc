#include "nvrtc/kernel_source.h"

#include <regex.h>

#include <array>
#include <cstddef>
#include <stdexcept>

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
namespace {

/// An extended regular expression. <regex.h>, as g++ compiles std::regex for two seconds.
class Pattern {
 public:
  using Match = std::array<regmatch_t, 6>;

  explicit Pattern(const std::string& text) {
    if (regcomp(&compiled_, text.c_str(), REG_EXTENDED) != 0) throw std::invalid_argument(text);
  }
  ~Pattern() { regfree(&compiled_); }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  /// The first match in `text`, whose offsets count from there.
  bool Find(const char* text, Match& match) const {
    return regexec(&compiled_, text, match.size(), match.data(), 0) == 0;
  }

 private:
  regex_t compiled_;
};

std::string Part(const char* text, regmatch_t part) {
  return {text + part.rm_so, static_cast<std::size_t>(part.rm_eo - part.rm_so)};
}

// `extern __shared__ <type> <name>[]` becomes a pointer to the shared memory of the block.
std::string WithSharedPointers(const std::string& cuda) {
  static const Pattern dynamic_shared(
      "extern[[:space:]]+__shared__[[:space:]]+([[:alnum:]_][[:alnum:]_[:space:]]*)[[:space:]]([[:alnum:]_]+)"
      "[[:space:]]*\\[[[:space:]]*\\]");
  std::string source;
  Pattern::Match match;
  const char* rest = cuda.c_str();
  for (; dynamic_shared.Find(rest, match); rest += match[0].rm_eo) {
    const std::string type = Part(rest, match[1]);
    source.append(rest, static_cast<std::size_t>(match[0].rm_so));
    source += type + "* const " + Part(rest, match[2]) + " = static_cast<" + type +
              "*>(emulator_thread.dynamic_shared)";
  }
  return source + rest;
}

}  // namespace

std::string HostSource(const std::string& cuda, const std::vector<std::string>& name_expressions) {
  static const std::string bounds = "(__launch_bounds__[[:space:]]*\\([^)]*\\)[[:space:]]+)?";
  // __cluster_dims__, or a macro that may be empty.
  static const std::string cluster = "((IN_[[:upper:]]+|__cluster_dims__[[:space:]]*\\([^)]*\\))[[:space:]]+)?";
  static const Pattern kernel("extern[[:space:]]+\"C\"[[:space:]]+__global__[[:space:]]+" + bounds +
                              "void[[:space:]]+" + cluster + bounds + "([[:alnum:]_]+)[[:space:]]*\\(");
  std::string source = std::string(emulator_kernel_abi_text) + emulator_kernel_prelude_text + "#line 1 \"kernel.cu\"\n";
  source += WithSharedPointers(cuda) + "\n#undef __cluster_dims__\n#define __cluster_dims__(x, y, z) x, y, z\n";
  Pattern::Match match;
  for (const char* rest = cuda.c_str(); kernel.Find(rest, match); rest += match[0].rm_eo) {
    const std::string name = Part(rest, match[5]);
    const std::string dimensions = match[3].rm_so < 0 ? "" : Part(rest, match[3]);
    source += "EMULATOR_KERNEL(" + name + ", " + name + ", " + dimensions + ")\n";
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
