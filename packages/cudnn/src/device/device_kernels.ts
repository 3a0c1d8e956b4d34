import type { FloatDType } from '@cudnn-rnn/ops'
import { cudnnError } from '../sys/cudnn_error.js'
import type { KernelName } from '../sys/kernels.js'
import type { CommandList, KernelFields } from './command_list.js'
import type { DeviceSession } from './device_session.js'
import type { KernelCache } from './kernel_cache.js'

/** Enough blocks for every multiprocessor to hold its 2048 threads. */
const BLOCKS_PER_MULTIPROCESSOR = 8
/** Threads of a block; the kernels that reduce are compiled for it. */
export const BLOCK = 256

/** Loads the kernels: those that were shipped for this device, or compiled. Rejects with CudnnError `ERR_NVRTC`, `ERR_CUDA`. */
export async function loadKernels(session: DeviceSession, dtype: FloatDType, cache: KernelCache): Promise<void> {
  const { native, libraries, info } = session
  const source = native.kernelSource()
  const real = dtype === 'float64' ? 'double' : 'float'
  const optionsFor = (architecture: string) =>
    [`--gpu-architecture=${architecture}`, `-DREAL=${real}`, `-DBLOCK=${BLOCK}`] as const
  const load = (image: Uint8Array) => {
    const list = session.list('load the kernels')
    list.add('loadKernels', { image, isDouble: Number(dtype === 'float64') })
    return session.run(list)
  }
  const shipped = await cache.shipped([source, ...optionsFor(`sm_${info.computeCapability}`)])
  // A driver that is older than the compiler of the release refuses its machine code.
  const isLoaded = shipped !== undefined && (await load(shipped).catch(() => undefined)) !== undefined
  if (isLoaded) return
  const options = optionsFor(kernelArchitecture(info.computeCapability, native.supportedArchitectures(libraries)))
  // Everything that the machine code depends on.
  const key = [source, ...options, String(info.nvrtcVersion)]
  const image = await cache
    .image(key, () => compiled(session, source, options))
    .catch((error: unknown) => {
      throw cudnnError('compile the kernels', error)
    })
  await load(image)
}

/**
 * Compiles on all processors. One takes five seconds for these kernels, two take three; releases of NVRTC before the option
 * compile on one.
 */
async function compiled({ native, libraries }: DeviceSession, source: string, options: readonly string[]) {
  try {
    return await native.compileKernels(libraries, source, [...options, '--split-compile=0'])
  } catch (error) {
    if ((error as { readonly statusName?: string }).statusName !== 'NVRTC_ERROR_INVALID_OPTION') throw error
    return native.compileKernels(libraries, source, options)
  }
}

/** Launches a kernel with one thread per element, or a grid that strides if there are more. */
export function launchEach<Name extends KernelName>(
  session: DeviceSession,
  list: CommandList,
  name: Name,
  count: number,
  fields: KernelFields<Name>,
): void {
  list.launch(name, blocksOf(session, count), BLOCK, fields)
}

/** Kernels stride over the rest: more blocks than the device holds at once only add launch work. */
export function blocksOf({ info }: DeviceSession, count: number): number {
  return Math.min(Math.ceil(count / BLOCK), info.multiProcessors * BLOCKS_PER_MULTIPROCESSOR)
}

/**
 * The architecture that the kernels are compiled for. An NVRTC that supports the device's architecture emits its
 * machine code (sm_90). An older one emits PTX of the newest architecture that it supports and the device can run
 * (compute_90); the driver translates that.
 *
 * @param computeCapability 90 is 9.0
 * @param supported the architectures that NVRTC lists; empty before CUDA 11.2, which has no such list
 */
export function kernelArchitecture(computeCapability: number, supported: readonly number[]): string {
  const older = supported.filter((architecture) => architecture < computeCapability)
  if (supported.includes(computeCapability) || older.length === 0) return `sm_${computeCapability}`
  return `compute_${Math.max(...older)}`
}
