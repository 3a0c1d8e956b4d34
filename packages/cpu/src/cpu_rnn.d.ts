import { type Rnn, type RnnForwardInputs, type RnnForwardResult, type RnnInputGradients, type RnnOutputGradients, type RnnStepper, type Tape, type TensorLike } from '@cudnn-rnn/backend';
import { type CanonicalParams, type RnnDescriptor } from '@cudnn-rnn/canonical';
import type { CpuMemory } from './cpu_memory.js';
import type { CpuTensor } from './cpu_tensor.js';
/** A network on the CPU executor. Its opaque layout is the panels its kernels stream through (native/cpu/src/network.h). */
export declare class CpuRnn implements Rnn {
    #private;
    readonly descriptor: RnnDescriptor;
    readonly paramsSize: number;
    /** Throws RangeError `ERR_PARAMS_TOO_LARGE`. */
    constructor(memory: CpuMemory, descriptor: RnnDescriptor);
    canonicalToParams(canonical: CanonicalParams): CpuTensor;
    paramsToCanonical(params: TensorLike): Promise<CanonicalParams>;
    forward(inputs: RnnForwardInputs): Promise<RnnForwardResult>;
    backward(tape: Tape, gradients: RnnOutputGradients): Promise<RnnInputGradients>;
    stepper(params: TensorLike, batch: number): RnnStepper;
    dropoutState(): Promise<Uint8Array>;
    restoreDropoutState(state: Uint8Array): void;
    dispose(): void;
    [Symbol.dispose](): void;
}
