// Compares the symbol tables of native/cudnn/src/sys with NVIDIA's headers:
//
//     node scripts/testing/real_libraries/prototypes.mjs INCLUDE_FOLDER…
//
// The folders hold cudnn.h, cuda_runtime_api.h, cuda.h, nvrtc.h, cublas_api.h and nccl.h (pip: nvidia-cudnn-cu13,
// nvidia-cuda-runtime, nvidia-cuda-nvrtc, nvidia-cublas, nvidia-nccl-cu13, nvidia-cuda-crt; …/site-packages/nvidia/*/include). Every table
// is compiled twice: once as it is, and once against the declarations; sizes and kinds of every parameter must agree.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const folders = process.argv.slice(2)
const source = fileURLToPath(new URL('../../../native/cudnn/src/sys', import.meta.url))
const HEADERS = {
  cudnn: 'cudnn.h',
  cudart: 'cuda_runtime_api.h',
  driver: 'cuda.h',
  nvrtc: 'nvrtc.h',
  cublas: 'cublas_api.h',
  nccl: 'nccl.h',
}

const folder = mkdtempSync(join(tmpdir(), 'cublas-header-'))
process.on('exit', () => rmSync(folder, { recursive: true }))

/** cuBLAS overloads some functions for old C++ code; a copy of its header without them names each function once. */
function withoutOverloads() {
  const original = folders.map((given) => join(given, 'cublas_api.h')).find(existsSync)
  if (original === undefined) return []
  const [declarations] = readFileSync(original, 'utf8').split('/* wrappers to accept old code')
  const open = (declarations.match(/^#if/gm)?.length ?? 0) - (declarations.match(/^#endif/gm)?.length ?? 0)
  writeFileSync(join(folder, 'cublas_api.h'), `${declarations}${'#endif\n'.repeat(open)}`)
  return [folder]
}

/** Parameters match if both are pointers, or both numbers of one size (enumerations are ints). */
const MATCHING_TYPES = `
#include <cstddef>
#include <cstdint>
#include <type_traits>
template <class A, class B> constexpr bool sameAs =
    (std::is_pointer_v<A> && std::is_pointer_v<B>) ||
    (!std::is_pointer_v<A> && !std::is_pointer_v<B> && sizeof(A) == sizeof(B) &&
     std::is_floating_point_v<A> == std::is_floating_point_v<B>);
template <class A, class B> struct Compare : std::false_type {};
template <class R, class... A, class S, class... B> struct Compare<R(A...), S(B...)> {
  template <class, class> struct Lists;
  template <class... T> struct List {};
  static constexpr bool compare() {
    if constexpr (sizeof...(A) != sizeof...(B)) return false;
    else return ((sameAs<A, B>) && ...) && (std::is_void_v<R> ? std::is_void_v<S> : sameAs<R, S>);
  }
  static constexpr bool value = compare();
};`

let failed = false
for (const [table, header] of Object.entries(HEADERS)) {
  if (!folders.some((folder) => existsSync(join(folder, header)))) {
    console.log(`${table}: no ${header} in the folders given, not checked`)
    continue
  }
  const rows = readFileSync(join(source, `${table}_symbols.def`), 'utf8').replaceAll(/\/\/.*$/gm, '')
  // Ours first: NVIDIA's headers define macros by the names of our constants.
  const program = `${MATCHING_TYPES}
namespace ours {
#include "nvidia_types.h"
#define SYMBOL(result, name, parameters) using name##_type = result parameters;
#define OPTIONAL_SYMBOL SYMBOL
${rows}
#undef SYMBOL
}
#include <${header}>
#define SYMBOL(result, name, parameters) \\
  static_assert(Compare<ours::name##_type, std::remove_reference_t<decltype(::name)>>::value, #name);
${rows}
int main() {}
`
  const include = [...(table === 'cublas' ? withoutOverloads() : []), ...folders].flatMap((folder) => [
    '-isystem',
    folder,
  ])
  const { status, stderr } = spawnSync(
    'c++',
    ['-std=c++20', '-fsyntax-only', '-x', 'c++', '-I', source, ...include, '-'],
    {
      input: program,
      encoding: 'utf8',
    },
  )
  const count = rows.match(/SYMBOL\(/g)?.length ?? 0
  console.log(status === 0 ? `${table}: ${count} prototypes agree` : `${table}: prototypes differ\n${stderr}`)
  failed ||= status !== 0
}
process.exitCode = failed ? 1 : 0
