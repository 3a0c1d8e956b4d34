// Whole passes: independent of the number of threads, equal on all instruction sets. Their numbers against the
// reference: packages/cpu/test.
#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "network_regions.h"
#include "passes/rnn_pass.h"
#include "test_values.h"
#include "tested_kernels.h"
#include "weights/quantized_weights.h"

namespace cudnn_rnn {
namespace {

// Results of one training step.
template <typename T>
struct Results {
  std::vector<T> output, h, c, dx, dh, dc, dw;
};

struct PassCase {
  NetworkOptions options;
  ptrdiff_t time;
  ptrdiff_t batch;
  std::vector<int32_t> lengths;
};

// Every cell in one direction, and in both with lengths; sizes with odd tails; one row, few rows, and so many that a
// backward copies its matrices and computes layer by layer instead of in a wavefront.
std::vector<PassCase> PassCases() {
  std::vector<PassCase> cases;
  for (const Cell cell : {Cell::kLstm, Cell::kGru, Cell::kRelu, Cell::kTanh}) {
    for (const ptrdiff_t batch : {1, 5, 50}) {
      NetworkOptions options{cell, 2, 1, 37, 19, 0, false, true, true, INFINITY, 0.25, 7};
      cases.push_back({options, 7, batch, {}});
      options.directions = 2;
      if (cell == Cell::kLstm) options.projection = 21;
      std::vector<int32_t> lengths;
      while (static_cast<ptrdiff_t>(lengths.size()) < batch) lengths.insert(lengths.end(), {6, 0, 4, 7, 1});
      lengths.resize(batch);
      cases.push_back({options, 7, batch, lengths});
    }
  }
  // A wavefront of four layers, of which all run side by side in some stages, with lengths and projections.
  cases.push_back({{Cell::kLstm, 4, 1, 37, 19, 21, false, true, true, INFINITY, 0.25, 7}, 40, 3, {40, 0, 23}});
  cases.push_back({{Cell::kGru, 4, 1, 37, 19, 0, false, true, true, INFINITY, 0.25, 7}, 40, 3, {40, 0, 23}});
  return cases;
}

// Cases of more than two layers, and of the others those in which each pair of cell, batch and number of directions
// occurs.
std::vector<PassCase> CoveringPassCases() {
  const std::vector<PassCase> all = PassCases();
  if (TestsEverything()) return all;
  std::vector<PassCase> covering;
  for (const PassCase& each : all) {
    const bool many = each.batch > 5, both = each.options.directions == 2;
    const bool odd = each.options.cell == Cell::kGru || each.options.cell == Cell::kTanh;
    if (each.options.layers > 2 || (many != both) == odd) covering.push_back(each);
  }
  return covering;
}

// Parameters of `from` in the layout of `to`.
template <typename T>
std::vector<T> Moved(const Network<T>& from, std::vector<T> params, const Network<T>& to) {
  std::vector<T> moved(params.size());
  for (const Region& region : RegionsOf(from)) {
    std::vector<T> canonical(SizeOf(from, region));
    Move(from, region, params.data(), canonical.data(), false);
    Move(to, region, moved.data(), canonical.data(), true);
  }
  return moved;
}

// A training step whose forward has run, in the kernels' layout.
template <typename T>
struct TrainingStep {
  TrainingStep(const Kernels& kernels, int threads, const PassCase& each, bool rounds = false)
      : network(NetworkFor<T>(kernels, each.options)),
        pool(threads),
        engine(EngineOf<T>(&pool, &blocks, kernels)),
        params(SineParams(network)),
        input(Sine<T>(static_cast<size_t>(each.time * each.batch * each.options.input_size), 0.37)) {
    engine.rounds_products = rounds;
    const size_t states = static_cast<size_t>(network.pseudo_layers() * each.batch);
    results.output.resize(static_cast<size_t>(each.time * each.batch * network.output_size()));
    results.h.resize(states * network.columns());
    results.c.resize(states * each.options.units);
    tape.time = each.time;
    tape.batch = each.batch;
    tape.lengths = each.lengths;
    ForwardPass<T> forward{};
    forward.network = &network;
    forward.time = each.time;
    forward.batch = each.batch;
    forward.input = input.data();
    forward.params.data = params.data();
    forward.lengths = each.lengths.empty() ? nullptr : each.lengths.data();
    forward.output = results.output.data();
    forward.h_final = results.h.data();
    forward.c_final = results.c.data();
    forward.tape = &tape;
    RunForward(engine, forward);
  }

  void RunBackwardPass() {
    results.dx.resize(input.size());
    results.dh.resize(results.h.size());
    results.dc.resize(results.c.size());
    results.dw.resize(params.size());
    BackwardPass<T> backward{};
    backward.network = &network;
    backward.input = input.data();
    backward.params = params.data();
    backward.tape = &tape;
    backward.d_output = results.output.data();
    backward.d_input = results.dx.data();
    backward.dh = results.dh.data();
    backward.dc = results.dc.data();
    backward.d_params = results.dw.data();
    RunBackward(engine, backward);
  }

  Network<T> network;
  ThreadPool pool;
  BlockCache blocks;
  Engine<T> engine;
  std::vector<T> params, input;
  Tape<T> tape{};
  Results<T> results;
};

// The gradient of the parameters in the portable kernels' layout.
template <typename T>
Results<T> Train(const Kernels& kernels, int threads, const PassCase& each, bool rounds = false) {
  TrainingStep<T> step(kernels, threads, each, rounds);
  step.RunBackwardPass();
  step.results.dw = Moved(step.network, step.results.dw, NetworkFor<T>(kPortableKernels, each.options));
  return step.results;
}

// Inference on two threads, by weights of a format. Only LSTM writes c.
Results<float> InferFrom(const Kernels& kernels, const PassCase& each, const float* h, const std::vector<float>& params,
                         WeightFormat format = WeightFormat::kNative) {
  const Network<float> network = NetworkFor<float>(kernels, each.options);
  ThreadPool pool(2);
  BlockCache blocks;
  const auto& options = network.options();
  const size_t states = static_cast<size_t>(network.pseudo_layers() * each.batch);
  const std::vector<float> input = Sine<float>(static_cast<size_t>(each.time * each.batch * options.input_size), 0.37);
  Results<float> r;
  r.output.assign(static_cast<size_t>(each.time * each.batch * network.output_size()), NAN);
  r.h.assign(states * network.columns(), NAN);
  r.c.assign(states * options.units, network.has_cell_state() ? NAN : 0);
  ForwardPass<float> pass{};
  pass.network = &network;
  pass.time = each.time;
  pass.batch = each.batch;
  pass.input = input.data();
  pass.h = h;
  std::unique_ptr<QuantizedWeights> quantized;
  if (format != WeightFormat::kNative) {
    quantized = std::make_unique<QuantizedWeights>(network, params.data(), format,
                                                   kernels.f32.bfloat16.rounded_product != nullptr);
  }
  pass.params = {params.data(), quantized.get()};
  pass.lengths = each.lengths.empty() ? nullptr : each.lengths.data();
  pass.output = r.output.data();
  pass.h_final = r.h.data();
  pass.c_final = r.c.data();
  RunForward(EngineOf<float>(&pool, &blocks, kernels), pass);
  return r;
}

Results<float> Infer(const Kernels& kernels, const PassCase& each, WeightFormat format = WeightFormat::kNative) {
  return InferFrom(kernels, each, nullptr, SineParams(NetworkFor<float>(kernels, each.options)), format);
}

TEST_CASE("a pass gives the same bits on any number of threads") {
  for (const Kernels* kernels : TestedKernels()) {
    for (const PassCase& each : CoveringPassCases()) {
      const auto one = Train<float>(*kernels, 1, each);
      for (const int threads : {2, 3, 4}) {
        const auto several = Train<float>(*kernels, threads, each);
        INFO(kernels->name << " on " << threads << " threads");
        CHECK(one.output == several.output);
        CHECK(one.h == several.h);
        CHECK(one.dx == several.dx);
        CHECK(one.dw == several.dw);
        CHECK(one.dh == several.dh);
      }
    }
  }
}

// vitest compares the instruction sets of the machine it runs on with the reference; this covers those that only the
// C++ tests reach, such as NEON under an emulator. Tolerances: packages/cpu/test/random_sizes.test.ts.
template <typename T>
void CompareWithPortable(double tolerance) {
  for (const PassCase& each : CoveringPassCases()) {
    const auto expected = Train<T>(kPortableKernels, 1, each);
    for (const Kernels* kernels : TestedKernels()) {
      if (kernels == &kPortableKernels) continue;
      const auto actual = Train<T>(*kernels, 1, each);
      INFO(std::string(kernels->name));
      for (const auto part : {&Results<T>::output, &Results<T>::h, &Results<T>::c, &Results<T>::dx, &Results<T>::dh,
                              &Results<T>::dc, &Results<T>::dw}) {
        CHECK(Difference(actual.*part, expected.*part) <= tolerance);
      }
    }
  }
}

TEST_CASE("a pass agrees with the portable kernels in float32 and float64") {
  CompareWithPortable<float>(2e-5);
  CompareWithPortable<double>(1e-12);
}

// The largest difference over all results of a training step.
double LargestDifference(const Results<float>& actual, const Results<float>& expected) {
  double largest = 0;
  for (const auto part : {&Results<float>::output, &Results<float>::h, &Results<float>::c, &Results<float>::dx,
                          &Results<float>::dh, &Results<float>::dc, &Results<float>::dw}) {
    const double difference = Difference(actual.*part, expected.*part);
    if (!(difference <= largest)) largest = difference;
  }
  return largest;
}

TEST_CASE("training by rounded products agrees with the portable kernels, and with itself on any number of threads") {
  for (const PassCase& each : CoveringPassCases()) {
    const auto expected = Train<float>(kPortableKernels, 1, each, true);
    const double rounding = LargestDifference(Train<float>(kPortableKernels, 1, each), expected);
    CHECK(rounding > 1e-5);
    // Two factors of 2^-9 each, through seven or forty steps and up to four layers. Not for relu, where a sum moves
    // across the kink.
    if (each.options.cell != Cell::kRelu) CHECK(rounding < 5e-2);
    for (const Kernels* kernels : RoundingKernels()) {
      INFO(std::string(kernels->name) << ", " << each.options.units << " units, " << each.batch << " rows");
      const auto one = kernels == &kPortableKernels ? expected : Train<float>(*kernels, 1, each, true);
      // A state that differs in its last bit may be rounded to the next bfloat16, as in inference below, and its
      // gradient too.
      CHECK(LargestDifference(one, expected) <= 1e-2);
      const auto three = Train<float>(*kernels, 3, each, true);
      CHECK(LargestDifference(three, one) == 0);
    }
  }
}

TEST_CASE("a pass with quantized weights agrees with the portable kernels") {
  int index = 0;
  for (const PassCase& each : PassCases()) {
    if (each.options.directions == 2) continue;
    const PassCase whole{each.options, each.time, each.batch, {}};
    index++;
    for (const WeightFormat format :
         {WeightFormat::kBfloat16, WeightFormat::kInt8, WeightFormat::kBfloat16Products, WeightFormat::kInt8Products}) {
      if (!TestsEverything() && (index + static_cast<int>(format)) % 2 == 0) continue;
      const std::vector<float> expected = Infer(kPortableKernels, whole, format).output;
      for (const Kernels* kernels : ReducedKernels()) {
        if (kernels == &kPortableKernels) continue;
        // With AVX-512 VNNI the activations are quantized as well. An h that differs in its last bit may be rounded to
        // the next bfloat16, 2^-8 of it, which a weight of a tenth multiplies; or to the next of 127 integers, 2^-7 of
        // the row's largest, which the steps after it amplify: a row of 50 by 7e-3 with NEON. The integers themselves
        // are compared by registerIntegerProductsConformance.
        const double tolerance = format == WeightFormat::kBfloat16       ? 2e-5
                                 : format == WeightFormat::kInt8Products ? 2e-2
                                                                         : 1e-3;
        INFO(std::string(kernels->name));
        CHECK(Difference(Infer(*kernels, whole, format).output, expected) <= tolerance);
      }
    }
  }
}

// Every cell, one row and several, with lengths and without, in one direction and both. Without lengths the output
// serves as h, whose rows have no padding; else two buffers of h alternate. 32 units are whole chunks, the last panel
// of 37 is packed, 45's is not. 20 rows of three panels are halved. Three layers, of which the first and the last
// share memory; without dropout, which is of training alone.
std::vector<PassCase> InferenceCases() {
  std::vector<PassCase> cases;
  int index = 0;
  for (const Cell cell : {Cell::kLstm, Cell::kGru, Cell::kRelu, Cell::kTanh}) {
    for (const ptrdiff_t units : {32, 37, 45}) {
      for (const int directions : {1, 2}) {
        const NetworkOptions options{cell, 3, directions, units, 19, 0, false, true, true, INFINITY, 0, 7};
        for (const ptrdiff_t batch : {1, 5, 20}) {
          index++;
          const std::vector<int32_t> lengths(static_cast<size_t>(batch), 7);
          if (TestsEverything() || index % 2 == 0) cases.push_back({options, 11, batch, {}});
          if (TestsEverything() || index % 2 == 1) cases.push_back({options, 11, batch, lengths});
        }
      }
    }
  }
  return cases;
}

TEST_CASE("inference agrees with the forward of training") {
  for (const PassCase& each : InferenceCases()) {
    const Network<float> network = NetworkFor<float>(kPortableKernels, each.options);
    ForwardPass<float> pass{};
    pass.network = &network;
    pass.lengths = each.lengths.empty() ? nullptr : each.lengths.data();
    CHECK(pass.output_is_hidden() == each.lengths.empty());
    for (const Kernels* kernels : TestedKernels()) {
      const auto trained = TrainingStep<float>(*kernels, 1, each).results;
      const auto inferred = Infer(*kernels, each);
      INFO(kernels->name << ", " << each.options.units << " units, " << each.batch << " rows");
      CHECK(Difference(inferred.output, trained.output) <= 2e-5);
      CHECK(Difference(inferred.h, trained.h) <= 2e-5);
      CHECK(Difference(inferred.c, trained.c) <= 2e-5);
    }
  }
}

// The recurrent matrices are NaN: a product by them would be seen.
TEST_CASE("a pass of one step from a state of zeros reads no recurrent matrix") {
  for (const Cell cell : {Cell::kLstm, Cell::kGru, Cell::kRelu, Cell::kTanh}) {
    for (const ptrdiff_t batch : {1, 5, 20}) {
      const PassCase each{{cell, 2, 2, 37, 19, 0, false, true, true, INFINITY, 0, 7}, 1, batch, {}};
      const Network<float> network = NetworkFor<float>(kPortableKernels, each.options);
      std::vector<float> params = SineParams(network);
      const std::vector<float> zeros(static_cast<size_t>(4 * batch * network.columns()));
      const std::vector<float> expected = InferFrom(kPortableKernels, each, zeros.data(), params).output;
      for (int p = 0; p < network.pseudo_layers(); p++) {
        const PanelMatrix& matrix = network.layer(p).recurrent;
        std::fill(params.begin() + matrix.offset, params.begin() + network.layer(p).input_bias, NAN);
      }
      INFO(static_cast<int>(cell) << ", " << batch << " rows");
      CHECK(Difference(InferFrom(kPortableKernels, each, nullptr, params).output, expected) <= 2e-6);
    }
  }
}

TEST_CASE("a canceled pass returns") {
  ThreadPool pool(2);
  BlockCache blocks;
  const std::atomic<bool> canceled{true};
  Engine<float> engine = EngineOf<float>(&pool, &blocks, kPortableKernels);
  engine.canceled = &canceled;
  const Network<float> network =
      NetworkFor<float>(kPortableKernels, {Cell::kLstm, 1, 1, 64, 64, 0, false, true, true, INFINITY, 0, 0});
  const std::vector<float> params = SineParams(network);
  const std::vector<float> input = Sine<float>(10000 * 64, 0.1);
  std::vector<float> output(10000 * 64), h(64), c(64);
  ForwardPass<float> pass{};
  pass.network = &network;
  pass.time = 10000;
  pass.batch = 1;
  pass.input = input.data();
  pass.params.data = params.data();
  pass.output = output.data();
  pass.h_final = h.data();
  pass.c_final = c.data();
  RunForward(engine, pass);
  // No step was computed.
  CHECK(std::all_of(output.begin(), output.end(), [](float value) { return value == 0; }));
}

}  // namespace
}  // namespace cudnn_rnn
