import type { FloatDType } from '@cudnn-rnn/backend'
import { cudnnError } from './cudnn_error.js'
import type { DeviceBuffer } from './device_buffer.js'
import type { DeviceSession } from './device_session.js'
import { kernelArchitecture } from './kernel_architecture.js'
import type { KernelCache } from './kernel_cache.js'
import { BLOCK, KERNELS, type KernelName } from './kernel_table.js'
import type { Kernel, KernelModule } from './native_addon.js'

/** Enough blocks for every multiprocessor to hold its 2048 threads. */
const BLOCKS_PER_MULTIPROCESSOR = 8

export type KernelParameter = DeviceBuffer | number | null

/** The kernels of one executor, compiled for its device and its element type. */
export class DeviceKernels {
  readonly #session: DeviceSession
  readonly #kernels: Readonly<Record<KernelName, Kernel>>
  readonly #signatures: ReadonlyMap<Kernel, string>

  private constructor(session: DeviceSession, kernels: Readonly<Record<KernelName, Kernel>>) {
    this.#session = session
    this.#kernels = kernels
    this.#signatures = new Map((Object.keys(KERNELS) as KernelName[]).map((name) => [kernels[name], KERNELS[name]]))
  }

  /** Compiles (or finds) and loads the kernels. Rejects with CudnnError `ERR_NVRTC`, `ERR_CUDA`. */
  static async load(session: DeviceSession, dtype: FloatDType, cache: KernelCache): Promise<DeviceKernels> {
    const { native, libraries, info } = session
    const source = native.kernelSource()
    const real = dtype === 'float64' ? 'double' : 'float'
    const architecture = kernelArchitecture(info.computeCapability, native.supportedArchitectures(libraries))
    const options = [`--gpu-architecture=${architecture}`, `-DREAL=${real}`, `-DBLOCK=${BLOCK}`]
    const key = [source, ...options, String(info.nvrtcVersion)]
    const image = await cache
      .image(key, () => native.compileKernels(libraries, source, options))
      .catch((error: unknown) => {
        throw cudnnError('compile the kernels', error)
      })
    let module: KernelModule | undefined
    await session.run('load the kernels', (_, handle) => {
      module = native.loadModule(handle, image)
    })
    const kernels: Partial<Record<KernelName, Kernel>> = {}
    await session.run('load the kernels', (_, handle) => {
      for (const name of Object.keys(KERNELS) as KernelName[]) {
        kernels[name] = native.kernel(handle, module!, name, KERNELS[name], dtype === 'float64')
      }
    })
    return new DeviceKernels(session, kernels as Record<KernelName, Kernel>)
  }

  /** The parameters of a kernel, as the table of kernels has them. */
  signatureOf(kernel: Kernel): string {
    return this.#signatures.get(kernel)!
  }

  /** Appends a launch with one thread per element, or a grid that strides where there are more. */
  each(name: KernelName, count: number, ...parameters: readonly KernelParameter[]): void {
    const most = this.#session.info.multiProcessors * BLOCKS_PER_MULTIPROCESSOR
    this.blocks(name, Math.min(Math.ceil(count / BLOCK), most), ...parameters)
  }

  /** Appends a launch with `blocks` blocks; none where there is nothing to do. */
  blocks(name: KernelName, blocks: number, ...parameters: readonly KernelParameter[]): void {
    if (blocks === 0) return
    const { native, handle } = this.#session
    const values = parameters.map((value) => (typeof value === 'object' && value !== null ? value.handle : value))
    if (KERNELS[name].endsWith('v')) values.push(null, 0)
    native.launch(handle, this.#kernels[name], blocks, BLOCK, ...values)
  }
}
