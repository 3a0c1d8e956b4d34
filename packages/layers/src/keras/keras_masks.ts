import { jsonRecord } from '@cudnn-rnn/canonical/rules'
import type { Padding } from '../kinds/masking.js'
import { KERAS_CLASSES } from '../layer_table.js'
import type { FileGraph, FileLayer, FileValue } from './flat_graph.js'
import { isMerge, makesMask, RECURRENT_CLASSES } from './keras_graph.js'
import { labelOf, unknownLayer } from './keras_options.js'

export interface MaskAt {
  readonly mask: Padding | 'none'
  readonly isMasked: boolean
  /** The layer's masked steps are seen, which by default repeat the output before them. */
  readonly holds: boolean
  /** It takes masked steps for others. */
  readonly drops: boolean
  /** A Bidirectional gives zeros there, as in tf.keras and Keras 3; Keras before 2.4 does not. */
  readonly zeroesSides: boolean
}

interface Mask {
  readonly layer: FileLayer
  /** The tensor that the layer compares. */
  readonly of: FileValue
  /** A layer leaves out its steps. */
  isUsed: boolean
  /** A call that takes its steps for others, of which it reads several tensors. */
  dropped?: FileLayer
}

/** Merges whose results of masked steps are others than of these steps since Keras 3. */
const REPLACING = new Set(['Multiply', 'Maximum', 'Minimum'])

/** Versions of Keras without TensorFlow's own, and TensorFlow.js. */
const STANDALONE = /^(?:[01]\.|2\.[0-3]\.\d+$|tfjs)/

/**
 * How masks reach the calls of a graph, by Keras' rules. Throws RangeError `ERR_UNKNOWN_LAYER` for a way that has no counterpart.
 *
 * @param version of the Keras that wrote the file
 * @param isKept whether a mask that no layer of the file uses has an effect, as masks of layers here have
 */
export function masksOf({ calls, outputs }: FileGraph, version: string | undefined, isKept = false): MaskAt[] {
  const zeroesSides = !STANDALONE.test(version ?? '1.')
  const major = Number.parseInt(version ?? '', 10)
  // Earlier releases have other rules for attention.
  const attends = major >= 3
  /** Keras 3 gives a mask only to a layer that takes one tensor: one with initial states takes every step, and passes the mask on. */
  const ignored = ({ layer, states }: FileGraph['calls'][number]) =>
    attends && states.length > 0 && maskUseOf(layer) === 'uses'
  const masks: (Mask | undefined)[] = []
  const isMasked: boolean[] = []
  // A MultiHeadAttention of Keras takes the masks of its inputs away from other readers. A file has the masks of layers that leave steps
  // out, but not those of attention.
  const readingHeads = new Map<number, number[]>()
  for (const [at, { layer, from }] of calls.entries()) {
    if (layer.className !== 'MultiHeadAttention') continue
    for (const [source] of from) readingHeads.set(source, [...(readingHeads.get(source) ?? []), at])
  }
  const isDoubtful: boolean[] = []
  /** Masks that calls drop. */
  const dropped: (Mask | undefined)[] = []
  for (const [at, { layer, from, states, mask: given }] of calls.entries()) {
    const taken = from.map(([source, tensor]) => (tensor === 0 ? masks[source] : undefined))
    const use = maskUseOf(layer)
    isDoubtful[at] = from.some(([source], k) => {
      const others = readingHeads.get(source)?.some((each) => each !== at) === true
      return taken[k] !== undefined && (others || isDoubtful[source])
    })
    if (use === 'attends' && attends) {
      if (isDoubtful[at]) throw unknownLayer(labelOf(layer), 'a MultiHeadAttention must not read the value of its mask')
      masks[at] = attendedMask(layer, taken)
      continue
    }
    const mask = taken.find((each) => each !== undefined)
    if (mask !== undefined && layer.isOperation !== true && taken.some((each) => each !== mask))
      throw unknownLayer(labelOf(mask.layer), `its mask must reach all inputs of ${labelOf(layer)}, or none`)
    if (given !== undefined && !(String(given.of) === String(mask?.of) && given.value === maskValueOf(mask?.layer)))
      throw unknownLayer(labelOf(layer), 'its mask must be that of its input')
    const isIgnored = ignored(calls[at])
    isMasked[at] = mask !== undefined && use === 'uses' && !isIgnored
    if (mask !== undefined && (use === 'normalizes' || use === 'attends'))
      throw unknownLayer(labelOf(layer), `it leaves out the steps that the mask of ${labelOf(mask.layer)} hides`)
    if (isMasked[at] && states.length > 0 && Number.isNaN(major))
      throw unknownLayer(labelOf(layer), 'the file must have the version of Keras for a mask beside initial states')
    if (mask !== undefined && isMasked[at]) mask.isUsed = true
    const isMerged = isIgnored || (from.length > 1 && !isMerge(layer, true))
    if (use === 'ends' || isIgnored)
      for (const each of taken) {
        if (each !== undefined && isMerged) each.dropped ??= layer
        dropped[at] ??= each
      }
    if (makesMask(layer)) masks[at] = { layer, of: from[0], isUsed: isKept }
    else if (use === 'passes' || (use === 'uses' && givesSequences(layer))) masks[at] = mask
  }
  // Whether the masked steps of an output are read as others are.
  const isSeen = calls.map(() => false)
  for (const { value } of outputs) if (value[1] === 0) isSeen[value[0]] = true
  const seen = new Set<Mask>()
  for (let at = calls.length - 1; at >= 0; at--) {
    const { layer, from } = calls[at]
    const mask = masks[at]
    if (isSeen[at] && mask !== undefined) seen.add(mask)
    const use = maskUseOf(layer)
    if (use === 'makes' || use === 'ends' || ignored(calls[at]) || (use === 'passes' && isSeen[at]))
      for (const [source, tensor] of from) if (tensor === 0) isSeen[source] = true
  }
  return calls.map(({ layer, from }, at) => {
    const mask = masks[at]
    if (
      isSeen[at] &&
      mask !== undefined &&
      (maskUseOf(layer) === 'attends' || (attends && REPLACING.has(layer.className)))
    )
      throw unknownLayer(labelOf(layer), `its steps that the mask of ${labelOf(mask.layer)} hides must not be read`)
    const holds = isMasked[at] && isSeen[at] && mask !== undefined
    const drops = dropped[at]?.isUsed === true
    const none = { mask: 'none', isMasked: isMasked[at], holds, drops, zeroesSides } as const
    if (mask?.layer !== layer) return none
    if (mask.isUsed && mask.dropped !== undefined)
      throw unknownLayer(
        labelOf(mask.dropped),
        `it drops the mask of ${labelOf(layer)}, and takes its padding for steps`,
      )
    if (mask.isUsed && calls[from[0][0]].layer.className !== 'InputLayer')
      throw unknownLayer(labelOf(layer), 'a layer that masks must take an input of the model')
    if (isSeen[at] && layer.className === 'Masking' && maskValueOf(layer) !== 0)
      throw unknownLayer(labelOf(layer), 'its mask_value must be 0 where masked steps are read: they become 0')
    return mask.isUsed ? { ...none, mask: seen.has(mask) ? 'end' : 'anywhere' } : none
  })
}

/** The result of attention has the mask of the query. Masked steps of the values have no weight. */
function attendedMask(layer: FileLayer, [query, value = query, key = value]: readonly (Mask | undefined)[]) {
  const isCausal = layer.config['use_causal_mask'] === true
  if (key !== value || (isCausal && query !== value))
    throw unknownLayer(labelOf(layer), 'the masks of its values and keys must be one')
  for (const each of [query, value]) if (each !== undefined) each.isUsed = true
  return query
}

function maskValueOf(layer: FileLayer | undefined): unknown {
  return layer?.config['mask_value'] ?? 0
}

function maskUseOf({ className, config, isOperation }: FileLayer) {
  if (isOperation === true) return 'ends'
  if (makesMask({ className, config })) return 'makes'
  if (RECURRENT_CLASSES.has(className)) return 'uses'
  if (className === 'TimeDistributed' || isMerge({ className, config }, true)) return 'passes'
  return KERAS_CLASSES.get(className)?.mask ?? 'ends'
}

function givesSequences({ className, config }: FileLayer): boolean {
  const inner = className === 'Bidirectional' ? jsonRecord(jsonRecord(config['layer'])?.['config']) : config
  return RECURRENT_CLASSES.has(className) && inner?.['return_sequences'] === true
}
