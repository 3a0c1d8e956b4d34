#include <algorithm>
#include <functional>

#include "core/cudnn_objects.h"
#include "cudnn/rnn_shape.h"
#include "cudnn/status.h"

using namespace emulator;

namespace {

constexpr int kMaxTime = 65535;  // in every layout

}  // namespace

cudnnStatus_t cudnnCreateRNNDataDescriptor(cudnnRNNDataDescriptor_t* descriptor) {
  EMULATOR_ENTER(kCudnnHost);
  if (descriptor == nullptr) return kBadParam;
  *descriptor = TheCudnnTables().rnn_data.Add(std::make_shared<RnnDataDescriptor>());
  return kSuccess;
}

cudnnStatus_t cudnnDestroyRNNDataDescriptor(cudnnRNNDataDescriptor_t descriptor) {
  EMULATOR_ENTER(kCudnnHost);
  if (descriptor == nullptr) return kSuccess;
  return TheCudnnTables().rnn_data.Remove(descriptor) == nullptr ? kBadParam : kSuccess;
}

cudnnStatus_t cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t descriptor, int dtype, int layout, int maxSeqLength,
                                        int batchSize, int vectorSize, const int seqLengthArray[], void* paddingFill) {
  EMULATOR_ENTER(kCudnnHost);
  return Guarded([&] {
    const auto data = Live(TheCudnnTables().rnn_data, descriptor, "rnnDataDesc");
    const bool known = dtype == CUDNN_DATA_FLOAT || dtype == CUDNN_DATA_DOUBLE || dtype == CUDNN_DATA_HALF ||
                       dtype == CUDNN_DATA_BFLOAT16;
    Require(known, "dataType", kNotSupported);
    Require(layout >= CUDNN_SEQ_MAJOR_UNPACKED && layout <= CUDNN_BATCH_MAJOR_UNPACKED, "layout");
    Require(maxSeqLength >= 1 && batchSize >= 1 && vectorSize >= 1, "size <= 0");
    Require(seqLengthArray != nullptr, "!seqLengthArray");
    Require(maxSeqLength <= kMaxTime, "maxSeqLength > 65535", kNotSupported);
    const std::vector<int> lengths(seqLengthArray, seqLengthArray + batchSize);
    const bool inside =
        std::all_of(lengths.begin(), lengths.end(), [&](int length) { return length >= 0 && length <= maxSeqLength; });
    Require(inside, "seqLengthArray[i]");
    if (layout == CUDNN_SEQ_MAJOR_PACKED) {
      Require(std::is_sorted(lengths.begin(), lengths.end(), std::greater<>()), "packed lengths are not descending");
      Require(lengths.back() >= 1 && lengths.front() == maxSeqLength, "packed lengths do not span maxSeqLength");
    }
    double fill = 0;
    if (paddingFill != nullptr) Load(TypeOf(dtype), paddingFill, 0, 1, &fill);
    *data = {true, dtype, layout, maxSeqLength, batchSize, vectorSize, lengths, paddingFill != nullptr, fill};
  });
}

cudnnStatus_t cudnnGetRNNDataDescriptor(cudnnRNNDataDescriptor_t descriptor, int* dtype, int* layout, int* maxSeqLength,
                                        int* batchSize, int* vectorSize, int room, int seqLengthArray[],
                                        void* paddingFill) {
  EMULATOR_ENTER(kCudnnHost);
  return Guarded([&] {
    const auto data = Live(TheCudnnTables().rnn_data, descriptor, "rnnDataDesc");
    *dtype = data->dtype;
    *layout = data->layout;
    *maxSeqLength = data->time;
    *batchSize = data->batch;
    *vectorSize = data->width;
    std::copy_n(data->lengths.begin(), std::min(room, data->batch), seqLengthArray);
    if (paddingFill != nullptr && data->has_fill) Store(TypeOf(data->dtype), paddingFill, 0, 1, &data->fill);
  });
}
