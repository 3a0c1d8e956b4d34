import { type Backend, type BackendStats, type FloatDType } from '@cudnn-rnn/backend';
import { type RnnDescriptor, type Tensor } from '@cudnn-rnn/canonical';
import { CpuDenseOps } from './cpu_dense_ops.js';
import { CpuRnn } from './cpu_rnn.js';
import type { CpuTensor } from './cpu_tensor.js';
import type { NativeAddon } from './native_addon.js';
export interface CpuBackendOptions {
    /** Element type of everything computed; default float32. */
    readonly dtype?: FloatDType | undefined;
    /** Threads that compute, 1..256; default: physical cores. */
    readonly threads?: number | undefined;
    /** Instruction set of the kernels, "AVX-512", "AVX2", "NEON" or "portable"; default: the best this processor has. */
    readonly isa?: string | undefined;
}
/**
 * Opens the CPU executor: C++ kernels on a pool of threads.
 *
 * @throws BackendUnavailableError `ERR_BACKEND_UNAVAILABLE` where the native addon cannot be loaded
 * @throws TypeError `ERR_UNKNOWN_OPTION`; RangeError `ERR_INVALID_OPTION`
 */
export declare function openCpuBackend(options?: CpuBackendOptions): CpuBackend;
/** The fast executor of machines without a GPU. */
export declare class CpuBackend implements Backend {
    #private;
    readonly name = "cpu";
    readonly reason: string;
    readonly dtype: FloatDType;
    readonly ops: CpuDenseOps;
    constructor(addon: NativeAddon, dtype: FloatDType, isa: string, threads: number);
    tensor(host: Tensor): CpuTensor;
    zeros(shape: readonly number[], options?: {
        readonly layout?: string | undefined;
    }): CpuTensor;
    rnn(descriptor: RnnDescriptor): CpuRnn;
    stats(): BackendStats;
    dispose(): void;
    [Symbol.dispose](): void;
}
