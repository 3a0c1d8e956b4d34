import { dirname, join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { libraryFolders, libraryNames } from '../src/sys/library_places.js'
import { usesLibraryFolders } from './library_files.js'

/** A container may run as a user without an entry and without HOME: Node.js throws then. */
const user = vi.hoisted(() => ({ hasHome: true }))
vi.mock(import('node:os'), async (importOriginal) => {
  const os = await importOriginal()
  const homedir = () => {
    if (user.hasHome) return os.homedir()
    throw new Error('uv_os_homedir returned ENOENT')
  }
  return { ...os, homedir }
})
const DRIVER = 'libcuda.so.1'

const { folderOf, rootOf } = usesLibraryFolders()

describe('libraryFolders', () => {
  it('are those of the system where the user has no home', () => {
    user.hasHome = false
    const folders = libraryFolders(undefined)
    user.hasHome = true
    expect(folders).toContain('')
  })

  it('begins with the folder of the caller, and has the wheels inside of it', () => {
    const given = folderOf('given', [])
    const wheels = ['cudnn', 'cu13', 'nccl'].map((name) => folderOf(`given/nvidia/${name}/lib`, []))
    const folders = libraryFolders(given)
    expect(folders.slice(0, 4)).toEqual([given, wheels[1], wheels[0], wheels[2]])
    // The system's loader.
    expect(folders).toContain('')
  })

  it('uses CUDNN_RNN_LIBRARY_DIR where the caller names no folder', () => {
    const [own, given] = [folderOf('own', []), folderOf('given', [])]
    vi.stubEnv('CUDNN_RNN_LIBRARY_DIR', own)
    expect(libraryFolders(undefined)[0]).toBe(own)
    expect(libraryFolders(given)[0]).toBe(given)
    expect(libraryFolders(given)).not.toContain(own)
  })

  it('has explicit places before the loader, and the toolkits behind it; each once, and only if there are any', () => {
    const places = {
      CUDNN_PATH: folderOf('cudnn/lib', []),
      CONDA_PREFIX: folderOf('conda/lib', []),
      CUDA_PATH: folderOf('cuda/lib64', []),
    }
    for (const [name, folder] of Object.entries(places)) vi.stubEnv(name, dirname(folder))
    vi.stubEnv('CUDA_HOME', dirname(places.CUDA_PATH))
    const folders = libraryFolders(join(rootOf(), 'absent'))
    const loader = folders.indexOf('')
    expect(folders.indexOf(places.CUDNN_PATH)).toBeLessThan(folders.indexOf(places.CONDA_PREFIX))
    expect(folders.indexOf(places.CONDA_PREFIX)).toBeLessThan(loader)
    expect(folders.indexOf(places.CUDA_PATH)).toBeGreaterThan(loader)
    expect(new Set(folders).size).toBe(folders.length)
    expect(folders).not.toContain(join(rootOf(), 'absent'))
  })

  it('has the wheels of the active environment, newest Python first', () => {
    const [older, newer] = ['3.9', '3.13'].map((version) =>
      folderOf(`venv/lib/python${version}/site-packages/nvidia/cudnn/lib`, []),
    )
    vi.stubEnv('VIRTUAL_ENV', join(rootOf(), 'venv'))
    const folders = libraryFolders(undefined).filter((folder) => folder.startsWith(rootOf()))
    expect(folders).toEqual([newer, older])
  })
})

describe('libraryNames', () => {
  it('have the release of cuDNN first, then the newest', () => {
    expect(libraryNames('cudart', 12)).toEqual(['libcudart.so.12', 'libcudart.so.13', 'libcudart.so.11.0'])
    expect(libraryNames('nvrtc', 11)).toEqual(['libnvrtc.so.11.2', 'libnvrtc.so.13', 'libnvrtc.so.12'])
    expect(libraryNames('cublasLt', 13)[0]).toBe('libcublasLt.so.13')
    // A release that the addon has no name for.
    expect(libraryNames('cublas', 99)).toEqual(['libcublas.so.13', 'libcublas.so.12', 'libcublas.so.11'])
    expect(libraryNames('cudnn')).toEqual(['libcudnn.so.9', 'libcudnn.so.8'])
    expect(libraryNames('driver')).toEqual([DRIVER])
  })
})
