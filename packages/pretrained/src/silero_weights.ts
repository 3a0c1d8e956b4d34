import { type ImportedNetwork, importWeights } from '@cudnn-rnn/rnn'
import { openWeightFile, type WeightInput } from '@cudnn-rnn/rnn/interop'
import { lstmsOf, weightReader } from './named_weights.js'

/** New samples of a frame: 32 ms at 16 kHz; each frame also sees the 64 samples before it. */
export const FRAME = 512
export const CONTEXT = 64
export const WINDOW = 256
/** Frequencies of the short Fourier transform. */
export const BINS = WINDOW / 2 + 1
export const UNITS = 128

/** A convolution over time as PyTorch keeps it: weight [O,I,K], bias [O]; `padding` zeros are put on both sides. */
export interface Conv1d {
  readonly weight: Float32Array
  readonly bias: Float32Array
  /** I */
  readonly inputs: number
  /** K */
  readonly width: number
  readonly stride: number
  readonly padding: number
}

/** Kernel [I,O], bias [O]. */
interface Dense {
  readonly kernel: Float32Array
  readonly bias: Float32Array
}

/** The weights of Silero VAD 6.2 at 16 kHz. */
export interface SileroWeights {
  /** Real parts of all frequencies, then imaginary ones: [2·BINS,1,WINDOW]. */
  readonly transform: Conv1d
  readonly encoder: readonly Conv1d[]
  /** UNITS → UNITS */
  readonly lstm: ImportedNetwork
  /** UNITS → 1 */
  readonly output: Dense
}

/**
 * @param weights `silero_vad_16k_op15.onnx` of snakers4/silero-vad.
 * @throws RangeError `ERR_OTHER_MODEL` for another file; as `openWeightFile`
 */
export async function readSileroWeights(weights: WeightInput): Promise<SileroWeights> {
  const file = await openWeightFile(weights)
  try {
    const read = weightReader(file)
    const transform = {
      weight: (await read('model.stft.forward_basis_buffer', [2 * BINS, 1, WINDOW])).data,
      bias: new Float32Array(2 * BINS),
      inputs: 1,
      width: WINDOW,
      stride: 128,
      padding: 0,
    }
    const layers = [
      [BINS, UNITS, 1],
      [UNITS, 64, 2],
      [64, 64, 2],
      [64, UNITS, 1],
    ] as const
    const encoder: Conv1d[] = []
    for (const [index, [inputs, outputs, stride]] of layers.entries()) {
      const name = `model.encoder.${index}.reparam_conv`
      const { data: weight } = await read(`${name}.weight`, [outputs, inputs, 3])
      const { data: bias } = await read(`${name}.bias`, [outputs])
      encoder.push({ weight, bias, inputs, width: 3, stride, padding: 1 })
    }
    const output = {
      kernel: (await read('model.decoder.decoder.2.weight', [1, UNITS, 1])).data,
      bias: (await read('model.decoder.decoder.2.bias', [1])).data,
    }
    const [lstm] = lstmsOf(file.path, (await importWeights(file, { convention: 'pytorch' })).networks, [[UNITS, UNITS]])
    return { transform, encoder, lstm: lstm, output }
  } finally {
    await file.close()
  }
}
