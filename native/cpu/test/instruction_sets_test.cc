#include "kernels/instruction_sets.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <string>

namespace cudnn_rnn {
namespace {

TEST_CASE("SupportedKernels are each there once, fastest first, and end with the portable ones") {
  const std::vector<const Kernels*> supported = SupportedKernels();
  REQUIRE(!supported.empty());
  CHECK(supported.back() == &kPortableKernels);
  // The order of INSTRUCTION_SETS in packages/cpu/src/instruction_set.ts, by which JavaScript names them.
  const std::vector<std::string> known{"avx512-vnni",    "avx512",       "avx2-vnni", "avx2",
                                       "neon-i8mm-bf16", "neon-dotprod", "neon",      "portable"};
  auto place = known.begin();
  std::string names;
  for (const Kernels* kernels : supported) {
    INFO(kernels->name);
    place = std::find(place, known.end(), kernels->name);
    REQUIRE(place != known.end());
    place++;
    names += std::string(names.empty() ? "" : ",") + kernels->name;
  }
  // scripts/testing/test_native.mjs names the sets of the processors that it emulates.
  if (const char* expected = std::getenv("CUDNN_RNN_EXPECTED_KERNELS")) CHECK(names == expected);
  for (size_t k = 1; k < supported.size(); k++) {
    CHECK(supported[k - 1]->f32.operations_per_ns >= supported[k]->f32.operations_per_ns);
  }
}

TEST_CASE("Kernels compute half as many operations of float64 in the time of float32, and quantize float32 alone") {
  for (const Kernels* kernels : SupportedKernels()) {
    INFO(kernels->name);
    CHECK(kernels->f64.operations_per_ns * 2 == kernels->f32.operations_per_ns);
    // Booleans, as doctest prints no pointers to functions.
    CHECK(bool{kernels->f32.product_bfloat16 != nullptr && kernels->f32.product_int8 != nullptr});
    CHECK(bool{kernels->f64.product_bfloat16 == nullptr && kernels->f64.product_int8 == nullptr});
  }
}

// The sizes of a softmax's rows reach kernels without padding to the widest vector: 16 float32, 8 float64.
TEST_CASE("KernelTable::exp_sum stores the exponentials less the offset, and returns their sum") {
  const double x[] = {0, -1, 2, -700, 2, 1.5, -0.5, 1, 0.25, -3, 2, 0, -2, -20, 1, 2};
  constexpr size_t kCount = sizeof x / sizeof x[0];
  double expected = 0;
  for (const double value : x) expected += std::exp(value - 2);
  for (const Kernels* kernels : SupportedKernels()) {
    INFO(kernels->name);
    double y[kCount];
    CHECK(kernels->f64.exp_sum(x, 2, y, kCount) == doctest::Approx(expected).epsilon(1e-14));
    for (size_t k = 0; k < kCount; k++) CHECK(y[k] == doctest::Approx(std::exp(x[k] - 2)).epsilon(1e-14));
    float narrow[kCount];
    std::copy(x, x + kCount, narrow);
    // In place: the logits become the exponentials.
    CHECK(kernels->f32.exp_sum(narrow, 2, narrow, kCount) == doctest::Approx(expected).epsilon(1e-6));
    CHECK(narrow[0] == doctest::Approx(std::exp(-2)).epsilon(1e-6));
    // e^-702 is below the range of float32, whose smallest normal number is 1.2e-38.
    CHECK(narrow[3] < 2e-38f);
    CHECK(narrow[15] == 1.0f);
  }
}

TEST_CASE("InverseRoot is 1/√x, infinite at 0") {
  CHECK(InverseRoot(0.25) == 2);
  CHECK(InverseRoot(1e-300) == doctest::Approx(1e150));
  CHECK(std::isinf(InverseRoot(0)));
}

}  // namespace
}  // namespace cudnn_rnn
