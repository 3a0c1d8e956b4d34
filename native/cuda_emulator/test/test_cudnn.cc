// cuDNN: sizes and layout against figures of the real 9.24, validation, gradients against numerical differentiation,
// the three data layouts against each other, dropout, the order of passes, statuses by version.

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>

#include "test/network.h"

namespace {

constexpr int kBadParam[] = {3, 2000};
constexpr int kNotSupported[] = {9, 3000};
int Status(const int (&by_version)[2]) { return by_version[TheFolder().cudnn >= 9 ? 1 : 0]; }

bool Broke(const char* words) { return Violations().find(words) != std::string::npos; }

std::vector<double> Random(std::size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal(0, 0.5);
  std::vector<double> values(count);
  for (double& value : values) value = normal(engine);
  return values;
}

// All arrays of a training step, with a loss Σ y·dy + hy·dhy + cy·dcy whose gradients the backward passes must give.
struct Step {
  explicit Step(const NetworkOptions& options)
      : network(options),
        lstm(options.mode == CUDNN_LSTM),
        w(Random(network.WeightCount(), 1)),
        x(Random(network.InputCount(), 2)),
        hx(Random(network.HiddenCount(), 3)),
        cx(Random(network.CellCount(), 4)),
        dy(Random(network.OutputCount(), 5)),
        dhy(Random(network.HiddenCount(), 6)),
        dcy(Random(network.CellCount(), 7)) {}

  struct Results {
    std::vector<double> y, hy, cy;
  };

  Results Forward() {
    const DeviceArray<double> dw(w), dx(x), dhx(hx), dcx(cx);
    const DeviceArray<double> y(network.OutputCount()), hy(network.HiddenCount()), cy(network.CellCount());
    CHECK_EQUAL(network.Forward(dw.get(), dx.get(), dhx.get(), lstm ? dcx.get() : nullptr, y.get(), hy.get(),
                                lstm ? cy.get() : nullptr),
                0);
    return {y.Read(), hy.Read(), cy.Read()};
  }

  double Loss() {
    if (network.o.dropout > 0) network.SeedDropout();
    const Results results = Forward();
    double loss = std::inner_product(dhy.begin(), dhy.end(), results.hy.begin(), 0.0);
    if (lstm) loss += std::inner_product(dcy.begin(), dcy.end(), results.cy.begin(), 0.0);
    // Padding is 0 in y, so it adds nothing.
    return std::inner_product(dy.begin(), dy.end(), results.y.begin(), loss);
  }

  struct Gradients {
    std::vector<double> w, x, hx, cx;
  };

  Gradients Backward() {
    const DeviceArray<double> aw(w), ax(x), ahx(hx), acx(cx), ady(dy), adhy(dhy), adcy(dcy);
    const DeviceArray<double> y(network.OutputCount()), hy(network.HiddenCount()), cy(network.CellCount());
    const DeviceArray<double> dw(network.WeightCount()), dx(network.InputCount()), dhx(network.HiddenCount()),
        dcx(network.CellCount());
    const double* c = lstm ? acx.get() : nullptr;
    CHECK_EQUAL(network.Forward(aw.get(), ax.get(), ahx.get(), c, y.get(), hy.get(), lstm ? cy.get() : nullptr), 0);
    CHECK_EQUAL(network.BackwardData(aw.get(), y.get(), ady.get(), dx.get(), ahx.get(), adhy.get(), dhx.get(), c,
                                     lstm ? adcy.get() : nullptr, lstm ? dcx.get() : nullptr),
                0);
    CHECK_EQUAL(network.BackwardWeights(ax.get(), ahx.get(), y.get(), dw.get()), 0);
    return {dw.Read(), dx.Read(), dhx.Read(), dcx.Read()};
  }

  Network<double> network;
  bool lstm;
  std::vector<double> w, x, hx, cx, dy, dhy, dcy;
};

// Central differences of the loss in every 3rd element of `values`.
void CheckGradient(Step& step, std::vector<double>& values, const std::vector<double>& gradient, const char* name) {
  constexpr double kStep = 1e-5;
  for (std::size_t i = 0; i < values.size(); i += 3) {
    const double value = values[i];
    values[i] = value + kStep;
    const double above = step.Loss();
    values[i] = value - kStep;
    const double below = step.Loss();
    values[i] = value;
    const double expected = (above - below) / (2 * kStep);
    if (std::abs(gradient[i] - expected) > 1e-7 * std::max(1.0, std::abs(expected))) {
      std::printf("    gradient of %s[%zu] is %.10g, not %.10g\n", name, i, gradient[i], expected);
      ++check::Failures();
      return;
    }
  }
}

void CheckGradients(const NetworkOptions& options) {
  Configure("reset");
  Step step(options);
  if (options.dropout > 0) step.network.SeedDropout();
  const Step::Gradients gradients = step.Backward();
  CheckGradient(step, step.w, gradients.w, "w");
  CheckGradient(step, step.x, gradients.x, "x");
  CheckGradient(step, step.hx, gradients.hx, "hx");
  if (step.lstm) CheckGradient(step, step.cx, gradients.cx, "cx");
  CHECK_EQUAL(Violations(), "[]");
}

TEST(gradients_modes, "BackwardData and BackwardWeights give the gradients of all cells") {
  for (const int mode : {CUDNN_RNN_RELU, CUDNN_RNN_TANH, CUDNN_LSTM, CUDNN_GRU}) CheckGradients({.mode = mode});
}
TEST(gradients_biases, "gradients are right for all bias modes") {
  for (const int bias : {CUDNN_RNN_NO_BIAS, CUDNN_RNN_SINGLE_INP_BIAS, CUDNN_RNN_SINGLE_REC_BIAS}) {
    CheckGradients({.mode = CUDNN_GRU, .bias = bias});
  }
}
TEST(gradients_stacks, "gradients are right for layers, both directions and unequal lengths") {
  for (const int mode : {CUDNN_RNN_TANH, CUDNN_LSTM, CUDNN_GRU}) {
    CheckGradients({.mode = mode, .direction = CUDNN_BIDIRECTIONAL, .layers = 3, .lengths = {2, 4, 1}});
  }
}
TEST(gradients_projection, "gradients are right with projection") {
  CheckGradients({.direction = CUDNN_BIDIRECTIONAL, .projection = 2, .layers = 2, .lengths = {3, 2}});
}
TEST(gradients_skip, "gradients are right with skip input") {
  CheckGradients({.mode = CUDNN_GRU, .input_mode = CUDNN_SKIP_INPUT, .input = 4, .layers = 2});
}
TEST(gradients_clip, "gradients are right with a clipped cell state") { CheckGradients({.layers = 2, .clip = 0.2}); }

TEST(layouts, "the three data layouts hold the same numbers") {
  const std::vector<int> lengths = {4, 3, 1};
  NetworkOptions options{.direction = CUDNN_BIDIRECTIONAL, .layers = 2, .lengths = lengths};
  Step unpacked(options);
  options.layout = CUDNN_BATCH_MAJOR_UNPACKED;
  Step batch_major(options);
  options.layout = CUDNN_SEQ_MAJOR_PACKED;
  Step packed(options);
  const std::size_t input = 3, output = 8;
  std::size_t row = 0;
  for (std::size_t t = 0; t < 4; ++t) {
    for (std::size_t b = 0; b < 3; ++b) {
      const double* from = unpacked.x.data() + (t * 3 + b) * input;
      std::copy_n(from, input, batch_major.x.begin() + static_cast<std::ptrdiff_t>((b * 4 + t) * input));
      if (static_cast<std::size_t>(lengths[b]) <= t) continue;
      std::copy_n(from, input, packed.x.begin() + static_cast<std::ptrdiff_t>(row++ * input));
    }
  }
  const Step::Results a = unpacked.Forward(), b = batch_major.Forward(), c = packed.Forward();
  CHECK(a.hy == b.hy && a.hy == c.hy && a.cy == c.cy);
  row = 0;
  for (std::size_t t = 0; t < 4; ++t) {
    for (std::size_t n = 0; n < 3; ++n) {
      const bool padding = static_cast<std::size_t>(lengths[n]) <= t;
      for (std::size_t j = 0; j < output; ++j) {
        const double value = a.y[(t * 3 + n) * output + j];
        CHECK_EQUAL(b.y[(n * 4 + t) * output + j], value);
        CHECK_EQUAL(padding ? 0.0 : c.y[row * output + j], value);
      }
      row += !padding;
    }
  }
}

TEST(gradients_dropout, "gradients are right with dropout, under one mask") {
  CheckGradients(
      {.mode = CUDNN_GRU, .direction = CUDNN_BIDIRECTIONAL, .layers = 3, .lengths = {2, 4}, .dropout = 0.4f});
}

TEST(dropout_masks, "each pass draws a mask, and a seed brings the masks back") {
  Step step({.mode = CUDNN_RNN_RELU, .hidden = 64, .layers = 2, .dropout = 0.25f});
  const std::vector<double> first = step.Forward().y, second = step.Forward().y;
  step.network.SeedDropout();
  CHECK(first != second);
  CHECK(first == step.Forward().y);
}

TEST(dropout_share, "dropout keeps the mean: dropped elements are 0, others scaled") {
  // One relu layer under an identity: the second layer's W is the unit matrix, R and biases are 0.
  constexpr std::size_t kUnits = 32, kBatch = 64;
  Network<double> network({.mode = CUDNN_RNN_RELU,
                           .bias = CUDNN_RNN_NO_BIAS,
                           .input = 1,
                           .hidden = kUnits,
                           .layers = 2,
                           .lengths = std::vector<int>(kBatch, 1),
                           .dropout = 0.25f});
  std::vector<double> w(network.WeightCount());
  std::fill_n(w.begin(), kUnits, 1.0);  // W of layer 0: every unit is x
  for (std::size_t i = 0; i < kUnits; ++i) w[kUnits + kUnits * kUnits + i * kUnits + i] = 1;
  const DeviceArray<double> weights(w), x(kBatch, 1.0), y(kBatch * kUnits);
  CHECK_EQUAL(network.Forward(weights.get(), x.get(), nullptr, nullptr, y.get(), nullptr, nullptr), 0);
  std::size_t dropped = 0;
  for (const double value : y.Read()) {
    CHECK(value == 0 || value == 1 / 0.75);
    dropped += value == 0;
  }
  const double share = static_cast<double>(dropped) / (kBatch * kUnits);
  CHECK(share > 0.2 && share < 0.3);
}

// Figures of cuDNN 9.24: LSTM, X = H = 512, T 70.
TEST(reserve, "the reserve space has the sizes of cuDNN 9.24") {
  CHECK_EQUAL(Network<float>({.input = 512, .hidden = 512, .lengths = {70}}).reserve_bytes, std::size_t{717'056});
  CHECK_EQUAL(Network<float>({.input = 512, .hidden = 512, .lengths = std::vector<int>(64, 70)}).reserve_bytes,
              std::size_t{45'875'456});
  CHECK_EQUAL(Network<double>({.input = 512, .hidden = 512, .lengths = std::vector<int>(64, 70)}).reserve_bytes,
              std::size_t{91'750'656});
}

struct Descriptor {
  Descriptor() { dnn().cudnnCreateRNNDescriptor(&rnn); }
  ~Descriptor() { dnn().cudnnDestroyRNNDescriptor(rnn); }
  cudnnStatus_t Set(int algo, int mode, int bias, int dtype, int precision, int input, int hidden, int proj, int layers,
                    unsigned flags = 0) {
    return dnn().cudnnSetRNNDescriptor_v8(rnn, algo, mode, bias, 0, 0, dtype, precision, 0, input, hidden, proj, layers,
                                          nullptr, flags);
  }
  cudnnRNNDescriptor_t rnn = nullptr;
};
const auto kAnyHandle = reinterpret_cast<cudnnHandle_t>(1);  // all that the weight queries require

TEST(set_rules, "cudnnSetRNNDescriptor_v8 accepts and refuses as the real one") {
  Descriptor d;
  const int f32 = CUDNN_DATA_FLOAT, f64 = CUDNN_DATA_DOUBLE, f16 = CUDNN_DATA_HALF, bf16 = CUDNN_DATA_BFLOAT16;
  const int ok = 0, bad = Status(kBadParam), no = Status(kNotSupported);
  CHECK_EQUAL(d.Set(0, CUDNN_LSTM, 2, f32, f32, 3, 4, 4, 1), ok);
  CHECK_EQUAL(d.Set(0, CUDNN_LSTM, 2, f64, f64, 3, 4, 2, 100000), ok);
  CHECK_EQUAL(d.Set(0, CUDNN_LSTM, 2, f16, f16, 3, 4, 4, 1), ok);
  CHECK_EQUAL(d.Set(0, CUDNN_LSTM, 2, bf16, f32, 3, 4, 4, 1), TheFolder().cudnn >= 9 ? ok : no);
  CHECK_EQUAL(d.Set(0, CUDNN_LSTM, 2, bf16, bf16, 3, 4, 4, 1), no);
  CHECK_EQUAL(d.Set(0, CUDNN_LSTM, 2, f32, f64, 3, 4, 4, 1), no);
  CHECK_EQUAL(d.Set(0, CUDNN_LSTM, 2, f32, f32, 0, 4, 4, 1), bad);
  CHECK_EQUAL(d.Set(0, CUDNN_LSTM, 2, f32, f32, 3, 4, 0, 1), bad);
  CHECK_EQUAL(d.Set(0, CUDNN_LSTM, 2, f32, f32, 3, 4, 5, 1), no);
  CHECK_EQUAL(d.Set(0, CUDNN_GRU, 2, f32, f32, 3, 4, 2, 1), no);
  CHECK_EQUAL(d.Set(0, CUDNN_LSTM, 2, f32, f32, 3, 4, 4, 1, 2), bad);
  CHECK_EQUAL(d.Set(4, CUDNN_LSTM, 2, f32, f32, 3, 4, 4, 1), bad);
  CHECK_EQUAL(d.Set(1, CUDNN_LSTM, 1, f32, f32, 3, 4, 4, 1), no);
  CHECK_EQUAL(d.Set(1, CUDNN_LSTM, 2, f64, f64, 3, 4, 4, 1), no);
  CHECK_EQUAL(d.Set(2, CUDNN_LSTM, 2, f64, f64, 3, 4, 4, 1), ok);
  CHECK_EQUAL(dnn().cudnnRNNSetClip_v8(d.rnn, 1, 0, 1.0, -1.0), bad);
}

TEST(weight_size, "cudnnGetRNNWeightSpaceSize is exact, and wrong from 2^31 elements on, as the real one") {
  Descriptor d;
  std::size_t bytes = 0;
  d.Set(0, CUDNN_LSTM, 2, CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT, 8192, 8192, 8192, 3);
  CHECK_EQUAL(dnn().cudnnGetRNNWeightSpaceSize(kAnyHandle, d.rnn, &bytes), 0);
  CHECK_EQUAL(bytes, (std::size_t{3} * 8 * 8192 * 8192 + 3 * 8 * 8192) * 4);
  d.Set(0, CUDNN_LSTM, 2, CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT, 8192, 8192, 8192, 4);
  CHECK_EQUAL(dnn().cudnnGetRNNWeightSpaceSize(kAnyHandle, d.rnn, &bytes), 0);
  CHECK(bytes != std::size_t{8'590'983'168});
  CHECK_EQUAL(dnn().cudnnGetRNNWeightSpaceSize(nullptr, d.rnn, &bytes), Status(kBadParam));
}

TEST(weight_params, "cudnnGetRNNWeightParams: matrices by pseudo-layer, then biases; absent pieces are null") {
  Descriptor d;
  dnn().cudnnSetRNNDescriptor_v8(d.rnn, 0, CUDNN_LSTM, CUDNN_RNN_SINGLE_REC_BIAS, CUDNN_BIDIRECTIONAL,
                                 CUDNN_LINEAR_INPUT, CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT, 0, 3, 4, 2, 2, nullptr, 0);
  cudnnTensorDescriptor_t m = nullptr, b = nullptr;
  dnn().cudnnCreateTensorDescriptor(&m);
  dnn().cudnnCreateTensorDescriptor(&b);
  char* const base = reinterpret_cast<char*>(0x10000000);
  // Per pseudo-layer of layer 0: W 4·4·3, R 4·4·2, projection 2·4 = 88 elements; of layer 1: W 4·4·4 → 104.
  const std::ptrdiff_t matrices = 2 * 88 + 2 * 104;
  struct Case {
    int pseudo, id;
    std::ptrdiff_t matrix, bias;  // in elements; -1: none
  };
  for (const Case& c : {Case{0, 0, 0, -1}, Case{0, 4, 48, matrices}, Case{0, 8, 80, -1}, Case{1, 1, 88 + 12, -1},
                        Case{2, 5, 176 + 64 + 8, matrices + 2 * 16 + 4}}) {
    void *matrix = nullptr, *bias = nullptr;
    CHECK_EQUAL(dnn().cudnnGetRNNWeightParams(kAnyHandle, d.rnn, c.pseudo, 1, base, c.id, m, &matrix, b, &bias), 0);
    CHECK_EQUAL(matrix, static_cast<void*>(base + 4 * c.matrix));
    CHECK_EQUAL(bias, c.bias < 0 ? nullptr : static_cast<void*>(base + 4 * c.bias));
    int dtype = 0, rank = 0, dims[3] = {}, strides[3] = {};
    dnn().cudnnGetTensorNdDescriptor(b, 3, &dtype, &rank, dims, strides);
    CHECK_EQUAL(rank, c.bias < 0 ? 0 : 3);
  }
  void* address = nullptr;
  CHECK_EQUAL(dnn().cudnnGetRNNWeightParams(kAnyHandle, d.rnn, 4, 1, base, 0, m, &address, b, &address),
              Status(kBadParam));
  CHECK_EQUAL(dnn().cudnnGetRNNWeightParams(kAnyHandle, d.rnn, 0, 1, base, 9, m, &address, b, &address),
              Status(kBadParam));
  dnn().cudnnDestroyTensorDescriptor(m);
  dnn().cudnnDestroyTensorDescriptor(b);
}

TEST(data_rules, "cudnnSetRNNDataDescriptor accepts and refuses as the real one") {
  cudnnRNNDataDescriptor_t d = nullptr;
  dnn().cudnnCreateRNNDataDescriptor(&d);
  const auto set = [&](int layout, int time, std::vector<int> lengths) {
    return dnn().cudnnSetRNNDataDescriptor(d, CUDNN_DATA_FLOAT, layout, time, static_cast<int>(lengths.size()), 3,
                                           lengths.data(), nullptr);
  };
  CHECK_EQUAL(set(CUDNN_SEQ_MAJOR_UNPACKED, 5, {1, 0, 3}), 0);
  CHECK_EQUAL(set(CUDNN_SEQ_MAJOR_UNPACKED, 5, {6}), Status(kBadParam));
  CHECK_EQUAL(set(CUDNN_SEQ_MAJOR_PACKED, 5, {5, 3, 1}), 0);
  CHECK_EQUAL(set(CUDNN_SEQ_MAJOR_PACKED, 5, {3, 5}), Status(kBadParam));
  CHECK_EQUAL(set(CUDNN_SEQ_MAJOR_PACKED, 5, {5, 0}), Status(kBadParam));
  CHECK_EQUAL(set(CUDNN_SEQ_MAJOR_PACKED, 5, {4, 3}), Status(kBadParam));
  CHECK_EQUAL(set(CUDNN_SEQ_MAJOR_UNPACKED, 65535, {65535}), 0);
  CHECK_EQUAL(set(CUDNN_SEQ_MAJOR_UNPACKED, 65536, {65535}), Status(kNotSupported));
  dnn().cudnnDestroyRNNDataDescriptor(d);
}

TEST(reserve_misuse, "a reserve space is good for one BackwardData, then for BackwardWeights") {
  for (const bool data_twice : {false, true}) {
    Configure("reset");
    Step step(NetworkOptions{});
    Network<double>& n = step.network;
    const DeviceArray<double> w(step.w), x(step.x), y(n.OutputCount()), dy(step.dy), dx(n.InputCount()),
        dw(n.WeightCount());
    CHECK_EQUAL(n.Forward(w.get(), x.get(), nullptr, nullptr, y.get(), nullptr, nullptr), 0);
    const auto data = [&] {
      n.BackwardData(w.get(), y.get(), dy.get(), dx.get(), nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
    };
    if (data_twice) {
      data();
      data();
    } else {
      n.BackwardWeights(x.get(), nullptr, y.get(), dw.get());
    }
    CHECK_EQUAL(cuda().cudaDeviceSynchronize(), cudaErrorLaunchFailure);
    CHECK(Broke("reserve space"));
    Configure("reset");
  }
}

TEST(changed_weights, "weights that change between forward and BackwardData are reported") {
  Configure("reset");
  Step step(NetworkOptions{});
  Network<double>& n = step.network;
  const DeviceArray<double> w(step.w), x(step.x), y(n.OutputCount()), dy(step.dy), dx(n.InputCount());
  n.Forward(w.get(), x.get(), nullptr, nullptr, y.get(), nullptr, nullptr);
  cuda().cudaMemset(w.get(), 0, 8);
  n.BackwardData(w.get(), y.get(), dy.get(), dx.get(), nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  cuda().cudaDeviceSynchronize();
  CHECK(Broke("the weights changed"));
  Configure("reset");
}

TEST(pointers, "null and host pointers are reported and break the device") {
  Configure("reset");
  Step step(NetworkOptions{});
  Network<double>& n = step.network;
  const DeviceArray<double> w(step.w), x(step.x);
  std::vector<double> host(n.OutputCount());
  CHECK_EQUAL(n.Forward(w.get(), x.get(), nullptr, nullptr, host.data(), nullptr, nullptr), 0);
  CHECK(Broke("y is a host pointer"));
  CHECK_EQUAL(cuda().cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  const int failed = TheFolder().cudnn >= 9 ? 5003 : 8;
  CHECK_EQUAL(n.Forward(w.get(), x.get(), nullptr, nullptr, host.data(), nullptr, nullptr), failed);
  Configure("reset");
}

TEST(too_small, "spaces that are too small or missing are refused, with a text in cuDNN 9") {
  Configure("reset");
  Step step(NetworkOptions{});
  Network<double>& n = step.network;
  const DeviceArray<double> w(step.w), x(step.x), y(n.OutputCount());
  n.reserve_bytes -= 1;
  CHECK_EQUAL(n.Forward(w.get(), x.get(), nullptr, nullptr, y.get(), nullptr, nullptr), Status(kBadParam));
  if (TheFolder().cudnn < 9) return;
  char text[64] = "";
  dnn().cudnnGetLastErrorString(text, sizeof text);
  CHECK_EQUAL(std::string(text), "reserveSpace");
  dnn().cudnnGetLastErrorString(text, sizeof text);
  CHECK_EQUAL(std::string(text), "");
}

TEST(graph, "a captured training step replays, and each replay draws a new mask") {
  Configure("reset");
  CHECK_EQUAL(cuda().cudaSetDevice(0), cudaSuccess);  // cudaGraphExecDestroy works in the thread's current context
  Step step({.hidden = 16, .layers = 2, .dropout = 0.5f});
  Network<double>& n = step.network;
  const DeviceArray<double> w(step.w), x(step.x), y(n.OutputCount());
  cudaStream_t stream = nullptr;
  cuda().cudaStreamCreateWithFlags(&stream, 1);
  cuda().cudaDeviceSynchronize();
  dnn().cudnnSetStream(n.handle, stream);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  CHECK_EQUAL(cuda().cudaStreamBeginCapture(stream, 1), cudaSuccess);
  CHECK_EQUAL(n.Forward(w.get(), x.get(), nullptr, nullptr, y.get(), nullptr, nullptr), 0);
  CHECK_EQUAL(cuda().cudaStreamEndCapture(stream, &graph), cudaSuccess);
  CHECK_EQUAL(cuda().cudaGraphInstantiateWithFlags(&exec, graph, 0), cudaSuccess);
  const auto replay = [&] {
    CHECK_EQUAL(cuda().cudaGraphLaunch(exec, stream), cudaSuccess);
    CHECK_EQUAL(cuda().cudaStreamSynchronize(stream), cudaSuccess);
    return y.Read();
  };
  const std::vector<double> first = replay(), second = replay();
  CHECK(first != second);
  CHECK_EQUAL(first[0], first[0]);
  cuda().cudaGraphExecDestroy(exec);
  cuda().cudaGraphDestroy(graph);
  dnn().cudnnSetStream(n.handle, nullptr);
  cuda().cudaStreamDestroy(stream);
  CHECK_EQUAL(Violations(), "[]");
}

TEST(persistent, "persistent algorithms have their limits") {
  Configure("reset");
  Network<float> n({.mode = CUDNN_LSTM, .hidden = 193, .lengths = {2, 2}});
  dnn().cudnnSetRNNDescriptor_v8(n.rnn, CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H, CUDNN_LSTM, 2, 0, 0, 0, 0, 0, 3, 193,
                                 193, 1, nullptr, 1);
  const DeviceArray<float> w(n.WeightCount()), x(n.InputCount()), y(n.OutputCount());
  CHECK_EQUAL(n.Forward(w.get(), x.get(), nullptr, nullptr, y.get(), nullptr, nullptr), Status(kNotSupported));
}

TEST(half, "16-bit arrays round to nearest even") {
  if (TheFolder().cudnn < 9) return;  // bfloat16 exists since 9.13
  for (const int dtype : {CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16}) {
    // One relu unit without state: y = w·x, in the storage type.
    Network<float> n({.mode = CUDNN_RNN_RELU, .bias = CUDNN_RNN_NO_BIAS, .input = 1, .hidden = 1, .lengths = {1}});
    const int one = 1, ones[] = {1, 1, 1};
    dnn().cudnnSetRNNDescriptor_v8(n.rnn, 0, CUDNN_RNN_RELU, 0, 0, 0, dtype, CUDNN_DATA_FLOAT, 0, 1, 1, 1, 1, nullptr,
                                   0);
    dnn().cudnnSetRNNDataDescriptor(n.x_descriptor, dtype, 0, 1, 1, 1, &one, nullptr);
    dnn().cudnnSetRNNDataDescriptor(n.y_descriptor, dtype, 0, 1, 1, 1, &one, nullptr);
    dnn().cudnnSetTensorNdDescriptor(n.h_descriptor, dtype, 3, ones, ones);
    const bool half = dtype == CUDNN_DATA_HALF;
    // w = 1 + one unit in the last place, x = 1 + three: the product is between 1 + 4 and 1 + 5 units.
    const std::uint16_t unit = half ? 0x3C00 : 0x3F80;
    const DeviceArray<std::uint16_t> w(std::vector<std::uint16_t>{static_cast<std::uint16_t>(unit + 1), 0});
    const DeviceArray<std::uint16_t> x(1, static_cast<std::uint16_t>(unit + 3)), y(1);
    n.weight_bytes = 4;
    CHECK_EQUAL(n.Forward(reinterpret_cast<const float*>(w.get()), reinterpret_cast<const float*>(x.get()), nullptr,
                          nullptr, reinterpret_cast<float*>(y.get()), nullptr, nullptr),
                0);
    CHECK_EQUAL(y.Read()[0], unit + 4);
  }
}

TEST(version, "versions can be spoofed, and sub-libraries made foreign") {
  Configure("reset");
  const bool nine = TheFolder().cudnn >= 9;
  CHECK_EQUAL(dnn().cudnnGetVersion(), std::size_t(nine ? 92400 : 8907));
  CHECK_EQUAL(nine ? dnn().cudnnAdvVersionCheck() : dnn().cudnnAdvInferVersionCheck(), 0);
  Configure(nine ? "version.cudnn_adv=90100" : "version.cudnn_adv_infer=8600");
  CHECK_EQUAL(nine ? dnn().cudnnAdvVersionCheck() : dnn().cudnnAdvInferVersionCheck(), nine ? 1002 : 14);
  Configure("version.cudnn=90100");
  CHECK_EQUAL(dnn().cudnnGetVersion(), std::size_t{90100});
  Configure("reset");
}

TEST(dead_handles, "a destroyed descriptor is refused and reported") {
  Configure("reset");
  Descriptor d;
  dnn().cudnnDestroyRNNDescriptor(d.rnn);
  CHECK_EQUAL(d.Set(0, CUDNN_LSTM, 2, 0, 0, 3, 4, 4, 1), Status(kBadParam));
  CHECK(Broke("rnnDesc was destroyed"));
  Configure("reset");
}

TEST(leaks, "everything that these tests made is released") {
  cuda().cudaDeviceSynchronize();
  const std::string report = Report();
  for (const char* kind : {"device bytes", "cudnn handles", "rnn descriptors", "rnn data descriptors",
                           "tensor descriptors", "dropout descriptors", "streams"}) {
    CHECK(report.find("\"" + std::string(kind) + "\":0") != std::string::npos);
  }
}

}  // namespace

int main(int argc, char** argv) {
  UseFolder(argc, argv);
  return check::RunTests();
}
