// The CTC loss of cuDNN. Its refusals and the size of its workspace are 9.24's, found by calling the real library with
// a handle that has no device behind it. If the real kernels read or write out of bounds (labels that do not fit their
// frames), the emulator faults.

#include <cmath>
#include <limits>
#include <vector>

#include "core/cudnn_objects.h"
#include "core/memory.h"
#include "cudnn/rnn_pass.h"
#include "cudnn/status.h"

using namespace emulator;

namespace {

/// The deterministic algorithm's limit, on devices of 48 KiB shared memory.
constexpr int kMostLabels = 255;
constexpr int kMostSteps = 65535;
constexpr double kNever = -std::numeric_limits<double>::infinity();

struct CtcShape {
  std::size_t time = 0, batch = 0, classes = 0;

  std::size_t Elements() const { return time * batch * classes; }
  std::size_t At(std::size_t t, std::size_t row) const { return (t * batch + row) * classes; }
};

CtcShape ShapeOf(const TensorDescriptor& probs) {
  Require(probs.dims.size() == 3, "probsDesc must have three dimensions");
  const auto& d = probs.dims;
  Require(d[2] >= 2, "the alphabet needs a blank and a label");
  const CtcShape shape{static_cast<std::size_t>(d[0]), static_cast<std::size_t>(d[1]), static_cast<std::size_t>(d[2])};
  Require(probs.dtype == CUDNN_DATA_FLOAT, "probsDesc->dataType", kNotSupported);
  Require(d[0] <= kMostSteps, "time steps", kNotSupported);
  // The real library takes other strides; nothing here sets them.
  const bool is_packed = probs.strides == std::vector<int>{d[1] * d[2], d[2], 1};
  if (!is_packed) ReportViolation("probsDesc of the CTC loss is not packed");
  return shape;
}

void CheckDescriptor(const CtcLossDescriptor& ctc, int algo) {
  Require(ctc.set, "ctcLossDesc was not set");
  Require(algo == CUDNN_CTC_LOSS_ALGO_DETERMINISTIC, "algo", kNotSupported);
  Require(ctc.compute_type == CUDNN_DATA_FLOAT, "compType", kNotSupported);
  const bool is_short = ctc.max_label_length >= 0 && ctc.max_label_length <= kMostLabels;
  Require(is_short, "maxLabelLength", kNotSupported);
  // Without softmax the meaning of the gradient is not documented.
  Require(ctc.norm_mode == CUDNN_LOSS_NORMALIZATION_SOFTMAX, "normMode", kNotSupported);
}

std::size_t WorkspaceBytes(const CtcShape& shape, int max_label_length) {
  const std::size_t states = 2 * static_cast<std::size_t>(max_label_length) + 1;
  return 4 * shape.batch * (shape.time * shape.classes + (2 * shape.time + 1) * states + 2);
}

double LogAdd(double a, double b) {
  const double high = std::max(a, b);
  // Also if both are NaN.
  if (!(high > kNever)) return a + b;
  return high + std::log(std::exp(a - high) + std::exp(b - high));
}

/// One row: the states of its labels with blanks around them.
class CtcRow {
 public:
  CtcRow(const float* logits, const CtcShape& shape, std::size_t row, std::size_t time, const std::int32_t* labels,
         std::size_t count)
      : shape_(shape), row_(row), time_(time), log_y_(time * shape.classes), classes_(2 * count + 1, 0) {
    for (std::size_t s = 0; s < count; ++s) classes_[2 * s + 1] = static_cast<std::size_t>(labels[s]);
    for (std::size_t t = 0; t < time; ++t) {
      const float* x = logits + shape.At(t, row);
      double sum = kNever;
      for (std::size_t k = 0; k < shape.classes; ++k) sum = LogAdd(sum, x[k]);
      for (std::size_t k = 0; k < shape.classes; ++k) log_y_[t * shape.classes + k] = x[k] - sum;
    }
  }

  /// The cost; writes the gradients of the frames.
  double Run(float* gradients) const {
    const std::size_t states = classes_.size();
    std::vector<std::vector<double>> alpha(time_, std::vector<double>(states, kNever));
    for (std::size_t s = 0; s < std::min<std::size_t>(2, states); ++s) alpha[0][s] = Y(0, s);
    for (std::size_t t = 1; t < time_; ++t) {
      for (std::size_t s = 0; s < states; ++s) {
        double sum = alpha[t - 1][s];
        if (s > 0) sum = LogAdd(sum, alpha[t - 1][s - 1]);
        if (Skips(s)) sum = LogAdd(sum, alpha[t - 1][s - 2]);
        alpha[t][s] = sum + Y(t, s);
      }
    }
    const std::vector<double>& last = alpha.back();
    const double log_p = states == 1 ? last[0] : LogAdd(last[states - 1], last[states - 2]);
    std::vector<double> beta(states, kNever);
    for (std::size_t s = states < 2 ? 0 : states - 2; s < states; ++s) beta[s] = 0;
    for (std::size_t t = time_; t-- > 0;) {
      std::vector<double> posterior(shape_.classes, 0);
      for (std::size_t s = 0; s < states; ++s) posterior[classes_[s]] += std::exp(alpha[t][s] + beta[s] - log_p);
      float* gradient = gradients + shape_.At(t, row_);
      for (std::size_t k = 0; k < shape_.classes; ++k) {
        gradient[k] = static_cast<float>(std::exp(log_y_[t * shape_.classes + k]) - posterior[k]);
      }
      std::vector<double> before(states);
      for (std::size_t s = 0; s < states; ++s) {
        double sum = beta[s] + Y(t, s);
        if (s + 1 < states) sum = LogAdd(sum, beta[s + 1] + Y(t, s + 1));
        if (s + 2 < states && Skips(s + 2)) sum = LogAdd(sum, beta[s + 2] + Y(t, s + 2));
        before[s] = sum;
      }
      beta = std::move(before);
    }
    return -log_p;
  }

 private:
  double Y(std::size_t t, std::size_t s) const { return log_y_[t * shape_.classes + classes_[s]]; }
  bool Skips(std::size_t s) const { return s > 1 && classes_[s] != 0 && classes_[s] != classes_[s - 2]; }

  const CtcShape& shape_;
  const std::size_t row_, time_;
  std::vector<double> log_y_;
  std::vector<std::size_t> classes_;
};

struct CtcArguments {
  CtcShape shape;
  int max_label_length = 0, grad_mode = 0;
  const float* probs = nullptr;
  const std::int32_t *labels = nullptr, *label_lengths = nullptr, *input_lengths = nullptr;
  float *costs = nullptr, *gradients = nullptr;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
};

/// Frames that the labels of a row need.
std::int32_t FramesOf(const std::int32_t* labels, std::int32_t count) {
  std::int32_t frames = count;
  for (std::int32_t s = 1; s < count; ++s) frames += labels[s] == labels[s - 1] ? 1 : 0;
  return frames;
}

void RunCtcLoss(int device, const CtcArguments& a) {
  const CtcShape& shape = a.shape;
  const float* probs = ResolveArray(device, const_cast<float*>(a.probs), shape.Elements(), "probs");
  float* costs = ResolveArray(device, a.costs, shape.batch, "costs");
  float* gradients = ResolveArray(device, a.gradients, shape.Elements(), "gradients");
  const std::int32_t* counts = ResolveArray(device, a.label_lengths, shape.batch, "labelLengths");
  const std::int32_t* steps = ResolveArray(device, a.input_lengths, shape.batch, "inputLengths");
  SpoilWorkSpace(device, a.workspace, a.workspace_bytes);
  std::size_t first = 0;
  for (std::size_t row = 0; row < shape.batch; ++row) {
    const std::int32_t count = counts[row];
    if (count < 0 || count > a.max_label_length) throw DeviceFault(700, "a label is longer than maxLabelLength");
    const auto end = first + static_cast<std::size_t>(count);
    const std::int32_t* labels = ResolveArray(device, a.labels, end, "labels") + first;
    first = end;
    for (std::int32_t s = 0; s < count; ++s) {
      const bool is_label = labels[s] > 0 && static_cast<std::size_t>(labels[s]) < shape.classes;
      if (!is_label) throw DeviceFault(700, "a label of the CTC loss is the blank, or no class");
    }
    const bool fits = steps[row] > 0 && static_cast<std::size_t>(steps[row]) <= shape.time;
    if (!fits || FramesOf(labels, count) > steps[row]) throw DeviceFault(700, "labels that need more frames than there are");
    const auto time = static_cast<std::size_t>(steps[row]);
    const CtcRow one(probs, shape, row, time, labels, static_cast<std::size_t>(count));
    costs[row] = static_cast<float>(one.Run(gradients));
    if (a.grad_mode != CUDNN_CTC_ZERO_OOB_GRADIENTS) continue;
    for (std::size_t t = time; t < shape.time; ++t) std::fill_n(gradients + shape.At(t, row), shape.classes, 0.0f);
  }
}

void Set(cudnnCTCLossDescriptor_t descriptor, int compute_type, int norm_mode, int grad_mode, int max_label_length) {
  const auto ctc = Live(TheCudnnTables().ctc_losses, descriptor, "ctcLossDesc");
  const bool is_known = compute_type == CUDNN_DATA_FLOAT || compute_type == CUDNN_DATA_DOUBLE;
  Require(is_known, "compType", kNotSupported);
  *ctc = {true, compute_type, norm_mode, grad_mode, max_label_length};
}

}  // namespace

cudnnStatus_t cudnnCreateCTCLossDescriptor(cudnnCTCLossDescriptor_t* descriptor) {
  EMULATOR_ENTER(kCudnnHost);
  if (descriptor == nullptr) return kBadParam;
  *descriptor = TheCudnnTables().ctc_losses.Add(std::make_shared<CtcLossDescriptor>());
  return kSuccess;
}

cudnnStatus_t cudnnDestroyCTCLossDescriptor(cudnnCTCLossDescriptor_t descriptor) {
  EMULATOR_ENTER(kCudnnHost);
  if (descriptor == nullptr) return kSuccess;
  return TheCudnnTables().ctc_losses.Remove(descriptor) == nullptr ? kBadParam : kSuccess;
}

cudnnStatus_t cudnnSetCTCLossDescriptor_v8(cudnnCTCLossDescriptor_t descriptor, int computeType, int normMode,
                                           int gradMode, int maxLabelLength) {
  EMULATOR_ENTER(kCudnnHost);
  return Guarded([&] { Set(descriptor, computeType, normMode, gradMode, maxLabelLength); });
}

#if EMULATOR_CUDNN_MAJOR >= 9
cudnnStatus_t cudnnSetCTCLossDescriptor_v9(cudnnCTCLossDescriptor_t descriptor, int computeType, int normMode,
                                           int ctcGradMode, int maxLabelLength) {
  EMULATOR_ENTER(kCudnnHost);
  return Guarded([&] { Set(descriptor, computeType, normMode, ctcGradMode, maxLabelLength); });
}
#endif

cudnnStatus_t cudnnGetCTCLossWorkspaceSize_v8(cudnnHandle_t handle, int algo, cudnnCTCLossDescriptor_t descriptor,
                                              const cudnnTensorDescriptor_t probsDesc,
                                              const cudnnTensorDescriptor_t gradientsDesc, size_t* bytes) {
  EMULATOR_ENTER(kCudnn);
  return Guarded([&] {
    // The real library reads handle and descriptors unasked.
    const HandleInUse used(handle);
    const auto ctc = Live(TheCudnnTables().ctc_losses, descriptor, "ctcLossDesc");
    const auto probs = Live(TheCudnnTables().tensors, probsDesc, "probsDesc");
    Require(bytes != nullptr, "!sizeInBytes");
    const CtcShape shape = ShapeOf(*probs);
    if (gradientsDesc != nullptr) {
      const auto gradients = Live(TheCudnnTables().tensors, gradientsDesc, "gradientsDesc");
      Require(gradients->dims == probs->dims, "probsDesc and gradientsDesc differ");
    }
    CheckDescriptor(*ctc, algo);
    *bytes = WorkspaceBytes(shape, ctc->max_label_length);
  });
}

cudnnStatus_t cudnnCTCLoss_v8(cudnnHandle_t handle, int algo, cudnnCTCLossDescriptor_t descriptor,
                              const cudnnTensorDescriptor_t probsDesc, const void* probs, const int32_t labels[],
                              const int32_t labelLengths[], const int32_t inputLengths[], void* costs,
                              const cudnnTensorDescriptor_t gradientsDesc, void* gradients, size_t workspaceSize,
                              void* workspace) {
  EMULATOR_ENTER(kCudnn);
  return Guarded([&] {
    const HandleInUse used(handle);
    const auto stream = used.LiveStream();
    const auto ctc = Live(TheCudnnTables().ctc_losses, descriptor, "ctcLossDesc");
    const auto probs_tensor = Live(TheCudnnTables().tensors, probsDesc, "probsDesc");
    const auto gradient_tensor = Live(TheCudnnTables().tensors, gradientsDesc, "gradientsDesc");
    const CtcShape shape = ShapeOf(*probs_tensor);
    Require(gradient_tensor->dims == probs_tensor->dims, "probsDesc and gradientsDesc differ");
    CheckDescriptor(*ctc, algo);
    const std::size_t needed = WorkspaceBytes(shape, ctc->max_label_length);
    CheckSpace(workspace, workspaceSize, needed, "workspace");
    CheckDevicePointer(probs, sizeof(float), "probs");
    CheckDevicePointer(labels, sizeof(std::int32_t), "labels");
    CheckDevicePointer(labelLengths, sizeof(std::int32_t), "labelLengths");
    CheckDevicePointer(inputLengths, sizeof(std::int32_t), "inputLengths");
    CheckDevicePointer(costs, sizeof(float), "costs");
    CheckDevicePointer(gradients, sizeof(float), "gradients");
    const CtcArguments arguments{shape,
                                 ctc->max_label_length,
                                 ctc->grad_mode,
                                 static_cast<const float*>(probs),
                                 labels,
                                 labelLengths,
                                 inputLengths,
                                 static_cast<float*>(costs),
                                 static_cast<float*>(gradients),
                                 workspace,
                                 workspaceSize};
    const std::size_t row_bytes = sizeof(std::int32_t) * shape.batch;
    Accesses accesses;
    // 0 bytes: the whole allocation, as the lengths are known on the device alone.
    accesses.list.push_back({labels, 0, false});
    accesses.Reads(probs, sizeof(float) * shape.Elements()).Reads(labelLengths, row_bytes).Reads(inputLengths, row_bytes);
    accesses.Writes(costs, row_bytes).Writes(gradients, sizeof(float) * shape.Elements());
    accesses.Writes(workspace, workspaceSize);
    const int error =
        Enqueue(stream, {.name = __func__, .accesses = accesses.list, .run = [arguments](int device) {
                           RunCtcLoss(device, arguments);
                         }});
    Require(error == 0, "the work could not be enqueued", kExecutionFailedCudart);
  });
}
