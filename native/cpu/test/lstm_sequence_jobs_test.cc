// The recurrence of TensorFlow's cells through the addon's binding, against its equations in plain loops.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "network_calls.h"
#include "test_values.h"

namespace cudnn_rnn {
namespace {

constexpr ptrdiff_t kTime = 3, kBatch = 2, kUnits = 3, kInputs = 2;
constexpr size_t kState = kBatch * kUnits, kSteps = kTime * kBatch * kUnits;

// One problem in double precision.
struct Problem {
  std::vector<double> x = Sine<double>(4 * kSteps, 0.37);  // x·W + b of all steps
  std::vector<double> kernel = Sine<double>((kInputs + kUnits) * 4 * kUnits, 0.77);
  std::vector<double> h = Sine<double>(kState, 0.3), c = Sine<double>(kState, 0.2);
  std::vector<double> dropout;
  std::vector<int32_t> lengths;
  bool is_hard = false;
};

double Gate(const Problem& problem, double z) {
  return problem.is_hard ? std::clamp(0.2 * z + 0.5, 0.0, 1.0) : 1 / (1 + std::exp(-z));
}

struct Sequence {
  std::vector<double> hidden, cells;  // [T+1][B][H]
};

// c' = σ(f + 1)·c + σ(i)·d·tanh(g), h' = σ(o)·tanh(c'); gates of the kernel's columns i g f o.
Sequence Equations(const Problem& problem) {
  Sequence s{problem.h, problem.c};
  for (ptrdiff_t t = 0; t < kTime; t++) {
    for (ptrdiff_t row = 0; row < kBatch; row++) {
      const auto previous = static_cast<size_t>((t * kBatch + row) * kUnits);
      const bool has_ended = !problem.lengths.empty() && t >= problem.lengths[static_cast<size_t>(row)];
      for (size_t unit = 0; unit < kUnits; unit++) {
        const auto z = [&](size_t gate) {
          double sum = problem.x[4 * previous + gate * kUnits + unit];
          for (size_t k = 0; k < kUnits; k++) {
            sum += s.hidden[previous + k] * problem.kernel[((kInputs + k) * 4 + gate) * kUnits + unit];
          }
          return sum;
        };
        const double mask = problem.dropout.empty() ? 1 : problem.dropout[previous + unit];
        const double before = s.cells[previous + unit];
        const double c = Gate(problem, z(2) + 1) * before + Gate(problem, z(0)) * mask * std::tanh(z(1));
        s.cells.push_back(has_ended ? before : c);
        s.hidden.push_back(has_ended ? s.hidden[previous + unit] : Gate(problem, z(3)) * std::tanh(c));
      }
    }
  }
  return s;
}

template <typename T>
Napi::Object Arguments(const ExecutorCalls<T>& calls, const Problem& problem) {
  const auto states = [&](std::vector<double> first) {
    first.resize(kState + kSteps, -7);
    return ArrayOf<T>(calls, first);
  };
  const Napi::Value none = calls.env.Null();
  return calls.ObjectOf({{"time", calls.Value(static_cast<double>(kTime))},
                         {"batch", calls.Value(static_cast<double>(kBatch))},
                         {"units", calls.Value(static_cast<double>(kUnits))},
                         {"kernel", ArrayOf<T>(calls, problem.kernel)},
                         {"kernelBegin", calls.Value(static_cast<double>(kInputs * 4 * kUnits))},
                         {"lengths", problem.lengths.empty() ? none : Napi::Value(calls.Array(problem.lengths))},
                         {"hardSigmoid", calls.Value(problem.is_hard)},
                         {"forgetBias", calls.Value(1.0)},
                         {"dropout", problem.dropout.empty() ? none : Napi::Value(ArrayOf<T>(calls, problem.dropout))},
                         {"gamma", none},
                         {"beta", none},
                         {"epsilon", calls.Value(1e-3)},
                         {"gates", ArrayOf<T>(calls, problem.x)},
                         {"hidden", states(problem.h)},
                         {"cells", states(problem.c)},
                         {"normalizedCells", none},
                         {"inverses", none}});
}

// With gradients that arrive at the outputs and the final states.
template <typename T>
void AddGradients(const ExecutorCalls<T>& calls, Napi::Object* arguments) {
  arguments->Set("dOutputs", ArrayOf<T>(calls, Sine<double>(kSteps, 0.47)));
  arguments->Set("dh", ArrayOf<T>(calls, Sine<double>(kState, 0.41)));
  arguments->Set("dc", ArrayOf<T>(calls, Sine<double>(kState, 0.43)));
}

std::vector<Problem> Problems() {
  std::vector<Problem> problems(5);
  problems[1].lengths = {3, 1};
  problems[2].lengths = {0, 2};
  problems[3].dropout = Sine<double>(kSteps, 0.5);
  problems[4].is_hard = true;
  return problems;
}

TEST_CASE_TEMPLATE("lstmForward is the equations of the cell, and repeats the last state of rows that have ended", T,
                   float, double) {
  const ExecutorCalls<T> calls;
  const double tolerance = sizeof(T) == sizeof(float) ? 1e-6 : 1e-14;
  for (const Problem& problem : Problems()) {
    const Sequence expected = Equations(problem);
    const Napi::Object arguments = Arguments(calls, problem);
    calls.Call(calls.executor, "lstmForward", arguments);
    for (const char* name : {"hidden", "cells"}) {
      const std::vector<T> actual = ElementsOf<T>(arguments, name);
      CHECK(Difference(std::vector<double>(actual.begin(), actual.end()),
                       name == std::string("hidden") ? expected.hidden : expected.cells) < tolerance);
    }
  }
}

// The sum over outputs and final states, each weighted by its gradient. An output past a row's end is 0.
double Loss(const Problem& problem) {
  const Sequence s = Equations(problem);
  const std::vector<double> d_output = Sine<double>(kSteps, 0.47);
  const std::vector<double> dh = Sine<double>(kState, 0.41), dc = Sine<double>(kState, 0.43);
  double loss = 0;
  for (size_t k = 0; k < kSteps; k++) {
    const auto t = static_cast<ptrdiff_t>(k / kState);
    const bool has_ended = !problem.lengths.empty() && t >= problem.lengths[k % kState / kUnits];
    if (!has_ended) loss += s.hidden[kState + k] * d_output[k];
  }
  for (size_t k = 0; k < kState; k++) loss += s.hidden[kSteps + k] * dh[k] + s.cells[kSteps + k] * dc[k];
  return loss;
}

TEST_CASE("lstmBackward returns the derivatives with respect to the pre-activations and the initial states") {
  const ExecutorCalls<double> calls;
  for (Problem& problem : Problems()) {
    Napi::Object arguments = Arguments(calls, problem);
    AddGradients(calls, &arguments);
    calls.Call(calls.executor, "lstmForward", arguments);
    calls.Call(calls.executor, "lstmBackward", arguments);
    const auto compare = [&](const char* name, std::vector<double>* values) {
      std::vector<double> expected;
      for (double& value : *values) {
        const double before = value, step = 1e-5;
        value = before + step;
        const double above = Loss(problem);
        value = before - step;
        expected.push_back((above - Loss(problem)) / (2 * step));
        value = before;
      }
      CAPTURE(name);
      CHECK(Difference(ElementsOf<double>(arguments, name), expected) < 1e-9);
    };
    compare("gates", &problem.x);
    compare("dh", &problem.h);
    compare("dc", &problem.c);
  }
}

TEST_CASE("lstmForward and lstmBackward refuse arrays of other sizes and types, and write nothing") {
  const ExecutorCalls<float> calls;
  Problem problem;
  problem.lengths = {3, 1};
  problem.dropout = std::vector<double>(kSteps, 1);
  const auto arguments_of = [&] {
    Napi::Object arguments = Arguments(calls, problem);
    AddGradients(calls, &arguments);
    arguments.Set("gamma", Filled<float>(calls, 5 * kUnits, 1));
    arguments.Set("beta", Filled<float>(calls, 5 * kUnits, 1));
    arguments.Set("normalizedCells", Filled<float>(calls, kSteps, 1));
    arguments.Set("inverses", Filled<float>(calls, kTime * kBatch * 5, 1));
    arguments.Set("dGamma", Filled<float>(calls, 5 * kUnits, 0));
    arguments.Set("dBeta", Filled<float>(calls, 5 * kUnits, 0));
    return arguments;
  };
  const std::vector<std::string> of_both = {"lengths", "dropout", "gates", "hidden",          "cells",
                                            "kernel",  "gamma",   "beta",  "normalizedCells", "inverses"};
  const auto refuses = [&](const char* operation, const std::string& name) {
    CAPTURE(operation);
    CAPTURE(name);
    const Napi::Object transferred = arguments_of(), mistyped = arguments_of();
    Transfer(transferred.Get(name).As<Napi::Object>());
    CHECK(ErrorOf([&] { calls.Call(calls.executor, operation, transferred); }) == kTransferred);
    mistyped.Set(name, calls.Array<double>({1}));
    CHECK(ErrorOf([&] { calls.Call(calls.executor, operation, mistyped); }) == kDtype);
    if (name != "hidden") CHECK(ElementsOf<float>(transferred, "hidden").back() == -7);
    if (name != "dGamma") CHECK(ElementsOf<float>(mistyped, "dGamma") == std::vector<float>(5 * kUnits, 0));
  };
  for (const std::string& name : of_both) {
    refuses("lstmForward", name);
    refuses("lstmBackward", name);
  }
  for (const char* name : {"dOutputs", "dh", "dc", "dGamma", "dBeta"}) refuses("lstmBackward", name);
}

TEST_CASE("lstmForward refuses a kernel whose recurrent rows begin outside of it") {
  const ExecutorCalls<double> calls;
  for (const double begin : {-1.0, kInputs * 4 * kUnits + 1.0, 1e15}) {
    const Napi::Object arguments = Arguments(calls, Problem());
    arguments.Set("kernelBegin", calls.Value(begin));
    CHECK(ErrorOf([&] { calls.Call(calls.executor, "lstmForward", arguments); }) == kTransferred);
    CHECK(ElementsOf<double>(arguments, "hidden").back() == -7);
  }
}

}  // namespace
}  // namespace cudnn_rnn
