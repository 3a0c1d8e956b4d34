// Times oneDNN's RNN primitives for the benchmark (apps/bench), which builds this program if libdnnl is installed.
// One command a line on stdin, one answer a line on stdout:
//   load MODE T B I H FILE   MODE: lstm, gru, rnn_relu or rnn_tanh; FILE: float32 weights, bias and input, as Operands
//
//   run SLICE_MS WARM_UP     milliseconds of each run, until they fill the slice; WARM_UP 1 begins with an untimed one
//
//   results FILE             writes the output [T,B,H] of the last run
//
// An answer is "ok", the times, or "error" with a reason.
// https://oneapi-src.github.io/oneDNN/v2.6/dev_guide_rnn.html
#include <chrono>
#include <cstdio>
#include <dnnl.hpp>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

using dnnl::memory;
using Arguments = std::unordered_map<int, memory>;
using Dims = memory::dims;
using Tag = memory::format_tag;

double MillisecondsNow() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

memory::desc Float32(const Dims& dims, Tag tag) { return {dims, memory::data_type::f32, tag}; }

struct Shape {
  std::string mode;
  memory::dim time, batch, inputs, units;

  memory::dim gates() const { return mode == "lstm" ? 4 : mode == "gru" ? 3 : 1; }
  // Linear before reset has a fourth bias, for the recurrent side of the new memory.
  memory::dim biases() const { return mode == "gru" ? 4 : gates(); }
};

// In the order of the file: W [I,G,H], R [H,G,H], b [biases,H], x [T,B,I].
struct Operands {
  std::vector<float> input_weights, recurrent_weights, bias, input;

  Operands(const Shape& shape, const std::string& path)
      : input_weights(shape.inputs * shape.gates() * shape.units),
        recurrent_weights(shape.units * shape.gates() * shape.units),
        bias(shape.biases() * shape.units),
        input(shape.time * shape.batch * shape.inputs) {
    std::ifstream file(path, std::ios::binary);
    for (std::vector<float>* part : {&input_weights, &recurrent_weights, &bias, &input}) {
      file.read(reinterpret_cast<char*>(part->data()), static_cast<std::streamsize>(part->size() * sizeof(float)));
    }
    if (!file) throw std::runtime_error("the file of operands is too short");
  }
};

// One forward layer, ready to run.
class Layer {
 public:
  Layer(const dnnl::engine& engine, dnnl::stream stream, const Shape& shape, Operands operands)
      : engine_(engine), stream_(std::move(stream)), shape_(shape), operands_(std::move(operands)) {
    const Dims weights_input{1, 1, shape.inputs, shape.gates(), shape.units};
    const Dims weights_recurrent{1, 1, shape.units, shape.gates(), shape.units};
    const auto x = Float32({shape.time, shape.batch, shape.inputs}, Tag::tnc);
    // `any` lets oneDNN choose the layout that its kernels read best; the weights are converted once, as a user would.
    const auto w = Float32(weights_input, Tag::any);
    const auto r = Float32(weights_recurrent, Tag::any);
    const auto b = Float32({1, 1, shape.biases(), shape.units}, Tag::ldgo);
    const auto y = Float32({shape.time, shape.batch, shape.units}, Tag::tnc);
    const auto infer = dnnl::prop_kind::forward_inference;
    const auto forward = dnnl::rnn_direction::unidirectional_left2right;
    const memory::desc none;
    if (shape.mode == "lstm") {
      Prepare<dnnl::lstm_forward>({infer, forward, x, none, none, w, r, b, y, none, none});
    } else if (shape.mode == "gru") {
      Prepare<dnnl::lbr_gru_forward>({infer, forward, x, none, w, r, b, y, none});
    } else {
      const auto activation = shape.mode == "rnn_relu" ? dnnl::algorithm::eltwise_relu : dnnl::algorithm::eltwise_tanh;
      Prepare<dnnl::vanilla_rnn_forward>({infer, activation, forward, x, none, w, r, b, y, none});
    }
  }

  void Run() {
    primitive_.execute(stream_, arguments_);
    stream_.wait();
  }

  const std::vector<float>& output() const { return output_; }

 private:
  template <typename Forward>
  void Prepare(const typename Forward::desc& desc) {
    const typename Forward::primitive_desc chosen(desc, engine_);
    primitive_ = Forward(chosen);
    output_.resize(shape_.time * shape_.batch * shape_.units);
    arguments_ = {
        {DNNL_ARG_SRC_LAYER, memory(chosen.src_layer_desc(), engine_, operands_.input.data())},
        {DNNL_ARG_WEIGHTS_LAYER, Converted(operands_.input_weights, shape_.inputs, chosen.weights_layer_desc())},
        {DNNL_ARG_WEIGHTS_ITER, Converted(operands_.recurrent_weights, shape_.units, chosen.weights_iter_desc())},
        {DNNL_ARG_BIAS, memory(chosen.bias_desc(), engine_, operands_.bias.data())},
        {DNNL_ARG_DST_LAYER, memory(chosen.dst_layer_desc(), engine_, output_.data())},
    };
  }

  memory Converted(std::vector<float>& weights, memory::dim depth, const memory::desc& desc) {
    memory plain(Float32({1, 1, depth, shape_.gates(), shape_.units}, Tag::ldigo), engine_, weights.data());
    memory converted(desc, engine_);
    dnnl::reorder(plain, converted).execute(stream_, plain, converted);
    stream_.wait();
    return converted;
  }

  dnnl::engine engine_;
  dnnl::stream stream_;
  const Shape shape_;
  Operands operands_;
  std::vector<float> output_;
  dnnl::primitive primitive_;
  Arguments arguments_;
};

template <typename Body>
std::string TimesOf(const Body& body, double slice_ms, int least_runs) {
  std::ostringstream times;
  double spent = 0;
  for (int run = 0; run < least_runs || spent < slice_ms; run++) {
    const double began = MillisecondsNow();
    body();
    const double ms = MillisecondsNow() - began;
    spent += ms;
    times << (run == 0 ? "" : " ") << ms;
  }
  return times.str();
}

class Session {
 public:
  std::string Answer(const std::string& line) {
    std::istringstream words(line);
    std::string command;
    words >> command;
    if (command == "load") {
      Shape shape;
      std::string path;
      words >> shape.mode >> shape.time >> shape.batch >> shape.inputs >> shape.units >> std::ws;
      std::getline(words, path);
      layer_ = std::make_unique<Layer>(engine_, stream_, shape, Operands(shape, path));
      return "ok";
    }
    if (command == "run") {
      double slice_ms = 0;
      int warm_up = 0;
      words >> slice_ms >> warm_up;
      if (warm_up != 0) layer_->Run();
      return TimesOf([this] { layer_->Run(); }, slice_ms, 1);
    }
    if (command == "results") {
      std::string path;
      std::getline(words >> std::ws, path);
      std::ofstream file(path, std::ios::binary);
      file.write(reinterpret_cast<const char*>(layer_->output().data()),
                 static_cast<std::streamsize>(layer_->output().size() * sizeof(float)));
      return "ok";
    }
    throw std::runtime_error("unknown command " + command);
  }

 private:
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::unique_ptr<Layer> layer_;
};

}  // namespace

int main() {
  const dnnl_version_t* version = dnnl_version();
  std::cout << version->major << '.' << version->minor << '.' << version->patch << std::endl;
  Session session;
  for (std::string line; std::getline(std::cin, line);) {
    try {
      std::cout << session.Answer(line) << std::endl;
    } catch (const std::exception& error) {
      std::cout << "error " << error.what() << std::endl;
    }
  }
}
