import {
  type CellMode,
  createRnnDescriptor,
  type KerasVariant,
  kerasToCanonical,
  type NamedTensors,
} from '@cudnn-rnn/canonical'
import { WeightFileError } from '../errors.js'
import type { KerasLayerConfig, StoredTensor, WeightFile } from '../weight_file.js'
import type { Reading } from './reading.js'
import { sizesInWords } from './sizes_in_words.js'
import { groupTensors, readGroups, type StoredGroup } from './tensor_groups.js'

const NAME = /^(.*\/)?(kernel|recurrent_kernel|bias)(?::0)?$/
/** Keras 3 numbers a cell's variables. */
const NUMBERED = /^(.*)cell\/vars\/([012])$/
const OWN_NAMES = ['kernel', 'recurrent_kernel', 'bias'] as const
const BACKWARD = /^backward_/

/** One layer of a file: one direction, or two of a `Bidirectional`. */
interface Layer {
  readonly name: string
  readonly forward?: StoredGroup['tensors']
  readonly backward?: StoredGroup['tensors']
}

/** What tensors and description say about a layer's cell. */
interface Kind {
  readonly modes: readonly CellMode[]
  readonly variant: KerasVariant
}

/** Recurrent layers under Keras's names, whatever file they are in; each is a network of one layer. */
export function kerasReadings(file: WeightFile): Reading[] {
  return layersIn(file.tensors).flatMap((layer) => readingsOf(file, layer))
}

function layersIn(tensors: readonly StoredTensor[]): Layer[] {
  const groups = groupTensors(tensors, (name) => {
    const numbered = NUMBERED.exec(name)
    if (numbered !== null) return [numbered[1]!, OWN_NAMES[Number(numbered[2]) as 0 | 1 | 2]]
    const match = NAME.exec(name)
    return match === null ? undefined : [match[1] ?? '', match[2]!]
  })
  const layers = new Map<string, Layer>()
  for (const { prefix, tensors: members } of groups) {
    if (!members.has('recurrent_kernel')) continue
    const segments = prefix.split('/')
    const side = segments.some((segment) => BACKWARD.test(segment)) ? 'backward' : 'forward'
    const name = layerName(segments)
    layers.set(name, { ...layers.get(name), name, [side]: members })
  }
  return [...layers.values()]
}

/** `model_weights/first/net/first/lstm_cell/` and `layers/lstm/cell/` without what every layer has: `first`, `lstm`. */
function layerName(segments: readonly string[]): string {
  const telling = segments.filter((segment) => {
    return (
      segment !== '' && !['layers', 'cell', 'model_weights'].includes(segment) && !/^(?:for|back)ward_/.test(segment)
    )
  })
  // Keras 2's weights stand under their layer's name: whatever follows repeats it.
  const isNumbered = segments.includes('layers')
  return isNumbered ? telling.join('/') : (telling[0] ?? '')
}

function readingsOf(file: WeightFile, { name, forward, backward }: Layer): Reading[] {
  const members = forward ?? backward!
  const kernel = members.get('kernel')?.shape
  const recurrent = members.get('recurrent_kernel')!.shape
  if (kernel?.length !== 2 || recurrent.length !== 2 || kernel[1] !== recurrent[1]) return []
  const config = configOf(file, name)
  const kind = kindOf(name, members, config)
  if (kind === undefined) return []
  const both = forward !== undefined && backward !== undefined
  const directions = both ? [forward, backward] : [members]
  const stored = directions.flatMap((direction) => [...direction.values()])
  return kind.modes.map((cellMode): Reading => {
    const descriptor = createRnnDescriptor({
      cellMode,
      numLayers: 1,
      numUnits: recurrent[0]!,
      inputSize: kernel[0]!,
      inputMode: 'linear_input',
      direction: both ? 'bidirectional' : 'unidirectional',
    })
    const convention = kind.variant === 'cudnn' ? 'keras-cudnn' : 'keras'
    return {
      name,
      convention,
      cellMode,
      summary: `${sizesInWords('keras', descriptor)}${kind.variant === 'cudnn' ? ', in CuDNN layers’ layout' : ''}`,
      tensors: stored,
      result: async () => {
        checkFunction(file.path, name, config, cellMode)
        const layers: NamedTensors[] = await readGroups(directions)
        const resetAfter = config?.['reset_after'] !== false
        return [
          {
            name,
            convention,
            descriptor,
            canonical: kerasToCanonical(descriptor, layers, { variant: kind.variant, resetAfter }),
            reverse: !both && (config?.['go_backwards'] === true || backward !== undefined),
            inputs: {},
            tensorNames: stored.map((tensor) => tensor.name),
            notes: notesOn(config, cellMode, layers, kind.variant),
          },
        ]
      },
    }
  })
}

/** The layer's own description, of a `Bidirectional` that of the layer within. */
function configOf(file: WeightFile, name: string): KerasLayerConfig['config'] | undefined {
  const layer = file.layers?.get(name)
  if (layer === undefined) return undefined
  const inner = layer.config['layer'] as { class_name?: unknown; config?: Record<string, unknown> } | undefined
  return layer.className === 'Bidirectional'
    ? { ...inner?.config, class_name: inner?.class_name, merge_mode: layer.config['merge_mode'] }
    : { ...layer.config, class_name: layer.className }
}

/** Gates by the width of the recurrent kernel; CuDNN layers by a bias of twice that width. */
function kindOf(
  name: string,
  tensors: StoredGroup['tensors'],
  config: KerasLayerConfig['config'] | undefined,
): Kind | undefined {
  const [units, width] = tensors.get('recurrent_kernel')!.shape as [number, number]
  const bias = tensors.get('bias')?.shape
  const variant = bias?.length === 1 && bias[0] === 2 * width ? 'cudnn' : 'plain'
  if (width === 4 * units) return { modes: ['lstm'], variant }
  if (width === 3 * units) {
    if (variant === 'plain' && bias?.length !== 2 && config === undefined && bias === undefined) {
      throw new WeightFileError(
        'ERR_WEIGHTS_AMBIGUOUS',
        `Cannot import weights as the GRU ${name} has no bias and no description that tell its form: keras gru with reset_after=True, or with reset_after=False, which no model computes. Save the whole model instead of its weights`,
        { readings: ['keras gru, reset_after=True', 'keras gru, reset_after=False'] },
      )
    }
    return { modes: ['gru'], variant }
  }
  if (width !== units) return undefined
  const activation = config?.['activation']
  if (activation === 'tanh') return { modes: ['rnn_tanh'], variant }
  if (activation === 'relu') return { modes: ['rnn_relu'], variant }
  return { modes: ['rnn_tanh', 'rnn_relu'], variant }
}

/** Refuses activations that the models do not have. */
function checkFunction(
  path: string,
  name: string,
  config: KerasLayerConfig['config'] | undefined,
  cellMode: CellMode,
): void {
  const expected = { activation: cellMode === 'rnn_relu' ? 'relu' : 'tanh', recurrent_activation: 'sigmoid' }
  for (const [option, value] of Object.entries(expected)) {
    const actual = config?.[option]
    if (actual === undefined || actual === value) continue
    throw new WeightFileError(
      'ERR_WEIGHTS_OTHER_FUNCTION',
      `Cannot import ${name} as ${option} must be ${value}: current value is ${String(actual)}. No weights make the two equal`,
      { path },
    )
  }
  const merge = config?.['merge_mode']
  if (merge === undefined || merge === 'concat') return
  throw new WeightFileError(
    'ERR_WEIGHTS_OTHER_FUNCTION',
    `Cannot import ${name} as merge_mode of Bidirectional must be concat: current value is ${String(merge)}`,
    { path },
  )
}

function notesOn(
  config: KerasLayerConfig['config'] | undefined,
  cellMode: CellMode,
  layers: readonly NamedTensors[],
  variant: KerasVariant,
): string[] {
  const notes: string[] = []
  if (config === undefined && variant === 'plain' && cellMode !== 'rnn_tanh' && cellMode !== 'rnn_relu') {
    notes.push(
      'The file does not name activations: they were taken as tanh and sigmoid. Keras before 2.3 had hard_sigmoid by default, which is another function.',
    )
  }
  if (layers.every(({ bias }) => bias === undefined)) notes.push('Biases are absent and were taken as zeros.')
  return notes
}
