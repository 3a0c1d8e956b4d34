import { elementCount, hasErrorCode } from '@cudnn-rnn/canonical'
import { CheckpointError } from '@cudnn-rnn/checkpoint'
import type { Grammar, Random } from '@cudnn-rnn/fuzzing'
import { importWeights, openWeightFile, WeightFileError } from '../src/index.js'
import { flaxFile } from './flax_grammar.js'
import { hdf5File } from './hdf5_grammar.js'
import { onnxFile } from './onnx_grammar.js'
import { safetensorsFile } from './safetensors_grammar.js'
import { torchFile } from './torch_grammar.js'
import { npzFile } from './zip_grammar.js'

type Built = { readonly bytes: Uint8Array; readonly heldBytes: number }

/** Errors of canonical and saveable that a file's tensors can cause. */
const OTHER_CODES = [
  'ERR_GRU_RESET_BEFORE',
  'ERR_INVALID_OPTION',
  'ERR_MISSING_TENSOR',
  'ERR_PARAMS_TOO_LARGE',
  'ERR_RESTORE_MISMATCH',
  'ERR_TENSOR_DTYPE',
  'ERR_TENSOR_GROUPS',
  'ERR_TENSOR_SHAPE',
  'ERR_UNKNOWN_TENSOR',
  'ERR_UNSUPPORTED_BY_FRAMEWORK',
]

const LONGEST_MESSAGE = 4000
const LONGEST_NAME = 4096
/** Control characters of terminals. */
const CONTROLS = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u

/** Whether an error of reading a file is one of ours; throws for a message that cannot be printed. */
export function isCoded(error: unknown): boolean {
  if (
    !(error instanceof WeightFileError) &&
    !(error instanceof CheckpointError) &&
    !hasErrorCode(error, ...OTHER_CODES)
  )
    return false
  const { message } = error as Error
  return message.length <= LONGEST_MESSAGE && !CONTROLS.test(message)
}

const grammar = (build: (random: Random) => Built | Promise<Built>, longestMilliseconds?: number): Grammar => {
  return async (random) => {
    const { bytes, heldBytes } = await build(random)
    const cellMode = random.pick([undefined, 'rnn_tanh', 'rnn_relu', 'lstm'] as const)
    return { heldBytes, longestMilliseconds, read: () => readAll(bytes, cellMode) }
  }
}

/** Grammars of the formats that `importWeights` reads from memory. */
export const GRAMMARS: Readonly<Record<string, Grammar>> = {
  torch: grammar(torchFile),
  npz: grammar(npzFile),
  safetensors: grammar(safetensorsFile),
  onnx: grammar(onnxFile),
  flax: grammar(flaxFile),
  // The HDF5 library may take 30 s for each of two attempts to read before it is ended.
  hdf5: grammar(hdf5File, 90_000),
}

/** Files of each format in a round. An HDF5 file takes 100 times as long as the others, because each damaged one gets its own thread. */
export const SHARES: Readonly<Record<string, number>> = {
  torch: 8,
  npz: 16,
  safetensors: 16,
  onnx: 16,
  flax: 16,
  hdf5: 1,
}

/** Reads every tensor and every network. Throws for numbers that do not fit their shape, and names that are too long. */
async function readAll(bytes: Uint8Array, cellMode: 'rnn_tanh' | 'rnn_relu' | 'lstm' | undefined): Promise<void> {
  const file = await openWeightFile(bytes)
  try {
    for (const { name, shape, read } of file.tensors) {
      if (name.length > LONGEST_NAME) throw new Error('a name is too long')
      const data = await read().catch((error: unknown) => {
        if (!isCoded(error)) throw error
      })
      const count = elementCount(shape)
      if (data !== undefined && data.length !== count) throw new Error(`${data.length} elements for shape [${shape}]`)
    }
  } finally {
    await file.close()
  }
  const { networks } = await importWeights(bytes, { cellMode, convention: undefined })
  for (const { canonical } of networks) {
    for (const { data, shape } of [...canonical.weights, ...canonical.biases]) {
      const count = elementCount(shape)
      if (data.length !== count) throw new Error(`${data.length} elements for shape [${shape}]`)
    }
  }
}
