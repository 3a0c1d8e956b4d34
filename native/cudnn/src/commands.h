#pragma once

// Written by scripts/generate_commands.mjs from packages/cudnn/src/sys/commands.ts. Do not edit.

// clang-format off

#include <cstdint>
#include <variant>
#include <vector>

#include "command_reader.h"
#include "kernel_parameters.h"
#include "status.h"
#include "worker.h"

namespace cudnn_rnn {

enum class Opcode { kSegment, kAllocate, kAllocateOnHost, kRelease, kUpload, kDownload, kCopy, kClear, kMemoryInfo, kTrimMemory, kSetTensorDescriptor, kSetDataDescriptor, kSetDropoutDescriptor, kSetRnnDescriptor, kWeightSpaceSize, kWeightParams, kBuildRnnDynamic, kTempSpaceSizes, kRnnForward, kRnnBackwardData, kRnnBackwardWeights, kSetCtcLossDescriptor, kCtcLossWorkspaceSize, kCtcLoss, kMatrixProduct, kLoadKernels, kLaunchKernel, kLaunchGraph };

namespace mode {
/// A list of an exclusive section: it passes the lists that wait for the section's end.
constexpr unsigned kExclusive = 1;
/// Once this submission succeeds, the worker runs lists of the section only. A failed one begins no section.
constexpr unsigned kBeginExclusive = 2;
constexpr unsigned kEndExclusive = 4;
/// Settles when the device is done, not when the work is queued on it.
constexpr unsigned kWait = 8;
/// Returns a promise.
constexpr unsigned kPromise = 16;
/// Reports the milliseconds between two events on the stream around the list; blocks the worker.
constexpr unsigned kTimed = 32;
/// A list that may hold many operations: a segment that fails before it runs leaves the objects it writes valid.
constexpr unsigned kStep = 64;
/// Runs only if the last capture of the session succeeded. The worker decides, so both ways are queued together.
constexpr unsigned kIfCaptured = 128;
constexpr unsigned kUnlessCaptured = 256;
}  // namespace mode

inline void* AddressOf(const Buffer* buffer) { return buffer == nullptr ? nullptr : buffer->pointer; }
inline std::size_t BytesOf(const Buffer* buffer) { return buffer == nullptr ? 0 : buffer->bytes; }

inline const std::vector<KernelShape>& Kernels() {
  using enum KernelParameter;
  static const std::vector<KernelShape> kernels = {
    {"fill", {kOut, kCount, kScalar}},
    {"broadcast_rows", {kOut, kIn, kCount, kCount}},
    {"add_scaled", {kInOut, kIn, kCount, kScalar, kOptionalIn}},
    {"clip_by_value", {kInOut, kCount, kScalar}},
    {"to_bfloat16", {kOut, kIn, kCount}},
    {"from_bfloat16", {kOut, kIn, kCount}},
    {"to_float16", {kOut, kIn, kCount}},
    {"from_float16", {kOut, kIn, kCount}},
    {"mask_sequence", {kOut, kIn, kIn, kCount, kCount, kCount}},
    {"replace_empty_rows", {kOut, kIn, kOptionalIn, kIn, kCount, kCount, kCount}},
    {"mask_clipped", {kOut, kIn, kIn, kCount, kScalar}},
    {"embedding", {kOut, kIn, kIn, kCount, kCount, kCount}},
    {"digit_counts", {kOut, kIn, kOptionalIn, kCount, kCount, kCount}},
    {"digit_offsets", {kInOut, kCount}},
    {"sort_by_digit", {kOut, kIn, kIn, kOptionalIn, kCount, kCount, kCount}},
    {"embedding_gradient", {kOut, kIn, kIn, kIn, kCount, kCount, kCount}},
    {"sum_of_squares", {kOut, kIn, kCount, kCount}},
    {"norm_of_partials", {kOut, kIn, kCount}},
    {"clip_by_norm", {kInOut, kIn, kCount, kScalar}},
    {"both_finite", {kOut, kIn, kIn}},
    {"sum", {kOut, kIn, kCount}},
    {"softmax_cross_entropy", {kOut, kOut, kIn, kIn, kOptionalIn, kIn, kCount, kCount}},
    {"sum_losses", {kOut, kIn, kCount}},
    {"apply_momentum", {kInOut, kInOut, kIn, kCount, kScalar, kScalar, kScalar, kCount, kOptionalIn}},
    {"apply_adam", {kInOut, kInOut, kInOut, kIn, kCount, kOptionalIn, kScalar, kScalar, kScalar, kScalar, kScalar, kScalar, kScalar, kCount, kOptionalIn}},
    {"apply_rms_prop", {kInOut, kInOut, kInOut, kIn, kCount, kScalar, kScalar, kScalar, kScalar, kScalar, kScalar, kCount, kOptionalIn}},
    {"apply_adagrad", {kInOut, kInOut, kIn, kCount, kScalar, kScalar, kCount, kOptionalIn}},
    {"apply_weight_decay", {kInOut, kOptionalIn, kCount, kScalar, kOptionalIn}},
    {"activate", {kOut, kIn, kCount, kCount}},
    {"activation_gradient", {kOut, kIn, kIn, kCount, kCount}},
    {"bounded_relu", {kOut, kIn, kCount, kScalar}},
    {"bounded_relu_gradient", {kOut, kIn, kIn, kCount, kScalar}},
    {"multiply", {kOut, kIn, kIn, kCount}},
    {"softmax_rows", {kOut, kIn, kCount}},
    {"softmax_rows_gradient", {kOut, kIn, kIn, kCount}},
    {"dropout", {kOut, kIn, kCount, kCount, kCount, kCount, kScalar, kScalar, kScalar}},
    {"layer_norm", {kOut, kIn, kIn, kIn, kCount, kScalar}},
    {"layer_norm_gradient", {kOut, kOut, kIn, kIn, kIn, kCount, kScalar}},
    {"copy_columns", {kInOut, kIn, kCount, kCount, kCount, kCount, kCount, kCount}},
    {"reverse_sequence", {kOut, kIn, kOptionalIn, kCount, kCount, kCount, kCount}},
    {"pool_sequence", {kOut, kIn, kOptionalIn, kCount, kCount, kCount, kCount, kCount}},
    {"pool_sequence_gradient", {kOut, kIn, kOptionalIn, kIn, kCount, kCount, kCount, kCount, kCount}},
    {"attention_weights", {kOut, kIn, kOptionalIn, kCount, kCount}},
    {"attend", {kOut, kIn, kIn, kOptionalIn, kCount, kCount, kCount, kCount}},
    {"attention_input_gradient", {kOut, kIn, kIn, kCount, kCount, kCount}},
    {"attention_weight_gradient", {kOut, kIn, kIn, kIn, kCount, kCount}},
    {"attention_score_gradient", {kOut, kIn, kIn, kCount, kCount}},
    {"phased_gate", {kOut, kIn, kIn, kIn, kIn, kCount, kCount, kScalar}},
    {"phased_gate_gradients", {kOut, kOut, kOut, kIn, kIn, kIn, kIn, kIn, kCount, kCount, kScalar}},
    {"phased_gate_time_gradient", {kOut, kIn, kIn, kIn, kIn, kIn, kCount, kCount, kScalar}},
    {"element_loss", {kOut, kOut, kIn, kIn, kOptionalIn, kIn, kCount, kCount, kCount}},
    {"ctc_marks", {kOut, kIn, kIn, kCount, kCount}},
    {"ctc_activations", {kOut, kIn, kIn, kIn, kCount, kCount, kCount, kCount}},
    {"ctc_gradient", {kOut, kIn, kIn, kIn, kIn, kIn, kIn, kCount, kCount, kCount, kCount, kCount}},
    {"ctc_row_losses", {kOut, kOut, kIn, kIn, kIn, kCount, kCount}},
    {"gather_states", {kOut, kIn, kIn, kCount, kCount, kCount, kCount}},
    {"scatter_states", {kInOut, kOptionalIn, kIn, kCount, kCount, kCount, kCount}},
  };
  return kernels;
}

/// Copies a host array to the device. The array is copied when the command is submitted, so JavaScript may change it
/// afterwards: cudaMemcpyAsync is asynchronous only from page-locked memory, which an ArrayBuffer is not.
struct Upload {
  explicit Upload(CommandReader& reader) : to(reader.Out()), offset(reader.Size()), from(reader.HostSource()) {}
  Buffer* to;
  std::size_t offset;
  Source from;
  void Run(Worker& worker, Batch& batch) const;
};

/// `to` is filled when a submission that waits for the device settles.
struct Download {
  explicit Download(CommandReader& reader) : from(reader.In()), offset(reader.Size()), to(reader.HostTarget()) {}
  const Buffer* from;
  std::size_t offset;
  Target to;
  void Run(Worker& worker, Batch& batch) const;
};

// cudaMemcpyAsync
/// On the device, in stream order. The ranges must not overlap: cudaMemcpyAsync leaves that undefined.
struct Copy {
  explicit Copy(CommandReader& reader) : to(reader.Out()), to_offset(reader.Size()), from(reader.In()), from_offset(reader.Size()), bytes(reader.Size()) {}
  Buffer* to;
  std::size_t to_offset;
  const Buffer* from;
  std::size_t from_offset;
  std::size_t bytes;
  void Run(Worker& worker, Batch& batch) const;
};

// cudaMemsetAsync
/// Sets bytes to 0.
struct Clear {
  explicit Clear(CommandReader& reader) : to(reader.Out()), offset(reader.Size()), bytes(reader.Size()) {}
  Buffer* to;
  std::size_t offset;
  std::size_t bytes;
  void Run(Worker& worker, Batch& batch) const;
};

// cudaMemGetInfo
/// Reports free and total bytes.
struct MemoryInfo {
  explicit MemoryInfo(CommandReader&) {}
  void Run(Worker& worker, Batch& batch) const;
};

// cudaMemPoolTrimTo
/// Waits for the device, then returns the free memory of the pool to the system, where other processes can get it.
struct TrimMemory {
  explicit TrimMemory(CommandReader&) {}
  void Run(Worker& worker, Batch& batch) const;
};

// cudnnSetTensorNdDescriptor
/// Three dimensions [L·D,B,columns], fully packed: cuDNN requires packed states (h, c) and packed CTC probabilities.
struct SetTensorDescriptor {
  explicit SetTensorDescriptor(CommandReader& reader) : descriptor(reader.New<TensorDescriptor>()), dtype(reader.Int()), layers(reader.Int()), batch(reader.Int()), columns(reader.Int()) {}
  NewDescriptor<TensorDescriptor> descriptor;
  int dtype;
  int layers;
  int batch;
  int columns;
  void Run(Worker& worker, Batch& batch) const;
};

// cudnnSetRNNDataDescriptor
/// A sequence [T,B,vectorSize] and the length of each row. `seqLengthArray` is in host memory and is copied by the call.
/// `paddingFill` is one element of `dtype`, written to outputs past a row's length; null leaves them undefined.
struct SetDataDescriptor {
  explicit SetDataDescriptor(CommandReader& reader) : descriptor(reader.New<DataDescriptor>()), dtype(reader.Int()), layout(reader.Int()), max_seq_length(reader.Int()), batch_size(reader.Int()), vector_size(reader.Int()), seq_length_array(reader.HostSource()), padding_fill(reader.OptionalSource()) {}
  NewDescriptor<DataDescriptor> descriptor;
  int dtype;
  int layout;
  int max_seq_length;
  int batch_size;
  int vector_size;
  Source seq_length_array;
  Source padding_fill;
  void Run(Worker& worker, Batch& batch) const;
};

// cudnnSetDropoutDescriptor
/// Runs a kernel that fills `states` from the seed, which takes milliseconds: a network makes its generator once. The
/// descriptor keeps the address of `states`, so the buffer must outlive it.
struct SetDropoutDescriptor {
  explicit SetDropoutDescriptor(CommandReader& reader) : descriptor(reader.New<DropoutDescriptor>()), rate(reader.Double()), states(reader.Out()), seed(reader.Double()) {}
  NewDescriptor<DropoutDescriptor> descriptor;
  double rate;
  Buffer* states;
  double seed;
  void Run(Worker& worker, Batch& batch) const;
};

// cudnnSetRNNDescriptor_v8
/// `projSize` equals `hiddenSize` in a network without a projection. `mathPrec` is the type in which products are
/// accumulated; `mathType` allows or forbids Tensor Cores and TF32.
struct SetRnnDescriptor {
  explicit SetRnnDescriptor(CommandReader& reader) : descriptor(reader.New<RnnDescriptor>()), algo(reader.Int()), cell_mode(reader.Int()), bias_mode(reader.Int()), dir_mode(reader.Int()), input_mode(reader.Int()), data_type(reader.Int()), math_prec(reader.Int()), math_type(reader.Int()), input_size(reader.Int()), hidden_size(reader.Int()), proj_size(reader.Int()), num_layers(reader.Int()), dropout(reader.OptionalExisting<DropoutDescriptor>()), aux_flags(reader.Int()), clip(reader.Double()) {}
  NewDescriptor<RnnDescriptor> descriptor;
  int algo;
  int cell_mode;
  int bias_mode;
  int dir_mode;
  int input_mode;
  int data_type;
  int math_prec;
  int math_type;
  int input_size;
  int hidden_size;
  int proj_size;
  int num_layers;
  DescriptorRef<DropoutDescriptor> dropout;
  int aux_flags;
  double clip;
  void Run(Worker& worker, Batch& batch) const;
};

// cudnnGetRNNWeightSpaceSize
/// Reports the bytes of the weight space. packages/cudnn compares them with the canonical layout, which it assumes.
struct WeightSpaceSize {
  explicit WeightSpaceSize(CommandReader& reader) : descriptor(reader.Existing<RnnDescriptor>()) {}
  DescriptorRef<RnnDescriptor> descriptor;
  void Run(Worker& worker, Batch& batch) const;
};

// cudnnGetRNNWeightParams
/// Reports byte offset (-1: absent), rows, columns of the matrix, then of the bias. A pseudo-layer is one direction of
/// one layer: its index is layer · D + direction. `linLayerID` numbers the gates: input side first, recurrent side next,
/// and 8 for the LSTM's projection.
struct WeightParams {
  explicit WeightParams(CommandReader& reader) : descriptor(reader.Existing<RnnDescriptor>()), pseudo_layer(reader.Int()), weight_space_size(reader.Size()), lin_layer_id(reader.Int()) {}
  DescriptorRef<RnnDescriptor> descriptor;
  int pseudo_layer;
  std::size_t weight_space_size;
  int lin_layer_id;
  void Run(Worker& worker, Batch& batch) const;
};

// cudnnBuildRNNDynamic
/// Compiles kernels for one batch size by NVRTC; only for the algorithm `persist_dynamic`. cuDNN requires it before the
/// first pass, and again when the batch size changes.
struct BuildRnnDynamic {
  explicit BuildRnnDynamic(CommandReader& reader) : descriptor(reader.Existing<RnnDescriptor>()), batch(reader.Int()) {}
  DescriptorRef<RnnDescriptor> descriptor;
  int batch;
  void Run(Worker& worker, Batch&) const { CheckCudnn(worker.libraries, worker.libraries.cudnn.cudnnBuildRNNDynamic(worker.cudnn, descriptor.get(), batch), "cudnnBuildRNNDynamic"); }
};

// cudnnGetRNNTempSpaceSizes
/// Reports bytes of workspace and reserve space. Workspace may be shared by all calls of a stream. The reserve space
/// belongs to one training forward: its backward reads it.
struct TempSpaceSizes {
  explicit TempSpaceSizes(CommandReader& reader) : descriptor(reader.Existing<RnnDescriptor>()), mode(reader.Int()), x_desc(reader.Existing<DataDescriptor>()) {}
  DescriptorRef<RnnDescriptor> descriptor;
  int mode;
  DescriptorRef<DataDescriptor> x_desc;
  void Run(Worker& worker, Batch& batch) const;
};

// cudnnRNNForward
/// y, hy and cy of one pass. Since cuDNN 8.9.1 `devSeqLengths` is optional: without it cuDNN reads the lengths of the
/// data descriptors. A null `hx` or `cx` is a state of zeros. `reserveSpace` is required in training and null in
/// inference.
struct RnnForward {
  explicit RnnForward(CommandReader& reader) : descriptor(reader.Existing<RnnDescriptor>()), mode(reader.Int()), dev_seq_lengths(reader.OptionalIn()), x_desc(reader.Existing<DataDescriptor>()), x(reader.In()), y_desc(reader.Existing<DataDescriptor>()), y(reader.Out()), h_desc(reader.Existing<TensorDescriptor>()), hx(reader.OptionalIn()), hy(reader.Out()), c_desc(reader.OptionalExisting<TensorDescriptor>()), cx(reader.OptionalIn()), cy(reader.OptionalOut()), weight_space(reader.In()), work_space(reader.Out()), reserve_space(reader.OptionalOut()) {}
  DescriptorRef<RnnDescriptor> descriptor;
  int mode;
  const Buffer* dev_seq_lengths;
  DescriptorRef<DataDescriptor> x_desc;
  const Buffer* x;
  DescriptorRef<DataDescriptor> y_desc;
  Buffer* y;
  DescriptorRef<TensorDescriptor> h_desc;
  const Buffer* hx;
  Buffer* hy;
  DescriptorRef<TensorDescriptor> c_desc;
  const Buffer* cx;
  Buffer* cy;
  const Buffer* weight_space;
  Buffer* work_space;
  Buffer* reserve_space;
  void Run(Worker& worker, Batch&) const { CheckCudnn(worker.libraries, worker.libraries.cudnn.cudnnRNNForward(worker.cudnn, descriptor.get(), mode, static_cast<const std::int32_t*>(AddressOf(dev_seq_lengths)), x_desc.get(), AddressOf(x), y_desc.get(), AddressOf(y), h_desc.get(), AddressOf(hx), AddressOf(hy), c_desc.get(), AddressOf(cx), AddressOf(cy), BytesOf(weight_space), AddressOf(weight_space), BytesOf(work_space), AddressOf(work_space), BytesOf(reserve_space), AddressOf(reserve_space)), "cudnnRNNForward"); }
};

// cudnnRNNBackwardData_v8
/// dx, dhx and dcx. It must precede `rnnBackwardWeights`, which reads intermediate values that this call leaves in the
/// reserve space. The table still lists the reserve space as an input: a failed backward must not mark it invalid, so
/// that the caller can run the backward again.
struct RnnBackwardData {
  explicit RnnBackwardData(CommandReader& reader) : descriptor(reader.Existing<RnnDescriptor>()), dev_seq_lengths(reader.OptionalIn()), y_desc(reader.Existing<DataDescriptor>()), y(reader.In()), dy(reader.In()), x_desc(reader.Existing<DataDescriptor>()), dx(reader.Out()), h_desc(reader.Existing<TensorDescriptor>()), hx(reader.OptionalIn()), dhy(reader.OptionalIn()), dhx(reader.Out()), c_desc(reader.OptionalExisting<TensorDescriptor>()), cx(reader.OptionalIn()), dcy(reader.OptionalIn()), dcx(reader.OptionalOut()), weight_space(reader.In()), work_space(reader.Out()), reserve_space(reader.In()) {}
  DescriptorRef<RnnDescriptor> descriptor;
  const Buffer* dev_seq_lengths;
  DescriptorRef<DataDescriptor> y_desc;
  const Buffer* y;
  const Buffer* dy;
  DescriptorRef<DataDescriptor> x_desc;
  Buffer* dx;
  DescriptorRef<TensorDescriptor> h_desc;
  const Buffer* hx;
  const Buffer* dhy;
  Buffer* dhx;
  DescriptorRef<TensorDescriptor> c_desc;
  const Buffer* cx;
  const Buffer* dcy;
  Buffer* dcx;
  const Buffer* weight_space;
  Buffer* work_space;
  const Buffer* reserve_space;
  void Run(Worker& worker, Batch&) const { CheckCudnn(worker.libraries, worker.libraries.cudnn.cudnnRNNBackwardData_v8(worker.cudnn, descriptor.get(), static_cast<const std::int32_t*>(AddressOf(dev_seq_lengths)), y_desc.get(), AddressOf(y), AddressOf(dy), x_desc.get(), AddressOf(dx), h_desc.get(), AddressOf(hx), AddressOf(dhy), AddressOf(dhx), c_desc.get(), AddressOf(cx), AddressOf(dcy), AddressOf(dcx), BytesOf(weight_space), AddressOf(weight_space), BytesOf(work_space), AddressOf(work_space), BytesOf(reserve_space), AddressOf(reserve_space)), "cudnnRNNBackwardData_v8"); }
};

// cudnnRNNBackwardWeights_v8
/// Adds to `dweightSpace`: cuDNN supports `CUDNN_WGRAD_MODE_ADD` only, so the caller clears the buffer before. Runs after
/// `rnnBackwardData` with the same reserve space.
struct RnnBackwardWeights {
  explicit RnnBackwardWeights(CommandReader& reader) : descriptor(reader.Existing<RnnDescriptor>()), add_grad(reader.Int()), dev_seq_lengths(reader.OptionalIn()), x_desc(reader.Existing<DataDescriptor>()), x(reader.In()), h_desc(reader.Existing<TensorDescriptor>()), hx(reader.OptionalIn()), y_desc(reader.Existing<DataDescriptor>()), y(reader.In()), dweight_space(reader.InOut()), work_space(reader.Out()), reserve_space(reader.In()) {}
  DescriptorRef<RnnDescriptor> descriptor;
  int add_grad;
  const Buffer* dev_seq_lengths;
  DescriptorRef<DataDescriptor> x_desc;
  const Buffer* x;
  DescriptorRef<TensorDescriptor> h_desc;
  const Buffer* hx;
  DescriptorRef<DataDescriptor> y_desc;
  const Buffer* y;
  Buffer* dweight_space;
  Buffer* work_space;
  const Buffer* reserve_space;
  void Run(Worker& worker, Batch&) const { CheckCudnn(worker.libraries, worker.libraries.cudnn.cudnnRNNBackwardWeights_v8(worker.cudnn, descriptor.get(), add_grad, static_cast<const std::int32_t*>(AddressOf(dev_seq_lengths)), x_desc.get(), AddressOf(x), h_desc.get(), AddressOf(hx), y_desc.get(), AddressOf(y), BytesOf(dweight_space), AddressOf(dweight_space), BytesOf(work_space), AddressOf(work_space), BytesOf(reserve_space), AddressOf(reserve_space)), "cudnnRNNBackwardWeights_v8"); }
};

// cudnnSetCTCLossDescriptor_v8
/// Softmax is part of the loss; gradients past a row's length are 0.
struct SetCtcLossDescriptor {
  explicit SetCtcLossDescriptor(CommandReader& reader) : descriptor(reader.New<CtcLossDescriptor>()), max_label_length(reader.Int()) {}
  NewDescriptor<CtcLossDescriptor> descriptor;
  int max_label_length;
  void Run(Worker& worker, Batch& batch) const;
};

// cudnnGetCTCLossWorkspaceSize_v8
/// Reports bytes. cuDNN also checks here whether it supports the sizes: packages/cudnn uses the host if not.
struct CtcLossWorkspaceSize {
  explicit CtcLossWorkspaceSize(CommandReader& reader) : algo(reader.Int()), descriptor(reader.Existing<CtcLossDescriptor>()), probs_desc(reader.Existing<TensorDescriptor>()) {}
  int algo;
  DescriptorRef<CtcLossDescriptor> descriptor;
  DescriptorRef<TensorDescriptor> probs_desc;
  void Run(Worker& worker, Batch& batch) const;
};

// cudnnCTCLoss_v8
/// probs, gradients [T,B,K]; labels of all rows, one behind the other; the blank is class 0. Labels and lengths are in
/// device memory, unlike those of the older cudnnCTCLoss, so a graph can hold this call.
struct CtcLoss {
  explicit CtcLoss(CommandReader& reader) : algo(reader.Int()), descriptor(reader.Existing<CtcLossDescriptor>()), probs_desc(reader.Existing<TensorDescriptor>()), probs(reader.In()), labels(reader.In()), label_lengths(reader.In()), input_lengths(reader.In()), costs(reader.Out()), gradients_desc(reader.Existing<TensorDescriptor>()), gradients(reader.Out()), workspace(reader.Out()) {}
  int algo;
  DescriptorRef<CtcLossDescriptor> descriptor;
  DescriptorRef<TensorDescriptor> probs_desc;
  const Buffer* probs;
  const Buffer* labels;
  const Buffer* label_lengths;
  const Buffer* input_lengths;
  Buffer* costs;
  DescriptorRef<TensorDescriptor> gradients_desc;
  Buffer* gradients;
  Buffer* workspace;
  void Run(Worker& worker, Batch&) const { CheckCudnn(worker.libraries, worker.libraries.cudnn.cudnnCTCLoss_v8(worker.cudnn, algo, descriptor.get(), probs_desc.get(), AddressOf(probs), static_cast<const std::int32_t*>(AddressOf(labels)), static_cast<const std::int32_t*>(AddressOf(label_lengths)), static_cast<const std::int32_t*>(AddressOf(input_lengths)), AddressOf(costs), gradients_desc.get(), AddressOf(gradients), BytesOf(workspace), AddressOf(workspace)), "cudnnCTCLoss_v8"); }
};

// cublasGemmEx
/// C = op(A)·op(B) + beta·C. Column-major, as cuBLAS; alpha is 1, and all three matrices have one type. `computeType` is
/// the type of the sums, and decides on TF32.
struct MatrixProduct {
  explicit MatrixProduct(CommandReader& reader) : op_a(reader.Int()), op_b(reader.Int()), m(reader.Int()), n(reader.Int()), k(reader.Int()), a(reader.In()), lda(reader.Int()), b(reader.In()), ldb(reader.Int()), beta(reader.Double()), c(reader.InOut()), ldc(reader.Int()), type_a(reader.Int()), compute_type(reader.Int()) {}
  int op_a;
  int op_b;
  int m;
  int n;
  int k;
  const Buffer* a;
  int lda;
  const Buffer* b;
  int ldb;
  double beta;
  Buffer* c;
  int ldc;
  int type_a;
  int compute_type;
  void Run(Worker& worker, Batch& batch) const;
};

// cuModuleLoadData
/// Loads the kernels of native/cudnn/kernels from a cubin or PTX of NVRTC; `isDouble`: their element type. A cubin runs only on its major
/// compute capability; the driver translates PTX for every later one.
struct LoadKernels {
  explicit LoadKernels(CommandReader& reader) : image(reader.HostSource()), is_double(reader.Int()) {}
  Source image;
  int is_double;
  void Run(Worker& worker, Batch& batch) const;
};

// cuLaunchKernel
/// One of these kernels by its number in `KERNELS`, and its fields.
struct LaunchKernel {
  explicit LaunchKernel(CommandReader& reader) : kernel(reader.Int()), blocks(reader.Int()), threads(reader.Int()) { parameters = KernelParametersOf(reader, kernel); }
  int kernel;
  int blocks;
  int threads;
  KernelParameters parameters;
  void Run(Worker& worker, Batch& batch) const;
};

// cudaGraphLaunch
/// Runs a captured list with one call in place of one call for each kernel. A graph holds addresses: its buffers are
/// those of the capture, and a launch fails once a buffer that it reads has been released.
struct LaunchGraph {
  explicit LaunchGraph(CommandReader& reader) : exec(reader.Launched()) {}
  cudaGraphExec_t exec;
  void Run(Worker& worker, Batch&) const { CheckCudart(worker.libraries, worker.libraries.cudart.cudaGraphLaunch(exec, worker.stream), "cudaGraphLaunch"); }
};

using AnyCommand = std::variant<Upload, Download, Copy, Clear, MemoryInfo, TrimMemory, SetTensorDescriptor, SetDataDescriptor, SetDropoutDescriptor, SetRnnDescriptor, WeightSpaceSize, WeightParams, BuildRnnDynamic, TempSpaceSizes, RnnForward, RnnBackwardData, RnnBackwardWeights, SetCtcLossDescriptor, CtcLossWorkspaceSize, CtcLoss, MatrixProduct, LoadKernels, LaunchKernel, LaunchGraph>;

/// Reads one command. A command that the reader carries out itself adds nothing to `commands`.
inline void ReadCommand(CommandReader& reader, std::vector<AnyCommand>& commands) {
  switch (static_cast<Opcode>(reader.Int())) {
    case Opcode::kSegment: return;
    case Opcode::kAllocate: reader.Allocate(); return;
    case Opcode::kAllocateOnHost: reader.AllocateOnHost(); return;
    case Opcode::kRelease: reader.Release(); return;
    case Opcode::kUpload: { Upload one(reader); if (!reader.is_capturing()) commands.emplace_back(one); return; }
    case Opcode::kDownload: commands.emplace_back(std::in_place_type<Download>, reader); return;
    case Opcode::kCopy: commands.emplace_back(std::in_place_type<Copy>, reader); return;
    case Opcode::kClear: commands.emplace_back(std::in_place_type<Clear>, reader); return;
    case Opcode::kMemoryInfo: commands.emplace_back(std::in_place_type<MemoryInfo>, reader); return;
    case Opcode::kTrimMemory: commands.emplace_back(std::in_place_type<TrimMemory>, reader); return;
    case Opcode::kSetTensorDescriptor: commands.emplace_back(std::in_place_type<SetTensorDescriptor>, reader); return;
    case Opcode::kSetDataDescriptor: commands.emplace_back(std::in_place_type<SetDataDescriptor>, reader); return;
    case Opcode::kSetDropoutDescriptor: commands.emplace_back(std::in_place_type<SetDropoutDescriptor>, reader); return;
    case Opcode::kSetRnnDescriptor: commands.emplace_back(std::in_place_type<SetRnnDescriptor>, reader); return;
    case Opcode::kWeightSpaceSize: commands.emplace_back(std::in_place_type<WeightSpaceSize>, reader); return;
    case Opcode::kWeightParams: commands.emplace_back(std::in_place_type<WeightParams>, reader); return;
    case Opcode::kBuildRnnDynamic: commands.emplace_back(std::in_place_type<BuildRnnDynamic>, reader); return;
    case Opcode::kTempSpaceSizes: commands.emplace_back(std::in_place_type<TempSpaceSizes>, reader); return;
    case Opcode::kRnnForward: commands.emplace_back(std::in_place_type<RnnForward>, reader); return;
    case Opcode::kRnnBackwardData: commands.emplace_back(std::in_place_type<RnnBackwardData>, reader); return;
    case Opcode::kRnnBackwardWeights: commands.emplace_back(std::in_place_type<RnnBackwardWeights>, reader); return;
    case Opcode::kSetCtcLossDescriptor: commands.emplace_back(std::in_place_type<SetCtcLossDescriptor>, reader); return;
    case Opcode::kCtcLossWorkspaceSize: commands.emplace_back(std::in_place_type<CtcLossWorkspaceSize>, reader); return;
    case Opcode::kCtcLoss: commands.emplace_back(std::in_place_type<CtcLoss>, reader); return;
    case Opcode::kMatrixProduct: commands.emplace_back(std::in_place_type<MatrixProduct>, reader); return;
    case Opcode::kLoadKernels: commands.emplace_back(std::in_place_type<LoadKernels>, reader); return;
    case Opcode::kLaunchKernel: commands.emplace_back(std::in_place_type<LaunchKernel>, reader); return;
    case Opcode::kLaunchGraph: commands.emplace_back(std::in_place_type<LaunchGraph>, reader); return;
  }
}

inline void RunCommand(const AnyCommand& command, Worker& worker, Batch& batch) {
  std::visit([&](const auto& one) { one.Run(worker, batch); }, command);
}

}  // namespace cudnn_rnn
