// Whole passes against the equations of the cells in plain loops, and their gradients against differences.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "passes/rnn_pass.h"
#include "passes/rnn_stepper.h"
#include "reference_network.h"
#include "test_values.h"
#include "tested_kernels.h"

namespace cudnn_rnn {
namespace {

constexpr double kNoClip = INFINITY;

struct EquationCase {
  std::string name;
  NetworkOptions options;
  ptrdiff_t time;
  ptrdiff_t batch;
  std::vector<int32_t> lengths;
};

// Each cell with every option that it has; units within a chunk, of one whole chunk and with a tail.
std::vector<EquationCase> EquationCases() {
  std::vector<EquationCase> cases;
  for (const Cell cell : {Cell::kLstm, Cell::kGru, Cell::kRelu, Cell::kTanh}) {
    const std::string name = cell == Cell::kLstm   ? "lstm"
                             : cell == Cell::kGru  ? "gru"
                             : cell == Cell::kRelu ? "relu"
                                                   : "tanh";
    const auto add = [&](const char* option, const NetworkOptions& options, ptrdiff_t time, ptrdiff_t batch,
                         const std::vector<int32_t>& lengths) {
      cases.push_back({name + ", " + option, options, time, batch, lengths});
    };
    add("one unit", {cell, 1, 1, 1, 1, 0, false, true, true, kNoClip, 0, 0}, 3, 1, {});
    add("two layers", {cell, 2, 1, 5, 3, 0, false, true, true, kNoClip, 0, 0}, 4, 2, {});
    add("a whole chunk", {cell, 1, 1, 16, 7, 0, false, true, true, kNoClip, 0, 0}, 3, 3, {});
    add("a tail", {cell, 1, 1, 19, 17, 0, false, true, true, kNoClip, 0, 0}, 2, 5, {});
    add("both directions", {cell, 2, 2, 4, 3, 0, false, true, true, kNoClip, 0, 0}, 4, 3, {4, 1, 3});
    add("lengths of 0", {cell, 1, 2, 3, 2, 0, false, true, true, kNoClip, 0, 0}, 3, 3, {0, 3, 0});
    add("skipped input", {cell, 2, 1, 4, 4, 0, true, true, true, kNoClip, 0, 0}, 3, 2, {3, 2});
    add("no biases", {cell, 1, 1, 3, 2, 0, false, false, false, kNoClip, 0, 0}, 3, 2, {});
    add("input bias", {cell, 1, 1, 3, 2, 0, false, true, false, kNoClip, 0, 0}, 3, 2, {});
    add("recurrent bias", {cell, 1, 1, 3, 2, 0, false, false, true, kNoClip, 0, 0}, 3, 2, {});
  }
  cases.push_back({"lstm, clip", {Cell::kLstm, 2, 2, 5, 3, 0, false, true, true, 0.2, 0, 0}, 4, 3, {4, 0, 3}});
  cases.push_back({"lstm, projection", {Cell::kLstm, 2, 1, 6, 3, 2, false, true, true, kNoClip, 0, 0}, 4, 2, {}});
  cases.push_back({"lstm, projection of both directions",
                   {Cell::kLstm, 2, 2, 5, 3, 4, false, true, true, kNoClip, 0, 0},
                   3,
                   2,
                   {3, 1}});
  return cases;
}

// Operands of a pass and the gradients that arrive at its results, all different.
struct Operands {
  std::vector<double> input, h, c, d_output, dh, dc;

  Operands(const ReferenceNetwork& network, const EquationCase& each)
      : input(Sine<double>(static_cast<size_t>(each.time * each.batch * each.options.input_size), 0.9)),
        h(Sine<double>(network.StateSize(each.batch), 1.3)),
        c(Sine<double>(network.CellSize(each.batch), 2.1)),
        d_output(Sine<double>(static_cast<size_t>(each.time * each.batch * network.output_size()), 0.4)),
        dh(Sine<double>(h.size(), 0.6)),
        dc(Sine<double>(c.size(), 1.9)) {}
};

template <typename T>
std::vector<T> Cast(const std::vector<double>& values) {
  return std::vector<T>(values.begin(), values.end());
}

template <typename T>
struct PassResults {
  std::vector<T> output, h, c, d_input, dh, dc, d_params;
};

// A forward and, in training, a backward. Results are NaN before: every element has to be written.
template <typename T>
PassResults<T> Pass(ReferenceNetwork& reference, const EquationCase& each, const Operands& operands,
                    const Kernels& kernels, int threads, bool is_training) {
  const Network<T> network = NetworkFor<T>(kernels, each.options);
  const std::vector<T> params = reference.Opaque(network);
  ThreadPool pool(threads);
  BlockCache blocks;
  const Engine<T> engine = EngineOf<T>(&pool, &blocks, kernels);
  const std::vector<T> input = Cast<T>(operands.input), h = Cast<T>(operands.h), c = Cast<T>(operands.c);
  const T nan = std::numeric_limits<T>::quiet_NaN();
  PassResults<T> r;
  r.output.assign(operands.d_output.size(), nan);
  r.h.assign(h.size(), nan);
  r.c.assign(c.size(), nan);
  r.d_input.assign(input.size(), nan);
  r.dh.assign(h.size(), nan);
  r.dc.assign(c.size(), nan);
  r.d_params.assign(params.size(), nan);
  Tape<T> tape{};
  tape.time = each.time;
  tape.batch = each.batch;
  tape.lengths = each.lengths;
  ForwardPass<T> forward{};
  forward.network = &network;
  forward.time = each.time;
  forward.batch = each.batch;
  forward.input = input.data();
  forward.h = h.data();
  forward.c = network.has_cell_state() ? c.data() : nullptr;
  forward.params.data = params.data();
  forward.lengths = each.lengths.empty() ? nullptr : each.lengths.data();
  forward.output = r.output.data();
  forward.h_final = r.h.data();
  forward.c_final = network.has_cell_state() ? r.c.data() : nullptr;
  forward.tape = is_training ? &tape : nullptr;
  RunForward(engine, forward);
  if (!is_training) return r;
  const std::vector<T> d_output = Cast<T>(operands.d_output), dh = Cast<T>(operands.dh), dc = Cast<T>(operands.dc);
  BackwardPass<T> backward{};
  backward.network = &network;
  backward.input = input.data();
  backward.params = params.data();
  backward.tape = &tape;
  backward.d_output = d_output.data();
  backward.dh_final = dh.data();
  backward.dc_final = network.has_cell_state() ? dc.data() : nullptr;
  backward.d_input = r.d_input.data();
  backward.dh = r.dh.data();
  backward.dc = network.has_cell_state() ? r.dc.data() : nullptr;
  backward.d_params = r.d_params.data();
  RunBackward(engine, backward);
  return r;
}

template <typename T>
double DifferenceFrom(const std::vector<T>& actual, const std::vector<double>& expected) {
  return Difference(std::vector<double>(actual.begin(), actual.end()), expected);
}

TEST_CASE_TEMPLATE("a forward is the equations of its cell, in inference and in training, on every instruction set", T,
                   float, double) {
  const double tolerance = sizeof(T) == sizeof(float) ? 3e-6 : 1e-14;
  for (const EquationCase& each : EquationCases()) {
    ReferenceNetwork reference(each.options);
    const Operands operands(reference, each);
    const ReferenceStates expected =
        reference.Run(operands.input, each.time, each.batch, operands.h, operands.c, each.lengths);
    for (const Kernels* kernels : TestedKernels()) {
      for (const bool is_training : {false, true}) {
        const auto actual = Pass<T>(reference, each, operands, *kernels, 1, is_training);
        INFO(each.name << " on " << kernels->name << (is_training ? " in training" : ""));
        CHECK(DifferenceFrom(actual.output, expected.output) < tolerance);
        CHECK(DifferenceFrom(actual.h, expected.h) < tolerance);
        if (each.options.cell == Cell::kLstm) CHECK(DifferenceFrom(actual.c, expected.c) < tolerance);
      }
    }
  }
}

TEST_CASE_TEMPLATE("a forward clips the cell state of every step, and the initial one", T, float, double) {
  const double tolerance = sizeof(T) == sizeof(float) ? 3e-6 : 1e-14;
  for (const double clip : {0.05, 0.2}) {
    const EquationCase each{"clip", {Cell::kLstm, 2, 2, 5, 3, 0, false, true, true, clip, 0, 0}, 5, 2, {5, 3}};
    ReferenceNetwork reference(each.options, 2);
    const Operands operands(reference, each);
    const ReferenceStates expected =
        reference.Run(operands.input, each.time, each.batch, operands.h, operands.c, each.lengths);
    const bool is_clipped = std::any_of(expected.c.begin(), expected.c.end(), [&](double c) { return c == clip; });
    REQUIRE(is_clipped);
    for (const Kernels* kernels : TestedKernels()) {
      const auto actual = Pass<T>(reference, each, operands, *kernels, 1, false);
      INFO(kernels->name);
      CHECK(DifferenceFrom(actual.output, expected.output) < tolerance);
      CHECK(DifferenceFrom(actual.c, expected.c) < tolerance);
    }
  }
}

TEST_CASE("a forward without initial states begins with zeros") {
  const EquationCase each{"zeros", {Cell::kLstm, 2, 1, 5, 3, 0, false, true, true, kNoClip, 0, 0}, 3, 2, {}};
  ReferenceNetwork reference(each.options);
  Operands operands(reference, each);
  std::fill(operands.h.begin(), operands.h.end(), 0.0);
  std::fill(operands.c.begin(), operands.c.end(), 0.0);
  const ReferenceStates expected = reference.Run(operands.input, each.time, each.batch, operands.h, operands.c);
  for (const Kernels* kernels : TestedKernels()) {
    const Network<double> network = NetworkFor<double>(*kernels, each.options);
    const std::vector<double> params = reference.Opaque(network);
    ThreadPool pool(1);
    BlockCache blocks;
    std::vector<double> output(expected.output.size()), h(expected.h.size()), c(expected.c.size());
    ForwardPass<double> forward{};
    forward.network = &network;
    forward.time = each.time;
    forward.batch = each.batch;
    forward.input = operands.input.data();
    forward.params.data = params.data();
    forward.output = output.data();
    forward.h_final = h.data();
    forward.c_final = c.data();
    RunForward(EngineOf<double>(&pool, &blocks, *kernels), forward);
    CHECK(Difference(output, expected.output) < 1e-14);
    CHECK(Difference(h, expected.h) < 1e-14);
    CHECK(Difference(c, expected.c) < 1e-14);
  }
}

// Σ results ⊙ the gradients that arrive at them: a backward returns its derivatives.
double Loss(const ReferenceNetwork& network, const EquationCase& each, const Operands& operands) {
  const ReferenceStates states =
      network.Run(operands.input, each.time, each.batch, operands.h, operands.c, each.lengths);
  double loss = 0;
  for (size_t k = 0; k < states.output.size(); k++) loss += states.output[k] * operands.d_output[k];
  for (size_t k = 0; k < states.h.size(); k++) loss += states.h[k] * operands.dh[k];
  if (each.options.cell != Cell::kLstm) return loss;
  for (size_t k = 0; k < states.c.size(); k++) loss += states.c[k] * operands.dc[k];
  return loss;
}

// The derivatives with respect to `values`, which `loss` reads. Central differences: their error is some 1e-10 here.
template <typename Evaluate>
std::vector<double> Derivatives(std::vector<double>* values, const Evaluate& loss) {
  constexpr double kStep = 1e-5;
  std::vector<double> derivatives;
  for (double& value : *values) {
    const double before = value;
    value = before + kStep;
    const double above = loss();
    value = before - kStep;
    const double below = loss();
    value = before;
    derivatives.push_back((above - below) / (2 * kStep));
  }
  return derivatives;
}

TEST_CASE("a backward is the derivative of the equations, for every parameter, input and initial state") {
  for (const EquationCase& each : EquationCases()) {
    // The same code at more units: covered by the comparison of the instruction sets.
    if (each.options.units > 6) continue;
    ReferenceNetwork reference(each.options);
    Operands operands(reference, each);
    const auto loss = [&] { return Loss(reference, each, operands); };
    ReferenceNetwork slopes = reference;
    std::vector<std::vector<double>> of_tensors;
    reference.ForEachTensor(
        [&](std::vector<double>& tensor, int, Side, int, bool) { of_tensors.push_back(Derivatives(&tensor, loss)); });
    size_t next = 0;
    slopes.ForEachTensor([&](std::vector<double>& tensor, int, Side, int, bool) { tensor = of_tensors[next++]; });
    const std::vector<double> d_input = Derivatives(&operands.input, loss);
    const std::vector<double> dh = Derivatives(&operands.h, loss), dc = Derivatives(&operands.c, loss);
    constexpr double kTolerance = 2e-9;
    for (const Kernels* kernels : TestedKernels()) {
      const auto actual = Pass<double>(reference, each, operands, *kernels, 1, true);
      const std::vector<double> d_params = slopes.Opaque(NetworkFor<double>(*kernels, each.options));
      INFO(each.name << " on " << kernels->name);
      CHECK(Difference(actual.d_params, d_params) < kTolerance);
      CHECK(Difference(actual.d_input, d_input) < kTolerance);
      CHECK(Difference(actual.dh, dh) < kTolerance);
      if (each.options.cell == Cell::kLstm) CHECK(Difference(actual.dc, dc) < kTolerance);
    }
  }
}

TEST_CASE("a backward without gradients of some results takes zeros for them") {
  const EquationCase each{"lstm", {Cell::kLstm, 2, 1, 5, 3, 0, false, true, true, kNoClip, 0, 0}, 4, 2, {}};
  ReferenceNetwork reference(each.options);
  const Network<double> network = NetworkFor<double>(kPortableKernels, each.options);
  const std::vector<double> params = reference.Opaque(network);
  Operands operands(reference, each);
  std::fill(operands.d_output.begin(), operands.d_output.end(), 0.0);
  std::fill(operands.dc.begin(), operands.dc.end(), 0.0);
  const auto expected = Pass<double>(reference, each, operands, kPortableKernels, 1, true);
  ThreadPool pool(1);
  BlockCache blocks;
  const Engine<double> engine = EngineOf<double>(&pool, &blocks, kPortableKernels);
  Tape<double> tape{};
  tape.time = each.time;
  tape.batch = each.batch;
  std::vector<double> output(operands.d_output.size()), h(operands.h.size()), c(operands.c.size());
  ForwardPass<double> forward{&network,
                              each.time,
                              each.batch,
                              operands.input.data(),
                              operands.h.data(),
                              operands.c.data(),
                              {params.data()},
                              nullptr,
                              0,
                              output.data(),
                              h.data(),
                              c.data(),
                              &tape};
  RunForward(engine, forward);
  std::vector<double> d_input(operands.input.size()), dh(h.size()), dc(c.size()), d_params(params.size());
  BackwardPass<double> backward{
      &network, operands.input.data(), params.data(), &tape,     nullptr,        operands.dh.data(),
      nullptr,  d_input.data(),        dh.data(),     dc.data(), d_params.data()};
  RunBackward(engine, backward);
  CHECK(d_input == expected.d_input);
  CHECK(dh == expected.dh);
  CHECK(dc == expected.dc);
  CHECK(d_params == expected.d_params);
}

TEST_CASE_TEMPLATE("a Stepper is the equations of its cell, on every instruction set", T, float, double) {
  const double tolerance = sizeof(T) == sizeof(float) ? 3e-6 : 1e-14;
  for (const EquationCase& each : EquationCases()) {
    if (each.options.directions == 2) continue;
    ReferenceNetwork reference(each.options);
    const Operands operands(reference, each);
    const ReferenceStates expected = reference.Run(operands.input, each.time, each.batch, operands.h, operands.c);
    for (const Kernels* kernels : TestedKernels()) {
      const Network<T> network = NetworkFor<T>(*kernels, each.options);
      const std::vector<T> params = reference.Opaque(network);
      ThreadPool pool(1);
      BlockCache blocks;
      const Engine<T> engine = EngineOf<T>(&pool, &blocks, *kernels);
      Stepper<T> stepper(network, each.batch, engine, WeightFormat::kNative);
      std::vector<T> h = Cast<T>(operands.h), c = Cast<T>(operands.c), output(expected.output.size());
      T* cells = network.has_cell_state() ? c.data() : nullptr;
      stepper.states().Move(h.data(), cells, true, {nullptr, 0, each.batch});
      const std::vector<T> input = Cast<T>(operands.input);
      stepper.Run(engine, {params.data()}, input.data(), output.data(), each.time);
      stepper.states().Move(h.data(), cells, false, {nullptr, 0, each.batch});
      INFO(each.name << " on " << kernels->name);
      CHECK(DifferenceFrom(output, expected.output) < tolerance);
      CHECK(DifferenceFrom(h, expected.h) < tolerance);
      if (cells != nullptr) CHECK(DifferenceFrom(c, expected.c) < tolerance);
    }
  }
}

}  // namespace
}  // namespace cudnn_rnn
