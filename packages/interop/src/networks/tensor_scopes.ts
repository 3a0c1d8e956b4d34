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

/**
 * For each interpretation the tensors of its scopes that it does not explain, and no network of another scope does. Another
 * value of a variable, such as its moving average, has the variable's shape, a name below its, and belongs to no network.
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
  for (const tensor of tensors) {
    const own = owners.get(tensor.name) ?? []
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
