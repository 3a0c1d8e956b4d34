#pragma once

#include <cmath>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

// A test program is a list of TEST bodies and RunTests() as its main.

namespace check {

struct Test {
  const char* name;
  void (*body)();
};
inline std::vector<Test>& Tests() {
  static std::vector<Test> tests;
  return tests;
}
inline int& Failures() {
  static int failures = 0;
  return failures;
}

struct Register {
  Register(const char* name, void (*body)()) { Tests().push_back({name, body}); }
};

template <class A, class B>
void Equal(const A& actual, const B& expected, const char* expression, const char* file, int line) {
  if (actual == expected) return;
  std::ostringstream text;
  text << file << ":" << line << ": " << expression << " is " << actual << ", not " << expected;
  std::printf("    %s\n", text.str().c_str());
  ++Failures();
}

inline void Near(double actual, double expected, double relative, const char* expression, const char* file, int line) {
  if (std::abs(actual - expected) <= relative * std::max(std::abs(expected), 1e-30)) return;
  std::printf("    %s:%d: %s is %.9g, not %.9g\n", file, line, expression, actual, expected);
  ++Failures();
}

inline int RunTests() {
  int failed = 0;
  for (const Test& test : Tests()) {
    Failures() = 0;
    test.body();
    std::printf("%s %s\n", Failures() == 0 ? "ok  " : "FAIL", test.name);
    std::fflush(stdout);
    failed += Failures() > 0;
  }
  std::printf("%zu tests, %d failed\n", Tests().size(), failed);
  return failed == 0 ? 0 : 1;
}

}  // namespace check

#define TEST(id, name)                                  \
  static void id();                                     \
  static const check::Register register_##id(name, id); \
  static void id()
#define CHECK_EQUAL(actual, expected) check::Equal(actual, expected, #actual, __FILE__, __LINE__)
#define CHECK_NEAR(actual, expected, relative) check::Near(actual, expected, relative, #actual, __FILE__, __LINE__)
#define CHECK(condition) check::Equal(static_cast<bool>(condition), true, #condition, __FILE__, __LINE__)
