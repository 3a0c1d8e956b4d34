import { jsonRecord, uniqueKerasName } from '@cudnn-rnn/canonical/rules'
import type { StoredTensor } from '@cudnn-rnn/interop'
import { MERGES, type MergeName } from '../kinds/merges.js'
import { rearrange } from '../kinds/rearrange.js'
import { isOfSteps, timeDistributed } from '../kinds/time_distributed.js'
import type { LayerDefinition } from '../layer.js'
import { KERAS_CLASSES } from '../layer_table.js'
import type { FileLayer } from './flat_graph.js'
import { RECURRENT_CLASSES } from './keras_graph.js'
import type { MaskAt } from './keras_masks.js'
import { KerasOptions, labelOf, unknownLayer } from './keras_options.js'
import { type RecurrentPlan, recurrentPlan } from './keras_recurrent.js'
import { columnsOf, type Floats, type KerasSignal, type LayerAt, type OwnOptions, weightsOf } from './keras_row.js'
import type { KerasVariables } from './keras_variables.js'

/** The name of a layer behind those of the models around it. */
const NAME_WITHIN = /^[A-Za-z0-9._/-]+$/

const LAYERS = [...KERAS_CLASSES.keys(), ...RECURRENT_CLASSES, 'TimeDistributed', 'InputLayer']

const TEXTS = 'it takes texts or hashes: save the model behind it, whose input is class ids or numbers'
/** The way around classes that no file describes, or that take no numbers. */
const WAYS = new Map([
  ['Lambda', 'its function is code of Python: compute it by layers or keras.ops in Keras, and save the model again'],
  ...['TextVectorization', 'StringLookup', 'IntegerLookup', 'Hashing', 'HashedCrossing'].map(
    (name): [string, string] => [name, TEXTS],
  ),
])

/** A layer of a file that is checked, before anything is read: as layers here, one behind the other. */
export interface PlannedPart {
  readonly output: KerasSignal
  /** The values of the layers' variables in their order, from the ones in `stored`. Default: these. */
  readonly values?: ((stored: readonly Floats[]) => readonly Floats[]) | undefined
  /** For a recurrent layer, made of its network. */
  readonly recurrent?: RecurrentPlan
  readonly layers: readonly LayerDefinition[]
  readonly stored: readonly StoredTensor[]
}

interface At extends MaskAt {
  readonly others?: readonly KerasSignal[] | undefined
  readonly major: number | undefined
}

/** A layer for an input. Throws RangeError `ERR_UNKNOWN_LAYER`. */
export function plannedLayer(
  layer: FileLayer,
  input: KerasSignal,
  variables: KerasVariables,
  at: At,
  wrapper?: string,
): PlannedPart {
  const { className, config, place } = layer
  const { height, features } = input
  const known = KERAS_CLASSES.get(className)
  if (input.each !== undefined && (known?.mask === 'passes' || known?.pictures === 'rows'))
    return ofEachStep(overLastAxis(layer), input, input.each, variables, at)
  if (height !== undefined && known?.pictures === 'rows' && features !== null) {
    const row = { ...input, features: features / height, height: undefined, isRow: true }
    const found = plannedLayer(layer, row, variables, at, wrapper)
    const columns = height * (found.output.features as number)
    return {
      ...found,
      output: { ...found.output, features: columns, height, time: input.time },
      layers: found.layers.map((each) => timeDistributed(each, { height })),
    }
  }
  // Older files group weights by the layers of the model: those of a wrapped one are under its wrapper.
  const group = wrapper ?? config['name']
  const options = new KerasOptions(className, config, group, at.major)
  const own = wrapper === undefined ? group : `${wrapper}_${uniqueKerasName(new Map(), className)}`
  const name = typeof own === 'string' && NAME_WITHIN.test(own) ? { name: own.replaceAll('/', '.') } : {}
  const groupName = typeof group === 'string' ? group : ''
  if (RECURRENT_CLASSES.has(className) && wrapper === undefined) {
    return { ...recurrentPlan(options, groupName, name, input, at), layers: [], stored: [] }
  }
  if (className === 'TimeDistributed' && wrapper === undefined) {
    const wrapped = options.object('layer')
    const innerClass = wrapped['class_name']
    if (typeof innerClass !== 'string') throw options.wrong('layer', 'a layer')
    options.finish()
    const within = {
      className: innerClass,
      config: jsonRecord(wrapped['config']) ?? {},
      place: layer.innerPlace ?? `${place}/layer`,
    }
    const inner = KERAS_CLASSES.get(innerClass)
    // It takes ids of any form.
    if (inner?.takesIds === true && input.isSequence) return plannedLayer(within, input, variables, at, groupName)
    const isForm = inner?.make === rearrange
    const row =
      height === undefined
        ? { isSequence: false, features }
        : { isSequence: true, features: (features as number) / height, time: height }
    const each = input.each ?? (isForm || (height !== undefined && !inner?.pictures) ? row : undefined)
    if (each !== undefined && input.isSequence)
      return ofEachStep({ ...within, config: { ...within.config, name: config['name'] } }, input, each, variables, at)
    const found = plannedLayer(within, { ...input, isSequence: false }, variables, at, groupName)
    const signal = { isSequence: true, features }
    const ofSteps = found.layers.every((layer) => isOfSteps(layer, signal))
    if (!input.isSequence || found.output.isSequence || !ofSteps)
      throw options.refused('it must apply a layer to each step of a sequence')
    return {
      ...found,
      output: { ...found.output, isSequence: true, time: input.time },
      layers: found.layers.map((each) => {
        return each.isStepwise === true && each.kind !== 'timeDistributed' ? timeDistributed(each) : each
      }),
    }
  }
  if (known === undefined) {
    const way =
      WAYS.get(className) ?? `there must be a layer of its class here. The classes that exist are ${LAYERS.join(', ')}`
    throw options.refused(way)
  }
  const takesFilms = known.pictures === 'films'
  if (height !== undefined && known.pictures !== true && !takesFilms) columnsOf(options, input)
  if (input.each !== undefined && known.make !== rearrange && !takesFilms)
    throw options.refused('a TimeDistributed must apply it to each step, which is a picture')
  const found: LayerAt = { options, name, input, others: at.others ?? [], mask: at.mask, behind: [] }
  let stated: OwnOptions = known.implies ?? {}
  for (const [option, { read }] of Object.entries(known.options ?? {}))
    stated = { ...stated, ...read(found, option, stated) }
  const make = (known as { readonly make: (options: unknown) => LayerDefinition }).make
  const made = known.plan?.(found, stated) ?? { layers: [make({ ...stated, ...name }), ...found.behind] }
  const { output, shapes } = sizesOf(options, made.layers, input, found.others)
  const weights =
    known.weights && made.values === undefined ? weightsOf(known.weights, shapes, found, stated) : undefined
  options.finish()
  const owner = known.part === undefined ? place : `${place}/${known.part}`
  const rows = 'height' in made ? made.height : known.pictures ? height : undefined
  return {
    output: { ...output, height: rows, each: made.each, ...('time' in made && { time: made.time }) },
    layers: made.layers,
    values: made.values ?? weights?.values,
    stored: variables.take(options.label, owner, groupName, made.stored ?? weights?.stored ?? [], weights?.unwanted),
  }
}

/** A layer over the last axis of [B,T,height,width,C] as one of its steps. */
function overLastAxis(layer: FileLayer): FileLayer {
  const { axis } = layer.config
  if (axis == null) return layer
  const [own, ...others] = [axis].flat()
  if (others.length > 0 || (own !== -1 && own !== 4))
    throw unknownLayer(labelOf(layer), 'its axis must be the last one, of steps that are pictures')
  return { ...layer, config: { ...layer.config, axis: -1 } }
}

/** A layer that reads each step, which has another form than a vector or gets one. */
function ofEachStep(
  layer: FileLayer,
  { time }: KerasSignal,
  each: KerasSignal,
  variables: KerasVariables,
  { major, zeroesSides }: At,
): PlannedPart {
  const none = { mask: 'none', isMasked: false, holds: false, drops: false, zeroesSides, major } as const
  const { recurrent, output, layers, ...rest } = plannedLayer(layer, each, variables, none)
  const steps = each.time as number
  // The numbers of a step stay in their order.
  const isSame = layers.every(({ kind, config }) => kind === 'rearrange' && config['order'] === undefined)
  if (output.isSequence && output.time === undefined)
    throw unknownLayer(labelOf(layer), 'it must give as many steps for each of its input')
  const rows = output.isSequence ? output.time : undefined
  const form = output.height === undefined ? {} : { each: output }
  return {
    ...rest,
    ...(recurrent && { recurrent: { ...recurrent, steps: [...(recurrent.steps ?? []), steps] } }),
    layers: isSame ? [] : [timeDistributed(layers, { steps })],
    output: { isSequence: true, features: (output.features as number) * (rows ?? 1), time, height: rows, ...form },
  }
}

/** Limit of the steps of a window. */
const FAR = 1e6

/** The output of layers one behind the other, and the shapes of their variables. */
function sizesOf(
  options: KerasOptions,
  layers: readonly LayerDefinition[],
  input: KerasSignal,
  others: readonly KerasSignal[],
) {
  let output: KerasSignal = input
  const shapes: (readonly number[])[] = []
  for (const [at, { kind, sizes }] of layers.entries()) {
    const { isSequence, time, features } = output
    if (features === null && kind !== 'embedding') columnsOf(options, { ...output, height: undefined })
    const own = sizes?.(output, at === 0 ? others : [])
    if (own === undefined) continue
    shapes.push(...Object.values(own.variables ?? {}).map(([shape]) => shape))
    // A vector has no steps; a layer whose steps do not depend on its input's states their number.
    const before = isSequence ? time : 0
    const lengths = Int32Array.from(before === undefined ? [0, FAR] : [before])
    const [after, other = after] = own.outputLengths?.(lengths) ?? lengths
    output = { ...own.output, time: own.output.isSequence && after === other ? after : undefined }
  }
  return { output, shapes }
}

/** The form of merged tensors. Throws RangeError `ERR_UNKNOWN_LAYER` for another axis, and forms that do not fit. */
export function mergedSignal(merge: MergeName, options: KerasOptions, signals: readonly KerasSignal[]): KerasSignal {
  const [first] = signals as [KerasSignal]
  const isOfElements = merge !== 'concat' && merge !== 'dot'
  const formOf = ({ height, features, each }: KerasSignal) => String([height, features, each?.height])
  const isOfRows = isOfElements && signals.every((signal) => formOf(signal) === formOf(first))
  const columns = signals.map((signal) => columnsOf(options, isOfRows ? { ...signal, height: undefined } : signal))
  const last = first.isSequence ? 2 : 1
  if (signals.some(({ isSequence }) => isSequence !== first.isSequence))
    throw options.refused('all of its inputs must be sequences, or none')
  if (merge === 'concat') {
    const axis = options.value('axis') ?? -1
    if (axis !== -1 && axis !== last) throw options.wrong('axis', `-1 or ${last}`)
  }
  if (merge === 'dot') {
    const axes = [options.value('axes')].flat()
    if (first.isSequence || axes.some((axis) => axis !== 1 && axis !== -1)) throw options.wrong('axes', '1, of vectors')
    options.only({ normalize: [false] })
  }
  options.finish()
  const { features, rule, count = signals.length } = MERGES[merge]
  const width = count === signals.length ? features(columns) : undefined
  if (width === undefined) throw options.refused(`${rule}: current numbers are ${columns.join(', ')}`)
  // One step is repeated.
  const times = signals.map((signal) => signal.time)
  const time =
    times.find((each) => each !== undefined && each !== 1) ?? (times.includes(undefined) ? undefined : times[0])
  return {
    isSequence: first.isSequence,
    features: width,
    time,
    ...(isOfRows && { height: first.height, each: first.each }),
  }
}
