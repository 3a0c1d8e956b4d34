import { type AdamOptions, type BackendTensor, type DenseOps, type LinearGradients, type MomentumOptions, type SoftmaxCrossEntropyResult, type TensorLike } from '@cudnn-rnn/backend';
import type { CpuMemory } from './cpu_memory.js';
import type { CpuTensor } from './cpu_tensor.js';
/** Where the rate and the small number that keeps a division finite stand; as in the contract's optimizers. */
interface RootOptions {
    readonly learningRate: number;
    readonly epsilon: number;
    readonly epsilonInRoot?: boolean | undefined;
}
/** The dense operations: checks first, then one queued operation. */
export declare class CpuDenseOps implements DenseOps {
    #private;
    constructor(memory: CpuMemory);
    linear(input: TensorLike, kernel: TensorLike, bias: TensorLike): CpuTensor;
    linearGradients(input: TensorLike, kernel: TensorLike, outputGradient: TensorLike): LinearGradients;
    embedding(table: TensorLike, ids: TensorLike): CpuTensor;
    embeddingGradient(vocabulary: number, ids: TensorLike, outputGradient: TensorLike): CpuTensor;
    softmaxCrossEntropy(logits: TensorLike, labels: TensorLike, weights?: TensorLike): SoftmaxCrossEntropyResult;
    globalNorm(tensors: readonly BackendTensor[]): CpuTensor;
    clipByGlobalNorm(tensors: readonly BackendTensor[], maxNorm: number): CpuTensor;
    assign(variable: BackendTensor, source: TensorLike): void;
    accumulate(variable: BackendTensor, source: TensorLike, scale?: number): void;
    applySgd(variable: BackendTensor, gradient: TensorLike, { learningRate }: {
        readonly learningRate: number;
    }): void;
    applyMomentum(variable: BackendTensor, velocity: BackendTensor, gradient: TensorLike, options: MomentumOptions & {
        readonly rateInVelocity?: boolean | undefined;
    }): void;
    applyAdam(variable: BackendTensor, firstMoment: BackendTensor, secondMoment: BackendTensor, gradient: TensorLike, { learningRate, beta1, beta2, epsilon, step }: AdamOptions): void;
    applyRmsProp(variable: BackendTensor, meanSquare: BackendTensor, velocity: BackendTensor, gradient: TensorLike, options: RootOptions & {
        readonly decay?: number | undefined;
        readonly momentum?: number | undefined;
        readonly rateInVelocity?: boolean | undefined;
    }): void;
    applyAdagrad(variable: BackendTensor, sumOfSquares: BackendTensor, gradient: TensorLike, { learningRate, epsilon, epsilonInRoot }: RootOptions): void;
    applyWeightDecay(variable: BackendTensor, { rate, mask }: {
        readonly rate: number;
        readonly mask?: TensorLike | undefined;
    }): void;
    clipByValue(tensors: readonly BackendTensor[], limit: number): void;
}
export {};
