// Passes through the addon's binding. Their numbers for all options and instruction sets: recurrent_equations_test.cc.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "network_calls.h"
#include "test_values.h"

namespace cudnn_rnn {
namespace {

constexpr ptrdiff_t kPassTime = 4, kPassBatch = 3;

// The arguments of forward, by their places.
constexpr const char* kForwardArguments[] = {"network", "time",   "batch",     "input",   "h",
                                             "c",       "params", "quantized", "lengths", "dropoutPosition",
                                             "output",  "hFinal", "cFinal",    "tape",    "rounds"};

// One pass in both directions: every array that an operation may have.
template <typename T>
struct PassCalls : ExecutorCalls<T> {
  explicit PassCalls(Cell cell, double dropout = 0)
      : options{cell, 2, 2, 5, 3, cell == Cell::kLstm ? 2 : 0, false, true, true, INFINITY, dropout, 11},
        reference(options),
        network(NewNetwork<T>(*this, options)),
        input(Sine<double>(kPassTime * kPassBatch * 3, 0.9)),
        h(Sine<double>(reference.StateSize(kPassBatch), 1.3)),
        c(Sine<double>(reference.CellSize(kPassBatch), 2.1)),
        outputs(static_cast<size_t>(kPassTime * kPassBatch * reference.output_size())) {}

  NetworkOptions options;
  ReferenceNetwork reference;
  Napi::Object network;
  std::vector<double> input, h, c;
  size_t outputs;

  bool has_cells() const { return options.cell == Cell::kLstm; }

  Napi::Object Forward(const Napi::Value& tape) {
    const T nan = std::numeric_limits<T>::quiet_NaN();
    return this->ObjectOf({{"network", network},
                           {"time", this->Value(static_cast<double>(kPassTime))},
                           {"batch", this->Value(static_cast<double>(kPassBatch))},
                           {"input", ArrayOf<T>(*this, input)},
                           {"h", ArrayOf<T>(*this, h)},
                           {"c", has_cells() ? Napi::Value(ArrayOf<T>(*this, c)) : this->env.Null()},
                           {"params", this->Array(reference.Opaque(Network<T>(options, PanelOrder::kRows)))},
                           {"quantized", this->env.Null()},
                           {"lengths", this->template Array<int32_t>({4, 0, 3})},
                           {"dropoutPosition", this->Value(0.0)},
                           {"output", Filled<T>(*this, outputs, nan)},
                           {"hFinal", Filled<T>(*this, h.size(), nan)},
                           {"cFinal", has_cells() ? Napi::Value(Filled<T>(*this, c.size(), nan)) : this->env.Null()},
                           {"tape", tape},
                           {"rounds", this->Value(false)}});
  }

  // Calls `operation`, forward or one whose arguments are an object.
  Napi::Value CallPass(const std::string& operation, const Napi::Object& arguments) {
    if (operation != "forward") return this->Call(this->executor, operation.c_str(), arguments);
    std::vector<napi_value> values;
    for (const char* name : kForwardArguments) values.push_back(arguments.Get(name));
    return this->executor.Get("forward").template As<Napi::Function>().Call(this->executor, values);
  }

  void RunPass(const char* operation, const Napi::Object& arguments) {
    this->Settled(CallPass(operation, arguments).ToNumber().DoubleValue());
  }

  Napi::Object Backward(const Napi::Object& forward, const Napi::Value& tape) {
    const T nan = std::numeric_limits<T>::quiet_NaN();
    const auto params = static_cast<size_t>(Network<T>(options, PanelOrder::kRows).params_size());
    return this->ObjectOf({{"network", network},
                           {"input", forward.Get("input")},
                           {"params", forward.Get("params")},
                           {"tape", tape},
                           {"dOutput", Filled<T>(*this, outputs, T{1})},
                           {"dhFinal", this->env.Null()},
                           {"dcFinal", this->env.Null()},
                           {"dInput", Filled<T>(*this, input.size(), nan)},
                           {"dh", Filled<T>(*this, h.size(), nan)},
                           {"dc", has_cells() ? Napi::Value(Filled<T>(*this, c.size(), nan)) : this->env.Null()},
                           {"dParams", Filled<T>(*this, params, nan)},
                           {"rounds", this->Value(false)}});
  }

  ReferenceStates Expected() const { return reference.Run(input, kPassTime, kPassBatch, h, c, {4, 0, 3}); }
};

template <typename T>
double DifferenceOf(const Napi::Object& arguments, const char* name, const std::vector<double>& expected) {
  const std::vector<T> actual = ElementsOf<T>(arguments, name);
  return Difference(std::vector<double>(actual.begin(), actual.end()), expected);
}

template <typename T>
bool HasNan(const Napi::Object& arguments, const char* name) {
  for (const T value : ElementsOf<T>(arguments, name)) {
    if (std::isnan(value)) return true;
  }
  return false;
}

TEST_CASE_TEMPLATE("forward and backward read every array of the binding", T, float, double) {
  const double tolerance = sizeof(T) == sizeof(float) ? 3e-6 : 1e-14;
  for (const Cell cell : {Cell::kLstm, Cell::kGru, Cell::kRelu, Cell::kTanh}) {
    PassCalls<T> calls(cell);
    const ReferenceStates expected = calls.Expected();
    for (const bool is_training : {false, true}) {
      const Napi::Object tape = calls.New("NativeTape");
      const Napi::Object forward = calls.Forward(is_training ? Napi::Value(tape) : calls.env.Null());
      calls.RunPass("forward", forward);
      CHECK(DifferenceOf<T>(forward, "output", expected.output) < tolerance);
      CHECK(DifferenceOf<T>(forward, "hFinal", expected.h) < tolerance);
      if (calls.has_cells()) CHECK(DifferenceOf<T>(forward, "cFinal", expected.c) < tolerance);
      if (!is_training) continue;
      CHECK(tape.Get("bytes").ToNumber().DoubleValue() > 0);
      const Napi::Object backward = calls.Backward(forward, tape);
      calls.Run("backward", backward);
      for (const char* name : {"dInput", "dh", "dParams"}) CHECK_FALSE(HasNan<T>(backward, name));
      // By the first input of the first row: a central difference of the sum of all outputs.
      const double step = 1e-5, before = calls.input[0];
      double sums[2] = {0, 0};
      for (const int sign : {-1, 1}) {
        calls.input[0] = before + sign * step;
        for (const double y : calls.Expected().output) sums[(sign + 1) / 2] += y;
      }
      calls.input[0] = before;
      const double derivative = (sums[1] - sums[0]) / (2 * step);
      CHECK(std::abs(ElementsOf<T>(backward, "dInput")[0] - derivative) < (sizeof(T) == sizeof(float) ? 1e-5 : 1e-8));
    }
  }
}

TEST_CASE("forward without initial states and lengths begins with zeros and takes all steps") {
  PassCalls<double> calls(Cell::kLstm);
  const Napi::Object given = calls.Forward(calls.env.Null()), left_out = calls.Forward(calls.env.Null());
  given.Set("h", Filled<double>(calls, calls.h.size(), 0));
  given.Set("c", Filled<double>(calls, calls.c.size(), 0));
  given.Set("lengths", calls.Array<int32_t>({4, 4, 4}));
  for (const char* name : {"h", "c", "lengths"}) left_out.Set(name, calls.env.Null());
  calls.RunPass("forward", given);
  calls.RunPass("forward", left_out);
  for (const char* name : {"output", "hFinal", "cFinal"}) {
    CHECK(ElementsOf<double>(given, name) == ElementsOf<double>(left_out, name));
  }
}

TEST_CASE("forward draws the dropout masks from the position that it is given") {
  PassCalls<float> calls(Cell::kGru, 0.5);
  const auto output_at = [&](double position) {
    const Napi::Object forward = calls.Forward(calls.New("NativeTape"));
    forward.Set("dropoutPosition", calls.Value(position));
    calls.RunPass("forward", forward);
    return ElementsOf<float>(forward, "output");
  };
  CHECK(output_at(0) == output_at(0));
  CHECK(output_at(0) != output_at(4096));
  // Beyond 32 bits.
  CHECK(output_at(0) != output_at(std::ldexp(1, 40)));
}

TEST_CASE("forward in training keeps its tape until the backward, also where JavaScript has released or collected it") {
  PassCalls<double> calls(Cell::kLstm);
  const Napi::Object tape = calls.New("NativeTape");
  const Napi::Object forward = calls.Forward(tape);
  calls.CallPass("forward", forward);
  const Napi::Object backward = calls.Backward(forward, tape);
  const Napi::Value number = calls.Call(calls.executor, "backward", backward);
  calls.Call(tape, "release");
  calls.environment.Collect(tape);
  calls.environment.Collect(calls.network);
  calls.Settled(number.ToNumber().DoubleValue());
  CHECK_FALSE(HasNan<double>(backward, "dParams"));
}

TEST_CASE("forward and backward refuse each array that was transferred or is of another type, and write nothing") {
  PassCalls<float> calls(Cell::kLstm);
  const Napi::Object tape = calls.New("NativeTape");
  const Napi::Object trained = calls.Forward(tape);
  calls.RunPass("forward", trained);
  const auto refuses = [&](const char* operation, const auto& arguments_of, const std::vector<const char*>& names,
                           const char* result) {
    for (const std::string name : names) {
      CAPTURE(name);
      const Napi::Object transferred = arguments_of();
      Transfer(transferred.Get(name).template As<Napi::Object>());
      CHECK(ErrorOf([&] { calls.CallPass(operation, transferred); }) == kTransferred);
      const Napi::Object mistyped = arguments_of();
      mistyped.Set(name, calls.Array<double>({1}));
      CHECK(ErrorOf([&] { calls.CallPass(operation, mistyped); }) == kDtype);
      if (name == result) continue;
      for (const Napi::Object& each : {transferred, mistyped}) CHECK(std::isnan(ElementsOf<float>(each, result)[0]));
    }
  };
  refuses(
      "forward", [&] { return calls.Forward(calls.env.Null()); },
      {"input", "h", "c", "params", "lengths", "output", "hFinal", "cFinal"}, "output");
  refuses(
      "backward",
      [&] {
        const Napi::Object arguments = calls.Backward(calls.Forward(calls.env.Null()), tape);
        arguments.Set("dhFinal", Filled<float>(calls, calls.h.size(), 1));
        arguments.Set("dcFinal", Filled<float>(calls, calls.c.size(), 1));
        return arguments;
      },
      {"input", "params", "dOutput", "dhFinal", "dcFinal", "dInput", "dh", "dc", "dParams"}, "dParams");
  // The tape is as good as before.
  const Napi::Object backward = calls.Backward(trained, tape);
  calls.Run("backward", backward);
  CHECK_FALSE(HasNan<float>(backward, "dParams"));
}

TEST_CASE("forward requires the arrays that its results go to, and not those of an absent cell state") {
  PassCalls<float> lstm(Cell::kLstm);
  for (const char* name : {"input", "params", "output", "hFinal", "cFinal"}) {
    const Napi::Object arguments = lstm.Forward(lstm.env.Null());
    arguments.Set(name, lstm.env.Null());
    CAPTURE(name);
    CHECK(ErrorOf([&] { lstm.CallPass("forward", arguments); }) == kTransferred);
  }
  PassCalls<float> gru(Cell::kGru);
  CHECK(ErrorOf([&] { gru.RunPass("forward", gru.Forward(gru.env.Null())); }).empty());
}

// The expected difference grows with the rounding of the weights: 2^-9 of a weight in bfloat16, 1/254 of a column's
// largest in int8.
TEST_CASE("forward with quantized weights reads those in place of the parameters") {
  PassCalls<float> calls(Cell::kLstm);
  const ReferenceStates expected = calls.Expected();
  for (const bool is_int8 : {false, true}) {
    const Napi::Object quantized = calls.New("NativeQuantizedWeights");
    const Napi::Object forward = calls.Forward(calls.env.Null());
    const Napi::Object quantize = calls.ObjectOf({{"network", calls.network},
                                                  {"params", calls.Array(ElementsOf<float>(forward, "params"))},
                                                  {"quantized", quantized},
                                                  {"format", calls.Value(is_int8 ? 2.0 : 1.0)}});
    forward.Set("quantized", quantized);
    calls.Call(calls.executor, "quantize", quantize);
    // Queued behind the conversion, which it may not overtake; biases are still the parameters'.
    calls.RunPass("forward", forward);
    const double difference = DifferenceOf<float>(forward, "output", expected.output);
    CHECK(difference > 1e-5);
    CHECK(difference < 0.02);
    CHECK(calls.Call(quantized, "owners").ToNumber().DoubleValue() == 1);
  }
}

TEST_CASE("quantize converts once for all objects of a key, and refuses other parameters") {
  PassCalls<float> calls(Cell::kGru);
  const Napi::Object first = calls.New("NativeQuantizedWeights", "rnn_jobs_test"),
                     second = calls.New("NativeQuantizedWeights", "rnn_jobs_test");
  const Napi::Object forward = calls.Forward(calls.env.Null());
  const std::vector<float> params = ElementsOf<float>(forward, "params");
  const auto quantize = [&](const Napi::Object& into, const Napi::Object& from) {
    calls.Run("quantize",
              calls.ObjectOf(
                  {{"network", calls.network}, {"params", from}, {"quantized", into}, {"format", calls.Value(2.0)}}));
  };
  CHECK(ErrorOf([&] { quantize(first, Filled<float>(calls, params.size() - 1, 0)); }) == kTransferred);
  CHECK(ErrorOf([&] { quantize(first, Filled<double>(calls, params.size(), 0)); }) == kDtype);
  quantize(first, calls.Array(params));
  // The copy is there: these zeros are not read.
  quantize(second, Filled<float>(calls, params.size(), 0));
  forward.Set("quantized", second);
  calls.RunPass("forward", forward);
  CHECK(DifferenceOf<float>(forward, "output", calls.Expected().output) < 0.02);
}

}  // namespace
}  // namespace cudnn_rnn
