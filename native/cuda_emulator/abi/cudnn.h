#pragma once

// The part of cuDNN 8.0.2 … 9 that the emulator has: the RNN functions with the v8 names, and the functions for handles
// and descriptors that they need.
// abi/check_signatures.cc compares the table with NVIDIA's headers.

#include <cstddef>
#include <cstdint>

#include "abi/export.h"

#ifndef EMULATOR_CUDNN_MAJOR
#define EMULATOR_CUDNN_MAJOR 9
#endif

using cudnnStatus_t = int;
using cudnnHandle_t = struct cudnnContext*;
using cudnnTensorDescriptor_t = struct cudnnTensorStruct*;
using cudnnDropoutDescriptor_t = struct cudnnDropoutStruct*;
using cudnnRNNDescriptor_t = struct cudnnRNNStruct*;
using cudnnRNNDataDescriptor_t = struct cudnnRNNDataStruct*;
using cudnnCTCLossDescriptor_t = struct cudnnCTCLossStruct*;
using cudnnCallback_t = void (*)(int severity, void* data, const struct cudnnDebugStruct* debug, const char* message);
using cudnnStream_t = struct CUstream_st*;

enum { CUDNN_DATA_FLOAT = 0, CUDNN_DATA_DOUBLE = 1, CUDNN_DATA_HALF = 2, CUDNN_DATA_BFLOAT16 = 9 };
enum {
  CUDNN_RNN_ALGO_STANDARD,
  CUDNN_RNN_ALGO_PERSIST_STATIC,
  CUDNN_RNN_ALGO_PERSIST_DYNAMIC,
  CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H
};
enum { CUDNN_FWD_MODE_INFERENCE, CUDNN_FWD_MODE_TRAINING };
enum { CUDNN_RNN_RELU, CUDNN_RNN_TANH, CUDNN_LSTM, CUDNN_GRU };
enum { CUDNN_RNN_NO_BIAS, CUDNN_RNN_SINGLE_INP_BIAS, CUDNN_RNN_DOUBLE_BIAS, CUDNN_RNN_SINGLE_REC_BIAS };
enum { CUDNN_UNIDIRECTIONAL, CUDNN_BIDIRECTIONAL };
enum { CUDNN_LINEAR_INPUT, CUDNN_SKIP_INPUT };
enum { CUDNN_RNN_CLIP_NONE, CUDNN_RNN_CLIP_MINMAX };
enum { CUDNN_SEQ_MAJOR_UNPACKED, CUDNN_SEQ_MAJOR_PACKED, CUDNN_BATCH_MAJOR_UNPACKED };
enum { CUDNN_PADDED_IO_DISABLED, CUDNN_PADDED_IO_ENABLED };
enum { CUDNN_LOSS_NORMALIZATION_NONE, CUDNN_LOSS_NORMALIZATION_SOFTMAX };
enum { CUDNN_CTC_LOSS_ALGO_DETERMINISTIC, CUDNN_CTC_LOSS_ALGO_NON_DETERMINISTIC };
enum { CUDNN_CTC_ZERO_OOB_GRADIENTS, CUDNN_CTC_SKIP_OOB_GRADIENTS };
enum { CUDNN_WGRAD_ADD, CUDNN_WGRAD_SET };

// FUNCTION(cuDNN 9 sub-library, cuDNN 8 sub-library, result, name, parameters, arguments). The shim libcudnn.so
// forwards every row to its sub-library, as NVIDIA's does.
#define CUDNN_FUNCTIONS(FUNCTION)                                                                                      \
  FUNCTION(graph, ops_infer, size_t, cudnnGetVersion, (), ())                                                          \
  FUNCTION(graph, ops_infer, size_t, cudnnGetCudartVersion, (), ())                                                    \
  FUNCTION(graph, ops_infer, const char*, cudnnGetErrorString, (cudnnStatus_t status), (status))                       \
  FUNCTION(graph, ops_infer, cudnnStatus_t, cudnnGetProperty, (int type, int* value), (type, value))                   \
  FUNCTION(graph, ops_infer, cudnnStatus_t, cudnnCreate, (cudnnHandle_t * handle), (handle))                           \
  FUNCTION(graph, ops_infer, cudnnStatus_t, cudnnDestroy, (cudnnHandle_t handle), (handle))                            \
  FUNCTION(graph, ops_infer, cudnnStatus_t, cudnnSetStream, (cudnnHandle_t handle, cudnnStream_t stream),              \
           (handle, stream))                                                                                           \
  FUNCTION(graph, ops_infer, cudnnStatus_t, cudnnGetStream, (cudnnHandle_t handle, cudnnStream_t * stream),            \
           (handle, stream))                                                                                           \
  FUNCTION(graph, ops_infer, cudnnStatus_t, cudnnSetCallback, (unsigned mask, void* data, cudnnCallback_t callback),   \
           (mask, data, callback))                                                                                     \
  FUNCTION(ops, ops_infer, cudnnStatus_t, cudnnCreateTensorDescriptor, (cudnnTensorDescriptor_t * descriptor),         \
           (descriptor))                                                                                               \
  FUNCTION(ops, ops_infer, cudnnStatus_t, cudnnDestroyTensorDescriptor, (cudnnTensorDescriptor_t descriptor),          \
           (descriptor))                                                                                               \
  FUNCTION(ops, ops_infer, cudnnStatus_t, cudnnSetTensorNdDescriptor,                                                  \
           (cudnnTensorDescriptor_t descriptor, int dtype, int rank, const int dims[], const int strides[]),           \
           (descriptor, dtype, rank, dims, strides))                                                                   \
  FUNCTION(ops, ops_infer, cudnnStatus_t, cudnnGetTensorNdDescriptor,                                                  \
           (const cudnnTensorDescriptor_t descriptor, int room, int* dtype, int* rank, int dims[], int strides[]),     \
           (descriptor, room, dtype, rank, dims, strides))                                                             \
  FUNCTION(ops, ops_infer, cudnnStatus_t, cudnnCreateDropoutDescriptor, (cudnnDropoutDescriptor_t * descriptor),       \
           (descriptor))                                                                                               \
  FUNCTION(ops, ops_infer, cudnnStatus_t, cudnnDestroyDropoutDescriptor, (cudnnDropoutDescriptor_t descriptor),        \
           (descriptor))                                                                                               \
  FUNCTION(ops, ops_infer, cudnnStatus_t, cudnnDropoutGetStatesSize, (cudnnHandle_t handle, size_t* bytes),            \
           (handle, bytes))                                                                                            \
  FUNCTION(ops, ops_infer, cudnnStatus_t, cudnnSetDropoutDescriptor,                                                   \
           (cudnnDropoutDescriptor_t descriptor, cudnnHandle_t handle, float rate, void* states, size_t bytes,         \
            unsigned long long seed),                                                                                  \
           (descriptor, handle, rate, states, bytes, seed))                                                            \
  FUNCTION(ops, ops_infer, cudnnStatus_t, cudnnRestoreDropoutDescriptor,                                               \
           (cudnnDropoutDescriptor_t descriptor, cudnnHandle_t handle, float rate, void* states, size_t bytes,         \
            unsigned long long seed),                                                                                  \
           (descriptor, handle, rate, states, bytes, seed))                                                            \
  FUNCTION(ops, ops_infer, cudnnStatus_t, cudnnGetDropoutDescriptor,                                                   \
           (cudnnDropoutDescriptor_t descriptor, cudnnHandle_t handle, float* rate, void** states,                     \
            unsigned long long* seed),                                                                                 \
           (descriptor, handle, rate, states, seed))                                                                   \
  FUNCTION(adv, adv_infer, cudnnStatus_t, cudnnCreateRNNDescriptor, (cudnnRNNDescriptor_t * descriptor), (descriptor)) \
  FUNCTION(adv, adv_infer, cudnnStatus_t, cudnnDestroyRNNDescriptor, (cudnnRNNDescriptor_t descriptor), (descriptor))  \
  FUNCTION(adv, adv_infer, cudnnStatus_t, cudnnSetRNNDescriptor_v8,                                                    \
           (cudnnRNNDescriptor_t descriptor, int algo, int cellMode, int biasMode, int dirMode, int inputMode,         \
            int dataType, int mathPrec, int mathType, int32_t inputSize, int32_t hiddenSize, int32_t projSize,         \
            int32_t numLayers, cudnnDropoutDescriptor_t dropout, uint32_t auxFlags),                                   \
           (descriptor, algo, cellMode, biasMode, dirMode, inputMode, dataType, mathPrec, mathType, inputSize,         \
            hiddenSize, projSize, numLayers, dropout, auxFlags))                                                       \
  FUNCTION(adv, adv_infer, cudnnStatus_t, cudnnGetRNNDescriptor_v8,                                                    \
           (cudnnRNNDescriptor_t descriptor, int* algo, int* cellMode, int* biasMode, int* dirMode, int* inputMode,    \
            int* dataType, int* mathPrec, int* mathType, int32_t* inputSize, int32_t* hiddenSize, int32_t* projSize,   \
            int32_t* numLayers, cudnnDropoutDescriptor_t* dropout, uint32_t* auxFlags),                                \
           (descriptor, algo, cellMode, biasMode, dirMode, inputMode, dataType, mathPrec, mathType, inputSize,         \
            hiddenSize, projSize, numLayers, dropout, auxFlags))                                                       \
  FUNCTION(adv, adv_infer, cudnnStatus_t, cudnnRNNSetClip_v8,                                                          \
           (cudnnRNNDescriptor_t descriptor, int clipMode, int nanOption, double left, double right),                  \
           (descriptor, clipMode, nanOption, left, right))                                                             \
  FUNCTION(adv, adv_infer, cudnnStatus_t, cudnnRNNGetClip_v8,                                                          \
           (cudnnRNNDescriptor_t descriptor, int* clipMode, int* nanOption, double* left, double* right),              \
           (descriptor, clipMode, nanOption, left, right))                                                             \
  FUNCTION(adv, adv_infer, cudnnStatus_t, cudnnBuildRNNDynamic,                                                        \
           (cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor, int batch), (handle, descriptor, batch))            \
  FUNCTION(adv, adv_infer, cudnnStatus_t, cudnnGetRNNTempSpaceSizes,                                                   \
           (cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor, int mode, cudnnRNNDataDescriptor_t xDesc,           \
            size_t* workSpaceSize, size_t* reserveSpaceSize),                                                          \
           (handle, descriptor, mode, xDesc, workSpaceSize, reserveSpaceSize))                                         \
  FUNCTION(adv, adv_infer, cudnnStatus_t, cudnnGetRNNWeightSpaceSize,                                                  \
           (cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor, size_t* bytes), (handle, descriptor, bytes))        \
  FUNCTION(adv, adv_infer, cudnnStatus_t, cudnnGetRNNWeightParams,                                                     \
           (cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor, int32_t pseudoLayer, size_t weightSpaceSize,        \
            const void* weightSpace, int32_t linLayerID, cudnnTensorDescriptor_t mDesc, void** mAddr,                  \
            cudnnTensorDescriptor_t bDesc, void** bAddr),                                                              \
           (handle, descriptor, pseudoLayer, weightSpaceSize, weightSpace, linLayerID, mDesc, mAddr, bDesc, bAddr))    \
  FUNCTION(adv, adv_infer, cudnnStatus_t, cudnnCreateRNNDataDescriptor, (cudnnRNNDataDescriptor_t * descriptor),       \
           (descriptor))                                                                                               \
  FUNCTION(adv, adv_infer, cudnnStatus_t, cudnnDestroyRNNDataDescriptor, (cudnnRNNDataDescriptor_t descriptor),        \
           (descriptor))                                                                                               \
  FUNCTION(adv, adv_infer, cudnnStatus_t, cudnnSetRNNDataDescriptor,                                                   \
           (cudnnRNNDataDescriptor_t descriptor, int dtype, int layout, int maxSeqLength, int batchSize,               \
            int vectorSize, const int seqLengthArray[], void* paddingFill),                                            \
           (descriptor, dtype, layout, maxSeqLength, batchSize, vectorSize, seqLengthArray, paddingFill))              \
  FUNCTION(adv, adv_infer, cudnnStatus_t, cudnnGetRNNDataDescriptor,                                                   \
           (cudnnRNNDataDescriptor_t descriptor, int* dtype, int* layout, int* maxSeqLength, int* batchSize,           \
            int* vectorSize, int room, int seqLengthArray[], void* paddingFill),                                       \
           (descriptor, dtype, layout, maxSeqLength, batchSize, vectorSize, room, seqLengthArray, paddingFill))        \
  FUNCTION(adv, adv_infer, cudnnStatus_t, cudnnRNNForward,                                                             \
           (cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor, int mode, const int32_t devSeqLengths[],            \
            cudnnRNNDataDescriptor_t xDesc, const void* x, cudnnRNNDataDescriptor_t yDesc, void* y,                    \
            cudnnTensorDescriptor_t hDesc, const void* hx, void* hy, cudnnTensorDescriptor_t cDesc, const void* cx,    \
            void* cy, size_t weightSpaceSize, const void* weightSpace, size_t workSpaceSize, void* workSpace,          \
            size_t reserveSpaceSize, void* reserveSpace),                                                              \
           (handle, descriptor, mode, devSeqLengths, xDesc, x, yDesc, y, hDesc, hx, hy, cDesc, cx, cy,                 \
            weightSpaceSize, weightSpace, workSpaceSize, workSpace, reserveSpaceSize, reserveSpace))                   \
  FUNCTION(adv, adv_train, cudnnStatus_t, cudnnRNNBackwardData_v8,                                                     \
           (cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor, const int32_t devSeqLengths[],                      \
            cudnnRNNDataDescriptor_t yDesc, const void* y, const void* dy, cudnnRNNDataDescriptor_t xDesc, void* dx,   \
            cudnnTensorDescriptor_t hDesc, const void* hx, const void* dhy, void* dhx, cudnnTensorDescriptor_t cDesc,  \
            const void* cx, const void* dcy, void* dcx, size_t weightSpaceSize, const void* weightSpace,               \
            size_t workSpaceSize, void* workSpace, size_t reserveSpaceSize, void* reserveSpace),                       \
           (handle, descriptor, devSeqLengths, yDesc, y, dy, xDesc, dx, hDesc, hx, dhy, dhx, cDesc, cx, dcy, dcx,      \
            weightSpaceSize, weightSpace, workSpaceSize, workSpace, reserveSpaceSize, reserveSpace))                   \
  FUNCTION(adv, adv_train, cudnnStatus_t, cudnnRNNBackwardWeights_v8,                                                  \
           (cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor, int addGrad, const int32_t devSeqLengths[],         \
            cudnnRNNDataDescriptor_t xDesc, const void* x, cudnnTensorDescriptor_t hDesc, const void* hx,              \
            cudnnRNNDataDescriptor_t yDesc, const void* y, size_t weightSpaceSize, void* dweightSpace,                 \
            size_t workSpaceSize, void* workSpace, size_t reserveSpaceSize, void* reserveSpace),                       \
           (handle, descriptor, addGrad, devSeqLengths, xDesc, x, hDesc, hx, yDesc, y, weightSpaceSize, dweightSpace,  \
            workSpaceSize, workSpace, reserveSpaceSize, reserveSpace)) \
  FUNCTION(adv, adv_train, cudnnStatus_t, cudnnCreateCTCLossDescriptor, (cudnnCTCLossDescriptor_t * descriptor), (descriptor))\
  FUNCTION(adv, adv_train, cudnnStatus_t, cudnnDestroyCTCLossDescriptor, (cudnnCTCLossDescriptor_t descriptor), (descriptor))\
  FUNCTION(adv, adv_train, cudnnStatus_t, cudnnSetCTCLossDescriptor_v8,                                                \
           (cudnnCTCLossDescriptor_t descriptor, int computeType, int normMode, int gradMode, int maxLabelLength),     \
           (descriptor, computeType, normMode, gradMode, maxLabelLength))                                              \
  FUNCTION(adv, adv_train, cudnnStatus_t, cudnnGetCTCLossWorkspaceSize_v8,                                             \
           (cudnnHandle_t handle, int algo, cudnnCTCLossDescriptor_t descriptor,                                       \
            const cudnnTensorDescriptor_t probsDesc, const cudnnTensorDescriptor_t gradientsDesc, size_t* bytes),      \
           (handle, algo, descriptor, probsDesc, gradientsDesc, bytes))                                                \
  FUNCTION(adv, adv_train, cudnnStatus_t, cudnnCTCLoss_v8,                                                             \
           (cudnnHandle_t handle, int algo, cudnnCTCLossDescriptor_t descriptor,                                       \
            const cudnnTensorDescriptor_t probsDesc, const void* probs, const int32_t labels[],                        \
            const int32_t labelLengths[], const int32_t inputLengths[], void* costs,                                   \
            const cudnnTensorDescriptor_t gradientsDesc, void* gradients, size_t workspaceSize, void* workspace),      \
           (handle, algo, descriptor, probsDesc, probs, labels, labelLengths, inputLengths, costs, gradientsDesc,      \
            gradients, workspaceSize, workspace))

// What cuDNN 9 has and 8 has not.
#define CUDNN_9_FUNCTIONS(FUNCTION)                                                                   \
  FUNCTION(graph, none, void, cudnnGetLastErrorString, (char* message, size_t room), (message, room)) \
  FUNCTION(graph, none, size_t, cudnnGetMaxDeviceVersion, (), ())                                     \
  FUNCTION(graph, none, cudnnStatus_t, cudnnGraphVersionCheck, (), ())                                \
  FUNCTION(ops, none, cudnnStatus_t, cudnnOpsVersionCheck, (), ())                                    \
  FUNCTION(adv, none, cudnnStatus_t, cudnnAdvVersionCheck, (), ())                                    \
  FUNCTION(adv, none, cudnnStatus_t, cudnnRNNSetClip_v9,                                              \
           (cudnnRNNDescriptor_t descriptor, int clipMode, double left, double right),                \
           (descriptor, clipMode, left, right))                                                       \
  FUNCTION(adv, none, cudnnStatus_t, cudnnSetCTCLossDescriptor_v9,                                    \
           (cudnnCTCLossDescriptor_t descriptor, int computeType, int normMode, int ctcGradMode,      \
            int maxLabelLength),                                                                      \
           (descriptor, computeType, normMode, ctcGradMode, maxLabelLength))                          \
  FUNCTION(adv, none, cudnnStatus_t, cudnnRNNGetClip_v9,                                              \
           (cudnnRNNDescriptor_t descriptor, int* clipMode, double* left, double* right),             \
           (descriptor, clipMode, left, right))

// What cuDNN 8 has and 9 has not: its version checks are named by sub-library.
#define CUDNN_8_FUNCTIONS(FUNCTION)                                           \
  FUNCTION(none, ops_infer, cudnnStatus_t, cudnnOpsInferVersionCheck, (), ()) \
  FUNCTION(none, adv_infer, cudnnStatus_t, cudnnAdvInferVersionCheck, (), ()) \
  FUNCTION(none, adv_train, cudnnStatus_t, cudnnAdvTrainVersionCheck, (), ())

#define EMULATOR_CUDNN_PROTOTYPE(library9, library8, result, name, parameters, arguments) \
  EMULATOR_PROTOTYPE(result, name, parameters)

CUDNN_FUNCTIONS(EMULATOR_CUDNN_PROTOTYPE)
CUDNN_9_FUNCTIONS(EMULATOR_CUDNN_PROTOTYPE)
CUDNN_8_FUNCTIONS(EMULATOR_CUDNN_PROTOTYPE)
