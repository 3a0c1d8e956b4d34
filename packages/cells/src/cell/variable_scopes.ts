import { checkArguments, TEXT } from '@cudnn-rnn/canonical/rules'
import type { CellVariables, VariableMap } from './cell_variables.js'

/** An owner of variables inside a scope: its variables are `<scope>/<name>` outside, `<name>` where the scope is empty. */
export interface ScopedCell {
  readonly scope: string
  readonly cell: CellVariables
}

/** The scope `inner` inside `outer`; either may be empty. */
export function joinScopes(outer: string, inner: string): string {
  return inner === '' ? outer : scopedName(outer, inner)
}

const NAMES = { scope: TEXT, name: TEXT }

/**
 * A name inside `scope` as it is outside: `<scope>/<name>`, or `<name>` where the scope is empty. Throws TypeError `ERR_INVALID_ARGUMENT`.
 *
 * @example
 * ```ts
 * import { scopedName } from '@cudnn-rnn/rnn/cells'
 *
 * console.log(scopedName('rnn', 'lstm_cell/kernel'), scopedName('', 'kernel')) // rnn/lstm_cell/kernel kernel
 * ```
 */
export function scopedName(scope: string, name: string): string {
  if (typeof scope !== 'string' || typeof name !== 'string') checkArguments('join names', { scope, name }, NAMES)
  return scope === '' ? name : `${scope}/${name}`
}

/** The variables of several owners under their scopes. */
export function scopedVariables(cells: readonly ScopedCell[]): VariableMap {
  return new Map(
    cells.flatMap(({ scope, cell }) =>
      [...cell.variables].map(([name, value]) => [scopedName(scope, name), value] as const),
    ),
  )
}

/** The part of `variables` that is in `scope`, under its names there; the tensors are the same. */
export function inScope(variables: VariableMap, scope: string): VariableMap {
  const prefix = scopedName(scope, '')
  return new Map(
    [...variables]
      .filter(([name]) => name.startsWith(prefix))
      .map(([name, value]) => [name.slice(prefix.length), value]),
  )
}
