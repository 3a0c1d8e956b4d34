#include <cstring>
#include <memory>

#include "core/settings.h"
#include "cudnn/layer.h"
#include "cudnn/rnn_pass.h"
#include "cudnn/status.h"
#include "numeric/matrix_product.h"

using namespace emulator;

namespace {

struct WeightArguments {
  const std::int32_t* lengths;
  const void *x, *hx, *y;
  void *dw, *work, *reserve;
  std::size_t work_bytes;
};

// Adds gradients to the weight space, a block at a time.
class WeightGradient {
 public:
  WeightGradient(FloatType type, void* space) : type_(type), space_(space) {}

  // ∂L/∂M += dᵀ·v for the matrix at `offset`: d [S, rows], v [S, columns].
  void AddOuter(std::size_t offset, const Rows& d, const Rows& v) {
    const std::size_t count = d.width * v.width;
    std::vector<double> sum = Load(type_, space_, offset, count);
    AddProduct(d.width, v.width, d.data.size() / d.width, {d[0], d.width, true}, {v[0], v.width}, sum.data(), v.width);
    Store(type_, space_, offset, count, sum.data());
  }

  // ∂L/∂b += Σ d for the bias at `offset`.
  void AddSum(std::size_t offset, const Rows& d) {
    std::vector<double> sum = Load(type_, space_, offset, d.width);
    for (std::size_t i = 0; i < d.data.size(); ++i) sum[i % d.width] += d.data[i];
    Store(type_, space_, offset, d.width, sum.data());
  }

 private:
  FloatType type_;
  void* space_;
};

// The slots `first` … side by side: [S, G·H].
Rows Gates(const RnnPass& pass, const char* reserve, const ReserveLayout& layout, std::size_t pseudo,
           const std::vector<std::size_t>& slots) {
  const std::size_t h = pass.shape.hidden;
  Rows gates(pass.sequences.rows, slots.size() * h);
  for (std::size_t k = 0; k < slots.size(); ++k) {
    const Rows one = LoadSlot(pass, reserve, layout.Slot(pseudo, slots[k]), h);
    for (std::size_t row = 0; row < pass.sequences.rows; ++row) std::copy_n(one[row], h, gates[row] + k * h);
  }
  return gates;
}

Rows Columns(const Rows& rows, std::size_t first, std::size_t width) {
  const std::size_t count = rows.data.size() / rows.width;
  Rows columns(count, width);
  for (std::size_t row = 0; row < count; ++row) std::copy_n(rows[row] + first, width, columns[row]);
  return columns;
}

Rows OutputsOf(const RnnPass& pass, const char* reserve, const ReserveLayout& layout, std::size_t layer) {
  const RnnShape& shape = pass.shape;
  Rows together(pass.sequences.rows, shape.directions * shape.output);
  for (std::size_t direction = 0; direction < shape.directions; ++direction) {
    const Rows one = LoadSlot(pass, reserve, layout.Output(layer * shape.directions + direction), shape.output);
    for (std::size_t row = 0; row < pass.sequences.rows; ++row) {
      std::copy_n(one[row], shape.output, together[row] + direction * shape.output);
    }
  }
  return together;
}

void CheckReserve(const ReserveHeader& header, const RnnPass& pass, const WeightArguments& a) {
  if (header.magic != ReserveHeader::kMagic || header.stage != ReserveHeader::kDataDone) {
    throw DeviceFault(719, "BackwardWeights wants the reserve space that BackwardData has been through");
  }
  if (header.network != NetworkSum(pass.descriptor, pass.sequences)) {
    throw DeviceFault(719, "the reserve space belongs to another network or batch");
  }
  const bool same = header.x == Checksum(a.x, pass.InputBytes()) && header.y == Checksum(a.y, pass.OutputBytes()) &&
                    header.hx == (a.hx == nullptr ? 0 : Checksum(a.hx, pass.HiddenBytes()));
  if (!same) ReportViolation("x, hx or y of BackwardWeights differs from the forward pass");
}

void RunBackwardWeights(int device, const RnnPass& pass, const WeightArguments& given) {
  const RnnShape& shape = pass.shape;
  const ReserveLayout layout(shape, pass.sequences, pass.dropout_rate > 0);
  CheckDeviceLengths(device, given.lengths, pass.sequences);
  SpoilWorkSpace(device, given.work, given.work_bytes);
  WeightArguments a = given;
  a.x = Resolve(device, given.x, pass.InputBytes(), "x");
  a.y = Resolve(device, given.y, pass.OutputBytes(), "y");
  a.hx = given.hx == nullptr ? nullptr : Resolve(device, given.hx, pass.HiddenBytes(), "hx");
  a.dw = Resolve(device, given.dw, pass.WeightBytes(), "dweightSpace");
  a.reserve = Resolve(device, given.reserve, layout.bytes, "reserveSpace");
  const char* reserve = static_cast<const char*>(a.reserve);
  CheckReserve(*reinterpret_cast<const ReserveHeader*>(reserve), pass, a);
  const auto* mask = reinterpret_cast<const unsigned char*>(reserve) + layout.mask;

  const bool gru = shape.cell_mode == CUDNN_GRU;
  std::vector<std::size_t> input_slots(shape.gates);
  for (std::size_t k = 0; k < shape.gates; ++k) input_slots[k] = k;
  const std::vector<std::size_t> recurrent_slots = gru ? std::vector<std::size_t>{0, 1, 3} : input_slots;
  const Rows y = LoadVectors(pass.outputs, shape.type, a.y, shape.output * shape.directions);
  WeightGradient gradient(shape.type, a.dw);
  for (std::size_t pseudo = 0; pseudo < shape.PseudoLayers(); ++pseudo) {
    const std::size_t layer = pseudo / shape.directions;
    const std::size_t direction = pseudo % shape.directions;
    const Rows input_side = Gates(pass, reserve, layout, pseudo, input_slots);
    const Rows recurrent_side = gru ? Gates(pass, reserve, layout, pseudo, recurrent_slots) : input_side;
    Rows x = layer == 0 ? LoadVectors(pass.sequences, shape.type, a.x, shape.input)
                        : OutputsOf(pass, reserve, layout, layer - 1);
    if (layer > 0) ApplyMask(pass, mask, pseudo, x);
    const Rows hidden = layer + 1 == shape.layers ? Columns(y, direction * shape.output, shape.output)
                                                  : LoadSlot(pass, reserve, layout.Output(pseudo), shape.output);
    const Rows before = PreviousHidden(pass, direction == 1, hidden, LoadState(pass, a.hx, pseudo, shape.output));

    const std::size_t start = shape.MatrixStart(pseudo);
    const std::size_t recurrent = start + shape.InputMatrices(pseudo);
    if (shape.InputMatrices(pseudo) > 0) gradient.AddOuter(start, input_side, x);
    gradient.AddOuter(recurrent, recurrent_side, before);
    if (shape.projected) {
      const Rows projected = LoadSlot(pass, reserve, layout.Projection(pseudo), shape.output);
      const Rows unprojected = LoadSlot(pass, reserve, layout.Slot(pseudo, 5), shape.hidden);
      gradient.AddOuter(recurrent + shape.gates * shape.hidden * shape.output, projected, unprojected);
    }
    std::size_t bias = shape.BiasStart(pseudo);
    if (shape.input_bias) {
      gradient.AddSum(bias, input_side);
      bias += shape.gates * shape.hidden;
    }
    if (shape.recurrent_bias) gradient.AddSum(bias, recurrent_side);
  }
}

}  // namespace

cudnnStatus_t cudnnRNNBackwardWeights_v8(cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor, int addGrad,
                                         const int32_t devSeqLengths[], cudnnRNNDataDescriptor_t xDesc, const void* x,
                                         cudnnTensorDescriptor_t hDesc, const void* hx, cudnnRNNDataDescriptor_t yDesc,
                                         const void* y, size_t weightSpaceSize, void* dweightSpace,
                                         size_t workSpaceSize, void* workSpace, size_t reserveSpaceSize,
                                         void* reserveSpace) {
  EMULATOR_ENTER(kCudnn);
  return Guarded([&] {
    const HandleInUse used(handle);
    const auto stream = used.LiveStream();
    Require(addGrad == CUDNN_WGRAD_ADD || addGrad == CUDNN_WGRAD_SET, "addGrad");
    const bool is_set = addGrad == CUDNN_WGRAD_SET;
    Require(!is_set || CurrentSettings()->other_release, "CUDNN_WGRAD_SET", kNotSupported);
    const std::shared_ptr<const RnnPass> pass = MakePass(descriptor, xDesc, yDesc, true);
    RefusePersistent(*pass, "backward");
    CheckStateDescriptor(*pass, hDesc, hx != nullptr, pass->shape.output, "hDesc");
    const std::size_t work_bytes = WorkSpaceBytes(pass->shape, pass->sequences, true, pass->descriptor.flags != 0);
    const std::size_t reserve_bytes = ReserveLayout(pass->shape, pass->sequences, pass->dropout_rate > 0).bytes;
    CheckSpace(dweightSpace, weightSpaceSize, pass->WeightBytes(), "dweightSpace");
    CheckSpace(workSpace, workSpaceSize, work_bytes, "workSpace");
    CheckSpace(reserveSpace, reserveSpaceSize, reserve_bytes, "reserveSpace");
    CheckNoEmptySequence(*pass);
    const std::size_t element = SizeOf(pass->shape.type);
    CheckDevicePointer(x, element, "x");
    CheckDevicePointer(y, element, "y");

    const WeightArguments arguments{devSeqLengths, x, hx, y, dweightSpace, workSpace, reserveSpace, work_bytes};
    Accesses accesses;
    accesses.Reads(x, pass->InputBytes()).Reads(y, pass->OutputBytes()).Reads(hx, pass->HiddenBytes());
    accesses.Reads(devSeqLengths, 4 * pass->sequences.Batch()).Writes(dweightSpace, pass->WeightBytes());
    accesses.Writes(workSpace, workSpaceSize).Writes(reserveSpace, reserve_bytes);
    const int error =
        Enqueue(stream, {.name = __func__, .accesses = accesses.list, .run = [pass, arguments, is_set](int device) {
                           if (is_set) {
                             void* dw = Resolve(device, arguments.dw, pass->WeightBytes(), "dweightSpace");
                             std::memset(dw, 0, pass->WeightBytes());
                           }
                           RunBackwardWeights(device, *pass, arguments);
                         }});
    Require(error == 0, "the work could not be enqueued", kExecutionFailedCudart);
  });
}
