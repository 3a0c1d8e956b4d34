import type { FloatDType } from '@cudnn-rnn/ops'
import type { Signal } from '../../src/signal.js'
import { batchesOf, type DataShape, type LayerData } from '../../src/training/batches.js'
import type { LayerBatch } from '../../src/training/layer_batch.js'
import type { CheckedLoss } from '../../src/training/losses.js'
import { outputLosses } from '../../src/training/output_losses.js'

export const numbers = (isSequence: boolean, features: number) => ({ isSequence, features })
export interface Changes {
  readonly input?: Signal
  readonly output?: Signal
  readonly dtype?: FloatDType
  readonly loss?: CheckedLoss
}

export const shape = (changes: Changes = {}): DataShape => {
  const { input = numbers(true, 2), output = numbers(false, 3) } = changes
  const { dtype = 'float32', loss = 'softmax_cross_entropy' } = changes
  const graph = {
    inputs: [{ name: 'input', signal: input }],
    outputs: [{ name: 'output', signal: output }],
    outputLengths: (lengths: readonly unknown[]) => lengths,
  } as never
  return { dtype, losses: outputLosses(graph, dtype, loss), graph }
}

export async function batchesIn(data: unknown, options: object, given: DataShape): Promise<LayerBatch[]> {
  const batches: LayerBatch[] = []
  for await (const batch of batchesOf(data as LayerData, options, given).iterate()) batches.push(batch as LayerBatch)
  return batches
}

export const sequence = (...values: number[]) => ({ data: Float32Array.from(values), shape: [values.length / 2, 2] })
