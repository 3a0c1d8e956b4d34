import { existsSync, readdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { LibraryKind } from './native_addon.js'

/** CUDA releases whose libraries the addon can use, newest first. */
const CUDA_MAJORS = [13, 12, 11] as const

/** The folder of every library in NVIDIA's Python wheels, below site-packages/nvidia, newest layout first. */
const WHEEL_FOLDERS = ['cu13', 'cudnn', 'cuda_runtime', 'cublas', 'cuda_nvrtc', 'nccl'] as const

const isWindows = globalThis.process?.platform === 'win32'

/** The file of a library of one major version of CUDA, on Windows and elsewhere. */
const NAMES_OF_CUDA = {
  // CUDA 11 keeps one file name for all its releases, 110 or 11.0; from 12 on the name has the major version only.
  cudart: (major: number) =>
    major === 11 ? ['cudart64_110.dll', 'libcudart.so.11.0'] : [`cudart64_${major}.dll`, `libcudart.so.${major}`],
  // NVRTC's name in CUDA 11 is release 11.2's, the first with a stable interface within a major version.
  nvrtc: (major: number) =>
    major === 11 ? ['nvrtc64_112_0.dll', 'libnvrtc.so.11.2'] : [`nvrtc64_${major}0_0.dll`, `libnvrtc.so.${major}`],
  cublas: (major: number) => [`cublas64_${major}.dll`, `libcublas.so.${major}`],
  cublasLt: (major: number) => [`cublasLt64_${major}.dll`, `libcublasLt.so.${major}`],
} as const

/** File names to look for, best first; for all but cuDNN and the driver the names of `cudaMajor` come first. */
export function libraryNames(kind: LibraryKind | 'cublasLt', cudaMajor?: number): readonly string[] {
  if (kind === 'cudnn') return isWindows ? ['cudnn64_9.dll', 'cudnn64_8.dll'] : ['libcudnn.so.9', 'libcudnn.so.8']
  if (kind === 'driver') return isWindows ? ['nvcuda.dll'] : ['libcuda.so.1']
  // The release of cuDNN first; another major version is a last resort and is reported when it does not fit.
  const majors = [...CUDA_MAJORS].sort((a, b) => Number(b === cudaMajor) - Number(a === cudaMajor))
  return majors.map((major) => NAMES_OF_CUDA[kind](major)[isWindows ? 0 : 1])
}

/**
 * Folders in which libraries are looked for, in order: the one named by the caller or by CUDNN_RNN_LIBRARY_DIR, CUDNN_PATH,
 * NVIDIA's Python wheels, Conda, the system's loader (the empty string), CUDA_PATH and CUDA_HOME, the usual folders.
 */
export function libraryFolders(libraryDir: string | undefined): readonly string[] {
  const { env } = process
  const named = libraryDir ?? env['CUDNN_RNN_LIBRARY_DIR']
  const folders = [
    ...(named ? [named, ...wheelFolders(named)] : []),
    ...toolkitFolders(env['CUDNN_PATH']),
    ...sitePackages().flatMap(wheelFolders),
    ...(env['CONDA_PREFIX'] ? [join(env['CONDA_PREFIX'], isWindows ? 'Library/bin' : 'lib')] : []),
    // After the explicit places, before the usual folders: LD_LIBRARY_PATH and the loader's cache.
    '',
    ...toolkitFolders(env['CUDA_PATH']),
    ...toolkitFolders(env['CUDA_HOME']),
    ...(isWindows
      ? subfolders('C:\\Program Files\\NVIDIA\\CUDNN', 'v').map((folder) => join(folder, 'bin'))
      : [
          '/usr/lib/x86_64-linux-gnu',
          '/usr/lib/aarch64-linux-gnu',
          '/usr/local/cuda/lib64',
          '/usr/local/nvidia/lib64',
          // WSL 2 maps the Windows driver's libcuda.so.1 into this folder.
          '/usr/lib/wsl/lib',
        ]),
  ]
  return [...new Set(folders.filter((folder) => folder === '' || existsSync(folder)))]
}

/** The home of the user. A container may run as a user that has no entry, and no HOME. */
export function homeFolder(): string | undefined {
  try {
    return homedir()
  } catch {
    return undefined
  }
}

/** The library folders of a CUDA toolkit or of a cuDNN archive. */
function toolkitFolders(root: string | undefined): string[] {
  if (!root) return []
  return (isWindows ? ['bin\\x64', 'bin'] : ['lib64', 'lib']).map((folder) => join(root, folder))
}

/** The library folders of the wheels below a site-packages folder. */
function wheelFolders(root: string): string[] {
  const inside = isWindows ? ['bin/x86_64', 'bin'] : ['lib']
  return WHEEL_FOLDERS.flatMap((wheel) => inside.map((folder) => join(root, 'nvidia', wheel, folder)))
}

/** Python's site-packages folders: of the active environment, of the user, of the system. */
function sitePackages(): string[] {
  const { VIRTUAL_ENV, CONDA_PREFIX } = process.env
  if (isWindows) {
    return [VIRTUAL_ENV, CONDA_PREFIX]
      .filter((root) => root !== undefined)
      .map((root) => join(root, 'Lib/site-packages'))
  }
  const home = homeFolder()
  const roots = [VIRTUAL_ENV, CONDA_PREFIX, home && join(home, '.local'), '/usr/local', '/usr']
  return roots
    .filter((root) => root !== undefined)
    .flatMap((root) => subfolders(join(root, 'lib'), 'python3'))
    .flatMap((python) => [join(python, 'site-packages'), join(python, 'dist-packages')])
}

/** The subfolders of `folder` whose names begin with `prefix`, highest version first; none if it does not exist. */
function subfolders(folder: string, prefix: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.startsWith(prefix))
      .sort((a, b) => b.localeCompare(a, 'en', { numeric: true }))
      .map((name) => join(folder, name))
  } catch {
    return []
  }
}
