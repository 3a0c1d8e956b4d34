#include <memory>

#include "cudnn/cell.h"
#include "cudnn/layer.h"
#include "cudnn/rnn_pass.h"
#include "cudnn/status.h"
#include "numeric/matrix_product.h"

using namespace emulator;

namespace {

struct BackwardArguments {
  const std::int32_t* lengths;
  const void *y, *dy, *hx, *dhy, *cx, *dcy, *weights;
  void *dx, *dhx, *dcx, *work, *reserve;
  std::size_t work_bytes;
};

class LayerBackward {
 public:
  LayerBackward(const RnnPass& pass, const BackwardArguments& a, std::size_t pseudo, const ReserveLayout& layout,
                const Rows& hidden)
      : pass_(pass),
        shape_(pass.shape),
        weights_(pass.shape, pseudo, a.weights),
        backward_(pseudo % pass.shape.directions == 1),
        before_(PreviousHidden(pass, backward_, hidden, LoadState(pass, a.hx, pseudo, pass.shape.output))),
        first_cell_(LoadState(pass, a.cx, pseudo, pass.shape.hidden)),
        dh_(LoadState(pass, a.dhy, pseudo, pass.shape.output)),
        dc_(LoadState(pass, a.dcy, pseudo, pass.shape.hidden)),
        input_gradient_(pass.sequences.rows, pass.shape.gates * pass.shape.hidden),
        clip_(pass) {
    const char* reserve = static_cast<const char*>(a.reserve);
    for (std::size_t i = 0; i < layout.slots; ++i) {
      slots_.push_back(LoadSlot(pass, reserve, layout.Slot(pseudo, i), shape_.hidden));
    }
    if (shape_.projected) projected_gradient_ = Rows(pass.sequences.rows, shape_.output);
  }

  // From ∂L/∂output [S, P] to ∂L/∂input [S, in].
  Rows Run(const Rows& dy, std::size_t input_width) {
    for (std::size_t s = pass_.sequences.time; s-- > 0;) Retreat(s, dy);
    const std::size_t width = shape_.gates * shape_.hidden;
    Rows dx(pass_.sequences.rows, input_width);
    if (weights_.input.empty()) {
      for (std::size_t row = 0; row < pass_.sequences.rows; ++row) {
        for (std::size_t j = 0; j < width; ++j) dx[row][j % shape_.hidden] += input_gradient_[row][j];
      }
    } else {
      AddProduct(pass_.sequences.rows, input_width, width, {input_gradient_[0], width},
                 {weights_.input.data(), input_width}, dx[0], input_width);
    }
    return dx;
  }

  // Activations give way to the gradients of the gates.
  void StoreReserve(const ReserveLayout& layout, std::size_t pseudo, char* reserve) const {
    for (std::size_t i = 0; i < layout.slots; ++i) {
      StoreSlot(pass_, reserve, layout.Slot(pseudo, i), slots_[i]);
    }
    if (shape_.projected) StoreSlot(pass_, reserve, layout.Projection(pseudo), projected_gradient_);
  }

  const Rows& dh() const { return dh_; }
  const Rows& dc() const { return dc_; }

 private:
  void Retreat(std::size_t s, const Rows& dy) {
    const Step step(pass_.sequences, backward_, s);
    const std::size_t width = shape_.gates * shape_.hidden;
    Rows arriving = Gathered(dh_, step);
    for (std::size_t i = 0; i < step.Count(); ++i) {
      for (std::size_t j = 0; j < shape_.output; ++j) arriving[i][j] += dy[step.row[i]][j];
    }
    Rows fresh(step.Count(), shape_.hidden);
    if (shape_.projected) {
      for (std::size_t i = 0; i < step.Count(); ++i) {
        std::copy_n(arriving[i], shape_.output, projected_gradient_[step.row[i]]);
      }
      AddProduct(step.Count(), shape_.hidden, shape_.output, {arriving[0], shape_.output},
                 {weights_.projection.data(), shape_.hidden}, fresh[0], shape_.hidden);
    } else {
      fresh = arriving;
    }
    Rows recurrent(step.Count(), width);
    Rows passed(step.Count(), shape_.output);  // gradient of h before the step, without the product with R
    for (std::size_t i = 0; i < step.Count(); ++i) {
      for (std::size_t j = 0; j < shape_.hidden; ++j) Unit(step, s, i, j, fresh[i][j], recurrent[i], passed[i]);
    }
    AddProduct(step.Count(), shape_.output, width, {recurrent[0], width}, {weights_.recurrent.data(), shape_.output},
               passed[0], shape_.output);
    for (std::size_t i = 0; i < step.Count(); ++i) std::copy_n(passed[i], shape_.output, dh_[step.batch[i]]);
  }

  void Unit(const Step& step, std::size_t s, std::size_t i, std::size_t j, double dh, double* recurrent,
            double* passed) {
    const std::size_t h = shape_.hidden;
    const std::size_t row = step.row[i];
    double* input = input_gradient_[row];
    switch (shape_.cell_mode) {
      case CUDNN_LSTM: {
        LstmUnit unit;
        unit.i = slots_[0][row][j];
        unit.f = slots_[1][row][j];
        unit.g = slots_[2][row][j];
        unit.o = slots_[3][row][j];
        unit.c = slots_[4][row][j];
        const double c_before = s > 0 ? slots_[4][step.previous[i]][j] : first_cell_[step.batch[i]][j];
        double& dc = dc_[step.batch[i]][j];
        const LstmGradient gradient(unit, c_before, dh, dc, clip_);
        dc = gradient.c_before;
        const double gates[] = {gradient.i, gradient.f, gradient.g, gradient.o};
        for (std::size_t k = 0; k < 4; ++k) slots_[k][row][j] = input[k * h + j] = recurrent[k * h + j] = gates[k];
        break;
      }
      case CUDNN_GRU: {
        GruUnit unit;
        unit.r = slots_[0][row][j];
        unit.z = slots_[1][row][j];
        unit.n = slots_[2][row][j];
        unit.q = slots_[3][row][j];
        const GruGradient gradient(unit, before_[row][j], dh);
        passed[j] = gradient.h_before;
        slots_[0][row][j] = input[j] = recurrent[j] = gradient.r;
        slots_[1][row][j] = input[h + j] = recurrent[h + j] = gradient.z;
        slots_[2][row][j] = input[2 * h + j] = gradient.n;
        slots_[3][row][j] = recurrent[2 * h + j] = gradient.q;
        break;
      }
      default: {
        const double gradient = ActivationGradient(shape_.cell_mode, slots_[0][row][j], dh);
        slots_[0][row][j] = input[j] = recurrent[j] = gradient;
        break;
      }
    }
  }

  const RnnPass& pass_;
  const RnnShape& shape_;
  const LayerWeights weights_;
  const bool backward_;
  const Rows before_, first_cell_;
  Rows dh_, dc_, input_gradient_;
  Rows projected_gradient_{0, 0};
  std::vector<Rows> slots_;
  const Clip clip_;
};

// The columns of one direction out of [S, D·P].
Rows Direction(const RnnPass& pass, const Rows& both, std::size_t direction) {
  const std::size_t width = pass.shape.output;
  Rows one(pass.sequences.rows, width);
  for (std::size_t row = 0; row < pass.sequences.rows; ++row) {
    std::copy_n(both[row] + direction * width, width, one[row]);
  }
  return one;
}

void CheckReserve(ReserveHeader& header, const RnnPass& pass, const BackwardArguments& a) {
  if (header.magic != ReserveHeader::kMagic)
    throw DeviceFault(719, "the reserve space was not filled by a forward pass");
  if (header.stage != ReserveHeader::kForwardDone) {
    throw DeviceFault(719, "the reserve space was used by an earlier backward pass already");
  }
  if (header.network != NetworkSum(pass.descriptor, pass.sequences)) {
    throw DeviceFault(719, "the reserve space belongs to another network or batch");
  }
  if (header.weights != Checksum(a.weights, pass.WeightBytes())) {
    ReportViolation("the weights changed between the forward pass and BackwardData");
  }
  if (header.y != Checksum(a.y, pass.OutputBytes())) {
    ReportViolation("y changed between the forward pass and BackwardData");
  }
  if (header.hx != (a.hx == nullptr ? 0 : Checksum(a.hx, pass.HiddenBytes()))) {
    ReportViolation("hx of BackwardData is not that of the forward pass");
  }
  header.stage = ReserveHeader::kDataDone;
}

BackwardArguments Resolved(int device, const RnnPass& pass, const BackwardArguments& a, std::size_t reserve_bytes) {
  const auto at = [device](auto* pointer, std::size_t bytes, const char* what) -> decltype(pointer) {
    return pointer == nullptr ? nullptr : static_cast<decltype(pointer)>(Resolve(device, pointer, bytes, what));
  };
  BackwardArguments resolved = a;
  resolved.y = Resolve(device, a.y, pass.OutputBytes(), "y");
  resolved.dy = Resolve(device, a.dy, pass.OutputBytes(), "dy");
  resolved.dx = Resolve(device, a.dx, pass.InputBytes(), "dx");
  resolved.weights = Resolve(device, a.weights, pass.WeightBytes(), "weightSpace");
  resolved.reserve = Resolve(device, a.reserve, reserve_bytes, "reserveSpace");
  resolved.hx = at(a.hx, pass.HiddenBytes(), "hx");
  resolved.dhy = at(a.dhy, pass.HiddenBytes(), "dhy");
  resolved.dhx = at(a.dhx, pass.HiddenBytes(), "dhx");
  resolved.cx = at(a.cx, pass.CellBytes(), "cx");
  resolved.dcy = at(a.dcy, pass.CellBytes(), "dcy");
  resolved.dcx = at(a.dcx, pass.CellBytes(), "dcx");
  return resolved;
}

void RunBackwardData(int device, const RnnPass& pass, const BackwardArguments& given) {
  const RnnShape& shape = pass.shape;
  const ReserveLayout layout(shape, pass.sequences, pass.dropout_rate > 0);
  CheckDeviceLengths(device, given.lengths, pass.sequences);
  SpoilWorkSpace(device, given.work, given.work_bytes);
  const BackwardArguments a = Resolved(device, pass, given, layout.bytes);
  char* reserve = static_cast<char*>(a.reserve);
  CheckReserve(*reinterpret_cast<ReserveHeader*>(reserve), pass, a);
  const auto* mask = reinterpret_cast<const unsigned char*>(reserve) + layout.mask;

  const Rows y = LoadVectors(pass.outputs, shape.type, a.y, shape.output * shape.directions);
  Rows gradient = LoadVectors(pass.outputs, shape.type, a.dy, shape.output * shape.directions);
  for (std::size_t layer = shape.layers; layer-- > 0;) {
    const bool last = layer + 1 == shape.layers;
    Rows below(pass.sequences.rows, shape.InputOf(layer * shape.directions));
    for (std::size_t direction = 0; direction < shape.directions; ++direction) {
      const std::size_t pseudo = layer * shape.directions + direction;
      const Rows hidden =
          last ? Direction(pass, y, direction) : LoadSlot(pass, reserve, layout.Output(pseudo), shape.output);
      LayerBackward backward(pass, a, pseudo, layout, hidden);
      Rows dx = backward.Run(Direction(pass, gradient, direction), below.width);
      backward.StoreReserve(layout, pseudo, reserve);
      StoreState(pass, a.dhx, pseudo, backward.dh());
      if (shape.cell_mode == CUDNN_LSTM) StoreState(pass, a.dcx, pseudo, backward.dc());
      if (layer > 0) ApplyMask(pass, mask, pseudo, dx);
      for (std::size_t i = 0; i < dx.data.size(); ++i) below.data[i] += dx.data[i];
    }
    gradient = std::move(below);
  }
  StoreVectors(pass.sequences, shape.type, a.dx, gradient, pass.x_filled, pass.x_fill);
}

}  // namespace

cudnnStatus_t cudnnRNNBackwardData_v8(cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor,
                                      const int32_t devSeqLengths[], cudnnRNNDataDescriptor_t yDesc, const void* y,
                                      const void* dy, cudnnRNNDataDescriptor_t xDesc, void* dx,
                                      cudnnTensorDescriptor_t hDesc, const void* hx, const void* dhy, void* dhx,
                                      cudnnTensorDescriptor_t cDesc, const void* cx, const void* dcy, void* dcx,
                                      size_t weightSpaceSize, const void* weightSpace, size_t workSpaceSize,
                                      void* workSpace, size_t reserveSpaceSize, void* reserveSpace) {
  EMULATOR_ENTER(kCudnn);
  return Guarded([&] {
    const HandleInUse used(handle);
    const auto stream = used.LiveStream();
    const std::shared_ptr<const RnnPass> pass = MakePass(descriptor, xDesc, yDesc, true);
    RefusePersistent(*pass, "backward");
    const bool lstm = pass->shape.cell_mode == CUDNN_LSTM;
    // hx and cx alone need none, as the library has it.
    const bool h_needed = dhy != nullptr || dhx != nullptr;
    const bool c_needed = dcy != nullptr || dcx != nullptr;
    CheckStateDescriptor(*pass, hDesc, h_needed, pass->shape.output, "hDesc");
    CheckStateDescriptor(*pass, cDesc, c_needed, pass->shape.hidden, "cDesc");
    const std::size_t work_bytes = WorkSpaceBytes(pass->shape, pass->sequences, true, pass->descriptor.flags != 0);
    const std::size_t reserve_bytes = ReserveLayout(pass->shape, pass->sequences, pass->dropout_rate > 0).bytes;
    CheckSpace(weightSpace, weightSpaceSize, pass->WeightBytes(), "weightSpace");
    CheckSpace(workSpace, workSpaceSize, work_bytes, "workSpace");
    CheckSpace(reserveSpace, reserveSpaceSize, reserve_bytes, "reserveSpace");
    CheckNoEmptySequence(*pass);
    const std::size_t element = SizeOf(pass->shape.type);
    CheckDevicePointer(y, element, "y");
    CheckDevicePointer(dy, element, "dy");
    CheckDevicePointer(dx, element, "dx");

    const BackwardArguments arguments{devSeqLengths,
                                      y,
                                      dy,
                                      hx,
                                      dhy,
                                      lstm ? cx : nullptr,
                                      lstm ? dcy : nullptr,
                                      weightSpace,
                                      dx,
                                      dhx,
                                      lstm ? dcx : nullptr,
                                      workSpace,
                                      reserveSpace,
                                      work_bytes};
    Accesses accesses;
    accesses.Reads(y, pass->OutputBytes()).Reads(dy, pass->OutputBytes()).Reads(weightSpace, pass->WeightBytes());
    accesses.Reads(hx, pass->HiddenBytes()).Reads(dhy, pass->HiddenBytes()).Writes(dhx, pass->HiddenBytes());
    accesses.Reads(arguments.cx, pass->CellBytes()).Reads(arguments.dcy, pass->CellBytes());
    accesses.Writes(arguments.dcx, pass->CellBytes()).Writes(dx, pass->InputBytes());
    accesses.Reads(devSeqLengths, 4 * pass->sequences.Batch());
    accesses.Writes(workSpace, workSpaceSize).Writes(reserveSpace, reserve_bytes);
    const int error =
        Enqueue(stream, {.name = __func__, .accesses = accesses.list, .run = [pass, arguments](int device) {
                           RunBackwardData(device, *pass, arguments);
                         }});
    Require(error == 0, "the work could not be enqueued", kExecutionFailedCudart);
  });
}
#if EMULATOR_CUDNN_MAJOR < 9

#include "cudnn/version.h"

cudnnStatus_t cudnnAdvTrainVersionCheck() {
  EMULATOR_ENTER(kCudnnHost);
  return SublibraryVersion("cudnn_adv_train") == CudnnVersion() ? kSuccess : kVersionMismatch;
}
#endif
