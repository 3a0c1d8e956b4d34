import type { RowNetwork, StreamPool } from '@cudnn-rnn/rnn'
import { streamPoolOf } from '@cudnn-rnn/rnn/layers'

/** A pool whose "probability of speech" is the loudness of the frame: a server is tested without the model's weights. */
export function energyPool(maxStreams = 8): StreamPool<undefined> {
  const network: RowNetwork<undefined> = {
    ...{ dtype: 'float32', inputSize: 512, outputSize: 1 },
    step(rows, input, output) {
      for (const index of rows.keys()) {
        const frame = input.subarray(index * 512, (index + 1) * 512)
        output[index] = Math.min(1, 4 * Math.max(...frame.map(Math.abs)))
      }
      return undefined
    },
    reset() {},
    state: async () => undefined,
    checkedState: () => undefined,
    restore() {},
    dispose() {},
  }
  return streamPoolOf(network, { maxStreams })
}

/** 16-bit samples: a tone of the given amplitude in -1..1. */
export function tone(samples: number, amplitude: number): Buffer {
  const data = Int16Array.from({ length: samples }, (_, n) => Math.round(32767 * amplitude * Math.sin(n)))
  return Buffer.from(data.buffer)
}
