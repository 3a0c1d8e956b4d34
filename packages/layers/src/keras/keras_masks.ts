import { jsonRecord } from '@cudnn-rnn/canonical/rules'
import type { Padding } from '../kinds/masked_steps.js'
import { KERAS_CLASSES } from '../layer_table.js'
import type { FileGraph, FileLayer, FileValue } from './flat_graph.js'
import { isMerge, makesMask, RECURRENT_CLASSES } from './keras_graph.js'
import { labelOf, unknownLayer } from './keras_options.js'

/** The masks that a layer sees. */
export interface MaskAt {
  readonly mask: Padding | 'none'
  readonly isMasked: boolean
  /** The layer's masked steps are seen, which by default repeat the output before them. */
  readonly holds: boolean
  /** A Bidirectional gives zeros there, as in tf.keras and Keras 3; Keras before 2.4 does not. */
  readonly zeroesSides: boolean
}

/** The mask that a layer makes. */
interface Mask {
  readonly layer: FileLayer
  /** The tensor that the layer compares. */
  readonly of: FileValue
  /** A layer leaves out its steps. */
  isUsed: boolean
  /** A layer that takes its steps for others. */
  dropped?: FileLayer
}

/**
 * How masks reach the calls of a graph, by Keras' rules. Throws RangeError `ERR_UNKNOWN_LAYER` for a way that has no counterpart.
 *
 * @param isKept whether a mask that no layer of the file uses has an effect, as masks of layers here have
 */
export function masksOf({ calls, outputs }: FileGraph, zeroesSides: boolean, isKept = false): MaskAt[] {
  const masks: (Mask | undefined)[] = []
  const isMasked: boolean[] = []
  for (const [at, { layer, from, states, mask: given }] of calls.entries()) {
    const taken = from.map(([source, tensor]) => (tensor === 0 ? masks[source] : undefined))
    const mask = taken.find((each) => each !== undefined)
    if (mask !== undefined && taken.some((each) => each !== mask))
      throw unknownLayer(labelOf(mask.layer), `its mask must reach all inputs of ${labelOf(layer)}, or none`)
    if (given !== undefined && !(String(given.of) === String(mask?.of) && given.value === maskValueOf(mask?.layer)))
      throw unknownLayer(labelOf(layer), 'its mask must be that of its input')
    const use = maskUseOf(layer)
    isMasked[at] = mask !== undefined && use === 'uses'
    if (mask !== undefined && use === 'normalizes')
      throw unknownLayer(labelOf(layer), `it leaves out the steps that the mask of ${labelOf(mask.layer)} hides`)
    // Keras 3 takes no step for masked there, Keras 2 does.
    if (isMasked[at] && states.length > 0)
      throw unknownLayer(labelOf(layer), 'it must not take a mask and initial states')
    if (mask !== undefined && isMasked[at]) mask.isUsed = true
    if (mask !== undefined && use === 'ends') mask.dropped ??= layer
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
    if (use === 'makes' || use === 'ends' || (use === 'passes' && isSeen[at]))
      for (const [source, tensor] of from) if (tensor === 0) isSeen[source] = true
  }
  return calls.map(({ layer, from }, at) => {
    const mask = masks[at]
    const holds = isMasked[at] && isSeen[at] && mask !== undefined
    const none = { mask: 'none', isMasked: isMasked[at], holds, zeroesSides } as const
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

function maskValueOf(layer: FileLayer | undefined): unknown {
  return layer?.config['mask_value'] ?? 0
}

function maskUseOf({ className, config }: FileLayer) {
  if (makesMask({ className, config })) return 'makes'
  if (RECURRENT_CLASSES.has(className)) return 'uses'
  if (className === 'TimeDistributed' || (className !== 'Dot' && isMerge({ className, config }))) return 'passes'
  return KERAS_CLASSES.get(className)?.mask ?? 'ends'
}

function givesSequences({ className, config }: FileLayer): boolean {
  const inner = className === 'Bidirectional' ? jsonRecord(jsonRecord(config['layer'])?.['config']) : config
  return RECURRENT_CLASSES.has(className) && inner?.['return_sequences'] === true
}
