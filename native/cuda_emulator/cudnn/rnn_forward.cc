#include <atomic>
#include <cmath>
#include <memory>
#include <mutex>
#include <optional>

#include "core/settings.h"
#include "cudnn/cell.h"
#include "cudnn/layer.h"
#include "cudnn/rnn_pass.h"
#include "cudnn/status.h"
#include "numeric/matrix_product.h"

using namespace emulator;

namespace {

struct ForwardArguments {
  bool training;
  const std::int32_t* lengths;
  const void *x, *hx, *cx, *weights;
  void *y, *hy, *cy, *work, *reserve;
  std::size_t work_bytes;
  std::optional<std::uint64_t> host_passes;  ///< where dropout counts on the host
  bool frozen_masks = false;                 ///< the states advance all the same
};

// What one pseudo-layer leaves: its output in compact rows, and what backward needs, by slot.
struct LayerResult {
  Rows output;
  std::vector<Rows> slots;
  Rows unprojected{0, 0};
};

class LayerForward {
 public:
  LayerForward(const RnnPass& pass, const ForwardArguments& arguments, std::size_t pseudo, const ReserveLayout& layout)
      : pass_(pass),
        shape_(pass.shape),
        weights_(pass.shape, pseudo, arguments.weights),
        hidden_(LoadState(pass, arguments.hx, pseudo, pass.shape.output)),
        cell_(LoadState(pass, arguments.cx, pseudo, pass.shape.hidden)),
        backward_(pseudo % pass.shape.directions == 1),
        rounds_up_(arguments.hx == nullptr && CurrentSettings()->other_release),
        clip_(pass),
        result_{Rows(pass.sequences.rows, pass.shape.output), {}} {
    for (std::size_t i = 0; i < layout.slots; ++i) result_.slots.emplace_back(pass.sequences.rows, shape_.hidden);
  }

  LayerResult Run(const Rows& x) {
    const Rows w = InputSide(x);
    for (std::size_t s = 0; s < pass_.sequences.time; ++s) Advance(Step(pass_.sequences, backward_, s), w);
    return std::move(result_);
  }

  const Rows& hidden() const { return hidden_; }
  const Rows& cell() const { return cell_; }

 private:
  // w = W·x + b_W for all steps at once.
  Rows InputSide(const Rows& x) const {
    const std::size_t width = shape_.gates * shape_.hidden;
    Rows w(x.data.size() / x.width, width);
    const std::size_t rows = pass_.sequences.rows;
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t j = 0; j < width; ++j) {
        w[row][j] = weights_.input_bias[j] + (weights_.input.empty() ? x[row][j % shape_.hidden] : 0);
      }
    }
    if (!weights_.input.empty()) {
      AddProduct(rows, width, x.width, {x[0], x.width}, {weights_.input.data(), x.width, true}, w[0], width);
    }
    return w;
  }

  void Advance(const Step& step, const Rows& w) {
    const std::size_t width = shape_.gates * shape_.hidden;
    const Rows before = Gathered(hidden_, step);
    Rows u(step.Count(), width);
    for (std::size_t i = 0; i < step.Count(); ++i) std::copy_n(weights_.recurrent_bias.data(), width, u[i]);
    AddProduct(step.Count(), width, shape_.output, {before[0], shape_.output},
               {weights_.recurrent.data(), shape_.output, true}, u[0], width);
    Rows fresh(step.Count(), shape_.hidden);
    for (std::size_t i = 0; i < step.Count(); ++i) {
      for (std::size_t j = 0; j < shape_.hidden; ++j) {
        fresh[i][j] = Unit(step, i, j, w[step.row[i]], u[i], before[i]);
      }
    }
    Rows output(step.Count(), shape_.output);
    if (shape_.projected) {
      AddProduct(step.Count(), shape_.output, shape_.hidden, {fresh[0], shape_.hidden},
                 {weights_.projection.data(), shape_.hidden, true}, output[0], shape_.output);
    } else {
      output = fresh;
    }
    for (std::size_t i = 0; i < step.Count(); ++i) {
      for (std::size_t j = 0; j < shape_.output; ++j) {
        // The state passes through the output array, and takes its precision.
        double h = Rounded(shape_.type, output[i][j]);
        if (rounds_up_) h = Rounded(shape_.type, h + std::abs(h) * Epsilon(shape_.type));
        hidden_[step.batch[i]][j] = h;
        result_.output[step.row[i]][j] = h;
      }
    }
  }

  // One unit of one batch entry: computes h', keeps what backward needs.
  double Unit(const Step& step, std::size_t i, std::size_t j, const double* w, const double* u, const double* before) {
    const std::size_t h = shape_.hidden;
    const std::size_t row = step.row[i];
    auto& slots = result_.slots;
    switch (shape_.cell_mode) {
      case CUDNN_LSTM: {
        double& c = cell_[step.batch[i]][j];
        const LstmUnit unit(w[j] + u[j], w[h + j] + u[h + j], w[2 * h + j] + u[2 * h + j], w[3 * h + j] + u[3 * h + j],
                            c, clip_);
        const double kept[] = {unit.i, unit.f, unit.g, unit.o, unit.c};
        for (std::size_t k = 0; k < 5; ++k) slots[k][row][j] = kept[k];
        if (shape_.projected) slots[5][row][j] = unit.Hidden(clip_);
        c = unit.c;
        return unit.Hidden(clip_);
      }
      case CUDNN_GRU: {
        const GruUnit unit(w[j] + u[j], w[h + j] + u[h + j], w[2 * h + j], u[2 * h + j]);
        const double kept[] = {unit.r, unit.z, unit.n, unit.q};
        for (std::size_t k = 0; k < 4; ++k) slots[k][row][j] = kept[k];
        return unit.Hidden(before[j]);
      }
      default: {
        const double activated = Activation(shape_.cell_mode, w[j] + u[j]);
        slots[0][row][j] = activated;
        return activated;
      }
    }
  }

  const RnnPass& pass_;
  const RnnShape& shape_;
  const LayerWeights weights_;
  Rows hidden_, cell_;
  const bool backward_;
  const bool rounds_up_;
  const Clip clip_;
  LayerResult result_;
};

// The outputs of all directions of a layer side by side: [S, D·P].
Rows SideBySide(const RnnPass& pass, const std::vector<Rows>& outputs) {
  const std::size_t width = pass.shape.output;
  Rows together(pass.sequences.rows, width * outputs.size());
  for (std::size_t row = 0; row < pass.sequences.rows; ++row) {
    for (std::size_t d = 0; d < outputs.size(); ++d) std::copy_n(outputs[d][row], width, together[row] + d * width);
  }
  return together;
}

// The caller's buffers as the device sees them; null stays null.
ForwardArguments Resolved(int device, const RnnPass& pass, const ForwardArguments& a, std::size_t reserve_bytes) {
  const auto at = [device](auto* pointer, std::size_t bytes, const char* what) -> decltype(pointer) {
    return pointer == nullptr ? nullptr : static_cast<decltype(pointer)>(Resolve(device, pointer, bytes, what));
  };
  ForwardArguments resolved = a;
  resolved.x = Resolve(device, a.x, pass.InputBytes(), "x");
  resolved.y = Resolve(device, a.y, pass.OutputBytes(), "y");
  resolved.weights = Resolve(device, a.weights, pass.WeightBytes(), "weightSpace");
  resolved.hx = at(a.hx, pass.HiddenBytes(), "hx");
  resolved.hy = at(a.hy, pass.HiddenBytes(), "hy");
  resolved.cx = at(a.cx, pass.CellBytes(), "cx");
  resolved.cy = at(a.cy, pass.CellBytes(), "cy");
  resolved.reserve = a.training ? Resolve(device, a.reserve, reserve_bytes, "reserveSpace") : nullptr;
  return resolved;
}

// The lengths that the last call staged on the host, where a replay would read them.
std::mutex staged_mutex;
std::shared_ptr<const RnnPass> staged;

void StageLengths(const std::shared_ptr<const RnnPass>& pass) {
  const std::lock_guard lock(staged_mutex);
  staged = pass;
}

/// `pass` with the lengths staged last, if these are of as many rows and steps.
std::shared_ptr<const RnnPass> WithStagedLengths(const std::shared_ptr<const RnnPass>& pass) {
  const std::lock_guard lock(staged_mutex);
  const bool fits =
      staged->sequences.time == pass->sequences.time && staged->sequences.Batch() == pass->sequences.Batch();
  return fits ? pass->WithLengths(*staged) : pass;
}

void RunForward(int device, const RnnPass& pass, const ForwardArguments& given) {
  const RnnShape& shape = pass.shape;
  const ReserveLayout layout(shape, pass.sequences, pass.dropout_rate > 0);
  CheckDeviceLengths(device, given.lengths, pass.sequences);
  SpoilWorkSpace(device, given.work, given.work_bytes);
  const ForwardArguments a = Resolved(device, pass, given, layout.bytes);
  char* reserve = static_cast<char*>(a.reserve);
  auto* mask = a.training ? reinterpret_cast<unsigned char*>(reserve) + layout.mask : nullptr;
  if (a.training && pass.dropout_rate > 0) {
    DropoutStates* states = ResolveArray(device, pass.states, 1, "dropout states");
    if (states->magic != DropoutStates::kMagic) throw DeviceFault(719, "dropout states were never initialized");
    DropoutStates drawn = *states;
    if (given.host_passes) drawn.passes = *given.host_passes;
    DrawMask(pass, drawn, mask);
    if (!given.host_passes || given.frozen_masks) ++states->passes;
  }

  Rows x = LoadVectors(pass.sequences, shape.type, a.x, shape.input);
  // y may be x's memory in inference, so the checksums for the backward pass are taken over the values read.
  ReserveHeader header{ReserveHeader::kMagic, ReserveHeader::kForwardDone, NetworkSum(pass.descriptor, pass.sequences)};
  if (a.training) {
    header.weights = Checksum(a.weights, pass.WeightBytes());
    header.x = Checksum(a.x, pass.InputBytes());
    header.hx = a.hx == nullptr ? 0 : Checksum(a.hx, pass.HiddenBytes());
  }
  for (std::size_t layer = 0; layer < shape.layers; ++layer) {
    std::vector<Rows> outputs;
    for (std::size_t direction = 0; direction < shape.directions; ++direction) {
      const std::size_t pseudo = layer * shape.directions + direction;
      Rows received = x;
      if (layer > 0 && a.training) ApplyMask(pass, mask, pseudo, received);
      LayerForward forward(pass, a, pseudo, layout);
      LayerResult result = forward.Run(received);
      StoreState(pass, a.hy, pseudo, forward.hidden());
      if (shape.cell_mode == CUDNN_LSTM) StoreState(pass, a.cy, pseudo, forward.cell());
      if (a.training) {
        for (std::size_t i = 0; i < layout.slots; ++i) {
          StoreSlot(pass, reserve, layout.Slot(pseudo, i), result.slots[i]);
        }
        if (layer + 1 < shape.layers) StoreSlot(pass, reserve, layout.Output(pseudo), result.output);
      }
      outputs.push_back(std::move(result.output));
    }
    x = SideBySide(pass, outputs);
  }
  StoreVectors(pass.outputs, shape.type, a.y, x, pass.y_filled, pass.y_fill);
  if (a.training) {
    header.y = Checksum(a.y, pass.OutputBytes());
    *reinterpret_cast<ReserveHeader*>(reserve) = header;
  }
}

}  // namespace

cudnnStatus_t cudnnRNNForward(cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor, int mode,
                              const int32_t devSeqLengths[], cudnnRNNDataDescriptor_t xDesc, const void* x,
                              cudnnRNNDataDescriptor_t yDesc, void* y, cudnnTensorDescriptor_t hDesc, const void* hx,
                              void* hy, cudnnTensorDescriptor_t cDesc, const void* cx, void* cy, size_t weightSpaceSize,
                              const void* weightSpace, size_t workSpaceSize, void* workSpace, size_t reserveSpaceSize,
                              void* reserveSpace) {
  EMULATOR_ENTER(kCudnn);
  return Guarded([&] {
    const HandleInUse used(handle);
    const auto stream = used.LiveStream();
    Require(mode == CUDNN_FWD_MODE_INFERENCE || mode == CUDNN_FWD_MODE_TRAINING, "fwdMode");
    const bool training = mode == CUDNN_FWD_MODE_TRAINING;
    const std::shared_ptr<const RnnPass> pass = MakePass(descriptor, xDesc, yDesc, training);
    const bool lstm = pass->shape.cell_mode == CUDNN_LSTM;
    CheckStateDescriptor(*pass, hDesc, hx != nullptr || hy != nullptr, pass->shape.output, "hDesc");
    CheckStateDescriptor(*pass, cDesc, cx != nullptr || cy != nullptr, pass->shape.hidden, "cDesc");
    const std::size_t work_bytes = WorkSpaceBytes(pass->shape, pass->sequences, training, pass->descriptor.flags != 0);
    const std::size_t reserve_bytes = ReserveLayout(pass->shape, pass->sequences, pass->dropout_rate > 0).bytes;
    CheckSpace(weightSpace, weightSpaceSize, pass->WeightBytes(), "weightSpace");
    CheckSpace(workSpace, workSpaceSize, work_bytes, "workSpace");
    if (training) CheckSpace(reserveSpace, reserveSpaceSize, reserve_bytes, "reserveSpace");
    CheckNoEmptySequence(*pass);
    const std::size_t element = SizeOf(pass->shape.type);
    CheckDevicePointer(x, element, "x");
    CheckDevicePointer(y, element, "y");

    ForwardArguments arguments{training,
                               devSeqLengths,
                               x,
                               hx,
                               lstm ? cx : nullptr,
                               weightSpace,
                               y,
                               hy,
                               lstm ? cy : nullptr,
                               workSpace,
                               training ? reserveSpace : nullptr,
                               work_bytes};
    static std::atomic<std::uint64_t> host_passes{0};
    const auto settings = CurrentSettings();
    if (settings->host_dropout || settings->frozen_masks) arguments.host_passes = ++host_passes;
    arguments.frozen_masks = settings->frozen_masks;
    if (training && pass->dropout_rate > 0) RefusePersistent(*pass, "dropout");
    RefusePersistent(*pass, "forward");
    // With lengths staged on the host, a graph contains the copy but not the copied values.
    const bool is_staged = settings->staged_lengths && CaptureStatus(stream) != 0;
    StageLengths(pass);
    Accesses accesses;
    accesses.Reads(x, pass->InputBytes()).Reads(weightSpace, pass->WeightBytes()).Reads(hx, pass->HiddenBytes());
    accesses.Reads(arguments.cx, pass->CellBytes()).Reads(devSeqLengths, 4 * pass->sequences.Batch());
    accesses.Writes(y, pass->OutputBytes()).Writes(hy, pass->HiddenBytes()).Writes(arguments.cy, pass->CellBytes());
    accesses.Writes(workSpace, workSpaceSize).Writes(arguments.reserve, reserve_bytes);
    accesses.Writes(pass->states, DropoutStates::kBytes);
    const int error =
        Enqueue(stream, {.name = __func__, .accesses = accesses.list, .run = [pass, arguments, is_staged](int device) {
                           RunForward(device, is_staged ? *WithStagedLengths(pass) : *pass, arguments);
                         }});
    Require(error == 0, "the work could not be enqueued", kExecutionFailedCudart);
  });
}
