import { listIn } from '@cudnn-rnn/canonical/rules'
import type { StoredTensor } from '../stored_tensor.js'
import type { Interpretation } from './interpretation.js'

/** Layers around the network that `exportWeights` writes below its name. */
const AROUND = /^(?:embedding[./](?:weight|embedding)|dense[./](?:weight|kernel|bias))$/

/** The beginnings of a name up to each of its separators, the empty one first. */
function* scopesAround(name: string): Generator<string> {
  yield ''
  for (let at = 0; at < name.length; at++) if (name[at] === '/' || name[at] === '.') yield name.slice(0, at + 1)
}

/** The name up to its last separator, which is included. */
export function scopeOf(name: string): string {
  return name.slice(0, 1 + Math.max(name.lastIndexOf('/'), name.lastIndexOf('.')))
}

/** A layer in an adapter such as LoRA, whose own tensors are beside it and change its numbers. */
const ADAPTED = /base_layer\.$/

/** The scopes of tensors whose own names have no separator. */
export function scopesOf(tensors: readonly StoredTensor[]): string[] {
  return [...new Set(tensors.map(({ name }) => scopeOf(name).replace(ADAPTED, '')))]
}

/** The scope of a variable, without what TensorFlow's object checkpoints append to its name. */
function moduleOf(name: string): string {
  return scopeOf(name.replace(/\/\.ATTRIBUTES\/VARIABLE_VALUE$/, ''))
}

function isLoneBias({ name, shape }: StoredTensor, members: ReadonlyMap<string, readonly StoredTensor[]>): boolean {
  return shape.length === 1 && /bias/i.test(name) && members.get(moduleOf(name))?.length === 1
}

/** Whether an interpretation has fewer biases than matrices, and matrices that the bias fits. */
function lacksBias({ tensors }: Interpretation, bias: StoredTensor): boolean {
  const matrices = tensors.filter(({ shape }) => shape.length === 2)
  const fits = matrices.some(({ shape }) => shape.includes(bias.shape[0] ?? 0))
  return fits && tensors.length < 2 * matrices.length
}

/**
 * For each interpretation the tensors of its scopes that it does not explain, and no network of another scope does. Another
 * value of a variable, such as its moving average, has the variable's shape, a name below its, and belongs to no network.
 * A bias alone in its scope may be of any network that lacks one of its size: few other layers have a bias without a matrix.
 */
export function unexplained(
  interpretations: readonly Interpretation[],
  tensors: readonly StoredTensor[],
): ReadonlyMap<Interpretation, readonly StoredTensor[]> {
  const byScope = new Map<string, Interpretation[]>()
  const owners = new Map<string, Interpretation[]>()
  const shapes = new Map<string, string>()
  for (const interpretation of interpretations) {
    for (const scope of interpretation.scopes ?? []) listIn(byScope, scope).push(interpretation)
    for (const { name, shape } of [...interpretation.tensors, ...(interpretation.alsoUses ?? [])]) {
      listIn(owners, name).push(interpretation)
      shapes.set(name, String(shape))
    }
  }
  const left = new Map<Interpretation, StoredTensor[]>()
  const members = new Map<string, StoredTensor[]>()
  for (const tensor of tensors) listIn(members, moduleOf(tensor.name)).push(tensor)
  for (const tensor of tensors) {
    const own = owners.get(tensor.name) ?? []
    if (own.length === 0 && isLoneBias(tensor, members)) {
      for (const each of interpretations) if (each.scopes && lacksBias(each, tensor)) listIn(left, each).push(tensor)
      continue
    }
    const scopes = [...scopesAround(tensor.name)]
    if (scopes.some((scope) => shapes.get(scope.slice(0, -1)) === String(tensor.shape))) continue
    const inside = scopes.filter((scope) => byScope.has(scope) && !AROUND.test(tensor.name.slice(scope.length)))
    for (const interpretation of inside.flatMap((scope) => byScope.get(scope) ?? [])) {
      // Rival readings of one module have the same scopes.
      const [scope] = interpretation.scopes ?? []
      if (own.some((owner) => owner === interpretation || owner.scopes?.[0] !== scope)) continue
      listIn(left, interpretation).push(tensor)
    }
  }
  return left
}
