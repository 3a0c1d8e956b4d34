// Compares every row of the function tables with NVIDIA's headers: as many parameters, each of the same size and kind.
// Compiled only if the headers are given; nothing is linked.

// Templates of this header overload functions of the C interface.
#define __CUDA_RUNTIME_H__

#include <cublas_v2.h>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <nccl.h>
#include <nvrtc.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#define EMULATOR_TABLES_ONLY

namespace abi {

// Enumerations are ints in the tables, and any pointer stands for any other.
template <class Table, class Header>
constexpr bool kSameValue = std::is_pointer_v<Table> == std::is_pointer_v<Header> &&
                            std::is_floating_point_v<Table> == std::is_floating_point_v<Header> &&
                            std::is_void_v<Table> == std::is_void_v<Header>;
template <class Table, class Header>
constexpr bool SameSize() {
  if constexpr (std::is_void_v<Table> || std::is_void_v<Header>) {
    return true;
  } else {
    return sizeof(Table) == sizeof(Header);
  }
}

template <class Table, class Header>
struct Same : std::false_type {};
template <class R, class... P, class S, class... Q>
  requires(sizeof...(P) == sizeof...(Q))
struct Same<R(P...), S(Q...)>
    : std::bool_constant<kSameValue<R, S> && SameSize<R, S>() && ((kSameValue<P, Q> && SameSize<P, Q>()) && ...)> {};

#define ROW(result, name, parameters) \
  static_assert(Same<result parameters, std::remove_pointer_t<decltype(&::name)>>::value, #name);
#define CUDNN_ROW(library9, library8, result, name, parameters, arguments) ROW(result, name, parameters)

#include "abi/cublas.h"
#include "abi/cudart.h"
#include "abi/cudnn.h"
#include "abi/driver.h"
#include "abi/nccl.h"
#include "abi/nvrtc.h"

CUDART_FUNCTIONS(ROW)
DRIVER_FUNCTIONS(ROW)
NVRTC_FUNCTIONS(ROW)
CUBLAS_PLAIN_FUNCTIONS(ROW)
NCCL_FUNCTIONS(ROW)
CUDNN_FUNCTIONS(CUDNN_ROW)
CUDNN_9_FUNCTIONS(CUDNN_ROW)

using GemmEx = ::cublasStatus_t(::cublasHandle_t, ::cublasOperation_t, ::cublasOperation_t, int, int, int, const void*,
                                const void*, ::cudaDataType, int, const void*, ::cudaDataType, int, const void*, void*,
                                ::cudaDataType, int, ::cublasComputeType_t, ::cublasGemmAlgo_t);
using GemmStridedBatchedEx = ::cublasStatus_t(::cublasHandle_t, ::cublasOperation_t, ::cublasOperation_t, int, int, int,
                                              const void*, const void*, ::cudaDataType, int, long long, const void*,
                                              ::cudaDataType, int, long long, const void*, void*, ::cudaDataType, int,
                                              long long, int, ::cublasComputeType_t, ::cublasGemmAlgo_t);
constexpr GemmEx* kGemmEx = &::cublasGemmEx;
constexpr GemmStridedBatchedEx* kGemmStridedBatchedEx = &::cublasGemmStridedBatchedEx;
namespace overloaded {
using cublasGemmEx = GemmEx;
using cublasGemmStridedBatchedEx = GemmStridedBatchedEx;
}  // namespace overloaded
#define OVERLOADED_ROW(result, name, parameters) static_assert(Same<result parameters, overloaded::name>::value, #name);
CUBLAS_OVERLOADED_FUNCTIONS(OVERLOADED_ROW)

static_assert(sizeof(cudaPointerAttributes) == sizeof(::cudaPointerAttributes));

}  // namespace abi
