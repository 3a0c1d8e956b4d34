import { type FloatDType, type TensorLike } from '@cudnn-rnn/backend';
import { type FloatArray } from '@cudnn-rnn/canonical';
import { CpuTensor } from './cpu_tensor.js';
import { Ledger } from './ledger.js';
import type { NativeAddon, NativeExecutor } from './native_addon.js';
/** The memory of one executor: makes tensors, counts them, tells its own from foreign ones, and knows the queue. */
export declare class CpuMemory {
    #private;
    readonly addon: NativeAddon;
    readonly executor: NativeExecutor;
    readonly dtype: FloatDType;
    readonly ledger: Ledger;
    constructor(addon: NativeAddon, executor: NativeExecutor, dtype: FloatDType);
    get disposed(): boolean;
    dispose(): void;
    /** Throws RangeError `ERR_BACKEND_DISPOSED` once the executor was disposed. */
    checkAlive(action: string): void;
    /** A zeroed array in the executor's dtype. */
    readonly allocate: (length: number) => FloatArray;
    /** A tensor that owns `data`; zeros when none is given. */
    create(shape: readonly number[], data?: FloatArray | Int32Array, layout?: string): CpuTensor;
    /** A tensor of zeros that the operation queued as `job` fills. */
    result(shape: readonly number[], data: FloatArray, job: number, layout?: string): CpuTensor;
    /**
     * The elements of an argument that was checked before, to be read by queued work: of an own tensor the live memory, of
     * a host tensor a copy, as its owner may overwrite it as soon as the call returns.
     *
     * @throws TypeError `ERR_FOREIGN_TENSOR` for a backend tensor of another executor
     */
    floats(action: string, name: string, tensor: TensorLike): FloatArray;
    /** A copy of the elements of an int32 argument; nothing that is queued writes those. */
    integers(action: string, name: string, tensor: TensorLike): Int32Array;
    /** `tensor` as a tensor of this executor; throws as {@link floats}. */
    own(action: string, name: string, tensor: TensorLike): CpuTensor;
    /** Waits for the operation queued as `job`. Rejects with `ERR_BACKEND_DISPOSED` or `ERR_CPU_OPERATION`. */
    done(job: number): Promise<void>;
}
