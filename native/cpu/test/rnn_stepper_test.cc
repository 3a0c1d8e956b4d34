#include "passes/rnn_stepper.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

#include "test_values.h"
#include "tested_kernels.h"
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

constexpr ptrdiff_t kStepperBatch = 3;
constexpr ptrdiff_t kStepperUnits = 200;
constexpr ptrdiff_t kStepperInputs = 64;

Network<float> TwoLayers(const Kernels& kernels) {
  return NetworkFor<float>(kernels,
                           {Cell::kLstm, 2, 1, kStepperUnits, kStepperInputs, 0, false, true, true, INFINITY, 0, 0});
}

TEST_CASE("Stepper allocates nothing from its second step on") {
  for (const int threads : {1, 2}) {
    ThreadPool pool(threads);
    BlockCache blocks;
    const Engine<float> engine{&pool, &SupportedKernels()[0]->f32, &blocks, nullptr};
    const Network<float> network = TwoLayers(*SupportedKernels()[0]);
    const std::vector<float> params(network.params_size());
    const QuantizedWeights int8(network, params.data(), WeightFormat::kInt8);
    for (const QuantizedWeights* quantized : {static_cast<const QuantizedWeights*>(nullptr), &int8}) {
      Stepper<float> stepper(network, kStepperBatch, engine,
                             quantized == nullptr ? WeightFormat::kNative : WeightFormat::kInt8);
      const std::vector<float> input = Sine<float>(kStepperBatch * kStepperInputs, 0.1);
      std::vector<float> output(kStepperBatch * kStepperUnits);
      // The first step starts the pool's threads.
      stepper.Run(engine, {params.data(), quantized}, input.data(), output.data(), 1);
      const int before = allocations;
      for (int step = 0; step < 20; step++) {
        stepper.Run(engine, {params.data(), quantized}, input.data(), output.data(), 1);
      }
      CHECK(allocations == before);
    }
  }
}

TEST_CASE("Stepper computes T single steps as one run of T steps, and restores a moved state") {
  constexpr ptrdiff_t kSteps = 5;
  for (const Kernels* kernels : TestedKernels()) {
    ThreadPool pool(1);
    BlockCache blocks;
    const Engine<float> engine{&pool, &kernels->f32, &blocks, nullptr};
    const Network<float> network = TwoLayers(*kernels);
    const std::vector<float> params = SineParams(network);
    const std::vector<float> input = Sine<float>(kSteps * kStepperBatch * kStepperInputs, 0.1);
    std::vector<float> at_once(kSteps * kStepperBatch * kStepperUnits), single(at_once.size());
    Stepper<float> whole(network, kStepperBatch, engine, WeightFormat::kNative);
    whole.Run(engine, {params.data()}, input.data(), at_once.data(), kSteps);

    Stepper<float> stepped(network, kStepperBatch, engine, WeightFormat::kNative);
    std::vector<float> h(2 * kStepperBatch * kStepperUnits), c(h.size());
    for (ptrdiff_t t = 0; t < kSteps; t++) {
      stepped.Run(engine, {params.data()}, input.data() + t * kStepperBatch * kStepperInputs,
                  single.data() + t * kStepperBatch * kStepperUnits, 1);
      // Out, cleared, and in again.
      stepped.states().Move(h.data(), c.data(), false, {nullptr, 0, kStepperBatch});
      for (ptrdiff_t row = 0; row < kStepperBatch; row++) stepped.states().ResetRow(row);
      stepped.states().Move(h.data(), c.data(), true, {nullptr, 0, kStepperBatch});
    }
    CHECK(single == at_once);
  }
}

// Units and inputs that fill no chunk, as their rest is where a kernel reads too far.
TEST_CASE("Stepper takes one row through gated layers by the row kernel as by the products of panels") {
  struct Shape {
    Cell cell;
    ptrdiff_t projection;
    bool input_bias;
    bool recurrent_bias;
    double clip;
  };
  constexpr ptrdiff_t kOddUnits = 37;
  constexpr ptrdiff_t kOddInputs = 11;
  for (const Kernels* kernels : TestedKernels()) {
    if (kernels->f32.Of(Cell::kLstm).row_step == nullptr) continue;
    KernelTable<float> general = kernels->f32;
    for (CellKernels<float>& cell : general.cells) cell.row_step = nullptr;
    for (const auto& [cell, projection, input_bias, recurrent_bias, clip] :
         {Shape{Cell::kLstm, 0, true, true, 0.1}, Shape{Cell::kLstm, 9, true, false, INFINITY},
          Shape{Cell::kGru, 0, true, true, INFINITY}, Shape{Cell::kGru, 0, false, true, INFINITY},
          Shape{Cell::kGru, 0, false, false, INFINITY}}) {
      for (const int threads : {1, 2}) {
        ThreadPool pool(threads);
        BlockCache blocks;
        const Network<float> network = NetworkFor<float>(
            *kernels, {cell, 2, 1, kOddUnits, kOddInputs, projection, false, input_bias, recurrent_bias, clip, 0, 0});
        const std::vector<float> params = SineParams(network);
        const std::vector<float> input = Sine<float>(4 * kOddInputs, 0.3);
        std::vector<float> outputs[2], states[2];
        for (int way = 0; way < 2; way++) {
          const Engine<float> engine{&pool, way == 0 ? &general : &kernels->f32, &blocks, nullptr};
          Stepper<float> stepper(network, 1, engine, WeightFormat::kNative);
          outputs[way].resize(4 * network.columns());
          stepper.Run(engine, {params.data()}, input.data(), outputs[way].data(), 4);
          states[way].resize(2 * (network.columns() + kOddUnits));
          float* c = states[way].data() + 2 * network.columns();
          stepper.states().Move(states[way].data(), cell == Cell::kLstm ? c : nullptr, false, {nullptr, 0, 1});
        }
        for (const auto* values : {&outputs[0], &states[0]}) {
          const auto& other = values == &outputs[0] ? outputs[1] : states[1];
          float error = 0, largest = 0;
          for (size_t k = 0; k < values->size(); k++) {
            error = std::max(error, std::fabs((*values)[k] - other[k]));
            largest = std::max(largest, std::fabs(other[k]));
          }
          CHECK(error < 1e-6f);
          CHECK(largest > 1e-3f);
        }
      }
    }
  }
}

TEST_CASE("Stepper takes one row by quantized weights as it takes one of two rows") {
  constexpr ptrdiff_t kOddUnits = 37;
  constexpr ptrdiff_t kOddInputs = 11;
  constexpr ptrdiff_t kSteps = 4;
  for (const Kernels* kernels : ReducedKernels()) {
    for (const auto& [cell, projection] : {std::pair{Cell::kLstm, 0}, {Cell::kLstm, 9}, {Cell::kGru, 0}}) {
      const Network<float> network = NetworkFor<float>(
          *kernels, {cell, 2, 1, kOddUnits, kOddInputs, projection, false, true, cell == Cell::kGru, 0.5, 0, 0});
      const std::vector<float> params = SineParams(network);
      for (const WeightFormat format : {WeightFormat::kInt8, WeightFormat::kBfloat16, WeightFormat::kBfloat16Products,
                                        WeightFormat::kInt8Products}) {
        const QuantizedWeights quantized(network, params.data(), format);
        for (const int threads : {1, 2}) {
          ThreadPool pool(threads);
          BlockCache blocks;
          const Engine<float> engine{&pool, &kernels->f32, &blocks, nullptr};
          std::vector<float> outputs[2];
          for (const ptrdiff_t batch : {1, 2}) {
            const std::vector<float> row = Sine<float>(kSteps * kOddInputs, 0.3);
            std::vector<float> input;
            for (ptrdiff_t t = 0; t < kSteps; t++) {
              for (ptrdiff_t b = 0; b < batch; b++) {
                input.insert(input.end(), row.begin() + t * kOddInputs, row.begin() + (t + 1) * kOddInputs);
              }
            }
            Stepper<float> stepper(network, batch, engine, format);
            std::vector<float> output(kSteps * batch * network.columns());
            stepper.Run(engine, {params.data(), &quantized}, input.data(), output.data(), kSteps);
            for (ptrdiff_t t = 0; t < kSteps; t++) {
              const auto begin = output.begin() + t * batch * network.columns();
              outputs[batch - 1].insert(outputs[batch - 1].end(), begin, begin + network.columns());
            }
          }
          float error = 0, largest = 0;
          for (size_t k = 0; k < outputs[0].size(); k++) {
            error = std::max(error, std::fabs(outputs[0][k] - outputs[1][k]));
            largest = std::max(largest, std::fabs(outputs[1][k]));
          }
          CHECK(error < 1e-6f);
          CHECK(largest > 1e-3f);
        }
      }
    }
  }
}

TEST_CASE("Stepper steps rows in blocks of any size as streams of one row, and leaves the others as they are") {
  constexpr ptrdiff_t kRows = 300;
  const Network<float> network = TwoLayers(*SupportedKernels()[0]);
  const std::vector<float> params = SineParams(network);
  const QuantizedWeights int8(network, params.data(), WeightFormat::kInt8);
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    BlockCache blocks;
    const Engine<float> engine{&pool, &SupportedKernels()[0]->f32, &blocks, nullptr};
    for (const QuantizedWeights* quantized : {static_cast<const QuantizedWeights*>(nullptr), &int8}) {
      const Params<float> weights{params.data(), quantized};
      Stepper<float> stepper(network, kRows, engine,
                             quantized == nullptr ? WeightFormat::kNative : WeightFormat::kInt8);
      std::vector<float> untouched(2 * kStepperUnits), untouched_c(2 * kStepperUnits);
      const bool is_odd = (threads > 1) != (quantized != nullptr);
      for (const ptrdiff_t count : {1, 20, 70, 299}) {
        if (!TestsEverything() && (count == 20 || count == 299) != is_odd) continue;
        std::vector<int32_t> rows;
        for (ptrdiff_t k = 0; k < count; k++) rows.push_back(static_cast<int32_t>((k * 7 + 1) % kRows));
        const std::vector<float> input = Sine<float>(count * kStepperInputs, 0.1);
        std::vector<float> output(count * kStepperUnits), expected(kStepperUnits), h(2 * kStepperUnits),
            c(2 * kStepperUnits);
        const int32_t last = rows.back();
        Stepper<float> alone(network, 1, engine, quantized == nullptr ? WeightFormat::kNative : WeightFormat::kInt8);
        stepper.states().Move(h.data(), c.data(), false, {&last, 0, 1});
        alone.states().Move(h.data(), c.data(), true, {nullptr, 0, 1});
        stepper.RunRows(engine, weights, rows.data(), count, input.data(), output.data());
        alone.Run(engine, weights, input.data() + (count - 1) * kStepperInputs, expected.data(), 1);
        float error = 0;
        for (ptrdiff_t k = 0; k < kStepperUnits; k++) {
          error = std::max(error, std::fabs(output[(count - 1) * kStepperUnits + k] - expected[k]));
        }
        CHECK(error < 1e-6f);
        const int32_t never = 0;  // 7 k + 1 reaches it at k = 257 of 299 rows only
        if (count == 299) continue;
        stepper.states().Move(untouched.data(), untouched_c.data(), false, {&never, 0, 1});
        CHECK(untouched == std::vector<float>(2 * kStepperUnits));
        CHECK(untouched_c == std::vector<float>(2 * kStepperUnits));
      }
    }
  }
}

}  // namespace
}  // namespace cudnn_rnn
