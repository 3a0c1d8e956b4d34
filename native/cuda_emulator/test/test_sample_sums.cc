// The sums that NVIDIA prints with its cuDNN 8 RNN sample (RNN_v8.0): T 20, L 2, I = H = 512, B 64, float32; inputs,
// states and incoming gradients 1, every matrix constant 1/(rows·columns), biases 1. Tolerance is the sample's own.

#include <numeric>

#include "test/network.h"

namespace {

constexpr double kTolerance = 1e-3;

struct Sums {
  int mode;
  double y, hy, cy, dx, dhx, dcx, dw;
};

double Sum(const DeviceArray<float>& array) {
  const std::vector<float> values = array.Read();
  return std::accumulate(values.begin(), values.end(), 0.0);
}

void Run(const Sums& expected) {
  NetworkOptions options;
  options.mode = expected.mode;
  options.layers = 2;
  options.input = options.hidden = 512;
  options.lengths.assign(64, 20);
  Network<float> network(options);

  std::vector<float> weights(network.WeightCount(), 1.0f);
  const std::size_t gates = expected.mode == CUDNN_LSTM ? 4 : expected.mode == CUDNN_GRU ? 3 : 1;
  std::fill_n(weights.begin(), 2 * 2 * gates * 512 * 512, 1.0f / (512 * 512));
  const DeviceArray<float> w(weights), x(network.InputCount(), 1), h(network.HiddenCount(), 1),
      dy(network.OutputCount(), 1);
  const DeviceArray<float> y(network.OutputCount()), hy(network.HiddenCount()), cy(network.CellCount());
  const DeviceArray<float> dx(network.InputCount()), dhx(network.HiddenCount()), dcx(network.CellCount());
  const DeviceArray<float> dw(network.WeightCount());
  const bool lstm = expected.mode == CUDNN_LSTM;
  const float* c = lstm ? h.get() : nullptr;
  CHECK_EQUAL(network.Forward(w.get(), x.get(), h.get(), c, y.get(), hy.get(), lstm ? cy.get() : nullptr), 0);
  CHECK_EQUAL(network.BackwardData(w.get(), y.get(), dy.get(), dx.get(), h.get(), h.get(), dhx.get(), c, c,
                                   lstm ? dcx.get() : nullptr),
              0);
  CHECK_EQUAL(network.BackwardWeights(x.get(), h.get(), y.get(), dw.get()), 0);
  CHECK_NEAR(Sum(y), expected.y, kTolerance);
  CHECK_NEAR(Sum(hy), expected.hy, kTolerance);
  CHECK_NEAR(Sum(dx), expected.dx, kTolerance);
  CHECK_NEAR(Sum(dhx), expected.dhx, kTolerance);
  CHECK_NEAR(Sum(dw), expected.dw, kTolerance);
  if (lstm) {
    CHECK_NEAR(Sum(cy), expected.cy, kTolerance);
    CHECK_NEAR(Sum(dcx), expected.dcx, kTolerance);
  }
  CHECK_EQUAL(Violations(), "[]");
}

TEST(relu, "RNN with ReLU reproduces the sums of NVIDIA's sample") {
  Run({CUDNN_RNN_RELU, 1.315793e6, 1.315212e5, 0, 66.76003, 64.2505, 0, 1.453750e9});
}
TEST(tanh, "RNN with tanh reproduces the sums of NVIDIA's sample") {
  Run({CUDNN_RNN_TANH, 6.319591e5, 6.319605e4, 0, 4.50183, 4.489543, 0, 5.012598e7});
}
TEST(lstm, "LSTM reproduces the sums of NVIDIA's sample") {
  Run({CUDNN_LSTM, 5.749536e5, 5.774818e4, 4.365091e5, 384.2206, 11.82562, 9323.785, 4.313461e8});
}
TEST(gru, "GRU reproduces the sums of NVIDIA's sample") {
  Run({CUDNN_GRU, 6.358978e5, 6.28168e4, 0, 6.296622, 2.28996e5, 0, 5.397419e7});
}

}  // namespace

int main(int argc, char** argv) {
  UseFolder(argc, argv);
  return check::RunTests();
}
