// The bindings of dense operations, of losses, updates and layers: small problems worked out by hand, and arguments
// that are refused. Their numbers at other sizes: the tests of the files in src/dense.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "dense/layer_ops.h"
#include "dense/optimizer_updates.h"
#include "executor_calls.h"

namespace cudnn_rnn {
namespace {

template <typename T>
constexpr double kTolerance = sizeof(T) == sizeof(float) ? 1e-6 : 1e-14;

template <typename T>
bool IsNear(const std::vector<T>& actual, const std::vector<double>& expected) {
  if (actual.size() != expected.size()) return false;
  for (size_t k = 0; k < expected.size(); k++) {
    if (!(std::abs(actual[k] - expected[k]) <= kTolerance<T> * std::max(1.0, std::abs(expected[k])))) return false;
  }
  return true;
}

template <typename T>
Napi::Array ListOf(const ExecutorCalls<T>& calls, const std::vector<Napi::Value>& values) {
  Napi::Array list = Napi::Array::New(calls.env);
  for (size_t k = 0; k < values.size(); k++) list.Set(static_cast<uint32_t>(k), values[k]);
  return list;
}

template <typename T>
Napi::Object Linear(const ExecutorCalls<T>& calls) {
  return calls.ObjectOf({{"rows", calls.Value(2.0)},
                         {"inputs", calls.Value(2.0)},
                         {"outputs", calls.Value(3.0)},
                         {"input", calls.template Array<T>({1, 2, 3, 4})},
                         {"kernel", calls.template Array<T>({1, 0, 2, 0, 1, 3})},
                         {"bias", calls.template Array<T>({10, 20, 30})},
                         {"output", calls.template Array<T>({-1, -1, -1, -1, -1, -1})}});
}

template <typename T>
Napi::Object LinearGradients(const ExecutorCalls<T>& calls) {
  Napi::Object arguments = Linear(calls);
  arguments.Set("dOutput", calls.template Array<T>({1, 0, 0, 0, 1, 1}));
  arguments.Set("dInput", calls.template Array<T>({-1, -1, -1, -1}));
  arguments.Set("dKernel", calls.template Array<T>({-1, -1, -1, -1, -1, -1}));
  arguments.Set("dBias", calls.template Array<T>({-1, -1, -1}));
  return arguments;
}

TEST_CASE_TEMPLATE("linear is the bias plus the product", T, float, double) {
  ExecutorCalls<T> calls;
  const Napi::Object arguments = Linear(calls);
  calls.Run("linear", arguments);
  CHECK(IsNear(ElementsOf<T>(arguments, "output"), {11, 22, 38, 13, 24, 48}));
}

TEST_CASE_TEMPLATE("linearGradients are products with the transposes, and the sum of the rows", T, float, double) {
  ExecutorCalls<T> calls;
  const Napi::Object arguments = LinearGradients(calls);
  calls.Run("linearGradients", arguments);
  CHECK(IsNear(ElementsOf<T>(arguments, "dInput"), {1, 0, 2, 4}));
  CHECK(IsNear(ElementsOf<T>(arguments, "dKernel"), {1, 3, 3, 2, 4, 4}));
  CHECK(IsNear(ElementsOf<T>(arguments, "dBias"), {1, 1, 1}));
}

// c [2,2] += a [2,3] · b [3,2], each inside a larger array; b is stored by columns.
template <typename T>
Napi::Object AddProduct(const ExecutorCalls<T>& calls) {
  return calls.ObjectOf({{"c", calls.template Array<T>({100, 1, 2, 100, 3, 4, 100})},
                         {"a", calls.template Array<T>({9, 1, 2, 3, 4, 5, 6})},
                         {"b", calls.template Array<T>({1, 2, 3, 4, 5, 6})},
                         {"layout", calls.template Array<double>({1, 3, 1, 1, 3, 1, 0, 1, 3, 2, 2, 3})}});
}

TEST_CASE_TEMPLATE("addProduct adds to a block of an array, and is done when it returns", T, float, double) {
  const ExecutorCalls<T> calls;
  const Napi::Object arguments = AddProduct(calls);
  calls.Call(calls.executor, "addProduct", arguments);
  // Rows (1 2 3) and (4 5 6) times columns (1 2 3) and (4 5 6): 14 32, 32 77.
  CHECK(IsNear(ElementsOf<T>(arguments, "c"), {100, 15, 34, 100, 35, 81, 100}));
}

TEST_CASE("addProduct refuses a layout that leaves one of the arrays, and adds nothing then") {
  const ExecutorCalls<double> calls;
  const std::vector<double> layout = {1, 3, 1, 1, 3, 1, 0, 1, 3, 2, 2, 3};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  struct Change {
    size_t index;
    double value;
  };
  // Offsets and strides one beyond the last that fit, and negative ones; one more row, column or step of the depth.
  for (const Change& change : std::initializer_list<Change>{
           {0, 3}, {0, -1}, {1, 5}, {1, -1}, {2, 3}, {2, -1}, {3, 2},  {3, -1}, {4, 4},   {5, 2},   {5, -1},
           {6, 1}, {6, -1}, {7, 2}, {7, -1}, {8, 4}, {9, 3},  {10, 3}, {11, 4}, {0, nan}, {4, nan}, {8, nan}}) {
    std::vector<double> wrong = layout;
    wrong[change.index] = change.value;
    const Napi::Object arguments = AddProduct(calls);
    arguments.Set("layout", calls.Array(wrong));
    CAPTURE(change.index);
    CAPTURE(change.value);
    CHECK(ErrorOf([&] { calls.Call(calls.executor, "addProduct", arguments); }) == kTransferred);
    CHECK(ElementsOf<double>(arguments, "c") == std::vector<double>{100, 1, 2, 100, 3, 4, 100});
  }
}

TEST_CASE("addProduct without rows, columns or depth reads no array") {
  const ExecutorCalls<double> calls;
  for (const size_t size : {9, 10, 11}) {
    for (const double none : {0.0, -2.0, std::numeric_limits<double>::quiet_NaN()}) {
      std::vector<double> layout = {1, 3, 1, 1, 3, 1, 0, 1, 3, 2, 2, 3};
      layout[size] = none;
      const Napi::Object arguments =
          calls.ObjectOf({{"c", calls.env.Null()}, {"a", calls.env.Null()}, {"b", calls.env.Null()}});
      arguments.Set("layout", calls.Array(layout));
      CHECK(ErrorOf([&] { calls.Call(calls.executor, "addProduct", arguments); }).empty());
    }
  }
}

template <typename T>
Napi::Object Embedding(const ExecutorCalls<T>& calls) {
  return calls.ObjectOf({{"table", calls.template Array<T>({1, 2, 3, 4, 5, 6})},
                         {"ids", calls.template Array<int32_t>({2, 0, 2})},
                         {"columns", calls.Value(2.0)},
                         {"output", calls.template Array<T>({10, 20, 30, 40, 50, 60})}});
}

TEST_CASE_TEMPLATE("embedding copies rows of the table; its gradient adds rows, those of repeated ids too", T, float,
                   double) {
  ExecutorCalls<T> calls;
  const Napi::Object forward = Embedding(calls), gradient = Embedding(calls);
  calls.Run("embedding", forward);
  CHECK(ElementsOf<T>(forward, "output") == std::vector<T>{5, 6, 1, 2, 5, 6});
  CHECK(ElementsOf<T>(forward, "table") == std::vector<T>{1, 2, 3, 4, 5, 6});
  calls.Run("embeddingGradient", gradient);
  CHECK(ElementsOf<T>(gradient, "table") == std::vector<T>{31, 42, 3, 4, 65, 86});
  CHECK(ElementsOf<T>(gradient, "output") == std::vector<T>{10, 20, 30, 40, 50, 60});
}

TEST_CASE("embedding refuses ids that are not rows of the table before it writes one") {
  ExecutorCalls<float> calls;
  for (const int32_t id : {3, -1, std::numeric_limits<int32_t>::max(), std::numeric_limits<int32_t>::min()}) {
    for (const char* operation : {"embedding", "embeddingGradient"}) {
      const Napi::Object arguments = Embedding(calls);
      arguments.Set("ids", calls.Array<int32_t>({0, 1, id}));
      CHECK(ErrorOf([&] { calls.Run(operation, arguments); }) == kTransferred);
      CHECK(ElementsOf<float>(arguments, "output") == std::vector<float>{10, 20, 30, 40, 50, 60});
      CHECK(ElementsOf<float>(arguments, "table") == std::vector<float>{1, 2, 3, 4, 5, 6});
    }
  }
}

TEST_CASE("embedding of no ids writes nothing") {
  ExecutorCalls<float> calls;
  const Napi::Object arguments = Embedding(calls);
  arguments.Set("ids", calls.Array<int32_t>({}));
  arguments.Set("output", calls.Array<float>({}));
  CHECK(ErrorOf([&] { calls.Run("embedding", arguments); }).empty());
  CHECK(ErrorOf([&] { calls.Run("embeddingGradient", arguments); }).empty());
}

template <typename T>
Napi::Object CrossEntropy(const ExecutorCalls<T>& calls) {
  return calls.ObjectOf({{"logits", calls.template Array<T>({5, 5, 7, 7})},
                         {"labels", calls.template Array<int32_t>({1, 0})},
                         {"weights", calls.env.Null()},
                         {"rows", calls.Value(2.0)},
                         {"classes", calls.Value(2.0)},
                         {"loss", calls.template Array<T>({-1})},
                         {"gradient", calls.template Array<T>({-1, -1, -1, -1})}});
}

TEST_CASE_TEMPLATE("softmaxCrossEntropy is the mean over the rows, or the mean by their weights", T, float, double) {
  ExecutorCalls<T> calls;
  const Napi::Object mean = CrossEntropy(calls), weighted = CrossEntropy(calls);
  calls.Run("softmaxCrossEntropy", mean);
  CHECK(IsNear(ElementsOf<T>(mean, "loss"), {std::log(2.0)}));
  CHECK(IsNear(ElementsOf<T>(mean, "gradient"), {0.25, -0.25, -0.25, 0.25}));
  weighted.Set("weights", calls.template Array<T>({0, 3}));
  calls.Run("softmaxCrossEntropy", weighted);
  CHECK(IsNear(ElementsOf<T>(weighted, "loss"), {std::log(2.0)}));
  CHECK(IsNear(ElementsOf<T>(weighted, "gradient"), {0, 0, -0.5, 0.5}));
}

// Two steps, two classes of equal probability and one row.
template <typename T>
Napi::Object Ctc(const ExecutorCalls<T>& calls) {
  return calls.ObjectOf({{"time", calls.Value(2.0)},
                         {"batch", calls.Value(1.0)},
                         {"classes", calls.Value(2.0)},
                         {"maxLabels", calls.Value(2.0)},
                         {"logits", calls.template Array<T>({3, 3, 4, 4})},
                         {"labels", calls.template Array<int32_t>({1, 1})},
                         {"labelLengths", calls.template Array<int32_t>({1})},
                         {"logitLengths", calls.template Array<int32_t>({2})},
                         {"rowWeights", calls.template Array<double>({2})},
                         {"blank", calls.Value(0.0)},
                         {"mergeRepeated", calls.Value(true)},
                         {"infeasible", calls.Value(0.0)},
                         {"rowLosses", calls.template Array<T>({-1})},
                         {"gradient", calls.template Array<T>({-1, -1, -1, -1})},
                         {"loss", calls.template Array<T>({-1})}});
}

TEST_CASE_TEMPLATE("ctcLoss weighs the loss of a row", T, float, double) {
  ExecutorCalls<T> calls;
  const Napi::Object arguments = Ctc(calls);
  calls.Run("ctcLoss", arguments);
  // The label 1 is spelled by the paths 11, 01 and 10 of four: p = 3/4. At each step two of these three have class 1.
  CHECK(IsNear(ElementsOf<T>(arguments, "rowLosses"), {-std::log(0.75)}));
  CHECK(IsNear(ElementsOf<T>(arguments, "loss"), {-2 * std::log(0.75)}));
  const double difference = 2 * (2.0 / 3 - 0.5);
  CHECK(IsNear(ElementsOf<T>(arguments, "gradient"), {difference, -difference, difference, -difference}));
}

TEST_CASE_TEMPLATE("ctcLoss reads the rules of repeated labels and of rows without an alignment", T, float, double) {
  ExecutorCalls<T> calls;
  // The labels 1 1 need a blank between them if equal neighbors merge, and both steps if they do not.
  const auto run = [&](bool merges, double infeasible) {
    const Napi::Object arguments = Ctc(calls);
    arguments.Set("labelLengths", calls.template Array<int32_t>({2}));
    arguments.Set("mergeRepeated", calls.Value(merges));
    arguments.Set("infeasible", calls.Value(infeasible));
    calls.Run("ctcLoss", arguments);
    return arguments;
  };
  CHECK(IsNear(ElementsOf<T>(run(false, 0), "rowLosses"), {std::log(4.0)}));
  const Napi::Object infinite = run(true, 0);
  CHECK(ElementsOf<T>(infinite, "loss")[0] == std::numeric_limits<T>::infinity());
  CHECK(std::isnan(ElementsOf<T>(run(true, 1), "gradient")[0]));
  const Napi::Object zero = run(true, 2);
  CHECK(ElementsOf<T>(zero, "loss") == std::vector<T>{0});
  CHECK(ElementsOf<T>(zero, "gradient") == std::vector<T>{0, 0, 0, 0});
}

template <typename T>
Napi::Object Norm(const ExecutorCalls<T>& calls, double max_norm) {
  return calls.ObjectOf({{"tensors", ListOf(calls, {calls.template Array<T>({3}), calls.template Array<T>({0, -4})})},
                         {"maxNorm", calls.Value(max_norm)},
                         {"norm", calls.template Array<T>({-1})}});
}

template <typename T>
std::vector<T> TensorOf(const Napi::Object& arguments, uint32_t index) {
  return ElementsOf<T>(arguments.Get("tensors").As<Napi::Array>().Get(index));
}

TEST_CASE_TEMPLATE("norm scales all tensors down to the maximum, and leaves smaller ones", T, float, double) {
  ExecutorCalls<T> calls;
  const Napi::Object above = Norm(calls, 1);
  calls.Run("norm", above);
  CHECK(IsNear(ElementsOf<T>(above, "norm"), {5}));
  CHECK(IsNear(TensorOf<T>(above, 0), {0.6}));
  CHECK(IsNear(TensorOf<T>(above, 1), {0, -0.8}));
  for (const double max_norm : {5.0, 6.0, std::numeric_limits<double>::infinity()}) {
    const Napi::Object within = Norm(calls, max_norm);
    calls.Run("norm", within);
    CHECK(TensorOf<T>(within, 0) == std::vector<T>{3});
    CHECK(TensorOf<T>(within, 1) == std::vector<T>{0, -4});
  }
}

TEST_CASE("norm that is not finite leaves the tensors as they are") {
  ExecutorCalls<float> calls;
  for (const float value : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    const Napi::Object arguments = Norm(calls, 1);
    arguments.Set("tensors", ListOf(calls, {calls.Array<float>({2}), calls.Array<float>({value})}));
    calls.Run("norm", arguments);
    CHECK_FALSE(std::isfinite(ElementsOf<float>(arguments, "norm")[0]));
    CHECK(TensorOf<float>(arguments, 0) == std::vector<float>{2});
  }
}

TEST_CASE("norm of no tensors and of empty ones is 0") {
  ExecutorCalls<double> calls;
  for (const auto& tensors : {ListOf(calls, {}), ListOf(calls, {calls.Array<double>({})})}) {
    const Napi::Object arguments = Norm(calls, 1);
    arguments.Set("tensors", tensors);
    calls.Run("norm", arguments);
    CHECK(ElementsOf<double>(arguments, "norm") == std::vector<double>{0});
  }
}

struct UpdateCase {
  UpdateRule rule;
  std::vector<std::vector<double>> operands;
  std::vector<double> numbers;
  std::vector<std::vector<double>> expected;  // of the first operands
};

// One step of each rule on two elements, by hand.
const std::vector<UpdateCase> kUpdates = {
    {UpdateRule::kAssign, {{1, 2}, {3, 4}}, {}, {{3, 4}}},
    {UpdateRule::kAddScaled, {{1, 2}, {3, 4}}, {-0.5}, {{-0.5, 0}}},
    {UpdateRule::kMomentum, {{10, 10}, {1, 0}, {2, 4}}, {0.1, 0.5, 0, 0}, {{9.75, 9.6}, {2.5, 4}}},
    {UpdateRule::kMomentum, {{10, 10}, {1, 0}, {2, 4}}, {0.1, 0.5, 1, 0}, {{9.675, 9.4}, {2.5, 4}}},
    {UpdateRule::kMomentum, {{10, 10}, {1, 0}, {2, 4}}, {0.1, 0.5, 0, 1}, {{9.3, 9.6}, {0.7, 0.4}}},
    // The first step of Adam moves by the rate against the gradient's sign.
    {UpdateRule::kAdam, {{1, 1}, {0, 0}, {0, 0}, {5, -0.25}}, {0.1, 0.5, 0.75, 0, 1}, {{0.9, 1.1}, {2.5, -0.125}}},
    {UpdateRule::kRmsProp, {{1, 1}, {0, 0}, {0, 0}, {2, -4}}, {0.5, 0, 0, 0, 0, 0}, {{0.5, 1.5}, {4, 16}}},
    {UpdateRule::kAdagrad, {{1, 1}, {5, 0}, {2, -4}}, {0.3, 0, 0}, {{0.8, 1.3}, {9, 16}}},
    {UpdateRule::kWeightDecay, {{10, -4}, {1, 0}}, {0.5}, {{5, -4}}},
    {UpdateRule::kClip, {{3, -0.25}}, {0.5}, {{0.5, -0.25}}},
};

template <typename T>
Napi::Object Update(const ExecutorCalls<T>& calls, const UpdateCase& each) {
  std::vector<Napi::Value> operands;
  for (const auto& operand : each.operands) {
    operands.push_back(calls.Array(std::vector<T>(operand.begin(), operand.end())));
  }
  return calls.ObjectOf({{"rule", calls.Value(static_cast<double>(each.rule))},
                         {"operands", ListOf(calls, operands)},
                         {"numbers", calls.Array(each.numbers)}});
}

TEST_CASE_TEMPLATE("update applies the rule of its number to all operands", T, float, double) {
  ExecutorCalls<T> calls;
  for (const UpdateCase& each : kUpdates) {
    const Napi::Object arguments = Update(calls, each);
    CAPTURE(static_cast<int>(each.rule));
    calls.Run("update", arguments);
    const auto operands = arguments.Get("operands").As<Napi::Array>();
    for (uint32_t k = 0; k < each.expected.size(); k++) {
      CHECK(IsNear(ElementsOf<T>(operands.Get(k)), each.expected[k]));
    }
    // The last operand is read only.
    if (each.operands.size() > 1) {
      const uint32_t last = operands.Length() - 1;
      CHECK(IsNear(ElementsOf<T>(operands.Get(last)), each.operands[last]));
    }
  }
}

TEST_CASE("update of weight decay without a mask shrinks every element") {
  ExecutorCalls<double> calls;
  const Napi::Object arguments = Update(calls, {UpdateRule::kWeightDecay, {{10, -4}}, {0.5}, {}});
  arguments.Get("operands").As<Napi::Array>().Set(1u, calls.env.Null());
  calls.Run("update", arguments);
  CHECK(ElementsOf<double>(arguments.Get("operands").As<Napi::Array>().Get(0u)) == std::vector<double>{5, -2});
}

TEST_CASE("update refuses operands of different numbers of elements, and those of another type") {
  ExecutorCalls<float> calls;
  for (const UpdateCase& each : kUpdates) {
    for (uint32_t k = 1; k < each.operands.size(); k++) {
      const Napi::Object arguments = Update(calls, each);
      const auto operands = arguments.Get("operands").As<Napi::Array>();
      const std::vector<float> before = ElementsOf<float>(operands.Get(0u));
      operands.Set(k, calls.Array<float>({1, 2, 3}));
      CHECK(ErrorOf([&] { calls.Run("update", arguments); }) == kTransferred);
      operands.Set(k, calls.Array<double>({1, 2}));
      CHECK(ErrorOf([&] { calls.Run("update", arguments); }) == kDtype);
      CHECK(ElementsOf<float>(operands.Get(0u)) == before);
    }
  }
}

struct LayerCase {
  LayerOp op;
  std::vector<std::vector<double>> operands;  // results first
  std::vector<double> numbers;
  std::vector<int32_t> lengths;
  std::vector<std::vector<double>> expected;
};

const double kNan = std::numeric_limits<double>::quiet_NaN();

// Small problems by hand; results are NaN before.
const std::vector<LayerCase> kLayers = {
    // relu bounded by 6
    {LayerOp::kActivate, {{kNan, kNan, kNan}, {-1, 2, 9}}, {2, 1, 3, 6}, {}, {{0, 2, 6}}},
    {LayerOp::kActivationGradient, {{kNan, kNan, kNan}, {0, 2, 6}, {5, 5, 5}}, {2, 1, 3, 6}, {}, {{0, 5, 0}}},
    // (1, 3): mean 2, deviation 1
    {LayerOp::kLayerNorm, {{kNan, kNan}, {1, 3}, {10, 10}, {1, 2}}, {1, 2, 0}, {}, {{-9, 12}}},
    // Both columns of the normalized row get the same gradient: nothing is left of it in x.
    {LayerOp::kLayerNormGradients,
     {{kNan, kNan}, {kNan, kNan}, {kNan, kNan}, {1, 3}, {1, 1}, {4, 4}},
     {1, 2, 0},
     {},
     {{0, 0}, {-4, 4}, {4, 4}}},
    // Three steps of two rows of one column; the second row has two steps.
    {LayerOp::kMaskSequence,
     {std::vector<double>(6, kNan), {1, 2, 3, 4, 5, 6}},
     {3, 2, 1},
     {3, 2},
     {{1, 2, 3, 4, 5, 0}}},
    {LayerOp::kReverseSequence,
     {std::vector<double>(6, kNan), {1, 2, 3, 4, 5, 6}},
     {3, 2, 1},
     {3, 2},
     {{5, 4, 3, 2, 1, 0}}},
    {LayerOp::kPoolSequence, {{kNan, kNan}, {1, 2, 3, 4, 5, 6}}, {3, 2, 1, 0, 1}, {3, 2}, {{5, 4}}},
    {LayerOp::kPoolSequence, {{kNan, kNan}, {1, 2, 3, 4, 5, 6}}, {3, 2, 1, 1, 1}, {3, 2}, {{3, 3}}},
    {LayerOp::kPoolSequence, {{kNan, kNan}, {1, 2, 3, 4, 5, 6}}, {3, 2, 1, 2, 1}, {3, 1}, {{5, 2}}},
    {LayerOp::kPoolSequenceGradient,
     {std::vector<double>(6, kNan), {1, 2, 3, 4, 5, 6}, {6, 8}},
     {3, 2, 1, 1, 1},
     {3, 2},
     {{2, 4, 2, 4, 2, 0}}},
    // Equal scores: the mean of the row's own steps.
    {LayerOp::kAttend,
     {{kNan, kNan}, std::vector<double>(6, kNan), {1, 2, 3, 4, 5, 6}, {7, 7, 7, 7, 7, 7}},
     {3, 2, 1},
     {3, 2},
     {{3, 3}, {1. / 3, .5, 1. / 3, .5, 1. / 3, 0}}},
    // x·dy of the two steps are 2 and 6, their mean 4.
    {LayerOp::kAttendGradients, {{kNan, kNan}, {kNan, kNan}, {1, 3}, {.5, .5}, {2}}, {2, 1, 1}, {}, {{1, 1}, {-1, 1}}},
    // Squared errors 1 and 9
    {LayerOp::kElementLoss, {{kNan}, {kNan, kNan}, {1, 3}, {2, 0}}, {0, 1, 2}, {}, {{5}, {-1, 3}}},
};

template <typename T>
Napi::Object Layer(const ExecutorCalls<T>& calls, const LayerCase& each) {
  std::vector<Napi::Value> operands;
  std::vector<double> counts;
  for (const auto& operand : each.operands) {
    operands.push_back(calls.Array(std::vector<T>(operand.begin(), operand.end())));
    counts.push_back(static_cast<double>(operand.size()));
  }
  return calls.ObjectOf({{"op", calls.Value(static_cast<double>(each.op))},
                         {"operands", ListOf(calls, operands)},
                         {"counts", calls.Array(counts)},
                         {"lengths", each.lengths.empty() ? calls.env.Null() : Napi::Value(calls.Array(each.lengths))},
                         {"numbers", calls.Array(each.numbers)}});
}

TEST_CASE_TEMPLATE("layer runs the operation of its number, with its lengths", T, float, double) {
  ExecutorCalls<T> calls;
  for (const LayerCase& each : kLayers) {
    const Napi::Object arguments = Layer(calls, each);
    CAPTURE(static_cast<int>(each.op));
    calls.Run("layer", arguments);
    const auto operands = arguments.Get("operands").As<Napi::Array>();
    for (uint32_t k = 0; k < each.operands.size(); k++) {
      // Results, then operands that were read and not written.
      const bool is_result = k < each.expected.size();
      CHECK(IsNear(ElementsOf<T>(operands.Get(k)), is_result ? each.expected[k] : each.operands[k]));
    }
  }
}

TEST_CASE("layer refuses operands of another number of elements than was checked, and writes nothing") {
  ExecutorCalls<double> calls;
  for (const LayerCase& each : kLayers) {
    for (uint32_t k = 0; k < each.operands.size(); k++) {
      const Napi::Object arguments = Layer(calls, each);
      const auto operands = arguments.Get("operands").As<Napi::Array>();
      Transfer(operands.Get(k).As<Napi::Object>());
      CAPTURE(static_cast<int>(each.op));
      CAPTURE(k);
      CHECK(ErrorOf([&] { calls.Run("layer", arguments); }) == kTransferred);
      if (k > 0) CHECK(std::isnan(ElementsOf<double>(operands.Get(0u))[0]));
    }
  }
}

// A job of tensors of any shape: its operands, the result first, and the numbers of its rule and its walks.
template <typename T>
Napi::Object TensorJob(const ExecutorCalls<T>& calls, const std::vector<std::vector<T>>& operands, double rule,
                       const std::vector<double>& walks) {
  std::vector<Napi::Value> arrays;
  std::vector<double> numbers{rule};
  for (const auto& operand : operands) {
    arrays.push_back(calls.Array(operand));
    numbers.push_back(static_cast<double>(operand.size()));
  }
  numbers.insert(numbers.end(), walks.begin(), walks.end());
  return calls.ObjectOf({{"operands", ListOf(calls, arrays)}, {"numbers", calls.Array(numbers)}});
}

// Two rows of three: y, then a column, then a row.
const std::vector<double> kTwoByThree{1, 1, 2, 3, 0, 0, 0, 3, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1};
// y of three from x [2,3], and the walk down a column.
const std::vector<double> kDownColumns{1, 1, 1, 3, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 1, 1, 2, 0, 0, 0, 0, 3};

TEST_CASE_TEMPLATE("elements, reduce and products run by their walks", T, float, double) {
  ExecutorCalls<T> calls;
  const auto result = [](const Napi::Object& job) {
    return ElementsOf<T>(job.Get("operands").As<Napi::Array>().Get(0u));
  };
  const Napi::Object sum = TensorJob<T>(calls, {{0, 0, 0, 0, 0, 0}, {10, 20}, {1, 2, 3}}, 1, kTwoByThree);
  calls.Run("elements", sum);
  CHECK(IsNear(result(sum), {11, 12, 13, 21, 22, 23}));
  const Napi::Object columns = TensorJob<T>(calls, {{0, 0, 0}, {1, 2, 3, 4, 5, 9}}, 1, kDownColumns);
  calls.Run("reduce", columns);
  CHECK(IsNear(result(columns), {2.5, 3.5, 6}));
  // Two products of [1,2]·[2,1], whose right factor is the same.
  const Napi::Object products =
      calls.ObjectOf({{"c", calls.template Array<T>({8, 8})},
                      {"a", calls.template Array<T>({1, 2, 3, 4})},
                      {"b", calls.template Array<T>({5, 6})},
                      {"sizes", calls.template Array<double>({2., 1., 2., 0., 1., 1., 2., 0., 0.})}});
  calls.Run("products", products);
  CHECK(IsNear(ElementsOf<T>(products.Get("c")), {17, 39}));
}

TEST_CASE("elements and reduce refuse operands of another number of elements than was checked, and fewer numbers") {
  ExecutorCalls<double> calls;
  for (const uint32_t k : {0u, 1u}) {
    const Napi::Object job = TensorJob<double>(calls, {{0, 0, 0}, {1, 2, 3, 4, 5, 9}}, 1, kDownColumns);
    Transfer(job.Get("operands").As<Napi::Array>().Get(k).As<Napi::Object>());
    CHECK(ErrorOf([&] { calls.Run("reduce", job); }) == kTransferred);
  }
  for (const char* const name : {"elements", "reduce"}) {
    const Napi::Object job = TensorJob<double>(calls, {{0}, {1}}, 0, {1, 1, 1, 1});
    CHECK(ErrorOf([&] { calls.Run(name, job); }) == kTransferred);
  }
  const Napi::Object products = calls.ObjectOf({{"c", calls.Array<double>({0., 0.})},
                                                {"a", calls.Array<double>({1., 2., 3., 4.})},
                                                {"b", calls.Array<double>({5.})},
                                                {"sizes", calls.Array<double>({2., 1., 2., 0., 1., 1., 2., 0., 0.})}});
  CHECK(ErrorOf([&] { calls.Run("products", products); }) == kTransferred);
}

TEST_CASE("layer refuses lengths that were transferred or are those of another batch") {
  ExecutorCalls<double> calls;
  for (const LayerCase& each : kLayers) {
    if (each.lengths.empty()) continue;
    CAPTURE(static_cast<int>(each.op));
    const Napi::Object arguments = Layer(calls, each);
    Transfer(arguments.Get("lengths").As<Napi::Object>());
    CHECK(ErrorOf([&] { calls.Run("layer", arguments); }) == kTransferred);
    arguments.Set("lengths", calls.Array<int32_t>({1}));
    CHECK(ErrorOf([&] { calls.Run("layer", arguments); }) == kTransferred);
    arguments.Set("lengths", calls.Array<double>({3, 2}));
    CHECK(ErrorOf([&] { calls.Run("layer", arguments); }) == kDtype);
    CHECK(std::isnan(ElementsOf<double>(arguments.Get("operands").As<Napi::Array>().Get(0u))[0]));
  }
}

struct Refusal {
  const char* operation;
  std::function<Napi::Object(const ExecutorCalls<float>&)> arguments;
  std::vector<const char*> floats, integers, doubles;
  std::vector<const char*> results;
};

// Operations with named arrays.
const std::vector<Refusal> kNamed = {
    {"linear", Linear<float>, {"input", "kernel", "bias", "output"}, {}, {}, {"output"}},
    {"linearGradients",
     LinearGradients<float>,
     {"input", "kernel", "dOutput", "dInput", "dKernel", "dBias"},
     {},
     {},
     {"dInput", "dKernel", "dBias"}},
    {"addProduct", AddProduct<float>, {"c", "a", "b"}, {}, {"layout"}, {"c"}},
    {"embedding", Embedding<float>, {"table", "output"}, {"ids"}, {}, {"output"}},
    {"embeddingGradient", Embedding<float>, {"table", "output"}, {"ids"}, {}, {"table"}},
    {"softmaxCrossEntropy", CrossEntropy<float>, {"logits", "loss", "gradient"}, {"labels"}, {}, {"loss", "gradient"}},
    {"ctcLoss",
     Ctc<float>,
     {"logits", "rowLosses", "gradient", "loss"},
     {"labels", "labelLengths", "logitLengths"},
     {"rowWeights"},
     {"rowLosses", "gradient", "loss"}},
};

TEST_CASE(
    "an operation refuses each of its arrays that was transferred, and each of another type, and writes nothing") {
  ExecutorCalls<float> calls;
  for (const Refusal& each : kNamed) {
    CAPTURE(each.operation);
    const auto unchanged = [&](const Napi::Object& arguments, const std::string& changed) {
      const Napi::Object fresh = each.arguments(calls);
      for (const char* result : each.results) {
        if (result != changed) CHECK(ElementsOf<float>(arguments, result) == ElementsOf<float>(fresh, result));
      }
    };
    const auto refuses = [&](const char* name, const Napi::Object& of_other_type) {
      CAPTURE(name);
      const Napi::Object transferred = each.arguments(calls);
      Transfer(transferred.Get(name).As<Napi::Object>());
      CHECK(ErrorOf([&] { calls.Call(calls.executor, each.operation, transferred); }) == kTransferred);
      unchanged(transferred, name);
      const Napi::Object mistyped = each.arguments(calls);
      mistyped.Set(name, of_other_type);
      CHECK(ErrorOf([&] { calls.Call(calls.executor, each.operation, mistyped); }) == kDtype);
      unchanged(mistyped, name);
    };
    for (const char* name : each.floats) refuses(name, calls.Array<double>({1}));
    for (const char* name : each.integers) refuses(name, calls.Array<float>({1}));
    for (const char* name : each.doubles) refuses(name, calls.Array<float>({1}));
  }
}

}  // namespace
}  // namespace cudnn_rnn
