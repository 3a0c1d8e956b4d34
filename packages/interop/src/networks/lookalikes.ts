import { listIn } from '@cudnn-rnn/canonical/rules'
import { WeightFileError } from '../errors.js'
import type { StoredTensor } from '../stored_tensor.js'
import type { WeightFile } from '../weight_file.js'
import type { Interpretation, InterpretationOptions } from './interpretation.js'
import { isMatrix } from './tensor_groups.js'
import { scopeOf } from './tensor_scopes.js'

/** Words of names that recurrent cells have and few other layers. */
const WORDS =
  /lstm|rnn|recurrent|[ih]gates|dense_[ih][/.]|h2h|i2h|lateral|(?:^|[^a-z])(?:bi)?gru(?![a-z])|(?:^|[^a-z])[wu]?_?[ih]h(?![a-z])|(?:^|[^a-z])w_?[xh][ifgcorznh]?(?![a-z])|(?:^|[/.])h[ifgorzn]_?[/.]kernel/i

/** Names that matrices of recurrent cells alone have, in PyTorch and Keras. */
const SURE = /(?:^|\.)weight_[ih]h(?:_l\d+(?:_reverse)?)?$|(?:^|\/)recurrent_kernel(?::0)?$/

/** How many tensors a message names. */
const MOST_NAMED = 6

/** `a [8,2], b [8,2] and 3 more`. */
export function inWords(tensors: readonly StoredTensor[]): string {
  const shown = tensors.slice(0, MOST_NAMED).map(({ name, shape }) => `${name} [${shape}]`)
  const more = tensors.length - shown.length
  return `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/**
 * Refuses a file whose recurrent network no reading found: its caller would take an empty list for a file without one. In a
 * file without networks a name is enough, or a pair of matrices; beside networks that were found, both, or a name that
 * nothing else has.
 *
 * @throws WeightFileError `ERR_WEIGHTS_UNRECOGNIZED`
 */
export function refuseLookalikes(
  { format, path, unread = [] }: WeightFile,
  unused: readonly StoredTensor[],
  found: readonly Interpretation[],
  { convention }: InterpretationOptions,
): void {
  const pairs = gatePairs(unused)
  const named = (name: string) => WORDS.test(name)
  const isEmpty = found.length === 0
  const tensors = isEmpty
    ? unused.filter((tensor) => pairs.has(tensor) || named(tensor.name))
    : unused.filter((tensor) => {
        const isSure = SURE.test(tensor.name) && isMatrix(tensor.shape)
        return convention === undefined && (isSure || (pairs.has(tensor) && named(tensor.name)))
      })
  const objects = isEmpty ? unread.filter(({ name, what }) => named(name) || named(what)) : []
  const looks = [
    ...(tensors.length > 0 ? [`the tensors ${inWords(tensors)}`] : []),
    ...(objects.length > 0
      ? [
          `the ${format === 'onnx' ? 'recurrences' : 'unread values'} ${listed(objects.map(({ name, what }) => `${name} (${what})`))}`,
        ]
      : []),
  ]
  if (looks.length === 0) return
  const under = convention === undefined ? '' : ` under the convention ${convention}`
  throw new WeightFileError(
    'ERR_WEIGHTS_UNRECOGNIZED',
    `Cannot import weights as tensors that look like a recurrent network must have the names and shapes of a known library${under}: current file has ${looks.join('; ')}. ${objects.length > 0 && format === 'pytorch' ? OF_OBJECTS : ''}Open it with openWeightFile and import it with the tensors renamed as a library's that has its gate order and layout (${KNOWN}), name the networks to import by the option only, or read these tensors into canonical ones`,
    { path },
  )
}

const OF_OBJECTS = 'Save the state_dict of the model, of a quantized one before its quantization. '

const KNOWN = 'weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0 for PyTorch; kernel, recurrent_kernel, bias for Keras'

function listed(texts: readonly string[]): string {
  const shown = texts.slice(0, MOST_NAMED).join(', ')
  return texts.length > MOST_NAMED ? `${shown} and ${texts.length - MOST_NAMED} more` : shown
}

/**
 * Matrices of 3 or 4 gates in pairs: of one module, one [G·H,H] and another [G·H,·], or both transposed. The matrices of one
 * gate have the shapes of any two layers, and are left to their names.
 */
function gatePairs(tensors: readonly StoredTensor[]): ReadonlySet<StoredTensor> {
  const modules = new Map<string, StoredTensor[]>()
  for (const tensor of tensors) {
    if (!isMatrix(tensor.shape)) continue
    const own = scopeOf(tensor.name)
    // `cell.h2h.weight` is of `cell.` too.
    const outer = scopeOf(own.slice(0, -1))
    for (const [axis, gates] of tensor.shape.entries()) {
      for (const scope of new Set([own, outer])) {
        listIn(modules, `${scope}\0${axis}\0${gates}`).push(tensor)
      }
    }
  }
  const paired = new Set<StoredTensor>()
  for (const [key, members] of modules) {
    if (members.length < 2) continue
    const axis = key.split('\0')[1] === '0' ? 0 : 1
    const recurrent = members.filter(({ shape }) =>
      [3, 4].some((gates) => shape[axis] === gates * (shape[1 - axis] ?? 0)),
    )
    if (recurrent.length > 0) for (const member of members) paired.add(member)
  }
  return paired
}
