#include "cudnn/rnn_pass.h"
#include "cudnn/status.h"

using namespace emulator;

cudnnStatus_t cudnnGetRNNTempSpaceSizes(cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor, int mode,
                                        cudnnRNNDataDescriptor_t xDesc, size_t* workSpaceSize,
                                        size_t* reserveSpaceSize) {
  EMULATOR_ENTER(kCudnn);
  return Guarded([&] {
    const HandleInUse used(handle);
    const auto d = Live(TheCudnnTables().rnns, descriptor, "rnnDesc");
    const auto x = Live(TheCudnnTables().rnn_data, xDesc, "xDesc");
    Require(d->set && x->set, "a descriptor was not set");
    Require(mode == CUDNN_FWD_MODE_INFERENCE || mode == CUDNN_FWD_MODE_TRAINING, "fMode");
    Require(x->dtype == d->dtype, "xDesc->dataType != rnnDesc->dataType");
    Require(x->width == d->input_size, "xDesc->vectorSize != inputSize");
    CheckHiddenSize(*d);
    const RnnShape shape(*d);
    const Sequences sequences(*x);
    const bool training = mode == CUDNN_FWD_MODE_TRAINING;
    bool dropout = false;
    if (d->dropout != nullptr) dropout = Live(TheCudnnTables().dropouts, d->dropout, "dropoutDesc")->rate > 0;
    if (workSpaceSize != nullptr) *workSpaceSize = WorkSpaceBytes(shape, sequences, training, d->flags != 0);
    if (reserveSpaceSize != nullptr) *reserveSpaceSize = training ? ReserveLayout(shape, sequences, dropout).bytes : 0;
  });
}
