import { createRnnDescriptor, type RnnOptions } from '@cudnn-rnn/canonical'
import { describe, expect, it } from 'vitest'
import { passShapes } from '../../../src/executor/index.js'

const [T, B, I, H, P, L] = [7, 5, 3, 4, 2, 2] as const

describe('passShapes', () => {
  it.each<[string, Partial<RnnOptions>, object]>([
    ['LSTM', { cellMode: 'lstm' }, { output: [T, B, H], h: [L, B, H], c: [L, B, H] }],
    [
      'bidirectional LSTM with a projection',
      { cellMode: 'lstm', numProj: P, direction: 'bidirectional' },
      { output: [T, B, 2 * P], h: [2 * L, B, P], c: [2 * L, B, H] },
    ],
    ['GRU', { cellMode: 'gru' }, { output: [T, B, H], h: [L, B, H], c: undefined }],
    [
      'a bidirectional plain cell',
      { cellMode: 'rnn_relu', direction: 'bidirectional' },
      { output: [T, B, 2 * H], h: [2 * L, B, H], c: undefined },
    ],
  ])('of %s', (_, options, expected) => {
    const descriptor = createRnnDescriptor({ numLayers: L, numUnits: H, inputSize: I, ...options } as RnnOptions)
    expect(passShapes(descriptor, { time: T, batch: B })).toEqual({ input: [T, B, I], ...expected })
    expect(passShapes(descriptor, { time: 0, batch: 1 }).input).toEqual([0, 1, I])
  })

  it('keeps the shapes of the last pass of a network that cannot change', () => {
    const descriptor = createRnnDescriptor({ cellMode: 'gru', numLayers: L, numUnits: H, inputSize: I })
    const shapes = passShapes(descriptor, { time: T, batch: B })
    expect(passShapes(descriptor, { time: T, batch: B })).toBe(shapes)
    expect(passShapes(descriptor, { time: T, batch: 1 }).output).toEqual([T, 1, H])
    expect(passShapes(descriptor, { time: 1, batch: 1 }).output).toEqual([1, 1, H])
    const open = { ...descriptor }
    expect(passShapes(open, { time: T, batch: B }).output).toEqual([T, B, H])
    expect(passShapes({ ...open, numUnits: 9 }, { time: T, batch: B }).output).toEqual([T, B, 9])
  })
})
