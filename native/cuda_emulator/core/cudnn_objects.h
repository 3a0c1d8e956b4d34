#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "abi/cudnn.h"
#include "core/live_objects.h"
#include "core/stream.h"

// What cuDNN's handles stand for. The tables live in the core library because three sub-libraries use them.

namespace emulator {

struct CudnnHandle {
  int device = 0;
  cudnnStream_t stream = nullptr;
  std::atomic<bool> busy{false};  ///< inside a call: a handle may not be used by two threads at once
};

struct TensorDescriptor {
  int dtype = CUDNN_DATA_FLOAT;
  std::vector<int> dims;
  std::vector<int> strides;
};

struct DropoutDescriptor {
  float rate = 0;
  void* states = nullptr;
  std::size_t bytes = 0;
  unsigned long long seed = 0;
};

struct RnnDescriptor {
  bool set = false;
  int algo = 0, cell_mode = 0, bias_mode = 0, direction = 0, input_mode = 0, dtype = 0, precision = 0, math = 0;
  std::int32_t input_size = 0, hidden_size = 0, proj_size = 0, layers = 0;
  std::uint32_t flags = 0;
  cudnnDropoutDescriptor_t dropout = nullptr;
  int clip_mode = CUDNN_RNN_CLIP_NONE, nan_option = 0;
  double clip_left = 0, clip_right = 0;
  int built_batch = 0;  ///< of cudnnBuildRNNDynamic
};

struct RnnDataDescriptor {
  bool set = false;
  int dtype = 0, layout = 0, time = 0, batch = 0, width = 0;
  std::vector<int> lengths;
  bool has_fill = false;
  double fill = 0;
};

struct CtcLossDescriptor {
  bool set = false;
  int compute_type = 0, norm_mode = 0, grad_mode = 0, max_label_length = 0;
};

struct CudnnTables {
  LiveObjects<cudnnHandle_t, CudnnHandle> handles{"cudnn handles"};
  LiveObjects<cudnnTensorDescriptor_t, TensorDescriptor> tensors{"tensor descriptors"};
  LiveObjects<cudnnDropoutDescriptor_t, DropoutDescriptor> dropouts{"dropout descriptors"};
  LiveObjects<cudnnRNNDescriptor_t, RnnDescriptor> rnns{"rnn descriptors"};
  LiveObjects<cudnnRNNDataDescriptor_t, RnnDataDescriptor> rnn_data{"rnn data descriptors"};
  LiveObjects<cudnnCTCLossDescriptor_t, CtcLossDescriptor> ctc_losses{"ctc loss descriptors"};
};
CudnnTables& TheCudnnTables();

}  // namespace emulator
