import { type RnnStepper, type RnnStreamState, type TensorLike } from '@cudnn-rnn/backend';
import { type RnnDescriptor, type Tensor } from '@cudnn-rnn/canonical';
import type { CpuMemory } from './cpu_memory.js';
import type { NativeNetwork } from './native_addon.js';
/** Inference of a unidirectional network one time step at a time, on the calling thread with the pool's help. */
export declare class CpuStepper implements RnnStepper {
    #private;
    readonly batch: number;
    /** Throws RangeError `ERR_BIDIRECTIONAL_STREAM`, `ERR_INVALID_OPTION` for a batch that is not an integer ≥ 1. */
    constructor(memory: CpuMemory, descriptor: RnnDescriptor, network: NativeNetwork, params: TensorLike, batch: number);
    stepSync(input: Tensor, out?: Tensor): Tensor;
    reset(rows?: readonly number[]): void;
    state(): RnnStreamState;
    restore(state: RnnStreamState): void;
    dispose(): void;
}
