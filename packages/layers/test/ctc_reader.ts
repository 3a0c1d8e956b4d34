import type { Backend } from '@cudnn-rnn/ops'
import { cudnnLSTM, dense, type LayerExample, type ModelFitOptions, sequential } from '../src/index.js'

/** Three marks and the blank. */
export const CLASSES = 4
export const reader = (backend: Backend, units = CLASSES) =>
  sequential(backend, [cudnnLSTM({ numUnits: 12, inputSize: 3, direction: 'bidirectional' }), dense({ units })], {
    seed: 3,
  })

/** Marks of two or three frames on one of three lines, and if `first` is 1 their labels begin with 1. */
export function example(n: number, first = 0): LayerExample {
  const marks = Array.from({ length: 1 + (n % 3) }, (_, k) => (n * 7 + k * (1 + (n % 4))) % 3)
  const frames = marks.flatMap((mark, k) => [...Array(2 + ((n + k) % 2)).fill(mark), undefined])
  const data = Float32Array.from(frames.flatMap((mark) => [0, 1, 2].map((line) => Number(line === mark))))
  return { input: { data, shape: [frames.length, 3] }, label: marks.map((mark) => mark + first) }
}

export const EXAMPLES = Array.from({ length: 24 }, (_, n) => example(n))
export const inputs = EXAMPLES.map(({ input }) => input)
export const FIT: ModelFitOptions = { loss: 'ctc', batchSize: 12, epochs: 40, learningRate: 0.03, clipNorm: 1 }
