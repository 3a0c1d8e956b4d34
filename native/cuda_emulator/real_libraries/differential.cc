// Random descriptor and pass calls against one cuDNN: the real library on a machine without a GPU, or the emulator.
//
//     differential real|emulator FOLDER SEED FIRST COUNT
//
// Prints one line per case: its number, then `call=status` for every call. Cases depend on seed and number alone, so
// that the outputs of both libraries can be compared line by line (differential.mjs).
//
// The real library validates everything on the host before its first CUDA call, which fails with 5003 if there is no
// driver: that counts as accepted. It reads the compute capability (major·100 + minor·10) from its handle, so it gets a
// page that is full of it. The emulator records the passes in a capture and never runs them.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "test/libraries.h"

namespace {

constexpr int kFailedAtFirstCudaCall = 5003;

struct Draw {
  std::mt19937_64 engine;
  int Between(int low, int high) { return low + static_cast<int>(engine() % static_cast<unsigned>(high - low + 1)); }
  bool Once(int in) { return Between(1, in) == 1; }
  template <class T>
  T Of(const std::vector<T>& values) {
    return values[static_cast<std::size_t>(Between(0, static_cast<int>(values.size()) - 1))];
  }
};

bool is_real = false;
cudnnHandle_t handle = nullptr;
cudaStream_t stream = nullptr;
std::string line;

bool Note(const char* call, int status) {
  const bool accepted = status == 0 || (is_real && status == kFailedAtFirstCudaCall);
  line += " " + std::string(call) + "=" + std::to_string(accepted ? 0 : status);
  return accepted;
}

void Fact(const char* name, long long value) { line += " " + std::string(name) + ":" + std::to_string(value); }

/// An aligned address of the device, never dereferenced: cuDNN looks at none, and the emulator only records.
char* device_memory = nullptr;
template <class T = void>
T* Address(int index) {
  return reinterpret_cast<T*>(device_memory + (static_cast<std::ptrdiff_t>(index) << 8));
}

enum { kX, kY, kHx, kHy, kCx, kCy, kWeights, kWork, kReserve, kDy, kDx, kDhy, kDhx, kDcy, kDcx, kDw, kLengths };

/// Mostly `good`; one time in `in` one of `bad`.
template <class T>
T Mostly(Draw& draw, T good, const std::vector<T>& bad, int in = 40) {
  const bool is_bad = draw.Once(in);
  const T other = draw.Of(bad);
  return is_bad ? other : good;
}

void Run(unsigned long long seed, long number) {
  Draw draw{std::mt19937_64(seed * 1000003ull + static_cast<unsigned long long>(number))};
  const Cudnn& f = dnn();

  // Every number is drawn, for any result of the calls, so that both libraries run the same case.
  const int cell = Mostly(draw, draw.Between(0, 3), {-1, 4});
  const int algo = Mostly(draw, draw.Once(2) ? 0 : draw.Between(0, 3), {-1, 4, 5});
  const int bias = Mostly(draw, draw.Once(3) ? draw.Between(0, 3) : 2, {-1, 4});
  const int direction = Mostly(draw, draw.Between(0, 1), {-1, 2});
  const int input_mode = Mostly(draw, draw.Once(6) ? 1 : 0, {-1, 2});
  const std::vector<std::pair<int, int>> types = {{0, 0}, {1, 1}, {2, 0}, {2, 2}, {9, 0}};
  auto [dtype, precision] = draw.Of(types);
  const int other_type = draw.Of(std::vector<int>{0, 1, 2, 3, 4, 9});
  if (draw.Once(25)) precision = other_type;
  const int math = Mostly(draw, draw.Between(0, 3), {-1, 4});
  const int hidden =
      Mostly(draw, draw.Of(std::vector<int>{1, 2, 3, 8, 16, 17, 32, 64, 128, 192, 193, 256, 384, 385, 512}), {0, -1, 1536, 1537, 2560, 2561});
  const int input = Mostly(draw, input_mode == 1 && !draw.Once(4) ? hidden : draw.Between(1, 40), {0, -1, 700});
  const int proj = Mostly(draw, cell == 2 && draw.Once(4) ? std::max(1, hidden / 2) : hidden, {0, -1, hidden + 1, 1});
  const int layers = Mostly(draw, draw.Between(1, 3), {0, -1, 5});
  const int drawn_flags = draw.Between(0, 3) == 0 ? 0 : 1;
  const unsigned flags = Mostly<unsigned>(draw, static_cast<unsigned>(drawn_flags), {2u, 3u, 0x80000000u});
  const int clip = draw.Between(0, 9);
  const double clip_left = draw.Of(std::vector<double>{-1, -0.5, 0, 1, NAN, -INFINITY});
  const double clip_right = draw.Of(std::vector<double>{1, 0.5, 0, -1, NAN, INFINITY});
  const int clip_mode = Mostly(draw, draw.Between(0, 1), {-1, 2}, 20);
  const int time = Mostly(draw, draw.Between(1, 6), {0, -1, 65535, 65536}, 60);
  const int batch = Mostly(draw, draw.Between(1, 5), {0, -1}, 60);
  const int layout = Mostly(draw, draw.Once(3) ? draw.Between(0, 2) : 0, {-1, 3});
  const int mode = Mostly(draw, draw.Between(0, 1), {-1, 2});
  const int length_kind = draw.Between(0, 5);
  std::vector<int> lengths(static_cast<std::size_t>(std::max(batch, 1)), std::max(time, 1));
  for (std::size_t b = 0; b < lengths.size(); b++) {
    const int length = draw.Between(length_kind == 1 ? -1 : length_kind == 2 ? 0 : 1, std::max(time, 1) + (length_kind == 1 ? 1 : 0));
    if (length_kind < 4) lengths[b] = std::min(length, 70000);
  }
  if (layout == 1 && length_kind >= 3) {
    std::sort(lengths.rbegin(), lengths.rend());
    lengths[0] = std::max(time, 1);
  }
  const bool has_lengths = !draw.Once(60);
  const bool has_fill = draw.Once(2);
  double fill = 0;
  const int directions = direction == 1 ? 2 : 1;
  const int x_width = Mostly(draw, input, {input + 1, 0});
  const int y_width = Mostly(draw, proj * directions, {proj * directions + 1, hidden});
  const int y_time = Mostly(draw, time, {time + 1});
  const int y_layout = Mostly(draw, layout, {0, 2});
  const int y_type = Mostly(draw, dtype, {0, 1});
  const int h_rows = Mostly(draw, layers * directions, {layers, 0, layers * directions + 1});
  const int h_batch = Mostly(draw, batch, {batch + 1});
  const int h_width = Mostly(draw, proj, {hidden, proj + 1});
  const int c_width = Mostly(draw, hidden, {proj, hidden + 1});
  const int stride_change = Mostly(draw, 0, {1, -1});
  const int pseudo_layer = Mostly(draw, draw.Between(0, std::max(0, layers * directions - 1)), {-1, layers * directions}, 10);
  const int linear_layer = draw.Between(-1, 10);
  const bool nulls[18] = {draw.Once(50), draw.Once(50), draw.Once(2),  draw.Once(3),  draw.Once(2),  draw.Once(3),
                          draw.Once(40), draw.Once(40), draw.Once(20), draw.Once(50), draw.Once(30), draw.Once(2),
                          draw.Once(3),  draw.Once(2),  draw.Once(3),  draw.Once(40), draw.Once(2),  draw.Once(15)};
  const bool has_no_h_descriptor = draw.Once(25);
  const bool has_no_c_descriptor = draw.Once(10);
  const int weights_change = Mostly(draw, 0, {-1, 1024}, 15);
  const int work_change = Mostly(draw, 0, {-1, 1024}, 15);
  const int reserve_change = Mostly(draw, 0, {-1, 1024}, 15);
  const int add_grad = Mostly(draw, 0, {1, 2, -1}, 10);
  const int dropout_kind = draw.Between(0, 5);
  const bool is_built = !draw.Once(4);

  cudnnRNNDescriptor_t rnn = nullptr;
  cudnnRNNDataDescriptor_t x_data = nullptr, y_data = nullptr;
  cudnnTensorDescriptor_t h = nullptr, c = nullptr, m = nullptr, b = nullptr;
  cudnnDropoutDescriptor_t dropout = nullptr;
  f.cudnnCreateRNNDescriptor(&rnn);
  f.cudnnCreateRNNDataDescriptor(&x_data);
  f.cudnnCreateRNNDataDescriptor(&y_data);
  for (auto* tensor : {&h, &c, &m, &b}) f.cudnnCreateTensorDescriptor(tensor);
  f.cudnnCreateDropoutDescriptor(&dropout);
  const auto data = [&](const char* name, cudnnRNNDataDescriptor_t descriptor, int type, int how, int steps, int width) {
    return Note(name, f.cudnnSetRNNDataDescriptor(descriptor, type, how, steps, batch, width,
                                                  has_lengths ? lengths.data() : nullptr, has_fill ? &fill : nullptr));
  };
  const auto tensor = [&](const char* name, cudnnTensorDescriptor_t descriptor, int width) {
    const int dims[3] = {h_rows, h_batch, width};
    const int strides[3] = {h_batch * width + stride_change, width, 1};
    return Note(name, f.cudnnSetTensorNdDescriptor(descriptor, dtype, 3, dims, strides));
  };

  // Context for a difference: every setting that is not the default.
  Fact("algo", algo);
  Fact("cell", cell);
  Fact("dtype", dtype);
  if (precision != dtype) Fact("precision", precision);
  if (bias != 2) Fact("biasMode", bias);
  if (direction < 0 || direction > 1) Fact("dir", direction);
  if (input_mode != 0) Fact("inputMode", input_mode);
  if (math < 0 || math > 3) Fact("math", math);
  if (flags != 1) Fact("flags", flags);
  if (input < 1) Fact("input", input);
  if (proj != hidden) Fact("proj", proj);
  if (layers < 1) Fact("layers", layers);
  Fact("hidden", hidden);
  if (clip == 0) Fact("clipMode", clip_mode);
  bool ok = Note("SetRNN", f.cudnnSetRNNDescriptor_v8(rnn, algo, cell, bias, direction, input_mode, dtype, precision, math,
                                                      input, hidden, proj, layers, dropout_kind == 0 ? dropout : nullptr,
                                                      flags));
  if (clip == 0) Note("SetClip", f.cudnnRNNSetClip_v9(rnn, clip_mode, clip_left, clip_right));
  const bool x_ok = data("SetX", x_data, dtype, layout, time, x_width);
  const bool y_ok = data("SetY", y_data, y_type, y_layout, y_time, y_width);
  const bool h_ok = tensor("SetH", h, h_width);
  const bool c_ok = tensor("SetC", c, c_width);
  std::size_t weights = 0;
  if (ok) {
    Note("WeightSpace", f.cudnnGetRNNWeightSpaceSize(handle, rnn, &weights));
    Fact("bytes", static_cast<long long>(weights));
    void* m_address = nullptr;
    void* b_address = nullptr;
    char* base = reinterpret_cast<char*>(std::uintptr_t{1} << 40);
    if (Note("WeightParams", f.cudnnGetRNNWeightParams(handle, rnn, pseudo_layer, weights, base, linear_layer, m,
                                                       &m_address, b, &b_address))) {
      Fact("matrix", m_address == nullptr ? -1 : static_cast<char*>(m_address) - base);
      Fact("bias", b_address == nullptr ? -1 : static_cast<char*>(b_address) - base);
    }
  }
  ok = ok && x_ok && y_ok && h_ok && c_ok;
  if (ok && algo == 2) ok = false;  // PERSIST_DYNAMIC compiles for the device before it validates anything
  std::size_t work = 0;
  std::size_t reserve = 0;
  if (ok) ok = Note("TempSpace", f.cudnnGetRNNTempSpaceSizes(handle, rnn, mode, x_data, &work, &reserve));
  if (ok) {
    const auto at = [&](int index) { return nulls[index] ? nullptr : Address(index); };
    const bool training = mode == 1;
    const std::size_t weights_given = weights + static_cast<std::size_t>(weights_change);
    const std::size_t work_given = work + static_cast<std::size_t>(work_change);
    const std::size_t reserve_given = training || reserve_change > 0 ? reserve + static_cast<std::size_t>(reserve_change) : 0;
    const auto* device_lengths = nulls[kLengths] ? Address<std::int32_t>(kLengths) : nullptr;
    const auto h_given = has_no_h_descriptor ? nullptr : h;
    const auto c_given = has_no_c_descriptor ? nullptr : c;
    Note("Forward", f.cudnnRNNForward(handle, rnn, mode, device_lengths, x_data, at(kX), y_data, at(kY), h_given, at(kHx),
                                      at(kHy), c_given, at(kCx), at(kCy), weights_given, at(kWeights), work_given,
                                      at(kWork), reserve_given, at(kReserve)));
    if (training) {
      Note("BackwardData",
           f.cudnnRNNBackwardData_v8(handle, rnn, device_lengths, y_data, at(kY), at(kDy), x_data, at(kDx), h_given,
                                     at(kHx), at(kDhy), at(kDhx), c_given, at(kCx), at(kDcy), at(kDcx), weights_given,
                                     at(kWeights), work_given, at(kWork), reserve_given, at(kReserve)));
      Note("BackwardWeights",
           f.cudnnRNNBackwardWeights_v8(handle, rnn, add_grad, device_lengths, x_data, at(kX), h_given, at(kHx), y_data,
                                        at(kY), weights_given, at(kDw), work_given, at(kWork), reserve_given,
                                        at(kReserve)));
    }
    Fact("mode", mode);
    const char* roles[] = {"x", "y", "hx", "hy", "cx", "cy", "w", "work", "reserve", "dy", "dx", "dhy", "dhx", "dcy", "dcx", "dw"};
    for (int role = 0; role < 16; role++) {
      if (nulls[role]) Fact(roles[role], 0);
    }
    if (has_no_h_descriptor) Fact("hDesc", 0);
    if (has_no_c_descriptor) Fact("cDesc", 0);
    const bool is_h_wrong = h_rows != layers * directions || h_batch != batch || h_width != proj || stride_change != 0;
    if (is_h_wrong) Fact("wrongH", 1);
    if (h_rows != layers * directions || h_batch != batch || c_width != hidden || stride_change != 0) Fact("wrongC", 1);
    if (x_width != input) Fact("wrongX", 1);
    if (y_width != proj * directions || y_time != time || y_layout != layout) Fact("wrongY", 1);
    if (y_type != dtype) Fact("wrongYType", 1);
    if (weights_change != 0) Fact("wBytes", weights_change);
    if (work_change != 0) Fact("workBytes", work_change);
    if (reserve_change != 0) Fact("reserveBytes", reserve_change);
    if (input_mode == 1) Fact("skip", input == hidden);
    int empty = 0;
    int unequal = 0;
    for (const int length : lengths) empty += length == 0, unequal += length != time;
    if (empty != 0) Fact("empty", empty);
    if (unequal != 0) Fact("unequal", unequal);
    Fact("dropout", dropout_kind == 0);
    Fact("layout", layout);
  }
  (void)is_built;
  f.cudnnDestroyRNNDescriptor(rnn);
  f.cudnnDestroyRNNDataDescriptor(x_data);
  f.cudnnDestroyRNNDataDescriptor(y_data);
  for (auto descriptor : {h, c, m, b}) f.cudnnDestroyTensorDescriptor(descriptor);
  f.cudnnDestroyDropoutDescriptor(dropout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::printf("usage: %s real|emulator FOLDER SEED FIRST COUNT\n", argv[0]);
    return 2;
  }
  is_real = std::strcmp(argv[1], "real") == 0;
  setenv("CUDNN_RNN_CUDA_EMULATOR", "1", 0);
  TheFolder() = {argv[2], 9};
  static int page[4096];
  if (is_real) {
    // By absolute path and before the shim, which would look for them elsewhere.
    for (const char* part : {"graph", "ops", "adv"}) OpenLibrary("libcudnn_" + std::string(part) + ".so.9");
    for (int& word : page) word = 900;
    handle = reinterpret_cast<cudnnHandle_t>(page);
    device_memory = reinterpret_cast<char*>(std::uintptr_t{1} << 40);
  } else {
    Configure("memory=1G");
    if (dnn().cudnnCreate(&handle) != 0 || cuda().cudaStreamCreateWithFlags(&stream, 1) != 0) return 2;
    dnn().cudnnSetStream(handle, stream);
    void* memory = nullptr;
    if (cuda().cudaMalloc(&memory, 256 << 20) != 0) return 2;
    device_memory = static_cast<char*>(memory);
  }
  const unsigned long long seed = std::strtoull(argv[3], nullptr, 10);
  const long first = std::atol(argv[4]);
  for (long number = first; number < first + std::atol(argv[5]); number++) {
    line = std::to_string(number);
    if (!is_real) cuda().cudaStreamBeginCapture(stream, 2);
    Run(seed, number);
    if (!is_real) {
      cudaGraph_t graph = nullptr;
      cuda().cudaStreamEndCapture(stream, &graph);
      if (graph != nullptr) cuda().cudaGraphDestroy(graph);
    }
    std::puts(line.c_str());
    std::fflush(stdout);
  }
  std::_Exit(0);
}
