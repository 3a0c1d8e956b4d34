import { existsSync, readdirSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { BackendAttempt } from '@cudnn-rnn/ops'
import { libraryFolders, libraryNames } from './library_places.js'
import type { Libraries, LibraryKind, NativeAddon } from './native_addon.js'

/** Place of each library. */
export type LibraryFiles = Readonly<Partial<Record<LibraryKind | 'cublasLt', string>>>

/** NVIDIA's libraries, found and bound; or the attempts, and one sentence of advice. */
export type CudaLibraries = BoundLibraries | MissingLibraries

interface LibrarySearchResult {
  readonly files: LibraryFiles
  readonly attempts: readonly BackendAttempt[]
  readonly advice: string
}

interface BoundLibraries extends LibrarySearchResult {
  readonly libraries: Libraries
  /** The number of `cudnnGetVersion`. */
  readonly cudnnVersion: number
}

interface MissingLibraries extends LibrarySearchResult {
  readonly libraries: undefined
  readonly cudnnVersion: undefined
}

const ADVICE: Readonly<Record<LibraryKind | 'cublasLt', string>> = {
  driver: 'Install the NVIDIA driver; in a container, start it with the GPU (docker run --gpus all).',
  cudnn:
    'Install cuDNN 9 (pip install nvidia-cudnn-cu13, or the package libcudnn9-cuda-13), or set CUDNN_RNN_LIBRARY_DIR to the folder that holds it.',
  cudart: 'Install the CUDA runtime (pip install nvidia-cuda-runtime), or set CUDNN_RNN_LIBRARY_DIR.',
  cublas: 'Install cuBLAS (pip install nvidia-cublas), or set CUDNN_RNN_LIBRARY_DIR.',
  cublasLt: 'Install cuBLAS (pip install nvidia-cublas), or set CUDNN_RNN_LIBRARY_DIR.',
  nvrtc: 'Install NVRTC (pip install nvidia-cuda-nvrtc), or set CUDNN_RNN_LIBRARY_DIR.',
}

/**
 * Finds, opens and binds NVIDIA's libraries. Does not end the process, even with half an installation.
 *
 * Note [Preloading]. libcudnn is a shim that opens its sub-libraries at the first call, and aborts the process when the
 * graph library is missing; and a sub-library of another version on LD_LIBRARY_PATH would win. So the sub-libraries
 * beside the shim are opened first, by absolute path, and nothing of the shim is called unless all are there.
 */
export function openCudaLibraries(addon: NativeAddon, libraryDir?: string): CudaLibraries {
  const search = new LibrarySearch(addon, libraryFolders(libraryDir))
  // cuDNN's own CUDA runtime looks for the driver at its first call, on the loader's path only.
  const driver = search.find('driver', libraryNames('driver'))
  const cudnn = search.find('cudnn', libraryNames('cudnn'))
  if (cudnn === undefined) return search.failure('cudnn')
  const conflict = search.preload(cudnn, cudnnSubLibraries(cudnn))
  if (conflict !== undefined) return search.failure('cudnn', conflict)
  // cuDNN first and alone: its CUDA major version decides which of the other libraries to look for.
  const alone = addon.bindLibraries({ cudnn })
  if (alone.libraries === null) {
    return search.failure('cudnn', `${cudnn} lacks ${alone.missing.join(', ')}; cuDNN 8.0.2 or later is needed`)
  }
  const mixed = addon.versionConflict(alone.libraries)
  if (mixed !== '') {
    return search.failure('cudnn', `${cudnn} and its sub-libraries are of different versions (${mixed})`)
  }
  const cudaMajor = Math.floor(alone.cudnnCudart / 1000)

  // cuDNN opens cuBLASLt itself, at the first forward: better to miss it now.
  if (search.find('cublasLt', libraryNames('cublasLt', cudaMajor)) === undefined) return search.failure('cublasLt')
  if (driver === undefined) return search.failure('driver')
  const cudart = search.find('cudart', libraryNames('cudart', cudaMajor))
  if (cudart === undefined) return search.failure('cudart')
  const cublas = search.find('cublas', libraryNames('cublas', cudaMajor))
  if (cublas === undefined) return search.failure('cublas')
  const nvrtc = search.find('nvrtc', libraryNames('nvrtc', cudaMajor))
  if (nvrtc === undefined) return search.failure('nvrtc')
  // NVRTC looks for its built-ins by bare name only.
  search.preload(nvrtc, nvrtcBuiltins(nvrtc))
  const bound = addon.bindLibraries({ cudnn, driver, cudart, cublas, nvrtc })
  if (bound.libraries === null) return search.failure('cudart', `symbols are missing: ${bound.missing.join(', ')}`)
  return {
    libraries: bound.libraries,
    files: search.files,
    cudnnVersion: alone.cudnnVersion,
    attempts: search.attempts,
    advice: '',
  }
}

/** Opens libraries folder by folder, and records each attempt. */
class LibrarySearch {
  readonly files: Partial<Record<LibraryKind | 'cublasLt', string>> = {}
  readonly attempts: BackendAttempt[] = []
  readonly #addon: NativeAddon
  readonly #folders: readonly string[]

  constructor(addon: NativeAddon, folders: readonly string[]) {
    this.#addon = addon
    this.#folders = folders
  }

  /** The file of the first library that opens: every name in one folder before the next folder. */
  find(kind: LibraryKind | 'cublasLt', names: readonly string[]): string | undefined {
    for (const folder of this.#folders) {
      for (const name of names) {
        const path = folder === '' ? name : join(folder, name)
        if (folder !== '' && !existsSync(path)) continue
        const { file, error } = this.#addon.openLibrary(path)
        if (error === undefined) {
          this.files[kind] = realPath(file || path)
          return this.files[kind]
        }
        // A file that the loader does not find is reported once, for all names and folders together.
        const isAbsent = folder === '' && error.startsWith(`${name}: cannot open shared object file`)
        if (!isAbsent) this.attempts.push({ name: kind, reason: error })
      }
    }
    const folders = this.#folders.map((folder) => folder || "the system's loader").join(', ')
    this.attempts.push({ name: kind, reason: `${names.join(' or ')} was not found in ${folders}` })
    return undefined
  }

  /** Opens the libraries named, all beside `library`; returns the error of the first that does not open. */
  preload(library: string, names: readonly string[]): string | undefined {
    for (const name of names) {
      const { error } = this.#addon.openLibrary(join(dirname(library), name))
      if (error !== undefined) return `${library} needs ${name} beside it: ${error}`
    }
    return undefined
  }

  failure(kind: LibraryKind | 'cublasLt', reason?: string): MissingLibraries {
    if (reason !== undefined) this.attempts.push({ name: kind, reason })
    const { files, attempts } = this
    return { libraries: undefined, files, cudnnVersion: undefined, attempts, advice: ADVICE[kind] }
  }
}

/** The sub-libraries that must be opened before anything is called, in order. */
function cudnnSubLibraries(shim: string): readonly string[] {
  const isWindows = process.platform === 'win32'
  // cuDNN 8 has inference and training parts; some distributions leave out parts that recurrent networks do not need.
  if (/so\.8|64_8/.test(shim)) {
    const parts = ['ops_infer', 'ops_train', 'cnn_infer', 'adv_infer', 'adv_train']
    const names = parts.map((part) => (isWindows ? `cudnn_${part}64_8.dll` : `libcudnn_${part}.so.8`))
    return names.filter((name) => existsSync(join(dirname(shim), name)))
  }
  return ['graph', 'ops', 'adv'].map((part) => (isWindows ? `cudnn_${part}64_9.dll` : `libcudnn_${part}.so.9`))
}

/** The built-ins carry the full CUDA version in their names, so they are found by pattern. */
function nvrtcBuiltins(nvrtc: string): readonly string[] {
  return readdirSync(dirname(nvrtc)).filter((name) => /^(lib)?nvrtc-builtins(\.so\.|64_)[\d.]+(dll)?$/.test(name))
}

/** The file behind links, for reports; the name itself if it cannot be resolved. */
function realPath(file: string): string {
  try {
    return realpathSync(file)
  } catch {
    return file
  }
}
