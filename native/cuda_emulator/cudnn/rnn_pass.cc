#include "cudnn/rnn_pass.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "cudnn/status.h"
#include "cudnn/version.h"

namespace emulator {
namespace {

// The largest H of the persistent kernels.
int LargestHidden(int algo, int cell_mode) {
  const bool simple = cell_mode == CUDNN_RNN_RELU || cell_mode == CUDNN_RNN_TANH;
  switch (algo) {
    case CUDNN_RNN_ALGO_PERSIST_STATIC: return simple ? 2560 : 1536;
    case CUDNN_RNN_ALGO_PERSIST_DYNAMIC: return 4200;
    case CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H: return simple ? 384 : 192;
    default: return INT32_MAX;
  }
}

bool SameBatch(const RnnDataDescriptor& x, const RnnDataDescriptor& y) {
  return x.layout == y.layout && x.dtype == y.dtype && x.time == y.time && x.batch == y.batch && x.lengths == y.lengths;
}

bool Equal(const std::vector<int>& lengths, int time) {
  return std::all_of(lengths.begin(), lengths.end(), [time](int length) { return length == time; });
}

}  // namespace

RnnPass::RnnPass(const RnnDescriptor& descriptor, const RnnDataDescriptor& x, const RnnDataDescriptor& y)
    : descriptor(descriptor),
      shape(descriptor),
      x_data(x),
      y_data(y),
      sequences(x),
      outputs(y),
      x_filled(x.has_fill),
      y_filled(y.has_fill),
      x_fill(x.fill),
      y_fill(y.fill) {}

std::shared_ptr<const RnnPass> RnnPass::WithLengths(const RnnPass& other) const {
  RnnDataDescriptor x = x_data;
  RnnDataDescriptor y = y_data;
  x.lengths = y.lengths = other.x_data.lengths;
  auto made = std::make_shared<RnnPass>(descriptor, x, y);
  made->dropout_rate = dropout_rate;
  made->states = states;
  return made;
}

std::shared_ptr<RnnPass> MakePass(cudnnRNNDescriptor_t descriptor, cudnnRNNDataDescriptor_t x_descriptor,
                                  cudnnRNNDataDescriptor_t y_descriptor, bool training) {
  const auto d = Live(TheCudnnTables().rnns, descriptor, "rnnDesc");
  const auto x = Live(TheCudnnTables().rnn_data, x_descriptor, "xDesc");
  const auto y = Live(TheCudnnTables().rnn_data, y_descriptor, "yDesc");
  Require(d->set, "rnnDesc was not set");
  Require(x->set && y->set, "xDesc or yDesc was not set");
  auto pass = std::make_shared<RnnPass>(*d, *x, *y);
  const RnnShape& shape = pass->shape;
  const bool equal = Equal(x->lengths, x->time);
  CheckHiddenSize(*d);
  const bool one_length = d->algo == CUDNN_RNN_ALGO_STANDARD || equal;
  Require(one_length, "unequal lengths with a persistent algorithm", kNotSupported);
  Require(SameBatch(*x, *y), "xDesc and yDesc differ");
  Require(x->dtype == d->dtype, "xDesc->dataType != rnnDesc->dataType");
  Require(static_cast<std::size_t>(x->width) == shape.input, "xDesc->vectorSize != inputSize");
  Require(static_cast<std::size_t>(y->width) == shape.output * shape.directions, "yDesc->vectorSize");
  Require(!shape.skip || shape.input == shape.hidden, "skip input with inputSize != hiddenSize");

  const bool packed = x->layout == CUDNN_SEQ_MAJOR_PACKED;
  const bool is_padded = d->flags == CUDNN_PADDED_IO_ENABLED;
  Require(equal || packed || is_padded, "unequal lengths without PADDED_IO_ENABLED");
  Require(x->layout != CUDNN_BATCH_MAJOR_UNPACKED || is_padded, "batch major without PADDED_IO_ENABLED");
  if (d->algo == CUDNN_RNN_ALGO_PERSIST_DYNAMIC) {
    Require(d->built_batch == x->batch, "cudnnBuildRNNDynamic was not called for this batch");
  }
  const int capability = CurrentSettings()->capability;
  Require(capability >= (d->algo == CUDNN_RNN_ALGO_STANDARD ? 500 : 600), "compute capability", kArchMismatch);
  Require(d->dtype != CUDNN_DATA_BFLOAT16 || capability >= 800, "bfloat16 before 8.0", kArchMismatch);

  if (training && d->dropout != nullptr && shape.layers > 1) {
    const auto dropout = Live(TheCudnnTables().dropouts, d->dropout, "dropoutDesc");
    if (dropout->rate > 0) {
      Require(dropout->states != nullptr, "dropout without states");
      pass->dropout_rate = dropout->rate;
      pass->states = static_cast<DropoutStates*>(dropout->states);
    }
  }
  return pass;
}

void CheckHiddenSize(const RnnDescriptor& d) {
  Require(d.hidden_size <= LargestHidden(d.algo, d.cell_mode), "hiddenSize with this algorithm", kNotSupported);
}

void CheckNoEmptySequence(const RnnPass& pass) {
  const auto& lengths = pass.x_data.lengths;
  const bool has_empty = std::find(lengths.begin(), lengths.end(), 0) != lengths.end();
  Require(!has_empty, "a sequence of length 0", kNotSupported);
}

void CheckStateDescriptor(const RnnPass& pass, cudnnTensorDescriptor_t descriptor, bool needed, std::size_t width,
                          const char* name) {
  if (!needed) return;
  Require(descriptor != nullptr, name);
  const auto tensor = Live(TheCudnnTables().tensors, descriptor, name);
  const auto batch = static_cast<int>(pass.sequences.Batch());
  const auto columns = static_cast<int>(width);
  Require(tensor->dtype == pass.descriptor.dtype, name);
  Require(tensor->dims == std::vector<int>{static_cast<int>(pass.shape.PseudoLayers()), batch, columns}, name);
  // The stride of a single row is not used.
  const bool is_packed = tensor->dims[0] == 1 || tensor->strides[0] == batch * columns;
  Require(is_packed && tensor->strides[1] == columns && tensor->strides[2] == 1, name);
}

void CheckSpace(const void* space, std::size_t bytes, std::size_t needed, const char* name) {
  Require(space != nullptr && bytes >= needed, name);
}

void CheckDevicePointer(const void* pointer, std::size_t alignment, const char* name) {
  if (pointer == nullptr) {
    ReportViolation(std::string(name) + " is null");
  } else if (!IsDeviceAddress(pointer) && !IsPinned(pointer, 1)) {
    ReportViolation(std::string(name) + " is a host pointer");
  } else if (reinterpret_cast<std::uintptr_t>(pointer) % alignment != 0) {
    ReportViolation(std::string(name) + " is misaligned");
  }
}

void RefusePersistent(const RnnPass& pass, const char* stage) {
  static std::atomic<bool> is_stale{false};
  const auto settings = CurrentSettings();
  if (settings->stale_errors && is_stale.exchange(false)) {
    Require(false, "cudaGetLastError() != cudaSuccess", kExecutionFailedCudart);
  }
  if (pass.descriptor.algo == CUDNN_RNN_ALGO_STANDARD || settings->persist_refuses != stage) return;
  is_stale = settings->stale_errors;
  Require(false, "the persistent kernel does not take this shape", kNotSupported);
}

void SpoilWorkSpace(int device, void* space, std::size_t bytes) {
  std::memset(Resolve(device, space, bytes, "workSpace"), 0xA7, bytes);
}

void CheckDeviceLengths(int device, const std::int32_t* lengths, const Sequences& sequences) {
  // Until 8.9.1 the kernels read them; later ones take the descriptor's, and NVIDIA requires null.
  if (CudnnVersion() >= 8901) {
    if (lengths == nullptr) return;
    ReportViolation("devSeqLengths should be NULL from cuDNN 8.9.1 on");
  }
  const std::int32_t* read = ResolveArray(device, lengths, sequences.Batch(), "devSeqLengths");
  for (std::size_t b = 0; b < sequences.Batch(); ++b) {
    if (read[b] != static_cast<std::int32_t>(sequences.lengths[b])) {
      ReportViolation("devSeqLengths differ from the descriptor's lengths when the pass runs");
      return;
    }
  }
}

Accesses& Accesses::Reads(const void* pointer, std::size_t bytes) {
  if (pointer != nullptr && bytes > 0) list.push_back({pointer, bytes, false});
  return *this;
}

Accesses& Accesses::Writes(const void* pointer, std::size_t bytes) {
  if (pointer != nullptr && bytes > 0) list.push_back({pointer, bytes, true});
  return *this;
}

}  // namespace emulator
