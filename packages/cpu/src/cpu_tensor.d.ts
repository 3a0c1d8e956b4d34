import { type BackendTensor, type DType } from '@cudnn-rnn/backend';
import { type FloatArray, type Tensor } from '@cudnn-rnn/canonical';
import type { Ledger } from './ledger.js';
/** The memory a tensor lives in: it counts tensors, takes them along when it goes, and waits for queued work. */
export interface TensorOwner {
    readonly ledger: Ledger;
    readonly disposed: boolean;
    done(job: number): Promise<void>;
}
/** A tensor of the CPU executor: a typed array that native code reads and writes in place. */
export declare class CpuTensor implements BackendTensor {
    #private;
    readonly shape: readonly number[];
    readonly dtype: DType;
    readonly layout: string | undefined;
    readonly memory: TensorOwner;
    /** Grows with every operation that writes in place; a tape compares it to notice overwritten operands. */
    version: number;
    /** The number of the last queued operation that writes this tensor; 0 for none. */
    job: number;
    constructor(memory: TensorOwner, data: FloatArray | Int32Array, shape: readonly number[], layout: string | undefined);
    get disposed(): boolean;
    /** The live elements, which queued work may be about to write. Throws RangeError `ERR_TENSOR_DISPOSED`. */
    get data(): FloatArray | Int32Array;
    read(): Promise<Tensor>;
    dispose(): void;
    [Symbol.dispose](): void;
}
