#include "commands.h"

// cudnnRNNForward, cudnnRNNBackwardData_v8, cudnnRNNBackwardWeights_v8 and cudnnBuildRNNDynamic take exactly the fields
// of their commands: their calls are in commands.h.

namespace cudnn_rnn {
namespace {

/// A stand-in for the address of a weight space that is queried for offsets only: null would make offset 0 ambiguous.
char* WeightSpaceBase() {
  return reinterpret_cast<char*>(std::uintptr_t{1} << 40);  // NOLINT(performance-no-int-to-ptr): never read
}

/// Appends offset (-1 if absent), rows and columns of one piece of a weight space.
void ReportPiece(const Libraries& libraries, cudnnTensorDescriptor_t descriptor, const void* address,
                 std::vector<double>& results) {
  int dtype = 0;
  int rank = 0;
  int dims[3] = {0, 0, 0};
  int strides[3] = {0, 0, 0};
  CALL_CUDNN(libraries, cudnnGetTensorNdDescriptor, descriptor, 3, &dtype, &rank, dims, strides);
  // cuDNN returns a null address for a piece that does not exist, such as a bias with CUDNN_RNN_NO_BIAS or the input
  // matrix of the first layer with CUDNN_SKIP_INPUT. Matrices and biases have shape [1, rows, columns].
  const bool present = address != nullptr && rank == 3;
  results.push_back(present ? static_cast<double>(static_cast<const char*>(address) - WeightSpaceBase()) : -1);
  results.push_back(present ? dims[1] : 0);
  results.push_back(present ? dims[2] : 0);
}

}  // namespace

// cudnnStatus_t cudnnGetRNNWeightSpaceSize(cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor, size_t* bytes)
/// Bytes of the weight space, which is one buffer for all matrices and biases; depends on the descriptor only.
void WeightSpaceSize::Run(Worker& worker, Batch& batch) const {
  std::size_t bytes = 0;
  CALL_CUDNN(worker.libraries, cudnnGetRNNWeightSpaceSize, worker.cudnn, descriptor.get(), &bytes);
  batch.results.push_back(static_cast<double>(bytes));
}

// cudnnStatus_t cudnnGetRNNWeightParams(cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor, int32_t pseudoLayer,
//                                       size_t weightSpaceSize, const void* weightSpace, int32_t linLayerID,
//                                       cudnnTensorDescriptor_t mDesc, void** mAddr, cudnnTensorDescriptor_t bDesc,
//                                       void** bAddr)
/// Offset and shape of one matrix and one bias. pseudoLayer is layer·D + direction; linLayerID counts input matrices
/// first, then recurrent ones: 0-7 for LSTM (i f g o), 0-5 for GRU (r u n), 0-1 for plain cells, and 8 the projection
/// of an LSTM.
void WeightParams::Run(Worker& worker, Batch& batch) const {
  const Libraries& libraries = worker.libraries;
  const TensorDescriptor matrix(libraries);
  const TensorDescriptor bias(libraries);
  void* matrix_address = nullptr;
  void* bias_address = nullptr;
  CALL_CUDNN(libraries, cudnnGetRNNWeightParams, worker.cudnn, descriptor.get(), pseudo_layer, weight_space_size,
             WeightSpaceBase(), lin_layer_id, matrix.get(), &matrix_address, bias.get(), &bias_address);
  ReportPiece(libraries, matrix.get(), matrix_address, batch.results);
  ReportPiece(libraries, bias.get(), bias_address, batch.results);
}

// cudnnStatus_t cudnnGetRNNTempSpaceSizes(cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor, int mode,
//                                         cudnnRNNDataDescriptor_t xDesc, size_t* workSpaceSize,
//                                         size_t* reserveSpaceSize)
/// Bytes of workspace, needed during a call, and of reserve space, which a training forward fills and its backward
/// calls read. They depend on T and B of the data descriptor and on the mode (inference needs no reserve space).
void TempSpaceSizes::Run(Worker& worker, Batch& batch) const {
  std::size_t work = 0;
  std::size_t reserve = 0;
  CALL_CUDNN(worker.libraries, cudnnGetRNNTempSpaceSizes, worker.cudnn, descriptor.get(), mode, x_desc.get(), &work,
             &reserve);
  batch.results.push_back(static_cast<double>(work));
  batch.results.push_back(static_cast<double>(reserve));
}

}  // namespace cudnn_rnn
