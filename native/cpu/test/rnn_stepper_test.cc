#include "passes/rnn_stepper.h"

#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <new>
#include <vector>

#include "test_values.h"
#include "weights/quantized_weights.h"

namespace {
std::atomic<int> allocations{0};
}

// Replaced for the whole program, to count.
void* operator new(size_t bytes) {
  allocations++;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace cudnn_rnn {
namespace {

constexpr ptrdiff_t kBatch = 3;
constexpr ptrdiff_t kUnits = 200;
constexpr ptrdiff_t kInputs = 64;

Network<float> TwoLayers() {
  return Network<float>({Cell::kLstm, 2, 1, kUnits, kInputs, 0, false, true, true, INFINITY, 0, 0});
}

TEST_CASE("Stepper allocates nothing from its second step on") {
  for (const int threads : {1, 2}) {
    ThreadPool pool(threads);
    BlockCache blocks;
    const Engine<float> engine{&pool, &SupportedKernels()[0]->f32, &blocks, nullptr};
    const Network<float> network = TwoLayers();
    const std::vector<float> params(network.params_size());
    const QuantizedWeights int8(network, params.data(), WeightFormat::kInt8);
    for (const QuantizedWeights* quantized : {static_cast<const QuantizedWeights*>(nullptr), &int8}) {
      Stepper<float> stepper(network, kBatch, engine, quantized != nullptr);
      const std::vector<float> input = Sine<float>(kBatch * kInputs, 0.1);
      std::vector<float> output(kBatch * kUnits);
      // The first step starts the pool's threads.
      stepper.Run(engine, {params.data(), quantized}, input.data(), output.data(), 1);
      const int before = allocations;
      for (int step = 0; step < 100; step++) {
        stepper.Run(engine, {params.data(), quantized}, input.data(), output.data(), 1);
      }
      CHECK(allocations == before);
    }
  }
}

TEST_CASE("Stepper computes T single steps as one run of T steps, and restores a moved state") {
  constexpr ptrdiff_t kSteps = 5;
  for (const Kernels* kernels : SupportedKernels()) {
    ThreadPool pool(1);
    BlockCache blocks;
    const Engine<float> engine{&pool, &kernels->f32, &blocks, nullptr};
    const Network<float> network = TwoLayers();
    const std::vector<float> params = SineParams(network);
    const std::vector<float> input = Sine<float>(kSteps * kBatch * kInputs, 0.1);
    std::vector<float> at_once(kSteps * kBatch * kUnits), single(at_once.size());
    Stepper<float> whole(network, kBatch, engine, false);
    whole.Run(engine, {params.data()}, input.data(), at_once.data(), kSteps);

    Stepper<float> stepped(network, kBatch, engine, false);
    std::vector<float> h(2 * kBatch * kUnits), c(h.size());
    for (ptrdiff_t t = 0; t < kSteps; t++) {
      stepped.Run(engine, {params.data()}, input.data() + t * kBatch * kInputs, single.data() + t * kBatch * kUnits, 1);
      // Out, cleared, and in again.
      stepped.MoveState(h.data(), c.data(), false);
      for (ptrdiff_t row = 0; row < kBatch; row++) stepped.ResetRow(row);
      stepped.MoveState(h.data(), c.data(), true);
    }
    CHECK(single == at_once);
  }
}

}  // namespace
}  // namespace cudnn_rnn
