// Compares every row of the function tables with NVIDIA's headers: as many parameters, each of the same size and kind.
// Compiled only where the headers are given; nothing is linked.

#include <cublas_v2.h>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <nvrtc.h>

#include <type_traits>

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

// The tables use NVIDIA's own type names here.
using cudnnStream_t = cudaStream_t;
using cublasStream_t = cudaStream_t;
struct CUuuid_;

#define ROW(result, name, parameters) \
  static_assert(Same<result parameters, std::remove_pointer_t<decltype(&::name)>>::value, #name);
#define CUDNN_ROW(library9, library8, result, name, parameters, arguments) ROW(result, name, parameters)

#define FAKE_TABLES_ONLY
#include "abi/cublas.h"
#include "abi/cudart.h"
#include "abi/cudnn.h"
#include "abi/driver.h"
#include "abi/nvrtc.h"

CUDART_FUNCTIONS(ROW)
DRIVER_FUNCTIONS(ROW)
NVRTC_FUNCTIONS(ROW)
CUBLAS_FUNCTIONS(ROW)
CUDNN_FUNCTIONS(CUDNN_ROW)
CUDNN_9_FUNCTIONS(CUDNN_ROW)

}  // namespace abi
